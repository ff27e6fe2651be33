"""Counting: how many tokens a loopback server says that a request or an answer has.

Counts are estimates by the library's own estimator, so that they need no package and are the
same everywhere; a test can compute the number that it is to see.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from thusfar.codec import json_text
from thusfar.dialects import dialect
from thusfar.dialects.base import DialectMismatch
from thusfar.errors import HistoryError
from thusfar.messages import Reasoning, Text, ToolCall
from thusfar.testing.loopback.answers import Answer
from thusfar.testing.loopback.checking import as_wire
from thusfar.tokens import Measure, estimate, measure_for


def count_request(wire: str, body: Any) -> int:
    """Count the input tokens of a request: its messages, system text and tools.

    Args:
        wire: Name of the dialect.
        body: The body of the request, parsed.

    Returns:
        At least 1. Unit: tokens.
    """
    if not isinstance(body, Mapping):
        return 1
    asked = as_wire(wire, body)
    measure = measure_for("estimate")
    total = sum(_message(measure, wire, message) for message in asked.messages)
    for extra in (asked.system, asked.tools):
        if extra:
            total += estimate(extra if isinstance(extra, str) else json_text(extra))
    return max(1, total)


def _message(measure: Measure, wire: str, message: Any) -> int:
    try:
        return measure.count(dialect(wire), [message])[0]
    except (DialectMismatch, HistoryError):
        return estimate(json_text(message))


def count_answer(answer: Answer) -> tuple[int, int]:
    """Count what an answer says.

    Returns:
        All output, at least 1, and the part of it that is reasoning. Unit: tokens.
    """
    total = thought = 0
    for part in answer.said:
        match part:
            case Text(text=text):
                total += estimate(text)
            case ToolCall(name=name, arguments=arguments):
                total += estimate(name) + estimate(arguments)
            case Reasoning(text=text):
                thought += estimate(text)
    return max(1, total + thought), thought
