"""Threads: durable transcripts with branches, written once and driven sync or async."""

from __future__ import annotations

from thusfar.thread.agents_sdk import agents_sessions
from thusfar.thread.artifacts import Artifact
from thusfar.thread.handle import SyncThread, Thread, threads, threads_sync
from thusfar.thread.langgraph import langgraph_threads
from thusfar.thread.searching import Found
from thusfar.thread.tallying import Window
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
    "Artifact",
    "Branch",
    "Entry",
    "Erasure",
    "Found",
    "SyncThread",
    "Thread",
    "ThreadCommit",
    "ThreadInfo",
    "ThreadSnapshot",
    "Transcript",
    "Variant",
    "Verification",
    "Window",
    "agents_sessions",
    "langgraph_threads",
    "threads",
    "threads_sync",
]
