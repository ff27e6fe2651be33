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
    from thusfar.errors import InspectionUnavailableError as InspectionUnavailableError
    from thusfar.errors import MissingExtraError as MissingExtraError
    from thusfar.errors import OptionsError as OptionsError
    from thusfar.errors import PreparationError as PreparationError
    from thusfar.errors import ProviderError as ProviderError
    from thusfar.errors import RepresentationUnavailableError as RepresentationUnavailableError
    from thusfar.errors import RequestCompositionError as RequestCompositionError
    from thusfar.errors import RequestTooLargeError as RequestTooLargeError
    from thusfar.errors import ResourceReadError as ResourceReadError
    from thusfar.errors import StorageError as StorageError
    from thusfar.errors import SummaryFailedError as SummaryFailedError
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
    from thusfar.models import GeneratedObject as GeneratedObject
    from thusfar.models import GeneratedText as GeneratedText
    from thusfar.models import GenerateObject as GenerateObject
    from thusfar.models import GenerateText as GenerateText
    from thusfar.models import ProviderHistorySummaryInput as ProviderHistorySummaryInput
    from thusfar.models import ProviderHistorySummaryResult as ProviderHistorySummaryResult
    from thusfar.models import Scripted as Scripted
    from thusfar.planner.contributors import context as context
    from thusfar.planner.contributors import droppable as droppable
    from thusfar.planner.contributors import offload as offload
    from thusfar.planner.contributors import offloadable as offloadable
    from thusfar.planner.contributors import prefer as prefer
    from thusfar.planner.contributors import summarizable as summarizable
    from thusfar.planner.contributors import when as when
    from thusfar.planner.receipt import Inspection as Inspection
    from thusfar.planner.receipt import RequestReceipt as RequestReceipt
    from thusfar.projection import Projection as Projection
    from thusfar.receipt import HistoryReceipt as HistoryReceipt
    from thusfar.receipt import ReceiptWarning as ReceiptWarning
    from thusfar.receipt import Repair as Repair
    from thusfar.runtime.arguments import PlanOptions as PlanOptions
    from thusfar.runtime.edge import Runtime as Runtime
    from thusfar.runtime.generate import generate as generate
    from thusfar.runtime.generate import generate_sync as generate_sync
    from thusfar.runtime.generate import preview_turn as preview_turn
    from thusfar.runtime.generate import preview_turn_sync as preview_turn_sync
    from thusfar.runtime.generate import stream as stream
    from thusfar.runtime.generate import stream_sync as stream_sync
    from thusfar.runtime.hooks import Amendment as Amendment
    from thusfar.runtime.planned import Accepted as Accepted
    from thusfar.runtime.planned import Planned as Planned
    from thusfar.runtime.planning import plan as plan
    from thusfar.runtime.planning import plan_sync as plan_sync
    from thusfar.runtime.previewing import Preview as Preview
    from thusfar.runtime.previewing import compact_now as compact_now
    from thusfar.runtime.previewing import compact_now_sync as compact_now_sync
    from thusfar.runtime.previewing import inspect_request as inspect_request
    from thusfar.runtime.previewing import inspect_request_sync as inspect_request_sync
    from thusfar.runtime.previewing import preview as preview
    from thusfar.runtime.previewing import preview_sync as preview_sync
    from thusfar.runtime.prompts import Prompt as Prompt
    from thusfar.runtime.results import Result as Result
    from thusfar.runtime.step_context import StepContext as StepContext
    from thusfar.runtime.tools import Tool as Tool
    from thusfar.runtime.tools import tool as tool
    from thusfar.storage import Store as Store
    from thusfar.storage import open_store as open_store
    from thusfar.thread import Thread as Thread
    from thusfar.thread import threads as threads
    from thusfar.thread import threads_sync as threads_sync
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
    "_summarize": (
        "Redaction",
        "SummarizeStrategy",
        "SummaryOptions",
        "summarize",
    ),
    "budget": ("InputBudget",),
    "capacity": (
        "ModelCapacity",
        "capacity_of",
    ),
    "dialects": (
        "Dialect",
        "detect",
        "dialect",
        "register",
    ),
    "errors": (
        "Diagnostic",
        "HistoryError",
        "InspectionUnavailableError",
        "PreparationError",
        "MissingExtraError",
        "OptionsError",
        "ProviderError",
        "RepresentationUnavailableError",
        "RequestCompositionError",
        "RequestTooLargeError",
        "ResourceReadError",
        "StorageError",
        "SummaryFailedError",
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
    "models": (
        "GenerateObject",
        "GenerateText",
        "GeneratedObject",
        "GeneratedText",
        "Scripted",
        "ProviderHistorySummaryInput",
        "ProviderHistorySummaryResult",
    ),
    "planner.contributors": (
        "context",
        "droppable",
        "offload",
        "offloadable",
        "prefer",
        "summarizable",
        "when",
    ),
    "planner.receipt": (
        "Inspection",
        "RequestReceipt",
    ),
    "projection": ("Projection",),
    "receipt": (
        "HistoryReceipt",
        "ReceiptWarning",
        "Repair",
    ),
    "runtime.arguments": ("PlanOptions",),
    "runtime.edge": ("Runtime",),
    "runtime.generate": (
        "generate",
        "generate_sync",
        "preview_turn",
        "preview_turn_sync",
        "stream",
        "stream_sync",
    ),
    "runtime.hooks": ("Amendment",),
    "runtime.step_context": ("StepContext",),
    "runtime.prompts": ("Prompt",),
    "runtime.results": ("Result",),
    "runtime.tools": ("Tool", "tool"),
    "runtime.planned": (
        "Accepted",
        "Planned",
    ),
    "runtime.planning": ("plan", "plan_sync"),
    "runtime.previewing": (
        "Preview",
        "compact_now",
        "compact_now_sync",
        "inspect_request",
        "inspect_request_sync",
        "preview",
        "preview_sync",
    ),
    "storage": ("Store", "open_store"),
    "thread": ("Thread", "threads", "threads_sync"),
    "tokens": (
        "Counter",
        "TokenCount",
        "per_message",
    ),
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
