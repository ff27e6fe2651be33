"""The scripted model: answers from a list, for tests and examples; it reaches no network."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

import msgspec

from thusfar.errors import OptionsError, ProviderError
from thusfar.models.contracts import GeneratedText, as_text

Answer = str | GeneratedText | Exception | Callable[..., Any]


class ScriptedCall(msgspec.Struct, frozen=True, kw_only=True):
    """One call that a scripted model received; fields as for `GenerateText`."""

    model: str
    prompt: str | None
    messages: tuple[Any, ...] | None
    system: str | None
    max_output_tokens: int | None


class Scripted:
    """A model whose answers are written down beforehand.

    Args:
        answers: One answer a call, in order: text, a `GeneratedText`, an exception to raise, or
            a function of a `ScriptedCall` that gives one of them. A single answer, not in a list,
            is given each time.
        name: Name of the model; part of a summary's identity.
        window: Its context window. Unit: tokens. `None`: it takes any input.

    Attributes:
        calls: What it was asked, in order.

    Example:
        >>> model = Scripted(["They talked about rivers."])
        >>> model.generate_text(model="scripted", prompt="Summarise.").text
        'They talked about rivers.'
        >>> len(model.calls)
        1
    """

    def __init__(
        self,
        answers: Answer | Iterable[Answer] = "A summary.",
        *,
        name: str = "scripted",
        window: int | None = None,
    ) -> None:
        single = isinstance(answers, str | GeneratedText | Exception) or callable(answers)
        self._always: Any = answers if single else None
        self._answers: list[Any] = [] if single else list(answers)  # type: ignore[arg-type]
        self.name = name
        self.window = window
        self.calls: list[ScriptedCall] = []

    def generate_text(
        self,
        *,
        model: str,
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
        call = ScriptedCall(
            model=model,
            prompt=prompt,
            messages=None if messages is None else tuple(messages),
            system=system,
            max_output_tokens=max_output_tokens,
        )
        self.calls.append(call)
        if self._always is None and not self._answers:
            raise ProviderError(
                "A scripted model was asked more often than it had answers.",
                fix="Give it one answer for each call.",
                calls=len(self.calls),
            )
        answer = self._always if self._always is not None else self._answers.pop(0)
        if callable(answer):
            answer = answer(call)
        if isinstance(answer, Exception):
            raise answer
        return as_text(answer) if isinstance(answer, str) else answer
