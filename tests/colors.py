"""A turn in each of the four ways that users have."""

from __future__ import annotations

from typing import Any

from thusfar import generate, generate_sync, stream, stream_sync

COLORS = ("sync", "async", "sync stream", "stream")


async def turn_in(color: str, words: Any = None, **options: Any) -> Any:
    """Generate a turn in one of `COLORS`."""
    match color:
        case "sync":
            return generate_sync(words, **options)
        case "async":
            return await generate(words, **options)
        case "sync stream":
            return stream_sync(words, **options).result()
    return await stream(words, **options).result()
