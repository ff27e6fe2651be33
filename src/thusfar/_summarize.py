"""Summary strategies: inert, versioned values that say how older messages are summarised.

Use the constructors of `summarize`; a strategy never runs anything itself.

Source:
    docs/spec/summaries.md
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final, Literal, get_args

import msgspec

from thusfar._numbers import kind_of, require_whole
from thusfar._options import from_mapping
from thusfar.errors import OptionsError

StrategyKind = Literal["adaptive", "rolling", "hierarchical", "regenerate", "digest"]
DEFAULT_LINE_CHARS: Final = 200  # one terminal line or two; the process default is the same
LEAST_LINE_CHARS: Final = 40  # a position, a few words of what was done and of what came of it
_FACTORY: Final = object()


class SummarizeStrategy(msgspec.Struct, frozen=True, kw_only=True):
    """A way to stand for older messages. Made by the `summarize` constructors only.

    Attributes:
        kind: Which constructor made it.
        version: Version of the strategy; part of a summary's identity.
        parameters: What else changes the text, as names and whole numbers.
    """

    kind: StrategyKind
    version: int = 1
    parameters: tuple[tuple[str, int], ...] = ()
    _made_by: object = None

    def __post_init__(self) -> None:
        if self._made_by is not _FACTORY or not self._is_known():
            raise OptionsError(
                "A summary strategy was not made by summarize.",
                fix="Use summarize.adaptive(), .rolling(), .hierarchical(), .regenerate() or "
                ".digest().",
            )

    def _is_known(self) -> bool:
        """Whether a constructor makes such values; a copy with other fields may be none."""
        names = ("line_max_chars",) if self.kind == "digest" else ()
        known = self.kind in get_args(StrategyKind) and self.version == 1
        return known and tuple(name for name, _ in self.parameters) == names

    @property
    def _tag(self) -> str:
        return "SummarizeStrategy"

    def __repr__(self) -> str:
        return f"summarize.{self.kind}({', '.join(f'{k}={v}' for k, v in self.parameters)})"

    def __reduce__(self) -> tuple[Any, ...]:
        return _remake, (self.kind, self.version, self.parameters)


def _remake(
    kind: StrategyKind, version: int, parameters: tuple[tuple[str, int], ...]
) -> SummarizeStrategy:
    return SummarizeStrategy(kind=kind, version=version, parameters=parameters, _made_by=_FACTORY)


class summarize:  # noqa: N801 - a namespace of constructors, used like a module
    """Constructors of summary strategies. None of them generates anything."""

    @staticmethod
    def adaptive() -> SummarizeStrategy:
        """Summarise as one segment while small, then hierarchically. The default."""
        return _remake("adaptive", 1, ())

    @staticmethod
    def rolling() -> SummarizeStrategy:
        """Update one running summary with each new range."""
        return _remake("rolling", 1, ())

    @staticmethod
    def hierarchical() -> SummarizeStrategy:
        """Summarise ranges once each and merge them by level."""
        return _remake("hierarchical", 1, ())

    @staticmethod
    def regenerate() -> SummarizeStrategy:
        """Summarise the whole older range each time; its cost is stated on the receipt."""
        return _remake("regenerate", 1, ())

    @staticmethod
    def digest(*, line_max_chars: int = DEFAULT_LINE_CHARS) -> SummarizeStrategy:
        """Write one line an exchange, with no model; nothing disappears.

        Args:
            line_max_chars: Most characters of a line, its position included. At least 40.

        Raises:
            OptionsError: `INVALID_OPTIONS`, for a number outside its range.
        """
        require_whole("summarize.digest()", "line_max_chars", line_max_chars)
        if line_max_chars < LEAST_LINE_CHARS:
            raise OptionsError(
                f"summarize.digest() got line_max_chars={line_max_chars}.",
                fix=f"Pass at least {LEAST_LINE_CHARS}.",
                option="line_max_chars",
            )
        return _remake("digest", 1, (("line_max_chars", line_max_chars),))


class Redaction(msgspec.Struct, frozen=True, kw_only=True):
    """A named, versioned way to mask text on its way to the summary model.

    Attributes:
        name: Stable name; part of a summary's identity.
        apply: A pure function from text to masked text.
        version: Raise it whenever `apply` changes; part of a summary's identity.

    Raises:
        OptionsError: `INVALID_OPTIONS`, for an empty name, a function that is none, or a
            version that is not a whole number.
    """

    name: str
    apply: Callable[[str], str]
    version: int = 1

    def __post_init__(self) -> None:
        if not isinstance(self.name, str) or not self.name or not callable(self.apply):
            raise OptionsError(
                "Redaction() got no name or no function.",
                fix="Pass name= and apply=, a function of one text.",
                option="redact",
            )
        require_whole("Redaction()", "version", self.version if self.version else 0)


class SummaryOptions(msgspec.Struct, frozen=True, kw_only=True):
    """How the summary of a managed history is made.

    Attributes:
        model: Model for the support calls: a name, a model object, or any function of the
            shape `GenerateText`. `None`: the model of the request.
        strategy: How the text is made and kept up.
        max_tokens: Most tokens of an accepted summary; `digest()` is exempt.
        attempts: Most tries before a failure is reported.
        instructions: What to keep or to leave out, added to the fixed instruction.
        name: Identity of a bare function given as `model`; required then.
        redact: Masks text on its way to the summary model. `None`: nothing is masked.
        keep_user: How much user input of the summarised part is sent exactly as well, newest
            first: a whole number of tokens, or a share of the summarised tokens above 0 and
            below 1. `None`: none.
        ttl_seconds: How long a summary may be used. `None`: until it is superseded or erased.

    Raises:
        OptionsError: `INVALID_OPTIONS`, for a value outside its range.
    """

    model: Any = None
    strategy: SummarizeStrategy = msgspec.field(default_factory=summarize.adaptive)
    max_tokens: int = 500
    attempts: int = 2
    instructions: str = ""
    name: str | None = None
    redact: Redaction | None = None
    keep_user: int | float | None = None
    ttl_seconds: int | None = None

    def __post_init__(self) -> None:
        if not isinstance(self.strategy, SummarizeStrategy):
            raise OptionsError(
                "history() got a summary strategy that was not made by summarize.",
                fix="Use summarize.adaptive(), .rolling(), .hierarchical(), .regenerate() or "
                ".digest().",
                option="strategy",
            )
        for name in ("max_tokens", "attempts"):
            value = getattr(self, name)
            require_whole("history()", name, value if value is not None else 0)
        require_whole("history()", "ttl_seconds", self.ttl_seconds)
        self._check_kept_and_masked()
        if not isinstance(self.instructions, str):
            raise OptionsError(
                "history() got summary instructions that are not text.",
                fix="Pass a string.",
                option="instructions",
            )
        if self.model is not None and not isinstance(self.model, str) and not can_write(self.model):
            raise OptionsError(
                f"history() got {kind_of(self.model)} as summary model.",
                fix="Pass a name, a model with generate_text, or a function of that shape.",
                option="model",
            )
        if isinstance(self.model, Callable) and not self.name and _is_function(self.model):  # type: ignore[arg-type]
            raise OptionsError(
                "history() got a bare function as summary model, without a name.",
                fix="Pass name= beside model=, so that summaries can be told apart.",
                option="name",
            )

    def _check_kept_and_masked(self) -> None:
        if self.redact is not None and not isinstance(self.redact, Redaction):
            raise OptionsError(
                "history() got a value for redact that is no redaction.",
                fix="Pass Redaction(name=..., apply=...).",
                option="redact",
            )
        share = self.keep_user
        if isinstance(share, float) and 0 < share < 1:
            return
        if isinstance(share, float):
            raise OptionsError(
                "history() got a share for keep_user outside its range.",
                fix="Pass a number above 0 and below 1, or a whole number of tokens.",
                option="keep_user",
            )
        require_whole("history()", "keep_user", share)

    @classmethod
    def of(cls, value: object) -> SummaryOptions:
        """Read options, a strategy, a mapping of option names, or `None` for the defaults.

        Raises:
            OptionsError: `INVALID_OPTIONS`, for anything else.
        """
        if value is None:
            return cls()
        if isinstance(value, SummaryOptions):
            return value
        if isinstance(value, SummarizeStrategy):
            return cls(strategy=value)
        if isinstance(value, Mapping):
            made: SummaryOptions = from_mapping(cls, value, "history(summary=…)")
            return made
        raise OptionsError(
            "history() got a summary that is neither options nor a strategy.",
            fix="Pass SummaryOptions(...), a mapping of its options, or a strategy of summarize.",
            option="summary",
        )


def can_write(model: object) -> bool:
    """Tell whether a model can be called for a text: it, or one of its methods for it."""
    methods = (getattr(model, name, None) for name in ("generate_text", "compact_history"))
    return callable(model) or any(map(callable, methods))


def _is_function(value: object) -> bool:
    return getattr(value, "name", None) is None and callable(value)
