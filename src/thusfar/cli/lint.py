"""`thusfar lint`: find what makes a transcript illegal to send as it stands."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any, Final

import msgspec
from cyclopts import Parameter

from thusfar.cli.findings import Complaint, Findings, find
from thusfar.cli.options import AsJson, DialectName
from thusfar.cli.output import console, counted, print_indented, print_json
from thusfar.cli.reading import Source, read_source
from thusfar.dialects import dialect as dialect_named
from thusfar.dialects.rules import Wire

CLEAN: Final = 0
FOUND: Final = 1
_MOST_PLACES: Final = 12
_CONTINUES: Final = ("previous_response_id", "conversation")


def lint(
    file: Annotated[str, Parameter(help="File of the transcript; - for stdin")],
    /,
    *,
    dialect: DialectName = None,
    as_json: AsJson = False,
) -> int:
    """Find what makes the transcript in FILE illegal to send as it stands.

    Calls and results that do not pair, and every rule that the provider of its format is known to
    refuse requests by. Each finding is printed with its code, its positions, what is wrong
    and what to do, earliest first. Calls that wait at the very end are a note, not a finding.

    With --json: {"dialect", "messages", "rules", "findings", "notes"}, a finding being {"code",
    "name", "positions", "what", "fix", "source"}.

    Exit status: 0 nothing was found; 1 something was, or FILE cannot be read; 2 an option does
    not exist.
    """
    source = read_source(file, dialect)
    loaded = source.loaded
    named = dialect_named(loaded.dialect)
    found = find(loaded.messages, named, _wire(source))
    if as_json:
        made: dict[str, Any] = msgspec.to_builtins(found)
        print_json({"dialect": loaded.dialect, "messages": len(loaded.messages), **made})
    else:
        _print(found, loaded.dialect, len(loaded.messages))
    return FOUND if found.findings else CLEAN


def _wire(source: Source) -> Wire:
    """View a transcript as the request that it would be."""
    loaded = source.loaded
    body = source.body() or {}
    return Wire(
        messages=loaded.messages,
        system=loaded.system,
        tools=loaded.tools,
        continued=any(body.get(key) for key in _CONTINUES),
    )


def _print(found: Findings, dialect: str, messages: int) -> None:
    out = console()
    rules = f"{found.rules} rules of {dialect}" if found.rules else f"{dialect} is never sent"
    out.print(f"{counted(messages, 'message')}: pairing of calls and results, {rules}")
    for complaint in found.findings:
        _print_complaint(complaint, out)
    for note in found.notes:
        _print_complaint(note, out)
    number = len(found.findings)
    out.print()
    out.print(f"{counted(number, 'finding')} to correct." if number else "Nothing was found.")


def _print_complaint(complaint: Complaint, out: Any) -> None:
    out.print()
    out.print(f"{places(complaint.positions)}  {complaint.code}  {complaint.name}", style="bold")
    print_indented(complaint.what, out)
    print_indented(f"fix: {complaint.fix}", out)


def places(positions: Sequence[int]) -> str:
    """Show positions, neighbours as one range, of many only the first."""
    runs: list[list[int]] = []
    for position in positions:
        if runs and position == runs[-1][1] + 1:
            runs[-1][1] = position
        else:
            runs.append([position, position])
    words = [f"{a}" if a == b else f"{a}–{b}" for a, b in runs[:_MOST_PLACES]]
    more = f" and {len(runs) - _MOST_PLACES} more" if len(runs) > _MOST_PLACES else ""
    return ", ".join(words) + more
