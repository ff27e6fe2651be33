"""Planning: an attempt's prompt as a planned request, within its budget, before anything is sent.

Source:
    docs/spec/process.md#requests
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import msgspec

from thusfar.budget import InputBudget
from thusfar.capacity import ModelCapacity
from thusfar.codec import text_of
from thusfar.dialects import dialect
from thusfar.drive import drive
from thusfar.errors import OptionsError, RequestTooLargeError
from thusfar.models.contracts import GeneratedObject, GeneratedText
from thusfar.planner.facts import RequestFacts, Source
from thusfar.planner.planning import plan_steps
from thusfar.planner.receipt import RequestReceipt
from thusfar.planner.sealing import Sealed
from thusfar.process.log import ActionLog, HistoryPart
from thusfar.process.parts import attempt_prompt
from thusfar.process.prompts import AttemptPrompt, Moment
from thusfar.runtime.arguments import PlanArguments
from thusfar.runtime.collecting import facts_of_request

_SMALLER: Final = {
    "history": "lower history_detail_items or history_result_max_chars",
    "taskPrompt": "let the task prompt show less of state",
    "outputFormat": "ask for a smaller output",
    "schema": "ask for a smaller output",
    "transitions": "open fewer transitions at a time",
}
"""How a part of a prompt is made smaller, where there is a way of its own."""


class StepReceipt(msgspec.Struct, frozen=True, kw_only=True):
    """What the prompt of one attempt holds. Counts, ids and codes only.

    Attributes:
        request: The receipt of the planned request.
        task_id: The task.
        step: The step of the run, from 1.
        attempt: From 1.
        parts: Tokens by part, each counted on its own, in order of first appearance; behind them
            `schema`, where native structured output is asked for.
        history: What of the log is shown; `None` where the prompt shows no history.
        replaced: Lone surrogates of state or templates, which no wire can carry, that were
            replaced by U+FFFD.
    """

    request: RequestReceipt
    task_id: str
    step: int
    attempt: int
    parts: tuple[tuple[str, int], ...]
    history: HistoryPart | None
    replaced: int = 0


class PlannedPrompt(msgspec.Struct, frozen=True, kw_only=True):
    """A prompt that fits and may be sent.

    Attributes:
        system: The system message.
        text: The user message.
        pieces: The same in pieces, most of which are those of the prompt before.
        schema: JSON Schema for native structured output; `None`: plain text is asked for.
        receipt: What it holds.
        count: Counts the tokens of an answer that the model does not report.
    """

    system: str
    text: str
    pieces: tuple[str, ...]
    schema: Any
    receipt: StepReceipt
    count: Callable[[str], int]


class UsedTokens(msgspec.Struct, frozen=True, kw_only=True):
    """The tokens of one call.

    Attributes:
        input: Of the prompt.
        output: Of the answer.
    """

    input: int
    output: int


class RequestSettings(msgspec.Struct, frozen=True, kw_only=True):
    """How attempts are planned.

    Attributes:
        budget: The author's limits.
        capacity: Capacity of the model, or its window, instead of the table's.
        counter: How tokens are counted.
        max_output_tokens: Output limit, kept free in the window.
    """

    budget: InputBudget | None = None
    capacity: ModelCapacity | int | None = None
    counter: Any = None
    max_output_tokens: int | None = None


def plan_attempt(
    moment: Moment,
    *,
    model: Any,
    settings: RequestSettings,
    attempt: int,
    schema: Any = None,
) -> PlannedPrompt:
    """Plan one attempt: every entry of the log in it, or a refusal before anything is sent.

    Where it does not fit and the author allowed `collapse_equal`, runs of equal lines become one
    line with a count.

    Args:
        moment: What the prompt is made from.
        model: The model.
        settings: How it is planned.
        attempt: From 1.
        schema: JSON Schema for native structured output.

    Raises:
        RequestTooLargeError: `REQUEST_TOO_LARGE`, when it does not fit.
        OptionsError: `INVALID_OPTIONS`, for a moment of which a partial prompt left something out.
        InvalidTemplateError: `INVALID_TEMPLATE`, when a template cannot be rendered.
    """
    log = moment.log
    if moment.omitted or not isinstance(log, ActionLog):
        raise _partial()
    prompt = attempt_prompt(moment)
    try:
        return _planned(prompt, moment, log, model, settings, attempt, schema)
    except RequestTooLargeError:
        if not (prompt.shows_history and log.can_collapse):
            raise
    prompt = attempt_prompt(moment, collapsed=True)
    return _planned(prompt, moment, log, model, settings, attempt, schema)


def _planned(
    prompt: AttemptPrompt,
    moment: Moment,
    log: ActionLog,
    model: Any,
    settings: RequestSettings,
    attempt: int,
    schema: Any,
) -> PlannedPrompt:
    step = moment.steps_executed
    said = PlanArguments(
        model=model,
        system=prompt.system or None,
        schema=schema,
        budget=settings.budget,
        capacity=settings.capacity,
        counter=settings.counter,
        max_output_tokens=settings.max_output_tokens,
    )
    blocks = [{"type": "text", "text": piece.text} for piece in prompt.pieces]
    chat = dialect("openai-chat")
    facts, _ = facts_of_request(
        said,
        request_id=f"{moment.process_id}:{step}:{moment.task.id}:{attempt}",
        source=Source(kind="none"),
        wire=chat,
        turn=({"role": "user", "content": blocks},),
        sent_as=chat.name,
        summariser=None,
        background=False,
        backing=False,
        track=False,  # comparing with the request before would hash the whole prompt
    )
    texts = tuple([piece.text for piece in prompt.pieces])
    try:
        sealed: Sealed = drive(plan_steps(facts), _no_question)
    except RequestTooLargeError as error:
        schema_tokens = facts.measure.tools((), facts.schema)
        _name_largest(error, _sizes(prompt, texts, facts, schema_tokens))
        raise
    schema_tokens = dict(sealed.inspection.breakdown).get("schema", 0)
    receipt = StepReceipt(
        request=sealed.receipt,
        task_id=moment.task.id,
        step=step,
        attempt=attempt,
        parts=_sizes(prompt, texts, facts, schema_tokens),
        history=log.part(collapsed=prompt.collapsed) if prompt.shows_history else None,
        replaced=prompt.replaced,
    )
    return PlannedPrompt(
        system=prompt.system,
        text="".join(texts),
        pieces=texts,
        schema=schema,
        receipt=receipt,
        count=lambda answer: _counted(facts, answer),
    )


def named(model: Any) -> Any:
    """Give what a request is planned for: a model, or the name of one that has none of its own."""
    if model is None:
        return "none"
    own = getattr(model, "name", None)
    if isinstance(model, str) or (isinstance(own, str) and own):
        return model
    return getattr(model, "__name__", type(model).__name__)


def _name_largest(error: RequestTooLargeError, sizes: tuple[tuple[str, int], ...]) -> None:
    """Say on an error which part of the prompt is the largest, and how it is made smaller."""
    if sizes:
        part, tokens = max(sizes, key=lambda each: each[1])
        error.facts |= {"largest_part": part, "largest_part_tokens": tokens}
        how = _SMALLER.get(part, "make it smaller")
        error.fix = (
            f"Most of it is the part {part} ({tokens:,} tokens): {how}, raise the budget, or take "
            "a model with more room."
        )


def used_tokens(made: GeneratedText | GeneratedObject, planned: PlannedPrompt) -> UsedTokens:
    """Tell the tokens of a call: as the model reports them, otherwise counted."""
    taken, given = made.input_tokens, made.output_tokens
    if taken is None:
        taken = planned.receipt.request.input_tokens
    if given is None:
        text = made.text if isinstance(made, GeneratedText) else text_of(made.value)
        given = planned.count(text)
    return UsedTokens(input=taken, output=given)


def _counted(facts: RequestFacts, text: str) -> int:
    item = {"role": "assistant", "content": text} if facts.measure.counts_messages else text
    return facts.measure.count_flat([item])[0]


def _partial() -> OptionsError:
    return OptionsError(
        "A partial prompt was to be sent.", fix="Send the prompt that the process plans itself."
    )


def _no_question(question: Any) -> Any:
    raise AssertionError(f"a request without history asked {type(question).__name__}")


def _sizes(
    prompt: AttemptPrompt, texts: tuple[str, ...], facts: RequestFacts, schema_tokens: int
) -> tuple[tuple[str, int], ...]:
    if facts.measure.counts_messages:
        return ()
    system, *counts = facts.measure.count_flat([prompt.system, *texts])
    sizes = {"system": system} if prompt.system else {}
    for piece, tokens in zip(prompt.pieces, counts, strict=True):
        part = piece.part
        sizes[part] = sizes.get(part, 0) + tokens
    if schema_tokens:
        sizes["schema"] = schema_tokens
    return tuple(sizes.items())
