"""The scripted model: answers from a list, for tests and examples; it reaches no network."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Iterable, Iterator, Mapping, Sequence
from copy import deepcopy
from inspect import isawaitable
from typing import Any, ClassVar, Final

import msgspec

from thusfar._numbers import require_whole
from thusfar.capacity import ModelCapacity
from thusfar.dialects import dialect as dialect_named
from thusfar.errors import OptionsError, ProviderError
from thusfar.messages import Message, Part, Text, ToolCall
from thusfar.models.contracts import GeneratedObject, GeneratedText, as_text
from thusfar.models.events import events_of
from thusfar.models.objects import SmallContracts, object_from, text_of
from thusfar.models.port import ModelEvent, ModelReply, Replied, Usage

Answer = str | GeneratedText | ModelReply | ToolCall | Message | Exception | Callable[..., Any]
_ONE: Final = (str, GeneratedText, ModelReply, ToolCall, Message, Exception)


class ScriptedCall(msgspec.Struct, frozen=True, kw_only=True):
    """One call that a scripted model received; fields as for `GenerateText`."""

    model: str
    prompt: str | None
    messages: tuple[Any, ...] | None
    system: str | None
    max_output_tokens: int | None


class Scripted(SmallContracts):
    """A model whose answers are written down beforehand. It fulfils `Model`.

    Args:
        answers: One answer a call, in order: text, a `GeneratedText`, a `ModelReply`, a
            `Message`, a `ToolCall` or several parts in a tuple, an exception to raise, or a
            function of what it was asked that gives one of them. A single answer, not in a list,
            is given each time.
        name: Name of the model; part of a summary's identity.
        window: Its context window. Unit: tokens. `None`: it takes any input.
        dialect: Wire format of its requests and answers.
        provider: Who it says serves it.

    Attributes:
        calls: What its `generate_text` was asked, in order.
        requests: The arguments of its other calls, in order; copies.

    Example:
        >>> model = Scripted(["They talked about rivers."])
        >>> model.generate_text(model="scripted", prompt="Summarise.").text
        'They talked about rivers.'
        >>> len(model.calls)
        1
        >>> Scripted("Hello.").generate_sync({"messages": []}).text
        'Hello.'
    """

    counts: ClassVar[bool] = False

    def __init__(
        self,
        answers: Answer | tuple[Part, ...] | Iterable[Answer | tuple[Part, ...]] = "A summary.",
        *,
        name: str = "scripted",
        window: int | None = None,
        dialect: str = "openai-chat",
        provider: str = "scripted",
    ) -> None:
        require_whole("Scripted", "window", window)
        single = isinstance(answers, _ONE) or callable(answers) or _is_parts(answers)
        self._always: Any = answers if single else None
        self._answers: list[Any] = [] if single else list(answers)  # type: ignore[arg-type]
        self.name = name
        self.window = window
        self.dialect = dialect_named(dialect).name
        self.provider = provider
        self.calls: list[ScriptedCall] = []
        self.requests: list[dict[str, Any]] = []

    def __repr__(self) -> str:
        return f"Scripted(name={self.name!r})"

    @property
    def capacity(self) -> ModelCapacity | None:
        """Its window; `None` where it takes any input."""
        return None if self.window is None else ModelCapacity.of(self.window)

    def generate_text(
        self,
        *,
        model: str = "",
        prompt: str | None = None,
        messages: Sequence[Any] | None = None,
        system: str | None = None,
        max_output_tokens: int | None = None,
    ) -> Any:
        """Give the next answer; see `GenerateText`.

        Raises:
            OptionsError: `INVALID_OPTIONS`, unless exactly one of prompt and messages is given.
            ProviderError: `PROVIDER_FAILED`, when no answer is left.
        """
        if (prompt is None) == (messages is None):
            raise OptionsError(
                "A model got both a prompt and messages, or neither.", fix="Pass one of them."
            )
        require_whole("A model", "max_output_tokens", max_output_tokens)
        call = ScriptedCall(
            model=model,
            prompt=prompt,
            messages=None if messages is None else tuple(messages),
            system=system,
            max_output_tokens=max_output_tokens,
        )
        self.calls.append(call)
        answer = self._next(call)
        if isinstance(answer, str):
            return as_text(answer)
        if isinstance(answer, ModelReply | Message | ToolCall | tuple):
            return text_of(self._reply(answer))
        return answer

    def generate_object(
        self,
        *,
        model: str = "",
        schema: Any,
        prompt: str | None = None,
        messages: Sequence[Any] | None = None,
        system: str | None = None,
        max_output_tokens: int | None = None,
    ) -> GeneratedObject:
        """Give the next answer as a JSON value; otherwise as `generate_text`.

        Raises:
            OptionsError: `INVALID_OPTIONS`, as for `generate_text`.
            ProviderError: as scripted, and `PROVIDER_ANSWER_INVALID` for what is not JSON.
        """
        del schema
        made = self.generate_text(
            model=model,
            prompt=prompt,
            messages=messages,
            system=system,
            max_output_tokens=max_output_tokens,
        )
        return made if isinstance(made, GeneratedObject) else object_from(as_text(made))

    async def agenerate_text(self, **asked: Any) -> GeneratedText:
        """Give the next answer; see `generate_text`."""
        made = self.generate_text(**asked)
        return as_text(await made if isawaitable(made) else made)

    async def agenerate_object(self, **asked: Any) -> GeneratedObject:
        """Give the next answer as a JSON value; see `generate_object`."""
        return self.generate_object(**asked)

    async def generate(self, arguments: Mapping[str, Any]) -> ModelReply:
        """Give the next answer; see `Model`."""
        return self.generate_sync(arguments)

    def generate_sync(self, arguments: Mapping[str, Any]) -> ModelReply:
        """Give the next answer; see `Model`.

        Raises:
            ProviderError: as scripted; `PROVIDER_FAILED`, when no answer is left.
        """
        asked = deepcopy(dict(arguments))
        self.requests.append(asked)
        return self._reply(self._next(asked))

    async def stream(self, arguments: Mapping[str, Any]) -> AsyncIterator[ModelEvent]:
        """Give the next answer word by word; see `Model`."""
        for event in self.stream_sync(arguments):
            yield event

    def stream_sync(self, arguments: Mapping[str, Any]) -> Iterator[ModelEvent]:
        """Give the next answer word by word; see `Model`."""
        reply = self.generate_sync(arguments)
        yield from events_of(reply)
        yield Replied(reply)

    async def count_tokens(self, arguments: Mapping[str, Any]) -> int | None:
        """Count nothing; see `Model`."""
        del arguments
        return None

    def count_tokens_sync(self, arguments: Mapping[str, Any]) -> int | None:
        """Count nothing; see `Model`."""
        del arguments
        return None

    def _next(self, asked: Any) -> Any:
        if self._always is None and not self._answers:
            raise ProviderError(
                "A scripted model was asked more often than it had answers.",
                fix="Give it one answer for each call.",
                calls=len(self.calls) + len(self.requests),
            )
        answer = self._always if self._always is not None else self._answers.pop(0)
        if callable(answer):
            answer = answer(asked)
        if isinstance(answer, Exception):
            raise answer
        return answer

    def _reply(self, answer: Any) -> ModelReply:
        """Write an answer as the messages of its wire, as an adapter would read them."""
        if isinstance(answer, ModelReply):
            return answer
        usage, finish, request_id = Usage(), None, ""
        if isinstance(answer, GeneratedText):
            usage = Usage(input_tokens=answer.input_tokens, output_tokens=answer.output_tokens)
            answer, finish, request_id = answer.text, answer.finish, answer.request_id
        if not isinstance(answer, Message):
            answer = Message("assistant", _parts(answer))
        wire = dialect_named(self.dialect)
        messages = tuple(wire.lift(said) for said in wire.lower(answer))
        calls = any(isinstance(part, ToolCall) for said in messages for part in said.parts)
        return ModelReply(
            messages=messages,
            finish=finish or ("tool-calls" if calls else "stop"),
            usage=usage,
            request_id=request_id,
            model=self.name,
        )


def _parts(answer: Any) -> tuple[Part, ...]:
    if isinstance(answer, str):
        return (Text(answer),)
    if isinstance(answer, ToolCall):
        return (answer,)
    if _is_parts(answer):
        parts: tuple[Part, ...] = answer
        return parts
    raise OptionsError(
        f"A scripted model was to answer with a {type(answer).__name__}.",
        fix="Give it text, a Message, a ToolCall, a tuple of parts or a ModelReply.",
    )


def _is_parts(answer: Any) -> bool:
    """Tell whether an answer is several parts of one message, and not several answers."""
    return isinstance(answer, tuple) and bool(answer) and all(isinstance(p, Part) for p in answer)
