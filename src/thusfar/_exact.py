"""Exact history: the complete transcript, checked, counted where something asks for it."""

from __future__ import annotations

from typing import Any

import msgspec

from thusfar._setting import Setting, in_dialect, sequence_of
from thusfar._window import Window
from thusfar.dialects import Dialect
from thusfar.projection import Projection, finish
from thusfar.receipt import HistoryReceipt, ReceiptWarning, as_ranges
from thusfar.repair import defects
from thusfar.tokens import Measure
from thusfar.tokens.measure import Size


def project_exact(messages: Any, setting: Setting) -> Projection:
    """Project the complete transcript; a defect only warns.

    Raises:
        RequestTooLargeError: `REQUEST_TOO_LARGE`, when it exceeds a given limit.
        TranscriptError: `INVALID_TRANSCRIPT`, when a message fits no dialect.
    """
    transcript = sequence_of(messages)

    def run(dialect: Dialect) -> Projection:
        window = Window(transcript, dialect, look=len(transcript))
        warnings: list[ReceiptWarning] = []
        found = defects(window.grouping, window.first)
        if found:
            facts: dict[str, int | float | str] = {"messages": len(found), "first": found[0]}
            warnings.append(ReceiptWarning(code="HISTORY_TRANSCRIPT_DEFECT", facts=facts))
        if window.grouping.pending:
            waiting = len(window.grouping.pending)
            warnings.append(ReceiptWarning(code="HISTORY_OPEN_CALLS", facts={"calls": waiting}))
        receipt = HistoryReceipt(
            policy="exact",
            dialect=dialect.name,
            messages=window.end,
            system=window.system,
            kept=as_ranges([(0, window.end)]),
            warnings=tuple(warnings),
        )
        view = list(transcript)

        def counted(measure: Measure) -> Size:
            return measure.size(dialect, view)

        return _near_limit(finish(view, receipt, setting, counted), setting)

    return in_dialect(transcript, setting, run)


def _near_limit(projection: Projection, setting: Setting) -> Projection:
    """Warn where the transcript passed the watermark: the next turns may not fit."""
    tokens = projection.receipt.tokens
    if not setting.limited or tokens is None:
        return projection
    watermark = setting.limits(setting.measure()).optimize_at
    if watermark is None or tokens.tokens <= watermark:
        return projection
    warning = ReceiptWarning(
        code="HISTORY_EXACT_NEAR_LIMIT",
        facts={"input_tokens": tokens.tokens, "optimize_at": watermark},
    )
    receipt = msgspec.structs.replace(
        projection.receipt, warnings=(*projection.receipt.warnings, warning)
    )
    return Projection(messages=projection.messages, receipt=receipt, _size=projection._size)
