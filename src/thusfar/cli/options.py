"""Options that several commands take."""

from __future__ import annotations

from typing import Annotated

from cyclopts import Parameter

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
