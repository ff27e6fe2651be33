"""Reading: from the FILE of a command line to a transcript, with an error for every way to fail."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from thusfar.cli.output import shown
from thusfar.errors import TranscriptError
from thusfar.sources import Loaded, load
from thusfar.sources.parsing import parse

STDIN_WORD: Final = "-"
STDIN: Final = "<stdin>"
"""What `-` is replaced by, since a parser takes a word that begins with a dash for an option."""


@dataclass(frozen=True, slots=True)
class Source:
    """A transcript, and what it was read from.

    Attributes:
        loaded: The transcript.
        data: The bytes that were read.
    """

    loaded: Loaded
    data: bytes

    def body(self) -> Mapping[str, Any] | None:
        """Find the request body that holds the messages.

        Returns:
            The file itself where it is a request, a cassette's last request, else `None`.
        """
        if self.loaded.kind not in ("request", "cassette"):
            return None
        value = parse(self.data).values[0]
        if self.loaded.kind == "cassette":
            interaction = self.loaded.facts["interaction"]
            value = value["interactions"][interaction]["request"].get("body")
            if isinstance(value, Mapping) and value.keys() == {"string"}:
                value = value["string"]
            if isinstance(value, str) and value.lstrip().startswith("{"):
                value = parse(value).values[0]
        return value if isinstance(value, Mapping) else None

    def with_messages(self, messages: list[Any]) -> dict[str, Any] | None:
        """Copy the body of a request file with its list replaced; `None` for other sources."""
        body = self.body() if self.loaded.kind == "request" else None
        if body is None:
            return None
        held = "messages" if isinstance(body.get("messages"), list) else "contents"
        held = held if held in body else "input"
        return {key: messages if key == held else value for key, value in body.items()}


def read_source(file: str, dialect: str | None = None) -> Source:
    """Read a transcript from a file, or from stdin.

    Args:
        file: Path of the file, or `STDIN`.
        dialect: Dialect the messages are in; `None` to find out.

    Raises:
        TranscriptError: `INVALID_TRANSCRIPT`, when the file cannot be read or holds no
            transcript.
        OptionsError: `INVALID_OPTIONS`, for a dialect that does not exist.
    """
    data = read_bytes(file)
    return Source(load(data, dialect=dialect), data)


def read_bytes(file: str) -> bytes:
    """Read a whole file, or stdin.

    Raises:
        TranscriptError: `INVALID_TRANSCRIPT`, when there is no such file, it is a directory, or
            it cannot be read; the path is named, its content never.
    """
    if file == STDIN:
        return sys.stdin.buffer.read()
    if not file:
        raise TranscriptError(
            "A file was named by nothing at all.", fix="Pass the path of a file, or - for stdin."
        )
    path = Path(file)
    try:
        return path.read_bytes()
    except FileNotFoundError:
        raise _unreadable(
            file, "does not exist", "Pass the path of a file, or - for stdin."
        ) from None
    except IsADirectoryError:
        raise _unreadable(file, "is a directory", "Pass the path of a file in it.") from None
    except PermissionError:
        what = "is a directory" if path.is_dir() else "may not be read"
        raise _unreadable(file, what, "Pass a file that you may read.") from None
    except (OSError, ValueError) as error:
        why = getattr(error, "strerror", None) or "its name is not a path"
        raise _unreadable(
            file, f"could not be read ({why.lower()})", "Pass a file that can be read."
        ) from None


def read_text(file: str) -> str:
    """Read a whole file of text in UTF-8, or stdin.

    Raises:
        TranscriptError: `INVALID_TRANSCRIPT`, as `read_bytes`, and for bytes that are no UTF-8.
    """
    try:
        return read_bytes(file).decode("utf-8-sig")
    except UnicodeDecodeError:
        raise _unreadable(file, "is no text in UTF-8", "Pass a file of text in UTF-8.") from None


def _unreadable(file: str, what: str, fix: str) -> TranscriptError:
    return TranscriptError(f"The file {shown(file)} {what}.", fix=fix)
