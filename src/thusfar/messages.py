"""Messages: frozen, provider-neutral values; identity and time belong to storage, not here.

A `Message` is one entry of a transcript. Its `parts` are a tagged union, so that equal content
means equal messages. Tool arguments and native blocks are kept as the JSON text received.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, Literal

import msgspec

from thusfar.errors import TranscriptError

Role = Literal["system", "user", "assistant", "tool"]
ROLES: tuple[Role, ...] = ("system", "user", "assistant", "tool")


class _Part(
    msgspec.Struct,
    frozen=True,
    gc=False,
    tag_field="type",
    omit_defaults=True,
    forbid_unknown_fields=True,
):
    """What every part has in common: it is frozen, tagged by `type`, and printable."""


class Text(_Part, tag="text", frozen=True):
    """Plain text.

    Attributes:
        text: The text, exactly as received.
        wire: JSON text of an object with what the wire form had beside the text (for example
            `cache_control`), keyed by dialect name; empty when there was nothing.
    """

    text: str
    wire: str = ""


class Image(_Part, tag="image", frozen=True):
    """An image, by one of its data, its URL or the id of an uploaded file.

    Attributes:
        mime: Media type such as `image/png`; empty when unknown.
        data: Base64 text; empty when given by URL or id.
        url: Where it can be fetched; empty when given by data or id.
        file_id: The provider's id of an uploaded file; empty otherwise.
        name: File name, when known.
        wire: As in `Text`.
    """

    mime: str = ""
    data: str = ""
    url: str = ""
    file_id: str = ""
    name: str = ""
    wire: str = ""


class Audio(_Part, tag="audio", frozen=True):
    """Sound, by one of its data, its URL or the id of an uploaded file; fields as in `Image`."""

    mime: str = ""
    data: str = ""
    url: str = ""
    file_id: str = ""
    name: str = ""
    wire: str = ""


class File(_Part, tag="file", frozen=True):
    """A document, a video or any other file; fields as in `Image`."""

    mime: str = ""
    data: str = ""
    url: str = ""
    file_id: str = ""
    name: str = ""
    wire: str = ""


class ToolCall(_Part, tag="tool_call", frozen=True):
    """A tool call asked for by the model (or by a user-side tool user).

    Attributes:
        id: Pairs this call with its `ToolResult`; `None` where the wire has no ids, in which
            case calls and results pair by name and order.
        name: The name the caller used.
        arguments: The arguments as the JSON text received, unparsed.
        wire: As in `Text`.
    """

    id: str | None
    name: str
    arguments: str = "{}"
    wire: str = ""


class Reasoning(_Part, tag="reasoning", frozen=True):
    """Model reasoning, readable or sealed by its provider.

    Attributes:
        text: Readable reasoning or its summary; empty when sealed.
        signature: The provider's signature or encrypted content; `None` when it has none.
        data: Opaque replacement of redacted reasoning; `None` when it has none.
        provider: Dialect that wrote it and alone can read `signature` and `data`; empty when
            the text is plain.
        wire: As in `Text`.
    """

    text: str = ""
    signature: str | None = None
    data: str | None = None
    provider: str = ""
    wire: str = ""


class Native(_Part, tag="native", frozen=True):
    """Something a provider sends that has no canonical form, kept byte for byte.

    Attributes:
        provider: Dialect it belongs to.
        kind: The provider's own type name.
        raw: The block or item as JSON text.
    """

    provider: str
    kind: str
    raw: str


class ToolResult(_Part, tag="tool_result", frozen=True):
    """What a tool returned.

    Attributes:
        call_id: Id of the call it answers; `None` where the wire has no ids.
        name: Tool name, where the wire gives it.
        parts: The result's content, in order.
        is_error: Whether the tool reported a failure.
        wire: As in `Text`.
    """

    call_id: str | None
    name: str | None = None
    parts: tuple[Text | Image | Audio | File | Native, ...] = ()
    is_error: bool = False
    wire: str = ""


Part = Text | Image | Audio | File | ToolCall | ToolResult | Reasoning | Native
Media = Image | Audio | File


class Message(msgspec.Struct, frozen=True, omit_defaults=True, forbid_unknown_fields=True):
    """One entry of a transcript. Equal content means equal messages.

    A plain string is accepted for `parts` and becomes one `Text`.

    Attributes:
        role: Who speaks. A message that carries only tool results has the role `tool`.
        parts: Its content, in order.
        id: The caller's own id; `None` when there is none. Not part of the digest.
        name: Name of the speaker, where the wire gives one.
        metadata: Free JSON for the application (for example `{"pinned": true}`). Not part of
            the digest and never sent.
        wire: JSON text of what the wire form had beside role and content, keyed by dialect
            name; empty when there was nothing. Not part of the digest.

    Raises:
        TranscriptError: `INVALID_TRANSCRIPT`, for an unknown role.
    """

    role: Role
    parts: tuple[Part, ...] = ()
    id: str | None = None
    name: str | None = None
    metadata: dict[str, Any] = {}
    wire: str = ""

    if TYPE_CHECKING:

        def __init__(
            self,
            role: Role,
            parts: str | Iterable[Part] = (),
            id: str | None = None,  # noqa: A002 - as the field above
            name: str | None = None,
            metadata: dict[str, Any] = {},  # noqa: B006 - as the field above
            wire: str = "",
        ) -> None: ...

    def __post_init__(self) -> None:
        if type(self.parts) is tuple and self.role in ROLES:
            return  # what is decoded
        if self.role not in ROLES:
            raise TranscriptError(
                "A message had a role that does not exist.",
                fix=f"Use one of these roles: {', '.join(ROLES)}.",
            )
        parts: Any = self.parts
        if isinstance(parts, str):
            msgspec.structs.force_setattr(self, "parts", (Text(parts),))
        elif not isinstance(parts, tuple):
            msgspec.structs.force_setattr(self, "parts", tuple(parts))

    @property
    def text(self) -> str:
        """The text parts joined; empty when there are none."""
        return "".join(part.text for part in self.parts if isinstance(part, Text))
