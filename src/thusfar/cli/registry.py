"""The registry: every command of `thusfar`, by name, and where it is.

One line adds a command. The target is imported only when the command is used: a function whose
parameters are its arguments and which returns the exit status, or a `cyclopts.App` of that name
for a group of commands such as `thread`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True, slots=True)
class Command:
    """One command.

    Attributes:
        name: The word on the command line.
        target: `module:attribute` of the function, or of the `cyclopts.App` of a group.
        summary: One sentence for `thusfar --help`.
    """

    name: str
    target: str
    summary: str


COMMANDS: Final = (
    Command("project", "thusfar.cli.project:project", "Show what a model would be sent, and why."),
    Command("plan", "thusfar.cli.plan:plan", "Plan one request: what it weighs, and why."),
    Command("receipts", "thusfar.cli.receipts:receipts", "Show a request that a store has kept."),
    Command("lint", "thusfar.cli.lint:lint", "Find what makes a transcript illegal to send."),
    Command("chat", "thusfar.cli.chat:chat", "Talk to a model; every turn is kept in a store."),
    Command("thread", "thusfar.cli.thread:THREAD", "Keep conversations in a store, with branches."),
    Command(
        "process", "thusfar.cli.process:PROCESS", "Run AI workflows, and go on with their runs."
    ),
    Command("dialects", "thusfar.cli.dialects:dialects", "List the wire formats and their rules."),
    Command("doctor", "thusfar.cli.doctor:doctor", "Show versions, tokenizers and extras."),
    Command("demo", "thusfar.cli.demo:demo", "Bound one long conversation in three ways."),
)
