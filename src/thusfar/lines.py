"""Lines: recorded text as one line of a log, escaped so that it cannot forge another entry."""

from __future__ import annotations

import re
from typing import Final

ELLIPSIS: Final = "…"
_BREAKS: Final = {
    "\\": "\\\\",
    "|": "\\|",
    "\r": "\\r",
    "\t": "\\t",
    "\x00": "\\0",
    "\x1b": "\\e",  # starts a terminal control sequence
    **dict.fromkeys("\n\v\f\x1c\x1d\x1e\x85\u2028\u2029", "\\n"),
}
_ESCAPED: Final = re.compile("[" + re.escape("".join(_BREAKS)) + "]")
_READ_AT_MOST: Final = 2  # characters read for each one shown; more would be cut anyway


def escape_line(text: str) -> str:
    r"""Escape backslashes, bars and every kind of line break.

    Example:
        >>> escape_line("a|b\nc")
        'a\\|b\\nc'
    """
    return _ESCAPED.sub(lambda match: _BREAKS[match.group()], text)


def cap(text: str, most: int) -> str:
    """Cut text to at most `most` characters, the ellipsis included, never inside an escape.

    Example:
        >>> cap("abcdef", 4)
        'abc…'
    """
    if len(text) <= most:
        return text
    if most <= 0:
        return ""
    cut = text[: most - 1]
    slashes = len(cut) - len(cut.rstrip("\\"))
    return (cut[:-1] if slashes % 2 else cut) + ELLIPSIS


def one_line(action: str, result: str, *, most: int) -> str:
    r"""Render `action | result` in at most `most` characters; the action takes at most half.

    Both texts are escaped before they are cut, so that the only bar is the one between them.

    Args:
        action: What was done.
        result: What came of it; empty when there is nothing to tell, and then no bar is shown.
        most: Most characters of the whole line. At least 10.

    Example:
        >>> one_line("read(a.txt)", "3 lines\nok", most=40)
        'read(a.txt) | 3 lines\\nok'
    """
    left = escape_line(action[: most * _READ_AT_MOST])
    right = escape_line(result[: most * _READ_AT_MOST])
    if not right:
        return cap(left, most)
    half = most // 2
    if len(left) + 3 + len(right) > most:
        left = cap(left, max(half, most - 3 - len(right)) if len(right) < half else half)
    return f"{left} | {cap(right, most - 3 - len(left))}"
