"""thusfar: the history layer for LLM applications and AI workflows.

The record of what was said and done is canonical and is never edited to make it fit; what a model
sees is a projection of it, within a budget the author authorised, explained by a receipt.

Names are loaded when they are first used, so that importing the package stays cheap.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from thusfar._version import __version__

if TYPE_CHECKING:
    from thusfar._history import (
        ExactHistory,
        HistoryOptions,
        HistoryPolicy,
        ManagedHistory,
        RecentHistory,
        history,
    )
    from thusfar._options import RecentHistoryOptions
    from thusfar._summarize import SummarizeStrategy, SummaryOptions, summarize
    from thusfar.budget import InputBudget
    from thusfar.capacity import ModelCapacity, capacity_of
    from thusfar.dialects import Dialect, detect, dialect, register
    from thusfar.errors import (
        Diagnostic,
        HistoryError,
        MissingExtraError,
        OptionsError,
        ProviderError,
        RepresentationUnavailableError,
        RequestCompositionError,
        RequestTooLargeError,
        StorageError,
        ThreadError,
        TranscriptError,
        UnsupportedPartError,
    )
    from thusfar.messages import (
        Audio,
        File,
        Image,
        Message,
        Native,
        Reasoning,
        Text,
        ToolCall,
        ToolResult,
    )
    from thusfar.projection import Projection
    from thusfar.receipt import HistoryReceipt, ReceiptWarning, Repair
    from thusfar.tokens import Counter, TokenCount, per_message

_HOMES = {
    "_history": (
        "ExactHistory",
        "HistoryOptions",
        "HistoryPolicy",
        "ManagedHistory",
        "RecentHistory",
        "history",
    ),
    "_options": ("RecentHistoryOptions",),
    "_summarize": ("SummarizeStrategy", "SummaryOptions", "summarize"),
    "budget": ("InputBudget",),
    "capacity": ("ModelCapacity", "capacity_of"),
    "dialects": ("Dialect", "detect", "dialect", "register"),
    "errors": (
        "Diagnostic",
        "HistoryError",
        "MissingExtraError",
        "OptionsError",
        "ProviderError",
        "RepresentationUnavailableError",
        "RequestCompositionError",
        "RequestTooLargeError",
        "StorageError",
        "ThreadError",
        "TranscriptError",
        "UnsupportedPartError",
    ),
    "messages": (
        "Audio",
        "File",
        "Image",
        "Message",
        "Native",
        "Reasoning",
        "Text",
        "ToolCall",
        "ToolResult",
    ),
    "projection": ("Projection",),
    "receipt": ("HistoryReceipt", "ReceiptWarning", "Repair"),
    "tokens": ("Counter", "TokenCount", "per_message"),
}
_MODULE_OF = {name: module for module, names in _HOMES.items() for name in names}

__all__ = ["__version__", *sorted(_MODULE_OF)]  # noqa: PLE0604 - names, from the table above


def __getattr__(name: str) -> Any:
    module = _MODULE_OF.get(name)
    if module is None:
        raise AttributeError(f"module 'thusfar' has no attribute {name!r}")
    value = getattr(import_module(f"thusfar.{module}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return list(__all__)
