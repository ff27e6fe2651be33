"""Framing: the tokens that a provider adds around messages and tools."""

from __future__ import annotations

from types import MappingProxyType
from typing import Final

import msgspec


class Framing(msgspec.Struct, frozen=True):
    """Tokens beside the text of a request.

    Attributes:
        base: For each request. Unit: tokens.
        per_message: For each message. Unit: tokens.
        tools: Once, when there is any tool. Unit: tokens.
        per_tool: For each tool. Unit: tokens.
    """

    base: int
    per_message: int
    tools: int
    per_tool: int


# Live measurements published for GPT-5 and Claude 4.5; Gemini adds none. What a provider reports
# about a request corrects them.
FRAMING: Final = MappingProxyType(
    {
        "openai": Framing(5, 4, 24, 6),
        "anthropic": Framing(6, 2, 549, 53),
        "google": Framing(0, 0, 0, 0),
    }
)
"""Framing by vendor."""

OTHER_VENDOR: Final = Framing(3, 4, 24, 12)  # rather too much than too little
NO_MODEL: Final = Framing(0, 4, 24, 6)  # caps on a transcript: a request is not in view
NONE: Final = Framing(0, 0, 0, 0)  # a counter of the caller is taken at its word
