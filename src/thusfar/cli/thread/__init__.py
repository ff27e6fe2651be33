"""`thusfar thread`: conversations kept in a store. Each command is imported when it is used."""

from __future__ import annotations

from typing import Final

from cyclopts import App

_HELP: Final = """Keep conversations in a store: append, branch, edit, erase, move them in and out.

A thread is a conversation that is only ever added to: an edit or another answer is a branch
beside the old one. MESSAGE stands for a message: its id, the beginning of its id where that is
enough to tell, or @N, place N of the selected path, from the end with @-1.

Every command takes --json and prints one JSON object with it.

Exit status: 0 done; 1 a typed refusal, or problems that verify found; 2 a wrong command line.
"""

_COMMANDS: Final = (
    ("list", "listing:list_threads"),
    ("show", "showing:show"),
    ("append", "writing:append"),
    ("edit", "writing:edit"),
    ("regenerate", "writing:regenerate"),
    ("variants", "moving:variants"),
    ("select", "moving:select"),
    ("rewind", "moving:rewind"),
    ("fork", "moving:fork"),
    ("release", "moving:release"),
    ("remove", "erasing:remove"),
    ("redact", "erasing:redact"),
    ("delete", "erasing:delete"),
    ("import", "porting:import_thread"),
    ("export", "porting:export"),
    ("describe", "listing:describe"),
    ("verify", "verifying:verify"),
)

THREAD: Final = App(name="thread", help=_HELP, help_format="markdown")
"""The group of commands."""

for _number, (_name, _target) in enumerate(_COMMANDS):
    THREAD.command(f"{__name__}.{_target}", name=_name, sort_key=_number)
