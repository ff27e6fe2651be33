"""Lines: a place of a thread in one line, whatever it holds, within the width of the terminal."""

import pytest
from msgspec.structs import replace
from rich.cells import cell_len

from thusfar.cli.output import console
from thusfar.cli.thread.lines import (
    entry_texts,
    group_mark,
    id_width,
    parts_text,
    path_lines,
    print_whole,
    variant_of,
)
from thusfar.messages import (
    Audio,
    File,
    Image,
    Message,
    Native,
    Reasoning,
    Text,
    ToolCall,
    ToolResult,
)
from thusfar.thread import Entry, Variant


def entry(name, message=None, *, kind="message", group=None, **more):
    if isinstance(message, str):
        message = Message("user", (Text(message),))
    return Entry(
        kind=kind,
        id=name,
        parent_id=None,
        message=message,
        created_at=0,
        group=group or name,
        **more,
    )


@pytest.mark.parametrize(
    ("part", "said"),
    [
        (Text("Hi"), ["Hi"]),
        (ToolCall("c1", "weather", '{"city": "Oslo"}'), ['calls weather({"city": "Oslo"})']),
        (ToolResult("c1", parts=(Text("3 C"),)), ["returned:", "3 C"]),
        (ToolResult("c1", parts=(Text("no"),), is_error=True), ["failed:", "no"]),
        (Reasoning("Hm."), ["thought: Hm."]),
        (Reasoning(data="x", provider="anthropic"), ["[sealed reasoning]"]),
        (Image("image/png", data="AAAA"), ["[image image/png]"]),
        (Audio(url="https://example.org/a.mp3"), ["[audio https://example.org/a.mp3]"]),
        (File(name="trip.pdf", data="AAAA"), ["[file trip.pdf]"]),
        (File(data="AAAA"), ["[file]"]),
        (Native("anthropic", "server_tool_use", "{}"), ["[anthropic server_tool_use]"]),
    ],
)
def test_every_kind_of_part_is_said(part, said):
    assert list(parts_text((part,))) == said


def test_what_left_the_transcript_says_so():
    assert list(entry_texts(entry("m1", kind="redacted"))) == ["[redacted]"]
    assert list(entry_texts(entry("m1", kind="removed"))) == ["[removed]"]
    assert list(entry_texts(entry("m1", "Hi", available=False))) == [
        "(left out: its exchange lost a message)",
        "Hi",
    ]


def test_a_path_shows_place_group_role_id_siblings_and_text():
    call = Message("assistant", (ToolCall("c1", "w"),))
    result = Message("tool", (ToolResult("c1", parts=(Text("3 C"),)),))
    second = Variant(index=1, count=3, previous="x", next="y")
    path = [
        entry("ask", "Weather in Oslo?", variant=second),
        entry("call", call, group="call"),
        entry("result", result, group="call"),
        entry("said", Message("assistant", (Text("3 C."),)), group="call"),
        entry("gone", kind="redacted"),
    ]

    assert list(path_lines(path, 8, 80)) == [
        "@8    user       ask     2/3  Weather in Oslo?",
        "@9  ┌ assistant  call         calls w({})",
        "@10 │ tool       result       returned: 3 C",
        "@11 └ assistant  said         3 C.",
        "@12              gone         [redacted]",
    ]


def test_a_line_keeps_the_width_and_controls_nothing():
    odd = "\x1b[2J red\nsecond line " + "日本語のテキスト" * 20

    (line,) = path_lines([entry("m" * 300, odd)], 0, 80)

    assert cell_len(line) <= 80
    assert line.isprintable()
    assert "\\e[2J red second line" in line


def test_ids_are_as_long_as_tells_them_apart():
    def width(*ids):
        return id_width([entry(each) for each in ids])

    assert width("m1", "m20") == 3
    assert width("msg_0123456789", "msg_1123456789") == 8
    assert width("msg_0123456789", "msg_0123496789") == 10
    assert width("a" * 40 + "1", "a" * 40 + "2") == 20
    assert width() == 0


def test_a_group_of_one_has_no_bracket():
    alone = [entry("a"), entry("b"), entry("b2", group="b"), entry("c")]

    assert [group_mark(alone, number) for number in range(4)] == [" ", "┌", "└", " "]


def test_siblings_are_counted_from_one():
    assert variant_of(entry("m1")) == ""
    first = replace(entry("m1"), variant=Variant(index=0, count=2, previous=None, next="m2"))
    assert variant_of(first) == "1/2"


def test_a_whole_message_keeps_its_lines_and_controls_nothing(capsys):
    parts = (Text("def f():\n\treturn 1\x1b[0m\n"), ToolCall("c1", "w"))

    print_whole(Message("assistant", parts), console())

    assert capsys.readouterr().out.splitlines() == [
        "    def f():",
        "    \\treturn 1\\e[0m",
        "",
        "    calls w({})",
    ]
