"""Artifacts: derived summaries of a range, known by the digest of what they cover.

An artifact is evidence, never truth: it holds derived text and counts, no text of the transcript,
and it is immutable. Its key says what it covers and what made it, so that after an edit, a branch
switch or a redaction no key of the new transcript leads to it.

Source:
    docs/spec/summaries.md#artifacts
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from typing import Final

import msgspec

from thusfar._summarize import SummaryOptions
from thusfar.codec import canonical_json
from thusfar.digests import ROOT_CHAIN, chain_digest, message_digest
from thusfar.messages import Message

ARTIFACT_SCHEMA: Final = 1
PROMPT_VERSION: Final = 1  # of the fixed instructions
RENDERING_VERSION: Final = 1  # of the quoted form of messages
LINKED_SUPPORT: Final = 16  # a thread of a million messages takes 60,000 calls at first
KEPT_SUPERSEDED: Final = 2  # older artifacts of a conversation that stay usable


class SummaryIdentity(msgspec.Struct, frozen=True, kw_only=True):
    """Everything that changes the text of a summary, besides the messages it covers.

    Attributes:
        strategy: Kind of the strategy.
        version: Version of the strategy.
        parameters: Its parameters.
        model: Name of the summary model, or the name of a bare function.
        provider: Who runs the model; empty where that is not known.
        native: Whether the provider's own summary path made it.
        prompt: Version of the fixed instructions.
        rendering: Version of the quoted form of messages.
        instructions: Digest of the author's instructions; empty when there are none.
        max_tokens: Most tokens of an accepted text.
        keep_user: As in `SummaryOptions`.
        redact: Name and version of the redaction; empty when there is none.
        repair: Repair mode of the policy.
        schema: Version of this record.
    """

    strategy: str
    version: int = 1
    parameters: tuple[tuple[str, int], ...] = ()
    model: str = ""
    provider: str = ""
    native: bool = False
    prompt: int = PROMPT_VERSION
    rendering: int = RENDERING_VERSION
    instructions: str = ""
    max_tokens: int = 500
    keep_user: int | float | None = None
    redact: str = ""
    repair: str = "strict"
    schema: int = ARTIFACT_SCHEMA

    @property
    def digest(self) -> str:
        """SHA-256 over the canonical JSON of the record, as hexadecimal digits."""
        return hashlib.sha256(canonical_json(msgspec.to_builtins(self))).hexdigest()


def identity_of(
    options: SummaryOptions,
    *,
    model: str,
    repair: str = "strict",
    provider: str = "",
    native: bool = False,
) -> SummaryIdentity:
    """Write the identity of the summaries that these options make.

    Args:
        options: How summaries are made.
        model: Name of the model that makes them.
        repair: Repair mode of the policy.
        provider: Who runs the model.
        native: Whether the provider's own summary path is used.
    """
    redact = options.redact
    said = options.instructions
    return SummaryIdentity(
        strategy=options.strategy.kind,
        version=options.strategy.version,
        parameters=options.strategy.parameters,
        model=model,
        provider=provider,
        native=native,
        instructions=hashlib.sha256(said.encode("utf-8", "backslashreplace")).hexdigest()
        if said
        else "",
        max_tokens=options.max_tokens,
        keep_user=options.keep_user,
        redact=f"{redact.name}:{redact.version}" if redact else "",
        repair=repair,
    )


class Segment(msgspec.Struct, frozen=True, kw_only=True):
    """One piece of summary text and the messages it stands for.

    Positions count from the first message behind the leading system run.

    Attributes:
        start: First message covered.
        end: End of the range (exclusive).
        text: The summary; derived, never a text of the transcript.
        tokens: Its size.
        level: 0 for a range summarised once; one more each time eight of a level were merged.
        generation: How many summaries the oldest of its content went through, beyond the first.
    """

    start: int
    end: int
    text: str
    tokens: int
    level: int = 0
    generation: int = 0


class Artifact(msgspec.Struct, frozen=True, kw_only=True):
    """A summary of everything behind the system run up to one exchange border.

    Attributes:
        key: Content address; see `artifact_key`.
        identity: Digest of the `SummaryIdentity`.
        chain: Chained digest of the messages covered.
        messages: How many messages it covers. Unit: messages.
        segments: The text, oldest first, without gaps.
        kept_user: Positions of covered user messages that are sent exactly as well.
        source_tokens: Tokens of the range, each message rendered once.
        spent_tokens: Tokens that went to and came from the summary model so far, retries and
            fixed instructions apart.
        retried_tokens: The same for calls whose text was refused.
        ranges: How many ranges were summarised so far.
        clipped: How many messages were too large for the summary model and were cut for it.
        calls: How many support calls made what this one adds to its base.
        support: Ids of the newest of them; the request that made them lists all.
        lineage: Keys of the summaries it supersedes, the newest first.
        schema: Version of this shape.
    """

    key: str
    identity: str
    chain: str
    messages: int
    segments: tuple[Segment, ...]
    kept_user: tuple[int, ...] = ()
    source_tokens: int = 0
    spent_tokens: int = 0
    retried_tokens: int = 0
    ranges: int = 0
    clipped: int = 0
    calls: int = 0
    support: tuple[str, ...] = ()
    lineage: tuple[str, ...] = ()
    schema: int = ARTIFACT_SCHEMA

    @property
    def text(self) -> str:
        """The whole summary."""
        return "\n\n".join(segment.text for segment in self.segments)

    @property
    def generation(self) -> int:
        """The drift: how often its most rewritten segment was summarised again."""
        return max((segment.generation for segment in self.segments), default=0)


class SourceArtifact(msgspec.Struct, frozen=True, kw_only=True):
    """A summary of a contributor's text.

    Attributes:
        key: Content address over the text's digest and the identity.
        text: The summary.
        tokens: Its size.
        support: Ids of the support requests that made it.
    """

    key: str
    text: str
    tokens: int
    support: tuple[str, ...] = ()


End = tuple[int, str]
"""Where an artifact may end: how many messages it covers, and their chained digest."""


def artifact_key(identity: str, chain: str) -> str:
    """Make the content address of a summary; the namespace is the store's.

    Args:
        identity: Digest of the identity.
        chain: Chained digest of the range.
    """
    return "summary_" + hashlib.sha256(f"{identity}\n{chain}".encode()).hexdigest()[:40]


def chain_over(messages: Iterable[Message], *, before: str = ROOT_CHAIN) -> list[str]:
    """Compute the chained digest after each message.

    Args:
        messages: Canonical messages, oldest first, from behind the leading system run.
        before: The chain before the first of them.
    """
    chains: list[str] = []
    for message in messages:
        before = chain_digest(before, message_digest(message))
        chains.append(before)
    return chains
