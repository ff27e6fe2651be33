"""Exports in every wire: whole exchanges are legal however they were split; no text is lost."""

from __future__ import annotations

from collections import Counter

from hypothesis import given
from hypothesis import strategies as st

from thusfar.cli.findings import find
from thusfar.dialects import dialect
from thusfar.dialects.rules import Wire
from thusfar.messages import Message, Part, Text, ToolCall, ToolResult
from thusfar.thread.exporting import export_messages
from thusfar.thread.joining import join_steps

WIRES = ("openai-chat", "openai-responses", "anthropic", "gemini", "bedrock-converse")
NAMES = st.sampled_from(["look", "read"])


@st.composite
def exchanges(draw: st.DrawFn) -> list[Message]:
    """A step in one or several messages, and its results in any order, between what users say."""
    ids = draw(st.sampled_from(["own", "none", "again"]))
    made = draw(st.integers(0, 10**6))
    step: list[Message] = []
    results: list[Message] = []
    for number in range(draw(st.integers(1, 3))):
        parts: list[Part] = [Text(draw(st.sampled_from(["Let me see.", "And this."])))]
        parts = parts if draw(st.booleans()) else []
        for call in range(draw(st.integers(0 if parts else 1, 2))):
            call_id = {"own": f"c{made}-{number}-{call}", "none": None}.get(ids, f"c{number}{call}")
            name = draw(NAMES) if call_id else f"f{number}{call}"
            parts.append(ToolCall(call_id, name))
            results.append(Message("tool", (ToolResult(call_id, name, (Text("seen"),)),)))
        step.append(Message("assistant", tuple(parts)))
    behind = draw(st.permutations(results)) if ids != "none" else results
    said = [Message("user", (Text("Hurry."),)) for _ in range(draw(st.integers(0, 1)))]
    mixed = list(behind)
    for one in said:
        mixed.insert(draw(st.integers(0, len(mixed))), one)
    return [*step, *mixed]


@st.composite
def transcripts(draw: st.DrawFn) -> list[Message]:
    """Turns whose calls are all answered, with or without system text before them."""
    found = [Message("system", (Text("Be brief."),))] if draw(st.booleans()) else []
    for _ in range(draw(st.integers(1, 3))):
        found.append(Message("user", (Text("Look."),)))
        found += draw(exchanges())
        found.append(Message("assistant", (Text("Done."),)))
    return found


def _texts(messages: list[Message]) -> Counter[str]:
    return Counter(p.text for m in messages for p in m.parts if isinstance(p, Text))


def _calls(messages: list[Message]) -> tuple[int, int]:
    parts = [part for message in messages for part in message.parts]
    return (
        sum(isinstance(part, ToolCall) for part in parts),
        sum(isinstance(part, ToolResult) for part in parts),
    )


@given(transcripts(), st.sampled_from(WIRES))
def test_whole_exchanges_are_legal_on_every_wire(messages: list[Message], name: str) -> None:
    target = dialect(name)

    made = export_messages(messages, target)

    wire = Wire(messages=made.messages, system=made.system)
    assert [f.name for f in find(made.messages, target, wire).findings] == []
    assert made.left_out == 0


@given(transcripts(), st.sampled_from(WIRES))
def test_joining_loses_nothing_and_doing_it_again_changes_nothing(
    messages: list[Message], name: str
) -> None:
    joined, lost = join_steps(messages, name)

    assert lost == 0
    assert _texts(joined) == _texts(messages)
    assert _calls(joined) == _calls(messages)
    assert join_steps(joined, name).messages == joined


@given(
    st.lists(st.one_of(exchanges(), transcripts()), max_size=3),
    st.randoms(),
    st.sampled_from(WIRES),
)
def test_any_order_of_messages_is_exported_without_an_error(
    runs: list[list[Message]],
    random: st.random_module,
    name: str,  # type: ignore[valid-type]
) -> None:
    messages = [message for run in runs for message in run]
    random.shuffle(messages)  # type: ignore[attr-defined]

    made = export_messages(messages, dialect(name), leave_out=True)

    assert isinstance(made.messages, list)
