"""`thusfar thread import` and `export`: whole conversations in and out."""

from __future__ import annotations

import sys
import uuid
from collections.abc import Iterator
from typing import Annotated, Any, Final

import msgspec
from cyclopts import Parameter

from thusfar.cli.findings import find
from thusfar.cli.options import AsJson, DialectName
from thusfar.cli.output import console, counted, json_rows, print_json, shown
from thusfar.cli.reading import STDIN, read_bytes
from thusfar.cli.store import StoreOptions, opened
from thusfar.cli.thread.options import Owner, ThreadName, opened_thread
from thusfar.codec import json_text, parse_json
from thusfar.dialects import Dialect
from thusfar.dialects import dialect as dialect_named
from thusfar.dialects.rules import Wire
from thusfar.errors import (
    IdentityConflictError,
    InvalidMessageError,
    OptionsError,
    TranscriptError,
    UnsupportedPartError,
)
from thusfar.storage.base import check_id
from thusfar.thread import Thread
from thusfar.thread.exporting import Exported, export_messages
from thusfar.thread.foreign import came_from
from thusfar.thread.session_files import session_trees
from thusfar.thread.system_text import OUTSIDE

LOSSLESS: Final = "thusfar"
_SQLITE_MAGIC: Final = b"SQLite format 3\0"
_MOST_PLACES: Final = 5
_MOST_SHOWN: Final = 80  # characters of an id
_MOST_LINES: Final = 50  # a log states its session near its beginning


def import_thread(
    file: Annotated[str, Parameter(help="File of the conversation; - for stdin")],
    /,
    *,
    where: StoreOptions | None = None,
    owner: Owner = "main",
    as_: Annotated[
        str | None,
        Parameter(
            name="--as",
            help="Id of the new thread. By default the one that the file states, else a new one",
        ),
    ] = None,
    session: Annotated[
        str | None, Parameter(help="Import only this session of a file that holds several")
    ] = None,
    title: Annotated[str | None, Parameter(help="Title of the new thread")] = None,
    dialect: DialectName = None,
    as_json: AsJson = False,
) -> int:
    """Make a new thread of the conversation in FILE, with its branches.

    FILE is what thusfar thread export wrote, messages of any format that thusfar reads, a session
    log of Claude Code, Gemini CLI or pi, or an SQLite file of the OpenAI Agents SDK or of
    LangGraph, of which every session becomes a thread. Defects of the source are kept. FILE is
    only read.

    With --json: {"threads": [{"thread_id", "title", "metadata", "created_at", "updated_at",
    "messages", "branches"}]}.

    Exit status: 0 imported; 1 refused, such as for an id that exists, and nothing was stored of
    that thread; 2 a wrong command line.
    """
    data = read_bytes(file)
    if data.startswith(_SQLITE_MAGIC):
        if dialect is not None:
            raise OptionsError(
                "--dialect stood beside a session file, whose format is known.",
                fix="Leave --dialect out.",
            )
        inputs = _sessions(file, session, as_)
    elif session is not None:
        raise OptionsError(
            "--session is for files that hold several sessions, and FILE is another kind.",
            fix="Leave --session out.",
        )
    else:
        inputs = [(as_ or stated_id(data) or f"thread_{uuid.uuid4().hex}", data)]
    made = []
    with opened(where, "create") as store:
        for name, value in inputs:
            made.append(_import(Thread(name, store=store, owner=owner), value, dialect, title))
    if as_json:
        print_json({"threads": made})
        return 0
    out = console()
    for each in made:
        size = counted(each["messages"], "message")
        told = f"{size}{_branches(each)}{_left_aside(each)}"
        out.print(f"{shown(each['thread_id'])}: {told}", soft_wrap=True)
    return 0


def _branches(made: dict[str, Any]) -> str:
    """Say how many branches a new thread has, and how many of them are of sub-agents."""
    if made["branches"] == 1:
        return ""
    imported = made["metadata"].get("imported")
    agents = imported.get("sidechains") if isinstance(imported, dict) else None
    told = f", {len(agents)} of sub-agents" if isinstance(agents, list) else ""
    return f", {made['branches']} branches{told}"


def _left_aside(made: dict[str, Any]) -> str:
    """Say how many records of a log were of no known shape."""
    imported = made["metadata"].get("imported")
    unread = imported.get("unreadable") if isinstance(imported, dict) else None
    return f"; {counted(unread, 'record')} could not be read" if isinstance(unread, int) else ""


def _import(handle: Thread, value: Any, dialect: str | None, title: str | None) -> dict[str, Any]:
    told = handle.sync
    try:
        info = told.import_(value, dialect=dialect)
    except IdentityConflictError as error:
        raise IdentityConflictError(
            str(error.args[0]),
            fix="Pass --as with an id that no thread has.",
            diagnostics=(),
            **error.facts,
        ) from None
    if title is not None:
        info = told.describe(title=title)
    return {**msgspec.to_builtins(info), "branches": len(told.branches())}


def stated_id(data: bytes) -> str | None:
    """Find the id that a conversation states for itself; `None` when it states none that can be.

    That is the thread id in an export, and the session id of a log.
    """
    for record in _records(data):
        key = "thread" if record.get("thusfar") == "thread" else "sessionId"
        key = "id" if record.get("type") == "session" else key
        try:
            return check_id(record[key], "thread id")
        except (KeyError, InvalidMessageError):
            continue
    return None


def _records(data: bytes) -> Iterator[dict[str, Any]]:
    """List the first objects of a file of JSON lines, or its one object."""
    text = data.decode("utf-8-sig", "replace")
    lines = [line for line in text.split("\n", _MOST_LINES)[:_MOST_LINES] if line.strip()]
    for whole in ([*lines], [text]):
        try:
            values = [parse_json(each) for each in whole]
        except TranscriptError:
            continue
        yield from (value for value in values if isinstance(value, dict))
        return


def _sessions(file: str, session: str | None, as_: str | None) -> list[tuple[str, Any]]:
    """Read the sessions of an SQLite file, with the ids of their threads."""
    if file == STDIN:
        raise OptionsError(
            "An SQLite file came from stdin, where it cannot be read.", fix="Pass its path."
        )
    found = session_trees(file, only=session)
    if not found and session is not None:
        raise OptionsError(
            "The file has no session of that id, or nothing was said in it.",
            fix="Pass the id of one of its sessions to --session.",
        )
    if not found:
        raise TranscriptError(
            "The file held no session in which something was said.",
            fix="Pass a file with at least one message.",
        )
    if as_ is not None:
        if len(found) != 1:
            raise OptionsError(
                f"--as names one thread, and the file has {len(found)} sessions.",
                fix="Choose one with --session, or leave --as out.",
            )
        return [(as_, items) for items in found.values()]
    for name in found:
        _require_id(name)
    return list(found.items())


def _require_id(session: str) -> None:
    """Check that a thread can have the id of a session, before the first one is stored."""
    try:
        check_id(session, "thread id")
    except InvalidMessageError as error:
        raise InvalidMessageError(
            f"No thread can have the id of the session {session[:_MOST_SHOWN]!r}.",
            fix="Import it alone: --session with its id, and --as with another.",
        ) from error


def export(
    thread: ThreadName,
    /,
    *,
    where: StoreOptions | None = None,
    owner: Owner = "main",
    form: Annotated[
        str,
        Parameter(
            name="--format",
            help="thusfar: everything, with branches. A wire format, such as openai-chat or "
            "anthropic: the messages of the selected path",
        ),
    ] = LOSSLESS,
    leave_out: Annotated[
        bool,
        Parameter(
            negative=(),
            show_default=False,
            help="Leave out what has no form in the --format, and say on stderr how much",
        ),
    ] = False,
    as_json: AsJson = False,
) -> int:
    """Print THREAD for another store or program.

    The default is lossless: one JSON record a line, with every branch, position and tombstone;
    thusfar thread import reads it. With --format the live messages of the selected path come out
    as a JSON list in that wire format, or as an object where the format has the system text
    outside the list; project and lint read both. What a provider would still refuse, such as a
    call that nobody answered, is said on stderr. Erased content is in neither.

    With --json: {"thread_id", "format", "records"}, or for a wire format "messages", "system" and
    "left_out", the number of parts.

    Exit status: 0 printed; 1 refused, such as UNSUPPORTED_PART for what has no form in that
    format; 2 a wrong command line.
    """
    if form != LOSSLESS:
        return _export_messages(where, thread, owner, form, leave_out=leave_out, as_json=as_json)
    if leave_out:
        raise OptionsError("--leave-out stood without --format.", fix="Pass --format too.")
    with opened_thread(where, thread, owner, "read") as handle:
        text = handle.sync.export()
    if as_json:
        records = [parse_json(line) for line in text.split("\n") if line]
        print_json({"thread_id": thread, "format": form, "records": records})
    else:
        _write(text)
    return 0


def _export_messages(
    where: StoreOptions | None,
    thread: str,
    owner: str,
    form: str,
    *,
    leave_out: bool,
    as_json: bool,
) -> int:
    target = dialect_named(form)
    with opened_thread(where, thread, owner, "read") as handle:
        own = came_from(handle.sync.info().metadata, form)
        transcript = handle.sync.transcript()
    try:
        made = export_messages(transcript.messages, target, leave_out=leave_out, own=own)
    except UnsupportedPartError as error:
        raise UnsupportedPartError(
            str(error.args[0]),
            fix="Pass --leave-out to leave such parts out, or another --format."
            if not leave_out
            else error.fix,
        ) from None
    if as_json:
        print_json(
            {
                "thread_id": thread,
                "format": form,
                "messages": made.messages,
                "system": made.system,
                "left_out": made.left_out,
            }
        )
    else:
        _write(f"{_rows(made, target)}\n")
    for line in _told(made, target):
        print(f"thusfar: {line}", file=sys.stderr)  # noqa: T201
    return 0


def _rows(made: Exported, target: Dialect) -> str:
    """Write a list with a message a line, and system text before it where that is outside."""
    rows = json_rows(made.messages) if made.messages else "[]"
    if made.system is None:
        return rows
    system, messages = (json_text(key) for key in OUTSIDE[target.name])
    return f"{{{system}:{json_text(made.system)},\n{messages}:{rows}}}"


def _told(made: Exported, target: Dialect) -> Iterator[str]:
    """Say what was left out, and what the provider would refuse in what is left."""
    if made.left_out:
        yield f"{counted(made.left_out, 'part')} left out"
    wire = Wire(messages=made.messages, system=made.system)
    if made.legal or not made.messages:
        return
    for found in find(made.messages, target, wire).findings:
        place = ", ".join(map(str, found.positions[:_MOST_PLACES]))
        more = "" if len(found.positions) <= _MOST_PLACES else ", …"
        yield f"{found.name} at {place}{more}: {found.what}"


def _write(text: str) -> None:
    """Write text as UTF-8 whatever the locale is: it is for programs."""
    sys.stdout.flush()
    sys.stdout.buffer.write(text.encode())
    sys.stdout.buffer.flush()
