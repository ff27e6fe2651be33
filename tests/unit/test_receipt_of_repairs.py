"""What a receipt says where a repair leaves nothing of a unit, and where a pin is repaired."""

from __future__ import annotations

from typing import Any

import pytest

from thusfar import history, summarize

ASKED = {"role": "user", "content": "Go on."}
SAID = {"role": "assistant", "content": "So be it."}
ORPHAN = {"role": "tool", "tool_call_id": "gone", "content": "ok"}


def called(call_id: str) -> dict[str, Any]:
    call = {"id": call_id, "type": "function", "function": {"name": "pay", "arguments": "{}"}}
    return {"role": "assistant", "content": None, "tool_calls": [call]}


@pytest.mark.parametrize("cut", ["auto", "turn", "exchange"])
@pytest.mark.parametrize("oldest", [ORPHAN, called("c1")])
def test_what_is_repaired_away_at_the_oldest_end_is_a_repair_and_no_omission(cut, oldest):
    receipt = history.recent(9, cut=cut, repair="drop").project([oldest, ASKED, SAID]).receipt

    assert receipt.kept == ((1, 3),)
    assert receipt.omitted == ()
    assert [(note.kind, note.position) for note in receipt.repairs] == [("dropped", 0)]
    assert receipt.warnings == ()


def test_a_transcript_of_nothing_but_defects_is_repaired_to_an_empty_view():
    projection = history.recent(9, repair="drop").project([ORPHAN, ORPHAN])

    assert projection.messages == []
    assert projection.receipt.omitted == ()
    assert [note.position for note in projection.receipt.repairs] == [0, 1]
    assert projection.receipt.warnings == ()


def managed(*caps: int, **more: Any) -> Any:
    return history(recent=history.recent(*caps, **more), summary=summarize.digest())


@pytest.mark.parametrize("policy", [history.recent, managed])
def test_a_pinned_message_that_a_repair_leaves_out_is_not_said_to_be_kept(policy):
    pins = {"repair": "drop", "pinned": lambda message: message in (ORPHAN, SAID)}
    talk = [ASKED, SAID, ORPHAN, {"role": "user", "content": "Really. " * 200}, SAID, ASKED]

    receipt = policy(1, **pins).project(talk).receipt

    assert receipt.pinned == ((1, 2), (4, 5))
    assert receipt.kept == ((1, 2), (4, 6))
