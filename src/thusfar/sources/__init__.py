"""Sources: read a transcript from a file or a value in any known shape.

`load` recognises lists of messages, whole requests and responses of the five providers, recorded
streams, cassettes, and the session logs of Claude Code, Gemini CLI and pi. It takes bytes or text
that were read elsewhere: nothing here opens a file. Input of any other shape raises a
`TranscriptError` that says where; a list of messages comes back as the same objects.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from thusfar.dialects import candidates
from thusfar.dialects import dialect as dialect_named
from thusfar.dialects.base import as_sequence, plain
from thusfar.errors import TranscriptError
from thusfar.sources.bodies import load_request, load_response
from thusfar.sources.cassette import is_cassette, load_cassette, load_interactions
from thusfar.sources.claude_code import is_claude_code, load_claude_code
from thusfar.sources.gemini_cli import is_gemini_cli, load_gemini_cli
from thusfar.sources.lists import load_list, load_planned, load_wrapped
from thusfar.sources.loaded import Entry, Loaded, Sidechain, unreadable
from thusfar.sources.parsing import Document, parse
from thusfar.sources.pi import is_pi, load_pi
from thusfar.sources.streams import fold, fold_gemini, is_gemini_chunk

__all__ = ["Entry", "Loaded", "Sidechain", "interactions", "load"]

_LOGS = (
    (is_claude_code, load_claude_code),
    (is_gemini_cli, load_gemini_cli),
    (is_pi, load_pi),
)


def load(data: Any, *, dialect: str | None = None) -> Loaded:
    """Read a transcript.

    Args:
        data: Bytes or text of a file, or a value that is parsed already: a list of messages
            (also of objects), a request, a response (also an object of a provider's SDK), a
            cassette or a session.
        dialect: Dialect the messages are in; `None` to find out. A source whose shape says
            its dialect must be of that dialect.

    Returns:
        The transcript. An empty list gives no messages, in openai-chat.

    Raises:
        TranscriptError: `INVALID_TRANSCRIPT`, for input that is empty, not well formed or of
            no known shape; `facts` has the line or position where there is one.
        OptionsError: `INVALID_OPTIONS`, for a dialect that does not exist.

    Example:
        >>> load('[{"role": "user", "content": "Hello"}]').messages
        ({'role': 'user', 'content': 'Hello'},)
    """
    if dialect is not None:
        dialect_named(dialect)
    loaded = _load_document(_document(data), dialect)
    if dialect not in (None, loaded.dialect):
        raise unreadable(
            f"The input is of the dialect {loaded.dialect}, not {dialect}.",
            fix=f"Pass dialect={loaded.dialect!r}, or leave it out.",
        )
    return loaded


def interactions(data: Any) -> tuple[Loaded, ...]:
    """Read every interaction of a cassette, each request with its reply behind it.

    Raises:
        TranscriptError: `INVALID_TRANSCRIPT`, when the input is no cassette.
    """
    document = _document(data)
    if document.form != "json" or not is_cassette(document.values[0]):
        raise unreadable(
            "The input was not a cassette.", fix='Pass an object with a list "interactions".'
        )
    return load_interactions(document.values[0])


def _document(data: Any) -> Document:
    if isinstance(data, bytes | bytearray | memoryview | str):
        return parse(data)
    return Document("json", (data,), (1,))


def _load_document(document: Document, name: str | None) -> Loaded:
    if document.form == "events":
        return fold(document.values, document.lines)
    if document.form == "jsonl":
        return _load_records(document, name)
    (value,) = document.values
    if isinstance(value, Mapping):
        return _load_object(document, value, name)
    if isinstance(value, list | tuple):
        return _load_many(value, name)
    if isinstance(value, str | int | float | None):
        raise _single_value()
    if candidates(value):
        return load_list((value,), name)
    if (view := plain(value)) is not None:
        return _load_object(Document("json", (view,), (1,)), view, name)
    if isinstance(value, Iterable):
        return _load_many(as_sequence(value), name)
    raise _single_value()


def _single_value() -> TranscriptError:
    return unreadable(
        "The input was a single value, not a transcript.",
        fix="Pass a list of messages, or a file that holds one.",
    )


def _load_records(document: Document, name: str | None) -> Loaded:
    for recognises, read in _LOGS:
        if recognises(document.values):
            return read(document.values, document.lines)
    return load_list(document.values, name, lines=document.lines)


def _load_object(document: Document, value: Mapping[str, Any], name: str | None) -> Loaded:
    for recognises, read in _LOGS:
        if recognises(document.values):
            return read(document.values, document.lines)
    if is_cassette(value):
        return load_cassette(value)
    if isinstance(value.get("messages"), list) and "receipt" in value:
        return load_wrapped(value, name)
    if found := load_planned(value, name) or load_response(value) or load_request(value, name):
        return found
    if "error" in value:
        raise unreadable(
            "The input was an error of a provider and holds no messages.",
            fix="Pass a request or a successful response.",
        )
    return load_list((value,), name)


def _load_many(values: Any, name: str | None) -> Loaded:
    if name is None and values and all(map(is_gemini_chunk, values)):
        return fold_gemini(values)
    for recognises, read in _LOGS:
        if recognises(values):
            return read(values, range(1, len(values) + 1))
    return load_list(values, name)
