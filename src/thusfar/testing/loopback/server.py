"""The loopback server: four provider wires on one port of this machine, for tests.

It needs the standard library alone. Each connection has a thread; closing the server ends them.
"""

from __future__ import annotations

import selectors
import socket
import sys
import threading
import time
from collections.abc import Iterator
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Final, Self
from urllib.parse import unquote

import msgspec

from thusfar.errors import OptionsError
from thusfar.testing.loopback.answering import (
    SPEECHES,
    Compactions,
    Counts,
    Replies,
    Script,
    refused,
)
from thusfar.testing.loopback.checking import findings_of, missing_from
from thusfar.testing.loopback.faults import Problem
from thusfar.testing.loopback.received import WIRES, Received, endpoint
from thusfar.testing.loopback.sending import Cut, Response, disturbed
from thusfar.testing.loopback.wire import Refusal

_LOOK_SECONDS: Final = 0.02  # how often a pause looks whether the client is still there


class LoopbackServer:
    """A server of four provider wires on 127.0.0.1, answering what it was given.

    Use it as a context manager. What a function of the caller's raised is raised again at the
    end of the block, unless the block raised itself.

    Args:
        answers: What requests for answers get, in order: text, an `Answer` or a `Fault`; when
            none is left they are refused with 400. One that is not in a list is given each
            time. A function of `Received` gives one of them and may be called by several
            threads.
        counts: What requests for a count of tokens get: a number, a `Fault`, or a function of
            `Received` that gives one of them. `None`: an estimate of the request.
        compactions: What requests for a compaction get: the summary, a `Fault`, or a function.
        validate: Whether a request that breaks a rule of its wire is refused with 400, as its
            provider does. The findings stand on the request in any case.
        piece: Most characters of one piece of a stream. At least 1.
        mark: Text in every id, so that the answers of two servers can stand in one thread.

    Raises:
        OptionsError: `INVALID_OPTIONS`, for a piece below 1.

    Source:
        docs/guides/testing.md

    Example:
        >>> with LoopbackServer(["Hello."]) as server:
        ...     server.base_url("openai-chat") == f"{server.origin}/v1"
        True
    """

    def __init__(
        self,
        answers: Replies = "An answer.",
        *,
        counts: Counts | None = None,
        compactions: Compactions = "What was said before, in short.",
        validate: bool = True,
        piece: int = 8,
        mark: str = "loopback",
    ) -> None:
        if piece < 1:
            raise OptionsError(
                "A loopback server was to send empty pieces.", fix="Pass a piece of at least 1."
            )
        self._script = Script(
            answers,
            counts=counts,
            compactions=compactions,
            validate=validate,
            piece=piece,
            mark=mark,
        )
        self._http: _Listener | None = None
        self._thread: threading.Thread | None = None
        self._requests: list[Received] = []
        self._hung_up: list[int] = []
        self._arrived = threading.Condition()

    def __enter__(self) -> Self:
        """Start listening; see `start`."""
        return self.start()

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        """Stop; raise what a function of the caller's raised, if nothing else was."""
        self.close()
        if kind is None and self._script.failures:
            raise self._script.failures[0]

    def start(self) -> Self:
        """Listen on a free port; a server that listens already stays as it is."""
        if self._http is None:
            self._http = _Listener(("127.0.0.1", 0), _Handler, self)
            self._thread = threading.Thread(
                target=self._http.serve_forever, args=(_LOOK_SECONDS,), name="loopback", daemon=True
            )
            self._thread.start()
        return self

    def close(self) -> None:
        """Stop listening, end pauses and open connections, and wait until all is over."""
        if self._http is None or self._thread is None:
            return
        self._http.closing.set()
        self._http.shutdown()
        self._http.hang_up()
        self._http.server_close()
        self._thread.join()
        self._http = None

    @property
    def origin(self) -> str:
        """Address without a path, such as `http://127.0.0.1:8137`.

        Raises:
            OptionsError: `INVALID_OPTIONS`, when the server does not listen.
        """
        if self._http is None:
            raise OptionsError(
                "A loopback server was asked for its address while it did not listen.",
                fix="Use it in a with block, or call start() first.",
            )
        return f"http://127.0.0.1:{self._http.server_address[1]}"

    def base_url(self, wire: str) -> str:
        """Tell what the official SDK of a wire takes as its base URL.

        Args:
            wire: `openai-chat`, `openai-responses`, `anthropic` or `gemini`.

        Raises:
            OptionsError: `INVALID_OPTIONS`, for another wire.
        """
        if wire not in WIRES:
            raise OptionsError(
                "A loopback server was asked for a wire that it does not speak.",
                fix=f"Use one of: {', '.join(WIRES)}.",
            )
        return f"{self.origin}/v1" if wire.startswith("openai") else self.origin

    @property
    def requests(self) -> tuple[Received, ...]:
        """What was received so far, in order; requests to unknown paths are not listed."""
        return tuple(self._requests)

    @property
    def hung_up(self) -> tuple[int, ...]:
        """Indexes of the requests whose client left before the whole answer was sent."""
        return tuple(self._hung_up)

    def wait(self, count: int, *, timeout: float = 10.0) -> bool:
        """Wait until so many requests have come in.

        Args:
            count: How many, since the start.
            timeout: How long at most. Unit: seconds.

        Returns:
            Whether they came.
        """
        with self._arrived:
            return self._arrived.wait_for(lambda: len(self._requests) >= count, timeout)

    def wait_hung_up(self, count: int = 1, *, timeout: float = 10.0) -> bool:
        """Wait until so many clients have left early; see `hung_up` and `wait`."""
        with self._arrived:
            return self._arrived.wait_for(lambda: len(self._hung_up) >= count, timeout)

    def _receive(self, received: Received) -> tuple[int, Response]:
        """Note a request and decide what it gets; also its index."""
        with self._arrived:
            index = len(self._requests)
            self._requests.append(received)
            self._arrived.notify_all()
        return index, self._script.respond(received, index + 1)

    def _left(self, index: int) -> None:
        with self._arrived:
            self._hung_up.append(index)
            self._arrived.notify_all()


class _Listener(ThreadingHTTPServer):
    daemon_threads = False
    allow_reuse_address = True
    request_queue_size = 128

    def __init__(self, address: Any, handler: Any, loopback: LoopbackServer) -> None:
        super().__init__(address, handler)
        self.loopback: Final = loopback
        self.closing: Final = threading.Event()
        self._open: set[socket.socket] = set()
        self._lock: Final = threading.Lock()

    def process_request(self, request: Any, client_address: Any) -> None:
        with self._lock:
            self._open.add(request)
        super().process_request(request, client_address)

    def shutdown_request(self, request: Any) -> None:
        with self._lock:
            self._open.discard(request)
        super().shutdown_request(request)

    def hang_up(self) -> None:
        with self._lock:
            for connection in self._open:
                _shut(connection)

    def handle_error(self, request: Any, client_address: Any) -> None:  # noqa: ARG002
        """Keep what went wrong for the end; a client that hangs up is a usual thing here."""
        error = sys.exc_info()[1]
        if isinstance(error, Exception) and not isinstance(error, ConnectionError | TimeoutError):
            self.loopback._script.failures.append(error)


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    server: _Listener

    def do_POST(self) -> None:
        raw = self._body()
        path, _, query = self.path.partition("?")
        path = unquote(path)
        found = endpoint(path)
        if found is None:
            self._respond(_unknown(path), None)
            return
        received = _read(path, query, {k.lower(): v for k, v in self.headers.items()}, raw)
        index, response = self.server.loopback._receive(received)
        self._respond(response, index)

    def _body(self) -> bytes:
        if "chunked" not in self.headers.get("transfer-encoding", "").lower():
            return self._read(int(self.headers.get("content-length") or 0))
        body = b""
        while size := int(self._line().partition(b";")[0], 16):
            body += self._read(size)
            self._line()
        while self._line().strip():
            pass
        return body

    def _read(self, size: int) -> bytes:
        found = self.rfile.read(size)
        if len(found) < size:
            raise ConnectionResetError  # the client left in the middle of its request
        return found

    def _line(self) -> bytes:
        found = self.rfile.readline()
        if not found:
            raise ConnectionResetError
        return found

    def do_GET(self) -> None:
        self._respond(_unknown(self.path.partition("?")[0]), None)

    do_DELETE = do_PUT = do_GET  # noqa: N815 - names of the base class

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 - as in the base class
        """Write no log."""

    def _respond(self, response: Response, index: int | None) -> None:
        try:
            if response.streamed:
                self._stream(response)
            else:
                self._whole(response)
        except Cut:
            self._hang_up()
        except (ConnectionError, TimeoutError):
            self.close_connection = True
            if index is not None and not self.server.closing.is_set():
                self.server.loopback._left(index)

    def _whole(self, response: Response) -> None:
        length = sum(map(len, response.chunks))
        body, cut = bytearray(), False
        try:
            for chunk in self._disturbed(response):
                body += chunk
        except Cut:
            cut = True
        fault = response.fault
        if cut and not body and (fault is None or fault.after_bytes is None):
            raise Cut
        declared = length if cut else len(body)
        self.wfile.write(_head(response, f"content-length: {declared}") + body)
        if cut:
            raise Cut

    def _stream(self, response: Response) -> None:
        head = _head(response, "transfer-encoding: chunked")
        try:
            for chunk in self._disturbed(response):
                self.wfile.write(head + b"%x\r\n" % len(chunk) + chunk + b"\r\n")
                head = b""
        except Cut:
            if head and response.fault is not None and response.fault.after_bytes is not None:
                self.wfile.write(head)
            raise
        self.wfile.write(head + b"0\r\n\r\n")

    def _disturbed(self, response: Response) -> Iterator[bytes]:
        return disturbed(response.chunks, response.fault, self._pause, streamed=response.streamed)

    def _pause(self, seconds: float) -> None:
        """Wait, but no longer than the server and the client are there."""
        end = time.monotonic() + seconds
        while (left := end - time.monotonic()) > 0:
            if self.server.closing.wait(min(left, _LOOK_SECONDS)):
                raise Cut
            if _is_gone(self.connection):
                raise ConnectionResetError

    def _hang_up(self) -> None:
        self.close_connection = True
        _shut(self.connection)


def _read(path: str, query: str, headers: dict[str, str], raw: bytes) -> Received:
    found = endpoint(path)
    if found is None:
        raise AssertionError(path)
    wire, kind = found
    try:
        body = msgspec.json.decode(raw)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        body = None
    if wire == "anthropic" and kind == "generate" and isinstance(body, dict):
        kind = "compact" if body.get("compaction") else kind
    missing = missing_from(wire, kind, body) if isinstance(body, dict) else ()
    return Received(
        wire=wire,
        kind=kind,
        path=path,
        query=query,
        headers=headers,
        raw=raw,
        body=body,
        findings=(*missing, *findings_of(wire, body)),
    )


def _unknown(path: str) -> Response:
    """Refuse a path that no wire has, in the shape of the wire it looks like."""
    wire = "anthropic" if "/messages" in path else "gemini" if "/models/" in path else "openai-chat"
    return refused(SPEECHES[wire], Refusal("unknown", path, Problem(trouble="not-found")))


def _head(response: Response, length: str) -> bytes:
    phrase = {529: "Site is overloaded"}.get(response.status, "")
    if not phrase and response.status in HTTPStatus._value2member_map_:
        phrase = HTTPStatus(response.status).phrase
    lines = [
        f"HTTP/1.1 {response.status} {phrase}",
        f"content-type: {response.content_type}",
        length,
        *(f"{name}: {value}" for name, value in response.headers.items()),
    ]
    return ("\r\n".join(lines) + "\r\n\r\n").encode("latin-1")


def _is_gone(connection: socket.socket) -> bool:
    """Tell whether the other side has closed the connection."""
    try:
        with selectors.DefaultSelector() as selector:
            selector.register(connection, selectors.EVENT_READ)
            return bool(selector.select(0)) and not connection.recv(1, socket.MSG_PEEK)
    except (OSError, ValueError):  # the latter for a socket that was closed here
        return True


def _shut(connection: socket.socket) -> None:
    try:
        connection.shutdown(socket.SHUT_RDWR)
    except OSError:
        return
