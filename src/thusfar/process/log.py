"""The action log: what a process has done, complete and in order; it is the only truth.

Entries are added and never changed. At the ceiling the oldest leave memory and keep their line.

Source:
    docs/spec/process.md#log
"""

from __future__ import annotations

import threading
from collections import OrderedDict, deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any, Final, Literal, overload

import msgspec

from thusfar._numbers import MAX_SAFE_INTEGER
from thusfar._options import check_choice
from thusfar.errors import HistoryLimitError, OptionsError
from thusfar.process.entries import Entry
from thusfar.process.lines import LineBlocks, Runs
from thusfar.process.rendering import compact_line, detail_line, intent_line

DETAIL_ITEMS: Final = 10
RESULT_MAX_CHARS: Final = 200
MAX_ITEMS: Final = 1_000
LEAST_LINE: Final = 10  # shorter lines could not show an action, a bar and a result
OPEN_INTENTS_SHOWN: Final = 20
OnLimit = Literal["fold", "fail"]


@dataclass(frozen=True, slots=True, kw_only=True)
class LogOptions:
    """How much of the log is kept, mirrored and shown, and in which form.

    Attributes:
        history_detail_items: How many of the newest entries are shown in full; at least 0.
        history_result_max_chars: Most characters of the whole line of an earlier entry. At
            least 10. Unit: characters.
        history_max_items: Most entries held in memory: a guard, not a way to bound a prompt.
        state_history_max_items: Most entries of `state["history"]`. `None`: as many as in memory.
        on_history_limit: At the ceiling: `fold` lets the oldest entry leave memory and keep its
            line; `fail` refuses the new entry.
        collapse_equal: Whether runs of equal lines may become one line with a count where the
            prompt does not fit otherwise.
        open_intents: Whether prompts list the intents whose next step is not done yet.

    Raises:
        OptionsError: `INVALID_OPTIONS`, for any value outside its range.
    """

    history_detail_items: int = DETAIL_ITEMS
    history_result_max_chars: int = RESULT_MAX_CHARS
    history_max_items: int = MAX_ITEMS
    state_history_max_items: int | None = None
    on_history_limit: OnLimit = "fold"
    collapse_equal: bool = False
    open_intents: bool = False

    def __post_init__(self) -> None:
        _check_count("history_detail_items", self.history_detail_items, 0)
        _check_count("history_result_max_chars", self.history_result_max_chars, LEAST_LINE)
        _check_count("history_max_items", self.history_max_items, 1)
        if self.state_history_max_items is not None:
            _check_count("state_history_max_items", self.state_history_max_items, 0)
        check_choice("Process()", "on_history_limit", self.on_history_limit, ("fold", "fail"))
        check_flag("collapse_equal", self.collapse_equal)
        check_flag("open_intents", self.open_intents)
        if self.history_detail_items > self.history_max_items:
            raise OptionsError(
                "A process was to show more entries in full than it holds.",
                fix="Raise history_max_items to at least history_detail_items.",
                option="history_max_items",
            )


def check_flag(name: str, value: object) -> None:
    """Check that an option is true or false.

    Raises:
        OptionsError: `INVALID_OPTIONS`, when it is neither.
    """
    if type(value) is not bool:
        raise OptionsError(
            f"Process() got a value for {name} that is neither true nor false.",
            fix=f"Pass True or False for {name}.",
            option=name,
        )


def _check_count(name: str, value: object, least: int) -> None:
    if type(value) is not int or not least <= value <= MAX_SAFE_INTEGER:
        raise OptionsError(
            f"Process() got a value for {name} outside its range.",
            fix=f"Pass a whole number, at least {least}.",
            option=name,
        )


class HistoryPart(msgspec.Struct, frozen=True, kw_only=True):
    """What of the log a prompt shows. Counts only.

    Attributes:
        recorded: Entries recorded so far; always `in_full` and `lines` together, or in a
            collapsed prompt with `collapsed`.
        in_full: Entries shown in full.
        lines: Entries shown as one line.
        collapsed: Entries that stand behind the count of an equal line.
        left_memory: Entries whose detail is no longer in memory.
        detail_gone: Of these, how many have their detail nowhere else.
        open_intents: Intents listed.
        open_intents_left_out: Older open intents that are not listed.
    """

    recorded: int
    in_full: int
    lines: int
    collapsed: int = 0
    left_memory: int = 0
    detail_gone: int = 0
    open_intents: int = 0
    open_intents_left_out: int = 0


class ActionHistory(Sequence[Entry]):
    """The entries in memory, oldest first; it can be read and nothing else."""

    __slots__ = ("_entries",)

    def __init__(self, entries: deque[Entry]) -> None:
        self._entries = entries

    @overload
    def __getitem__(self, index: int) -> Entry: ...
    @overload
    def __getitem__(self, index: slice) -> tuple[Entry, ...]: ...
    def __getitem__(self, index: int | slice) -> Entry | tuple[Entry, ...]:
        return tuple(self._entries)[index] if isinstance(index, slice) else self._entries[index]

    def __len__(self) -> int:
        return len(self._entries)

    def __iter__(self) -> Iterator[Entry]:
        return iter(tuple(self._entries))

    def __repr__(self) -> str:
        return f"ActionHistory({len(self._entries)} entries)"


class Adding:
    """Held while an entry is added, or the log is read; a copy of a process has one of its own."""

    __slots__ = ("_lock",)

    def __init__(self) -> None:
        self._lock = threading.RLock()

    def __enter__(self) -> None:
        self._lock.acquire()

    def __exit__(self, *raised: object) -> None:
        self._lock.release()

    def __reduce__(self) -> tuple[type[Adding], tuple[()]]:
        return Adding, ()


class ActionLog:
    """The log of one process.

    Args:
        options: How much is kept and shown.

    Attributes:
        options: As given.
        recorded: Entries recorded so far.
        stored: Whether a store keeps every entry, those that left memory too.
    """

    def __init__(self, options: LogOptions) -> None:
        self.options = options
        self.recorded = 0
        self.stored = False
        self._held: deque[Entry] = deque()
        self._details: deque[str] = deque()
        self._older = LineBlocks()
        self._runs = Runs(most=options.history_result_max_chars)
        self._open: OrderedDict[str, Entry] = OrderedDict()

    @property
    def history(self) -> ActionHistory:
        """The entries in memory."""
        return ActionHistory(self._held)

    @property
    def next_seq(self) -> int:
        """The number of the next entry."""
        return self.recorded + 1

    def require_room(self, entries: int = 1) -> None:
        """Check that entries may be added.

        Raises:
            HistoryLimitError: `HISTORY_LIMIT`, at the ceiling of a log that does not fold.
        """
        most = self.options.history_max_items
        if self.options.on_history_limit == "fail" and len(self._held) + entries > most:
            raise HistoryLimitError(
                f"The action log held {len(self._held):,} entries, its ceiling.",
                fix="Raise history_max_items, or let old entries keep their line only with "
                'on_history_limit="fold".',
                entries=len(self._held),
                history_max_items=most,
            )

    def add(self, entry: Entry) -> None:
        """Add an entry at the end.

        Raises:
            HistoryLimitError: `HISTORY_LIMIT`, as for `require_room`; nothing was added.
        """
        self.require_room()
        self._append(entry)

    def take(self, entry: Entry) -> None:
        """Add an entry that was recorded before, whatever the ceiling is now."""
        self._append(entry)

    def since(self, seq: int) -> tuple[Entry, ...]:
        """List the entries in memory behind a number."""
        behind = min(self.recorded - seq, len(self._held))
        return tuple(islice(self._held, len(self._held) - behind, None)) if behind > 0 else ()

    def _append(self, entry: Entry) -> None:
        shown = detail_line(entry)  # what could fail stands before what is changed
        self._held.append(entry)
        self._details.append(shown)
        self.recorded = entry.seq
        if len(self._details) > self.options.history_detail_items:
            self._details.popleft()
            older = self._held[len(self._held) - 1 - self.options.history_detail_items]
            self._compact(compact_line(older, most=self.options.history_result_max_chars))
        if len(self._held) > self.options.history_max_items:
            self._held.popleft()
        self._track(entry)

    def _compact(self, line: str) -> None:
        self._older.add(line)
        if self.options.collapse_equal:
            self._runs.add(line)

    def _track(self, entry: Entry) -> None:
        """Keep the intents of which the next step is not done: one a task, the newest."""
        if entry.kind == "transition":
            self._open.pop(entry.task_id, None)
            if entry.step_after:
                self._open[entry.task_id] = entry

    def mirror(self) -> tuple[Entry, ...]:
        """The newest entries in memory, as many as `state["history"]` may hold."""
        most = self.options.state_history_max_items
        held = len(self._held)
        start = 0 if most is None else max(0, held - most)
        return tuple(islice(self._held, start, held))

    def older_texts(self, *, collapsed: bool = False) -> list[str]:
        """The lines of all entries that are not shown in full, in blocks; none is empty."""
        return self._runs.texts() if collapsed else self._older.texts()

    def older_lines(self) -> list[str]:
        """The lines of all entries that are not shown in full."""
        return self._older.lines()

    def detail_lines(self) -> list[str]:
        """The newest entries in full, one line each."""
        return list(self._details)

    def intent_lines(self, *, behind: int = 0) -> list[str]:
        """The newest open intents, one line each, of entries behind a number; none unless asked."""
        if not self.options.open_intents:
            return []
        shown = list(self._open.values())[-OPEN_INTENTS_SHOWN:]
        return [intent_line(entry) for entry in shown if entry.seq > behind]

    @property
    def can_collapse(self) -> bool:
        """Whether equal lines follow each other, and may become one."""
        return self.options.collapse_equal and self._runs.equal > 0

    def part(self, *, collapsed: bool = False) -> HistoryPart:
        """Count what a prompt shows."""
        left = self.recorded - len(self._held)
        equal = self._runs.equal if collapsed else 0
        intents = len(self._open) if self.options.open_intents else 0
        return HistoryPart(
            recorded=self.recorded,
            in_full=len(self._details),
            lines=len(self._older) - equal,
            collapsed=equal,
            left_memory=left,
            detail_gone=0 if self.stored else left,
            open_intents=min(intents, OPEN_INTENTS_SHOWN),
            open_intents_left_out=max(0, intents - OPEN_INTENTS_SHOWN),
        )

    def snapshot(self) -> dict[str, Any]:
        """Write the log as JSON values."""
        return {
            "recorded": self.recorded,
            "entries": [msgspec.to_builtins(entry) for entry in self._held],
            "older": self._older.lines(),
            "open": [msgspec.to_builtins(entry) for entry in self._open.values()],
        }

    @classmethod
    def restored(cls, options: LogOptions, saved: dict[str, Any]) -> ActionLog:
        """Make a log from what `snapshot` wrote.

        Entries in memory are rendered as the options say now; the lines of those that left it
        stay as they were.

        Raises:
            ValueError: When it has another shape.
        """
        log = cls(options)
        entries = msgspec.convert(saved["entries"], list[Entry])
        lines = msgspec.convert(saved["older"], list[str])
        recorded = msgspec.convert(saved["recorded"], int)
        left = recorded - len(entries)
        numbers = [entry.seq for entry in entries]
        if not 0 <= left <= len(lines) or numbers != list(range(left + 1, recorded + 1)):
            raise ValueError("the entries do not follow each other")
        for line in lines[:left]:
            log._compact(line)
        for entry in entries:
            log._append(entry)
        log._open.clear()
        for entry in msgspec.convert(saved["open"], list[Entry]):
            log._open[entry.task_id] = entry
        return log


class LogSlice:
    """The newest entries of a log, for a partial prompt; what is left out is counted.

    Args:
        log: The log.
        newest: How many entries to show.

    Attributes:
        recorded: Entries recorded in the log.
        omitted: Entries that are not shown.
    """

    def __init__(self, log: ActionLog, newest: int) -> None:
        self._details = log.detail_lines()[-newest:] if newest else []
        older = newest - len(self._details)
        self._older = log.older_lines()[-older:] if older else []
        self._mirror = log.mirror()[-newest:] if newest else ()
        self._intents = log.intent_lines(behind=log.recorded - newest)
        self.recorded = log.recorded
        self.omitted = log.recorded - len(self._details) - len(self._older)

    def older_texts(self, *, collapsed: bool = False) -> list[str]:  # noqa: ARG002 - never is
        """The lines of the entries that are shown as a line."""
        return [f"{line}\n" for line in self._older]

    def detail_lines(self) -> list[str]:
        """The newest entries in full."""
        return self._details

    def intent_lines(self) -> list[str]:
        """The open intents of the entries that are shown."""
        return self._intents

    def mirror(self) -> tuple[Entry, ...]:
        """The newest entries of the mirror."""
        return self._mirror
