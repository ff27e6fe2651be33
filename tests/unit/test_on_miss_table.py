"""What `on_miss` means: one row for every cell of miss × fit × summary × background host."""

from __future__ import annotations

from typing import Any

import pytest

from thusfar import (
    InputBudget,
    Runtime,
    Scripted,
    compact_now_sync,
    history,
    per_message,
    plan_sync,
)
from thusfar.errors import RepresentationUnavailableError

SUMMARY_TOKENS = 50
FITS, TOO_MUCH = 9, 12  # messages of 100 tokens each
KEPT = 4


class Host:
    """A background host that takes work and does not begin it."""

    def __init__(self, *, takes: bool) -> None:
        self.takes = takes
        self.jobs: list[Any] = []

    def retain(self, job: Any) -> bool:
        self.jobs += [job] if self.takes else []
        return self.takes


def transcript(count: int) -> list[dict[str, Any]]:
    return [
        {"role": ("user", "assistant")[i % 2], "content": f"message {i} about many things"}
        for i in range(count)
    ]


# What is sent, how many support calls were made, and whether preparation went to the background.
FULL, SUMMARY, STALE, SUFFIX, REFUSED = "full", "summary", "stale", "suffix", "refused"
ROWS = [
    # on_miss, messages, artifact, sent, calls, wants preparation
    ("inline", FITS, "ready", SUMMARY, 0, False),
    ("inline", FITS, "stale", STALE, 0, False),
    ("inline", FITS, "none", FULL, 0, True),
    ("inline", TOO_MUCH, "ready", SUMMARY, 0, False),
    ("inline", TOO_MUCH, "stale", STALE, 0, False),
    ("inline", TOO_MUCH, "none", SUMMARY, 1, False),
    ("recent-only", FITS, "ready", SUMMARY, 0, False),
    ("recent-only", FITS, "stale", STALE, 0, False),
    ("recent-only", FITS, "none", FULL, 0, True),
    ("recent-only", TOO_MUCH, "ready", SUMMARY, 0, False),
    ("recent-only", TOO_MUCH, "stale", STALE, 0, False),
    ("recent-only", TOO_MUCH, "none", SUFFIX, 0, True),
    ("fail", FITS, "ready", SUMMARY, 0, False),
    ("fail", FITS, "stale", STALE, 0, False),
    ("fail", FITS, "none", FULL, 0, True),
    ("fail", TOO_MUCH, "ready", SUMMARY, 0, False),
    ("fail", TOO_MUCH, "stale", STALE, 0, False),
    ("fail", TOO_MUCH, "none", REFUSED, 0, True),
]
CELLS = [(*row, takes) for row in ROWS for takes in (True, False)]


def test_there_is_a_row_for_every_cell():
    cells = {(row[0], row[1], row[2], row[6]) for row in CELLS}
    assert len(cells) == len(CELLS) == 3 * 2 * 3 * 2


@pytest.mark.parametrize(
    ("on_miss", "count", "artifact", "sent", "calls", "prepares", "takes"), CELLS
)
def test_a_cell(
    on_miss: Any, count: int, artifact: str, sent: str, calls: int, prepares: bool, takes: bool
):
    messages = transcript(count)
    own = {id(message) for message in messages}
    host = Host(takes=takes)
    model = Scripted("What was said.")
    runtime = Runtime(host=host)
    arguments: dict[str, Any] = {
        "model": "answering",
        "counter": per_message(lambda m: 100 if id(m) in own else SUMMARY_TOKENS),
        "budget": InputBudget(prepare_at=750, optimize_at=800, max=1000),
        "policy": history(
            recent=history.recent(messages=KEPT, cut="exchange"),
            summary={"model": model, "max_tokens": 100},
            on_miss=on_miss,
        ),
        "runtime": runtime,
    }
    if artifact != "none":
        shorter = messages if artifact == "ready" else messages[:-2]
        compact_now_sync(shorter, **arguments)
        model.calls.clear()

    if sent == REFUSED:
        with pytest.raises(RepresentationUnavailableError):
            plan_sync(messages, **arguments)
    else:
        planned = plan_sync(messages, **arguments)
        view = planned.receipt.history.view
        codes = {w.code for w in planned.receipt.warnings}
        cut = count - KEPT
        expected = {
            FULL: ((), (), count * 100),
            SUMMARY: (((0, cut),), (), KEPT * 100 + SUMMARY_TOKENS),
            STALE: (((0, cut - 2),), (), (KEPT + 2) * 100 + SUMMARY_TOKENS),
            SUFFIX: ((), ((0, cut),), KEPT * 100),
        }[sent]
        assert view.tokens.tokens == planned.receipt.input_tokens
        assert (view.summarised, view.omitted, planned.receipt.input_tokens) == expected
        assert ("HISTORY_SUMMARY_STALE" in codes) == (sent == STALE)
        assert ("HISTORY_SUMMARY_INLINE" in codes) == (calls > 0)
        accepted = planned.accept_sync()
        assert accepted.preparing == (prepares and takes)
        assert [w.code for w in accepted.warnings] == (
            (["HISTORY_PREPARATION_SCHEDULED"] if takes else ["HISTORY_NO_BACKGROUND"])
            if prepares
            else []
        )
    assert len(model.calls) == calls
    assert len(host.jobs) == (1 if prepares and takes else 0)
