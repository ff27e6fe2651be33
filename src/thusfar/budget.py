"""Budgets: how large a request may be, and from where on cheaper views are considered.

A budget expresses pressure; it never authorises loss. Nothing here counts: the limits are derived
from options and a model's capacity, in the same tokens that the measure counts in.
"""

from __future__ import annotations

from typing import Any, Final

import msgspec

from thusfar._numbers import kind_of, require_whole
from thusfar.capacity import UNKNOWN, ModelCapacity, capacity_of
from thusfar.errors import OptionsError
from thusfar.tokens import Measure, measure_for
from thusfar.tokens.factors import margin_percent

OPTIMIZE_AT_PERCENT: Final = 80  # of the effective maximum: room to prepare before the limit
PREPARE_AT_PERCENT: Final = 75
DEFAULT_OVERHEAD: Final = 32  # what a provider adds that no framing accounts for. Unit: tokens
CAPACITY_UNKNOWN: Final = "MODEL_CAPACITY_UNKNOWN"


class InputBudget(msgspec.Struct, frozen=True, kw_only=True):
    """Pressure on the input of each provider call.

    Attributes:
        optimize_at: Soft mark: above it, ready cheaper views are used and warnings are given.
            Unit: tokens. `None`: 80 % of the effective maximum.
        max: Hard ceiling of the complete request. Unit: tokens. `None`: the model's capacity
            alone limits it.
        prepare_at: From here on a summary is prepared ahead. Unit: tokens. `None`: 75 % of the
            effective maximum.

    Raises:
        OptionsError: `INVALID_OPTIONS`, for a value that is not a whole number from 1 to
            2**53 - 1, or when not `prepare_at <= optimize_at <= max`.
    """

    optimize_at: int | None = None
    max: int | None = None
    prepare_at: int | None = None

    def __post_init__(self) -> None:
        for name in ("prepare_at", "optimize_at", "max"):
            require_whole("InputBudget()", name, getattr(self, name))
        _require_order("prepare_at", self.prepare_at, "optimize_at", self.optimize_at)
        _require_order("prepare_at", self.prepare_at, "max", self.max)
        _require_order("optimize_at", self.optimize_at, "max", self.max)

    def merge(self, other: InputBudget | None) -> InputBudget:
        """Combine with the budget of one invocation, field by field; the other's fields win.

        Raises:
            OptionsError: `INVALID_OPTIONS`, when the two together are out of order, or the other
                is no budget.
        """
        if other is None:
            return self
        if not isinstance(other, InputBudget):
            raise _no_budget(other)
        return InputBudget(
            optimize_at=self.optimize_at if other.optimize_at is None else other.optimize_at,
            max=self.max if other.max is None else other.max,
            prepare_at=self.prepare_at if other.prepare_at is None else other.prepare_at,
        )


class Limits(msgspec.Struct, frozen=True, kw_only=True):
    """The effective limits of one request, in the tokens that its measure counts.

    `prepare_at <= optimize_at <= max` holds wherever two of them are set.

    Attributes:
        max: Most input tokens. `None`: nothing limits the request.
        optimize_at: Soft mark. `None`: there is none.
        prepare_at: Mark of preparation ahead. `None`: there is none.
        window: The model's window. Unit: tokens. `None`: not known, or replaced by the budget.
        reserve: Tokens of the window kept for the answer.
        overhead: Tokens of the window kept for what a provider adds.
        factor: How far the provider's count may exceed the measure's; 1 for exact counts. The
            maximum derived from the window is smaller by it.
        warnings: Codes of notes: `MODEL_CAPACITY_UNKNOWN`.
    """

    max: int | None = None
    optimize_at: int | None = None
    prepare_at: int | None = None
    window: int | None = None
    reserve: int = 0
    overhead: int = 0
    factor: float = 1.0
    warnings: tuple[str, ...] = ()


def limits(
    budget: InputBudget | None = None,
    capacity: ModelCapacity | int | None = None,
    *,
    model: str | None = None,
    measure: Measure | None = None,
    output_reserve: int | None = None,
    overhead: int = DEFAULT_OVERHEAD,
    percent: int | None = None,
) -> Limits:
    """Derive the effective limits of a request.

    The maximum is the smaller of the budget's and of what the window leaves behind the output
    reserve, the overhead and the margin of counting. A model that is not in the table gets a
    small window, unless the budget names a maximum, which then stands alone. With neither
    budget, capacity nor model nothing is limited.

    Args:
        budget: The author's budget. `None`: none.
        capacity: What the caller knows of the model, or its window. `None`: the table's values.
        model: Name of the model. `None`: no model.
        measure: What the request is counted with. `None`: as `measure_for` chooses.
        output_reserve: Output limit of the request. Unit: tokens. `None`: the capacity's reserve.
        overhead: Tokens kept for what a provider adds. At least 0.
        percent: How far the provider's count may exceed the measure's, where reported usage says
            more than the table. Unit: per cent of the count. `None`: the table's margin.

    Returns:
        The limits; `optimize_at` and `prepare_at` are at most the maximum.

    Raises:
        OptionsError: `INVALID_OPTIONS`, for a value outside its range, or when the reserve
            leaves no room for input.

    Source:
        docs/spec/budget.md#limits

    Example:
        >>> limits(InputBudget(optimize_at=9_000), 16_000, output_reserve=2_000).max
        11640
    """
    require_whole("limits()", "output_reserve", output_reserve, least=0)
    require_whole("limits()", "overhead", overhead, least=0)
    budget = InputBudget() if budget is None else budget
    if not isinstance(budget, InputBudget):
        raise _no_budget(budget)
    given = None if capacity is None else ModelCapacity.of(capacity)
    if given is None and model is None:
        return _marked(budget, budget.max, reserve=output_reserve or 0)
    used = given or capacity_of(model or "")
    require_whole("limits()", "percent", percent)
    if percent is None:
        percent = _percent(measure or measure_for(None, model, capacity=given), used, model)
    warnings = () if used.known else (CAPACITY_UNKNOWN,)
    reserve = used.reserve if output_reserve is None else output_reserve
    stated: dict[str, Any] = {
        "reserve": reserve,
        "overhead": overhead,
        "factor": percent / 100,
        "warnings": warnings,
    }
    if not used.known and budget.max is not None:
        return _marked(budget, budget.max, **stated)
    derived = _room(used, reserve, overhead) * 100 // percent or 1
    most = derived if budget.max is None else min(budget.max, derived)
    return _marked(budget, most, window=used.context_window, **stated)


def _room(capacity: ModelCapacity, reserve: int, overhead: int) -> int:
    """Compute what the window leaves for input, before the margin. Unit: tokens."""
    window = capacity.context_window
    left = min(window - reserve, capacity.max_input or window) - overhead
    if left < 1:
        raise OptionsError(
            f"An output reserve of {reserve} tokens left no room for input in a window of "
            f"{window}.",
            fix="Lower the output limit, or pass the capacity of the model.",
            option="output_reserve",
            window=window,
            reserve=reserve,
            overhead=overhead,
        )
    return left


def _percent(measure: Measure, capacity: ModelCapacity, model: str | None) -> int:
    """Compute the margin for this measure and this model's tokenizer. Unit: per cent."""
    family: str | None = capacity.tokenizer
    if family == UNKNOWN and capacity.known:
        family = None if model is None else capacity_of(model).tokenizer
    return margin_percent(
        measure.counter,
        confidence=measure.confidence,
        scaled_to=measure.scaled_to,
        family=family,
    )


def _marked(budget: InputBudget, most: int | None, **stated: Any) -> Limits:
    """Add the two marks below the maximum: the given ones clipped to it, or their defaults."""
    if most is None:
        return Limits(optimize_at=budget.optimize_at, prepare_at=budget.prepare_at, **stated)
    prepare = None if budget.prepare_at is None else min(budget.prepare_at, most)
    optimize = most * OPTIMIZE_AT_PERCENT // 100 or 1
    if budget.optimize_at is not None:
        optimize = min(budget.optimize_at, most)
    elif prepare is not None:
        optimize = max(optimize, prepare)
    if prepare is None:
        prepare = min(most * PREPARE_AT_PERCENT // 100 or 1, optimize)
    return Limits(max=most, optimize_at=optimize, prepare_at=prepare, **stated)


def _require_order(low: str, lower: int | None, high: str, higher: int | None) -> None:
    if lower is not None and higher is not None and lower > higher:
        raise OptionsError(
            f"InputBudget() got {low}={lower} above {high}={higher}.",
            fix=f"Pass {low} at most as large as {high}.",
            option=low,
        )


def _no_budget(value: object) -> OptionsError:
    return OptionsError(
        f"A budget was given as {kind_of(value)}.",
        fix="Pass an InputBudget.",
        option="budget",
    )
