"""Reasoning beside the content of openai-chat messages: three fields that vendors have added.

`reasoning_details` (OpenRouter) is a list of typed entries, `reasoning_content` (DeepSeek, vLLM)
and `reasoning` (OpenRouter, vLLM, Groq) are text. Where a text field only repeats what stands
in the others, it is remembered as a repetition and not counted again.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from thusfar.dialects.openai_chat_parts import NAME
from thusfar.dialects.openai_notes import filled, note, noted, table, unsupported, without
from thusfar.messages import Reasoning

DETAILS: Final = "reasoning_details"
TEXT_FIELDS: Final = ("reasoning_content", "reasoning")
FIELDS: Final = (DETAILS, *TEXT_FIELDS)


def lift_reasoning(rest: dict[str, Any]) -> tuple[list[Reasoning], list[str]]:
    """Take the reasoning fields out of a message.

    Args:
        rest: The fields of the message; those that are taken are removed from it. Nulls,
            empty text and fields of an unknown shape stay.

    Returns:
        The reasoning, in order, and the names of the fields that repeated it.
    """
    parts: list[Reasoning] = []
    repeated: list[str] = []
    if _is_details(rest.get(DETAILS)):
        parts += map(_lift_detail, rest.pop(DETAILS))
    for field in TEXT_FIELDS:
        if not filled(rest.get(field)):
            continue
        text = rest.pop(field)
        if parts and text == _joined(parts):
            repeated.append(field)
        else:
            parts.append(Reasoning(text, wire=note(NAME, at=field)))
    return parts, repeated


def _is_details(value: Any) -> bool:
    return (
        isinstance(value, list | tuple)
        and bool(value)
        and all(isinstance(entry, Mapping) for entry in value)
    )


def _text_key(entry: Mapping[str, Any]) -> str:
    return "summary" if entry.get("type") == "reasoning.summary" else "text"


def _lift_detail(entry: Mapping[str, Any]) -> Reasoning:
    keys = {"text": _text_key(entry), "signature": "signature", "data": "data"}
    taken = {field: entry[key] for field, key in keys.items() if filled(entry.get(key))}
    like = without(entry, *(keys[field] for field in taken))
    sealed = "signature" in taken or "data" in taken
    return Reasoning(
        taken.get("text", ""),
        signature=taken.get("signature"),
        data=taken.get("data"),
        provider=NAME if sealed else "",
        wire=note(NAME, at=DETAILS, like=like),
    )


def in_content(part: Reasoning) -> bool:
    """Tell whether reasoning was read from the content list (Mistral), not from a field."""
    facts = noted(part.wire, NAME)
    return "like" in facts and facts.get("at") != DETAILS


def lower_reasoning(parts: Sequence[Reasoning], repeated: Any) -> dict[str, Any]:
    """Write the reasoning fields of a message.

    Reasoning without a note goes to `reasoning_content`, the field most servers read.

    Args:
        parts: The reasoning that is not in the content list.
        repeated: Names of the fields that repeat the others, as noted by `lift_reasoning`.

    Raises:
        UnsupportedPartError: `UNSUPPORTED_PART`, for reasoning that another provider sealed.
    """
    fields: dict[str, Any] = {}
    texts: dict[str, str] = {}
    for part in parts:
        if part.provider not in ("", NAME):
            raise unsupported(f"reasoning that only {part.provider} can read", NAME)
        facts = noted(part.wire, NAME)
        sealed = part.signature is not None or part.data is not None
        if sealed or facts.get("at") == DETAILS:
            fields.setdefault(DETAILS, []).append(_lower_detail(part, facts))
        else:
            at = facts.get("at") if facts.get("at") in TEXT_FIELDS else TEXT_FIELDS[0]
            texts[str(at)] = texts.get(str(at), "") + part.text
    fields |= texts
    if isinstance(repeated, list):
        fields |= {field: _joined(parts) for field in TEXT_FIELDS if field in repeated}
    return fields


def _lower_detail(part: Reasoning, facts: Mapping[str, Any]) -> dict[str, Any]:
    entry = table(facts.get("like"))
    if facts.get("at") != DETAILS:
        entry["type"] = "reasoning.encrypted" if part.data else "reasoning.text"
    if part.text:
        entry[_text_key(entry)] = part.text
    if part.signature is not None:
        entry["signature"] = part.signature
    if part.data is not None:
        entry["data"] = part.data
    return entry


def _joined(parts: Sequence[Reasoning]) -> str:
    return "".join(part.text for part in parts)
