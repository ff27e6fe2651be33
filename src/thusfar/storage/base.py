"""The store port: answers the questions of thread operations, in one namespace.

A store knows rows, not rules: whatever a thread allows or refuses is decided by the operation that
asks. `thusfar.testing.check_store` holds every store to the same behaviour.

Source:
    docs/spec/storage.md
"""

from __future__ import annotations

import time
from collections.abc import Callable, Generator
from typing import Any, Final, Protocol, TypeVar, runtime_checkable

from thusfar._numbers import shown
from thusfar.errors import InvalidMessageError, OptionsError, StorageClosedError

Result = TypeVar("Result")
Steps = Generator[Any, Any, Result]
Clock = Callable[[], int]

LONGEST_WAIT: Final = 1_000_000.0  # seconds; what every clock and server can still count
MAX_ID: Final = 512  # characters; keeps keys, receipts and URLs bounded
DEFAULT_NAMESPACE: Final = "default"


def now() -> int:
    """Read the wall clock. Unit: milliseconds since 1970, UTC. Nothing is ordered by it."""
    return time.time_ns() // 1_000_000


@runtime_checkable
class Store(Protocol):
    """Where threads are kept.

    Laws, each with a test in `thusfar.testing.check_store`:

    1. Atomic: a reader sees the whole of a write or none of it.
    2. Durable: a write that was answered survives the end of the process (memory: while it lives).
    3. Read your writes: what was answered is seen by every later operation of any process.
    4. Serialised: between `Lock` and the write, nobody changes what the lock covers.
    5. Separate: nothing of one namespace is ever seen from another.
    6. Faithful: every text comes back equal, with NUL and lone surrogates.
    """

    @property
    def namespace(self) -> str:
        """The tenant whose rows are read and written."""
        ...

    @property
    def clock(self) -> Clock:
        """The clock that stamps rows."""
        ...

    def within(self, namespace: str) -> Store:
        """Look at another tenant's rows through the same database."""
        ...

    def run(self, steps: Steps[Result]) -> Result:
        """Run an operation to its end; what it began and did not write is undone."""
        ...

    async def arun(self, steps: Steps[Result]) -> Result:
        """Run an operation to its end without blocking the event loop."""
        ...

    def close(self) -> None:
        """Close what is open; a closed store may not be used again."""
        ...

    async def aclose(self) -> None:
        """Close what is open, from async code."""
        ...


def closed() -> StorageClosedError:
    """Make the error for a store that was closed."""
    return StorageClosedError("The store was used after it was closed.", fix="Open it again.")


def check_id(value: object, what: str) -> str:
    """Check an id that a caller chose.

    Args:
        value: The id.
        what: What it names, for the message: `thread id`, `message id`, `owner`, `namespace`.

    Returns:
        The id, unchanged.

    Raises:
        InvalidMessageError: `INVALID_MESSAGE`, unless it is text of 1 to 512 characters without
            control characters, lone surrogates and surrounding white space.
    """
    if type(value) is not str or not value or len(value) > MAX_ID:
        fault = "was not text of 1 to 512 characters"
    elif value.isascii() and value.isprintable() and value[0] != " " and value[-1] != " ":
        return value
    elif value != value.strip():
        fault = "began or ended with white space"
    elif any(_is_control(c) for c in value):
        fault = "held a control character or half of a surrogate pair"
    else:
        return value
    article = "an" if what[0] in "aeiou" else "a"
    raise InvalidMessageError(
        f"{article.capitalize()} {what} {fault}.",
        fix=f"Use {article} {what} of 1 to 512 printable characters.",
    )


def check_wait(seconds: object) -> float:
    """Check how long to wait for another writer, and give it back. Unit: seconds.

    Raises:
        OptionsError: `INVALID_OPTIONS`, unless it is a number from 0 to 1,000,000.
    """
    number = type(seconds) in (int, float)
    if not number or not 0 <= float(seconds) <= LONGEST_WAIT:  # type: ignore[arg-type]
        raise OptionsError(
            f"A store got busy_timeout_seconds={shown(seconds)}.",
            fix="Pass a number of seconds from 0 to 1,000,000.",
            option="busy_timeout_seconds",
        )
    return float(seconds)  # type: ignore[arg-type]


def _is_control(character: str) -> bool:
    code = ord(character)
    return code < 0x20 or 0x7F <= code < 0xA0 or 0xD800 <= code < 0xE000
