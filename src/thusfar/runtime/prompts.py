"""Prompts: what is asked, of which model, with what; inert values that can be reused.

Source:
    docs/spec/generate.md#prompts
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from thusfar._numbers import require_whole
from thusfar.budget import InputBudget
from thusfar.errors import Diagnostic, OptionsError, PreparationError, RequestCompositionError
from thusfar.planner.ladders import split_use
from thusfar.thread.handle import Thread

Words = str | Callable[[Any], str]


@dataclass(frozen=True, slots=True, kw_only=True)
class Prompt:
    """What is asked of a model, written once and used for many requests.

    Args:
        id: Its name, for logs.
        use: History policy, contributors, a `Thread`, and `when(condition, entry)`.
        prompt: The current user message; a function of the input writes it anew each time.
        system: The system text; a function of the input writes it anew each time.
        messages: A transcript of the caller; it wins over a thread and takes the place of the
            prompt text.
        input: Type or JSON Schema of the input. `None`: any value.
        output: Type or JSON Schema of the answer. `None`: text.
        tools: Tools, functions, or definitions in the form of any provider (run by the caller).
        model: A model, or its name such as `anthropic:claude-sonnet-4-5`.
        budget: The author's limits.
        max_output_tokens: Output limit. Unit: tokens. `None`: the model's.

    Raises:
        OptionsError: `INVALID_OPTIONS`, for what cannot stand in `use`, and for a limit that is
            none.
        RequestCompositionError: `INVALID_COMPOSITION`, for two history policies or two threads.

    Example:
        >>> support = Prompt(id="support", system="You help.", prompt=lambda ticket: ticket["text"])
        >>> support.words({"text": "My order is late."})
        'My order is late.'
    """

    id: str = "prompt"
    use: Sequence[Any] = ()
    prompt: Words | None = None
    system: Words | Sequence[Any] | None = field(default=None, repr=False)
    messages: Any = field(default=None, repr=False)
    input: Any = None
    output: Any = None
    tools: Sequence[Any] = ()
    model: Any = None
    budget: InputBudget | None = None
    max_output_tokens: int | None = None

    def __post_init__(self) -> None:
        require_whole("Prompt", "max_output_tokens", self.max_output_tokens)
        if not isinstance(self.budget, InputBudget | None):
            raise OptionsError(
                f"The budget of a prompt was given as a {type(self.budget).__name__}.",
                fix="Pass budget= an InputBudget.",
                option="budget",
            )
        for name in ("use", "tools"):
            if not isinstance(getattr(self, name), Iterable):
                raise no_list(f"The {name} of a prompt were", name)
            object.__setattr__(self, name, tuple(getattr(self, name)))
        if not isinstance(self.messages, list | tuple | None):
            raise no_list("The messages of a prompt were", "messages")
        threads, entries = split_threads(self.use)
        split_use(entries)
        one_thread(threads)

    def words(self, given: Any) -> str | None:
        """Write the current user message for an input.

        Raises:
            OptionsError: `INVALID_OPTIONS`, when it is no text.
            PreparationError: `PREPARATION_FAILED`, when its function raised.
        """
        made = _written(self.prompt, given, "prompt")
        if made is None or isinstance(made, str):
            return made
        raise OptionsError(
            f"A prompt was written as a {type(made).__name__}.",
            fix="Pass a text, or a function of the input that gives one.",
            option="prompt",
        )

    def system_value(self, given: Any) -> Any:
        """Write the system value for an input.

        Raises:
            PreparationError: `PREPARATION_FAILED`, when its function raised.
        """
        return _written(self.system, given, "system")


def _written(words: Any, given: Any, name: str) -> Any:
    """Have words written for an input, where they are a function of it."""
    if not callable(words):
        return words
    try:
        return words(given)
    except Exception as error:
        raise PreparationError(
            "A function that writes a prompt raised an error.",
            fix=f"Correct the function given as {name}=; nothing was sent.",
            reason=name,
        ) from error


def split_threads(use: Sequence[Any]) -> tuple[list[Any], list[Any]]:
    """Take the threads out of `use`, also out of lists in it."""
    threads: list[Any] = []
    entries: list[Any] = []
    for entry in use:
        if isinstance(entry, Thread):
            threads.append(entry)
        elif isinstance(entry, list | tuple):
            inner, rest = split_threads(entry)
            threads += inner
            entries += rest
        else:
            entries.append(entry)
    return threads, entries


def one_thread(threads: Sequence[Any]) -> Any:
    """Give the one thread there is; `None` without any.

    Raises:
        RequestCompositionError: `INVALID_COMPOSITION`, for more than one.
    """
    if len(threads) > 1:
        message = "A request got more than one thread."
        raise RequestCompositionError(
            message,
            fix="Keep one thread, in use= or as thread=.",
            diagnostics=(Diagnostic(code="INVALID_HISTORY_COMPOSITION", message=message),),
        )
    return threads[0] if threads else None


def no_list(subject: str, option: str) -> OptionsError:
    """Make the error for something else where a list stands."""
    fix = "Pass a list of messages; for a text use prompt=." if option == "messages" else ""
    return OptionsError(f"{subject} no list.", fix=fix or f"Pass {option}= a list.", option=option)


def nothing_to_say() -> RequestCompositionError:
    """Make the error for a request without words."""
    return RequestCompositionError(
        "A request had nothing to say.",
        fix="Pass a prompt or messages, or a thread that ends with a question.",
    )


def as_prompt(value: Any) -> Prompt:
    """Read what a caller generates from: a prompt, or the text of one.

    Raises:
        OptionsError: `INVALID_OPTIONS`, for anything else.
    """
    if isinstance(value, Prompt):
        return value
    if isinstance(value, str):
        return Prompt(prompt=value)
    if value is None:
        return Prompt()
    if isinstance(value, Mapping):
        return Prompt(**value)
    raise OptionsError(
        f"A prompt was given as a {type(value).__name__}.",
        fix="Pass a Prompt or a text.",
        option="prompt",
    )
