"""Running: from the words of the command line to a command, and from errors to exit statuses."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from cyclopts import App, CycloptsError

from thusfar._version import __version__
from thusfar.cli.failures import report, report_usage
from thusfar.cli.output import prepare_streams, settle_columns
from thusfar.cli.reading import STDIN, STDIN_WORD
from thusfar.cli.registry import COMMANDS, Command
from thusfar.errors import HistoryError, OptionsError

DONE: Final = 0
REFUSED: Final = 1
WRONG_USAGE: Final = 2

_HELP: Final = """Bound what a model is sent of a long conversation, legally, and say why.

Every command takes --json. Exit status: 0 done, 1 a typed refusal or a finding (code, sentence and
fix on stderr), 2 a wrong command line. No command changes a file that it reads.
"""


def run(words: Sequence[str]) -> int:
    """Run one command line.

    Args:
        words: The words behind `thusfar`.

    Returns:
        The exit status, as the help states it.
    """
    prepare_streams()
    settle_columns()
    as_json = "--json" in words
    app = build_app(COMMANDS, used=words[0] if words else None)
    _import_listed(app, words)
    try:
        status = app(
            [STDIN if word == STDIN_WORD else word for word in words],
            result_action="return_value",
            print_error=False,
            exit_on_error=False,
        )
    except CycloptsError as error:
        report_usage(str(error), as_json=as_json)
        return WRONG_USAGE
    except HistoryError as error:
        report(error, as_json=as_json)
        return WRONG_USAGE if isinstance(error, OptionsError) else REFUSED
    return status if isinstance(status, int) else DONE


def _import_listed(app: App, words: Sequence[str]) -> None:
    """Import the commands of a group when its help is asked for: it shows their sentences."""
    if words and words[0] in {command.name for command in COMMANDS}:
        group = app[words[0]]
        if all(word in group.help_flags for word in words[1:]):
            group.resolved_commands()


def build_app(commands: Sequence[Command], *, used: str | None) -> App:
    """Build the parser; no command's module is imported unless the command is used.

    Args:
        commands: The commands.
        used: Name of the one that is used: its help is its own docstring, not the summary.
    """
    app = App(
        name="thusfar",
        help=_HELP,
        help_format="markdown",
        version=f"thusfar {__version__}",
        suppress_keyboard_interrupt=False,
    )
    for number, command in enumerate(commands):
        listed: dict[str, Any] = (
            {} if command.name == used else {"help": command.summary, "sort_key": number}
        )
        app.command(command.target, name=command.name, **listed)
    return app
