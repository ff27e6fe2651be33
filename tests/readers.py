"""Readers of the recorded transcripts: every transcript of the shared data, in some dialect.

Shapes that belong to one data set are read here and not by the product; provider traffic and
session logs go through `thusfar.sources`, which is the product's own reader.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from shared_data import SHARED


@dataclass(frozen=True, slots=True)
class Transcript:
    """One recorded transcript.

    Attributes:
        name: File and place in it, unique over all transcripts.
        dialect: Name of the dialect its messages are in.
        messages: The messages, oldest first.
    """

    name: str
    dialect: str
    messages: tuple[Any, ...]


def transcripts() -> Iterator[Transcript]:
    """Yield every transcript of the shared data, folder by folder, in a fixed order."""
    if SHARED is None:
        raise RuntimeError("the shared data is not there; mark the test with needs_shared")
    data = SHARED / "data"
    for read in READERS:
        yield from read(data)


def tau_bench(data: Path) -> Iterator[Transcript]:
    for path in _files(data / "tau-bench", "*.json"):
        for run in _json(path):
            name = f"{_name(path)}#{run['task_id']}/{run['trial']}"
            yield Transcript(name, "openai-chat", tuple(run["traj"]))


def tau2_bench(data: Path) -> Iterator[Transcript]:
    for path in _files(data / "tau2-bench", "*.json"):
        for run in _json(path)["simulations"]:
            messages = tuple(_tau2_message(message) for message in run["messages"])
            yield Transcript(f"{_name(path)}#{run['id']}", "openai-chat", messages)


def _tau2_message(message: dict[str, Any]) -> dict[str, Any]:
    if message["role"] == "tool":
        return {"role": "tool", "tool_call_id": message["id"], "content": message["content"]}
    made = {"role": message["role"], "content": message["content"]}
    if message["tool_calls"]:
        made["tool_calls"] = [
            _tool_call(call["id"], call["name"], json.dumps(call["arguments"]))
            for call in message["tool_calls"]
        ]
    return made


def swe_agent(data: Path) -> Iterator[Transcript]:
    for path in _files(data / "swe-agent", "*.traj"):
        messages = tuple(_swe_message(message) for message in _json(path)["history"])
        yield Transcript(_name(path), "openai-chat", messages)


def _swe_message(message: dict[str, Any]) -> dict[str, Any]:
    if "tool_call_ids" not in message:
        return message
    (call_id,) = message["tool_call_ids"]
    return {"role": "tool", "tool_call_id": call_id, "content": message["content"]}


def mini_swe_agent(data: Path) -> Iterator[Transcript]:
    for path in _files(data / "mini-swe-agent", "*.json"):
        yield Transcript(_name(path), "openai-chat", tuple(_json(path)))


def inspect_ai(data: Path) -> Iterator[Transcript]:
    for path in _files(data / "inspect-ai", "*.json"):
        for number, sample in enumerate(_json(path)["samples"]):
            messages = tuple(_inspect_message(message) for message in sample["messages"])
            yield Transcript(f"{_name(path)}#{number}", "openai-chat", messages)


def _inspect_message(message: dict[str, Any]) -> dict[str, Any]:
    if not isinstance(message["content"], list):
        return message
    content = [
        {"type": "image_url", "image_url": {"url": block["image"]}}
        if block["type"] == "image"
        else block
        for block in message["content"]
    ]
    return {**message, "content": content}


def open_assistant(data: Path) -> Iterator[Transcript]:
    for path in _files(data / "open-assistant", "*.jsonl"):
        for tree in map(json.loads, _lines(path)):
            for number, replies in enumerate(_paths(tree["prompt"], "replies")):
                messages = tuple(
                    {"role": _SPEAKERS[node["role"]], "content": node["text"]} for node in replies
                )
                name = f"{_name(path)}#{tree['message_tree_id']}/{number}"
                yield Transcript(name, "openai-chat", messages)


def tooltalk(data: Path) -> Iterator[Transcript]:
    for path in _files(data / "tooltalk", "*.json"):
        messages: list[dict[str, Any]] = []
        for turn in _json(path)["conversation"]:
            if apis := turn.get("apis"):
                ids = [f"call_{turn['index']}_{number}" for number in range(len(apis))]
                messages.append(_tooltalk_calls(ids, apis))
                messages += map(_tooltalk_result, ids, apis)
            messages.append({"role": turn["role"], "content": turn["text"]})
        yield Transcript(_name(path), "openai-chat", tuple(messages))


def _tooltalk_calls(ids: list[str], apis: list[dict[str, Any]]) -> dict[str, Any]:
    requests = [api["request"] for api in apis]
    calls = [
        _tool_call(call_id, request["api_name"], json.dumps(request["parameters"]))
        for call_id, request in zip(ids, requests, strict=True)
    ]
    return {"role": "assistant", "content": None, "tool_calls": calls}


def _tooltalk_result(call_id: str, api: dict[str, Any]) -> dict[str, Any]:
    answer = api["exception"] if api["response"] is None else json.dumps(api["response"])
    return {"role": "tool", "tool_call_id": call_id, "content": answer}


def toolbench(data: Path) -> Iterator[Transcript]:
    for path in _files(data / "toolbench", "*.json"):
        record = _json(path)
        answer = record["answer_generation"]
        for number, messages in enumerate(answer["train_messages"]):
            yield Transcript(f"{_name(path)}#train/{number}", "openai-chat", tuple(messages))
        for number, nodes in enumerate(_paths(record["tree"]["tree"], "children")):
            messages = (
                {"role": "user", "content": answer["query"]},
                *_toolbench_steps(nodes),
            )
            yield Transcript(f"{_name(path)}#tree/{number}", "openai-chat", messages)


def _toolbench_steps(nodes: tuple[dict[str, Any], ...]) -> Iterator[dict[str, Any]]:
    thought, action = None, ""
    for node in nodes[1:]:
        match node["node_type"]:
            case "Thought":
                thought = node["description"]
            case "Action":
                action = node["description"]
            case _:
                call = {"name": action, "arguments": node["description"]}
                yield {"role": "assistant", "content": thought, "function_call": call}
                yield {"role": "function", "name": action, "content": node["observation"]}
                thought = None


def crosswoz(data: Path) -> Iterator[Transcript]:
    for path in _files(data / "crosswoz", "*.json"):
        for number, dialogue in _json(path).items():
            messages = tuple(
                {"role": _SPEAKERS[turn["role"]], "content": turn["content"]}
                for turn in dialogue["messages"]
            )
            yield Transcript(f"{_name(path)}#{number}", "openai-chat", messages)


def xpersona(data: Path) -> Iterator[Transcript]:
    for path in _files(data / "xpersona", "*.json"):
        for number, dialogue in enumerate(_json(path)):
            persona = {"role": "system", "content": "\n".join(dialogue["persona"])}
            turns = [
                {"role": role, "content": text}
                for pair in dialogue["dialogue"]
                for role, text in zip(("user", "assistant"), pair, strict=True)
            ]
            yield Transcript(f"{_name(path)}#{number}", "openai-chat", (persona, *turns))


def star(data: Path) -> Iterator[Transcript]:
    for path in _files(data / "star" / "dialogues", "*.json"):
        messages = tuple(filter(None, map(_star_message, _json(path)["Events"])))
        yield Transcript(_name(path), "openai-chat", messages)


def _star_message(event: dict[str, Any]) -> dict[str, Any] | None:
    match event["Agent"], event["Action"]:
        case "User", "utter":
            return {"role": "user", "content": event["Text"]}
        case "Wizard", "utter" | "pick_suggestion":
            return {"role": "assistant", "content": event["Text"]}
        case "Wizard", "query":
            arguments = json.dumps(event["Constraints"])
            call = {"name": event["APIName"], "arguments": arguments}
            return {"role": "assistant", "content": None, "function_call": call}
        case "KnowledgeBase", "return_item":
            item = json.dumps(event["Item"])
            return {"role": "function", "name": event["APIName"], "content": item}
        case "UserGuide" | "Wizard" | "User", "instruct" | "request_suggestions" | "complete":
            return None  # said to the people who made the recording, not in the dialogue
        case other:
            raise ValueError(f"an event of an unknown kind: {other}")


def abcd(data: Path) -> Iterator[Transcript]:
    for path in _files(data / "abcd", "abcd_*.json"):
        for dialogue in _json(path):
            messages = tuple(
                message for turn in dialogue["original"] for message in _abcd_messages(*turn)
            )
            yield Transcript(f"{_name(path)}#{dialogue['convo_id']}", "openai-chat", messages)


def _abcd_messages(speaker: str, text: str) -> Iterator[dict[str, Any]]:
    if speaker != "action":
        yield {"role": _SPEAKERS[speaker], "content": text}
        return
    call = {"name": "action", "arguments": "{}"}
    yield {"role": "assistant", "content": None, "function_call": call}
    yield {"role": "function", "name": "action", "content": text}


def bfcl(data: Path) -> Iterator[Transcript]:
    for path in _files(data / "bfcl", "BFCL_*.json"):
        answers = {
            answer["id"]: answer["ground_truth"]
            for answer in map(json.loads, _lines(path.with_name(f"possible_answer__{path.name}")))
        }
        for task in map(json.loads, _lines(path)):
            messages: list[dict[str, Any]] = []
            for asked, calls in zip(task["question"], answers[task["id"]], strict=True):
                messages += asked
                messages.append({"role": "assistant", "content": f"[{', '.join(calls)}]"})
            yield Transcript(f"{_name(path)}#{task['id']}", "openai-chat", tuple(messages))


def provider_traffic(data: Path) -> Iterator[Transcript]:
    """Every recorded request with its reply, as the product reads it."""
    from thusfar import sources

    for path in _files(data / "pydantic-ai", "*/*.json"):
        for number, loaded in enumerate(sources.interactions(path.read_bytes())):
            if loaded.messages:
                name = f"{path.parent.name}/{_name(path)}#{number}"
                yield Transcript(name, loaded.dialect, loaded.messages)


def session_logs(data: Path) -> Iterator[Transcript]:
    """Every Claude Code, Gemini CLI and pi session, as the product reads it."""
    from thusfar import sources

    for folder, pattern in SESSIONS:
        for path in _files(data / folder, pattern):
            loaded = sources.load(path.read_bytes())
            if loaded.messages:
                yield Transcript(_name(path), loaded.dialect, loaded.messages)


SESSIONS = (
    ("claude-code-log", "*.jsonl"),
    ("entire-sessions/claude-code", "*.jsonl"),
    ("entire-sessions/gemini-cli", "*.json"),
    ("pi-mono", "*.json*"),
)
READERS = (
    tau_bench,
    tau2_bench,
    swe_agent,
    mini_swe_agent,
    inspect_ai,
    open_assistant,
    tooltalk,
    toolbench,
    crosswoz,
    xpersona,
    star,
    abcd,
    bfcl,
    provider_traffic,
    session_logs,
)
_SPEAKERS = {
    "prompter": "user",
    "usr": "user",
    "customer": "user",
    "assistant": "assistant",
    "sys": "assistant",
    "agent": "assistant",
}


def _tool_call(call_id: str, name: str, arguments: str) -> dict[str, Any]:
    function = {"name": name, "arguments": arguments}
    return {"id": call_id, "type": "function", "function": function}


def _paths(node: dict[str, Any], below: str) -> Iterator[tuple[dict[str, Any], ...]]:
    """Yield each path from a node down to a leaf."""
    if not node[below]:
        yield (node,)
    for child in node[below]:
        for path in _paths(child, below):
            yield (node, *path)


def _files(folder: Path, pattern: str) -> list[Path]:
    found = sorted(folder.glob(pattern))
    if not found:
        raise FileNotFoundError(f"no {pattern} in {folder.name}")
    return found


def _name(path: Path) -> str:
    return f"{path.parent.name}/{path.name}"


def _json(path: Path) -> Any:
    return json.loads(path.read_bytes())


def _lines(path: Path) -> list[str]:
    return [line for line in path.read_text(encoding="utf-8").split("\n") if line.strip()]
