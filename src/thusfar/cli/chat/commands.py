"""The commands of a chat: what a line that begins with / does."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from thusfar.cli.output import console, shown
from thusfar.cli.thread.lines import path_lines
from thusfar.cli.thread.places import message_id
from thusfar.cli.thread.tree import print_tree
from thusfar.errors import MessageNotFoundError

if TYPE_CHECKING:
    from thusfar.cli.chat.session import Chat

SHOWN: Final = 20  # messages that /history prints by default


class Leave(Exception):  # noqa: N818 - a signal, no error
    """Ends the session."""


@dataclass(frozen=True, slots=True)
class ChatCommand:
    """One command.

    Attributes:
        usage: How it is written.
        summary: What it does.
        carry_out: Does it: the chat, and what stands behind the word.
    """

    usage: str
    summary: str
    carry_out: Callable[[Chat, str], None]


def _help(chat: Chat, _: str) -> None:
    wide = max(len(each.usage) for each in _LISTED)
    for each in _LISTED:
        chat.tell(f"{each.usage:{wide}}  {each.summary}")


def _history(chat: Chat, rest: str) -> None:
    if rest and not (rest.isdecimal() and int(rest)):
        chat.tell("Write how many messages behind /history, from 1: /history 5")
        return
    most = int(rest) if rest else SHOWN
    page = chat.thread.sync.read(limit=most)
    out = console()
    for line in path_lines(page.entries, page.omitted, out.width):
        out.print(line, soft_wrap=True)


def _branch(chat: Chat, rest: str) -> None:
    told = chat.thread.sync
    if not rest:
        print_tree(told, told.info(), full=False, as_json=chat.as_json)
        return
    page = told.select(message_id(told, rest))
    chat.tell(f"Selected: {len(page.entries)} messages.")


def _edit(chat: Chat, rest: str) -> None:
    told = chat.thread.sync
    word, _, words = rest.partition(" ")
    if word.startswith("@") or (words and _is_message(chat, word)):
        place = message_id(told, word)
    else:
        place, words = _newest_question(chat), rest
    if not words.strip():
        chat.tell("Write the new words behind /edit, or behind the message: /edit @0 words")
        return
    told.edit(place, words)
    try:
        chat.answer(None)
    except BaseException:
        chat.tell("\n(your new words are kept; /again has them answered)")
        raise


def _again(chat: Chat, _: str) -> None:
    told = chat.thread.sync
    question = _newest_question(chat)
    before = told.read(limit=1).entries[-1].id
    told.rewind(question)
    try:
        chat.answer(None)
    except BaseException:
        told.select(before)  # what was answered before stays the answer
        raise


def _is_message(chat: Chat, word: str) -> bool:
    try:
        return bool(message_id(chat.thread.sync, word))
    except MessageNotFoundError:
        return False


def _newest_question(chat: Chat) -> str:
    """Find the newest message of the user on the selected path.

    Raises:
        MessageNotFoundError: `MESSAGE_NOT_FOUND`, when there is none.
    """
    for entry in reversed(chat.thread.sync.read().entries):
        if entry.message is not None and entry.message.role == "user":
            return entry.id
    raise MessageNotFoundError("Nothing was said yet.", fix="Say something first.")


def _receipt(chat: Chat, _: str) -> None:
    if chat.last is None:
        chat.tell("No request was made yet in this session.")
        return
    chat.tell("\n".join(shown(line) for line in str(chat.last.request).splitlines()))


def _leave(_: Chat, __: str) -> None:
    raise Leave


COMMANDS: Final = {
    "help": ChatCommand("/help", "List the commands.", _help),
    "history": ChatCommand("/history [N]", "Show the newest messages, 20 by default.", _history),
    "branch": ChatCommand(
        "/branch [MESSAGE]", "Draw the branches, or go on from another one.", _branch
    ),
    "edit": ChatCommand(
        "/edit [MESSAGE] WORDS",
        "Say something else in place of your newest message, or of another one.",
        _edit,
    ),
    "again": ChatCommand("/again", "Have your newest message answered once more.", _again),
    "receipt": ChatCommand("/receipt", "Show what the newest request held, and why.", _receipt),
    "quit": ChatCommand("/quit", "Leave; so does Ctrl-D.", _leave),
}
_LISTED: Final = tuple(COMMANDS.values())
