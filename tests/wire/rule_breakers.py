"""One legal request for each wire rule, and a mutation of it that breaks this rule and no other."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any, NamedTuple

from thusfar.dialects.rules import Wire


class Breaker(NamedTuple):
    """A legal request and what makes it break one rule.

    Attributes:
        legal: The messages of a request that breaks no rule.
        mutate: Changes a copy of them in place, or gives other messages back.
        legal_beside: What a request has beside its messages, as fields of `Wire`.
        beside: The same of the mutated request, where that is what is mutated.
    """

    legal: list[dict[str, Any]]
    mutate: Callable[[list[dict[str, Any]]], Any] = lambda messages: messages
    legal_beside: dict[str, Any] | None = None
    beside: dict[str, Any] | None = None

    def wires(self) -> tuple[Wire, Wire]:
        """Give the legal request and the mutated one."""
        mutated = copy.deepcopy(self.legal)
        found = self.mutate(mutated)
        messages = found if isinstance(found, list) else mutated
        legal = self.legal_beside or {}
        beside = legal if self.beside is None else self.beside
        return Wire(messages=self.legal, **legal), Wire(messages=messages, **beside)


def put(position: int, **fields: Any) -> Callable[[list[dict[str, Any]]], None]:
    """Set fields of the message at a position."""
    return lambda messages: messages[position].update(fields)


def part(position: int, number: int, *, key: str = "content", **fields: Any) -> Callable[..., None]:
    """Set fields of one part of the message at a position."""
    return lambda messages: messages[position][key][number].update(fields)


def without(*positions: int) -> Callable[[list[dict[str, Any]]], list[dict[str, Any]]]:
    """Leave out the messages at these positions."""
    return lambda messages: [m for at, m in enumerate(messages) if at not in positions]


def turned(messages: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Put the messages in the opposite order."""
    return messages[::-1]


def twice(position: int) -> Callable[[list[dict[str, Any]]], list[dict[str, Any]]]:
    """Repeat the message at a position directly behind it."""
    return lambda messages: [*messages[: position + 1], *copy.deepcopy(messages[position:])]


def _chat() -> dict[str, Breaker]:
    ask = {"role": "user", "content": "Weather in Oslo?"}
    call = {"id": "call_1", "type": "function", "function": {"name": "weather", "arguments": "{}"}}
    calls = {"role": "assistant", "content": None, "tool_calls": [call]}
    result = {"role": "tool", "tool_call_id": "call_1", "content": "3 C"}
    old = {"role": "assistant", "content": None, "function_call": call["function"]}
    answered = {"role": "function", "name": "weather", "content": "3 C"}
    used = [ask, calls, result]
    # The provider takes a call without an id for the call that a result without one answers.
    nameless = {**calls, "tool_calls": [{**call, "id": None}]}
    return {
        "role": Breaker([ask], put(0, role="critic")),
        "calls-answered": Breaker(used, without(2)),
        "result-follows-call": Breaker(used, without(1)),
        "result-call-id": Breaker(
            used, lambda _: [ask, nameless, {"role": "tool", "content": "3 C"}]
        ),
        "function-name": Breaker([ask, old, answered], lambda m: m[2].pop("name") and None),
        "calls-not-empty": Breaker(
            [ask, {"role": "assistant", "content": "3 C."}], put(1, tool_calls=[])
        ),
        "call-name": Breaker(used, lambda m: m[1]["tool_calls"][0]["function"].update(name="")),
        "content": Breaker([ask], put(0, content=None)),
    }


def _responses() -> dict[str, Breaker]:
    ask = {"role": "user", "content": "Weather in Oslo?"}
    thought = {"type": "reasoning", "id": "rs_1", "summary": []}
    call = {
        "type": "function_call",
        "id": "fc_1",
        "call_id": "call_1",
        "name": "weather",
        "arguments": "{}",
    }
    result = {"type": "function_call_output", "call_id": "call_1", "output": "3 C"}
    said = {
        "type": "message",
        "id": "msg_1",
        "role": "assistant",
        "status": "completed",
        "content": [{"type": "output_text", "text": "3 C.", "annotations": []}],
    }
    used = [ask, thought, call, result, said]
    return {
        "role": Breaker([ask], put(0, role="critic")),
        "calls-answered": Breaker(used, without(3)),
        "output-follows-call": Breaker([ask, call, result], without(1)),
        "reasoning-followed": Breaker([ask, thought, said, ask], without(2)),
        "id-length": Breaker(used, put(4, id="msg_" + "a" * 61)),
        "call-id-not-empty": Breaker(used, _called("")),
        "id-characters": Breaker(used, put(4, id="msg 1")),
        "id-prefix": Breaker(used, put(4, id="answer_1")),
        "id-once": Breaker(used, twice(4)),
    }


def _called(call_id: str) -> Callable[[list[dict[str, Any]]], None]:
    def rename(messages: list[dict[str, Any]]) -> None:
        for message in messages:
            if "call_id" in message:
                message["call_id"] = call_id

    return rename


def _anthropic() -> dict[str, Breaker]:
    ask = {"role": "user", "content": "Weather in Oslo?"}
    call = {"type": "tool_use", "id": "toolu_1", "name": "weather", "input": {}}
    calls = {"role": "assistant", "content": [{"type": "text", "text": "I look."}, call]}
    result = {"type": "tool_result", "tool_use_id": "toolu_1", "content": "3 C"}
    note = {"type": "text", "text": "In Celsius."}
    results = {"role": "user", "content": [result, note]}
    said = {"role": "assistant", "content": "3 C."}
    search = {"type": "server_tool_use", "id": "srvtoolu_1", "name": "web_search", "input": {}}
    found = {"type": "web_search_tool_result", "tool_use_id": "srvtoolu_1", "content": []}
    searched = {"role": "assistant", "content": [search, found, note]}
    rule = {"role": "system", "content": "Be brief."}
    used = [ask, calls, results, said]
    source = {"type": "base64", "media_type": "image/gif", "data": "R0lGODlh"}
    picture = {"type": "image", "source": source}
    marked = {**note, "cache_control": {"type": "ephemeral"}}
    return {
        "messages": Breaker([ask], without(0)),
        "first-user": Breaker([ask, said, ask], without(0)),
        "system-place": Breaker([ask, said, ask, rule, said], lambda m: [*m[3:4], *m[:3]]),
        "call-role": Breaker([ask], put(0, content=[call])),
        "call-answered": Breaker(used, part(2, 0, type="text", text="3 C")),
        "result-call": Breaker(used, part(1, 1, type="text", text="Nothing to look up.")),
        "server-calls-answered": Breaker([ask, searched, ask], lambda m: m[1]["content"].pop(1)),
        "result-once": Breaker(used, lambda m: m[2]["content"].insert(0, result)),
        "results-first": Breaker(used, lambda m: m[2]["content"].reverse()),
        "id-unique": Breaker(
            [ask, calls, results, said, ask], lambda m: [*m[:3], calls, results, said]
        ),
        "id-form": Breaker(used, _used("toolu.1")),
        "media-role": Breaker([ask, said, ask], put(1, content=[picture])),
        "tool-name": Breaker(used, part(1, 1, name="w" * 201)),
        "text-empty": Breaker(used, part(2, 1, text="")),
        "text-blank": Breaker([ask], put(0, content=" \n")),
        "content-empty": Breaker([ask], put(0, content="")),
        "trailing-space": Breaker([ask, said], put(1, content="3 C. ")),
        "cache-breakpoints": Breaker(
            [{"role": "user", "content": [marked]}],
            legal_beside={"system": [marked] * 3},
            beside={"system": [marked] * 4},
        ),
    }


def _used(call_id: str) -> Callable[[list[dict[str, Any]]], None]:
    def rename(messages: list[dict[str, Any]]) -> None:
        messages[1]["content"][1]["id"] = call_id
        messages[2]["content"][0]["tool_use_id"] = call_id

    return rename


def _gemini() -> dict[str, Breaker]:
    ask = {"role": "user", "parts": [{"text": "Weather in Oslo?"}]}
    call = {"functionCall": {"name": "weather", "args": {}}}
    calls = {"role": "model", "parts": [call, call]}
    result = {"functionResponse": {"name": "weather", "response": {"c": 3}}}
    results = {"role": "user", "parts": [result, result]}
    said = {"role": "model", "parts": [{"text": "3 C."}]}
    used = [ask, calls, results, said]
    return {
        "contents": Breaker([ask], without(0)),
        "role": Breaker([ask], put(0, role="assistant")),
        "first-user": Breaker([ask, said, ask], without(0)),
        "parts": Breaker(used, put(3, parts=[])),
        "part-data": Breaker([ask], put(0, parts=[{"thought": True}])),
        "call-after-user": Breaker(used, without(0)),
        "response-after-call": Breaker(used, without(1)),
        "response-count": Breaker(used, lambda m: m[2]["parts"].pop() and None),
    }


def _bedrock() -> dict[str, Breaker]:
    ask = {"role": "user", "content": [{"text": "Weather in Oslo?"}]}
    call = {"toolUse": {"toolUseId": "c1", "name": "weather", "input": {}}}
    calls = {"role": "assistant", "content": [{"text": "I look."}, call]}
    result = {"toolResult": {"toolUseId": "c1", "content": [{"text": "3 C"}], "status": "error"}}
    results = {"role": "user", "content": [result]}
    said = {"role": "assistant", "content": [{"text": "3 C."}]}
    used = [ask, calls, results, said]
    page = {"document": {"format": "pdf", "name": "page", "source": {"bytes": "JVBERg=="}}}

    def renamed(call_id: str) -> Callable[[list[dict[str, Any]]], None]:
        def rename(messages: list[dict[str, Any]]) -> None:
            messages[1]["content"][1]["toolUse"]["toolUseId"] = call_id
            messages[2]["content"][0]["toolResult"]["toolUseId"] = call_id

        return rename

    return {
        "first-user": Breaker([ask, said, ask], without(0)),
        "alternate": Breaker([ask, said, ask], without(1)),
        "call-answered": Breaker(used, put(2, content=[{"text": "3 C"}])),
        "result-call": Breaker(used, put(1, content=[{"text": "I look."}])),
        "id-unique": Breaker(used, lambda m: m[2]["content"].append(result)),
        "id-form": Breaker(used, renamed("c 1")),
        "tool-name": Breaker(used, lambda m: m[1]["content"][1]["toolUse"].update(name="a.b")),
        "text-blank": Breaker([ask], part(0, 0, text=" ")),
        "content-empty": Breaker([ask], put(0, content=[])),
        "error-empty": Breaker(used, lambda m: m[2]["content"][0]["toolResult"].update(content=[])),
        "document-text": Breaker(
            [{"role": "user", "content": [page, {"text": "Read it."}]}],
            lambda m: m[0]["content"].pop() and None,
        ),
        "tools-given": Breaker(used, legal_beside={"tools": [{}]}, beside={"tools": []}),
    }


BREAKERS: dict[str, dict[str, Breaker]] = {
    "openai-chat": _chat(),
    "openai-responses": _responses(),
    "anthropic": _anthropic(),
    "gemini": _gemini(),
    "bedrock-converse": _bedrock(),
}
"""By dialect, then by the short name of the rule."""
