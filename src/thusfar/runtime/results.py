"""Results: what a generated turn was, step by step, and what came of it.

Source:
    docs/spec/generate.md#results
"""

from __future__ import annotations

from typing import Any

import msgspec

from thusfar.messages import Message, ToolCall
from thusfar.models.port import ModelReply, Usage
from thusfar.planner.receipt import RequestReceipt
from thusfar.receipt import ReceiptWarning
from thusfar.summaries.values import Finish
from thusfar.thread.values import ThreadCommit


class Step(msgspec.Struct, frozen=True, kw_only=True):
    """One request to the model and its answer.

    Attributes:
        request: Receipt of the request.
        reply: The answer.
        accepted: Whether the answer is part of the turn; a rejected one is not.
        reason: Why it was made.
    """

    request: RequestReceipt
    reply: ModelReply
    accepted: bool
    reason: str


class Result(msgspec.Struct, frozen=True, kw_only=True):
    """An accepted turn.

    Attributes:
        text: The text of the final answer.
        output: The validated answer, where an output was asked for; of its type where that is a
            class, else JSON values.
        messages: What the turn adds to the transcript: with a thread, or without messages of
            the caller, canonical and with the user's message; to messages of the caller, in
            their dialect and without what they held already.
        steps: The requests, in order.
        usage: All steps together.
        finish: Why the last answer ended.
        pending: Calls that wait: for approval, or for whoever runs those tools. Go on with
            `approvals=` by their ids; a call that came without one has the name of its tool here,
            numbered from the second on.
        thread_commit: Proof that the turn is stored; `None` without a thread.
        warnings: Of all receipts and of the commit, each once.
    """

    text: str
    output: Any = None
    messages: tuple[Any, ...] = ()
    steps: tuple[Step, ...] = ()
    usage: Usage = Usage()
    finish: Finish = "stop"
    pending: tuple[ToolCall, ...] = ()
    thread_commit: ThreadCommit | None = None
    warnings: tuple[ReceiptWarning, ...] = ()

    @property
    def request(self) -> RequestReceipt:
        """Receipt of the last request."""
        return self.steps[-1].request


class StepPlanned(msgspec.Struct, frozen=True, tag="planned"):
    """On a stream: a request is about to be sent."""

    request: RequestReceipt


class ToolAnswered(msgspec.Struct, frozen=True, tag="tool_result"):
    """On a stream: a tool was run.

    Attributes:
        message: The result.
    """

    message: Message


class AnswerRejected(msgspec.Struct, frozen=True, tag="rejected"):
    """On a stream: the answer so far did not fit the output schema and is asked for anew."""

    attempt: int


class Completed(msgspec.Struct, frozen=True, tag="completed"):
    """On a stream: the turn is accepted, and stored where a thread is bound. The last event."""

    result: Result
