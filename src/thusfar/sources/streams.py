"""Streams: a recorded streamed reply, folded into the message it adds up to.

The result is the message that the same reply would have been without streaming. A stream that
broke off gives what had arrived, and says so in `facts["complete"]`; a reply that ends inside
the arguments of a tool call cannot be told and is refused.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

from thusfar.codec import parse_json
from thusfar.errors import TranscriptError
from thusfar.sources.loaded import Loaded, require_fit, unreadable

Event = Mapping[str, Any]
_ENDED: Final = ("response.completed", "response.incomplete", "response.failed")
_ANTHROPIC: Final = frozenset(
    {
        "message_start",
        "content_block_start",
        "content_block_delta",
        "content_block_stop",
        "message_delta",
        "message_stop",
    }
)
_GROWS: Final = {
    "text_delta": "text",
    "thinking_delta": "thinking",
    "signature_delta": "signature",
    "compaction_delta": "content",
}


def fold(events: Sequence[Any], lines: Sequence[int]) -> Loaded:
    """Fold the events of one streamed reply.

    Args:
        events: The parsed data of the events, in order.
        lines: The line of each.

    Raises:
        TranscriptError: `INVALID_TRANSCRIPT`, for events of no known provider, for a stream
            that only carries an error, and for one that ends inside a tool call.
    """
    for event, line in zip(events, lines, strict=True):
        if not isinstance(event, Mapping):
            raise _refusal(line)
    for recognises, folded, name in _PROVIDERS:
        if any(map(recognises, events)):
            try:
                loaded: Loaded = folded(events)
            except (KeyError, TypeError, AttributeError, IndexError, ValueError) as error:
                if isinstance(error, TranscriptError):
                    raise
                raise unreadable(
                    f"An event of a stream did not have the shape that {name} gives it.",
                    fix="Pass the recorded stream as it was received.",
                ) from None
            require_fit(name, loaded.messages)
            return loaded
    raise _refusal(lines[0] if lines else 1)


def is_gemini_chunk(value: Any) -> bool:
    """Tell whether a value is one chunk of a streamed Gemini reply."""
    return isinstance(value, Mapping) and ("candidates" in value or "usageMetadata" in value)


def _is_chat(event: Event) -> bool:
    return isinstance(event.get("choices"), list)


def _is_responses(event: Event) -> bool:
    return str(event.get("type")).startswith("response.")


def _is_anthropic(event: Event) -> bool:
    return event.get("type") in _ANTHROPIC


def _chat(events: Iterable[Event]) -> Loaded:
    message: dict[str, Any] = {"role": "assistant", "content": None}
    complete, model, others = False, None, set()
    for event in events:
        model = event.get("model") or model
        for choice in event.get("choices") or ():
            if choice.get("index", 0) != 0:
                others.add(choice["index"])
                continue
            _grow(message, choice.get("delta") or {})
            complete = complete or choice.get("finish_reason") is not None
    if calls := message.get("tool_calls"):
        calls.sort(key=lambda call: call.get("index", 0))
        for call in calls:
            call.pop("index", None)
    return _folded("openai-chat", [message], model, complete=complete, choices=1 + len(others))


def _grow(into: dict[str, Any], delta: Event) -> None:
    """Add one delta: text grows, lists grow by `index`, anything else is replaced."""
    for key, value in delta.items():
        have = into.get(key)
        if value is None:
            into.setdefault(key, None)
        elif isinstance(value, str) and isinstance(have, str) and key not in ("id", "type", "role"):
            into[key] = have + value
        elif isinstance(value, Mapping):
            into[key] = dict(have) if isinstance(have, Mapping) else {}
            _grow(into[key], value)
        elif isinstance(value, list):
            into[key] = list(have) if isinstance(have, list) else []
            for item in value:
                _grow_list(into[key], item)
        else:
            into[key] = value


def _grow_list(into: list[Any], item: Any) -> None:
    index = item.get("index") if isinstance(item, Mapping) else None
    for have in into if index is not None else ():
        if have.get("index") == index:
            _grow(have, item)
            return
    if isinstance(item, Mapping):
        grown: dict[str, Any] = {}
        _grow(grown, item)
        item = grown
    into.append(item)


def _responses(events: Iterable[Event]) -> Loaded:
    items: list[Any] = []
    complete, model = False, None
    for event in events:
        response = event.get("response")
        if isinstance(response, Mapping):
            model = response.get("model") or model
        if event["type"] == "response.output_item.done":
            items.append(event["item"])
        elif event["type"] in _ENDED and isinstance(response, Mapping):
            complete = event["type"] != "response.failed"
            items = list(response.get("output") or items)
    return _folded("openai-responses", items, model, complete=complete)


def _anthropic(events: Iterable[Event]) -> Loaded:
    message: dict[str, Any] = {"type": "message", "role": "assistant"}
    blocks: dict[int, dict[str, Any]] = {}
    inputs: dict[int, str] = {}
    complete = False
    for event in events:
        match event.get("type"):
            case "message_start":
                message = dict(event["message"])
            case "content_block_start":
                blocks[event["index"]] = dict(event["content_block"])
            case "content_block_delta":
                _add_delta(blocks[event["index"]], event["delta"], inputs, event["index"])
            case "message_delta":
                message |= event["delta"]
                if isinstance(usage := event.get("usage"), Mapping):
                    message["usage"] = {**message.get("usage", {}), **usage}
            case "message_stop":
                complete = True
    for index, text in inputs.items():
        if text:
            blocks[index]["input"] = _arguments(text)
    message["content"] = [blocks[index] for index in sorted(blocks)]
    return _folded("anthropic", [message], message.get("model"), complete=complete)


def _add_delta(block: dict[str, Any], delta: Event, inputs: dict[int, str], index: int) -> None:
    kind = delta["type"]
    if kind == "input_json_delta":
        inputs[index] = inputs.get(index, "") + delta["partial_json"]
    elif kind == "citations_delta":
        block["citations"] = [*(block.get("citations") or ()), delta["citation"]]
    elif kind in _GROWS:
        key = _GROWS[kind]
        block[key] = (block.get(key) or "") + delta[key]
    else:
        block |= {key: value for key, value in delta.items() if key != "type"}


def _arguments(text: str) -> Any:
    try:
        return parse_json(text)
    except TranscriptError:
        raise unreadable(
            "A stream ended inside the arguments of a tool call.",
            fix="Pass the whole stream, or leave the broken reply out.",
        ) from None


def fold_gemini(events: Iterable[Event]) -> Loaded:
    """Fold the chunks of a streamed Gemini reply; text that continues is joined."""
    role, parts = "model", list[Any]()
    complete, model, count = False, None, 0
    for event in events:
        model = event.get("modelVersion") or model
        found = event.get("candidates") or []
        count = max(count, len(found))
        for candidate in found[:1]:
            content = candidate.get("content") or {}
            role = content.get("role") or role
            for part in content.get("parts") or ():
                _join(parts, part)
            complete = complete or candidate.get("finishReason") is not None
    messages = [{"role": role, "parts": parts}] if parts else []
    return _folded("gemini", messages, model, complete=complete, candidates=count)


def _join(parts: list[Any], part: Event) -> None:
    """Append a part, or join it to the text before it when both are nothing but text."""
    last = parts[-1] if parts else {}
    same = last.get("thought") == part.get("thought")
    if same and _bare_text(last) and _bare_text(part):
        parts[-1] = {**last, "text": last["text"] + part["text"]}
    else:
        parts.append(part)


def _bare_text(part: Event) -> bool:
    return "text" in part and part.keys() <= {"text", "thought"}


def _folded(name: str, messages: list[Any], model: Any, **facts: int) -> Loaded:
    return Loaded(
        kind="stream",
        dialect=name,
        messages=tuple(messages),
        model=model if isinstance(model, str) else None,
        facts={"messages": len(messages), **{key: int(value) for key, value in facts.items()}},
    )


def _refusal(line: int) -> TranscriptError:
    return unreadable(
        "The events of a stream are those of no provider that is known.",
        fix="Pass a recorded reply of OpenAI, Anthropic or Gemini.",
        line=line,
    )


_PROVIDERS: Final = (
    (_is_anthropic, _anthropic, "anthropic"),
    (_is_responses, _responses, "openai-responses"),
    (_is_chat, _chat, "openai-chat"),
    (is_gemini_chunk, fold_gemini, "gemini"),
)
