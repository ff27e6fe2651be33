"""Options that the commands on processes share, and the process that a word stands for."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Annotated, Any

from cyclopts import Parameter

from thusfar.cli.store import StoreOptions, Use, on_the_command_line, opened
from thusfar.errors import HistoryError, OptionsError
from thusfar.process import Process, Runs, SyncRuns, load_process
from thusfar.process.hooks import imported
from thusfar.process.reading import process_of

DefinitionWord = Annotated[
    str, Parameter(help="A .toml or .json file, or module:attribute of a process")
]
RunWord = Annotated[str, Parameter(help="Id of the run")]
_FILES = (".toml", ".json")


@Parameter(name="*")
@dataclass(frozen=True, slots=True, kw_only=True)
class HookOptions:
    """What the names in a definition file stand for.

    Attributes:
        hooks: module:attribute of a mapping from names to functions, models and types.
        allow_imports: Import what the file names as module:attribute; it may then run any code.
    """

    hooks: str | None = None
    allow_imports: Annotated[bool, Parameter(negative=(), show_default=False)] = False


def process_named(word: str, options: HookOptions | None) -> Process:
    """Make the process that a word stands for.

    Raises:
        InvalidDefinitionError: `INVALID_DEFINITION`, with the place of what is wrong.
        OptionsError: `INVALID_OPTIONS`, for a word of no known kind.
    """
    _see_here()
    try:
        return _process_named(word, options or HookOptions())
    except HistoryError as error:
        error.fix = on_the_command_line(error.fix)
        raise


def _process_named(word: str, given: HookOptions) -> Process:
    if word.lower().endswith(_FILES):
        hooks = None if given.hooks is None else imported(given.hooks, "--hooks")
        if not isinstance(hooks, Mapping | None):
            raise OptionsError(
                "--hooks named what is no mapping.", fix="Name a mapping from names to objects."
            )
        return load_process(word, hooks=hooks, allow_imports=given.allow_imports)
    if ":" not in word:
        raise OptionsError(
            "A definition was named that is neither a file nor an object.",
            fix="Pass a .toml or .json file, or module:attribute.",
        )
    found: Any = imported(word, "DEFINITION")
    return process_of(found, "DEFINITION")


@contextmanager
def opened_runs(where: StoreOptions | None, use: Use) -> Iterator[SyncRuns]:
    """Open a store and give its runs; as `opened`."""
    with opened(where, use) as store:
        yield Runs(store).sync


def _see_here() -> None:
    """Let modules of the working directory be imported, as `python -m` does."""
    here = os.getcwd()
    if here not in sys.path:
        sys.path.insert(0, here)
