"""The thusfar dialect: our own messages, as objects or in their JSON form.

Nothing is translated here: a `Message` lifts to itself. A JSON object is taken only when it is
the stored form exactly; the parts of a Gemini message have no `type` and are refused.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from thusfar.codec import message_from_json, to_json
from thusfar.dialects.base import DialectMismatch, Flat
from thusfar.dialects.openai_responses_calls import answer_note
from thusfar.dialects.rules import Rule
from thusfar.errors import TranscriptError
from thusfar.facts import Content, Facts, content_of, facts_of
from thusfar.messages import Message, Text, ToolCall

NAME: Final = "thusfar"

_FIELDS: Final = frozenset(Message.__struct_fields__)

RULES: Final[tuple[Rule, ...]] = ()  # this form is not sent to a provider


class ThusfarJSON:
    """Reads `thusfar.Message` objects and their JSON form; keeps no state."""

    name: Final = NAME

    def describe(self, message: Any) -> Facts:
        """Derive the facts of one message; see `Dialect.describe`.

        Raises:
            DialectMismatch: For anything but a `Message` or its stored JSON form.
        """
        return facts_of(self.lift(message))

    def content(self, message: Any) -> Content:
        """Derive what is counted of one message; see `Dialect.content`."""
        return content_of(self.lift(message))

    def flatten(self, messages: Sequence[Any]) -> Flat:
        """List what is counted of many messages in one loop; see `base.flatten`.

        Raises:
            DialectMismatch: As `describe` does.
        """
        texts: list[str] = []
        sizes: list[int] = []
        media: dict[int, Content] = {}
        for index, message in enumerate(messages):
            if type(message) is Message and len(message.parts) == 1 and not message.name:
                part = message.parts[0]
                if type(part) is Text:  # most messages by far
                    texts.append(part.text)
                    sizes.append(1)
                    continue
            content = self.content(message)
            texts += content.texts
            sizes.append(len(content.texts))
            if content.media:
                media[index] = content
        return Flat(texts, sizes, media)

    def lift(self, message: Any) -> Message:
        """Return a `Message` as the same object; decode the JSON form to one.

        Raises:
            DialectMismatch: For anything but a `Message` or its stored JSON form.
        """
        if isinstance(message, Message):
            return message
        if not isinstance(message, Mapping) or not message.keys() <= _FIELDS:
            raise DialectMismatch
        parts = message.get("parts", ())
        if not isinstance(parts, list | tuple) or not all(map(_tagged, parts)):
            raise DialectMismatch
        try:
            return message_from_json(message)
        except TranscriptError:
            raise DialectMismatch from None

    def lower(self, message: Message) -> tuple[Any, ...]:
        """Return the message itself: every part has a form here."""
        return (message,)

    def lower_beside(self, message: Message, neighbour: Any) -> tuple[Any, ...]:
        """Return the message, or its JSON form beside JSON; see `base.lower_beside`."""
        return (to_json(message),) if isinstance(neighbour, Mapping) else (message,)

    def answer_note(self, call: ToolCall) -> str:
        """Write the note of a result by the wire that the call is from; see `base.answer_note`."""
        return answer_note(call)


def _tagged(part: Any) -> bool:
    return isinstance(part, Mapping) and isinstance(part.get("type"), str)


THUSFAR_JSON: Final = ThusfarJSON()
