"""Media that tools return: every wire carries them, each in its own way."""

from __future__ import annotations

import pytest

from model_adapters import ADAPTERS, QUIET, Adapter
from thusfar import (
    Image,
    Scripted,
    Text,
    Thread,
    ToolCall,
    generate,
    generate_sync,
    open_store,
    stream_sync,
)
from thusfar.messages import Audio, File
from thusfar.testing.loopback import Answer, LoopbackServer

pytestmark = [pytest.mark.anyio, *(pytest.mark.filterwarnings(each) for each in QUIET)]

PIXEL = "R0lGODlhAQABAAAAACH5BAEKAAEALAAAAAABAAEAAAICTAEAOw=="


def picture(at: int) -> list[Text | Image]:
    return [Text(f"Picture {at}."), Image("image/gif", PIXEL)]


def bare() -> Image:
    return Image("image/gif", PIXEL)


CALLS = (
    ToolCall("call_1", "picture", '{"at":1}'),
    ToolCall("call_2", "bare", "{}"),
    ToolCall("call_3", "picture", '{"at":2}'),
)


@pytest.fixture
def thread():
    store = open_store("memory:")
    yield Thread("t", store=store)
    store.close()


@pytest.mark.parametrize("color", ["sync", "async", "stream"])
@pytest.mark.parametrize("adapter", ADAPTERS, ids=str)
async def test_pictures_of_tools_reach_every_provider(adapter: Adapter, color: str, thread) -> None:
    """PT-26, GE-8."""
    with LoopbackServer([Answer(tool_calls=CALLS), "Three dots.", "Still."]) as server:
        model = adapter.to(server)
        options = {"model": model, "thread": thread, "tools": [picture, bare]}
        match color:
            case "sync":
                result = generate_sync("Look.", **options)
            case "async":
                result = await generate("Look.", **options)
            case _:
                result = stream_sync("Look.", **options).result()
        later = generate_sync("And now?", **options)
        await model.aclose()
        assert [each.findings for each in server.requests] == [(), (), ()]
        assert str(server.requests[1].body).count(PIXEL) == 3
        head = adapter.sent_messages(server.requests[1].body)
        assert adapter.sent_messages(server.requests[2].body)[: len(head) - 1] == head[:-1]

    moved = ["media-moved"] if adapter.wire == "openai-chat" else []
    codes = [note.code for note in result.request.placement]
    assert [code for code in codes if code == "media-moved"] == moved
    assert later.text == "Still."
    stored = thread.sync.read().messages
    assert sum(isinstance(p, Image) for m in stored for r in m.parts for p in _inner(r)) == 3


def _inner(part):
    return getattr(part, "parts", ())


def test_the_callers_own_messages_get_the_pictures_in_a_form_that_can_be_sent():
    """PT-26, GE-12."""
    model = Scripted([CALLS[:2], "Two dots.", "Still."])
    said = [{"role": "user", "content": "Look."}]

    result = generate_sync(messages=said, model=model, tools=[picture, bare])
    generate_sync(
        messages=[*said, *result.messages, {"role": "user", "content": "And?"}],
        model=model,
        tools=[picture, bare],
    )

    roles = ["assistant", "tool", "tool", "user", "assistant"]
    assert [message["role"] for message in result.messages] == roles
    assert model.requests[1]["messages"] == [*said, *result.messages[:4]]
    assert model.requests[2]["messages"][: len(roles)] == [*said, *result.messages[:4]]
    names = [p["text"] for p in result.messages[3]["content"] if p["type"] == "text"]
    assert names == ["[Result of the tool picture:]", "[Result of the tool bare:]"]


@pytest.mark.parametrize("part", [Audio("audio/wav", PIXEL), File("application/pdf", PIXEL)])
def test_sound_and_files_of_tools_go_the_same_way(part, thread):
    """PT-26."""

    def bring() -> object:
        return part

    model = Scripted([ToolCall("c", "bring", "{}"), "Thanks."])

    generate_sync("Bring.", model=model, thread=thread, tools=[bring])

    (*_, told, brought) = model.requests[1]["messages"]
    assert told["content"] == "[The result is in the next message of the user.]"
    assert brought["content"][0]["type"] == "text"
    assert PIXEL in str(brought["content"][1])
