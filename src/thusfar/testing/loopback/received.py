"""Received: one request as it came in, and which endpoint of which wire it is for."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Final, Literal

import msgspec

from thusfar.dialects.rules import Finding

WIRES: Final = ("openai-chat", "openai-responses", "anthropic", "gemini")
Kind = Literal["generate", "count", "compact"]


class Received(msgspec.Struct, frozen=True, kw_only=True):
    """One request.

    Attributes:
        wire: Name of the dialect it is written in.
        kind: What it asks for: an answer, a count of its tokens, or a compaction.
        path: Path of the request, without the query.
        query: The query, undecoded; empty when there is none.
        headers: Headers by their names in lower case.
        raw: The body, byte for byte.
        body: The body, parsed.
        findings: What the provider would refuse, by the wire rules of the dialect; looked for
            in each request, whether the server refuses them or not.
    """

    wire: str
    kind: Kind
    path: str
    query: str = ""
    headers: Mapping[str, str] = {}
    raw: bytes = b""
    body: Any = None
    findings: tuple[Finding, ...] = ()

    @property
    def model(self) -> str:
        """Name of the model that is asked; empty when there is none."""
        if self.wire == "gemini":
            found = _GEMINI.fullmatch(self.path)
            return found.group("model") if found else ""
        model = self.body.get("model") if isinstance(self.body, dict) else None
        return model if isinstance(model, str) else ""

    @property
    def stream(self) -> bool:
        """Whether the answer is asked for piece by piece."""
        if self.wire == "gemini":
            return self.path.endswith(":streamGenerateContent")
        return isinstance(self.body, dict) and self.body.get("stream") is True


_GEMINI: Final = re.compile(r".*/models/(?P<model>[^:/]+):(?P<method>[A-Za-z]+)")
_GEMINI_KINDS: Final[dict[str, Kind]] = {
    "generateContent": "generate",
    "streamGenerateContent": "generate",
    "countTokens": "count",
}
_PATHS: Final[dict[str, tuple[str, Kind]]] = {
    "/chat/completions": ("openai-chat", "generate"),
    "/responses": ("openai-responses", "generate"),
    "/responses/input_tokens": ("openai-responses", "count"),
    "/responses/compact": ("openai-responses", "compact"),
    "/messages": ("anthropic", "generate"),
    "/messages/count_tokens": ("anthropic", "count"),
}


def endpoint(path: str) -> tuple[str, Kind] | None:
    """Find the wire and what is asked for by how the path ends; `None` for a path of no wire.

    What stands before differs between those who serve a wire: `/v1`, `/api/v1`, a project.
    """
    for ending, found in _PATHS.items():
        if path.endswith(ending):
            return found
    matched = _GEMINI.fullmatch(path)
    kind = _GEMINI_KINDS.get(matched.group("method")) if matched else None
    return ("gemini", kind) if kind else None
