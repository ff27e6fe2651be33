"""Numbers of options: whole, bounded so that every one survives JSON, and `True` is not 1."""

from __future__ import annotations

from typing import Final

from thusfar.errors import OptionsError

MAX_SAFE_INTEGER: Final = 2**53 - 1  # the largest integer that JSON peers read exactly
LONGEST_SECONDS: Final = 10**9  # about what every platform can wait for
_MOST_BITS_SHOWN: Final = 128


def require_whole(owner: str, name: str, value: object, *, least: int = 1) -> None:
    """Check for `None` or a whole number from `least` to 2**53 - 1.

    Args:
        owner: What was given the option, for the message.
        name: Name of the option.
        value: What was given.
        least: The smallest number allowed.

    Raises:
        OptionsError: `INVALID_OPTIONS`, naming the option.
    """
    if value is None or (type(value) is int and least <= value <= MAX_SAFE_INTEGER):
        return
    raise OptionsError(
        f"{owner} got {name}={shown(value)}.",
        fix=f"Pass a whole number from {least} to {MAX_SAFE_INTEGER} for {name}.",
        option=name,
    )


def require_seconds(owner: str, name: str, value: object) -> None:
    """Check for a time that can be waited: a number above 0, at most `LONGEST_SECONDS`.

    Args:
        owner: What was given the option, for the message.
        name: Name of the option.
        value: What was given.

    Raises:
        OptionsError: `INVALID_OPTIONS`, naming the option.
    """
    if type(value) in (int, float) and 0 < value <= LONGEST_SECONDS:  # type: ignore[operator]
        return
    raise OptionsError(
        f"{owner} got {name}={shown(value)}.",
        fix=f"Pass seconds for {name}, above 0 and at most {LONGEST_SECONDS:,}.",
        option=name,
    )


def shown(value: object) -> str:
    """Name a value for a message: a number itself, anything else by its type."""
    if isinstance(value, int) and value.bit_length() > _MOST_BITS_SHOWN:
        return "a number of too many digits"
    return repr(value) if isinstance(value, int | float) else kind_of(value)


def kind_of(value: object) -> str:
    """Name the type of a value, with its article.

    Example:
        >>> kind_of([]), kind_of({}), kind_of(1)
        ('a list', 'a dict', 'an int')
    """
    name = type(value).__name__
    return f"{'an' if name[:1].lower() in 'aeiou' else 'a'} {name}"
