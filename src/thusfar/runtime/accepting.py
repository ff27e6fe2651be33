"""Accepting: whether an answer is what was asked for, and what the model is told where it is not.

Source:
    docs/spec/generate.md#output
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from thusfar.codec import parse_json
from thusfar.errors import Diagnostic, TranscriptError
from thusfar.messages import Message, Text
from thusfar.models.errors import OutputRejectedError
from thusfar.models.objects import unfenced
from thusfar.models.port import ModelReply
from thusfar.models.strict import WRAPPED, is_wrapped
from thusfar.models.strict_form import without_fillers
from thusfar.runtime.schemas import Checked, OutputSchema


@dataclass(frozen=True, slots=True)
class Rejected:
    """An answer that does not fit.

    Attributes:
        complaints: Places and rules, without what the model wrote.
    """

    complaints: tuple[str, ...]


def accepted_output(schema: OutputSchema | None, reply: ModelReply, wire: str) -> Any:
    """Read the output of an answer; `None` where text was asked for.

    Args:
        schema: What was asked for.
        reply: The answer.
        wire: Name of the dialect it was given in.

    Returns:
        The output, or a `Rejected`.

    Raises:
        OutputRejectedError: `OUTPUT_REJECTED`, when code of the output's type raised anything but
            what says that a value does not fit.
    """
    if schema is None:
        return None
    try:
        return _read(schema, reply, wire)
    except Exception as error:
        raise OutputRejectedError(
            "The type of an output raised an error while an answer was checked.",
            fix="Correct its validators; nothing was stored.",
            reason="raised",
        ) from error


def _read(schema: OutputSchema, reply: ModelReply, wire: str) -> Any:
    if reply.finish == "length":
        return Rejected(("The answer was cut off at the output limit.",))
    try:
        value = parse_json(unfenced(reply.text))
    except TranscriptError:
        return Rejected(("The answer was not JSON.",))
    outputs, complaints = _checked(schema, value)
    if is_wrapped(schema.json_schema, value, wire):
        inner, found = _checked(schema, value[WRAPPED])
        outputs, complaints = (outputs, complaints) if found else (inner, found)
    return Rejected(complaints) if complaints else schema.typed(outputs)


def _checked(schema: OutputSchema, value: Any) -> Checked:
    """Check a value, without the nulls that stand for what was left out."""
    return schema.check(without_fillers(schema.json_schema, value))


def correction(found: Rejected) -> Message:
    """Tell the model what was wrong with its answer."""
    lines = "\n".join(f"- {each}" for each in found.complaints)
    told = f"The answer does not fit what was asked for:\n{lines}\nAnswer again, with JSON only."
    return Message("user", (Text(told),))


def rejected(found: Rejected, attempts: int) -> OutputRejectedError:
    """Make the error for answers that never fitted."""
    return OutputRejectedError(
        "No answer fitted the output schema.",
        fix="Simplify the schema, raise max_output_tokens, or allow more max_retries.",
        diagnostics=tuple(
            Diagnostic(code="OUTPUT_REJECTED", message=each) for each in found.complaints
        ),
        attempts=attempts,
    )
