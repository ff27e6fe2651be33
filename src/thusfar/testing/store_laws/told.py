"""What the laws tell a thread: small messages, and the refusals they expect."""

from __future__ import annotations

# ruff: noqa: A002 - `id` and `open` are the words of the contract
from collections.abc import Iterator
from contextlib import contextmanager

from thusfar.errors import HistoryError
from thusfar.messages import Message, Text, ToolCall, ToolResult
from thusfar.storage.base import Store
from thusfar.thread import SyncThread, Thread


def user(id: str | None, text: str = "…") -> Message:
    """A user message."""
    return Message("user", (Text(text),), id=id)


def assistant(id: str | None, text: str = "…") -> Message:
    """An answer."""
    return Message("assistant", (Text(text),), id=id)


def calling(id: str, *call_ids: str) -> Message:
    """An assistant message with calls."""
    return Message("assistant", tuple(ToolCall(c, "look") for c in call_ids), id=id)


def result(id: str, call_id: str, text: str = "ok") -> Message:
    """A tool's result."""
    return Message("tool", (ToolResult(call_id, parts=(Text(text),)),), id=id)


def thread(store: Store, id: str = "t", *, owner: str = "main") -> SyncThread:
    """A thread of the store, for sync use."""
    return Thread(id, store=store, owner=owner).sync


def conversation(store: Store, turns: int = 3, id: str = "t") -> SyncThread:
    """A thread of user and assistant messages u1, a1, u2, a2, …, each a group of its own."""
    told = thread(store, id)
    for i in range(1, turns + 1):
        told.append(user(f"u{i}"))
        told.append(assistant(f"a{i}"))
    return told


@contextmanager
def refusal(code: str) -> Iterator[None]:
    """Expect a typed error of this code."""
    refused: HistoryError | None = None
    try:
        yield
    except HistoryError as error:
        refused = error
    assert refused is not None, f"not refused with {code}"
    assert refused.code == code, f"refused with {refused.code} instead of {code}"
    assert refused.fix, "an error named no fix"


def sound(told: SyncThread) -> None:
    """Expect that everything stored of a thread is consistent."""
    found = told.verify()
    assert found.ok, f"verify found: {[(p.message, p.facts) for p in found.problems]}"
