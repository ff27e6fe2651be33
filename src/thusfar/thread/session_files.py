"""Session files: SQLite files in which another library keeps several transcripts."""

from __future__ import annotations

import os
from typing import Final

from thusfar.errors import OptionsError
from thusfar.thread.agents_sdk import agents_sessions
from thusfar.thread.foreign import Tree
from thusfar.thread.langgraph import langgraph_threads

_TABLES: Final = "SELECT name FROM sqlite_schema WHERE type = 'table'"
_OWN: Final = "thusfar_schema"


def session_trees(path: str | os.PathLike[str], *, only: str | None = None) -> dict[str, Tree]:
    """Read the transcripts of a session file of the OpenAI Agents SDK or of LangGraph.

    Args:
        path: The file; it is only read.
        only: Read the transcript of this id alone.

    Returns:
        Transcripts by the id that the file gives them.

    Raises:
        OptionsError: `INVALID_OPTIONS`, for an SQLite file of another kind.
        TranscriptError: `INVALID_TRANSCRIPT`, for a transcript that cannot be read.
        StorageError: when the file cannot be read.
    """
    tables = _tables(path)
    if "agent_messages" in tables:
        return agents_sessions(path, only=only)
    if "checkpoints" in tables:
        return langgraph_threads(path, only=only)
    if _OWN in tables:
        raise OptionsError(
            "The file is a store of threads itself.",
            fix="Pass it as --store, or import what thusfar thread export wrote.",
        )
    raise OptionsError(
        "The SQLite file held no sessions of a known kind.",
        fix="Pass a file of an Agents SDK SQLiteSession or of a LangGraph SqliteSaver.",
    )


def _tables(path: str | os.PathLike[str]) -> set[str]:
    import apsw

    from thusfar.storage.sqlite_errors import translated

    try:
        connection = apsw.Connection(os.fspath(path), flags=apsw.SQLITE_OPEN_READONLY)
        names = {name for (name,) in connection.execute(_TABLES)}
        connection.close()
    except apsw.Error as error:
        raise translated(error) from error
    return names
