"""What each adapter sends, held byte for byte: the same request on every wire.

`PYTHONPATH=tests python tests/models/test_golden_requests.py` writes the files anew.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from model_adapters import ADAPTERS, QUIET, Adapter
from thusfar.codec import canonical_json
from thusfar.dialects import dialect
from thusfar.messages import Image, Message, Reasoning, Text, ToolCall, ToolResult
from thusfar.models.arguments import call_arguments
from thusfar.planner.sealing import Assembled
from thusfar.testing.loopback import LoopbackServer

FOLDER = Path(__file__).parents[1] / "golden" / "requests"
PIXEL = "R0lGODlhAQABAAAAACH5BAEKAAEALAAAAAABAAEAAAICTAEAOw=="
SCHEMA = {
    "type": "object",
    "properties": {"city": {"type": "string"}},
    "required": ["city"],
    "additionalProperties": False,
}

pytestmark = [pytest.mark.filterwarnings(each) for each in QUIET]


def spoken(adapter: Adapter) -> list[Message]:
    """Write a conversation with an image, parallel calls and reasoning of this provider."""
    sealed = {
        "anthropic": Reasoning("I look both up.", "c2lnbmVk", provider="anthropic"),
        "openai-responses": Reasoning("I look both up.", "c2VhbGVk", provider="openai-responses"),
    }.get(adapter.wire)
    calls = (
        ToolCall("call_1", "weather", '{"city":"Paris"}'),
        ToolCall("call_2", "weather", '{"city":"Rome"}'),
    )
    answers = [ToolResult(call.id, call.name, (Text("sunny"),)) for call in calls]
    return [
        Message(
            "user", (Text("Where is this, and how is the weather?"), Image("image/gif", PIXEL))
        ),
        Message("assistant", (sealed, *calls) if sealed else calls),
        *(
            [Message("tool", tuple(answers))]
            if adapter.wire in ("anthropic", "gemini")
            else [Message("tool", (answer,)) for answer in answers]
        ),
        Message("user", "And in one word?"),
    ]


def requests_of(adapter: Adapter) -> dict[str, Any]:
    """Send each request whole and streamed, and give what arrived."""
    wire = dialect(adapter.wire)
    tools = adapter.tools()
    tools = tools.get("config", tools)["tools"]
    lowered = [made for message in spoken(adapter) for made in wire.lower(message)]
    asked = {
        "text": Assembled(messages=adapter.asking("Hello")[adapter.messages_name]),
        "tools": Assembled(messages=lowered, system="Be brief.", tools=tuple(tools)),
        "object": Assembled(messages=lowered[:1], system="Be brief.", schema=SCHEMA),
    }
    made: dict[str, Any] = {}
    with LoopbackServer("Paris.") as server:
        model = adapter.to(server)
        for name, request in asked.items():
            most = None if name == "text" else 256
            arguments = call_arguments(request, wire, model=adapter.model, max_output_tokens=most)
            model.generate_sync(arguments)
            list(model.stream_sync(arguments))
            model.count_tokens_sync(arguments)
        model.close()
        for place, received in enumerate(server.requests):
            assert received.findings == ()
            made[f"{place:02}"] = {
                "path": received.path,
                "query": received.query,
                "body": received.body,
            }
    return made


def written(requests: dict[str, Any]) -> str:
    """Write requests so that a difference can be read; each body is canonical in one line."""
    lines = [
        f'"{name}": {{"path": {json.dumps(sent["path"])}, "query": {json.dumps(sent["query"])},\n'
        f' "body": {canonical_json(sent["body"]).decode()}}}'
        for name, sent in requests.items()
    ]
    return "{\n" + ",\n".join(lines) + "\n}\n"


@pytest.mark.parametrize("adapter", ADAPTERS, ids=str)
def test_what_is_sent_is_what_was_sent_before(adapter: Adapter) -> None:
    kept = (FOLDER / f"{adapter}.json").read_text("utf-8")
    assert written(requests_of(adapter)) == kept


if __name__ == "__main__":
    for each in ADAPTERS:
        (FOLDER / f"{each}.json").write_text(written(requests_of(each)), "utf-8")
