"""Threads: durable transcripts with branches, written once and driven sync or async."""

from __future__ import annotations

from thusfar.thread.handle import SyncThread, Thread
from thusfar.thread.values import (
    Branch,
    Entry,
    Erasure,
    ThreadCommit,
    ThreadInfo,
    ThreadSnapshot,
    Transcript,
    Variant,
    Verification,
)

__all__ = [
    "Branch",
    "Entry",
    "Erasure",
    "SyncThread",
    "Thread",
    "ThreadCommit",
    "ThreadInfo",
    "ThreadSnapshot",
    "Transcript",
    "Variant",
    "Verification",
]
