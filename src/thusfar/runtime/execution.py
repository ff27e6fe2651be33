"""Execution: the arguments of one `generate`, and the questions that its steps ask.

Source:
    docs/spec/generate.md#turns
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final, TypedDict

from thusfar.budget import InputBudget
from thusfar.dialects import Dialect, dialect
from thusfar.errors import UnsupportedPartError
from thusfar.messages import Message, ToolCall
from thusfar.receipt import ReceiptWarning
from thusfar.runtime.crossing import written_in
from thusfar.runtime.edge import Runtime
from thusfar.runtime.planned import Planned
from thusfar.runtime.schemas import OutputSchema
from thusfar.runtime.tools import Tool
from thusfar.thread.values import ThreadCommit

MAX_STEPS: Final = 16  # requests in one turn; enough for tool work, too few for a runaway
TAIL: Final = 64  # messages looked at for calls that wait
MAX_RETRIES: Final = 2  # answers asked for anew because they did not fit the output schema


class GenerateOptions(TypedDict, total=False):
    """The arguments of a generated turn besides its prompt; all are optional.

    Attributes:
        messages: The caller's transcript, in any dialect; it wins over everything, also empty.
        input: What the prompt is about.
        model: A model or its name, instead of the prompt's.
        thread: A `Thread`, instead of one in `use`.
        use: More entries, behind the prompt's.
        system: Another system text.
        tools: Other tools.
        output: Another output.
        budget: Limits that win field by field.
        max_output_tokens: Another output limit.
        max_steps: Most requests in the turn.
        max_retries: How often an answer that does not fit the output is asked for anew.
        approvals: What became of pending calls, by the ids that `Result.pending` has.
        prepare_step: Amends a request before it is planned; see `plan`.
        resources: What that function may read, by name; see `plan`.
        counter: How tokens are counted; see `plan`.
        count_tokens: Whether the provider is asked to count where its answer can change what is
            sent.
        leave_out: Whether parts that have no form on the wire of the model are left out and
            reported, when messages come from another provider; else they raise.
        conversation: Name of the conversation, for messages of the caller; see `plan`.
        runtime: What requests share. `None`: one for the thread's store.
    """

    messages: Any
    input: Any
    model: Any
    thread: Any
    use: Sequence[Any]
    system: Any
    tools: Sequence[Any] | None
    output: Any
    budget: InputBudget | None
    max_output_tokens: int | None
    max_steps: int
    max_retries: int
    approvals: Mapping[str, Any] | None
    prepare_step: Any
    resources: Mapping[str, Any]
    counter: Any
    count_tokens: bool
    leave_out: bool
    conversation: str | None
    runtime: Runtime | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Execution:
    """One turn to be generated, with everything settled.

    Attributes:
        model: The model, which fulfils the port.
        messages: Messages of the caller; `None`: there are none.
        thread: The thread; `None` where messages win or there is none.
        turn: The user's messages, canonical.
        system: The system value.
        use: Policy and contributors, tools written as the wire has them.
        tools: Definitions, as the wire has them.
        toolbox: Tools that are run here, by name.
        output: The output schema.
        budget: The limits.
        max_output_tokens: Output limit.
        max_steps: Most requests.
        max_retries: Most repetitions for the output's sake.
        approvals: What became of pending calls.
        options: More arguments for every plan of the turn.
        prepare_step: Amends each request before it is planned.
        runtime: What requests share.
        streaming: Whether answers are handed out piece by piece.
        spoken_in: Dialect of the caller's messages; `None` where there are none.
        planned_in: Dialect that messages outside a thread are planned in.
    """

    model: Any
    messages: Any = field(default=None, repr=False)
    thread: Any = None
    turn: tuple[Any, ...] = field(default=(), repr=False)
    system: Any = field(default=None, repr=False)
    use: tuple[Any, ...] = ()
    tools: tuple[Any, ...] = ()
    toolbox: Mapping[str, Tool] = field(default_factory=dict)
    output: OutputSchema | None = None
    budget: InputBudget | None = None
    max_output_tokens: int | None = None
    max_steps: int = MAX_STEPS
    max_retries: int = MAX_RETRIES
    approvals: Mapping[str, Any] = field(default_factory=dict, repr=False)
    options: Mapping[str, Any] = field(default_factory=dict)
    prepare_step: Any = None
    runtime: Runtime | None = None
    streaming: bool = False
    spoken_in: Dialect | None = None
    planned_in: Dialect | None = None

    def plan_options(self, said: Sequence[Message]) -> dict[str, Any]:
        """Write what a plan of the turn is given, beside what changes from step to step.

        Args:
            said: The messages of the turn so far.
        """
        return {
            **self.options,
            "system": self.system,
            "tools": self.tools,
            "schema": self.output.json_schema if self.output is not None else None,
            "use": self.use,
            "turn": self.lowered_turn(said),
            "thread": self.thread,
            "budget": self.budget,
            "max_output_tokens": self.max_output_tokens,
        }

    def speaks(self, messages: Sequence[Message]) -> bool:
        """Tell whether messages of the turn have a form in the dialect that is planned in."""
        try:
            self.lowered_turn(messages)
        except UnsupportedPartError:
            return False
        return True

    def canonical(self) -> Execution:
        """Plan messages of the caller as canonical ones from now on.

        What another wire said, and what has no form on that of the caller, keeps everything then.
        """
        own = dialect("thusfar")
        read = None if self.spoken_in is None else self.spoken_in.lift
        messages = self.messages
        if messages is not None and read is not None and self.planned_in is not own:
            messages = [read(message) for message in messages]
        options = {**self.options, "dialect": own}
        return replace(self, messages=messages, planned_in=own, options=options)

    def lowered_turn(self, messages: Sequence[Message]) -> tuple[Any, ...]:
        """Write messages of the turn in the dialect that the request is planned in.

        Raises:
            UnsupportedPartError: `UNSUPPORTED_PART`, for a part with no form there.
        """
        if self.thread is not None or self.planned_in is None:
            return tuple(messages)
        return tuple(made for m in messages for made in self.planned_in.lower(m))

    def prepared(self, messages: Sequence[Message]) -> tuple[Any, ...]:
        """Write messages of the turn as the next request will find them."""
        if self.thread is not None or self.planned_in is None:
            return tuple(messages)
        return written_in(messages, self.planned_in)

    def told(self, messages: Sequence[Message]) -> tuple[Any, ...]:
        """Write what the turn added as the caller reads it: canonical, or as their messages are."""
        if self.messages is None or self.spoken_in is None:
            return tuple(messages)
        return written_in(messages, self.spoken_in)

    def tail(self) -> list[Message]:
        """Read the newest of the caller's messages, for calls that wait."""
        if not self.messages or self.planned_in is None:
            return []
        read, newest = self.planned_in.lift, TAIL
        while True:
            messages = [read(message) for message in self.messages[-newest:]]
            if newest >= len(self.messages) or any(m.role != "tool" for m in messages):
                return messages
            newest *= 4


@dataclass(frozen=True, slots=True)
class PlanRequest:
    """Plan a request; the answer is a `Planned`."""

    messages: Any
    model: Any
    options: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Ask:
    """Call the model; the answer is a `ModelReply`."""

    model: Any
    arguments: Mapping[str, Any]


@dataclass(slots=True)
class AskPiece:
    """Take the next event of a streamed answer; `None` at its end.

    Attributes:
        model: The model.
        arguments: As for `Ask`.
        events: The stream, opened at the first piece.
    """

    model: Any
    arguments: Mapping[str, Any]
    events: Any = None


@dataclass(frozen=True, slots=True)
class AskApproval:
    """Ask which calls wait for somebody to allow them; the answer is a list, in their order."""

    calls: Sequence[tuple[Tool | None, ToolCall]]


@dataclass(frozen=True, slots=True)
class RunTools:
    """Run tools; the answer is a list of result messages, in the order of the calls."""

    calls: Sequence[tuple[Tool | None, ToolCall]]
    planned: Planned | None


@dataclass(frozen=True, slots=True)
class ReadTail:
    """Read the newest messages of a thread; the answer is a `Transcript`."""

    thread: Any
    newest: int


@dataclass(frozen=True, slots=True)
class StoreTurn:
    """Take in the accepted turn; the answer is a `Taken`.

    Attributes:
        planned: The last request.
        thread: Where it is stored; `None`: nowhere.
        messages: What is stored, canonical.
        prepared: The same in the dialect of the caller's messages, for preparation ahead.
        after: Id of the message that the first request of the turn stood behind.
        open: Whether calls of it stay open.
    """

    planned: Planned
    thread: Any
    messages: tuple[Message, ...]
    prepared: tuple[Any, ...]
    after: str | None
    open: bool


@dataclass(frozen=True, slots=True)
class Taken:
    """What became of an accepted turn.

    Attributes:
        commit: Proof that it is stored; `None` without a thread.
        warnings: Notes of the preparation ahead.
    """

    commit: ThreadCommit | None
    warnings: tuple[ReceiptWarning, ...]
