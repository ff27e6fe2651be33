"""Media: what an image, a sound or a document costs, whatever its size in bytes.

Providers charge by pixels, seconds and pages, which the base64 text of a message does not show
without decoding it. One fixed number a kind keeps counts equal over all wire formats.
"""

from __future__ import annotations

from typing import Final

from thusfar.facts import MediaKind

# image: an image is scaled down to about 1,600 tokens by most Claude models
#   (https://docs.anthropic.com/en/docs/vision, read 2026-11-30); Gemini takes 258 a tile.
# audio: Gemini takes 32 tokens a second; one minute
#   (https://ai.google.dev/gemini-api/docs/tokens, read 2026-11-30).
# file: one page of a PDF is 1,500 to 3,000 tokens of text on Claude
#   (https://docs.anthropic.com/en/docs/build-with-claude/pdf-support, read 2026-11-30).
MEDIA_TOKENS: Final[dict[MediaKind, int]] = {"image": 1600, "audio": 1920, "file": 3000}
"""Estimated tokens of one piece of media of each kind."""
