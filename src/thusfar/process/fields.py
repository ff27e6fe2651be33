"""Fields: what a definition that is data may hold, and of which kind each value is.

Source:
    docs/spec/process.md#definitions-as-data
"""

from __future__ import annotations

from typing import Final

from thusfar.process.tasks import DecisionTask, ScriptTask, SubProcess, Task

DATA_SCHEMA: Final = 1  # 1: the fields below
Fields = dict[str, str]

_COMMON: Final = {"id": "text", "title": "text", "description": "text", "next_task": "text"}
TASK: Final[Fields] = {
    **_COMMON,
    "task_prompt": "template",
    "prompt": "template",
    "output": "schema",
    "state_updates": "updates",
    "transitions": "transitions",
    "require_intent": "flag",
    "failure_task": "text",
    "max_retries": "whole",
    "errors_primer": "text",
    "no_history": "flag",
    "omit": "texts",
    "history_summary": "template",
    "model": "model",
    "interceptor": "hook",
    "before_commit": "hook",
    "process_outputs": "hook",
    "after_commit": "hook",
}
DECISION: Final[Fields] = {
    "id": "text",
    "decisions": "decisions",
    "otherwise": "text",
    "title": "text",
    "description": "text",
    "record": "flag",
}
SCRIPT: Final[Fields] = {
    **_COMMON,
    "run": "hook",
    "state_updates": "updates",
    "failure_task": "text",
    "record": "flag",
    "history_summary": "template",
}
SUB_PROCESS: Final[Fields] = {
    **_COMMON,
    "process": "process",
    "inputs": "inputs",
    "state_updates": "updates",
    "failure_task": "text",
    "history_summary": "template",
}
TASKS: Final[dict[str, tuple[type, Fields]]] = {
    "task": (Task, TASK),
    "decision": (DecisionTask, DECISION),
    "script": (ScriptTask, SCRIPT),
    "process": (SubProcess, SUB_PROCESS),
}
"""Class and fields by the `kind` of a task; without one it is `task`."""

PROCESS: Final[Fields] = {
    "id": "text",
    "tasks": "tasks",
    "start": "text",
    "sequence": "texts",
    "default_return_task": "text",
    "error_task": "text",
    "model": "model",
    "state": "state",
    "input": "schema",
    "output": "schema",
    "goal": "text",
    "intro_prompt": "template",
    "system_prompt": "template",
    "standard_prompt": "template",
    "optional_prompts": "prompts",
    "goal_primer": "text",
    "history_primer": "text",
    "completed_work_primer": "text",
    "transitions_primer": "text",
    "errors_primer": "text",
    "history_detail_items": "whole",
    "history_result_max_chars": "whole",
    "history_max_items": "whole",
    "state_history_max_items": "whole",
    "on_history_limit": "text",
    "collapse_equal": "flag",
    "open_intents": "flag",
    "no_history": "flag",
    "record_history": "flag",
    "prompt_modes": "modes",
    "limits": "limits",
    "requests": "requests",
    "interceptor": "hook",
    "on_event": "hook",
    "clock": "hook",
}
TRANSITION: Final[Fields] = {"to": "text", "label": "text", "visible_when": "criteria"}
DECIDED: Final[Fields] = {"when": "criteria", "go_to": "text"}
LIMITS: Final[Fields] = {
    "max_retries": "whole",
    "max_steps": "whole",
    "max_calls": "whole",
    "max_tokens": "whole",
    "loop_threshold": "whole",
    "call_timeout_seconds": "number",
    "step_timeout_seconds": "number",
    "run_timeout_seconds": "number",
}
REQUESTS: Final[Fields] = {
    "budget": "budget",
    "capacity": "capacity",
    "counter": "counter",
    "max_output_tokens": "whole",
}
BUDGET: Final[Fields] = {"optimize_at": "whole", "max": "whole", "prepare_at": "whole"}
CAPACITY: Final[Fields] = {
    "context_window": "whole",
    "output_reserve": "whole",
    "tokenizer": "text",
    "vendor": "text",
    "max_input": "whole",
    "max_output": "whole",
    "name": "text",
    "source": "text",
    "date": "text",
    "known": "flag",
}
MODE: Final[Fields] = {
    "mode": "text",
    "omit": "texts",
    "omit_state_vars": "texts",
    "add": "texts",
    "remove": "texts",
    "truncate_history": "whole",
    "truncate_errors": "whole",
}
