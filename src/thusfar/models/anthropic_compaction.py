"""Anthropic's own summaries: on-demand compaction, whose summary can be read.

The signed block itself is not kept: its text is the summary, which any provider can be given.

Source:
    https://platform.claude.com/docs/en/build-with-claude/compaction-on-demand (read 2026-11-30);
    anthropic 2.14.0, types/beta/beta_compaction_config_param.py.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from thusfar.dialects.anthropic import ANTHROPIC
from thusfar.dialects.placement import place
from thusfar.models.anthropic_reading import usage_of
from thusfar.models.contracts import ProviderHistorySummaryInput, ProviderHistorySummaryResult
from thusfar.models.errors import unreadable
from thusfar.models.received import body_of, mapping_in, request_id_of

BETA: Final = "compact-2026-09-04"
# The models that the page names, and what is newer of their families.
MODELS: Final = (
    "claude-fable-5",
    "claude-mythos",
    "claude-opus-5",
    "claude-sonnet-5",
    "claude-haiku-5-5",
    "claude-opus-4-8",
    "claude-opus-4-7",
    "claude-opus-4-6",
    "claude-sonnet-4-6",
)


def compacts(model: str) -> bool:
    """Tell whether a model summarises histories itself."""
    return model.startswith(MODELS)


def compaction_arguments(wanted: ProviderHistorySummaryInput, model: str) -> dict[str, Any]:
    """Write the arguments of a compaction request.

    Raises:
        UnsupportedPartError: `UNSUPPORTED_PART`, for a part that the wire cannot hold.
    """
    lowered = [made for message in wanted.messages for made in ANTHROPIC.lower(message)]
    placed = place(ANTHROPIC, lowered, tools=(), model=model)
    made: dict[str, Any] = {
        "model": model,
        "messages": placed.messages,
        "betas": [BETA],
        "extra_body": {"compaction": {"type": "summarize"}},  # older SDKs have no name for it
    }
    if placed.system:
        made["system"] = placed.system
    if placed.tools:
        made["tools"] = list(placed.tools)
    return made


def summary_of(answered: Any) -> ProviderHistorySummaryResult:
    """Read the summary of a compaction.

    Raises:
        ProviderAnswerError: `PROVIDER_ANSWER_INVALID`, when the provider made none.
    """
    body = body_of(answered)
    summaries = [
        block.get("content") for block in body["content"] if block.get("type") == "compaction"
    ]
    if not summaries or not summaries[0]:
        raise unreadable()
    usage = mapping_in(body, "usage")
    counted = [
        usage_of(each) for each in usage.get("iterations") or () if isinstance(each, Mapping)
    ]
    total = sum(counted[1:], counted[0]) if counted else usage_of(usage)
    return ProviderHistorySummaryResult(
        summary=summaries[0],
        request_id=request_id_of(answered, body) or None,
        input_tokens=total.input_tokens,
        output_tokens=total.output_tokens,
    )
