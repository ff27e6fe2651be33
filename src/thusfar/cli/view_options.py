"""View options: which view of a transcript a command line asks for."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, Literal

from cyclopts import Parameter

from thusfar._history import HistoryPolicy, history
from thusfar._managed import RECENT_SHARE
from thusfar._options import Cut, RepairMode
from thusfar._setting import Setting
from thusfar._summarize import summarize
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
            recent keeps 20 messages, and what stands beside a digest is 40 % of the limit.
        tokens: Most tokens to keep of the conversation. Both caps may be given, and both hold.
        cut: turn: whole turns. exchange: a call with its results is the smallest piece. auto (the
            default): turns, and exchanges where a turn is too large.
        pinned: Positions that stay whatever the caps say, such as 0,4,17; or metadata, for
            messages with a true metadata.pinned.
        advance: Move the start of the view in steps of this share of a cap, so that a provider's
            prompt cache hits. From 0 up to, but not including, 1.
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
            if given and given.keys().isdisjoint(CAPS):
                given["tokens"] = default_tokens(setting)
            recent = history.recent(**given) if given else None
            return history(recent=recent, summary=summarize.digest())
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


def default_tokens(setting: Setting) -> int:
    """Compute how much a digest keeps exactly when no cap is given: 40 % of the limit."""
    measure = setting.measure()
    most = setting.limits(measure).max if setting.limited else None
    if most is None:
        most = limits(setting.budget, UNKNOWN_CAPACITY, measure=measure).max or 1
    return max(1, int(RECENT_SHARE * most))


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
