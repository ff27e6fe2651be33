"""Words: the rule by which a search finds a text, in any script and on every store. Pure.

It is the one rule: whatever an index says, a text is found when this says so. Nothing in a search
is syntax: quotes, operators and other punctuation only separate words.

Source:
    docs/spec/threads.md#search
"""

from __future__ import annotations

import re
import unicodedata
from functools import cached_property, lru_cache
from typing import Any, Final

WORDS_VERSION: Final = 1  # of the rule; an index of another version is made anew
WHOLE_BELOW: Final = 3  # characters: shorter words are found whole, longer ones also as beginnings
STEMS: Final = (3, 5, 8)  # characters of its beginning that an index knows a word by

# Scripts written without spaces between words, and pictures: found wherever they stand.
_RUNS: Final = (
    "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3005-\u3007\u3040-\u30ff\u31f0-\u31ff\u3400-\u4dbf"
    "\u4e00-\u9fff\ua9e0-\ua9ff\uaa60-\uaa7f\U0001b000-\U0001b16f\U00020000-\U0003ffff"
    "\u2600-\u27bf\U0001f000-\U0001faff"
)
_RUN: Final = re.compile(f"[{_RUNS}]+")
_ASCII_WORD: Final = re.compile("[a-z0-9]+")


def spaced(text: str) -> str:
    """Write the words of a text with one space before, between and behind them.

    Case and compatible forms (full width, ligatures) are folded; a run of a script without
    spaces, or of pictures, is one word.

    Example:
        >>> spaced("Order #4711, (ordered) twice!")
        ' order 4711 ordered twice '
    """
    if text.isascii():
        found = _ASCII_WORD.findall(text.lower())
    else:
        found = _RUN.sub(r" \g<0> ", _folded(text).translate(_KEPT)).split()
    return f" {' '.join(found)} " if found else " "


def _folded(text: str) -> str:
    folded = unicodedata.normalize("NFKC", text).casefold()
    return unicodedata.normalize("NFKC", folded)


class _Kept(dict[int, int | str | None]):
    """What becomes of each character, remembered as characters are met."""

    def __missing__(self, code: int) -> int | str | None:
        character = chr(code)
        kind = unicodedata.category(character)
        made: int | str | None = " "
        if kind == "Cf" or 0xFE00 <= code <= 0xFE0F or 0xE0100 <= code <= 0xE01EF:
            made = None  # joiners, soft hyphens, marks of direction, choices of a glyph
        elif kind[0] in "LMN" or _RUN.match(character):
            made = code
        self[code] = made
        return made


_KEPT: Final = _Kept()


def _is_run(word: str) -> bool:
    return not word.isascii() and _RUN.match(word) is not None


def stems_of(text: str) -> frozenset[str]:
    """List what an index must know a text by, so that `Search.stems` finds it.

    Args:
        text: As `spaced` writes it.

    Example:
        >>> sorted(stems_of(spaced("an order")))
        ['an ', 'ord', 'order']
    """
    found: set[str] = set()
    for word in set(text.split()):
        if not word.isascii() and _is_run(word):
            found.update(word)
            found.update(map(str.__add__, word, word[1:]))
        else:
            found.update(_beginnings(word))
    return frozenset(found)


@lru_cache(maxsize=32_768)
def _beginnings(word: str) -> tuple[str, ...]:
    if len(word) < WHOLE_BELOW:
        return (f"{word} ",)
    return tuple(word[:size] for size in STEMS if len(word) >= size)


class Search:
    """The words somebody looks for: a text is found when it has all of them, in any order.

    Args:
        words: Text; only its words count.

    Example:
        >>> search = Search('"refund" AND order')
        >>> search.finds(spaced("Refunds and orders")), search.finds(spaced("My order"))
        (True, False)
    """

    def __init__(self, words: str) -> None:
        self.words: tuple[str, ...] = tuple(dict.fromkeys(spaced(words).split()))

    def __bool__(self) -> bool:
        return bool(self.words)

    def finds(self, text: str) -> bool:
        """Tell whether a text, as `spaced` writes it, has all the words.

        A run is found wherever it stands. A word of fewer than three characters is found whole,
        a longer one also as the beginning of a word.
        """
        return all(wanted in text for wanted in self._wanted)

    @cached_property
    def _wanted(self) -> tuple[str, ...]:
        return tuple(
            word if _is_run(word) else f" {word} " if len(word) < WHOLE_BELOW else f" {word}"
            for word in self.words
        )

    @cached_property
    def stems(self) -> frozenset[str]:
        """What a text must be known by to be found; a text known by all need not be."""
        found: set[str] = set()
        for word in self.words:
            if _is_run(word):
                found.update(word[i : i + 2] for i in range(max(1, len(word) - 1)))
            else:
                found.add(_beginnings(word)[-1])
        return frozenset(found)


def text_of(content: Any) -> str:
    """Write the words of what is counted of a message; texts never run into each other."""
    return spaced("\n".join(content.texts))
