"""The setting of a projection: what it is made for, besides the messages and the policy."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeVar

import msgspec

from thusfar._numbers import kind_of
from thusfar.budget import InputBudget, Limits, limits
from thusfar.capacity import ModelCapacity
from thusfar.dialects import Dialect, DialectMismatch, detect, dialect, is_dialect, ordered
from thusfar.dialects.base import as_sequence, plain
from thusfar.errors import OptionsError, TranscriptError
from thusfar.tokens import Measure, TokenCount, measure_for
from thusfar.tokens.measure import Size

T = TypeVar("T")


class Setting(msgspec.Struct, frozen=True, kw_only=True):
    """What a projection is made for, besides the messages and the policy.

    Attributes:
        dialect: The wire format; `None`: detected.
        counter: How tokens are counted; `None`: by the model, else the pinned estimator.
        model: Name of the model, for its tokenizer and capacity.
        capacity: Overrides the capacity table.
        budget: The author's limits.
        system: System text outside the list, counted with the request.
        tools: Tool definitions, counted with the request.
    """

    dialect: str | Dialect | None = None
    counter: Any = None
    model: str | None = None
    capacity: ModelCapacity | None = None
    budget: InputBudget | None = None
    system: Any = None
    tools: Sequence[Any] | None = None

    @property
    def limited(self) -> bool:
        """Whether there is anything to hold a view to."""
        return not (self.model is None and self.capacity is None and self.budget is None)

    def measure(self) -> Measure:
        """The measuring function for caps, splits and fit."""
        return measure_for(self.counter, self.model, capacity=self.capacity)

    def limits(self, measure: Measure) -> Limits:
        """The effective limits; none where nothing was given."""
        return limits(self.budget, self.capacity, model=self.model, measure=measure)

    def fixed_tokens(self, measure: Measure) -> int:
        """Tokens of everything but the messages.

        Raises:
            OptionsError: `INVALID_OPTIONS`, for a system text or tools of another type.
        """
        fixed = measure.base
        if self.system is not None:
            fixed += measure.text(system_text(self.system))
        if self.tools is not None:
            fixed += measure.tools(tool_list(self.tools))
        return fixed

    def whole(self, measure: Measure, messages: Size) -> TokenCount:
        """Size the complete request around messages of this size."""
        complete = Size(messages.tokens + self.fixed_tokens(measure), messages.media)
        return measure.whole(complete, beside=bool(self.system or self.tools))


def system_text(system: Any) -> str:
    """Join the text of a system value: a string, a block or message with text, or a list of them.

    Raises:
        OptionsError: `INVALID_OPTIONS`, for a value of another type.
    """
    if isinstance(system, str):
        return system
    if isinstance(system, list | tuple):
        return "\n".join(filter(None, map(system_text, system)))
    seen = plain(system)
    if seen is None:
        raise OptionsError(
            f"A system text was given as {kind_of(system)}.",
            fix="Pass text, or the blocks or content that the provider takes.",
            option="system",
        )
    text = seen.get("text")
    if isinstance(text, str):
        return text
    inner = seen.get("parts", seen.get("content"))
    return "" if inner is None else system_text(inner)


def tool_list(tools: Any) -> Sequence[Any]:
    """Accept a list of tool definitions.

    Raises:
        OptionsError: `INVALID_OPTIONS`, for a value of another type.
    """
    if isinstance(tools, Sequence) and not isinstance(tools, str | bytes):
        return tools
    raise OptionsError(
        f"Tools were given as {kind_of(tools)}.",
        fix="Pass the list of tool definitions.",
        option="tools",
    )


def in_dialect(messages: Sequence[Any], setting: Setting, run: Callable[[Dialect], T]) -> T:
    """Run a projection in the dialect of the messages it looks at.

    Raises:
        TranscriptError: `INVALID_TRANSCRIPT`, when they fit no dialect, or not the given one.
    """
    if setting.dialect is not None:
        asked: Any = setting.dialect
        given: Dialect = asked if is_dialect(asked) else dialect(asked)
        try:
            return run(given)
        except DialectMismatch:
            raise TranscriptError(
                f"A message did not have the shape of the dialect {given.name}.",
                fix="Pass the dialect the messages are in, or leave dialect= out.",
                dialect=given.name,
            ) from None
    for candidate in ordered():
        try:
            return run(candidate)
        except DialectMismatch:
            continue
    return run(detect(messages))


def sequence_of(messages: Any) -> Sequence[Any]:
    """Accept any iterable of messages; read one that is given only once into a list.

    Raises:
        OptionsError: `INVALID_OPTIONS`, for text, a mapping, or something not iterable.
    """
    try:
        return as_sequence(messages)
    except TypeError:
        raise OptionsError(
            f"A projection got {kind_of(messages)} instead of messages.",
            fix="Pass a list of messages.",
        ) from None
