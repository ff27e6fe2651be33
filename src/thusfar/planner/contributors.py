"""Contributors: what a request is made of besides its history, and which smaller forms it allows.

A plain entry is exact and required. Each wrapper authorises one kind of loss, and only that:
`prefer`, `summarizable`, `offloadable`, `offload`, `droppable`.

Source:
    docs/spec/planner.md#contributors
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from thusfar._numbers import kind_of, require_whole
from thusfar._summarize import SummarizeStrategy, SummaryOptions, summarize
from thusfar.errors import Diagnostic, OptionsError, RequestCompositionError

Entry = "Context | Prefer | Summarizable | Offloadable | Offload | Droppable"


@dataclass(frozen=True, slots=True, kw_only=True)
class Context:
    """Exact text for the model, with the tools that belong to it.

    Attributes:
        id: Its name on receipts; unique in a request.
        text: The text; joined to the system text in the order of declaration.
        tools: Tool definitions, in the form of the provider.
        priority: Higher keeps its fidelity longer.
    """

    id: str
    text: str = field(repr=False)
    tools: tuple[Any, ...] = ()
    priority: int = 0


@dataclass(frozen=True, slots=True)
class Prefer:
    """An entry, and shorter forms the author wrote for it, in order of preference."""

    primary: Any
    alternatives: tuple[Context, ...]


@dataclass(frozen=True, slots=True)
class Summarizable:
    """Entries that a generated summary may stand for, as one source."""

    sources: tuple[Any, ...]
    options: SummaryOptions


@dataclass(frozen=True, slots=True)
class Offloadable:
    """An entry that a preview with a handle for the `recall` tool may stand for."""

    source: Any
    above_tokens: int | None = None


@dataclass(frozen=True, slots=True)
class Offload:
    """An entry that is always sent as a reference."""

    source: Any


@dataclass(frozen=True, slots=True)
class Droppable:
    """An entry that may be left out altogether, with its tools."""

    source: Any


def context(
    id: str,  # noqa: A002 - named as the field
    text: str,
    *,
    tools: Sequence[Any] = (),
    priority: int = 0,
) -> Context:
    """Make an exact and required entry.

    Args:
        id: Its name on receipts.
        text: The text.
        tools: Tool definitions that belong to it.
        priority: Higher keeps its fidelity longer.

    Raises:
        OptionsError: `INVALID_OPTIONS`, for a name or text that is not text, or tools that are no
            list.
    """
    if not isinstance(id, str) or not id or not isinstance(text, str) or type(priority) is not int:
        raise OptionsError(
            "context() got a name, a text or a priority of the wrong type.",
            fix="Pass a name, a text, and a whole number as priority.",
        )
    if isinstance(tools, str | Mapping) or not isinstance(tools, Sequence):
        raise OptionsError(
            "context() got tools that are no list.",
            fix="Pass a list of tool definitions.",
            option="tools",
        )
    return Context(id=id, text=text, tools=tuple(tools), priority=priority)


def prefer(primary: Any, *alternatives: Context | str) -> Prefer:
    """Authorise shorter forms that the author wrote.

    The primary entry keeps its name, priority and tools; an alternative must bring the same tools.

    Args:
        primary: A context.
        *alternatives: Shorter texts, the best first; at least one.

    Raises:
        OptionsError: `INVALID_OPTIONS`, without an alternative, or for one that is no text.
        RequestCompositionError: `INVALID_COMPOSITION`, when an alternative has other tools, or
            an entry is wrapped in the wrong order.
    """
    base = _only(primary, (Context,), "prefer")
    if not alternatives:
        raise OptionsError("prefer() got no alternative.", fix="Pass at least one shorter text.")
    made = tuple(
        Context(id=base.id, text=each, tools=base.tools) if isinstance(each, str) else each
        for each in alternatives
    )
    for each in made:
        if not isinstance(each, Context):
            raise OptionsError(
                f"prefer() got {kind_of(each)} as alternative.",
                fix="Pass a shorter text, or a context.",
                option="alternatives",
            )
        if each.tools != base.tools:
            raise invalid_ladder(
                "An alternative brought other tools than its primary entry.",
                "Give every alternative the tools of the primary entry.",
                base.id,
            )
    return Prefer(base, made)


def summarizable(
    source: Any,
    *,
    model: Any = None,
    strategy: SummarizeStrategy | None = None,
    max_tokens: int = 500,
    name: str | None = None,
    instructions: str = "",
) -> Summarizable:
    """Authorise a generated summary of an entry, or of several as one source.

    Args:
        source: A context, a `prefer(...)`, or a list of contexts.
        model: As in `SummaryOptions`.
        strategy: Accepted for its identity; a source is summarised in one call.
        max_tokens: As in `SummaryOptions`.
        name: As in `SummaryOptions`.
        instructions: As in `SummaryOptions`.

    Raises:
        OptionsError: `INVALID_OPTIONS`, for an empty list or a bad option.
        RequestCompositionError: `INVALID_COMPOSITION`, when entries are wrapped in the wrong order.
    """
    given = tuple(source) if isinstance(source, list | tuple) else (source,)
    if not given:
        raise OptionsError("summarizable() got no source.", fix="Pass at least one entry.")
    allowed = (Context, Prefer) if len(given) == 1 else (Context,)
    options = SummaryOptions(
        model=model,
        max_tokens=max_tokens,
        name=name,
        instructions=instructions,
        strategy=strategy or summarize.adaptive(),
    )
    return Summarizable(tuple(_only(each, allowed, "summarizable") for each in given), options)


def offloadable(source: Any, *, above_tokens: int | None = None) -> Offloadable:
    """Authorise a preview with a handle; the model reads the exact text with the `recall` tool.

    Args:
        source: A context, a `prefer(...)` or a `summarizable(...)`.
        above_tokens: Only where its text is larger than this. Unit: tokens. `None`: any size.

    Raises:
        OptionsError: `INVALID_OPTIONS`, for a number outside its range.
        RequestCompositionError: `INVALID_COMPOSITION`, when entries are wrapped in the wrong order.
    """
    require_whole("offloadable()", "above_tokens", above_tokens)
    return Offloadable(_only(source, (Context, Prefer, Summarizable), "offloadable"), above_tokens)


def offload(source: Any) -> Offload:
    """Always send a reference instead of the text; it fails before dispatch without a store.

    Raises:
        RequestCompositionError: `INVALID_COMPOSITION`, for anything but a context.
    """
    return Offload(_only(source, (Context,), "offload"))


def droppable(source: Any) -> Droppable:
    """Authorise leaving an entry out, with its tools. The outermost wrapper.

    Raises:
        RequestCompositionError: `INVALID_COMPOSITION`, when it wraps another `droppable(...)`.
    """
    kinds = (Context, Prefer, Summarizable, Offloadable, Offload)
    return Droppable(_only(source, kinds, "droppable"))


def when(condition: object, entry: Any) -> Any:
    """Use an entry only where a condition holds; `None` is no entry."""
    return entry if condition else None


def _only(value: Any, kinds: tuple[type, ...], wrapper: str) -> Any:
    if isinstance(value, kinds):
        return value
    name = type(value).__name__.lower()
    raise invalid_ladder(
        f"{wrapper}() was put around {name}, which the order of forms does not allow.",
        "Wrap in this order: prefer, summarizable, offloadable, droppable.",
        getattr(value, "id", None),
    )


def invalid_ladder(message: str, fix: str, contributor: str | None) -> RequestCompositionError:
    """Make the error for forms that cannot stand together."""
    facts = {"contributor": contributor} if contributor else {}
    return RequestCompositionError(
        message,
        fix=fix,
        diagnostics=(Diagnostic(code="INVALID_LADDER", message=message, facts=facts),),
    )
