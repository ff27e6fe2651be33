"""History policies: `history.exact()`, `history.recent(...)` and `history(...)`.

Policies are inert, frozen values. Constructing or projecting one makes no model call, writes
nothing and defers nothing.

Source:
    docs/spec/policies.md
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final, Literal, get_args

import msgspec

from thusfar._exact import project_exact
from thusfar._managed import project_managed
from thusfar._numbers import kind_of, require_whole
from thusfar._options import (
    DEFAULT_RECENT_MESSAGES,
    Cut,
    Pinned,
    RecentHistoryOptions,
    RepairMode,
    check_choice,
    from_mapping,
)
from thusfar._setting import Setting
from thusfar._summarize import SummarizeStrategy, SummaryOptions
from thusfar.budget import InputBudget
from thusfar.capacity import ModelCapacity
from thusfar.dialects import Dialect
from thusfar.errors import OptionsError
from thusfar.projection import Projection, project_recent

OnMiss = Literal["inline", "recent-only", "fail"]


class _Unset:
    def __repr__(self) -> str:
        return "UNSET"


UNSET: Final = _Unset()


class _Policy(msgspec.Struct, frozen=True):
    """What all policies share: projecting caller-owned messages with no runtime."""

    def project(
        self,
        messages: Any,
        *,
        dialect: str | Dialect | None = None,
        counter: Any = None,
        model: str | None = None,
        capacity: ModelCapacity | None = None,
        budget: InputBudget | None = None,
        system: Any = None,
        tools: Sequence[Any] | None = None,
    ) -> Projection:
        """Project a transcript: the same objects back, with a receipt; the input is untouched.

        Args:
            messages: The complete transcript, oldest first, in any dialect; any iterable.
            dialect: Its wire format. `None`: detected from the messages looked at.
            counter: How tokens are counted: a function of one text, a counter, or the name of
                one. `None`: by the model, else the built-in estimator.
            model: Name of the model, for its tokenizer and its capacity.
            capacity: Capacity of the model, instead of the table's.
            budget: Limits of the request. With neither `budget` nor `model` nor `capacity`
                nothing is refused for its size.
            system: System text outside the list, counted with the request.
            tools: Tool definitions, counted with the request.

        Returns:
            The view and its receipt.

        Raises:
            RequestCompositionError: `INVALID_COMPOSITION`, for a transcript whose calls and
                results do not pair, unless `repair` says otherwise.
            RequestTooLargeError: `REQUEST_TOO_LARGE`, when no authorised view fits.
            RepresentationUnavailableError: `REPRESENTATION_UNAVAILABLE`, when a summary that
                needs a model would be required.
            TranscriptError: `INVALID_TRANSCRIPT`, when a message fits no dialect.
            OptionsError: `INVALID_OPTIONS`, for an argument of the wrong type.
        """
        setting = Setting(
            dialect=dialect,
            counter=counter,
            model=model,
            capacity=capacity,
            budget=budget,
            system=system,
            tools=tools,
        )
        return self._project(messages, setting)

    def _project(self, messages: Any, setting: Setting) -> Projection:
        raise NotImplementedError


class ExactHistory(_Policy, frozen=True):
    """The complete transcript, or an error before dispatch."""

    def _project(self, messages: Any, setting: Setting) -> Projection:
        return project_exact(messages, setting)


class RecentHistory(_Policy, frozen=True):
    """The newest exact causally safe suffix.

    Attributes:
        options: The caps and how to cut.
    """

    options: RecentHistoryOptions

    def _project(self, messages: Any, setting: Setting) -> Projection:
        return project_recent(messages, self.options, setting)


class HistoryOptions(msgspec.Struct, frozen=True, kw_only=True):
    """Options of managed history.

    Attributes:
        recent: The exact suffix: an int (a message cap) or everything `history.recent` takes.
            `None`: 40 % of the effective maximum, in tokens; with `digest()` it starts in
            steps of half of that.
        summary: How the older part is summarised: `SummaryOptions`, a mapping of them, or a
            strategy.
        on_miss: What happens when full history exceeds the maximum and no summary is ready:
            `inline` makes one before dispatch, `recent-only` may send the suffix alone, `fail`
            raises.
        provider_native: Whether a provider's own summary path may be used.
        shorten: Before any summary, old tool results above this many tokens may be cut to a head
            and a tail, and old images to a reference. Unit: tokens. `None`: never.
        offload: Where no summary fits or is ready, a digest and the tool `recall`, which returns
            exact older messages, may stand for the older part.
        priority: Rank among the contributors of a request; higher keeps its fidelity longer.
            `None`: above all others.

    Raises:
        OptionsError: `INVALID_OPTIONS`, for a value outside its range.
    """

    recent: int | RecentHistoryOptions | RecentHistory | Mapping[str, Any] | None = None
    summary: SummaryOptions | SummarizeStrategy | Mapping[str, Any] | None = None
    on_miss: OnMiss = "inline"
    provider_native: bool = True
    shorten: int | None = None
    offload: bool = False
    priority: int | None = None

    def __post_init__(self) -> None:
        check_choice("history()", "on_miss", self.on_miss, get_args(OnMiss))
        for name in ("provider_native", "offload"):
            if not isinstance(getattr(self, name), bool):
                raise OptionsError(
                    f"history() got a value for {name} that is not true or false.",
                    fix="Pass True or False.",
                    option=name,
                )
        require_whole("history()", "shorten", self.shorten)
        if self.priority is not None and type(self.priority) is not int:
            raise OptionsError(
                "history() got a priority that is no whole number.",
                fix="Pass a whole number, or leave it out.",
                option="priority",
            )
        recent = self.recent.options if isinstance(self.recent, RecentHistory) else self.recent
        if recent is not None:
            recent = RecentHistoryOptions.of(recent, owner="history(recent=…)")
        msgspec.structs.force_setattr(self, "recent", recent)
        msgspec.structs.force_setattr(self, "summary", SummaryOptions.of(self.summary))


class ManagedHistory(_Policy, frozen=True):
    """A derived summary of the older part, plus an exact recent suffix.

    Attributes:
        options: The complete options, all defaults filled in.
    """

    options: HistoryOptions = msgspec.field(default_factory=HistoryOptions)

    def _project(self, messages: Any, setting: Setting) -> Projection:
        options = self.options
        recent, summary = options.recent, options.summary
        assert recent is None or isinstance(recent, RecentHistoryOptions)
        assert isinstance(summary, SummaryOptions)
        return project_managed(messages, recent, summary, options.on_miss, setting)


HistoryPolicy = ExactHistory | RecentHistory | ManagedHistory


class _HistoryNamespace:
    """The callable namespace `history`."""

    __slots__ = ()

    def __call__(
        self,
        options: HistoryOptions | Mapping[str, Any] | None = None,
        /,
        *,
        recent: int | RecentHistoryOptions | RecentHistory | Mapping[str, Any] | None = None,
        summary: SummaryOptions | SummarizeStrategy | Mapping[str, Any] | None = None,
        on_miss: OnMiss = "inline",
        provider_native: bool = True,
        shorten: int | None = None,
        offload: bool = False,
        priority: int | None = None,
    ) -> ManagedHistory:
        """Authorise a derived summary of the older part plus an exact recent suffix.

        Args:
            options: All options in one value, instead of the others.
            recent: As in `HistoryOptions`.
            summary: As in `HistoryOptions`.
            on_miss: As in `HistoryOptions`.
            provider_native: As in `HistoryOptions`.
            shorten: As in `HistoryOptions`.
            offload: As in `HistoryOptions`.
            priority: As in `HistoryOptions`.

        Raises:
            OptionsError: `INVALID_OPTIONS`, for a value outside its range.
        """
        given = HistoryOptions(
            recent=recent,
            summary=summary,
            on_miss=on_miss,
            provider_native=provider_native,
            shorten=shorten,
            offload=offload,
            priority=priority,
        )
        if options is None:
            return ManagedHistory(given)
        if given != HistoryOptions():
            raise OptionsError(
                "history() got options both as one value and one by one.",
                fix="Pass them one way.",
            )
        if isinstance(options, HistoryOptions):
            return ManagedHistory(options)
        if isinstance(options, Mapping):
            return ManagedHistory(from_mapping(HistoryOptions, options, "history()"))
        raise OptionsError(
            f"history() got {kind_of(options)} as options.",
            fix="Pass recent=, summary=, on_miss= or another option by name.",
        )

    def exact(self) -> ExactHistory:
        """Ask for the complete transcript; it fails before dispatch when it cannot fit."""
        return ExactHistory()

    def recent(
        self,
        limit: int | RecentHistoryOptions | Mapping[str, Any] | _Unset = UNSET,
        /,
        *,
        messages: int | _Unset | None = UNSET,
        tokens: int | _Unset | None = UNSET,
        cut: Cut | _Unset = UNSET,
        pinned: Pinned | Literal[True] | _Unset | None = UNSET,
        advance: float | _Unset = UNSET,
        repair: RepairMode | _Unset = UNSET,
    ) -> RecentHistory:
        """Ask for the newest exact causally safe suffix.

        With neither `messages` nor `tokens`, the cap is 20 messages.

        Args:
            limit: An int (a message cap), `RecentHistoryOptions`, or a mapping of them.
            messages: As in `RecentHistoryOptions`.
            tokens: As in `RecentHistoryOptions`.
            cut: As in `RecentHistoryOptions`.
            pinned: As in `RecentHistoryOptions`.
            advance: As in `RecentHistoryOptions`.
            repair: As in `RecentHistoryOptions`.

        Raises:
            OptionsError: `INVALID_OPTIONS`, for a value outside its range, an empty mapping,
                or a cap given twice.

        Example:
            >>> history.recent(2).project([{"role": "user", "content": "Hi"}]).messages
            [{'role': 'user', 'content': 'Hi'}]
        """
        named: dict[str, Any] = {
            name: value
            for name, value in (
                ("messages", messages),
                ("tokens", tokens),
                ("cut", cut),
                ("pinned", pinned),
                ("advance", advance),
                ("repair", repair),
            )
            if not isinstance(value, _Unset)
        }
        if isinstance(limit, _Unset):
            if "messages" not in named and "tokens" not in named:
                named["messages"] = DEFAULT_RECENT_MESSAGES
            return RecentHistory(RecentHistoryOptions(**named))
        given = RecentHistoryOptions.of(limit)
        twice = named.keys() & given.to_json().keys()
        if twice:
            raise OptionsError(
                f"history.recent() got {', '.join(sorted(twice))} twice.",
                fix="Pass each option once.",
            )
        merged = {name: getattr(given, name) for name in given.__struct_fields__} | named
        return RecentHistory(RecentHistoryOptions(**merged))


history: Final = _HistoryNamespace()
