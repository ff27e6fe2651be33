"""Every recorded transcript, under tight budgets, is accepted by every wire once it is placed."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Any

import pytest

from readers import Transcript, transcripts
from shared_data import needs_shared
from thusfar import dialect, history, plan_sync
from thusfar.cli.findings import rules_of
from thusfar.dialects.base import plain
from thusfar.dialects.placement import PROVIDERS, Placed, place
from thusfar.dialects.placement_calls import complete_calls
from thusfar.dialects.rules import Wire, check_wire
from thusfar.errors import HistoryError
from thusfar.messages import Message, Text
from thusfar.storage import open_store
from thusfar.thread.handle import Thread
from thusfar.thread.lowering import lower_all
from thusfar.units import group

BUDGETS = (
    history.recent(3, cut="exchange", repair="close"),
    history.recent(9, cut="auto", repair="drop"),
    history.recent(tokens=400, cut="exchange", repair="drop"),
    history.recent(tokens=1500, cut="turn", repair="close"),
)
ANSWERS = ("call-answered", "calls-answered", "response-count")
SUMMARY = Message("assistant", (Text("What was said so far."),))

pytestmark = needs_shared


@pytest.fixture(scope="module")
def recorded() -> list[Transcript]:
    found = list(transcripts())
    assert found, "the shared data is here and no transcript was read"
    return found


def views(each: Transcript) -> Iterator[list[Message]]:
    """The views of a transcript, in canonical form, each once."""
    lift = dialect(each.dialect).lift
    seen: set[tuple[int, ...]] = set()
    for policy in BUDGETS:
        view = policy.project(each.messages, dialect=each.dialect).messages
        key = tuple(map(id, view))
        if key not in seen:
            seen.add(key)
            yield [lift(message) for message in view]


def lowered(view: list[Message], wire: str) -> list[Any]:
    completed, _ = complete_calls(view, wire)
    return lower_all(completed, dialect(wire), leave_out=True, as_json=False).messages


def findings(wire: str, placed: Placed) -> list[str]:
    """What the wire refuses, but for calls at the end that wait for their results."""
    rows = [plain(message) for message in placed.messages]
    waiting = group(tuple(map(dialect(wire).describe, rows))).pending
    request = Wire(messages=rows, system=placed.system, tools=placed.tools)
    return [
        found.rule
        for found in check_wire(rules_of(dialect(wire)), request)
        if not (waiting and found.rule.rpartition("/")[2] in ANSWERS)
    ]


@pytest.mark.parametrize("wire", sorted(PROVIDERS))
def test_every_view_lowers_to_the_wire_with_no_finding(recorded, wire: str, capsys: Any):
    counts: Counter[str] = Counter()
    for each in recorded:
        for view in views(each):
            messages = lowered(view, wire)
            if not messages:  # an orphan that was left out, or reasoning of another provider
                counts["nothing to send"] += 1
                continue
            counts["views"] += 1
            placed = place(dialect(wire), messages, tools=())
            counts.update(note.code for note in placed.notes)

            assert findings(wire, placed) == [], each.name
            if placed.notes:
                again = place(
                    dialect(wire), placed.messages, system=placed.system, tools=placed.tools
                )
                assert again.notes == (), each.name
    with capsys.disabled():
        print(f"\n{wire}: {len(recorded)} transcripts, {dict(sorted(counts.items()))}")

    assert counts["views"] > len(recorded)
    assert counts["nothing to send"] < counts["views"] / 50


@pytest.mark.parametrize("wire", ["anthropic", "bedrock-converse", "gemini"])
def test_every_view_behind_a_summary_is_accepted(recorded, wire: str):
    views_seen = 0
    for each in recorded:
        for view in list(views(each))[:1]:
            start = next((at for at, m in enumerate(view) if m.role != "system"), len(view))
            messages = lowered([*view[:start], SUMMARY, *view[start:]], wire)
            head = len(lowered(view[:start], wire))
            views_seen += 1

            placed = place(
                dialect(wire), messages, tools=(), spoken=1, prefix_kept=False, cache=True
            )

            assert findings(wire, placed) == [], each.name
            assert any(
                note.code == "summary-joined" and note.positions == (head,) for note in placed.notes
            )

    assert views_seen == len(recorded)


EVERY = 7  # one transcript of that many is stored, planned and placed; all wires see it


def test_recorded_threads_planned_under_tight_budgets_are_accepted_by_every_wire(recorded):
    store = open_store("memory:")
    seen: Counter[str] = Counter()
    for number, each in enumerate(recorded[::EVERY]):
        thread = Thread(f"t{number}", store=store)
        try:
            thread.sync.import_(list(each.messages), dialect=each.dialect)
        except HistoryError as refused:  # what no thread may hold is told by its own tests
            seen[refused.code] += 1
            continue
        for wire in sorted(PROVIDERS):
            policy = history.recent(6, cut="exchange", repair="drop")
            made = plan_sync(
                thread=thread, model="gpt-4o", wire=wire, policy=policy, leave_out=True
            )
            rows = Placed(
                messages=made.messages, system=made.system, tools=made.kwargs.get("tools")
            )
            if not made.messages:
                seen["nothing to send"] += 1
                continue
            seen[wire] += 1

            assert findings(wire, rows) == [], each.name

    assert all(seen[wire] > len(recorded) / EVERY / 2 for wire in PROVIDERS), seen
