"""Entries: what was done, as frozen values that later changes of state cannot reach.

Source:
    docs/spec/process.md#entries
"""

from __future__ import annotations

import datetime
from collections.abc import Callable, Mapping
from typing import Any, Final, Literal

import msgspec

from thusfar.codec import parse_json, text_of
from thusfar.errors import OptionsError

EntryKind = Literal["transition", "result", "script", "decision", "child", "skipped", "manual"]
_NAMES: Final = {
    "taskID": "task_id",
    "taskId": "task_id",
    "task_id": "task_id",
    "goTo": "go_to",
    "go_to": "go_to",
    "stepAfter": "step_after",
    "step_after": "step_after",
    "intent": "intent",
    "action": "action",
    "summary": "summary",
}
_MILLISECONDS: Final = 1000


class Entry(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One entry of the action log.

    Attributes:
        seq: Its number, from 1, without gaps.
        kind: What made it.
        ts: When, in ISO 8601.
        task_id: The task that acted; empty for a manual entry that names none.
        step: The step of the run; 0 for an entry made outside a run.
        action: What was done, in a few words.
        go_to: For a transition, where it led.
        intent: For a transition, why.
        step_after: For a transition, what was planned behind it.
        summary: What came of it in words; it stands for the result where there is one line.
        result_json: What came of it, as JSON text.
        extra_json: Further fields of a manual entry, as JSON text of an object.
        nested: For a sub-process, the entries of its own log.
    """

    seq: int
    kind: EntryKind
    ts: str
    task_id: str = ""
    step: int = 0
    action: str = ""
    go_to: str | None = None
    intent: str | None = None
    step_after: str | None = None
    summary: str | None = None
    result_json: str = "null"
    extra_json: str = "{}"
    nested: tuple[Entry, ...] = ()

    @property
    def result(self) -> Any:
        """What came of it; a new value each time."""
        if self.result_json == "null":
            return None
        return parse_json(self.result_json, where="a stored result")

    @property
    def extra(self) -> dict[str, Any]:
        """Further fields of a manual entry; a new value each time."""
        if self.extra_json == "{}":
            return {}
        made: dict[str, Any] = parse_json(self.extra_json, where="stored fields")
        return made

    def to_json(self) -> dict[str, Any]:
        """Convert to plain JSON values, under the names of the interface."""
        named = {
            "entry": self.seq,
            "kind": self.kind,
            "ts": self.ts,
            "taskID": self.task_id,
            "action": self.action,
            "goTo": self.go_to,
            "intent": self.intent,
            "stepAfter": self.step_after,
            "summary": self.summary,
            "result": self.result,
            "extra": self.extra,
        }
        made = {key: value for key, value in named.items() if value not in (None, "", {})}
        if self.kind == "transition":
            made |= {"intent": self.intent or "", "stepAfter": self.step_after or ""}
        return made


def manual_entry(given: Mapping[str, Any], *, seq: int, now: str) -> Entry:
    """Make an entry that a caller wrote.

    Args:
        given: Fields under either spelling: taskID, action, summary, result, intent, stepAfter,
            goTo, ts (epoch milliseconds, a datetime or ISO 8601); others are kept as they are.
        seq: Its number.
        now: The time, where `ts` is not given.

    Raises:
        OptionsError: `INVALID_OPTIONS`, for a field of the wrong type or nothing at all.
        TranscriptError: `INVALID_TRANSCRIPT`, for a value that is not JSON.
    """
    if not isinstance(given, Mapping) or not given:
        raise OptionsError(
            "add_history() got no entry.",
            fix="Pass a mapping or keywords, such as taskID= and summary=.",
        )
    fields: dict[str, Any] = {}
    extra: dict[str, Any] = {}
    for key, value in given.items():
        if key in _NAMES:
            if value is not None and not isinstance(value, str):
                raise OptionsError(
                    "add_history() got a field that was no text.",
                    fix=f"Pass text for {key}.",
                    option=key,
                )
            fields[_NAMES[key]] = value
        elif key not in ("ts", "result"):
            extra[key] = value
    fields["task_id"] = fields.get("task_id") or ""
    fields["action"] = fields.get("action") or ""
    return Entry(
        seq=seq,
        kind="manual",
        ts=timestamp(given["ts"]) if given.get("ts") is not None else now,
        result_json=text_of(given.get("result")),
        extra_json=text_of(extra),
        **fields,
    )


def time_of(clock: Callable[[], Any]) -> str:
    """Ask a clock of the author for the time, in ISO 8601.

    Raises:
        OptionsError: `INVALID_OPTIONS`, when it raised, or gave no time.
    """
    try:
        return timestamp(clock())
    except Exception as error:
        raise OptionsError(
            "The clock of a process gave no time.",
            fix="Pass a function that gives a datetime.",
            option="clock",
        ) from error


def timestamp(value: Any) -> str:
    """Write a time in ISO 8601.

    Args:
        value: Epoch milliseconds, a datetime (without a zone: UTC), or ISO 8601 text.

    Raises:
        OptionsError: `INVALID_OPTIONS`, for anything else.

    Example:
        >>> timestamp(0)
        '1970-01-01T00:00:00+00:00'
    """
    try:
        if isinstance(value, int | float) and not isinstance(value, bool):
            value = datetime.datetime.fromtimestamp(value / _MILLISECONDS, tz=datetime.UTC)
        elif isinstance(value, str):
            value = datetime.datetime.fromisoformat(value)
        if isinstance(value, datetime.datetime):
            zoned = value if value.tzinfo else value.replace(tzinfo=datetime.UTC)
            return zoned.isoformat()
    except (ValueError, OverflowError, OSError):
        pass
    raise OptionsError(
        "A time could not be read.",
        fix="Pass epoch milliseconds, a datetime, or ISO 8601 text.",
        option="ts",
    )
