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
    from thusfar._history import ExactHistory as ExactHistory
    from thusfar._history import HistoryOptions as HistoryOptions
    from thusfar._history import HistoryPolicy as HistoryPolicy
    from thusfar._history import ManagedHistory as ManagedHistory
    from thusfar._history import RecentHistory as RecentHistory
    from thusfar._history import history as history
    from thusfar._options import RecentHistoryOptions as RecentHistoryOptions
    from thusfar._summarize import Redaction as Redaction
    from thusfar._summarize import SummarizeStrategy as SummarizeStrategy
    from thusfar._summarize import SummaryOptions as SummaryOptions
    from thusfar._summarize import summarize as summarize
    from thusfar.budget import InputBudget as InputBudget
    from thusfar.capacity import ModelCapacity as ModelCapacity
    from thusfar.capacity import capacity_of as capacity_of
    from thusfar.dialects import Dialect as Dialect
    from thusfar.dialects import detect as detect
    from thusfar.dialects import dialect as dialect
    from thusfar.dialects import register as register
    from thusfar.errors import Diagnostic as Diagnostic
    from thusfar.errors import HistoryError as HistoryError
    from thusfar.errors import MissingExtraError as MissingExtraError
    from thusfar.errors import OptionsError as OptionsError
    from thusfar.errors import ProviderError as ProviderError
    from thusfar.errors import RepresentationUnavailableError as RepresentationUnavailableError
    from thusfar.errors import RequestCompositionError as RequestCompositionError
    from thusfar.errors import RequestTooLargeError as RequestTooLargeError
    from thusfar.errors import StorageError as StorageError
    from thusfar.errors import ThreadError as ThreadError
    from thusfar.errors import TranscriptError as TranscriptError
    from thusfar.errors import UnsupportedPartError as UnsupportedPartError
    from thusfar.messages import Audio as Audio
    from thusfar.messages import File as File
    from thusfar.messages import Image as Image
    from thusfar.messages import Message as Message
    from thusfar.messages import Native as Native
    from thusfar.messages import Reasoning as Reasoning
    from thusfar.messages import Text as Text
    from thusfar.messages import ToolCall as ToolCall
    from thusfar.messages import ToolResult as ToolResult
    from thusfar.projection import Projection as Projection
    from thusfar.receipt import HistoryReceipt as HistoryReceipt
    from thusfar.receipt import ReceiptWarning as ReceiptWarning
    from thusfar.receipt import Repair as Repair
    from thusfar.tokens import Counter as Counter
    from thusfar.tokens import TokenCount as TokenCount
    from thusfar.tokens import per_message as per_message

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
    "_summarize": ("Redaction", "SummarizeStrategy", "SummaryOptions", "summarize"),
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
