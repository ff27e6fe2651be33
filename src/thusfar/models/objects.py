"""Objects: the small contracts of a model, made from its whole port."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

import msgspec

from thusfar._numbers import require_whole
from thusfar.codec import parse_json
from thusfar.dialects import dialect
from thusfar.errors import OptionsError, TranscriptError
from thusfar.messages import Message, Text
from thusfar.models.arguments import call_arguments
from thusfar.models.contracts import GeneratedObject, GeneratedText
from thusfar.models.errors import unreadable
from thusfar.models.port import ModelReply
from thusfar.models.strict import WRAPPED, is_wrapped, json_schema_of
from thusfar.models.strict_form import without_fillers
from thusfar.planner.sealing import Assembled

_FENCE: Final = "```"


def small_arguments(
    wire: str,
    model: str,
    prompt: str | None,
    messages: Sequence[Any] | None,
    system: str | None,
    most: int | None,
    schema: Any,
) -> dict[str, Any]:
    """Write what a small contract is asked as the arguments of the SDK's call.

    Raises:
        OptionsError: `INVALID_OPTIONS`, unless exactly one of prompt and messages is given, and
            for an output limit that is no whole number from 1.
    """
    if (prompt is None) == (messages is None):
        raise OptionsError(
            "A model got both a prompt and messages, or neither.", fix="Pass one of them."
        )
    require_whole("A model", "max_output_tokens", most)
    spoken = dialect(wire)
    said = messages
    if prompt is not None:
        said = spoken.lower(Message("user", (Text(prompt),)))
    request = Assembled(messages=list(said or ()), system=system, schema=schema)
    return call_arguments(request, spoken, model=model, max_output_tokens=most)


def text_of(reply: ModelReply) -> GeneratedText:
    """View an answer as `GenerateText` gives it."""
    return GeneratedText(
        text=reply.text,
        finish=reply.finish,
        input_tokens=reply.usage.input_tokens,
        output_tokens=reply.usage.output_tokens,
        request_id=reply.request_id,
    )


def object_of(reply: ModelReply, schema: Any, wire: str) -> GeneratedObject:
    """Read the JSON value of an answer; `None` where it ended before it was whole.

    Args:
        reply: The answer.
        schema: What was asked for. An answer to a schema that was wrapped is taken out, and nulls
            that stand for what was left out are left out.
        wire: Name of the dialect it was given in.

    Raises:
        ProviderAnswerError: `PROVIDER_ANSWER_INVALID`, when a whole answer is not JSON.
    """
    made, asked = object_from(text_of(reply)), json_schema_of(schema)
    value = made.value[WRAPPED] if is_wrapped(asked, made.value, wire) else made.value
    return msgspec.structs.replace(made, value=without_fillers(asked, value))


def unfenced(text: str) -> str:
    """Take off the fence of a code block that is the whole text."""
    bare = text.strip()
    first, newline, rest = bare.partition("\n")
    if newline and first.startswith(_FENCE) and rest.endswith(_FENCE) and " " not in first.strip():
        return rest.removesuffix(_FENCE)
    return bare


def object_from(made: GeneratedText) -> GeneratedObject:
    """Read the JSON value of a text; `None` where it ended before it was whole.

    Raises:
        ProviderAnswerError: `PROVIDER_ANSWER_INVALID`, when a whole text is not JSON.
    """
    value = None
    try:
        value = parse_json(unfenced(made.text))
    except TranscriptError:
        if made.finish == "stop":
            raise unreadable(
                input_tokens=made.input_tokens, output_tokens=made.output_tokens
            ) from None
    return GeneratedObject(
        value=value,
        finish=made.finish,
        input_tokens=made.input_tokens,
        output_tokens=made.output_tokens,
        request_id=made.request_id,
    )


class SmallContracts:
    """The small contracts of a model, by its whole port.

    Attributes:
        name: Name of the model.
        dialect: Wire format of its messages.
        native_output: Whether its provider takes the schema of an answer. A process asks for
            text where it does not.
    """

    name: str
    dialect: str
    native_output: bool = True

    def generate_sync(self, arguments: Mapping[str, Any]) -> ModelReply:
        """Answer a request; see `Model`."""
        raise NotImplementedError

    async def generate(self, arguments: Mapping[str, Any]) -> ModelReply:
        """Answer a request on an event loop; see `Model`."""
        raise NotImplementedError

    async def agenerate_text(self, **asked: Any) -> GeneratedText:
        """Answer with a text, on an event loop and cancelled with its task; see `generate_text`."""
        return text_of(await self.generate(self._small(**asked)))

    async def agenerate_object(self, **asked: Any) -> GeneratedObject:
        """Answer with a JSON value, on an event loop; see `generate_object`."""
        reply = await self.generate(self._small(**asked))
        return object_of(reply, asked.get("schema"), self.dialect)

    def _small(
        self,
        *,
        model: str = "",
        prompt: str | None = None,
        messages: Sequence[Any] | None = None,
        system: str | None = None,
        max_output_tokens: int | None = None,
        schema: Any = None,
    ) -> dict[str, Any]:
        return small_arguments(
            self.dialect, model or self.name, prompt, messages, system, max_output_tokens, schema
        )

    def generate_text(
        self,
        *,
        model: str = "",
        prompt: str | None = None,
        messages: Sequence[Any] | None = None,
        system: str | None = None,
        max_output_tokens: int | None = None,
    ) -> GeneratedText:
        """Answer with a text; see `GenerateText`. `messages` are in the dialect of the model.

        Raises:
            OptionsError: `INVALID_OPTIONS`, unless exactly one of prompt and messages is given.
            ProviderError: by code.
        """
        asked = small_arguments(
            self.dialect, model or self.name, prompt, messages, system, max_output_tokens, None
        )
        return text_of(self.generate_sync(asked))

    def generate_object(
        self,
        *,
        model: str = "",
        schema: Any,
        prompt: str | None = None,
        messages: Sequence[Any] | None = None,
        system: str | None = None,
        max_output_tokens: int | None = None,
    ) -> GeneratedObject:
        """Answer with a JSON value; see `GenerateObject`; otherwise as `generate_text`.

        The value is `None` where the answer ended before it was whole; `finish` says why.
        """
        asked = small_arguments(
            self.dialect, model or self.name, prompt, messages, system, max_output_tokens, schema
        )
        return object_of(self.generate_sync(asked), schema, self.dialect)
