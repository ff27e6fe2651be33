"""Resting: a summary model that keeps failing is left alone for a while.

Without it every request of a conversation would wait for the same time limits and pay for the same
refused answers. What is asked for on demand is tried all the same.

Source:
    docs/spec/summaries.md#keeping
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from thusfar.errors import HistoryError, SummaryFailedError

FAILURES: Final = 3  # summaries in a row; each had its own attempts
FIRST_REST_MS: Final = 30_000  # about as long as a provider's rate limit takes to let go
LONGEST_REST_MS: Final = 300_000
_NOT_THE_MODELS: Final = frozenset({"resting", "interrupted", "transcript-changed"})


@dataclass(slots=True)
class _Record:
    failures: int = 0
    until: int = 0


class Resting:
    """Remembers, by summary model, how many summaries in a row failed."""

    __slots__ = ("_records",)

    def __init__(self) -> None:
        self._records: dict[str, _Record] = {}

    def require(self, model: str, *, now: int) -> None:
        """Check that a model may be asked.

        Args:
            model: The summary model.
            now: The time. Unit: milliseconds since 1970.

        Raises:
            SummaryFailedError: `SUMMARY_FAILED` with the reason `resting`, while it rests.
        """
        record = self._records.get(model)
        if record is None or now >= record.until:
            return
        raise SummaryFailedError(
            "A summary model failed several times in a row and is left alone for a while.",
            fix="Correct the summary model; compact_now() tries it at once.",
            reason="resting",
            failures=record.failures,
            seconds=-(-(record.until - now) // 1000),
        )

    def note(self, model: str, error: Exception | None, *, now: int) -> None:
        """Take in how a summary ended.

        Args:
            model: The summary model.
            error: What kept it from being made; `None` when it was made.
            now: The time. Unit: milliseconds since 1970.
        """
        if error is None:
            self._records.pop(model, None)
            return
        reason = error.facts.get("reason") if isinstance(error, HistoryError) else None
        if not isinstance(error, SummaryFailedError) or reason in _NOT_THE_MODELS:
            return
        record = self._records.setdefault(model, _Record())
        record.failures += 1
        if record.failures >= FAILURES:
            rest = FIRST_REST_MS * 2 ** min(record.failures - FAILURES, 10)
            record.until = now + min(rest, LONGEST_REST_MS)
