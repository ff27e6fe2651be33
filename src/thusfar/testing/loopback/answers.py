"""Answers: what a loopback server is to say, in neutral form; every wire writes it its own way."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, Literal

import msgspec

from thusfar.codec import json_text
from thusfar.errors import OptionsError
from thusfar.messages import Native, Reasoning, Text, ToolCall
from thusfar.models.port import Usage

Finish = Literal[
    "stop",
    "length",
    "tool-calls",
    "content-filter",
    "refusal",
    "pause",
    "compaction",
    "context-window",
    "failed",
    "blocked",
]
Said = Text | Reasoning | ToolCall | Native


class Answer(msgspec.Struct, frozen=True, kw_only=True):
    """One answer of a model, in neutral form.

    Reasoning comes first, then text, then tool calls; `parts` gives another order.

    Attributes:
        text: What is said. On the finish `refusal` it is the text of the refusal.
        tool_calls: Calls, in order, of one parallel group. An id of `None` gets one from the
            server; on Gemini it stays without.
        reasoning: Text, or `Reasoning` with a signature, or several. A signature that a wire
            requires is made up when there is none; on Gemini it must be base64.
        structured: A JSON value that is said as the text; not beside `text`.
        finish: Why it ended. `None`: `tool-calls` when there are calls, else `stop`. Anthropic
            alone says `pause`, `compaction` and `context-window`, Responses alone `failed`, and
            Gemini alone `blocked`: the prompt was refused, and nothing was said.
        usage: Tokens it reports. What is `None` is counted by the server; for the cache that
            is 0.
        compaction: Summary of a server-side compaction that stands before the rest: on
            Anthropic the text of the block, on Responses what its encrypted content is made of.
        edits: On Anthropic, the applied edits of context management, as on the wire.
        parts: All that is said, in order; then text, calls, reasoning and structured are empty.
            A `Native` part is written as it is, on its own wire only.
        model: Name of the model that answers; empty: the one that was asked.

    Raises:
        OptionsError: `INVALID_OPTIONS`, when what is said is given twice.
    """

    text: str = ""
    tool_calls: tuple[ToolCall, ...] = ()
    reasoning: str | Reasoning | tuple[Reasoning, ...] = ()
    structured: Any = None
    finish: Finish | None = None
    usage: Usage = Usage()
    compaction: str | None = None
    edits: tuple[dict[str, Any], ...] = ()
    parts: tuple[Said, ...] = ()
    model: str = ""

    if TYPE_CHECKING:

        def __init__(
            self,
            *,
            text: str = "",
            tool_calls: Iterable[ToolCall] = (),
            reasoning: str | Reasoning | Iterable[Reasoning] = (),
            structured: Any = None,
            finish: Finish | None = None,
            usage: Usage = Usage(),  # noqa: B008 - as the field above
            compaction: str | None = None,
            edits: Iterable[dict[str, Any]] = (),
            parts: Iterable[Said] = (),
            model: str = "",
        ) -> None: ...

    def __post_init__(self) -> None:
        if self.text and self.structured is not None:
            raise OptionsError(
                "An answer was given both a text and a structured value.", fix="Pass one of them."
            )
        put = msgspec.structs.force_setattr
        for name in ("tool_calls", "edits", "parts"):
            put(self, name, tuple(getattr(self, name)))
        if self.parts and self._spoken():
            raise OptionsError(
                "An answer was given both its parts and what they are made from.",
                fix="Pass parts alone, or none.",
            )

    @property
    def said(self) -> tuple[Said, ...]:
        """All that is said, in order."""
        return self.parts or self._spoken()

    @property
    def ended(self) -> Finish:
        """Why it ended, decided where it was left open."""
        calls = any(isinstance(part, ToolCall) for part in self.said)
        return self.finish or ("tool-calls" if calls else "stop")

    def _spoken(self) -> tuple[Said, ...]:
        text = self.text if self.structured is None else json_text(self.structured)
        thoughts = self.reasoning
        if isinstance(thoughts, str):
            thoughts = (Reasoning(thoughts),) if thoughts else ()
        elif isinstance(thoughts, Reasoning):
            thoughts = (thoughts,)
        return (*thoughts, *((Text(text),) if text else ()), *self.tool_calls)
