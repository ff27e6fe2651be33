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
from thusfar.models.scripted import Scripted, ScriptedCall

if TYPE_CHECKING:
    from thusfar.models.anthropic import Anthropic
    from thusfar.models.openai_chat import OpenAIChat

__all__ = [
    "Anthropic",
    "GenerateObject",
    "GenerateText",
    "GeneratedObject",
    "GeneratedText",
    "OpenAIChat",
    "ProviderHistorySummaryInput",
    "ProviderHistorySummaryResult",
    "Scripted",
    "ScriptedCall",
]

_ADAPTERS = {
    "Anthropic": "anthropic",
    "OpenAIChat": "openai_chat",
}


def __getattr__(name: str) -> Any:
    """Load an adapter by its name."""
    if (module := _ADAPTERS.get(name)) is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{module}"), name)
