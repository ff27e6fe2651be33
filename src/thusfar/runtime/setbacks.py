"""Setbacks: how long to wait after a summary model failed, within one summary and between them.

Nothing here waits or looks at a clock; the edge does.

Source:
    docs/spec/summaries.md#setbacks
"""

from __future__ import annotations

from collections import OrderedDict
from typing import Any, Final

from thusfar.errors import HistoryError

FIRST_WAIT: Final = 0.1  # seconds before the second attempt; doubled for each further one
LONGEST_BACKOFF: Final = 5.0
LONGEST_WAIT: Final = 30.0  # as a provider may ask; for longer a request does not wait
FIRST_REST: Final = 60.0  # seconds alone after a summary failed in all attempts; then doubled
LONGEST_REST: Final = 300.0
REMEMBERED: Final = 1_024  # summary identities; the oldest is forgotten first


def asked_wait(error: BaseException | None) -> float | None:
    """Find how long a provider asked to be left alone, in an error or what caused it.

    Returns:
        Seconds, at least 0. `None` where it said nothing that can be read.
    """
    seen = 0
    while error is not None and seen < 8:
        facts: Any = error.facts if isinstance(error, HistoryError) else {}
        said = facts.get("retry_after_seconds")
        if isinstance(said, int | float) and not isinstance(said, bool) and said >= 0:
            return float(said)
        error, seen = error.__cause__, seen + 1
    return None


def wait_before(attempt: int, error: BaseException | None) -> float | None:
    """Say how long to wait before an attempt after one that failed.

    Args:
        attempt: From 2.
        error: What the attempt before raised. `None`: it answered, and the text was refused.

    Returns:
        Seconds. `None`: longer than a request may wait, so that no further attempt is made.

    Example:
        >>> [wait_before(n, TimeoutError()) for n in (2, 3, 4, 9)]
        [0.1, 0.2, 0.4, 5.0]
    """
    if error is None:
        return 0.0
    asked = asked_wait(error)
    if asked is not None:
        return asked if asked <= LONGEST_WAIT else None
    return float(min(FIRST_WAIT * 2 ** min(attempt - 2, 16), LONGEST_BACKOFF))


class Setbacks:
    """Which ways to make summaries failed lately, and until when they are left alone."""

    def __init__(self) -> None:
        self._rests: OrderedDict[str, tuple[int, int]] = OrderedDict()  # failures, until when

    def failed(self, identity: str, *, now: int, error: BaseException) -> None:
        """Remember that all attempts at a summary failed.

        Args:
            identity: Digest of the summary identity.
            now: Unit: milliseconds since 1970, UTC.
            error: The failure; a provider may have asked for a longer rest.
        """
        failures, until = self._rests.pop(identity, (0, 0))
        rest = min(FIRST_REST * 2 ** min(failures, 16), LONGEST_REST)
        rest = max(rest, asked_wait(error) or 0.0)
        self._rests[identity] = failures + 1, max(until, now + int(rest * 1_000))
        while len(self._rests) > REMEMBERED:
            self._rests.popitem(last=False)

    def succeeded(self, identity: str) -> None:
        """Forget the failures of an identity."""
        self._rests.pop(identity, None)

    def rest(self, identity: str, *, now: int) -> int:
        """Say how long an identity is left alone. Unit: seconds, rounded up; 0 for not at all."""
        _, until = self._rests.get(identity, (0, 0))
        return max(0, -(-(until - now) // 1_000))
