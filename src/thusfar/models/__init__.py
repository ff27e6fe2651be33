"""Models: the contracts that anything able to answer fulfils, a scripted one, and the adapters.

An adapter is loaded when it is first named, its provider's SDK when it is first called.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from thusfar.models.contracts import (
    GeneratedObject,
    GeneratedText,
    GenerateObject,
    GenerateText,
    ProviderHistorySummaryInput,
    ProviderHistorySummaryResult,
)
from thusfar.models.port import (
    Model,
    ModelEvent,
    ModelReply,
    ReasoningDelta,
    Replied,
    TextDelta,
    ToolCallDelta,
    Usage,
)
from thusfar.models.resolving import resolve_model
from thusfar.models.scripted import Scripted, ScriptedCall

if TYPE_CHECKING:
    from thusfar.models.anthropic import Anthropic
    from thusfar.models.gemini import Gemini
    from thusfar.models.litellm import LiteLLM
    from thusfar.models.local import Local
    from thusfar.models.openai_chat import OpenAIChat
    from thusfar.models.openai_responses import OpenAIResponses
    from thusfar.models.recording import Recording, Replay

__all__ = [
    "Anthropic",
    "Gemini",
    "GenerateObject",
    "GenerateText",
    "GeneratedObject",
    "GeneratedText",
    "LiteLLM",
    "Local",
    "Model",
    "ModelEvent",
    "ModelReply",
    "OpenAIChat",
    "OpenAIResponses",
    "ProviderHistorySummaryInput",
    "ProviderHistorySummaryResult",
    "ReasoningDelta",
    "Recording",
    "Replay",
    "Replied",
    "Scripted",
    "ScriptedCall",
    "TextDelta",
    "ToolCallDelta",
    "Usage",
    "resolve_model",
]

_ADAPTERS = {
    "Anthropic": "anthropic",
    "Gemini": "gemini",
    "LiteLLM": "litellm",
    "Local": "local",
    "OpenAIChat": "openai_chat",
    "OpenAIResponses": "openai_responses",
    "Recording": "recording",
    "Replay": "recording",
}


def __getattr__(name: str) -> Any:
    """Load an adapter by its name."""
    if (module := _ADAPTERS.get(name)) is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{module}"), name)
