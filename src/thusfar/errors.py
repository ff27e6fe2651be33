"""Errors: what happened, one imperative fix, facts; never content of a transcript.

The classes form one tree under `HistoryError`. Every class has a stable code, listed in
`thusfar.codes` and explained on one page each in `docs/errors/`.
"""

from __future__ import annotations

from typing import Any, ClassVar

import msgspec

Fact = int | float | str | bool | None | tuple["Fact", ...]


class Diagnostic(msgspec.Struct, frozen=True, kw_only=True):
    """One finding behind an error: a code, a sentence without content, and facts.

    Attributes:
        code: Stable identifier, listed in `thusfar.codes`.
        message: What was found, in the past tense. Never content.
        positions: Indexes into the caller's list that the finding is about.
        facts: Counts, limits and ids.
    """

    code: str
    message: str
    positions: tuple[int, ...] = ()
    facts: dict[str, Any] = {}


class HistoryError(Exception):
    """Base class; catch this to catch everything the library raises on purpose.

    Attributes:
        code: Stable identifier. Never renamed, never reused; has a docs page.
        fix: One imperative sentence the caller can act on.
        diagnostics: The findings behind the error, each with its own code.
        facts: Counts, limits and ids that explain the failure. Never content.
        retryable: Whether the same call may succeed later without a change.
    """

    code: ClassVar[str] = "HISTORY_ERROR"
    retryable: ClassVar[bool] = False

    def __init__(
        self, message: str, *, fix: str, diagnostics: tuple[Diagnostic, ...] = (), **facts: Fact
    ) -> None:
        super().__init__(message)
        self.fix = fix
        self.diagnostics = diagnostics
        self.facts = facts

    def __str__(self) -> str:
        return f"{self.args[0]} {self.fix} [{self.code}]"

    def __reduce__(self) -> tuple[Any, ...]:
        return _rebuild, (type(self), self.args[0], self.fix, self.diagnostics, self.facts)


def _rebuild(
    kind: type[HistoryError],
    message: str,
    fix: str,
    diagnostics: tuple[Diagnostic, ...],
    facts: dict[str, Fact],
) -> HistoryError:
    """Make errors survive pickling, which process pools and task queues rely on."""
    return kind(message, fix=fix, diagnostics=diagnostics, **facts)


class OptionsError(HistoryError, TypeError):
    """An option has the wrong type or an impossible value (raised at construction)."""

    code = "INVALID_OPTIONS"


class TranscriptError(HistoryError, ValueError):
    """A message or file could not be read as the format it was taken for."""

    code = "INVALID_TRANSCRIPT"


class RequestCompositionError(HistoryError):
    """No request can be composed as authored (always raised before dispatch)."""

    code = "INVALID_COMPOSITION"


class RequestTooLargeError(RequestCompositionError):
    """No authorised representation of the request fits the input budget."""

    code = "REQUEST_TOO_LARGE"


class RepresentationUnavailableError(RequestCompositionError):
    """Something the author authorised would fit but was not ready and could not be made."""

    code = "REPRESENTATION_UNAVAILABLE"


class SummaryFailedError(HistoryError):
    """A summary could not be made within its attempts; nothing was stored."""

    code = "SUMMARY_FAILED"
    retryable = True


class PreparationError(HistoryError):
    """A hook, or a function that decides about approval, raised or took too long."""

    code = "PREPARATION_FAILED"


class ResourceReadError(HistoryError):
    """A hook read a resource that was not lent to it, or that could not be had."""

    code = "RESOURCE_UNAVAILABLE"


class InspectionUnavailableError(HistoryError):
    """No receipt of that id is kept here."""

    code = "REQUEST_INSPECTION_UNAVAILABLE"


class ThreadError(HistoryError):
    """A stored thread refused an operation; the stored record is unchanged."""

    code = "THREAD_ERROR"


class StorageError(HistoryError):
    """The database could not do its work; nothing that was acknowledged is lost."""

    code = "STORAGE_ERROR"


class ProviderError(HistoryError):
    """A provider refused or failed, or a message has no form on its wire."""

    code = "PROVIDER_FAILED"


class UnsupportedPartError(ProviderError):
    """A part of a message has no form in the dialect it was to be lowered to."""

    code = "UNSUPPORTED_PART"


class MissingExtraError(HistoryError, ImportError):
    """A feature needs a package that an optional extra installs."""

    code = "MISSING_EXTRA"


class ThreadNotFoundError(ThreadError):
    """No thread of this id exists in the namespace."""

    code = "THREAD_NOT_FOUND"


class ThreadDeletedError(ThreadError):
    """The thread was deleted; its id can never be used again."""

    code = "THREAD_DELETED"


class ThreadInUseError(ThreadError):
    """Another owner still has a position where something was to be deleted."""

    code = "THREAD_IN_USE"


class MessageNotFoundError(ThreadError):
    """A message id is not stored in the thread."""

    code = "MESSAGE_NOT_FOUND"


class MessageRedactedError(ThreadError):
    """A message was redacted or deleted; its id can never be used again."""

    code = "MESSAGE_REDACTED"


class IdentityConflictError(ThreadError):
    """An id or a revision stands for something else than the caller holds."""

    code = "IDENTITY_CONFLICT"


class InvalidGroupError(ThreadError, ValueError):
    """Messages do not form one causal group, or a place is not the border of one."""

    code = "INVALID_GROUP"


class InvalidMessageError(ThreadError, ValueError):
    """A message or an id cannot be stored."""

    code = "INVALID_MESSAGE"


class ThreadCommitError(ThreadError):
    """A turn was answered and could not be published; the thread is unchanged.

    Attributes:
        result: The answered turn, where one was generated here; it may be stored by hand.
    """

    code = "COMMIT_FAILED"
    retryable = True
    result: Any = None


class UnsupportedCapabilityError(ThreadError):
    """What was asked needs something that the thread or its store does not have."""

    code = "UNSUPPORTED_CAPABILITY"


class StorageBusyError(StorageError):
    """Somebody else held the database for too long; the same call may succeed later."""

    code = "STORAGE_BUSY"
    retryable = True


class StorageFullError(StorageError):
    """The disk, or what the database may use of it, is full."""

    code = "STORAGE_FULL"


class StorageReadOnlyError(StorageError):
    """The database cannot be written."""

    code = "STORAGE_READ_ONLY"


class StorageUnavailableError(StorageError):
    """The database cannot be opened or reached; the same call may succeed later."""

    code = "STORAGE_UNAVAILABLE"
    retryable = True


class StorageClosedError(StorageError):
    """The store was closed before it was used."""

    code = "STORAGE_CLOSED"


class CorruptRecordError(StorageError):
    """A stored record, or the database file, is damaged; it is never skipped."""

    code = "CORRUPT_RECORD"


class SchemaTooNewError(StorageError):
    """The database was written by a newer version and would be misread."""

    code = "SCHEMA_TOO_NEW"


class ProcessError(HistoryError):
    """A process could not do what was asked; nothing of an unfinished step is kept."""

    code = "PROCESS_ERROR"


class InvalidDefinitionError(ProcessError, ValueError):
    """A process is not put together in a way that could run."""

    code = "INVALID_DEFINITION"


class InvalidStateError(ProcessError, ValueError):
    """A path, or an update of state, could not be carried out; the state is unchanged."""

    code = "INVALID_STATE"


class InvalidTemplateError(ProcessError, ValueError):
    """A prompt template could not be read or rendered."""

    code = "INVALID_TEMPLATE"


class RetriesExhaustedError(ProcessError):
    """No answer of the model was valid within the retries of a task."""

    code = "RETRIES_EXHAUSTED"


class StepLimitError(ProcessError):
    """A run needed more steps than it was given."""

    code = "STEP_LIMIT"


class CallLimitError(ProcessError):
    """A run needed more model calls than it was given."""

    code = "CALL_LIMIT"


class TokenLimitError(ProcessError):
    """A run needed more tokens than it was given."""

    code = "TOKEN_LIMIT"


class LoopDetectedError(ProcessError):
    """A model gave the same answer in the same state again and again."""

    code = "LOOP_DETECTED"


class StepTimeoutError(ProcessError):
    """A step, or the run, took longer than it was given; a late answer is not used."""

    code = "STEP_TIMEOUT"


class InputInvalidError(ProcessError, ValueError):
    """The input of a process does not fit its schema; the process was not started."""

    code = "INPUT_INVALID"


class OutputInvalidError(ProcessError, ValueError):
    """The output of a process does not fit its schema."""

    code = "OUTPUT_INVALID"


class HistoryLimitError(ProcessError):
    """The action log was full, and its author chose to stop there."""

    code = "HISTORY_LIMIT"


class NoRouteError(ProcessError):
    """A run could not go on: no transition was open, or the next task does not exist."""

    code = "NO_ROUTE"


class TaskFailedError(ProcessError):
    """A function that belongs to a task raised; the cause is what it raised."""

    code = "TASK_FAILED"


class RunCancelledError(ProcessError):
    """A run was cancelled, and so has no output."""

    code = "RUN_CANCELLED"


class ReplayDivergedError(ProcessError):
    """A replayed run did something else than the captured one."""

    code = "REPLAY_DIVERGED"


class RunNotFoundError(ProcessError):
    """No run of that id is in the namespace."""

    code = "RUN_NOT_FOUND"


class RunExistsError(ProcessError):
    """A run of that id is in the store; nothing was begun."""

    code = "RUN_EXISTS"


class RunHeldError(ProcessError):
    """Somebody else runs a stored run; what was not committed by then is not kept."""

    code = "RUN_HELD"
    retryable = True


class ProcessRunningError(ProcessError):
    """The process runs already, and one object runs once at a time."""

    code = "PROCESS_RUNNING"
