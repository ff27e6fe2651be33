"""A loopback server that speaks four provider wires, for tests that reach no network.

It works after a bare install: OpenAI Chat Completions, OpenAI Responses, Anthropic Messages and
Gemini generateContent, whole and streamed, with counts of tokens, compaction and faults.
"""

from __future__ import annotations

from thusfar.models.port import Usage
from thusfar.testing.loopback.answering import count_body
from thusfar.testing.loopback.answers import Answer, Finish
from thusfar.testing.loopback.faults import Fault, Problem, Trouble
from thusfar.testing.loopback.received import WIRES, Received
from thusfar.testing.loopback.server import LoopbackServer

__all__ = [
    "WIRES",
    "Answer",
    "Fault",
    "Finish",
    "LoopbackServer",
    "Problem",
    "Received",
    "Trouble",
    "Usage",
    "count_body",
]
