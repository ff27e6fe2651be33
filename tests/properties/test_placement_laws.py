"""Laws of placement, over random conversations spoiled in every way that a provider refuses."""

from __future__ import annotations

import copy
import random
import re
from collections import Counter
from typing import Any

import msgspec
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from thusfar import dialect, history
from thusfar.cli.findings import rules_of
from thusfar.dialects.base import plain
from thusfar.dialects.placement import Placed, place
from thusfar.dialects.placement_calls import complete_calls
from thusfar.dialects.placement_values import is_made
from thusfar.dialects.rules import Wire, check_wire
from thusfar.errors import RequestCompositionError
from thusfar.messages import Message, Reasoning, Text, ToolCall, ToolResult
from thusfar.testing.strategies import canonical_transcripts
from thusfar.thread.lowering import lower_all
from thusfar.units import group

WIRES = ("anthropic", "bedrock-converse", "gemini", "openai-chat", "openai-responses")
SPOILED_TEXTS = ("", " ", "\n", "tail ", "half \ud83d", "halves \ude00\ud83d")
ODD_IDS = ("", "a.b", "a_b", "é", "x" * 70, "y" * 70, "toolu:1/2", "fc-1")
WAITING = ("call-answered", "calls-answered", "response-count")
LOSING = frozenset(
    {"empty-filled", "empty-left-out", "reasoning-left-out", "trailing-space", "surrogates"}
)

FEW = settings(max_examples=120, deadline=None)


class Spoiler:
    """Spoils a conversation in canonical form, the same way for the same seed."""

    def __init__(self, seed: int, wire: str, share: float) -> None:
        self.rng, self.wire, self.share = random.Random(seed), wire, share
        self.ids: dict[str, str] = {}

    def spoiled(self, messages: list[Message]) -> list[Message]:
        return [self._message(message) for message in messages]

    def _message(self, message: Message) -> Message:
        parts = tuple(map(self._part, message.parts))
        if message.role == "assistant" and self.rng.random() < self.share:
            own = self.wire if self.wire != "openai-chat" else ""
            sealed = self.rng.choice(("sig", None)) if own else None
            parts = (Reasoning("thought", signature=sealed, provider=own), *parts)
            if not any(isinstance(part, ToolCall) for part in parts):
                parts = self.rng.choice((parts, parts[:1]))
        if message.role in ("assistant", "user") and self.rng.random() < self.share / 4:
            parts = tuple(part for part in parts if not isinstance(part, Text))
        return msgspec.structs.replace(message, parts=parts)

    def _part(self, part: Any) -> Any:
        match part:
            case Text() if self.rng.random() < self.share:
                return Text(self.rng.choice(SPOILED_TEXTS))
            case ToolCall(id=call_id):
                return msgspec.structs.replace(part, id=self._id(call_id))
            case ToolResult(call_id=call_id, parts=inner):
                failed = self.rng.random() < self.share
                return msgspec.structs.replace(
                    part,
                    call_id=self._id(call_id),
                    is_error=failed,
                    parts=tuple(map(self._part, inner)),
                )
            case _:
                return part

    def _id(self, call_id: str) -> str:
        if call_id not in self.ids:
            odd = [name for name in ODD_IDS if name not in self.ids.values()]
            spoil = odd and self.rng.random() < self.share
            self.ids[call_id] = self.rng.choice(odd) if spoil else call_id
        return self.ids[call_id]


@st.composite
def views(draw: st.DrawFn, defects: bool = True) -> tuple[str, list[Any]]:
    """A view on some wire: a conversation, spoiled, lowered, and cut by some policy."""
    name = draw(st.sampled_from(WIRES))
    canonical = draw(canonical_transcripts(max_turns=4, defects=defects))
    share = draw(st.sampled_from([0.0, 0.1, 0.4]))
    spoiled = Spoiler(draw(st.integers(0, 2**20)), name, share).spoiled(canonical)
    completed, _ = complete_calls(spoiled, name)
    wire = dialect(name)
    lowered = lower_all(completed, wire, leave_out=True, as_json=False).messages
    policy = history.recent(
        draw(st.integers(1, 12)),
        cut=draw(st.sampled_from(["auto", "turn", "exchange"])),
        repair=draw(st.sampled_from(["drop", "close"])),
    )
    try:
        return name, policy.project(lowered, dialect=name).messages
    except RequestCompositionError:  # nothing can be cut where even the repair is refused
        assume(False)
        raise


def findings(name: str, placed: Placed) -> list[str]:
    """What the wire refuses; calls at the end that wait for results are no fault of a view."""
    wire = dialect(name)
    rows = [plain(message) for message in placed.messages]
    waiting = {at for at, _ in group(tuple(map(wire.describe, rows))).pending}
    seen = Wire(messages=rows, system=placed.system, tools=placed.tools)
    return [
        found.rule
        for found in check_wire(rules_of(wire), seen)
        if not (waiting and found.rule.rpartition("/")[2] in WAITING)
    ]


def texts_of(name: str, messages: list[Any]) -> Counter[str]:
    """The texts of messages, without the fences and the fixed texts of placement."""
    read = [text for message in messages for text in dialect(name).content(message).texts]
    bare = (re.sub(r"^<system-message>\n|\n</system-message>$", "", text) for text in read)
    kept = (text for text in bare if text and not is_made(text))
    return Counter(kept)


@given(views(), st.booleans(), st.booleans())
@FEW
def test_the_validator_of_the_wire_finds_nothing_in_a_placed_view(view, prefix_kept, cache):
    name, messages = view
    assume(messages)

    placed = place(
        dialect(name),
        messages,
        tools=(),
        prefix_kept=prefix_kept,
        cache=cache,
        model="claude-sonnet-4-5",
    )

    assert findings(name, placed) == []


@given(views(), st.booleans(), st.booleans())
@FEW
def test_what_was_placed_is_placed_again_as_the_same_objects(view, prefix_kept, cache):
    """So a legal view comes back as it was given."""
    name, messages = view
    once = place(dialect(name), messages, tools=(), prefix_kept=prefix_kept, cache=cache)

    again = place(
        dialect(name),
        once.messages,
        system=once.system,
        tools=once.tools,
        prefix_kept=prefix_kept,
        cache=cache,
    )

    assert len(again.messages) == len(once.messages)
    assert all(a is b for a, b in zip(again.messages, once.messages, strict=True))
    assert (again.system, again.tools, again.notes) == (once.system, once.tools, ())


@given(views(), st.booleans())
@FEW
def test_every_message_is_there_in_order_or_named_in_a_note(view, prefix_kept):
    name, messages = view
    before = copy.deepcopy(messages)

    placed = place(dialect(name), messages, prefix_kept=prefix_kept)

    noted = {place for note in placed.notes for place in note.positions}
    codes = {note.code for note in placed.notes}
    system = sum(1 for _ in _leading(name, messages)) if name in WIRES[:3] else 0
    there = [at for places in placed.places for at in places]
    untouched = set(range(system, len(messages))) - noted
    assert messages == before
    assert untouched <= set(there)
    sent = {id(message) for message in placed.messages}
    assert all(id(messages[at]) in sent for at in untouched)
    assert len(placed.places) == len(placed.messages)
    if codes.isdisjoint({"results-moved"}):
        assert there == sorted(set(there))


def _leading(name: str, messages: list[Any]) -> Any:
    for message in messages:
        if dialect(name).describe(message).role != "system":
            return
        yield message


@given(views(), st.booleans())
@FEW
def test_no_text_is_lost_or_said_twice(view, prefix_kept):
    name, messages = view
    system = list(_leading(name, messages)) if name in WIRES[:3] else []

    placed = place(dialect(name), messages, prefix_kept=prefix_kept)

    codes = {note.code for note in placed.notes}
    given_texts = texts_of(name, messages[len(system) :])
    if codes.isdisjoint({"surrogates", "trailing-space", "names-renamed", "user-calls-quoted"}):
        lost = given_texts - texts_of(name, placed.messages)
        made_up = texts_of(name, placed.messages) - given_texts
        assert not made_up
        assert not lost or codes & LOSING


@given(views(defects=False), st.data())
@FEW
def test_a_conversation_that_goes_on_keeps_its_placed_head(view, data):
    name, messages = view
    assume(len(messages) > 1)
    wire = dialect(name)
    cut = data.draw(st.integers(1, len(messages) - 1))
    open_calls = group(tuple(map(wire.describe, messages[:cut])))
    assume(not open_calls.pending and not open_calls.unanswered and not open_calls.orphans)

    shorter = place(wire, messages[:cut])
    longer = place(wire, messages)

    assume(not any(note.code == "results-moved" for note in longer.notes))
    assume(not any(note.code == "user-first" and not note.positions for note in shorter.notes))
    head = len(shorter.messages) - 1
    assert list(map(_read, longer.messages[:head])) == list(map(_read, shorter.messages[:head]))


def _read(message: Any) -> Any:
    """A message without the id of an item, which no model reads."""
    return {key: value for key, value in plain(message).items() if key != "id"}


@given(views(), st.booleans())
@FEW
def test_the_same_view_is_placed_the_same_way(view, cache):
    name, messages = view

    one = place(dialect(name), messages, tools=(), cache=cache)
    two = place(dialect(name), copy.deepcopy(messages), tools=(), cache=cache)

    assert one == two
