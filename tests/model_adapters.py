"""The adapters under test, each with its SDK against a loopback server."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from thusfar.models.anthropic import Anthropic
from thusfar.models.gemini import Gemini
from thusfar.models.litellm import LiteLLM
from thusfar.models.openai_chat import OpenAIChat
from thusfar.models.openai_responses import OpenAIResponses
from thusfar.models.sdk import SdkModel
from thusfar.testing.loopback import LoopbackServer


@dataclass(frozen=True)
class Adapter:
    """One adapter.

    Attributes:
        wire: Name of the wire format.
        kind: Its class.
        model: Name of a model, as the SDK takes it.
        sdks: Packages that its SDK consists of.
    """

    wire: str
    kind: Callable[..., SdkModel]
    model: str
    sdks: tuple[str, ...]

    def __str__(self) -> str:
        return getattr(self.kind, "__name__", self.wire)

    def to(self, server: LoopbackServer, **options: Any) -> SdkModel:
        """Make a model that calls a loopback server."""
        made = {"base_url": server.base_url(self.wire), "api_key": "a-key", **options}
        return self.kind(self.model, **made)

    def asking(self, *said: str, **more: Any) -> dict[str, Any]:
        """Write the arguments of a request: texts of the user and the model in turn."""
        answerer = "model" if self.wire == "gemini" else "assistant"
        messages = [
            {"role": (answerer if place % 2 else "user"), **self._content(text)}
            for place, text in enumerate(said)
        ]
        return {"model": self.model, self.messages_name: messages, **more}

    @property
    def messages_name(self) -> str:
        """What the SDK calls the messages."""
        return {"gemini": "contents", "openai-responses": "input"}.get(self.wire, "messages")

    def _content(self, text: str) -> dict[str, Any]:
        return {"parts": [{"text": text}]} if self.wire == "gemini" else {"content": text}


ADAPTERS = (
    Adapter("openai-chat", OpenAIChat, "gpt-5", ("openai",)),
    Adapter("openai-responses", OpenAIResponses, "gpt-5", ("openai",)),
    Adapter("anthropic", Anthropic, "claude-sonnet-5", ("anthropic",)),
    Adapter("gemini", Gemini, "gemini-3-pro", ("google.genai",)),
    Adapter("openai-chat", LiteLLM, "openai/gpt-5", ("litellm", "openai")),
)
