"""Managed history without a runtime: a summary of the older part, then the exact recent suffix.

`project` makes no model call, so of the strategies only `digest()` can be carried out here; the
others need a planner, and without one the policy's `on_miss` decides.

Source:
    docs/spec/projection.md#managed
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Any, Final

import msgspec

from thusfar._choice import Choice, choose
from thusfar._digest import digest_lines, fenced
from thusfar._options import RecentHistoryOptions
from thusfar._setting import Setting, in_dialect, sequence_of
from thusfar._summarize import LEAST_LINE_CHARS, SummaryOptions
from thusfar._view import Sent, View, managed_receipt
from thusfar.budget import Limits, limits
from thusfar.capacity import UNKNOWN_CAPACITY
from thusfar.dialects import Dialect
from thusfar.dialects.base import lower_beside
from thusfar.errors import RepresentationUnavailableError
from thusfar.messages import Message, Text
from thusfar.projection import Projection, too_large
from thusfar.receipt import Range, ReceiptWarning, without
from thusfar.tokens import Measure, TokenCount

RECENT_SHARE: Final = 0.4  # of the effective maximum, where recent= is not given
DIGEST_ADVANCE: Final = 0.5  # of that share: the cache then serves nine tenths, bench/cache.py


class Form(msgspec.Struct):
    """One representation of the history: its messages, its size, and what it stands on."""

    messages: list[Any]
    count: TokenCount
    summary_tokens: int | None = None

    @property
    def tokens(self) -> int:
        return self.count.tokens


def project_managed(
    messages: Any,
    recent: RecentHistoryOptions | None,
    summary: SummaryOptions,
    on_miss: str,
    setting: Setting,
) -> Projection:
    """Project a summary of the older part and the exact recent suffix, where full does not do.

    Raises:
        RequestCompositionError: `INVALID_COMPOSITION`, for a defect anywhere under
            `repair="strict"`.
        RepresentationUnavailableError: `REPRESENTATION_UNAVAILABLE`, when only a summary would
            fit and the strategy needs a model.
        RequestTooLargeError: `REQUEST_TOO_LARGE`, when no authorised form fits.
    """
    transcript = sequence_of(messages)

    def run(dialect: Dialect) -> Projection:
        measure = setting.measure()
        bounds = setting.limits(measure) if setting.limited else None
        if recent is None and (bounds is None or bounds.max is None):
            bounds = limits(setting.budget, UNKNOWN_CAPACITY, measure=measure)
        most = bounds.max if bounds else None
        options = recent or default_recent(most or 1, summary)
        choice = choose(transcript, dialect, options, measure, whole=True)
        return _Managed(transcript, dialect, measure, choice, options, setting, bounds).decide(
            summary, on_miss
        )

    return in_dialect(transcript, setting, run)


def default_recent(most: int, summary: SummaryOptions) -> RecentHistoryOptions:
    """Say how much is sent exactly beside a summary, where the author did not.

    A digest is written anew for every request; it ends in steps, since else no request would
    continue the one before, and a provider's prompt cache would serve none of it.

    Args:
        most: The effective maximum. Unit: tokens.
        summary: How the older part is summarised.
    """
    advance = DIGEST_ADVANCE if summary.strategy.kind == "digest" else 0.0
    return RecentHistoryOptions(tokens=max(1, int(RECENT_SHARE * most)), advance=advance)


def _at_most(tokens: int, limit: int | None) -> bool:
    return limit is None or tokens <= limit


class _Digest(msgspec.Struct):
    """A form with a digest: how many messages the digest is, and what is to be said of it."""

    form: Form
    made: int
    notes: list[ReceiptWarning]


class _Managed(msgspec.Struct):
    transcript: Sequence[Any]
    dialect: Dialect
    measure: Measure
    choice: Choice
    options: RecentHistoryOptions
    setting: Setting
    bounds: Limits | None

    def decide(self, summary: SummaryOptions, on_miss: str) -> Projection:
        """Take the highest fidelity under the watermark, else under the maximum."""
        everything = ((0, len(self.transcript)),)
        view = View(self.transcript, self.dialect, self.choice.repairs)
        full = self._form(view.messages(everything))
        selected, system = self.choice.selection.start, self.choice.window.system
        covered = without(((system, selected),), view.absent(everything))
        if self._keeps_full(full):
            return self._settle(full, everything, (), view, [])
        if not without(covered, self.choice.ranges):  # the suffix and its opener are everything
            return self._settle(full, everything, (), view, [], split=True)
        if summary.strategy.kind != "digest":
            return self._miss(full, covered, view, on_miss)
        return self._digested(full, covered, view, summary, on_miss)

    def _digested(
        self,
        full: Form,
        covered: tuple[Range, ...],
        view: View,
        summary: SummaryOptions,
        on_miss: str,
    ) -> Projection:
        """Take the digest with the longest lines below the watermark, else below the maximum."""
        everything = ((0, len(self.transcript)),)
        written = list(self._digests(view, summary))
        digests = [each for each in written if each.form.tokens < full.tokens]
        if not digests and on_miss != "recent-only":
            facts = {"full_tokens": full.tokens, "digest_tokens": written[0].form.tokens}
            note = ReceiptWarning(code="HISTORY_DIGEST_NOT_SHORTER", facts=dict(facts))
            return self._settle(full, everything, (), view, [note])
        below = [d for d in digests if _at_most(d.form.tokens, self._mark)]
        if not below and self.bounds is not None and _at_most(full.tokens, self._most):
            return self._settle(full, everything, (), view, [])
        below = below or [d for d in digests if _at_most(d.form.tokens, self._most)]
        if not below and on_miss == "recent-only":
            return self._recent_only(covered, view)
        taken = below[0] if below else digests[-1]
        ranges = self.choice.ranges
        return self._settle(
            taken.form, ranges, covered, view, taken.notes, made=taken.made, split=True
        )

    def _digests(self, view: View, summary: SummaryOptions) -> Iterator[_Digest]:
        """Write the view with its digest, with lines as asked and then shorter ones."""
        ranges = self.choice.ranges
        start, system = self.choice.selection.start, self.choice.window.system
        head = view.messages(((0, system),))
        tail = view.messages(without(ranges, ((0, system),)))
        chars = asked = dict(summary.strategy.parameters)["line_max_chars"]
        exchanges = self._lifted(view, start)
        while True:
            lines = digest_lines(exchanges, line_max_chars=chars)
            strategy = f"{summary.strategy.kind}-{summary.strategy.version}"
            text = fenced(lines, first=system, last=start - 1, strategy=strategy)
            summary_message = Message("assistant", (Text(text),))
            made = lower_beside(self.dialect, summary_message, self.transcript[start - 1])
            form = self._form([*head, *made, *tail])
            form.summary_tokens = sum(self.measure.count(self.dialect, list(made)))
            facts: dict[str, int | float | str] = {"line_max_chars": chars, "asked": asked}
            note = ReceiptWarning(code="HISTORY_DIGEST_SHORTENED", facts=facts)
            yield _Digest(form, len(made), [note] if chars < asked else [])
            if self.bounds is None or chars == LEAST_LINE_CHARS:
                return
            chars = max(LEAST_LINE_CHARS, chars // 2)

    @property
    def _mark(self) -> int | None:
        return self.bounds.optimize_at if self.bounds else None

    @property
    def _most(self) -> int | None:
        return self.bounds.max if self.bounds else None

    def _keeps_full(self, full: Form) -> bool:
        return self.bounds is not None and _at_most(full.tokens, self._mark)

    def _form(self, messages: list[Any]) -> Form:
        size = self.measure.size(self.dialect, messages)
        return Form(messages, self.setting.whole(self.measure, size))

    def _lifted(self, view: View, end: int) -> list[tuple[int, list[Message]]]:
        """Lift the exchanges that the summary covers, as repaired."""
        window = self.choice.window
        starts = window.exchanges_within(window.system, end)
        spans = pairwise([*starts, end])
        lifted = (
            (low, [self.dialect.lift(m) for m in view.messages(((low, high),))])
            for low, high in spans
        )
        return [(low, messages) for low, messages in lifted if messages]

    def _miss(self, full: Form, covered: tuple[Range, ...], view: View, on_miss: str) -> Projection:
        if _at_most(full.tokens, self._most):
            return self._settle(full, ((0, len(self.transcript)),), (), view, [])
        if on_miss == "recent-only":
            return self._recent_only(covered, view)
        raise RepresentationUnavailableError(
            "The full history did not fit, and its summary needs a model that a projection "
            "without a runtime cannot call.",
            fix="Use summary=summarize.digest(), which needs no model.",
            input_tokens=full.tokens,
            max_input_tokens=self._most,
        )

    def _recent_only(self, covered: tuple[Range, ...], view: View) -> Projection:
        """Send the exact suffix alone."""
        ranges = self.choice.ranges
        omitted = sum(b - a for a, b in without(covered, ranges))
        note = ReceiptWarning(code="HISTORY_RECENT_ONLY", facts={"messages": omitted})
        form = self._form(view.messages(ranges))
        return self._settle(form, ranges, (), view, [note], split=True)

    def _settle(
        self,
        form: Form,
        ranges: Sequence[Range],
        covered: tuple[Range, ...],
        view: View,
        notes: list[ReceiptWarning],
        *,
        made: int = 0,
        split: bool = False,
    ) -> Projection:
        """Write the receipt; `split` tells whether the view is that of the window chosen."""
        count = form.count
        if self._most is not None and form.tokens > self._most:
            raise too_large(count, self._most, "managed")
        sent = Sent(
            ranges=tuple(ranges),
            covered=covered,
            suffix=self.choice.selection.start,
            split=split,
            added=made,
            notes=(*notes, *self._known()),
            tokens=count,
            summary_tokens=form.summary_tokens or 0,
        )
        receipt = managed_receipt(self.choice, view, self.options, self.dialect, sent)
        if self.setting.limited:
            receipt = msgspec.structs.replace(receipt, limit=self._most)
        return Projection(messages=form.messages, receipt=receipt, _size=lambda: count)

    def _known(self) -> tuple[ReceiptWarning, ...]:
        bounds = self.bounds
        return tuple(ReceiptWarning(code=c) for c in bounds.warnings) if bounds else ()


__all__ = ["project_managed"]
