"""Processes: AI workflows with a history in which nothing is omitted.

Source:
    docs/spec/process.md
"""

from __future__ import annotations

from thusfar.process.control import RunHandle
from thusfar.process.definition import Process
from thusfar.process.entries import Entry
from thusfar.process.files import load_process
from thusfar.process.intercepting import Call, Cancel, Forward, Interceptor, Skip, Use
from thusfar.process.isolating import TaskOutcome
from thusfar.process.kinds import END
from thusfar.process.log import HistoryPart
from thusfar.process.markdown import run_markdown
from thusfar.process.outcomes import (
    AnswerRefused,
    Outcome,
    ProcessEvent,
    ProcessFailure,
    PromptPlanned,
    StepCommitted,
    StepFailed,
    StepStarted,
)
from thusfar.process.planning import RequestSettings, StepReceipt
from thusfar.process.position import RunLimits
from thusfar.process.prompts import STANDARD_PROMPT
from thusfar.process.reading import from_data
from thusfar.process.routing import Finding
from thusfar.process.run_values import ReplayedRun, RunComparison, RunInfo
from thusfar.process.runs import Runs, SyncRuns
from thusfar.process.tape import Capture, Replay, Tape
from thusfar.process.tasks import (
    AnyTask,
    CommitChanges,
    DecisionTask,
    ScriptTask,
    SubProcess,
    Task,
    Transition,
)
from thusfar.process.terminal import TerminalInterceptor, TerminalLog
from thusfar.process.views import PartialPrompt, PartialPromptConfig
from thusfar.process.writing import to_data

__all__ = [
    "END",
    "STANDARD_PROMPT",
    "AnswerRefused",
    "AnyTask",
    "Call",
    "Cancel",
    "Capture",
    "CommitChanges",
    "DecisionTask",
    "Entry",
    "Finding",
    "Forward",
    "HistoryPart",
    "Interceptor",
    "Outcome",
    "PartialPrompt",
    "PartialPromptConfig",
    "Process",
    "ProcessEvent",
    "ProcessFailure",
    "PromptPlanned",
    "Replay",
    "ReplayedRun",
    "RequestSettings",
    "RunComparison",
    "RunHandle",
    "RunInfo",
    "RunLimits",
    "Runs",
    "ScriptTask",
    "Skip",
    "StepCommitted",
    "StepFailed",
    "StepReceipt",
    "StepStarted",
    "SubProcess",
    "SyncRuns",
    "Tape",
    "Task",
    "TaskOutcome",
    "TerminalInterceptor",
    "TerminalLog",
    "Transition",
    "Use",
    "from_data",
    "load_process",
    "run_markdown",
    "to_data",
]
