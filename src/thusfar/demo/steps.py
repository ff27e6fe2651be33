"""Steps: the same conversation under exact history, recent history and a digest."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

from thusfar._history import HistoryPolicy, history
from thusfar._summarize import summarize
from thusfar.budget import InputBudget
from thusfar.errors import HistoryError
from thusfar.projection import Projection

LIMIT: Final = 8_000
"""Most input tokens of a request in the demo; the whole conversation needs about 10,000."""

RECENT_TOKENS: Final = 3_000
"""Most tokens of the exact suffix in the demo."""

RULE_AT: Final = 1
"""Position of the message with a rule that the newest turns turn on."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """One policy and what came of it.

    Attributes:
        call: The policy, as it is written in Python.
        projection: The view with its receipt; `None` where the policy refused.
        error: The refusal; `None` where there is a view.
    """

    call: str
    projection: Projection | None = None
    error: HistoryError | None = None


def run_steps(messages: Sequence[Any]) -> tuple[Step, ...]:
    """Project the conversation under each policy, within the limit. No model is called."""
    recent = history.recent(tokens=RECENT_TOKENS)
    policies: tuple[tuple[str, HistoryPolicy], ...] = (
        ("history.exact()", history.exact()),
        (f"history.recent(tokens={RECENT_TOKENS:_})", recent),
        (
            f"history(recent=history.recent(tokens={RECENT_TOKENS:_}), summary=summarize.digest())",
            history(recent=recent, summary=summarize.digest()),
        ),
    )
    return tuple(_step(call, policy, messages) for call, policy in policies)


def _step(call: str, policy: HistoryPolicy, messages: Sequence[Any]) -> Step:
    try:
        return Step(call=call, projection=policy.project(messages, budget=InputBudget(max=LIMIT)))
    except HistoryError as error:
        return Step(call=call, error=error)
