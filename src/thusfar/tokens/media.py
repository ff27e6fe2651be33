"""Media: what an image, a sound or a document costs, whatever its size in bytes.

Providers charge by pixels, seconds and pages, which the base64 text of a message does not show
without decoding it. One fixed number a kind keeps counts equal over all wire formats.
"""

from __future__ import annotations

from typing import Final

from thusfar.facts import MediaKind

# image: Claude 3 and 4 scale an image of more than about 1,600 tokens down to it
#   (https://docs.anthropic.com/en/docs/vision, a stored copy, read 2026-11-30). Newer models may
#   take several times as much; Gemini takes 258 a tile.
# audio: one minute, at the 32 tokens a second that Gemini takes
#   (https://discuss.ai.google.dev/t/84379, which quotes its documentation, read 2026-11-30).
# file: one page of a PDF, at the most that Claude is said to take for its text; not confirmed.
MEDIA_TOKENS: Final[dict[MediaKind, int]] = {"image": 1600, "audio": 1920, "file": 3000}
"""Estimated tokens of one piece of media of each kind."""
