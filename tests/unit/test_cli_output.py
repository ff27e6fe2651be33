"""Output: text of a transcript never controls a terminal, and JSON stays JSON."""

import io
import json
import os
import sys

import pytest

from thusfar.cli.output import (
    console,
    counted,
    json_document,
    json_rows,
    preview,
    print_indented,
    print_json,
    settle_columns,
    shown,
)


@pytest.mark.parametrize(
    ("text", "escaped"),
    [
        ("plain", "plain"),
        ("a\nb\tc\r", "a\\nb\\tc\\r"),
        ("\x1b[31mred\x1b[0m", "\\e[31mred\\e[0m"),
        ("\x00\x07\x7f\x9b", "\\0\\x07\\x7f\\x9b"),
        ("\u202eevil\u2066", "\\u202eevil\\u2066"),
        ("lone \ud800", "lone \\ud800"),
        ("Vágr 你好 مرحبا", "Vágr 你好 مرحبا"),
        ("👩\u200d👧", "👩\u200d👧"),
    ],
)
def test_what_a_terminal_would_act_on_is_escaped(text, escaped):
    assert shown(text) == escaped


def test_a_preview_is_one_line_of_so_many_columns():
    assert preview(["Weather\n\n in", "Oslo?"], most=40) == "Weather in Oslo?"
    assert preview(["Weather in Oslo?"], most=10) == "Weather i…"
    assert preview(["你好你好你好"], most=6) == "你好…", "a wide character takes two columns"
    assert preview([], most=10) == ""


def test_a_preview_does_not_read_on_for_ever():
    endless = ("word" for _ in iter(int, 1))

    assert preview(endless, most=10) == "word word…"


def test_json_has_a_key_a_line_and_lists_an_element_a_line():
    document = json_document({"a": 1, "b": [{"c": "é"}, 2], "d": []})

    assert document == '{"a":1,\n "b":[\n  {"c":"é"},\n  2],\n "d":[]}'
    assert json_rows([1, "x"]) == '[\n  1,\n  "x"]'


@pytest.mark.parametrize("text", ["\x7f\x9b31m", "\u202e\u2066\u200f", "\ud800", "\u2028\x00\x1b"])
def test_json_escapes_what_a_terminal_would_act_on_and_keeps_the_value(text):
    document = json_document({"text": text})

    assert document.isascii()
    assert json.loads(document) == {"text": text}


def test_json_is_ascii_where_the_output_is_not_utf8(monkeypatch):
    written = io.TextIOWrapper(io.BytesIO(), encoding="ascii")
    monkeypatch.setattr(sys, "stdout", written)

    print_json({"text": "é 👧"})

    written.flush()
    assert written.buffer.getvalue() == b'{"text":"\\u00e9 \\ud83d\\udc67"}\n'


def test_text_is_folded_between_words_and_indented(monkeypatch, capsys):
    monkeypatch.setenv("COLUMNS", "20")

    print_indented("one two three four five\nsix", console(), by=2, hanging=1)

    assert capsys.readouterr().out == "  one two three four\n   five\n  six\n"


def test_markup_of_the_terminal_library_is_shown_as_it_is(capsys):
    console().print("[bold]not bold[/bold] :smile:")

    assert capsys.readouterr().out == "[bold]not bold[/bold] :smile:\n"


def test_an_output_that_is_no_terminal_is_80_columns_without_escapes(monkeypatch, capsys):
    monkeypatch.delenv("COLUMNS", raising=False)
    monkeypatch.delenv("FORCE_COLOR", raising=False)

    out = console()
    out.print("word " * 30, style="bold red")

    assert out.width == 80
    assert "\x1b" not in capsys.readouterr().out


def test_no_color_means_no_style_even_on_a_terminal(monkeypatch, capsys):
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
    monkeypatch.setenv("TERM", "xterm-256color")
    monkeypatch.setenv("NO_COLOR", "1")

    console().print("title", style="bold red")

    assert capsys.readouterr().out == "title\n"


def test_a_number_goes_with_its_noun():
    assert [counted(n, "message") for n in (0, 1, 2, 2_000)] == [
        "0 messages",
        "1 message",
        "2 messages",
        "2,000 messages",
    ]


@pytest.mark.parametrize(
    ("told", "settled"),
    [
        ("100", "100"),
        ("20", "20"),
        ("1", "20"),
        ("0", None),
        ("000", None),
        ("99999999999", None),
        ("-3", None),
        ("wide", None),
        ("", None),
    ],
)
def test_there_is_always_room_for_the_output(monkeypatch, told, settled):
    monkeypatch.setenv("COLUMNS", told)

    settle_columns()

    assert os.environ.get("COLUMNS") == settled
