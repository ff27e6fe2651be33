"""`thusfar process`: AI workflows, and their runs in a store. Commands are imported when used."""

from __future__ import annotations

from typing import Final

from cyclopts import App

_HELP: Final = """Run AI workflows, and go on with their runs: a store keeps every committed step.

DEFINITION is a TOML or JSON file, or module:attribute of a Process or of a function that makes
one. RUN is the id of a run.

Every command takes --json and prints one JSON object with it.

Exit status: 0 done; 1 a typed refusal, a run that did not finish, or a finding; 2 a wrong command
line.
"""

_COMMANDS: Final = (
    ("run", "running:run"),
    ("runs", "listing:runs"),
    ("show", "listing:show"),
    ("resume", "running:resume"),
    ("replay", "comparing:replay"),
    ("fork", "comparing:fork"),
    ("compare", "comparing:compare"),
    ("delete", "listing:delete"),
    ("lint", "linting:lint"),
)

PROCESS: Final = App(name="process", help=_HELP, help_format="markdown")
"""The group of commands."""

for _number, (_name, _target) in enumerate(_COMMANDS):
    PROCESS.command(f"{__name__}.{_target}", name=_name, sort_key=_number)
