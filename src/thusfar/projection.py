"""Projections: the view of a transcript that a policy allows, with its receipt. Pure.

The caller's list is never changed and never copied message by message: the view holds the caller's
own objects. What is not in the view is not looked at, apart from the leading system run.

Source:
    docs/spec/projection.md
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final

import msgspec

from thusfar._choice import choose
from thusfar._options import RecentHistoryOptions
from thusfar._plain import PlainWindow, choose_plain
from thusfar._recent import Selection
from thusfar._setting import Setting, in_dialect, sequence_of
from thusfar._view import View, recent_receipt, window_warnings
from thusfar.dialects import Dialect
from thusfar.errors import Diagnostic, RequestTooLargeError
from thusfar.receipt import HistoryReceipt, ReceiptWarning, UnitCounts, as_ranges, without
from thusfar.tokens import Measure, TokenCount
from thusfar.tokens.measure import Size


class Projection(msgspec.Struct, frozen=True, kw_only=True, eq=False):
    """A view of a transcript, and why it looks like that.

    Attributes:
        messages: The view: a new list of the caller's own objects, oldest first. With a summary
            or a repair it also holds messages made here; the receipt counts them.
        receipt: What was kept, left out, summarised or repaired.
    """

    messages: list[Any]
    receipt: HistoryReceipt
    _size: Callable[[], TokenCount]

    def measured(self) -> Projection:
        """Return the same view with the number of tokens on its receipt."""
        if self.receipt.tokens is not None:
            return self
        receipt = msgspec.structs.replace(self.receipt, tokens=self._size())
        return Projection(messages=self.messages, receipt=receipt, _size=self._size)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Projection):
            return NotImplemented
        return (self.messages, self.receipt) == (other.messages, other.receipt)

    def __ne__(self, other: object) -> bool:  # the base class compares identities
        return not self == other

    __hash__ = None  # type: ignore[assignment]  # it holds a list

    def __repr__(self) -> str:
        return f"Projection(messages={self.messages!r}, receipt={self.receipt!r})"


def project_recent(messages: Any, options: RecentHistoryOptions, setting: Setting) -> Projection:
    """Project the newest exact causally safe suffix.

    Raises:
        RequestCompositionError: `INVALID_COMPOSITION`, when a defective message would be in the
            view under `repair="strict"`.
        RequestTooLargeError: `REQUEST_TOO_LARGE`, when the view exceeds a given limit.
        TranscriptError: `INVALID_TRANSCRIPT`, when a message fits no dialect.
    """
    transcript = sequence_of(messages)

    def run(dialect: Dialect) -> Projection:
        measure = setting.measure() if options.tokens is not None or setting.limited else None
        plain = choose_plain(transcript, dialect, options, measure)
        if plain:
            return _project_plain(plain, transcript, options, setting, dialect, measure)
        choice = choose(transcript, dialect, options, measure)
        view = View(transcript, dialect, choice.repairs)
        receipt = recent_receipt(choice, view, options, dialect)
        made = view.messages(choice.ranges)

        def counted(measure: Measure) -> Size:
            if options.tokens is None:
                return measure.size(dialect, made)
            system = choice.window.system
            behind = without(choice.ranges, ((0, system),))
            sizes = [choice.meter.size(low, high) for low, high in behind]
            sizes.append(measure.size(dialect, transcript[:system]))
            return Size(sum(s.tokens for s in sizes), any(s.media for s in sizes))

        return finish(made, receipt, setting, counted, measure)

    return in_dialect(transcript, setting, run)


def _project_plain(
    plain: PlainWindow,
    transcript: Sequence[Any],
    options: RecentHistoryOptions,
    setting: Setting,
    dialect: Dialect,
    measure: Measure | None,
) -> Projection:
    """Write the view of whole plain turns, as `choose` would have chosen it."""
    system, start, end = plain.system, plain.start, len(transcript)
    made = [*transcript[:system], *transcript[start:]]
    omitted = system < start
    kept = ((0, system), (start, end)) if system and omitted else ((start, end),)
    selection = Selection(start, used=plain.caps.used, units=plain.units)
    receipt = HistoryReceipt(
        policy="recent",
        options=options.to_json(),
        dialect=dialect.name,
        messages=end,
        system=system,
        kept=kept if omitted else as_ranges([(0, end)]),
        omitted=((system, start),) if omitted else (),
        units=UnitCounts(cut="turn", kept=plain.units, exchanges=plain.exchanges),
        warnings=window_warnings(selection, options, omitted=omitted, pending=0),
    )

    def counted(measure: Measure) -> Size:
        if options.tokens is None:
            return measure.size(dialect, made)
        tokens, media = measure.size(dialect, transcript[:system])
        return Size(plain.caps.used_tokens + tokens, media)

    return finish(made, receipt, setting, counted, measure)


def finish(
    view: list[Any],
    receipt: HistoryReceipt,
    setting: Setting,
    counted: Callable[[Measure], Size],
    measure: Measure | None = None,
) -> Projection:
    """Count the view where something asks for it, and hold it to the limit.

    Args:
        view: The messages of the view.
        receipt: What is known of it so far.
        setting: What it is made for.
        counted: Sizes the messages of the view.
        measure: The setting's measure, where it was made before.

    Raises:
        RequestTooLargeError: `REQUEST_TOO_LARGE`, when the whole request exceeds the limit.
    """

    def size() -> TokenCount:
        used = measure or setting.measure()
        return setting.whole(used, counted(used))

    if not setting.limited:
        if receipt.options.get("tokens") is not None:
            receipt = msgspec.structs.replace(receipt, tokens=size())
        return Projection(messages=view, receipt=receipt, _size=size)
    bounds = setting.limits(measure or setting.measure())
    tokens = size()
    receipt = msgspec.structs.replace(
        receipt,
        tokens=tokens,
        limit=bounds.max,
        warnings=(*receipt.warnings, *(ReceiptWarning(code=c) for c in bounds.warnings)),
    )
    if bounds.max is not None and tokens.tokens > bounds.max:
        raise too_large(tokens, bounds.max, receipt.policy)
    return Projection(messages=view, receipt=receipt, _size=size)


REMEDY: Final = {
    "exact": "Authorise a shorter view with history.recent() or history(), or raise the limit.",
    "recent": "Lower the caps of history.recent(), or raise the limit.",
    "managed": "Lower recent=, or raise the limit.",
}


def too_large(tokens: TokenCount, most: int, policy: str) -> RequestTooLargeError:
    """Make the error for a request that no authorised view fits."""
    found = [
        Diagnostic(
            code="REQUEST_INPUT_LIMIT",
            message=f"The request needed {tokens.tokens:,} input tokens of {most:,}.",
            facts={"input_tokens": tokens.tokens, "max_input_tokens": most},
        ),
        Diagnostic(
            code="HISTORY_EXACT_REMEDY" if policy == "exact" else "EXACT_REPRESENTATION_EXHAUSTED",
            message=REMEDY[policy],
        ),
    ]
    return RequestTooLargeError(
        f"The request needed {tokens.tokens:,} input tokens ({tokens.confidence}), "
        f"and the limit is {most:,}.",
        fix=REMEDY[policy],
        diagnostics=tuple(found),
        input_tokens=tokens.tokens,
        max_input_tokens=most,
        confidence=tokens.confidence,
    )
