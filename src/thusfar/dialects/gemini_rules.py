"""What Gemini's generateContent refuses, as data and functions.

Source:
    https://ai.google.dev/gemini-api/docs/function-calling (read 2026-11-30) and the refusals
    that each rule names
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

from thusfar.dialects.rules import Rule, Wire
from thusfar.dialects.shapes import listed

_READ: Final = "(read 2026-11-30)"
_ROLES: Final = frozenset({"user", "model", "function", None})
_CALL: Final = ("functionCall", "function_call")
_RESPONSE: Final = ("functionResponse", "function_response")
ASIDE: Final = frozenset(
    {  # fields beside the data of a part
        "thought",
        "thoughtSignature",
        "thought_signature",
        "videoMetadata",
        "video_metadata",
        "mediaResolution",
        "media_resolution",
        "partMetadata",
        "part_metadata",
    }
)


def _role(content: Any) -> Any:
    role = content.get("role") if isinstance(content, Mapping) else None
    return role if isinstance(role, str | None) else ""


def _count(content: Any, keys: tuple[str, str]) -> int:
    return sum(
        any(isinstance(part.get(key), Mapping) for key in keys) for part in listed(content, "parts")
    )


def _no_contents(wire: Wire) -> Iterator[int]:
    if not wire.messages:
        yield 0


def _unknown_role(wire: Wire) -> Iterator[int]:
    for position, content in enumerate(wire.messages):
        if _role(content) not in _ROLES:
            yield position


def _first_not_user(wire: Wire) -> Iterator[int]:
    # Of a model's content with calls the provider says that no user content stands before it.
    first = wire.messages[0] if wire.messages else None
    if _role(first) == "model" and not _count(first, _CALL):
        yield 0


def _no_parts(wire: Wire) -> Iterator[int]:
    for position, content in enumerate(wire.messages):
        if isinstance(content, Mapping) and not content.get("parts"):
            yield position


def _part_without_data(wire: Wire) -> Iterator[int]:
    for position, content in enumerate(wire.messages):
        for part in listed(content, "parts"):
            if all(value is None for key, value in part.items() if key not in ASIDE):
                yield position
                break


def _called_before(wire: Wire) -> list[int]:
    """Count, for each content, the calls of the run of model contents directly before it.

    Directly following model contents are one turn: recorded requests prove that their calls
    are answered together. Contents of the user are not joined in that way.
    """
    called: list[int] = []
    run = 0
    for content in wire.messages:
        called.append(run)
        run = run + _count(content, _CALL) if _role(content) == "model" else 0
    return called


def _call_not_after_user(wire: Wire) -> Iterator[int]:
    for position, content in enumerate(wire.messages):
        if _role(content) != "model":
            return
        if _count(content, _CALL):
            yield position


def _response_not_after_call(wire: Wire) -> Iterator[int]:
    for position, called in enumerate(_called_before(wire)):
        if _count(wire.messages[position], _RESPONSE) and not called:
            yield position


def _counts_differ(wire: Wire) -> Iterator[int]:
    for position, called in enumerate(_called_before(wire)):
        content = wire.messages[position]
        if called and _role(content) != "model" and _count(content, _RESPONSE) != called:
            yield position


RULES: Final[tuple[Rule, ...]] = (
    Rule(
        name="gemini/contents",
        statement="A request has contents.",
        source="https://github.com/googleapis/js-genai/issues/912: 'GenerateContentRequest."
        f"contents: contents is not specified' {_READ}",
        check=_no_contents,
    ),
    Rule(
        name="gemini/role",
        statement="The role of a content is user or model.",
        source="https://github.com/router-for-me/CLIProxyAPI/issues/2791: 'Please use a valid "
        f"role: user, model.' {_READ}; https://ai.google.dev/api/caching#Content {_READ}",
        check=_unknown_role,
    ),
    Rule(
        name="gemini/first-user",
        statement="The first content is not of the model.",
        source="https://github.com/NousResearch/hermes-agent/issues/55427: 'Please ensure that "
        "multiturn requests alternate between user and model' for contents that begin with the "
        f"model {_READ}; https://github.com/google-gemini/gemini-cli/issues/11814 {_READ}",
        check=_first_not_user,
    ),
    Rule(
        name="gemini/parts",
        statement="A content has at least one part.",
        source="https://github.com/langchain-ai/langchain-google/issues/691: 'contents.parts must "
        f"not be empty' {_READ}",
        check=_no_parts,
    ),
    Rule(
        name="gemini/part-data",
        statement="A part holds data: text, a call, a response, media or code.",
        source="https://github.com/genkit-ai/genkit/issues/3816: \"required oneof field 'data' "
        f'must have one initialized field" {_READ}',
        check=_part_without_data,
    ),
    Rule(
        name="gemini/call-after-user",
        statement="Function calls stand behind a content of the user or one with function "
        "responses.",
        source="https://github.com/google-gemini/gemini-cli/issues/11814: 'Please ensure that "
        "function call turn comes immediately after a user turn or after a function response "
        f"turn' {_READ}",
        check=_call_not_after_user,
    ),
    Rule(
        name="gemini/response-after-call",
        statement="Function responses stand directly behind the function calls.",
        source="https://github.com/BerriAI/litellm/issues/26755: 'Please ensure that function "
        f"response turn comes immediately after a function call turn' {_READ}",
        check=_response_not_after_call,
    ),
    Rule(
        name="gemini/response-count",
        statement="The content behind function calls has as many function responses as there are "
        "calls.",
        source="https://github.com/google-gemini/gemini-cli/issues/3814: 'Please ensure that the "
        "number of function response parts is equal to the number of function call parts of the "
        f"function call turn' {_READ}",
        check=_counts_differ,
    ),
)
