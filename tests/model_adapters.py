"""The adapters under test, each with its SDK against a loopback server."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

os.environ["LITELLM_LOCAL_MODEL_COST_MAP"] = "True"  # else its import reaches for the network

from thusfar.dialects import dialect
from thusfar.messages import Message, Text, ToolCall, ToolResult
from thusfar.models.anthropic import Anthropic
from thusfar.models.gemini import Gemini
from thusfar.models.litellm import LiteLLM
from thusfar.models.openai_chat import OpenAIChat
from thusfar.models.openai_responses import OpenAIResponses
from thusfar.models.port import ModelReply, Replied
from thusfar.models.received import body_of
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
        return self.at(server.base_url(self.wire), **options)

    def at(self, base_url: str, **options: Any) -> SdkModel:
        """Make a model that calls an address."""
        return self.kind(self.model, **{"base_url": base_url, "api_key": "a-key", **options})

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

    def tidied(self, messages: list[Any]) -> list[Any]:
        """Write messages of an SDK as JSON, without what only answers have."""
        made = []
        for message in messages:
            body = body_of(message)
            if self.wire == "openai-chat":
                nulls = self.kind is not LiteLLM
                body.pop("annotations", None)
                body = {k: v for k, v in body.items() if nulls or v is not None}
            made.append(body)
        return made

    def settings(self, number: float | None, tier: str) -> dict[str, Any]:
        """Write two settings that the SDK takes; without a number only one of them."""
        if self.wire == "anthropic":
            named, tiered = "stop_sequences", "service_tier"
            return {tiered: tier} if number is None else {named: [str(number)], tiered: tier}
        tiered = "candidate_count" if self.wire == "gemini" else "service_tier"
        value: Any = len(tier) if self.wire == "gemini" else tier
        return {tiered: value} if number is None else {"temperature": number, tiered: value}

    def as_arguments(self, settings: dict[str, Any]) -> dict[str, Any]:
        """Write settings as arguments of a request."""
        return {"config": settings} if self.wire == "gemini" else settings

    def settings_sent(self, body: Any) -> dict[str, Any]:
        """Find the settings in a body that was sent."""
        if self.wire == "gemini":
            sent = body["generationConfig"]
            return {"temperature": sent["temperature"], "candidate_count": sent["candidateCount"]}
        names = ("temperature", "stop_sequences", "service_tier")
        return {name: body[name] for name in names if name in body}

    def tools(self) -> dict[str, Any]:
        """Write the definition of a tool named `weather`, as the SDK takes it."""
        schema = {"type": "object", "properties": {"city": {"type": "string"}}}
        plain = {"name": "weather", "description": "Tells the weather."}
        match self.wire:
            case "openai-chat":
                return {
                    "tools": [{"type": "function", "function": {**plain, "parameters": schema}}]
                }
            case "openai-responses":
                return {"tools": [{"type": "function", **plain, "parameters": schema}]}
            case "anthropic":
                return {"tools": [{**plain, "input_schema": schema}]}
        declared = {**plain, "parameters_json_schema": schema}
        return {"config": {"tools": [{"function_declarations": [declared]}]}}

    def results(self, calls: Iterable[ToolCall]) -> list[Any]:
        """Write the results of calls, as the wire takes them."""
        answers = tuple(ToolResult(call.id, call.name, (Text("sunny"),)) for call in calls)
        wire = dialect(self.wire)
        if self.wire in ("anthropic", "gemini"):
            return list(wire.lower(Message("tool", answers)))
        return [made for answer in answers for made in wire.lower(Message("tool", (answer,)))]

    def sent_messages(self, body: Any) -> list[Any]:
        """Find the messages in a body that was sent."""
        found: list[Any] = body[self.messages_name]
        return found

    def for_own_client(self, server: LoopbackServer) -> dict[str, Any]:
        """Give the options beside a client of the caller: LiteLLM's has no address of its own."""
        if self.kind is LiteLLM:
            return {"base_url": server.base_url(self.wire), "api_key": "a-key"}
        return {}

    def _content(self, text: str) -> dict[str, Any]:
        return {"parts": [{"text": text}]} if self.wire == "gemini" else {"content": text}


ADAPTERS = (
    Adapter("openai-chat", OpenAIChat, "gpt-5", ("openai",)),
    Adapter("openai-responses", OpenAIResponses, "gpt-5", ("openai",)),
    Adapter("anthropic", Anthropic, "claude-sonnet-5", ("anthropic",)),
    Adapter("gemini", Gemini, "gemini-3-pro", ("google.genai",)),
    Adapter("openai-chat", LiteLLM, "openai/gpt-4.1", ("litellm", "openai")),
)

# LiteLLM leaves its connections to the garbage collector, and uses what its packages deprecate.
QUIET = ("ignore",)


async def closing(model: SdkModel) -> None:
    """Close what a model made for the running event loop."""
    await model.aclose()


def answered_by_each_face(adapter: Adapter, answer: Any, **options: Any) -> list[ModelReply]:
    """Ask for the same answer whole and streamed, without an event loop and on one.

    Each face has a server of its own, so that their ids are the same.
    """
    arguments = adapter.asking("Hello")

    def whole(model: SdkModel) -> ModelReply:
        return model.generate_sync(arguments)

    def streamed(model: SdkModel) -> ModelReply:
        *_, last = model.stream_sync(arguments)
        assert isinstance(last, Replied)
        return last.reply

    async def awhole(model: SdkModel) -> ModelReply:
        reply = await model.generate(arguments)
        await model.aclose()
        return reply

    async def astreamed(model: SdkModel) -> ModelReply:
        events = [event async for event in model.stream(arguments)]
        await model.aclose()
        assert isinstance(events[-1], Replied)
        return events[-1].reply

    replies = []
    for face in (whole, streamed, awhole, astreamed):
        with LoopbackServer(answer) as server:
            model = adapter.to(server, **options)
            made = face(model)
            replies.append(made if isinstance(made, ModelReply) else asyncio.run(made))
            model.close()
    return replies
