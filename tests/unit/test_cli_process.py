"""The commands on processes: what each does, prints and refuses."""

from __future__ import annotations

import json
import sys
import uuid
from pathlib import Path
from typing import Any

import pytest

from thusfar.cli import main
from thusfar.process import Runs
from thusfar.storage import open_store

DEFINITION = """
id = "flow"
model = "model"
state = { said = [] }
[[tasks]]
id = "choose"
transitions = ["say", "END"]
[[tasks]]
id = "say"
task_prompt = "Say it."
state_updates = "said[]"
next_task = "choose"
"""
CODE = """
import json
from thusfar.models import Scripted
from thusfar.process import END, Process, Task

def answer(call):
    if "Say it." in call.prompt:
        return "hello \\x1b[31m"
    done = call.prompt.count('"kind":"result"')
    if done == BROKEN:
        raise ConnectionError
    target = "END" if done == 2 else "say"
    return json.dumps({"goTo": target, "intent": f"to say {done}", "stepAfter": ""})

BROKEN = -1
HOOKS = {"model": Scripted(answer)}
NOTHING = 7

def build():
    return Process([Task(id="lonely", next_task=END)], model=Scripted("x"), id="built")

BAD = Process([Task(id="a", next_task="nowhere"), Task(id="b", next_task="b")])
"""


class Here:
    """A folder with a definition and the module of its hooks."""

    def __init__(self, folder: Path, capsys: Any) -> None:
        self.module = f"mine_{uuid.uuid4().hex}"
        (folder / "flow.toml").write_text(DEFINITION)
        (folder / f"{self.module}.py").write_text(CODE)
        self.url = f"sqlite:///{folder / 'runs.db'}"
        self._capsys = capsys

    def hooks(self) -> list[str]:
        return ["--hooks", f"{self.module}:HOOKS"]

    def __call__(self, *words: str, store: bool = True, status: int = 0) -> str:
        where = ["--store", self.url] if store else []
        found = main(["process", *words, *where])
        out, self.err = self._capsys.readouterr()
        assert found == status, out + self.err
        return str(out)

    def broken_at(self, number: int) -> None:
        sys.modules[self.module].BROKEN = number  # type: ignore[attr-defined]


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Any) -> Here:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [*sys.path])
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.delenv("THUSFAR_STORE", raising=False)
    return Here(tmp_path, capsys)


def test_a_run_is_printed_step_by_step_and_kept(here: Here):
    out = here("run", "flow.toml", *here.hooks(), "--run", "r")

    assert out == (
        "Run r\n"
        "   1  choose -> say | to say 0\n"
        "   2  say | hello \\e[31m\n"
        "   3  choose -> say | to say 1\n"
        "   4  say | hello \\e[31m\n"
        "   5  choose -> END | to say 2\n"
        "\n"
        "Finished: 5 steps, 5 model calls\n"
        '  {"said":["hello \\u001b[31m","hello \\u001b[31m"]}\n'
    )
    assert here("run", "flow.toml", *here.hooks(), "--run", "r", status=1).startswith("Run r")
    assert "[RUN_EXISTS]" in here.err


def test_without_a_store_a_run_is_in_memory(here: Here):
    told = json.loads(here("run", f"{here.module}:build", "--json", store=False))

    assert told == {
        "run_id": None, "status": "finished", "output": {}, "failure": None, "reason": "",
        "steps": 1, "calls": 1, "tokens": told["tokens"],
    }  # fmt: skip
    assert told["tokens"] > 0


def test_a_run_that_failed_is_listed_shown_and_resumed(here: Here):
    here("lint", "flow.toml", *here.hooks(), store=False)
    here.broken_at(1)
    out = here("run", "flow.toml", *here.hooks(), "--run", "r", status=1)
    assert "Failed: 2 steps, 3 model calls\n  PROVIDER_FAILED at choose, step 3\n" in out

    listed = json.loads(here("runs", "--json"))["runs"]
    assert [(run["run_id"], run["status"], run["steps"]) for run in listed] == [("r", "failed", 2)]
    (run,) = listed
    tokens = run["input_tokens"] + run["output_tokens"]
    assert f"r    flow     failed      2     {tokens}  choose" in here("runs", "--process", "flow")
    assert here("runs", "--process", "other") == "There are no runs.\n"
    shown = here("show", "r", "--last", "1", "--entry", "1")
    assert f"\n  tokens      {run['input_tokens']} in, {run['output_tokens']} out\n" in shown
    assert "  failed with PROVIDER_FAILED: A model raised while it was asked.\n" in shown
    assert "\n   2  say | hello \\e[31m\n" in shown
    assert "State\n  said: []\n" in shown
    document = here("show", "r", "--markdown", "--state")
    assert document.startswith("# r\n\n**Failed**: ")
    assert "`PROVIDER_FAILED` at " in document
    assert "\n## Step 1: choose -\\> say\n" in document
    assert "\x1b" not in document
    here.broken_at(-1)
    told = json.loads(here("resume", "r", "flow.toml", *here.hooks(), "--json"))
    assert (told["status"], told["steps"], told["run_id"]) == ("finished", 5, "r")
    whole = json.loads(here("show", "r", "--json", "--state"))
    assert [entry["entry"] for entry in whole["entries"]] == [1, 2, 3, 4, 5]
    assert whole["state"] == {"said": ["hello \x1b[31m"] * 2}


def test_a_run_is_replayed_forked_compared_and_deleted(here: Here):
    here("run", "flow.toml", *here.hooks(), "--run", "r")

    assert here("replay", "r", "flow.toml", *here.hooks()) == "Replayed: 5 steps, the same\n"
    assert here("fork", "r", "f", "--entry", "2", "--state", '{"said[]": "more"}') == (
        "Forked: f stands at choose, behind entry 2.\n"
    )
    here("resume", "f", "flow.toml", *here.hooks())
    told = json.loads(here("compare", "r", "f", "--json"))
    assert (told["equal"], told["same_entries"], told["first"]) == (False, 5, [None, None])
    out = here("compare", "r", "f")
    assert out.startswith("Equal entries: 5 of 5 and 5\n  state ")
    assert here("compare", "r", "r").endswith("Their states are equal.\n")
    Path("flow.toml").write_text(DEFINITION + 'title = "Speak"\n')
    out = here("replay", "r", "flow.toml", *here.hooks(), status=1)
    assert "Replayed: " in out
    assert json.loads(here("delete", "r", "--yes", "--json")) == {
        "run_id": "r", "state": "complete"
    }  # fmt: skip
    here("show", "r", status=1)
    assert "[RUN_NOT_FOUND]" in here.err
    here("delete", "f", status=2)
    assert "--yes" in here.err


def test_a_run_that_is_held_is_refused_until_it_is_taken_over(here: Here):
    here.broken_at = lambda _: None  # type: ignore[method-assign]
    here("run", "flow.toml", *here.hooks(), "--run", "r")
    here("fork", "r", "f", "--entry", "1")
    store = open_store(here.url)
    from thusfar.process.shelving import hold_steps

    store.run(hold_steps("f", "far:1:x", now=0, until=10**15, take_over=False))
    here("resume", "f", "flow.toml", *here.hooks(), status=1)
    assert "take it over with --take-over." in here.err

    here("resume", "f", "flow.toml", *here.hooks(), "--take-over")

    assert Runs(store).sync.info("f").status == "finished"


def test_lint_names_what_is_wrong(here: Here):
    assert here("lint", "flow.toml", *here.hooks(), store=False) == (
        "flow: 2 tasks, nothing wrong.\n"
    )
    out = here("lint", f"{here.module}:BAD", store=False, status=1)
    assert out == ("unknown-target (it cannot run)\n  a leads to nowhere, which does not exist.\n")
    told = json.loads(here("lint", f"{here.module}:BAD", "--json", store=False, status=1))
    assert told["findings"][0]["kind"] == "unknown-target"
    here("lint", "flow.toml", store=False, status=1)
    assert "A definition at model named a hook that was not passed in: model." in here.err
    Path("imports.toml").write_text(f'model = "{here.module}:NOTHING"\ntasks = [{{id = "a"}}]\n')
    here("lint", "imports.toml", store=False, status=1)
    here("lint", "imports.toml", "--allow-imports", store=False)
    assert here("lint", f"{here.module}:build", store=False) == "built: 1 task, nothing wrong.\n"


@pytest.mark.parametrize(
    "words",
    [
        ("lint", "flow"),
        ("run", "flow.toml", "--hooks", "json:dumps"),
        ("run", "{module}:build", "--input", "[]"),
        ("runs", "--limit", "0"),
        ("show", "r", "--last", "-1"),
        ("fork", "r", "f", "--entry", "0", "--state", "{"),
    ],
)
def test_wrong_words_are_status_two(here: Here, words: tuple[str, ...]):
    named = [word.format(module=here.module) if "{module}" in word else word for word in words]
    here(*named, store=named[0] != "lint", status=2)
    assert "fix:" in here.err


COMMANDS = ("run", "runs", "show", "resume", "replay", "fork", "compare", "delete", "lint")


@pytest.mark.parametrize("name", COMMANDS)
def test_the_help_of_a_command_states_json_and_its_exit_statuses(name, capsys):
    assert main(["process", name, "--help"]) == 0
    out = capsys.readouterr().out

    assert f"Usage: thusfar process {name}" in out
    assert "With --json: " in out
    assert "Exit status: 0 " in out
    assert max(map(len, out.splitlines())) <= 80


@pytest.mark.parametrize("word", ["raising:X", "leaving:X", "unreadable:X", "raiser:build"])
def test_a_module_that_cannot_be_run_is_a_refusal_and_no_traceback(here: Here, word: str):
    for name, code in (
        ("raising", "raise RuntimeError"),
        ("leaving", "import sys; sys.exit(3)"),
        ("unreadable", "def f(:"),
        ("raiser", "def build(): raise RuntimeError"),
    ):
        Path(f"{name}.py").write_text(code)

    told = json.loads(here("lint", word, "--json", store=False, status=1))

    assert told["error"]["code"] == "INVALID_DEFINITION"
    for name in ("raising", "leaving", "unreadable", "raiser"):
        sys.modules.pop(name, None)


def test_a_run_that_would_not_be_kept_has_no_id_and_one_that_is_kept_has_one(here: Here):
    here("run", "flow.toml", *here.hooks(), "--run", "r1", store=False, status=2)
    here("run", "flow.toml", *here.hooks(), "--run", "", status=1)
    assert json.loads(here("runs", "--json"))["runs"] == []


def test_what_a_function_or_a_model_raised_is_named_with_its_place(here: Here):
    (here_file := Path("late.py")).write_text(
        "from thusfar.process import Process, ScriptTask\n\n"
        "def work(state):\n    return state['inbox']\n\n"
        "BROKEN = Process([ScriptTask(id='work', run=work)])\n"
    )
    module = f"late_{uuid.uuid4().hex}"
    here_file.rename(f"{module}.py")

    out = here("run", f"{module}:BROKEN", store=False, status=1)
    assert f"  cause: KeyError: 'inbox' ({module}.py, line 4)" in " ".join(out.split("\n   "))
    told = json.loads(here("run", f"{module}:BROKEN", "--json", store=False, status=1))
    assert told["failure"]["code"] == "TASK_FAILED"
    assert told["failure"]["cause"].startswith("KeyError: 'inbox'")


def test_a_failure_without_a_cause_names_none(here: Here):
    out = json.loads(here("run", f"{here.module}:build", "--json", store=False))
    assert out["failure"] is None
    flow = ("run", "flow.toml", *here.hooks(), "--json", "--input", '{"history": []}')
    assert json.loads(here(*flow, store=False, status=1))["failure"]["cause"] is None


def test_fixes_about_hooks_name_the_options_of_the_command_line(here: Here):
    here("lint", "flow.toml", store=False, status=1)
    assert "in the mapping of --hooks" in here.err
    Path("own.toml").write_text('tasks = [{ kind = "script", id = "a", run = "os:getcwd" }]')
    here("lint", "own.toml", store=False, status=1)
    assert "--allow-imports" in here.err


def test_json_wins_over_markdown(here: Here):
    here("run", "flow.toml", *here.hooks(), "--run", "r")

    assert json.loads(here("show", "r", "--markdown", "--json"))["run_id"] == "r"


def test_a_run_that_failed_is_shown_with_its_complaints_and_the_fix(here: Here):
    wanted = 'tasks = [{ id = "a", output = { type = "object" }, max_retries = 0 }]\nmodel = "no"'
    Path("no.toml").write_text(wanted)
    Path(f"{here.module}.py").write_text(f"{CODE}\nHOOKS = {{'no': Scripted('words')}}\n")
    here("run", "no.toml", *here.hooks(), "--run", "r", status=1)

    out = here("show", "r")

    assert "  failed with RETRIES_EXHAUSTED: " in out
    assert "  complaint   The answer was not one JSON value: invalid at line 1, column 1.\n" in out
    assert "  fix         See the errors of the failure;" in out


def test_a_finding_names_the_sub_process_that_it_was_found_in(here: Here):
    Path("nested.json").write_text(
        json.dumps(
            {
                "id": "outer",
                "tasks": [
                    {
                        "kind": "process",
                        "id": "sub",
                        "process": {"id": "inner", "tasks": [{"id": "a", "next_task": "gone"}]},
                    }
                ],
            }
        )
    )

    out = here("lint", "nested.json", store=False, status=1)
    told = json.loads(here("lint", "nested.json", "--json", store=False, status=1))

    assert out.startswith("unknown-target in the sub-process inner (it cannot run)\n")
    assert [(each["process_id"], each["task_id"]) for each in told["findings"]] == [("inner", "a")]
