"""Sessions of the OpenAI Agents SDK: its SQLite files, read as transcripts with their branches.

The file is only read. Items are those of the Responses API.

Source:
    openai-agents 0.24.0: `SQLiteSession` (tables agent_sessions, agent_messages) and
    `AdvancedSQLiteSession` (message_structure), whose branches share the items before their fork.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from typing import Any, Final

from thusfar.codec import parse_json
from thusfar.dialects import dialect
from thusfar.dialects.base import Dialect, DialectMismatch
from thusfar.errors import OptionsError, TranscriptError
from thusfar.thread.foreign import Ids, Node, Tree

_DIALECT: Final = "openai-responses"
_SHOWN: Final = 80  # characters of an id in a message
_MAIN: Final = "main"  # the branch that a session is opened on
_ITEMS: Final = "SELECT session_id, id, message_data FROM agent_messages ORDER BY id"
_BRANCHED: Final = "SELECT 1 FROM sqlite_schema WHERE name = 'message_structure'"
_STRUCTURE: Final = (
    "SELECT session_id, branch_id, message_id FROM message_structure ORDER BY sequence_number, id"
)


def agents_sessions(path: str | os.PathLike[str], *, only: str | None = None) -> dict[str, Tree]:
    """Read the sessions of an OpenAI Agents SDK SQLite file.

    Args:
        path: The file; it is only read.
        only: Read the session of this id alone, so that no other one has to be readable.

    Returns:
        Transcripts by session id, in the order in which the sessions began; pass one to
        `Thread.import_`. The branch `main` is the selected path, the others are alternatives.

    Raises:
        OptionsError: `INVALID_OPTIONS`, when the file has no such tables.
        TranscriptError: `INVALID_TRANSCRIPT`, for an item that cannot be read; `facts` has its
            `session` and the number of its row.
        StorageError: when the file cannot be read.
    """
    items, branches = _read(os.fspath(path))
    source = dialect(_DIALECT)
    return {
        session: _tree(session, _lines(listed, branches.get(session, {})), listed, source)
        for session, listed in items.items()
        if only in (None, session)
    }


_Items = dict[str, dict[int, str]]  # of each session: item number to text
_Branches = dict[str, dict[str, list[int]]]  # of each session: branch to item numbers, in order


def _read(path: str) -> tuple[_Items, _Branches]:
    import apsw

    from thusfar.storage.sqlite_errors import translated

    items: _Items = {}
    branches: _Branches = {}
    try:
        connection = apsw.Connection(path, flags=apsw.SQLITE_OPEN_READONLY)
        for session, number, text in connection.execute(_ITEMS):
            items.setdefault(str(session), {})[int(number)] = str(text)
        if connection.execute(_BRANCHED).fetchall():
            for session, branch, number in connection.execute(_STRUCTURE):
                of_session = branches.setdefault(str(session), {})
                of_session.setdefault(str(branch), []).append(int(number))
        connection.close()
    except apsw.SQLError as error:
        raise OptionsError(
            "The file held no sessions of the OpenAI Agents SDK.",
            fix="Pass the file that its SQLiteSession was given.",
        ) from error
    except apsw.Error as error:
        raise translated(error) from error
    return items, branches


def _lines(items: dict[int, str], branches: dict[str, list[int]]) -> list[list[int]]:
    """List the paths of a session, the selected one first.

    Items that no branch holds, as those from before a session had branches, begin each.
    """
    held = {number for numbers in branches.values() for number in numbers}
    loose = [number for number in items if number not in held]
    others = [numbers for name, numbers in branches.items() if name != _MAIN]
    lines = [branches.get(_MAIN, []), *others]
    return [[*loose, *line] for line in lines if line] or [loose]


def _tree(session: str, lines: Iterable[list[int]], items: dict[int, str], source: Dialect) -> Tree:
    ids = Ids()
    nodes: list[Node] = []
    placed: dict[tuple[str | None, int], str] = {}
    head: str | None = None
    for first, line in enumerate(lines):
        last: str | None = None
        for number in line:
            if number not in items:
                continue
            if (last, number) not in placed:
                message = ids.own(_lift(items[number], source, session, number), None)
                assert message.id is not None
                nodes.append(Node(message, last))
                placed[last, number] = message.id
            last = placed[last, number]
        head = last if first == 0 else head
    about: dict[str, Any] = {"source": "agents-sdk", "dialect": _DIALECT, "messages": len(nodes)}
    return Tree(tuple(nodes), head, about)


def _lift(text: str, source: Dialect, session: str, number: int) -> Any:
    try:
        return source.lift(parse_json(text))
    except (DialectMismatch, TranscriptError) as error:
        raise TranscriptError(
            f"Item {number} of the session {session[:_SHOWN]!r} could not be read.",
            fix="Correct that row of agent_messages, or read the other sessions one by one.",
            session=session,
            item=number,
        ) from error
