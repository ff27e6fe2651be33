"""A damaged export is refused with its line, or gives a thread that verifies; never a half one."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from thusfar.errors import TranscriptError
from thusfar.messages import Message, Text, ToolCall, ToolResult
from thusfar.storage import open_store
from thusfar.thread import Thread

DELETED = object()
ODD = [
    None, True, False, 0, -1, 1, 2**70, 1.5, "", "x", "u1", "\0", [], [1], {}, {"a": 1}, [[]],
    ["u1"], [None], DELETED,
]  # fmt: skip


def said(role: Any, message_id: str, *parts: Any) -> Message:
    made = tuple(Text(part) if isinstance(part, str) else part for part in parts)
    return Message(role, made, id=message_id)


def exported() -> str:
    """A thread with branches, groups, heads, a continuation, and each state of a message."""
    told = Thread("source", store=open_store("memory:")).sync
    told.append(said("user", "u1", "one"))
    result = ToolResult(call_id="c", name="f", parts=(Text("r"),))
    told.append([said("assistant", "a1", ToolCall("c", "f", "{}")), said("tool", "t1", result)])
    told.append(said("assistant", "a2", "two"))
    told.edit("u1", "uno", id="u1b")
    told.append(said("assistant", "b1", "beta"))
    told.select("u1")
    told.append(said("user", "u3", "three"))
    told.fork("other", at="a2")
    told.append(said("assistant", "a3", "secret"))
    told.redact("a3")
    told.append(said("assistant", "a4", "beside"), after="u3")
    told.remove("a4")
    told.append(said("assistant", "p1", ToolCall("d", "g", "{}")), open=True)
    return told.export()


WHOLE = exported()
LINES = [json.loads(line) for line in WHOLE.splitlines()]


def places_in(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    yield path
    inner = (
        value.items()
        if isinstance(value, dict)
        else enumerate(value)
        if isinstance(value, list)
        else ()
    )
    for key, each in inner:
        yield from places_in(each, (*path, key))


PLACES = [(n, path) for n, line in enumerate(LINES) for path in places_in(line) if path]


def changed(value: Any, path: tuple[Any, ...], odd: Any) -> Any:
    value = json.loads(json.dumps(value))
    inner = value
    for key in path[:-1]:
        inner = inner[key]
    if odd is DELETED:
        del inner[path[-1]]
    else:
        inner[path[-1]] = odd
    return value


def taken(lines: list[Any]) -> None:
    """Import lines: they are refused, or the thread verifies, goes on and is exported again."""
    told = Thread("copy", store=open_store("memory:")).sync
    try:
        told.import_("\n".join(map(json.dumps, lines)))
    except TranscriptError:
        assert told.read().ids == ()
        return
    assert told.verify().ok
    told.append({"role": "user", "content": "more"})
    assert told.verify().ok
    Thread("again", store=open_store("memory:")).sync.import_(told.export())


@given(st.sampled_from(PLACES), st.sampled_from(ODD))
def test_one_changed_value_is_refused_or_harmless(place: tuple[int, Any], odd: Any) -> None:
    number, path = place
    taken([*LINES[:number], changed(LINES[number], path, odd), *LINES[number + 1 :]])


@given(st.data())
def test_lines_that_are_missing_twice_or_elsewhere_are_refused_or_harmless(
    data: st.DataObject,
) -> None:
    header = {key: value for key, value in LINES[0].items() if key != "lines"}
    places = st.integers(1, len(LINES) - 1)
    order = data.draw(
        st.one_of(
            st.permutations(range(1, len(LINES))),
            st.lists(places, max_size=2 * len(LINES)),
            st.lists(places, unique=True).map(sorted),
        )
    )
    taken([header, *(LINES[i] for i in order)])


@pytest.mark.parametrize(
    ("number", "path", "odd"),
    [
        (2, ("group", 0, "parts", 0, "id"), "other"),  # the result answers no call
        (4, ("places", 0, 0), 0),
        (1, ("places", 0, 3), 0),
    ],
)
def test_places_that_do_not_follow_from_the_messages_are_told_as_such(
    number: int, path: tuple[Any, ...], odd: Any
) -> None:
    lines = [*LINES[:number], changed(LINES[number], path, odd), *LINES[number + 1 :]]
    told = Thread("copy", store=open_store("memory:")).sync

    with pytest.raises(TranscriptError, match=f"Line {number + 1} .* places .* leave out"):
        told.import_("\n".join(map(json.dumps, lines)))

    bare = [{key: value for key, value in line.items() if key != "places"} for line in lines]
    told.import_("\n".join(map(json.dumps, bare)))
    assert told.verify().ok


@pytest.mark.parametrize(
    ("number", "path", "odd"),
    [
        (5, ("states",), DELETED),  # erased, and yet live
        (4, ("states",), ["redacted"]),  # live content of an erased message
        (9, ("head_then",), "nobody"),
        (9, ("head_then",), [[]]),
        (11, ("at",), "a1"),  # a head within a group
    ],
)
def test_a_line_that_contradicts_itself_is_named(
    number: int, path: tuple[Any, ...], odd: Any
) -> None:
    lines = [*LINES[:number], changed(LINES[number], path, odd), *LINES[number + 1 :]]
    assert path[0] in LINES[number] or path == ("states",)

    with pytest.raises(TranscriptError, match=f"Line {number + 1} ") as caught:
        Thread("copy", store=open_store("memory:")).sync.import_("\n".join(map(json.dumps, lines)))

    assert caught.value.facts["line"] == number + 1
    assert not re.search("nobody|secret", str(caught.value))
