"""Preparing: what a caller hands over becomes messages with ids, stored text and digests.

Everything that can be refused is refused here, before anything is written.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from hashlib import sha256
from typing import Any

import msgspec

from thusfar.codec import canonical_json, message_from_json, to_json
from thusfar.digests import stored_form
from thusfar.errors import InvalidGroupError, InvalidMessageError, TranscriptError
from thusfar.messages import Message, Text
from thusfar.storage.base import check_id
from thusfar.thread.ids import made_id
from thusfar.thread.paths import Context

Messages = Message | str | Mapping[str, Any] | Sequence[Any]


class Prepared(msgspec.Struct, frozen=True, gc=False):
    """One message, ready to be stored.

    Attributes:
        message: With its id, if the caller chose one.
        body: As stored JSON; without an id as long as it has none.
        digest: 32 bytes.
        key: Hash of its id; `None` while there is none.
    """

    message: Message
    body: str
    digest: bytes
    key: bytes | None

    @property
    def given(self) -> bool:
        """Whether the caller chose the id."""
        return self.key is not None

    def at(self, node: int) -> tuple[str, str]:
        """Tell the id and the body under which the message is stored at a node."""
        message_id = self.message.id
        if message_id is None:
            message_id = made_id(node)
            return message_id, with_id(self.body, message_id)
        return message_id, self.body


def with_id(body: str, message_id: str) -> str:
    """Write an id that was made here into a body that has none."""
    return f'{body[:-1]},"id":"{message_id}"}}'


def prepare(ctx: Context, messages: Messages) -> tuple[Prepared, ...]:
    """Make a group of messages ready to be stored.

    Args:
        ctx: The thread.
        messages: A message, text (then a user message), a foreign message of any dialect, or
            a sequence of messages.

    Raises:
        InvalidGroupError: `INVALID_GROUP`, for an empty group and for an id given twice.
        InvalidMessageError: `INVALID_MESSAGE`, for what is no message and for a bad id.
    """
    if type(messages) is Message:
        return (prepare_one(ctx, messages),)  # what most callers pass
    group = as_messages(messages)
    if not group:
        raise InvalidGroupError("A group was empty.", fix="Append at least one message.")
    prepared = tuple([prepare_one(ctx, message) for message in group])
    keys = [one.key for one in prepared if one.given]
    if len(set(keys)) != len(keys):
        raise InvalidGroupError(
            "A message id was given twice in one group.", fix="Give each message its own id."
        )
    return prepared


def prepare_one(ctx: Context, message: Message) -> Prepared:
    """Make one message ready to be stored."""
    if message.metadata:
        message = msgspec.structs.replace(message, metadata=plain_metadata(message.metadata))
    key = None if message.id is None else ctx.key(check_id(message.id, "message id"))
    try:
        body, covered = stored_form(message)
    except TranscriptError as error:
        raise InvalidMessageError(
            f"A message could not be stored: {error.args[0]}",
            fix=error.fix,
            diagnostics=(),
            **error.facts,
        ) from error
    return Prepared(message, body, sha256(covered).digest(), key)


def plain_metadata(metadata: Mapping[str, Any]) -> dict[str, Any]:
    """Convert metadata to JSON by the rule of every edge.

    Raises:
        InvalidMessageError: `INVALID_MESSAGE`, naming the place of a value that is not JSON.
    """
    try:
        plain = to_json(metadata)
    except TranscriptError as error:
        raise InvalidMessageError(
            f"Metadata could not be stored: {error.args[0]}",
            fix=error.fix,
            diagnostics=(),
            **error.facts,
        ) from error
    if not isinstance(plain, dict):
        raise InvalidMessageError("Metadata was not an object.", fix="Pass a dict.")
    return plain


def as_messages(messages: Messages) -> tuple[Message, ...]:
    """Read a message or a sequence of messages, canonical or foreign.

    Raises:
        InvalidMessageError: `INVALID_MESSAGE`, for what no dialect reads.
    """
    if isinstance(messages, str):
        return (Message("user", (Text(messages),)),)
    if isinstance(messages, Message):
        return (messages,)
    if isinstance(messages, Mapping) or not isinstance(messages, Sequence):
        messages = [messages]
    if all(isinstance(message, Message) for message in messages):
        return tuple(messages)
    return tuple(lift_all(messages))


def lift_all(messages: Sequence[Any]) -> list[Message]:
    """Read foreign messages; their dialect is detected from all of them together.

    Objects are read as they are, since some dialects are of objects; what no dialect reads so is
    read as the JSON of it.
    """
    from thusfar.thread.foreign import lift

    if not all(isinstance(m, Message | Mapping) for m in messages):
        try:
            return lift(messages)
        except InvalidMessageError:
            pass
    plain = [m if isinstance(m, Message) else _plain(m) for m in messages]
    canonical = [m for m in plain if not isinstance(m, Message)]
    if all("parts" in m and not _of_others(m["parts"]) for m in canonical):
        return [m if isinstance(m, Message) else _from_json(m) for m in plain]
    return lift(plain)


def _of_others(parts: Any) -> bool:
    """Tell whether parts are those of Gemini or of pydantic-ai, which name no `type`."""
    return isinstance(parts, list) and any(isinstance(p, dict) and "type" not in p for p in parts)


def _plain(message: Any) -> Any:
    try:
        value = to_json(message)
    except TranscriptError as error:
        raise InvalidMessageError(
            f"A message could not be stored: {error.args[0]}",
            fix=error.fix,
            diagnostics=(),
            **error.facts,
        ) from error
    if not isinstance(value, dict):
        raise InvalidMessageError(
            "A value was not a message.",
            fix="Pass a Message, text, or a message of a known dialect.",
        )
    return value


def _from_json(value: dict[str, Any]) -> Message:
    try:
        return message_from_json(value)
    except TranscriptError as error:
        raise InvalidMessageError(
            "A value did not have the shape of a message.", fix=error.fix
        ) from error


def same_content(one: Message, other: Message) -> bool:
    """Tell whether two messages are equal as stored, metadata and wire form included."""
    return one == other and canonical_json(msgspec.to_builtins(one)) == canonical_json(
        msgspec.to_builtins(other)
    )
