"""Tape: the answers and times of a run, captured, and replayed in strict order without a model.

One tape holds a whole tree of processes. Functions of the author run again in a replay.

Source:
    docs/spec/process.md#tapes
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping
from typing import Any, Literal

import msgspec

from thusfar._options import check_choice
from thusfar.errors import HistoryError, OptionsError, ReplayDivergedError, TaskFailedError
from thusfar.models.contracts import GeneratedObject, GeneratedText
from thusfar.process.planning import PlannedPrompt, UsedTokens

Generated = GeneratedText | GeneratedObject
PromptMatching = Literal["strict", "warn", "ignore"]


class TapedCall(msgspec.Struct, frozen=True, kw_only=True, tag="call", omit_defaults=True):
    """One model call.

    Attributes:
        process: The process.
        task: The task.
        step: The step of its run, from 1.
        attempt: The attempt, from 1.
        prompt: Digest of system text and prompt, which shows the schema too; see
            `PromptDigests`.
        text: The answer, where it was text.
        value: The answer, where it was a native structured one.
        native: Whether it was.
        finish: Why the answer ended.
        tokens: What it cost; see `RunLimits.max_tokens`.
        output_tokens: The part of them that the model wrote.
    """

    process: str
    task: str
    step: int
    attempt: int
    prompt: str
    text: str = ""
    value: Any = None
    native: bool = False
    finish: str = "stop"
    tokens: int = 0
    output_tokens: int = 0

    @property
    def place(self) -> str:
        """Where in the run it was made."""
        return f"{self.process}:{self.task}:{self.step}:{self.attempt}"


class TapedTime(msgspec.Struct, frozen=True, kw_only=True, tag="time"):
    """The time of an entry, in ISO 8601."""

    ts: str


class TapedFailure(msgspec.Struct, frozen=True, kw_only=True, tag="failure"):
    """A step that failed and was taken over, such as by a model that raised.

    Attributes:
        place: Where in the run.
        code: Code of the error.
        message: Its message.
    """

    place: str
    code: str
    message: str

    def error(self) -> HistoryError:
        """Make the error anew."""
        kinds = (kind for kind in _kinds(HistoryError) if kind.code == self.code)
        kind = next(kinds, TaskFailedError)
        return kind(self.message, fix="See the run that was captured.")


Record = TapedCall | TapedTime | TapedFailure


def _kinds(kind: type[HistoryError]) -> Iterator[type[HistoryError]]:
    yield kind
    for each in kind.__subclasses__():
        yield from _kinds(each)


class Tape(msgspec.Struct, frozen=True, kw_only=True):
    """What happened in a run, in order.

    Attributes:
        records: Calls, times, and steps that failed and were taken over.
        schema: Version of this shape.
    """

    records: tuple[Record, ...]
    schema: Literal[1] = 1

    def to_json(self) -> dict[str, Any]:
        """Convert to plain JSON values. They hold the answers of the model."""
        made: dict[str, Any] = msgspec.to_builtins(self)
        return made

    @classmethod
    def of(cls, value: Tape | Mapping[str, Any]) -> Tape:
        """Read a tape, or what `to_json` made of one.

        Raises:
            OptionsError: `INVALID_OPTIONS`, for another shape or version.
        """
        if isinstance(value, Tape):
            return value
        try:
            return msgspec.convert(value, cls)
        except (msgspec.ValidationError, TypeError, ValueError):
            raise OptionsError(
                "A tape did not have the shape of one.", fix="Pass what Tape.to_json() made."
            ) from None


class PromptDigests:
    """Digests of prompts; of what a prompt has in common with the one before, only once.

    The digest is the SHA-256 of the system text, a NUL and the prompt, in UTF-8.
    """

    def __init__(self) -> None:
        self._last: dict[tuple[str, str], list[tuple[str, Any]]] = {}

    def digest(self, process_id: str, planned: PlannedPrompt) -> str:
        """Write the digest of a prompt, with its tag."""
        key = (process_id, planned.receipt.task_id)
        texts = (f"{planned.system}\0", *planned.pieces)
        known = self._last.get(key, [])
        common = 0
        for (text, _), now in zip(known, texts, strict=False):
            if text != now:
                break
            common += 1
        made = known[:common]
        hasher = made[-1][1].copy() if made else hashlib.sha256()
        for text in texts[common:]:
            hasher.update(text.encode("utf-8", "surrogatepass"))
            made.append((text, hasher.copy()))
        self._last[key] = made
        return f"sha256:{hasher.hexdigest()}"


class Capture:
    """Records the runs it is passed to.

    A call that raised is on the tape where its step was taken over.
    """

    def __init__(self) -> None:
        self.digests = PromptDigests()
        self._records: list[Record] = []

    @property
    def tape(self) -> Tape:
        """What was recorded so far."""
        return Tape(records=tuple(self._records))

    def take(self) -> tuple[Record, ...]:
        """Take what was recorded since the last time off the tape."""
        taken = tuple(self._records)
        self._records.clear()
        return taken

    def keep_time(self, ts: str) -> None:
        """Record the time of an entry."""
        self._records.append(TapedTime(ts=ts))

    def keep_failure(self, failure: TapedFailure) -> None:
        """Record a step that failed and was taken over."""
        self._records.append(failure)

    def keep_call(self, call: TapedCall, made: Generated, used: UsedTokens) -> None:
        """Record a call with its answer."""
        native = isinstance(made, GeneratedObject)
        text = made.text if isinstance(made, GeneratedText) else ""
        value = made.value if isinstance(made, GeneratedObject) else None
        fields = {"text": text, "value": value, "native": native, "finish": made.finish}
        fields |= {"tokens": used.input + used.output, "output_tokens": used.output}
        self._records.append(msgspec.structs.replace(call, **fields))


class Replay:
    """Answers the run it is passed to from a tape, in strict order.

    Args:
        tape: The tape.
        prompts: Whether each prompt must be the one that was captured: `strict` ends the run
            where it is not, `warn` notes the place, `ignore` does not look.

    Attributes:
        changed: With `warn`, the places whose prompt was another one.

    Raises:
        OptionsError: `INVALID_OPTIONS`, for a value that is no tape, or another word.
    """

    def __init__(
        self, tape: Tape | Mapping[str, Any], *, prompts: PromptMatching = "strict"
    ) -> None:
        check_choice("Replay()", "prompts", prompts, ("strict", "warn", "ignore"))
        self._records = Tape.of(tape).records
        self.digests = PromptDigests()
        self._next = 0
        self._prompts = prompts
        self.changed: list[str] = []

    def time(self) -> str:
        """Give the time of the next entry.

        Raises:
            ReplayDivergedError: `REPLAY_DIVERGED`, when no entry is next.
            HistoryError: What the step failed with, where that is next.
        """
        self._require_no_failure()
        found = self._take()
        if not isinstance(found, TapedTime):
            raise _diverged("an entry", _named(found))
        return found.ts

    def answer(self, call: TapedCall) -> tuple[Generated, UsedTokens]:
        """Give the answer to the next call, and what it cost.

        Raises:
            ReplayDivergedError: `REPLAY_DIVERGED`, when another call is next.
            HistoryError: What the step failed with, where that is next.
        """
        self._require_no_failure()
        found = self._take()
        if not isinstance(found, TapedCall) or found.place != call.place:
            raise _diverged(call.place, _named(found))
        if found.prompt != call.prompt and self._prompts == "strict":
            raise _diverged(f"{call.place} with another prompt", call.place)
        if found.prompt != call.prompt and self._prompts == "warn":
            self.changed.append(call.place)
        finish: Any = found.finish
        used = UsedTokens(input=found.tokens - found.output_tokens, output=found.output_tokens)
        if found.native:
            return GeneratedObject(value=found.value, finish=finish), used
        return GeneratedText(text=found.text, finish=finish), used

    def require_well(self, place: str) -> None:
        """Check that a step did not fail when it was captured, as one that took too long did.

        Raises:
            HistoryError: What it failed with.
        """
        if (failed := self._failure()) is not None and failed.place == place:
            raise failed.error()

    def pass_failure(self, place: str) -> None:
        """Go on behind a step that failed, which was taken over here as there."""
        if (failed := self._failure()) is not None and failed.place == place:
            self._next += 1

    def _failure(self) -> TapedFailure | None:
        found = self._records[self._next] if self._next < len(self._records) else None
        return found if isinstance(found, TapedFailure) else None

    def _require_no_failure(self) -> None:
        if (failed := self._failure()) is not None:
            raise failed.error()

    def require_end(self) -> None:
        """Check that the whole tape was used.

        Raises:
            ReplayDivergedError: `REPLAY_DIVERGED`, when something is left.
        """
        if self._next < len(self._records):
            raise _diverged("the end of the run", _named(self._records[self._next]))

    def _take(self) -> Record | None:
        if self._next == len(self._records):
            return None
        self._next += 1
        return self._records[self._next - 1]


def called(process_id: str, planned: PlannedPrompt, digests: PromptDigests) -> TapedCall:
    """Name a call by its place and its prompt."""
    receipt = planned.receipt
    return TapedCall(
        process=process_id,
        task=receipt.task_id,
        step=receipt.step,
        attempt=receipt.attempt,
        prompt=digests.digest(process_id, planned),
    )


def _named(record: Record | None) -> str:
    if record is None:
        return "the end of the tape"
    return "an entry" if isinstance(record, TapedTime) else record.place


def _diverged(came: str, expected: str) -> ReplayDivergedError:
    return ReplayDivergedError(
        f"A replay came to {came}, and the tape went on with {expected}.",
        fix="See what changed since the run was captured, or capture it anew.",
        came=came,
        expected=expected,
    )
