"""Foreign messages: any dialect's messages become canonical ones on their way into a thread."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from thusfar.dialects import detect
from thusfar.dialects.base import DialectMismatch
from thusfar.errors import InvalidMessageError, TranscriptError
from thusfar.messages import Message


def lift(messages: Sequence[Any]) -> list[Message]:
    """Read messages of one dialect; canonical ones among them stay as they are.

    Raises:
        InvalidMessageError: `INVALID_MESSAGE`, when no dialect reads all of them.
    """
    foreign = [m for m in messages if not isinstance(m, Message)]
    try:
        dialect = detect(foreign)
        return [m if isinstance(m, Message) else dialect.lift(m) for m in messages]
    except DialectMismatch as error:
        raise InvalidMessageError(
            "A message had a shape of no known dialect.",
            fix="Pass Message values, or messages of one dialect.",
        ) from error
    except TranscriptError as error:
        raise InvalidMessageError(
            f"A message could not be read: {error.args[0]}",
            fix=error.fix,
            diagnostics=(),
            **error.facts,
        ) from error
