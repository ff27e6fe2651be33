"""Values about stored runs: what is listed, compared and replayed.

Source:
    docs/spec/process.md#stored-runs
"""

from __future__ import annotations

from typing import Any, Literal

import msgspec

from thusfar.process.entries import Entry

RunStatus = Literal["running", "interrupted", "finished", "failed", "cancelled", "early"]


class RunInfo(msgspec.Struct, frozen=True, kw_only=True):
    """A stored run, without its content.

    Attributes:
        run_id: Its id.
        process_id: The process.
        status: `running` while somebody holds it; `interrupted` where nobody does and it did not
            end; otherwise how it ended.
        task_id: The task that runs next; `END` behind the last.
        steps: Steps committed in it, without those before a fork.
        calls: Model calls made in it, those of sub-processes and those before a fork included.
        input_tokens: Tokens of the prompts of these calls; see `RunLimits.max_tokens`.
        output_tokens: Tokens of their answers.
        entries: Entries recorded in all.
        failure: Why it failed: `code`, `message`, `fix`, `task_id`, `step`, `attempt` and `errors`.
            `None` where it did not.
        reason: Why it was cancelled or asked to finish early.
        forked_from: The run it was forked from; `None` where it was not.
        forked_at: The last entry that it took from there.
        created_at: When it began. Unit: milliseconds since 1970, UTC.
        updated_at: When it last changed. Unit: as above.
    """

    run_id: str
    process_id: str
    status: RunStatus
    task_id: str
    steps: int
    calls: int
    entries: int
    input_tokens: int = 0
    output_tokens: int = 0
    failure: dict[str, Any] | None = None
    reason: str = ""
    forked_from: str | None = None
    forked_at: int = 0
    created_at: int = 0
    updated_at: int = 0


class RunComparison(msgspec.Struct, frozen=True, kw_only=True):
    """How two runs differ. Times are not compared.

    Attributes:
        runs: Their ids.
        same_entries: Entries from the first on that are equal in both.
        entries: How many each has.
        first: The first entry that differs, of each; `None` where one has none there.
        changes: What leads from the state of the first to that of the second, as
            `[path, kind, value]`.
        statuses: How each stands.
    """

    runs: tuple[str, str]
    same_entries: int
    entries: tuple[int, int]
    first: tuple[Entry | None, Entry | None]
    changes: tuple[list[Any], ...]
    statuses: tuple[RunStatus, RunStatus]

    @property
    def equal(self) -> bool:
        """Whether log and state are the same."""
        return self.first == (None, None) and not self.changes


class ReplayedRun(msgspec.Struct, frozen=True, kw_only=True):
    """What a replay of a stored run came to.

    Attributes:
        steps: Steps that were replayed.
        same_log: Whether it recorded the entries that are stored.
        same_state: Whether it came to the state that is stored.
        changed_prompts: With `warn`, the places whose prompt was another one.
        failure: Code and message of what ended it before its end; `None` where nothing did.
    """

    steps: int
    same_log: bool
    same_state: bool
    changed_prompts: tuple[str, ...] = ()
    failure: tuple[str, str] | None = None

    @property
    def same(self) -> bool:
        """Whether it did what the stored run did."""
        return self.same_log and self.same_state and self.failure is None
