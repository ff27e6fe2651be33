"""Items of openai-responses: messages, reasoning and native items, to canonical form and back.

One item is one canonical message. A canonical message from elsewhere may become several items:
reasoning, text and each call are items of their own on this wire.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from thusfar.dialects.base import DialectMismatch
from thusfar.dialects.openai_notes import (
    filled,
    mapping,
    native,
    native_object,
    note,
    noted,
    table,
    unsupported,
    without,
)
from thusfar.dialects.openai_responses_calls import (
    call_kind,
    lift_call,
    lift_output,
    lower_call,
    lower_output,
    output_kind,
)
from thusfar.dialects.openai_responses_parts import (
    NAME,
    Inner,
    is_part_kind,
    lift_parts,
    lower_part,
)
from thusfar.messages import (
    Audio,
    File,
    Image,
    Message,
    Native,
    Part,
    Reasoning,
    Role,
    Text,
    ToolCall,
    ToolResult,
)

ROLES: Final[dict[str, Role]] = {
    "system": "system",
    "developer": "system",
    "user": "user",
    "assistant": "assistant",
}

NATIVE_KINDS: Final[dict[str, str]] = {
    "web_search_call": "call and result of a tool the provider runs, in one item",
    "file_search_call": "call and result of a tool the provider runs, in one item",
    "code_interpreter_call": "call and result of a tool the provider runs, in one item",
    "image_generation_call": "a generated image that is not there (yet); a finished one is Image",
    "mcp_call": "call and result of a tool the provider runs, in one item",
    "mcp_list_tools": "tool definitions of a server, no message of anyone",
    "tool_search_call": "the provider's own search, which has no call id to pair by",
    "tool_search_output": "the provider's own search, which has no call id to pair by",
    "additional_tools": "tool definitions that hold from here on",
    "configuration_update": "settings that hold from here on",
    "compaction": "sealed: only the provider can read what it stands for",
    "compaction_trigger": "an order to the provider to compact",
    "item_reference": "stands for an item that only the provider has",
}
"""Item types that are kept as `Native`, with the reason. Types not known at all join them when
they end like an item of this wire (`_call`, `_output`, `_request`, `_response`) and have an id.
So do content parts of unknown types, and media parts with no payload in a known place."""

_SYSTEM: Final = ("additional_tools", "configuration_update", "compaction_trigger")
_ENDINGS: Final = ("_call", "_output", "_request", "_response")
_MEDIA: Final = (Image, Audio, File)
_TEXTS: Final = (("summary", "summary_text"), ("content", "reasoning_text"))


def native_role(item: Mapping[str, Any], kind: Any) -> Role:
    """Tell the role of an item that has no canonical form.

    Raises:
        DialectMismatch: For a type that is not of this wire.
    """
    if kind in (None, "item_reference") and item.keys() <= {"type", "id"}:
        if not isinstance(item.get("id"), str):
            raise DialectMismatch
        return "assistant"
    if isinstance(kind, str) and (
        kind in NATIVE_KINDS or (kind.endswith(_ENDINGS) and filled(item.get("id")))
    ):
        return "system" if kind in _SYSTEM else "assistant"
    raise DialectMismatch


def is_image(item: Mapping[str, Any], kind: Any) -> bool:
    """Tell whether an item is a finished image."""
    return kind == "image_generation_call" and filled(item.get("result"))


def read_texts(item: Mapping[str, Any]) -> list[tuple[str, Mapping[str, Any]]]:
    """Read the texts of a reasoning item with the place of each.

    Raises:
        DialectMismatch: When they are of another shape.
    """
    found: list[tuple[str, Mapping[str, Any]]] = []
    for place, _ in _TEXTS:
        entries = item.get(place)
        if entries is None:
            continue
        if not isinstance(entries, list | tuple):
            raise DialectMismatch
        for entry in map(mapping, entries):
            if not isinstance(entry.get("text"), str):
                raise DialectMismatch
            found.append((place, entry))
    return found


def lift_item(item: Mapping[str, Any]) -> Message:
    """Convert an item that `describe` has accepted."""
    kind = item.get("type")
    if "role" in item and kind in (None, "message"):
        return _lift_message(item)
    if kind == "reasoning":
        return Message("assistant", _lift_reasoning(item))
    if isinstance(kind, str):
        if (calls := call_kind(item, kind)) is not None:
            return Message("assistant", (lift_call(item, kind, calls),))
        if (answers := output_kind(item, kind)) is not None:
            return Message("tool", (lift_output(item, kind, answers),))
    if is_image(item, kind):
        return Message("assistant", (_lift_made_image(item),))
    return Message(native_role(item, kind), (native(NAME, str(kind or "item_reference"), item),))


def _lift_message(item: Mapping[str, Any]) -> Message:
    role, content = item["role"], item["content"]
    parts: tuple[Part, ...]
    if isinstance(content, str):
        parts = (Text(content),) if content else ()
    else:
        parts = lift_parts(content, ROLES[role])
    vendor = role == "assistant" and any(isinstance(part, _MEDIA) for part in parts)
    wire = note(
        NAME,
        role=role if role != ROLES[role] else None,
        list=not isinstance(content, str) and (vendor or _is_text(parts)),
        rest=without(item, "role", "content"),
    )
    return Message(ROLES[role], parts, wire=wire)


def _is_text(parts: Sequence[Part]) -> bool:
    """Tell whether content is written as a string when no note says otherwise."""
    return not parts or (
        len(parts) == 1 and isinstance(parts[0], Text) and not noted(parts[0].wire, NAME)
    )


def _lift_reasoning(item: Mapping[str, Any]) -> tuple[Reasoning, ...]:
    """Convert a reasoning item: one part a text, the first with all that the item has once."""
    texts = read_texts(item)
    sealed = item.get("encrypted_content")
    signature = sealed if isinstance(sealed, str) else None
    taken = ["type", *(place for place, _ in texts)]
    if signature is not None:
        taken.append("encrypted_content")
    provider = NAME if signature is not None or not texts else ""
    rest = without(item, *taken)
    if not texts:
        wire = note(NAME, rest=rest, first=True)
        return (Reasoning("", signature=signature, provider=provider, wire=wire),)
    made: list[Reasoning] = []
    for number, (place, entry) in enumerate(texts):
        like = without(entry, "text")
        wire = note(
            NAME,
            at=place,
            like=like if like != {"type": dict(_TEXTS)[place]} else None,
            untyped=not like,
            first=number == 0,
            rest=rest if number == 0 else None,
        )
        once = signature if number == 0 else None
        made.append(Reasoning(entry["text"], signature=once, provider=provider, wire=wire))
    return tuple(made)


def _lift_made_image(item: Mapping[str, Any]) -> Image:
    form = item.get("output_format")
    mime = f"image/{form}" if filled(form) else "image/png"
    return Image(
        mime=mime,
        data=item["result"],
        wire=note(NAME, item="image_generation_call", rest=without(item, "type", "result")),
    )


def lower_message(message: Message) -> tuple[dict[str, Any], ...]:
    """Write a canonical message as the items it needs, in the order of its parts.

    Raises:
        UnsupportedPartError: `UNSUPPORTED_PART`, for a part that has no form on this wire, and
            for the name of a speaker.
        TranscriptError: `INVALID_TRANSCRIPT`, when a wire note is not JSON.
    """
    if message.name is not None:
        raise unsupported("the name of a speaker", NAME)
    items: list[dict[str, Any]] = []
    facts = noted(message.wire, NAME)
    content: list[Inner] = []
    reasoning: list[Reasoning] = []
    for part in message.parts:
        if reasoning and not (isinstance(part, Reasoning) and _continues(part)):
            items.append(_lower_reasoning(reasoning))
            reasoning = []
        item = None
        if isinstance(part, Reasoning):
            _require_own(part, message.role)
            reasoning.append(part)
        elif isinstance(part, ToolCall | ToolResult):
            item = _lower_pair(part, message.role)
        elif (item := _lower_alone(part)) is None:
            content.append(part)
            continue
        if content:
            items.append(_lower_speaker(message.role, content, facts))
            content, facts = [], {}
        if item is not None:
            items.append(item)
    if reasoning:
        items.append(_lower_reasoning(reasoning))
    if content or not items:
        items.append(_lower_speaker(message.role, content, facts))
    return tuple(items)


def _lower_pair(part: ToolCall | ToolResult, role: Role) -> dict[str, Any]:
    if isinstance(part, ToolCall):
        if role != "assistant":
            raise unsupported(f"a tool call in the role {role}", NAME)
        return lower_call(part)
    if role not in ("tool", "user"):
        raise unsupported(f"a tool result in the role {role}", NAME)
    return lower_output(part)


def _lower_alone(part: Inner) -> dict[str, Any] | None:
    """Write a part that is an item of its own; `None` for content of a message."""
    if isinstance(part, Native) and part.provider == NAME and not is_part_kind(part.kind):
        return native_object(part, NAME)
    facts = noted(part.wire, NAME) if isinstance(part, Image) else {}
    if isinstance(part, Image) and facts.get("item") == "image_generation_call":
        return {"type": facts["item"], **table(facts.get("rest")), "result": part.data}
    return None


def _continues(part: Reasoning) -> bool:
    facts = noted(part.wire, NAME)
    return "at" in facts and not facts.get("first")


def _require_own(part: Reasoning, role: Role) -> None:
    own = part.provider == NAME or noted(part.wire, NAME)
    if role != "assistant" or not own:
        raise unsupported("reasoning that this provider did not write", NAME)


def _lower_reasoning(parts: Sequence[Reasoning]) -> dict[str, Any]:
    first = parts[0]
    once = noted(first.wire, NAME)
    item: dict[str, Any] = {"type": "reasoning", **table(once.get("rest"))}
    if first.signature is not None:
        item["encrypted_content"] = first.signature
    for part in parts:
        facts = noted(part.wire, NAME)
        place = "content" if facts.get("at") == "content" else "summary"
        if not part.text and "at" not in facts:
            continue
        like = table(facts.get("like"))
        if not like and not facts.get("untyped"):
            like = {"type": dict(_TEXTS)[place]}
        earlier = item.get(place)
        entry = {**like, "text": part.text}
        item[place] = [*(earlier if isinstance(earlier, list) else ()), entry]
    if not once:
        item.setdefault("summary", [])
    return item


def _lower_speaker(role: Role, parts: Sequence[Inner], facts: Mapping[str, Any]) -> dict[str, Any]:
    if role == "tool":
        raise unsupported("something other than tool results in the role tool", NAME)
    vendor = role == "assistant" and not facts.get("list")
    if vendor and any(isinstance(part, _MEDIA) for part in parts):
        raise unsupported("media in an assistant message", NAME)
    wire_role: Any = facts.get("role")
    if not isinstance(wire_role, str) or ROLES.get(wire_role) != role:
        wire_role = role
    made = {"role": wire_role, **table(facts.get("rest"))}
    if _is_text(parts) and not facts.get("list"):
        made["content"] = parts[0].text if parts and isinstance(parts[0], Text) else ""
    else:
        made["content"] = [lower_part(part, role) for part in parts]
    return made
