"""A task alone, and runs as people read them: in a terminal and as Markdown."""

from __future__ import annotations

import asyncio
import io
import json
import sys
from typing import Any

import pytest

from thusfar.errors import OptionsError
from thusfar.models import Scripted
from thusfar.process import (
    END,
    Call,
    Cancel,
    Process,
    ScriptTask,
    StepCommitted,
    SubProcess,
    Task,
    TerminalInterceptor,
    TerminalLog,
    Transition,
    run_markdown,
)

WANTED = {"type": "object", "required": ["x"]}
ADD = Task(id="add", title="Add", output=WANTED, state_updates="all[]", next_task=END)
HUB = Task(id="hub", transitions=[Transition("add"), Transition(END)])


def choose(to: str, intent: str = "why") -> str:
    return json.dumps({"goTo": to, "intent": intent, "stepAfter": "then"})


@pytest.mark.parametrize("on_loop", [False, True])
def test_a_task_alone_tells_what_it_would_do_and_changes_nothing(on_loop: bool):
    process = Process([HUB, ADD], model=Scripted(["no", '{"x": 1}']), state={"all": [0]})
    process.add_history(summary="before", ts=0)
    before = json.dumps(process.snapshot())

    if on_loop:
        made = asyncio.run(process.run_task("add", state={"all": [7]}))
    else:
        made = process.run_task_sync("add", state={"all": [7]})

    assert made.failure is None
    assert made.state == {"all": [7, {"x": 1}]}
    assert (made.next_task, made.calls) == (END, 2)
    assert [(entry.task_id, entry.seq) for entry in made.entries] == [("add", 2)]
    assert json.dumps(process.snapshot()) == before
    assert "before" in process.model.calls[0].prompt
    assert not process.running


def test_a_task_alone_tells_why_it_failed_and_what_a_choice_leads_to():
    def broken(state: Any) -> None:
        state["half"] = 1
        raise ValueError("no")

    process = Process([HUB, ADD, ScriptTask(id="s", run=broken)], model=Scripted([choose("add")]))

    failed = process.run_task_sync("s")
    chose = process.run_task_sync("hub")

    assert failed.failure is not None
    assert (failed.failure.code, failed.state, failed.next_task) == ("TASK_FAILED", {}, "")
    assert (chose.next_task, chose.entries[0].intent) == ("add", "why")
    assert process.position.at == "hub"
    with pytest.raises(OptionsError):
        process.run_task_sync("nowhere")


def test_a_terminal_log_tells_steps_progress_and_refusals():
    out = io.StringIO()
    log = TerminalLog(out, max_steps=9)
    process = Process([HUB, ADD], model=Scripted([choose("add"), "no", '{"x": 1}']), on_event=log)

    process.run_sync()

    assert out.getvalue().splitlines() == [
        "  1/9  process: hub ...",
        "  1/9  hub -> add | why",
        "  2/9  process: add ...",
        "  2/9  refused (attempt 1): The answer was not one JSON value: "
        "invalid at line 1, column 1.",
        '  2/9  Add | {"x":1}',
    ]
    assert (log.steps, log.calls) == (2, 3)
    assert log.prompt_tokens > 100


def test_a_terminal_log_tells_of_steps_that_record_nothing():
    out = io.StringIO()
    tasks = [ScriptTask(id="count", run=lambda _: None, next_task=END)]

    Process(tasks, on_event=TerminalLog(out)).run_sync()

    assert out.getvalue().splitlines() == [
        "  1  process: count ...",
        "  1  count done, on to END",
    ]


def test_what_a_listener_raises_ends_the_run_and_nothing_that_was_committed():
    def told(event: Any) -> None:
        if isinstance(event, StepCommitted):
            raise BrokenPipeError

    process = Process([HUB, ADD], model=Scripted([choose("add")]), on_event=told)

    with pytest.raises(BrokenPipeError):
        process.run_sync()
    assert (process.running, process.position.at, len(process.history)) == (False, "add", 1)


def test_a_terminal_log_is_silent_without_a_terminal(capsys: pytest.CaptureFixture[str]):
    loaded = "rich.console" in sys.modules
    process = Process([HUB, ADD], model=Scripted([choose(END)]), on_event=TerminalLog())

    process.run_sync()

    assert capsys.readouterr() == ("", "")
    assert ("rich.console" in sys.modules) == loaded


def test_recorded_text_cannot_steer_a_terminal():
    out = io.StringIO()
    attack = "\x1b[2J[red]gone[/red]\r\x9b2J"
    process = Process([HUB, ADD], model=Scripted([choose(END, attack)]), on_event=TerminalLog(out))

    process.run_sync()

    assert not {"\x1b", "\r", "\x9b"} & set(out.getvalue())
    assert "[red]gone" in out.getvalue()


@pytest.mark.parametrize(
    ("typed", "output", "status"),
    [
        (["u", '{"x": 2}'], {"all": [{"x": 2}]}, "finished"),
        (["what?", "f"], {"all": [{"x": 1}]}, "finished"),
        (["s"], {}, "finished"),
        (["c", "enough"], None, "cancelled"),
        ([], None, "cancelled"),
    ],
)
def test_somebody_at_a_terminal_decides_about_calls(typed: list[str], output: Any, status: str):
    out = io.StringIO()

    def ask(question: str) -> str:
        if not typed:
            raise EOFError
        return typed.pop(0)

    process = Process(
        [ADD], model=Scripted(['{"x": 1}']), interceptor=TerminalInterceptor(out, ask=ask)
    )

    outcome = process.run_sync()

    assert (outcome.status, outcome.output) == (status, output)
    assert "process: add, step 1, attempt 1" in out.getvalue()
    assert '"required":["x"]' in out.getvalue()
    assert typed == []


def test_without_a_terminal_calls_are_forwarded():
    process = Process([ADD], model=Scripted(['{"x": 1}']), interceptor=TerminalInterceptor())

    assert process.run_sync().status == "finished"


def test_a_run_is_written_as_markdown():
    child = Process([Task(id="in", title="Inner", next_task=END)], id="child")
    tasks = [HUB, SubProcess(id="add", title="Sub", process=child, next_task=END)]
    process = Process(
        tasks, id="made", model=Scripted([choose("add"), "done inside"]), history_max_items=10
    )
    outcome = process.run_sync()

    text = run_markdown(process, outcome)

    heads = [line for line in text.splitlines() if line.startswith("#")]
    assert heads == ["# made", "## Step 1: hub -\\> add", "## Step 2: Sub", "### Step 1: Inner"]
    assert text.startswith("# made\n\n**Finished**: 2 steps, 2 calls, ")
    assert "Intent:\n\n```text\nwhy\n```" in text
    assert "```text\ndone inside\n```" in text
    assert run_markdown(tuple(process.history), title="Same") == text.replace(
        "# made", "# Same", 1
    ).replace(text.split("\n")[2] + "\n\n", "")


def test_a_failed_run_and_its_state_are_written():
    task = Task(id="a", output=WANTED, max_retries=0)
    process = Process([task], model=Scripted(["no"]), state={"kept": [1]})

    text = run_markdown(process, process.run_sync())

    assert "`RETRIES_EXHAUSTED` at a, step 1:" in text
    assert '## State\n\n```json\n{\n  "kept": [\n    1\n  ]\n}\n```' in text


def test_entries_that_left_memory_are_written_as_lines():
    process = Process([ADD], history_max_items=1, history_detail_items=0)
    for number in range(3):
        process.add_history(action="did", summary=f"{number}")

    text = run_markdown(process)

    assert "## The first 2 entries, a line each\n\n```text\ndid | 0\ndid | 1\n```" in text
    assert "Entry 3, manual" in text


@pytest.mark.parametrize(
    "attack",
    ["```\n# Forged\n```", "````\n## Step 9: forged", "\n# Forged", "<script>x</script>", "\ud800"],
)
def test_recorded_text_cannot_become_markup(attack: str):
    process = Process([ADD])
    process.add_history(action=attack, summary=attack, intent=attack, result=attack, task_id="x")

    text = run_markdown(process, title=attack)

    text.encode()
    inside, heads = "", []
    for line in text.splitlines():
        if line.startswith("```"):
            fence = line.rstrip("abcdefghijklmnopqrstuvwxyz")
            inside = "" if inside == line else inside or fence
        elif not inside:
            assert "<script" not in line.replace("\\<", "")
            heads += [line] if line.startswith("#") else []
    assert len(heads) == 2, heads


def test_recorded_text_cannot_become_a_link():
    process = Process([ADD])
    process.add_history(action="see https://e.example, WWW.e.example, a@e.example, [x](y)")

    (heading,) = [line for line in run_markdown(process).splitlines() if line.startswith("##")]

    assert heading == (
        "## Entry 1: see https\\://e.example, WWW\\.e.example, a\\@e.example, \\[x\\](y)"
    )


def test_what_is_no_run_is_not_written():
    with pytest.raises(OptionsError):
        run_markdown("a run")


def test_a_call_shows_what_is_sent():
    calls: list[Call] = []
    process = Process([ADD], model=Scripted(['{"x": 1}']), interceptor=calls.append)

    process.run_sync()

    assert calls[0].prompt == process.model.calls[0].prompt
    assert calls[0].system == process.model.calls[0].system


def test_a_document_says_how_many_entries_of_a_sub_process_had_left_memory():
    inside = Process(
        [ScriptTask(id=f"s{i}", run=lambda _: None, record=True) for i in range(5)],
        id="inside",
        sequence=[f"s{i}" for i in range(5)],
        history_detail_items=1,
        history_max_items=2,
    )
    process = Process([SubProcess(id="sub", process=inside)])
    process.run_sync()

    text = run_markdown(process)

    assert "The first 3 of its entries had left memory.\n" in text
    assert [each.seq for each in process.history[0].nested] == [4, 5]
    assert process.history[0].result["entries"] == 5


@pytest.mark.parametrize("ends", ["well", "in a failure", "cancelled"])
def test_a_task_alone_tells_nobody_and_leaves_the_processes_inside_as_they_were(ends: str):
    told: list[Any] = []

    def inside(**options: Any) -> Process:
        task = Task(
            id="x",
            output={"type": "object"},
            state_updates="all[]",
            max_retries=1,
            after_commit=lambda outputs, state: told.append(outputs),
        )
        return Process([task], on_event=told.append, **options)

    inner = inside(id="inner")
    middle = Process([SubProcess(id="in", process=inner)], id="middle", on_event=told.append)
    process = Process(
        [SubProcess(id="sub", process=middle)],
        model=Scripted(['{"n": 1}', "no", "no" if ends == "in a failure" else '{"n": 2}']),
        on_event=told.append,
    )
    process.run_sync()
    before = [json.dumps(each.snapshot()) for each in (process, middle, inner)]
    told.clear()
    if ends == "cancelled":
        process.interceptor = lambda _: Cancel()

    made = process.run_task_sync("sub")

    assert (made.failure is None) == (ends != "in a failure")
    assert [len(entry.nested) for entry in made.entries] == ([1] if ends == "well" else [])
    assert told == []
    assert [json.dumps(each.snapshot()) for each in (process, middle, inner)] == before
    assert not any(each.running for each in (process, middle, inner))


def test_complaints_about_a_task_alone_are_no_complaints_of_the_run():
    process = Process(
        [Task(id="a", output={"type": "object"}, max_retries=0)], model=Scripted("no")
    )

    failure = process.run_task_sync("a").failure

    assert failure is not None
    assert failure.errors
    assert "not accepted" not in str(process.partial_prompt("errorsOnly"))


class Gone(io.StringIO):
    """A stream whose reader went away."""

    def write(self, text: str, /) -> int:
        raise BrokenPipeError


def closed() -> io.StringIO:
    stream = io.StringIO()
    stream.close()
    return stream


@pytest.mark.parametrize("stream", [Gone(), closed()], ids=["broken", "closed"])
def test_a_log_whose_stream_is_gone_changes_nothing_about_a_run(stream: io.StringIO):
    log = TerminalLog(stream)
    process = Process([HUB, ADD], model=Scripted([choose("add"), '{"x": 1}']), on_event=log)

    assert process.run_sync().status == "finished"
    assert (log.steps, log.calls) == (2, 2)


def test_a_run_whose_terminal_is_gone_is_cancelled_and_not_sent_unseen():
    model = Scripted("x")
    process = Process(
        [ADD], model=model, interceptor=TerminalInterceptor(Gone(), ask=lambda _: "f")
    )

    outcome = process.run_sync()

    assert (outcome.status, outcome.reason) == ("cancelled", "the terminal is gone")
    assert model.calls == []
