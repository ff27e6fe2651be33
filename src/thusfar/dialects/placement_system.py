"""System values: texts joined to the value that a wire keeps outside the list of messages."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any


def joined_system(system: Any, texts: Sequence[str]) -> Any:
    """Join texts to a system value, in its own form.

    Args:
        system: Text, a Gemini content, or a list of blocks; empty or `None` for none.
        texts: What is joined behind it, in order.
    """
    if not texts:
        return system
    if not system:
        return "\n\n".join(texts)
    if isinstance(system, str):
        return "\n\n".join([system, *texts])
    if isinstance(system, Mapping):
        added = [{"text": text} for text in texts]
        return {**system, "parts": [*system.get("parts", ()), *added]}
    blocks = list(system)
    typed = any(isinstance(block, Mapping) and "type" in block for block in blocks)
    return [*blocks, *({"type": "text", "text": t} if typed else {"text": t} for t in texts)]


def joined_blocks(system: Any, blocks: Sequence[Mapping[str, Any]], *, typed: bool) -> Any:
    """Join blocks that say more than text to a system value, which becomes a list of blocks.

    Args:
        system: As for `joined_system`, but no Gemini content.
        blocks: Blocks of the same wire.
        typed: Whether a text block of the wire names its type.
    """
    if isinstance(system, str):
        own: list[Any] = [{"type": "text", "text": system} if typed else {"text": system}]
        return [*(own if system else []), *blocks]
    return [*(system or ()), *blocks]
