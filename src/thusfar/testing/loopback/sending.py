"""Sending: the bytes of a response, and what a fault does to them on the way."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any

import msgspec

from thusfar.codec import json_text
from thusfar.testing.loopback.faults import Fault
from thusfar.testing.loopback.wire import Event

JSON = "application/json"
EVENT_STREAM = "text/event-stream; charset=utf-8"
_BROKEN = b'{"broken": '


class Response(msgspec.Struct, frozen=True, kw_only=True):
    """What is sent.

    Attributes:
        status: HTTP status.
        chunks: The body, in order; each is sent on its own where the length is open.
        content_type: Its content type.
        headers: Further headers.
        streamed: Whether the length is open; else the chunks are one body of known length.
        fault: What happens while it is sent; `None`: nothing.
    """

    status: int = 200
    chunks: Iterable[bytes] = ()
    content_type: str = JSON
    headers: dict[str, str] = {}
    streamed: bool = False
    fault: Fault | None = None


class Cut(Exception):  # noqa: N818 - a signal to the server, not an error
    """The connection is to be closed here."""


def event_bytes(event: Event) -> bytes:
    """Write one server-sent event."""
    data = event.data if isinstance(event.data, str) else json_text(event.data)
    name = f"event: {event.name}\n" if event.name else ""
    return f"{name}data: {data}\n\n".encode()


def body_bytes(body: Any) -> bytes:
    """Write a whole body: JSON, or text and bytes as they are."""
    if isinstance(body, bytes):
        return body
    return (body if isinstance(body, str) else json_text(body)).encode()


def disturbed(
    chunks: Iterable[bytes], fault: Fault | None, pause: Callable[[float], None], *, streamed: bool
) -> Iterator[bytes]:
    """Yield the chunks of a body as a fault lets them through.

    Args:
        chunks: The whole body, in order.
        fault: What happens to it.
        pause: Waits so many seconds.
        streamed: Whether the chunks are events.

    Raises:
        Cut: where the connection is to be closed.
    """
    if fault is None:
        yield from chunks
        return
    if fault.disturbance == "disconnect" and fault.after_bytes is not None:
        yield from _first_bytes(chunks, fault.after_bytes)
        raise Cut
    for number, chunk in enumerate(chunks):
        here = number == fault.after_chunks
        match fault.disturbance:
            case "disconnect" if here:
                raise Cut
            case "truncate" if here:
                return
            case "malformed" if here:
                yield _broken(chunk) if streamed else _BROKEN
                continue
            case "stall" if here:
                pause(fault.seconds)
            case "slow":
                pause(fault.seconds)
        yield chunk
    if fault.disturbance == "disconnect":
        raise Cut


def _broken(chunk: bytes) -> bytes:
    """Break the data of an event and leave its name, without which some clients skip it."""
    name, _, _ = chunk.partition(b"data: ")
    return name + b"data: " + _BROKEN + b"\n\n"


def _first_bytes(chunks: Iterable[bytes], limit: int) -> Iterator[bytes]:
    for chunk in chunks:
        if len(chunk) >= limit:
            if limit:
                yield chunk[:limit]
            return
        limit -= len(chunk)
        yield chunk
