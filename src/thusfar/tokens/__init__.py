"""Tokens: counters, counts with their confidence, and the one measure of a request."""

from __future__ import annotations

from thusfar.tokens.confidence import Confidence, TokenCount, weakest
from thusfar.tokens.counters import Counter
from thusfar.tokens.custom import MessageCounter, per_message
from thusfar.tokens.estimator import ESTIMATE_NAME, estimate
from thusfar.tokens.measure import Measure, measure_for

__all__ = [
    "ESTIMATE_NAME",
    "Confidence",
    "Counter",
    "Measure",
    "MessageCounter",
    "TokenCount",
    "estimate",
    "measure_for",
    "per_message",
    "weakest",
]
