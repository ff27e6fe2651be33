"""`thusfar thread append`, `edit` and `regenerate`: what adds messages to a thread."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any, Final, Literal

from cyclopts import Parameter

from thusfar.cli.options import AsJson, DialectName
from thusfar.cli.reading import STDIN, read_source, read_text
from thusfar.cli.store import StoreOptions
from thusfar.cli.thread.options import MessageWord, Owner, ThreadName, opened_thread
from thusfar.cli.thread.places import message_id
from thusfar.cli.thread.told import print_commit
from thusfar.dialects import dialect as dialect_named
from thusfar.errors import OptionsError, TranscriptError
from thusfar.messages import Message, Text

Role = Literal["system", "user", "assistant"]
File = Annotated[
    str | None, Parameter(help="File of the message or messages; - for stdin. Instead of --text")
]
Open = Annotated[
    bool,
    Parameter(
        negative=(),
        show_default=False,
        help="Calls of the group may stay open; their results are appended later",
    ),
]


_MESSAGES_ALONE: Final = ("messages", "response", "stream")


@Parameter(name="*")
@dataclass(frozen=True, slots=True, kw_only=True)
class TextOptions:
    """A message that is written on the command line.

    Attributes:
        text: Its text; - reads it from stdin.
        id: Its id. Repeating the command with the same id stores nothing twice; without one a new
            id is made.
    """

    text: Annotated[str | None, Parameter(allow_leading_hyphen=True)] = None
    id: str | None = None

    def read(self) -> str:
        """Read the text, from stdin where it is `-`, without the line break at its end.

        Raises:
            TranscriptError: `INVALID_TRANSCRIPT`, when stdin is not UTF-8.
        """
        return read_text(STDIN).removesuffix("\n") if self.text == STDIN else self.text or ""


def append(
    thread: ThreadName,
    file: File = None,
    /,
    *,
    where: StoreOptions | None = None,
    owner: Owner = "main",
    written: TextOptions | None = None,
    role: Annotated[Role | None, Parameter(help="Who says the --text; by default user")] = None,
    after: Annotated[
        str | None,
        Parameter(help="The message to follow, the last of its group. By default the newest"),
    ] = None,
    root: Annotated[
        bool, Parameter(negative=(), show_default=False, help="Follow nothing: begin at the root")
    ] = False,
    open_calls: Annotated[Open, Parameter(name="--open")] = False,
    dialect: DialectName = None,
    as_json: AsJson = False,
) -> int:
    """Store one causal group at the end of THREAD, or beside what is there.

    The group is every message of FILE, in any format that thusfar reads, or the one of --text.
    A call and its results belong in one group, or --open lets them come later. The thread and an
    SQLite file are made when they are new. With --after or --root the group becomes a branch
    beside the selected path, unless the owner stands just there.

    With --json: {"thread_id", "status", "message_ids", "parent_id", "selected_head",
    "committed_at", "replayed"}; "status" is "selected" or "alternative".

    Exit status: 0 stored, or stored before with the same ids, content and place; 1 refused;
    2 a wrong command line.
    """
    if after is not None and root:
        raise OptionsError("Both --after and --root were given.", fix="Pass one of them.")
    if role is not None and file is not None:
        raise OptionsError(
            "--role stood beside FILE.",
            fix="Give the role in the file, or pass the text with --text.",
        )
    messages = given(file, written, role or "user", dialect)
    with opened_thread(where, thread, owner, "create") as handle:
        told = handle.sync
        placed: dict[str, Any] = {}
        if after is not None:
            placed["after"] = message_id(told, after)
        elif root:
            placed["after"] = None
        commit = told.append(messages, open=open_calls, **placed)
    print_commit(commit, as_json=as_json)
    return 0


def edit(
    thread: ThreadName,
    message: MessageWord,
    file: File = None,
    /,
    *,
    where: StoreOptions | None = None,
    owner: Owner = "main",
    written: TextOptions | None = None,
    dialect: DialectName = None,
    as_json: AsJson = False,
) -> int:
    """Put a new user message beside MESSAGE of THREAD, and select it.

    MESSAGE is from the user and begins its group. It and all that follows it stay as a branch:
    thusfar thread select brings them back. The new message is the --text or the one of FILE.

    With --json: {"thread_id", "status", "message_ids", …}, as thusfar thread append prints it.

    Exit status: 0 stored; 1 refused; 2 a wrong command line.
    """
    new = given(file, written, "user", dialect)
    if len(new) != 1:
        raise OptionsError(
            f"An edit got {len(new)} messages.", fix="Pass the one message that replaces the old."
        )
    with opened_thread(where, thread, owner, "change") as handle:
        told = handle.sync
        target = message_id(told, message)
        content = new[0] if file is not None else new[0].parts
        commit = told.edit(target, content, id=new[0].id)
    print_commit(commit, as_json=as_json)
    return 0


def regenerate(
    thread: ThreadName,
    question: MessageWord,
    file: File = None,
    /,
    *,
    where: StoreOptions | None = None,
    owner: Owner = "main",
    written: TextOptions | None = None,
    open_calls: Annotated[Open, Parameter(name="--open")] = False,
    dialect: DialectName = None,
    as_json: AsJson = False,
) -> int:
    """Put another answer under the message QUESTION of THREAD, and select it.

    The old answer and all that follows it stay as a branch. The new one is every message of
    FILE, or the --text, which is the assistant's.

    With --json: {"thread_id", "status", "message_ids", …}, as thusfar thread append prints it.

    Exit status: 0 stored; 1 refused; 2 a wrong command line.
    """
    answer = given(file, written, "assistant", dialect)
    with opened_thread(where, thread, owner, "change") as handle:
        told = handle.sync
        commit = told.regenerate(message_id(told, question), answer, open=open_calls)
    print_commit(commit, as_json=as_json)
    return 0


def given(
    file: str | None, written: TextOptions | None, role: Role, dialect: str | None
) -> list[Message]:
    """Read the messages that a command line gives, from a file or as text.

    Raises:
        OptionsError: `INVALID_OPTIONS`, when it gives none, or both.
        TranscriptError: `INVALID_TRANSCRIPT`, when the file cannot be read, or holds more than
            messages, which would be lost.
    """
    options = written or TextOptions()
    if (file is None) == (options.text is None):
        raise OptionsError(
            "A message was expected once: as FILE or as --text.",
            fix="Pass --text TEXT, the name of a file, or - for stdin.",
        )
    if file is None:
        return [Message(role, (Text(options.read()),), id=options.id)]
    if options.id is not None:
        raise OptionsError("--id stood beside FILE.", fix="Give the id in the file.")
    loaded = read_source(file, dialect).loaded
    if loaded.kind not in _MESSAGES_ALONE:
        raise TranscriptError(
            f"The file is a {loaded.kind}, not messages alone.",
            fix="Pass its messages, or make a thread of all of it with thusfar thread import.",
        )
    source = dialect_named(loaded.dialect)
    return [source.lift(message) for message in loaded.messages]
