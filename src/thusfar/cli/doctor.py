"""`thusfar doctor`: show what this installation consists of, and what is missing."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import msgspec

from thusfar.cli.installation import Installation, inspect_installation
from thusfar.cli.options import AsJson
from thusfar.cli.output import console, print_indented, print_json, print_table

HEALTHY: Final = 0
UNSAFE: Final = 1


def doctor(*, as_json: AsJson = False) -> int:
    """Show the versions of Python, thusfar and what it is built on, tokenizers and extras.

    For each extra that is missing the command that installs it is shown. Nothing is installed,
    and no network is used.

    With --json: {"python", "thusfar", "packages", "sqlite", "tokenizers", "extras"}.

    Exit status: 0 all is well (extras may be missing); 1 the SQLite in use can damage a database.
    """
    found = inspect_installation()
    if as_json:
        print_json(msgspec.to_builtins(found))
    else:
        _print(found)
    return HEALTHY if found.sqlite.wal_fix else UNSAFE


def _print(found: Installation) -> None:
    out = console()
    sqlite = found.sqlite
    _print_rows(
        "Versions",
        [
            ("thusfar", found.thusfar),
            ("python", found.python),
            *found.packages.items(),
            ("SQLite", f"{sqlite.version} (bundled with apsw)"),
        ],
    )
    if sqlite.wal_fix:
        print_indented("This SQLite has the fix of the WAL-reset bug.", out)
    else:
        print_indented(
            "This SQLite can damage a WAL database that several connections use: it lacks the fix "
            "of the WAL-reset bug, which came with 3.51.3. Install a newer apsw.",
            out,
        )
    _print_rows(
        "Tokenizers",
        [
            (each.name, each.confidence if each.available else f"not available: {each.fix}")
            for each in found.tokenizers
        ],
    )
    if not found.extras:
        out.print("Extras", style="bold")
        print_indented("Not known: the package runs without having been installed.", out)
        return
    _print_rows(
        "Extras",
        [
            (each.name, "installed" if not each.missing else f"missing: {each.install}")
            for each in found.extras
        ],
    )


def _print_rows(title: str, rows: Sequence[tuple[str, str]]) -> None:
    from rich.table import Table

    out = console()
    out.print(title, style="bold")
    table = Table(box=None, show_header=False, padding=(0, 2, 0, 2))
    table.add_column(no_wrap=True)
    table.add_column()
    for name, value in rows:
        table.add_row(name, value)
    print_table(table, out)
