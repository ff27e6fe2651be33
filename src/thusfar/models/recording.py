"""Recording and replaying a model: a file of JSON lines, so that a run can be tested again.

A request stands in the file as a digest alone, so that no key or header can be in it; an answer
stands there whole.

Source:
    docs/spec/models.md#recordings
"""

from __future__ import annotations

import hashlib
from collections.abc import AsyncIterator, Iterator, Mapping
from pathlib import Path
from typing import Any, Final

import msgspec

from thusfar.capacity import ModelCapacity
from thusfar.codec import canonical_json, json_text, parse_json, to_json
from thusfar.errors import OptionsError, ProviderError, TranscriptError
from thusfar.models import errors
from thusfar.models.errors import RecordingDivergedError
from thusfar.models.events import events_of
from thusfar.models.objects import SmallContracts
from thusfar.models.port import Model, ModelEvent, ModelReply, Replied, takes_any_input

FORMAT: Final = "thusfar-recording"
VERSION: Final = 1
_UNSEEN: Final = frozenset({"extra_headers", "api_key", "timeout", "http_options"})
_ERRORS: Final[Mapping[str, type[ProviderError]]] = {
    kind.code: kind
    for kind in vars(errors).values()
    if isinstance(kind, type) and issubclass(kind, ProviderError)
}


class Entry(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One request of a recording, and what came of it.

    Attributes:
        request: SHA-256 of the canonical JSON of the arguments.
        count: Whether tokens were counted; else an answer was asked for.
        tokens: The count.
        reply: The answer.
        events: What a stream handed out before it; empty for a whole answer.
        failure: Code, message, fix and facts of the error that was raised.
    """

    request: str
    count: bool = False
    tokens: int | None = None
    reply: ModelReply | None = None
    events: tuple[ModelEvent, ...] = ()
    failure: tuple[str, str, str, dict[str, Any]] | None = None


class Recording(SmallContracts):
    """A model whose answers are written into a file. It fulfils `Model` as the one it asks does.

    Args:
        model: The model that is asked.
        path: The file. It is begun with the first request.

    Raises:
        OptionsError: `INVALID_OPTIONS`, when the file exists already, or its directory does not.

    Example:
        >>> import tempfile
        >>> from thusfar.models import Replay, Scripted
        >>> path = tempfile.mkdtemp() + "/run.jsonl"
        >>> Recording(Scripted("Hello."), path).generate_sync({"messages": []}).text
        'Hello.'
        >>> Replay(path).generate_sync({"messages": []}).text
        'Hello.'
    """

    def __init__(self, model: Model, path: str | Path) -> None:
        self.path = Path(path)
        if self.path.exists():
            raise OptionsError(
                "A recording was to be written into a file that exists.",
                fix="Delete the file to record anew, or use Replay(path).",
                option="path",
            )
        if not self.path.parent.is_dir():  # else the first answer would be paid for and lost
            raise OptionsError(
                "A recording was to be written into a directory that does not exist.",
                fix="Create the directory first.",
                option="path",
            )
        self.model = model
        self.name = model.name
        self.provider = model.provider
        self.dialect = model.dialect
        self.native_output = getattr(model, "native_output", True)
        if takes_any_input(model):
            self.window = None

    def __repr__(self) -> str:
        return f"Recording({self.model!r})"

    @property
    def capacity(self) -> ModelCapacity | None:
        """That of the model that is asked."""
        return self.model.capacity

    async def generate(self, arguments: Mapping[str, Any]) -> ModelReply:
        """Answer a request; see `Model`."""
        request = digest_of(arguments)
        try:
            reply = await self.model.generate(arguments)
        except ProviderError as error:
            self._write(Entry(request=request, failure=_failure(error)))
            raise
        self._write(Entry(request=request, reply=reply))
        return reply

    def generate_sync(self, arguments: Mapping[str, Any]) -> ModelReply:
        """Answer a request; see `Model`."""
        request = digest_of(arguments)
        try:
            reply = self.model.generate_sync(arguments)
        except ProviderError as error:
            self._write(Entry(request=request, failure=_failure(error)))
            raise
        self._write(Entry(request=request, reply=reply))
        return reply

    async def stream(self, arguments: Mapping[str, Any]) -> AsyncIterator[ModelEvent]:
        """Answer a request piece by piece; see `Model`. A stream left early is not recorded."""
        request, seen = digest_of(arguments), list[ModelEvent]()
        events = self.model.stream(arguments)
        try:
            async for event in events:
                self._stream(request, event, seen)
                yield event
        except ProviderError as error:
            self._write(Entry(request=request, events=tuple(seen), failure=_failure(error)))
            raise
        finally:
            await events.aclose()  # type: ignore[attr-defined]

    def stream_sync(self, arguments: Mapping[str, Any]) -> Iterator[ModelEvent]:
        """Answer a request piece by piece; see `Model`."""
        request, seen = digest_of(arguments), list[ModelEvent]()
        try:
            for event in self.model.stream_sync(arguments):
                self._stream(request, event, seen)
                yield event
        except ProviderError as error:
            self._write(Entry(request=request, events=tuple(seen), failure=_failure(error)))
            raise

    async def count_tokens(self, arguments: Mapping[str, Any]) -> int | None:
        """Count; see `Model`."""
        tokens = await self.model.count_tokens(arguments)
        self._write(Entry(request=digest_of(arguments), count=True, tokens=tokens))
        return tokens

    def count_tokens_sync(self, arguments: Mapping[str, Any]) -> int | None:
        """Count; see `Model`."""
        tokens = self.model.count_tokens_sync(arguments)
        self._write(Entry(request=digest_of(arguments), count=True, tokens=tokens))
        return tokens

    def _stream(self, request: str, event: ModelEvent, seen: list[ModelEvent]) -> None:
        if isinstance(event, Replied):
            self._write(Entry(request=request, reply=event.reply, events=tuple(seen)))
        else:
            seen.append(event)

    def _write(self, entry: Entry) -> None:
        new = not self.path.exists()
        with self.path.open("a", encoding="utf-8") as file:
            if new:
                capacity = self.capacity
                head = {
                    "format": FORMAT,
                    "version": VERSION,
                    "name": self.name,
                    "provider": self.provider,
                    "dialect": self.dialect,
                    "capacity": None if capacity is None else msgspec.to_builtins(capacity),
                    "native_output": self.native_output,
                    "unlimited": takes_any_input(self),
                }
                file.write(json_text(head) + "\n")
            file.write(json_text(msgspec.to_builtins(entry)) + "\n")


class Replay(SmallContracts):
    """A recorded model: the same requests in the same order get the same answers.

    An answer that was recorded whole can be streamed, and the other way round.

    Args:
        path: The file of a `Recording`.

    Raises:
        OSError: when the file cannot be read.
        RecordingDivergedError: `RECORDING_DIVERGED`, when it is no recording.

    Attributes:
        left: How many recorded requests were not made yet.
    """

    def __init__(self, path: str | Path) -> None:
        try:
            rows = Path(path).read_text("utf-8").split("\n")  # text may hold other ends of lines
            head, *entries = [parse_json(row) for row in rows if row]
            if (head["format"], head["version"]) != (FORMAT, VERSION):
                raise ValueError
            self.name: str = head["name"]
            self.provider: str = head["provider"]
            self.dialect: str = head["dialect"]
            self.native_output = bool(head.get("native_output", True))
            held = head["capacity"]
            self.capacity = None if held is None else msgspec.convert(held, ModelCapacity)
            if head.get("unlimited", False):
                self.window = None
            self._entries = [msgspec.convert(entry, Entry) for entry in entries]
        except OSError as error:
            raise RecordingDivergedError(
                "The file of a recording could not be opened.", fix="Check the path."
            ) from error
        except (ValueError, TypeError, KeyError, TranscriptError, msgspec.ValidationError):
            raise RecordingDivergedError(
                "The file of a recording could not be read.", fix="Record it again."
            ) from None
        self._place = 0

    def __repr__(self) -> str:
        return f"Replay({self.name!r}, left={self.left})"

    @property
    def left(self) -> int:
        """How many recorded requests were not made yet."""
        return len(self._entries) - self._place

    def finish(self) -> None:
        """Check that all recorded requests were made.

        Raises:
            RecordingDivergedError: `RECORDING_DIVERGED`, when some were not.
        """
        if self.left:
            raise self._diverged("A replayed model was asked less often than was recorded.")

    async def generate(self, arguments: Mapping[str, Any]) -> ModelReply:
        """Give the recorded answer; see `Model`."""
        return self.generate_sync(arguments)

    def generate_sync(self, arguments: Mapping[str, Any]) -> ModelReply:
        """Give the recorded answer; see `Model`.

        Raises:
            RecordingDivergedError: `RECORDING_DIVERGED`, when another request comes next.
            ProviderError: as recorded.
        """
        return _answer(self._next(arguments, count=False))

    async def stream(self, arguments: Mapping[str, Any]) -> AsyncIterator[ModelEvent]:
        """Give the recorded answer piece by piece; see `Model`."""
        for event in self.stream_sync(arguments):
            yield event

    def stream_sync(self, arguments: Mapping[str, Any]) -> Iterator[ModelEvent]:
        """Give the recorded answer piece by piece; see `Model`."""
        entry = self._next(arguments, count=False)
        if entry.reply is not None and not entry.events:
            yield from events_of(entry.reply)
        yield from entry.events
        yield Replied(_answer(entry))

    async def count_tokens(self, arguments: Mapping[str, Any]) -> int | None:
        """Give the recorded count; see `Model`."""
        return self.count_tokens_sync(arguments)

    def count_tokens_sync(self, arguments: Mapping[str, Any]) -> int | None:
        """Give the recorded count; see `Model`."""
        return self._next(arguments, count=True).tokens

    def _next(self, arguments: Mapping[str, Any], *, count: bool) -> Entry:
        if not self.left:
            raise self._diverged("A replayed model was asked more often than was recorded.")
        entry = self._entries[self._place]
        if (entry.count, entry.request) != (count, digest_of(arguments)):
            raise self._diverged("A replayed model was asked something else than was recorded.")
        self._place += 1
        return entry

    def _diverged(self, message: str) -> RecordingDivergedError:
        return RecordingDivergedError(
            message,
            fix="Repeat the recorded run exactly, or record it again.",
            place=self._place + 1,
            recorded=len(self._entries),
        )


def digest_of(arguments: Mapping[str, Any]) -> str:
    """Digest the arguments of a request, without what says only how it is sent.

    Raises:
        TranscriptError: `INVALID_TRANSCRIPT`, for values that are not JSON.
    """
    said = {name: value for name, value in arguments.items() if name not in _UNSEEN}
    return hashlib.sha256(canonical_json(to_json(said))).hexdigest()


def _failure(error: ProviderError) -> tuple[str, str, str, dict[str, Any]]:
    return error.code, str(error.args[0]), error.fix, dict(error.facts)


def _answer(entry: Entry) -> ModelReply:
    if entry.failure is not None:
        code, message, fix, facts = entry.failure
        raise _ERRORS.get(code, ProviderError)(message, fix=fix, **facts)
    if entry.reply is None:
        raise RecordingDivergedError("A recorded request has no answer.", fix="Record it again.")
    return entry.reply
