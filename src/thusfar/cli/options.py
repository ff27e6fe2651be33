"""Options that several commands take."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated

from cyclopts import CoercionError, Parameter, Token


def _whole(_: type, tokens: Sequence[Token]) -> int:
    """Read a whole number; the parser itself would round 1.5."""
    try:
        return int(tokens[0].value)
    except ValueError:
        raise CoercionError(token=tokens[0], target_type=int) from None


Whole = Annotated[int | None, Parameter(converter=_whole)]
"""An option that takes a whole number, and is `None` where it is not given."""

AsJson = Annotated[
    bool,
    Parameter(
        name="--json", negative=(), show_default=False, help="Print JSON instead of text for people"
    ),
]
DialectName = Annotated[
    str | None,
    Parameter(
        name="--dialect",
        help="The format of the messages, as thusfar dialects lists them. By default it is "
        "found out.",
    ),
]
