"""Output: text and JSON on stdout. Text of a transcript is data and never controls a terminal."""

from __future__ import annotations

import os
import re
import sys
import textwrap
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final, Literal

from thusfar.codec import json_text

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

WIDTH: Final = 80  # columns where the output is no terminal and COLUMNS is not set
LEAST_WIDTH: Final = 20  # columns, however few the terminal has
_DIGITS: Final = 4  # of a number of columns
_JOINERS: Final = "\u200c\u200d"  # inside words of some scripts, and inside emoji
_NAMED: Final = {"\n": "\\n", "\t": "\\t", "\r": "\\r", "\x1b": "\\e", "\0": "\\0"}
_UNSAFE_IN_JSON: Final = re.compile("[\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]")
_NOT_ASCII: Final = re.compile(r"[^\x00-\x7f]")


def prepare_streams() -> None:
    """Make sure that no character can stop the output, whatever the terminal can show."""
    for stream in (sys.stdout, sys.stderr):
        if callable(reconfigure := getattr(stream, "reconfigure", None)):
            reconfigure(errors="backslashreplace")


def settle_columns() -> None:
    """Make sure that there is room for the output, whatever COLUMNS says.

    A table without room prints nothing at all. No columns are what some programs say of a terminal
    whose size they do not know.
    """
    told = os.environ.get("COLUMNS")
    if told is None:
        return
    if not told.isdecimal() or len(told) > _DIGITS or not int(told):
        del os.environ["COLUMNS"]
    else:
        os.environ["COLUMNS"] = str(max(int(told), LEAST_WIDTH))


def shown(text: str) -> str:
    r"""Escape everything that a terminal would act on instead of showing it.

    Control characters, lone surrogates and marks that change the direction of text come out as
    escapes; letters, signs and emoji of any script stay.

    Example:
        >>> shown("red \x1b[31m alert\n")
        'red \\e[31m alert\\n'
    """
    if text.isprintable():
        return text
    return "".join(
        char if char.isprintable() or char in _JOINERS else _NAMED.get(char) or _escape(char)
        for char in text
    )


def _escape(char: str) -> str:
    number = ord(char)
    return f"\\x{number:02x}" if number < 0x100 else f"\\u{number:04x}"


def preview(texts: Iterable[str], *, most: int) -> str:
    """Show the beginning of some text in one line.

    Args:
        texts: The text, in pieces.
        most: Most columns of a terminal, the ellipsis included.
    """
    from rich.cells import cell_len, set_cell_size

    taken = ""
    for text in texts:
        taken = f"{taken} {text[: most * 8]}"
        if len(taken) > most * 8:
            break
    line = shown(" ".join(taken.split()))
    return line if cell_len(line) <= most else set_cell_size(line, most - 1).rstrip() + "…"


def console() -> Console:
    """Make the console that tables are printed on: plain text unless stdout is a terminal.

    With `NO_COLOR` set there are no styles at all.
    """
    from rich.console import Console

    terminal = sys.stdout.isatty()
    plain: Literal["auto"] | None = None if os.environ.get("NO_COLOR") else "auto"
    width = None if terminal or os.environ.get("COLUMNS", "").isdecimal() else WIDTH
    return Console(
        file=sys.stdout,
        width=width,
        color_system=plain,
        markup=False,
        highlight=False,
        emoji=False,
    )


def print_table(table: Table, out: Console) -> None:
    """Print a table without the spaces that fill its last column."""
    with out.capture() as captured:
        out.print(table)
    for line in captured.get().splitlines():
        out.file.write(f"{line.rstrip()}\n")


def print_indented(text: str, out: Console, *, by: int = 2, hanging: int = 0) -> None:
    """Print text with every line indented, folded between words.

    Args:
        text: The text; it is shown as it is, so recorded text goes through `shown` first.
        out: The console.
        by: Columns before each line.
        hanging: Further columns before what a line is continued by.
    """
    for line in text.splitlines():
        folded = textwrap.fill(
            line,
            out.width,
            initial_indent=" " * by,
            subsequent_indent=" " * (by + hanging),
            break_on_hyphens=False,
        )
        out.print(folded, soft_wrap=True)


def counted(number: int, noun: str) -> str:
    """Show a number with its noun, such as `1 message` and `2,000 messages`."""
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def print_json(value: Mapping[str, Any]) -> None:
    """Print a JSON object: a key a line, and lists with an element a line.

    Raises:
        TranscriptError: `INVALID_TRANSCRIPT`, when a value is not JSON.
    """
    _print_json(json_document(value))


def print_json_line(value: Mapping[str, Any]) -> None:
    """Print a JSON object on one line, for output of which each line is read as it comes.

    Raises:
        TranscriptError: `INVALID_TRANSCRIPT`, when a value is not JSON.
    """
    _print_json(_UNSAFE_IN_JSON.sub(_json_escape, json_text(value)))


def _print_json(text: str) -> None:
    if (sys.stdout.encoding or "").lower().replace("-", "") != "utf8":
        text = _NOT_ASCII.sub(_json_escape, text)
    print(text)  # noqa: T201 - the one place that prints JSON


def json_document(value: Mapping[str, Any]) -> str:
    """Write a JSON object as `print_json` prints it."""
    rows = []
    for key, item in value.items():
        listed = isinstance(item, list | tuple) and item
        rows.append(f"{json_text(key)}:{_rows(item) if listed else json_text(item)}")
    return _UNSAFE_IN_JSON.sub(_json_escape, "{" + ",\n ".join(rows) + "}")


def json_rows(values: Sequence[Any]) -> str:
    """Write a JSON list with an element a line, as `print_json` does."""
    return _UNSAFE_IN_JSON.sub(_json_escape, _rows(values))


def _rows(values: Sequence[Any]) -> str:
    return "[\n  " + ",\n  ".join(map(json_text, values)) + "]"


def _json_escape(found: re.Match[str]) -> str:
    """Escape one character as JSON does, in two halves outside the basic plane."""
    units = found.group().encode("utf-16-be")
    return "".join(f"\\u{units[i]:02x}{units[i + 1]:02x}" for i in range(0, len(units), 2))
