"""Ladders: contributors as rungs with sizes, best first, and what each rung would send."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from thusfar._history import ExactHistory, HistoryPolicy, ManagedHistory, RecentHistory
from thusfar._numbers import kind_of
from thusfar.artifacts import artifact_key
from thusfar.errors import Diagnostic, OptionsError, RequestCompositionError
from thusfar.planner.contributors import (
    Context,
    Droppable,
    Offload,
    Offloadable,
    Prefer,
    Summarizable,
)
from thusfar.planner.facts import RequestFacts
from thusfar.planner.recall import RECALL, recall_tool
from thusfar.planner.selection import Ladder, Rung
from thusfar.summaries.rendering import shortened
from thusfar.summaries.values import SourceJob

PREVIEW_CHARS: Final = 400  # enough to see what a document is about
_POLICIES: Final = (ExactHistory, RecentHistory, ManagedHistory)
_SOURCES: Final = (Context, Summarizable)
_TAKEN: Final = frozenset(("framing", "history", "placement", "schema", "system", "tools", "turn"))
_ENTRIES: Final = (Context, Prefer, Summarizable, Offloadable, Offload, Droppable)


@dataclass(slots=True)
class Shown:
    """What a rung of a contributor sends.

    Attributes:
        text: Text for the system value; empty when nothing is sent.
        tools: Tools that come with it.
        job: What would have to be made first.
        handle: Under which the exact text has to be kept.
        exact: The exact text behind the handle.
        key: Key of the summary used.
        support: Ids of the support requests that made it.
    """

    text: str = field(default="", repr=False)
    tools: tuple[Any, ...] = ()
    job: SourceJob | None = None
    handle: str = ""
    exact: str = field(default="", repr=False)
    key: str = ""
    support: tuple[str, ...] = ()


def split_use(use: Iterable[Any]) -> tuple[list[HistoryPolicy], list[Any]]:
    """Sort the entries of `use` into history policies and contributors; `None` is no entry.

    Raises:
        OptionsError: `INVALID_OPTIONS`, for what is neither.
    """
    policies: list[HistoryPolicy] = []
    entries: list[Any] = []
    for entry in use:
        if entry is None:
            continue
        if isinstance(entry, _ENTRIES):
            entries.append(entry)
        elif isinstance(entry, _POLICIES):
            policies.append(entry)
        elif isinstance(entry, list | tuple):
            inner_policies, inner = split_use(entry)
            policies += inner_policies
            entries += inner
        else:
            raise OptionsError(
                f"use= got {kind_of(entry)}.",
                fix="Pass history policies, context(...), or one of the wrappers around it.",
                option="use",
            )
    return policies, entries


def one_policy(policies: Sequence[HistoryPolicy]) -> HistoryPolicy | None:
    """Return the one policy, if any.

    Raises:
        RequestCompositionError: `INVALID_COMPOSITION`, for more than one.
    """
    if len(policies) > 1:
        message = f"{len(policies)} history policies were active in one request."
        raise RequestCompositionError(
            message,
            fix="Keep one of history.exact(), history.recent() and history().",
            diagnostics=(Diagnostic(code="INVALID_HISTORY_COMPOSITION", message=message),),
            policies=len(policies),
        )
    return policies[0] if policies else None


def _inner(entry: Any) -> Context | Summarizable:
    """Look through the wrappers around a single source."""
    while not isinstance(entry, _SOURCES):
        entry = entry.primary if isinstance(entry, Prefer) else entry.source
    return entry


def entry_id(entry: Any) -> str:
    """Find the name of a contributor through its wrappers."""
    return _name(_inner(entry))


def _name(inner: Context | Summarizable) -> str:
    if isinstance(inner, Context):
        return inner.id
    return "+".join(entry_id(source) for source in inner.sources)


def summary_options(entry: Any) -> Any:
    """Find the summary options of a contributor through its wrappers; `None` without."""
    inner = _inner(entry)
    return inner.options if isinstance(inner, Summarizable) else None


def ladders_of(entries: Sequence[Any], facts: RequestFacts) -> list[Ladder]:
    """Make the ladder of each contributor.

    Raises:
        RequestCompositionError: `INVALID_COMPOSITION`, when two have the same name.
    """
    inner = list(map(_inner, entries))
    names = list(map(_name, inner))
    twice = len(names) - len(set(names))
    taken = sorted(_TAKEN.intersection(names))
    if twice or taken:
        message = f"{twice + len(taken)} contributor(s) had a name that is taken."
        raise RequestCompositionError(
            message,
            fix="Give each contributor a name of its own; none may be named as a part of the "
            f"request is: {', '.join(sorted(_TAKEN))}.",
            diagnostics=(Diagnostic(code="INVALID_LADDER", message=message),),
        )
    builder = _Builder(facts)
    ladders = [
        Ladder(name, _priority(source), order, builder.rungs(entry))
        for order, (entry, name, source) in enumerate(zip(entries, names, inner, strict=True))
    ]
    builder.count()
    return ladders


class _Builder:
    """Builds the ladders of one request, counting their texts together."""

    def __init__(self, facts: RequestFacts) -> None:
        self.facts = facts
        self.measure = facts.measure
        self._uncounted: list[tuple[Rung, str]] = []

    def count(self) -> None:
        """Weigh the texts of the rungs made since."""
        counted = self.measure.texts([text for _, text in self._uncounted])
        for (rung, _), tokens in zip(self._uncounted, counted, strict=True):
            rung.tokens += tokens
        self._uncounted.clear()

    def rungs(self, entry: Any) -> list[Rung]:
        """Make the rungs of an entry, the best first."""
        match entry:
            case Droppable(source=source):
                return [*self.rungs(source), Rung("omitted", 0, soft=False, held=Shown())]
            case Prefer(primary=primary, alternatives=others):
                return [*self.rungs(primary), *map(self._other, others)]
            case Context():
                return [self._rung("full", entry.text, entry.tools)]
            case Summarizable(sources=sources):
                return [*self._full(sources), *self._authored(sources), self._summary(entry)]
            case Offloadable(source=source, above_tokens=above):
                rungs = self.rungs(source)
                if above is None or self.measure.text(rungs[0].held.text) > above:
                    rungs.append(self._reference(rungs[0]))
                return rungs
            case Offload(source=source):
                return [self._reference(self.rungs(source)[0])]
        raise AssertionError

    def _rung(
        self, kind: Any, text: str, tools: tuple[Any, ...], *, state: Any = "ready", **held: Any
    ) -> Rung:
        tokens, shared = tool_tokens(self.facts, tools)
        rung = Rung(kind, tokens, state, held=Shown(text, tools, **held), shared=shared)
        self._uncounted.append((rung, f"{text}\n\n"))
        return rung

    def _other(self, alternative: Context) -> Rung:
        return self._rung("authored", alternative.text, alternative.tools)

    def _full(self, sources: tuple[Any, ...]) -> list[Rung]:
        primaries = [s.primary if isinstance(s, Prefer) else s for s in sources]
        text = "\n\n".join(source.text for source in primaries)
        return [self._rung("full", text, _tools(primaries))]

    def _authored(self, sources: tuple[Any, ...]) -> list[Rung]:
        others = [each for s in sources if isinstance(s, Prefer) for each in s.alternatives]
        return [self._other(other) for other in others]

    def _summary(self, entry: Summarizable) -> Rung:
        """Describe the summary as unprepared; whether it exists is asked only when it matters."""
        primaries = [s.primary if isinstance(s, Prefer) else s for s in entry.sources]
        tools = _tools(primaries)
        name = entry_id(entry)
        model = self.facts.summaries.get(name)
        own, shared = tool_tokens(self.facts, tools)
        if model is None or not model.callable:
            held = Shown(tools=tools)
            return Rung("summary", own + 1, "unavailable", held=held, shared=shared)
        texts = tuple(source.text for source in primaries)
        digest = hashlib.sha256("\0".join(texts).encode("utf-8", "backslashreplace")).hexdigest()
        job = SourceJob(
            key=artifact_key(model.identity.digest, f"source:{digest}"),
            contributor=name,
            texts=texts,
            options=entry.options,
            measure=model.measure,
            room=model.room,
        )
        held = Shown(tools=tools, job=job)
        return Rung("summary", own + 1, "unprepared", held=held, shared=shared)

    def _reference(self, full: Rung) -> Rung:
        exact: Shown = full.held
        digest = hashlib.sha256(exact.text.encode("utf-8", "backslashreplace")).hexdigest()[:24]
        handle = f"offload_{digest}"
        text = (
            f'<offloaded handle="{handle}">\n{shortened(exact.text, PREVIEW_CHARS)}\n</offloaded>\n'
            "Only a part is shown. Read all of it with the tool recall and this handle."
        )
        tools = (*exact.tools, recall_tool(self.facts.tool_wire))
        usable = self.facts.backing and self.facts.schema is None
        state = "ready" if usable else "unavailable"
        return self._rung("offload", text, tools, state=state, handle=handle, exact=exact.text)


def tool_tokens(
    facts: RequestFacts, tools: Sequence[Any]
) -> tuple[int, tuple[tuple[str, int], ...]]:
    """Weigh the tools that a rung brings.

    Returns:
        Tokens of those that the request has not anyway; name and tokens of what it has once,
        whoever else brings it: the framing around all tools, and the tool `recall`.
    """
    if not tools:
        return 0, ()
    measure, recall = facts.measure, recall_tool(facts.tool_wire)
    own = [tool for tool in tools if tool != recall and tool not in facts.tools]
    around = measure.tools_once
    shared = [("tools", around)] if around and not facts.tools else []
    if recall in tools:
        shared.append((RECALL, measure.tools((recall,)) - around))
    return measure.tools(own) - around if own else 0, tuple(shared)


def _tools(sources: Sequence[Context]) -> tuple[Any, ...]:
    return tuple(tool for source in sources for tool in source.tools)


def _priority(inner: Context | Summarizable) -> int:
    if isinstance(inner, Context):
        return inner.priority
    return max(_priority(_inner(source)) for source in inner.sources)


def summarised_rung(rung: Rung, artifact: Any, facts: RequestFacts) -> Rung:
    """Make the rung of a summary that is ready now."""
    shown: Shown = rung.held
    own, shared = tool_tokens(facts, shown.tools)
    tokens = facts.measure.text(f"{artifact.text}\n\n") + own
    made = Shown(artifact.text, shown.tools, key=artifact.key, support=artifact.support)
    return Rung("summary", tokens, held=made, shared=shared)
