"""Causal groups in every way that calls are written down, whatever the order of results."""

from __future__ import annotations

from itertools import permutations
from typing import Any

import pytest

from thusfar import history

CALLS = ("c1", "c2", "c3")


def chat_call(*ids: str) -> dict[str, Any]:
    made = [
        {"id": i, "type": "function", "function": {"name": f"look_{i}", "arguments": "{}"}}
        for i in ids
    ]
    return {"role": "assistant", "content": None, "tool_calls": made}


def chat_result(call_id: str) -> dict[str, Any]:
    return {"role": "tool", "tool_call_id": call_id, "content": call_id}


def blocks(role: str, *made: dict[str, Any]) -> dict[str, Any]:
    return {"role": role, "content": list(made)}


def tool_use(call_id: str) -> dict[str, Any]:
    return {"type": "tool_use", "id": call_id, "name": "look", "input": {}}


def tool_result(call_id: str) -> dict[str, Any]:
    return {"type": "tool_result", "tool_use_id": call_id, "content": call_id}


def item_call(call_id: str) -> dict[str, Any]:
    return {"type": "function_call", "call_id": call_id, "name": "look", "arguments": "{}"}


def item_result(call_id: str) -> dict[str, Any]:
    return {"type": "function_call_output", "call_id": call_id, "output": call_id}


OPENER = {"role": "user", "content": "Look."}
OLDER = [{"role": "user", "content": "Hi."}, {"role": "assistant", "content": "Hello."}]


def newest(messages: list[Any], wire: str) -> list[Any]:
    view = history.recent(messages=1, cut="exchange").project([*OLDER, *messages], dialect=wire)
    assert view.receipt.repairs == ()
    return view.messages


@pytest.mark.parametrize("order", list(permutations(CALLS)))
def test_parallel_calls_and_their_results_are_one_group_in_any_order(order: tuple[str, ...]):
    chat = [OPENER, chat_call(*CALLS), *map(chat_result, order)]
    anthropic = [
        OPENER,
        blocks("assistant", *map(tool_use, CALLS)),
        blocks("user", *map(tool_result, order)),
    ]
    responses = [OPENER, *map(item_call, CALLS), *map(item_result, order)]

    assert newest(chat, "openai-chat") == chat
    assert newest(anthropic, "anthropic") == anthropic
    assert newest(responses, "openai-responses") == responses


def test_calls_without_ids_are_groups_too():
    old = [
        OPENER,
        {
            "role": "assistant",
            "content": None,
            "function_call": {"name": "look", "arguments": "{}"},
        },
        {"role": "function", "name": "look", "content": "seen"},
    ]
    gemini = [
        {"role": "user", "parts": [{"text": "Hi."}]},
        {"role": "model", "parts": [{"text": "Hello."}]},
        {"role": "user", "parts": [{"text": "Look."}]},
        {"role": "model", "parts": [{"functionCall": {"name": "look", "args": {}}}] * 2},
        {
            "role": "user",
            "parts": [{"functionResponse": {"name": "look", "response": {"n": n}}} for n in (1, 2)],
        },
    ]

    view = history.recent(messages=1, cut="exchange").project(gemini, dialect="gemini")

    assert newest(old, "openai-chat") == old
    assert view.messages == gemini[2:]


def test_an_id_used_again_in_a_later_round_belongs_to_that_round():
    first = [OPENER, chat_call("c1"), chat_result("c1"), {"role": "assistant", "content": "Seen."}]
    second = [{"role": "user", "content": "Again."}, chat_call("c1"), chat_result("c1")]

    assert newest([*first, *second], "openai-chat") == second


def test_a_later_system_message_stays_in_place_with_its_turn():
    rules = [{"role": "system", "content": f"rule {n}"} for n in range(2)]
    later = {"role": "system", "content": "Now in French."}
    answer = {"role": "assistant", "content": "Bonjour."}
    messages = [*rules, *OLDER, later, OPENER, answer]

    view = history.recent(messages=3).project(messages, dialect="openai-chat")

    assert view.messages == [*rules, later, OPENER, answer]
    assert view.receipt.system == 2
