"""Models: the small contracts that anything able to generate text fulfils, and a scripted one."""

from __future__ import annotations

from thusfar.models.contracts import (
    GeneratedObject,
    GeneratedText,
    GenerateObject,
    GenerateText,
    ProviderHistorySummaryInput,
    ProviderHistorySummaryResult,
)
from thusfar.models.scripted import Scripted, ScriptedCall

__all__ = [
    "GenerateObject",
    "GenerateText",
    "GeneratedObject",
    "GeneratedText",
    "ProviderHistorySummaryInput",
    "ProviderHistorySummaryResult",
    "Scripted",
    "ScriptedCall",
]
