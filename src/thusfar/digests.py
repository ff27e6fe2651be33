"""Digests: of one message, and chained along a path; written in one pass with the stored form.

Source:
    docs/spec/codec.md
"""

from __future__ import annotations

from typing import Final

import msgspec

from thusfar.codec import encode_message, sorted_json
from thusfar.messages import Message, Text

DIGEST_TAG: Final = "tf1:"
ROOT_CHAIN: Final = "tf1:0"

_BEFORE_TEXT: Final = len('{"role":"","parts":[{"type":"text","text":')
_BEHIND_TEXT: Final = -len("}]}")
_DIGESTED_TEXT: Final = b'{"name":%b,"parts":[{"text":%b,"type":"text"}],"role":"%b"}'

_encoder = msgspec.json.Encoder()


def message_digest(message: Message) -> str:
    """Compute the digest of a message's role, name and parts (not id, metadata or wire).

    Returns:
        `tf1:` and 64 hexadecimal digits of SHA-256 over canonical JSON.
    """
    return DIGEST_TAG + _sha256(digested(message))


def plain_form(message: Message) -> tuple[bytes, bytes] | None:
    """Encode a message that is one plain text and has no id, as `stored_form` does.

    Returns:
        The JSON in UTF-8, and what `digested` returns; `None` for any other message.
    """
    parts = message.parts
    if len(parts) != 1 or message.id is not None or message.name is not None:
        return None
    text = parts[0]
    if type(text) is not Text or text.wire or message.wire or message.metadata:
        return None
    try:
        body, role = _encoder.encode(message), message.role
    except UnicodeEncodeError:  # half of a surrogate pair
        return None
    told = body[_BEFORE_TEXT + len(role) : _BEHIND_TEXT]  # as the digest covers it
    return body, _DIGESTED_TEXT % (b"null", told, role.encode())


def stored_form(message: Message) -> tuple[str, bytes]:
    """Encode a message as `encode_message` does, and write what its digest covers.

    Returns:
        The JSON, and what `digested` returns.

    Raises:
        TranscriptError: `INVALID_TRANSCRIPT`, when its metadata is not JSON.
    """
    form = plain_form(message)
    if form is not None:
        return form[0].decode(), form[1]
    return encode_message(message).decode(), digested(message)


def digested(message: Message) -> bytes:
    """Write what the digest of a message covers, as canonical JSON."""
    parts = message.parts
    if len(parts) == 1 and type(parts[0]) is Text and not parts[0].wire:
        # Most messages by far: written out, which is twenty times as fast.
        try:
            name, text = _encoder.encode(message.name), _encoder.encode(parts[0].text)
        except UnicodeEncodeError:  # half of a surrogate pair
            pass
        else:
            return _DIGESTED_TEXT % (name, text, message.role.encode())
    body = {"role": message.role, "name": message.name, "parts": msgspec.to_builtins(parts)}
    return sorted_json(body)


def chain_digest(previous: str, digest: str, *, salt: str = "") -> str:
    """Extend a chained digest by one message: "is A a prefix of B" is one comparison.

    Args:
        previous: The chain so far; `ROOT_CHAIN` before the first message.
        digest: Digest of the next message.
        salt: Secret of the thread, so that a stored chain does not let erased text be
            guessed; empty for caller-owned lists.
    """
    return DIGEST_TAG + _sha256(f"{salt}\n{previous}\n{digest}".encode())


def _sha256(data: bytes) -> str:
    import hashlib  # loads OpenSSL, which a projection never needs

    return hashlib.sha256(data).hexdigest()
