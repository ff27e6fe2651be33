"""Options of history policies: frozen values, checked completely at construction."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import Any, Final, Literal, get_args

import msgspec

from thusfar._numbers import require_whole
from thusfar.errors import OptionsError

DEFAULT_RECENT_MESSAGES: Final = 20  # about ten question-and-answer turns

Cut = Literal["auto", "turn", "exchange"]
RepairMode = Literal["strict", "drop", "close"]
Pinned = Callable[[Any], bool]


class RecentHistoryOptions(msgspec.Struct, frozen=True, kw_only=True):
    """Soft caps for an exact recent suffix, and how to cut. At least one cap must be set.

    Attributes:
        messages: Most conversational messages to keep. Unit: messages. `None`: no cap.
        tokens: Most input tokens of conversational messages to keep. Unit: tokens. `None`: no
            cap.
        cut: `auto`: whole turns, and exchanges where a turn is too large. `turn`: turns are
            indivisible. `exchange`: exchanges everywhere.
        pinned: A predicate on the caller's own message object, or `True` for messages whose
            `metadata["pinned"]` is true. Units with a pinned message stay, exact and in place,
            outside the caps. `None`: nothing is pinned.
        advance: Share of a cap by which the start of the window moves at a time, so that
            successive requests share an exact prefix. 0 <= advance < 1; 0 moves it freely.
        repair: `strict` refuses a defective transcript, `drop` leaves the defective messages
            out of the view, `close` adds marked results for calls without one.

    Raises:
        OptionsError: `INVALID_OPTIONS`, for any value outside its range.
    """

    messages: int | None = None
    tokens: int | None = None
    cut: Cut = "auto"
    pinned: Pinned | Literal[True] | None = None
    advance: float = 0.0
    repair: RepairMode = "strict"

    def __post_init__(self) -> None:
        require_whole("history.recent()", "messages", self.messages)
        require_whole("history.recent()", "tokens", self.tokens)
        check_choice("history.recent()", "cut", self.cut, get_args(Cut))
        check_choice("history.recent()", "repair", self.repair, get_args(RepairMode))
        if self.messages is None and self.tokens is None:
            raise OptionsError(
                "history.recent() was given no limit.", fix="Pass messages=, tokens=, or both."
            )
        if self.pinned is not None and self.pinned is not True and not callable(self.pinned):
            raise OptionsError(
                "history.recent() got a value for pinned that is not a predicate.",
                fix="Pass a function of one message, or True for metadata['pinned'].",
                option="pinned",
            )
        advance = self.advance
        if (
            isinstance(advance, bool)
            or not isinstance(advance, int | float)
            or not 0 <= advance < 1
        ):
            raise OptionsError(
                "history.recent() got a value for advance outside its range.",
                fix="Pass a number from 0 up to, but not including, 1.",
                option="advance",
            )

    @classmethod
    def of(cls, value: object, *, owner: str = "history.recent()") -> RecentHistoryOptions:
        """Read an int (a message cap), options, or a mapping of option names.

        Raises:
            OptionsError: `INVALID_OPTIONS`, for an empty mapping, an unknown name or a value
                outside its range.
        """
        if isinstance(value, RecentHistoryOptions):
            return value
        if isinstance(value, Mapping):
            made: RecentHistoryOptions = from_mapping(cls, value, owner)
            return made
        require_whole(owner, "messages", value)
        if value is None:
            raise OptionsError(
                f"{owner} was given no limit.", fix="Pass messages=, tokens=, or both."
            )
        return cls(messages=value)  # type: ignore[arg-type]  # checked above

    def to_json(self) -> dict[str, Any]:
        """Describe the options that are not defaults; a predicate is only named as such."""
        if callable(self.pinned):  # perhaps not hashable, and not to be kept alive
            return _described.__wrapped__(self)
        return dict(_described(self))


@lru_cache(maxsize=256)  # every receipt of a policy tells the same
def _described(options: RecentHistoryOptions) -> dict[str, Any]:
    names, defaults = options.__struct_fields__, options.__struct_defaults__
    return {
        name: "predicate" if callable(value) else value
        for name, default in zip(names, defaults, strict=True)
        if (value := getattr(options, name)) != default
    }


def check_choice(owner: str, name: str, value: object, choices: tuple[str, ...]) -> None:
    """Check for one of a few words.

    Raises:
        OptionsError: `INVALID_OPTIONS`, naming the option and the words.
    """
    if not isinstance(value, str) or value not in choices:
        raise OptionsError(
            f"{owner} got a value for {name} that does not exist.",
            fix=f"Pass one of {', '.join(choices)}.",
            option=name,
        )


def from_mapping(kind: type[Any], value: Mapping[Any, Any], owner: str) -> Any:
    """Build an options value from a mapping of its field names.

    Raises:
        OptionsError: `INVALID_OPTIONS`, for a name that is no option.
    """
    names = set(kind.__struct_fields__)
    unknown = sum(1 for name in value if name not in names)
    if unknown:
        raise OptionsError(
            f"{owner} got {unknown} unknown option(s).",
            fix=f"Use these names: {', '.join(sorted(names))}.",
            unknown=unknown,
        )
    return kind(**value)
