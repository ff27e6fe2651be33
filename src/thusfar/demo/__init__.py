"""The demo: one long conversation, and what three policies make of it.

The conversation is our own invention. It is in openai-chat format, one message a line, and comes
with the package so that the demo needs nothing else.
"""

from __future__ import annotations

import json
from importlib.resources import files
from typing import Any

from thusfar.demo.steps import LIMIT, RECENT_TOKENS, RULE_AT, Step, run_steps

__all__ = ["LIMIT", "RECENT_TOKENS", "RULE_AT", "Step", "run_steps", "transcript"]


def transcript() -> list[dict[str, Any]]:
    """Read the conversation: a maintenance agent and the office of a ferry line, 192 messages."""
    text = files(__name__).joinpath("transcript.json").read_text(encoding="utf-8")
    messages: list[dict[str, Any]] = json.loads(text)
    return messages
