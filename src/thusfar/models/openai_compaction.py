"""OpenAI's own compaction, and then in words what it kept.

A compaction is the user's messages and one sealed item that nobody but OpenAI can read. So it is
used once, by the request that has the model write down what it holds, and never kept: the text is
the summary, which any provider can be given.

Source:
    https://developers.openai.com/api/docs/guides/context-management (read 2026-11-30);
    openai-python 3.57.0, types/responses/response_compact_params.py.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, NamedTuple

from thusfar.dialects.openai_responses import OPENAI_RESPONSES
from thusfar.dialects.placement import place
from thusfar.models.contracts import ProviderHistorySummaryInput, ProviderHistorySummaryResult
from thusfar.models.errors import unreadable
from thusfar.models.openai_responses_reading import usage_of
from thusfar.models.port import ModelReply, Usage
from thusfar.models.received import body_of, mapping_in
from thusfar.summaries.values import OUTPUT_ROOM

RECAP: Final = (
    "Do not answer or continue this conversation. Write down what a later reader of it needs in "
    "order to carry on: goals, decisions, facts, names, numbers, files, results of tools, open "
    "questions, and every preference or prohibition of the user, in the user's words where they "
    "matter. Add nothing that was not said. Write plain text, with no heading and no preamble"
)


class Compacted(NamedTuple):
    """What a compaction left.

    Attributes:
        items: The items that stand for the conversation.
        usage: What it cost.
    """

    items: list[Any]
    usage: Usage


def compaction_arguments(wanted: ProviderHistorySummaryInput, model: str) -> dict[str, Any]:
    """Write the arguments of a compaction request.

    Raises:
        UnsupportedPartError: `UNSUPPORTED_PART`, for a part that the wire cannot hold.
    """
    lowered = [made for message in wanted.messages for made in OPENAI_RESPONSES.lower(message)]
    placed = place(OPENAI_RESPONSES, lowered, tools=(), model=model)
    return {"model": model, "input": placed.messages}


def compacted(answered: Any) -> Compacted:
    """Read the answer to a compaction request.

    Raises:
        ProviderAnswerError: `PROVIDER_ANSWER_INVALID`, when nothing was compacted.
    """
    body = body_of(answered)
    items = body.get("output")
    if not isinstance(items, list) or not any(map(_is_sealed, items)):
        raise unreadable()
    return Compacted(items, usage_of(mapping_in(body, "usage")))


def recap_arguments(
    items: list[Any], wanted: ProviderHistorySummaryInput, model: str
) -> dict[str, Any]:
    """Write the arguments of the request for the contents of a compaction in words."""
    most = wanted.max_output_tokens
    bound = "." if most is None else f", in at most {most} tokens."
    made: dict[str, Any] = {
        "model": model,
        "input": [*items, {"role": "user", "content": f"{RECAP}{bound}"}],
    }
    if most is not None:
        made["max_output_tokens"] = most * OUTPUT_ROOM
    return made


def summary_of(reply: ModelReply, before: Usage) -> ProviderHistorySummaryResult:
    """Read the contents of a compaction in words.

    Args:
        reply: The answer.
        before: What the compaction cost.

    Raises:
        ProviderAnswerError: `PROVIDER_ANSWER_INVALID`, when there is no text.
    """
    if not reply.text.strip():
        raise unreadable()
    total = before + reply.usage
    return ProviderHistorySummaryResult(
        summary=reply.text,
        request_id=reply.request_id or None,
        input_tokens=total.input_tokens,
        output_tokens=total.output_tokens,
    )


def _is_sealed(item: Any) -> bool:
    return isinstance(item, Mapping) and item.get("type") == "compaction"
