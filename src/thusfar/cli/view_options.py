"""View options: which view of a transcript a command line asks for."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, Literal

from cyclopts import Parameter

from thusfar._history import HistoryPolicy, history
from thusfar._managed import default_recent
from thusfar._options import Cut, RecentHistoryOptions, RepairMode
from thusfar._setting import Setting
from thusfar._summarize import SummaryOptions, summarize
from thusfar.budget import InputBudget, limits
from thusfar.capacity import UNKNOWN_CAPACITY
from thusfar.cli.options import Whole
from thusfar.errors import OptionsError

PolicyName = Literal["exact", "recent", "digest"]
CAPS: Final = ("messages", "tokens")
PINNED_BY_METADATA: Final = "metadata"


@Parameter(name="*")
@dataclass(frozen=True, slots=True, kw_only=True)
class BoundOptions:
    """What bounds a view, whichever policy makes it.

    Attributes:
        messages: Most messages to keep of the conversation. Without --messages and --tokens,
            recent keeps 20 messages, and what stands beside a digest is what history(summary=
            summarize.digest()) keeps: 40 % of the limit, in steps of half of that.
        tokens: Most tokens to keep of the conversation. Both caps may be given, and both hold.
        cut: turn: whole turns. exchange: a call with its results is the smallest piece. auto (the
            default): turns, and exchanges where a turn is too large.
        pinned: Positions that stay whatever the caps say, such as 0,4,17; or metadata, for
            messages with a true metadata.pinned.
        advance: Move the start of the view in steps of this share of a cap, so that a provider's
            prompt cache hits. From 0 up to, but not including, 1. By default 0, and 0.5 beside a
            digest without caps.
        repair: strict (the default): refuse calls and results that do not pair. drop: leave them
            out. close: fill in marked results.
        counter: How tokens are counted: estimate, o200k_base, cl100k_base or
            tiktoken:o200k_base. By default as the model counts, else estimate.
        model: Name of the model, for its tokenizer and its window.
        max: Most input tokens of the whole request; what does not fit is refused.
    """

    messages: Whole = None
    tokens: Whole = None
    cut: Cut | None = None
    pinned: str | None = None
    advance: float | None = None
    repair: RepairMode | None = None
    counter: str | None = None
    model: str | None = None
    max: Whole = None

    def suffix(self, messages: Sequence[Any]) -> dict[str, Any]:
        """List what was said of the exact suffix, as options of `history.recent`.

        Args:
            messages: The transcript, whose positions `--pinned` names.

        Raises:
            OptionsError: `INVALID_OPTIONS`, for a `--pinned` that is no positions of it.
        """
        given: dict[str, Any] = {
            name: value
            for name in ("messages", "tokens", "cut", "advance", "repair")
            if (value := getattr(self, name)) is not None
        }
        if self.pinned is not None:
            given["pinned"] = pinned_by(self.pinned, messages)
        return given


@Parameter(name="*")
@dataclass(frozen=True, slots=True, kw_only=True)
class ViewOptions(BoundOptions):
    """Which view of a transcript is asked for.

    Attributes:
        policy: exact: everything, or a refusal. recent (the default): the newest messages that
            fit. digest: the same, with one line for each older exchange, made without a model.
    """

    policy: PolicyName = "recent"

    def budget(self) -> InputBudget | None:
        """The budget that `--max` asks for; `None` without it.

        Raises:
            OptionsError: `INVALID_OPTIONS`, for a number outside its range.
        """
        return None if self.max is None else InputBudget(max=self.max)

    def policy_for(self, messages: Sequence[Any], setting: Setting) -> HistoryPolicy:
        """Make the policy that the options ask for.

        Args:
            messages: The transcript, whose positions `--pinned` names.
            setting: What the view is made for; its limit gives a digest its default cap.

        Raises:
            OptionsError: `INVALID_OPTIONS`, for a value outside its range, and for options that
                `--policy exact` has no use for.
        """
        given = self.suffix(messages)
        if self.policy == "recent":
            return history.recent(**given)
        if self.policy == "digest":
            summary = SummaryOptions(strategy=summarize.digest())
            most = default_limit(setting)
            return history(recent=beside_summary(given, most, summary), summary=summary)
        refuse_bounds(given)
        return history.exact()


def refuse_bounds(given: Mapping[str, Any]) -> None:
    """Refuse what `--policy exact` has no use for.

    Raises:
        OptionsError: `INVALID_OPTIONS`, when anything was given.
    """
    if given:
        raise OptionsError(
            f"--policy exact sends everything and got {', '.join(f'--{n}' for n in given)}.",
            fix="Leave these out, or pass --policy recent or --policy digest.",
        )


def beside_summary(
    given: Mapping[str, Any], most: int, summary: SummaryOptions
) -> RecentHistoryOptions | None:
    """Say what is sent exactly beside a summary.

    Without a cap it is what `history(summary=...)` keeps, with the other options on top of it.

    Args:
        given: What was said of the exact suffix.
        most: The effective maximum. Unit: tokens.
        summary: How the older part is summarised.

    Returns:
        The options; `None` where nothing was said, so that the policy keeps its own default.

    Raises:
        OptionsError: `INVALID_OPTIONS`, for a value outside its range.
    """
    if not given:
        return None
    if not given.keys().isdisjoint(CAPS):
        return RecentHistoryOptions(**given)
    usual = default_recent(most, summary)
    return RecentHistoryOptions(**{"tokens": usual.tokens, "advance": usual.advance, **given})


def default_limit(setting: Setting) -> int:
    """Find the limit that a digest goes by, where no cap is given."""
    measure = setting.measure()
    most = setting.limits(measure).max if setting.limited else None
    return most or limits(setting.budget, UNKNOWN_CAPACITY, measure=measure).max or 1


def pinned_by(text: str, messages: Sequence[Any]) -> Callable[[Any], bool] | Literal[True]:
    """Read `--pinned`: the word `metadata`, or positions between commas.

    Raises:
        OptionsError: `INVALID_OPTIONS`, when it is neither, or a position is not there.
    """
    if text.strip() == PINNED_BY_METADATA:
        return True
    positions = {_position(word.strip(), len(messages)) for word in text.split(",")}
    pinned = {id(messages[position]) for position in positions}
    return lambda message: id(message) in pinned


def _position(word: str, count: int) -> int:
    if word.isascii() and word.isdecimal() and len(word) < 16 and int(word) < count:
        return int(word)
    raise OptionsError(
        "--pinned got something else than positions of the transcript.",
        fix=f"Pass positions from 0 to {max(count - 1, 0)} with commas between them, or the word "
        f"{PINNED_BY_METADATA}.",
        option="pinned",
        messages=count,
    )
