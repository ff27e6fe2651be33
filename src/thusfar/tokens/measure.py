"""The measure: the one function that says how many tokens something is.

Caps, splits and the fit of a request are all decided by it. It counts everything a model reads:
text, tool arguments, results, reasoning, media, framing, tool definitions and schemas.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any, Final, NamedTuple

from thusfar.capacity import UNKNOWN, ModelCapacity, capacity_of
from thusfar.codec import text_of
from thusfar.dialects.base import Dialect, flatten
from thusfar.facts import Content
from thusfar.tokens.cache import CachedCounter
from thusfar.tokens.confidence import Confidence, TokenCount, weakest
from thusfar.tokens.counters import bpe_available, counter_named
from thusfar.tokens.custom import (
    MessageCounter,
    checked,
    confidence_of,
    counts_messages,
    counts_text,
    name_of,
    remembered,
)
from thusfar.tokens.estimator import ESTIMATE_NAME
from thusfar.tokens.factors import BPE, RATIOS
from thusfar.tokens.framing import FRAMING, NO_MODEL, NONE, OTHER_VENDOR, Framing
from thusfar.tokens.media import MEDIA_TOKENS


class Size(NamedTuple):
    """How large messages are.

    Attributes:
        tokens: Of all of them, framing and media included. Unit: tokens.
        media: Whether some of it is the estimate of an image, a sound or a document.
    """

    tokens: int
    media: bool = False


class Measure:
    """Counts messages, texts and tools for one tokenizer and one provider's framing.

    Equal inputs give equal counts. Made by `measure_for`.

    Attributes:
        tokenizer: What counts, as on receipts: `o200k_base`, `estimate-1`, or
            `claude-3~o200k_base*1.30` for counts scaled to another tokenizer.
        confidence: How far its counts of text can be trusted.
        base: Tokens of every request beside its messages and tools. Unit: tokens.
        counter: Name of what counts texts.
        scaled_to: The tokenizer its counts are scaled to; `None`: they are raw.
        framing: Tokens around each message. Unit: tokens.
        tools_once: Tokens around the tools of a request, however many there are. Unit: tokens.
        counts_messages: Whether the caller counts whole messages instead of texts.
    """

    __slots__ = (
        "_framing",
        "_messages",
        "_percent",
        "_texts",
        "base",
        "confidence",
        "counter",
        "counts_messages",
        "framing",
        "scaled_to",
        "tokenizer",
        "tools_once",
    )

    def __init__(
        self,
        texts: CachedCounter,
        *,
        framing: Framing,
        confidence: Confidence,
        scaled_to: str | None = None,
        messages: MessageCounter | None = None,
    ) -> None:
        self._texts: Final = texts
        self._framing: Final = framing
        self._messages: Final = messages
        self._percent: Final = RATIOS[scaled_to].mean if scaled_to else 100
        self.base: Final = framing.base
        self.framing: Final = framing.per_message
        self.tools_once: Final = framing.tools
        self.counts_messages: Final = messages is not None
        self.confidence: Final = confidence
        self.counter: Final = name_of(messages) if messages else texts.name
        self.scaled_to: Final = scaled_to
        scale = f"{scaled_to}~{texts.name}*{self._percent / 100:.2f}" if scaled_to else self.counter
        self.tokenizer: Final[str] = scale

    def count(self, dialect: Dialect, messages: Sequence[Any]) -> list[int]:
        """Count each message, framing and media included.

        Args:
            dialect: The wire format of the messages.
            messages: The caller's own messages; they are read and not kept.

        Returns:
            One count a message, in order; 0 only where a counter without framing says so.
            Unit: tokens.

        Raises:
            OptionsError: `INVALID_OPTIONS`, when a counter of the caller does not answer with
                whole numbers.
        """
        if self._messages is not None:
            counts = self._messages.count_messages(messages)
            return checked(counts, len(messages), self.counter)
        texts, sizes, media = flatten(dialect, messages)
        return self._counts(texts, sizes, media)

    def size(self, dialect: Dialect, messages: Sequence[Any]) -> Size:
        """Count messages together, and tell whether media is among them; as `count` does."""
        if self._messages is not None:
            return Size(sum(self.count(dialect, messages)))
        texts, sizes, media = flatten(dialect, messages)
        return Size(sum(self._counts(texts, sizes, media)), bool(media))

    def contents(self, contents: Sequence[Content]) -> list[int]:
        """Count messages of which only the content is at hand, as `count` does."""
        return self._counts(
            [text for item in contents for text in item.texts],
            [len(item.texts) for item in contents],
            {index: item for index, item in enumerate(contents) if item.media},
        )

    def _counts(
        self, texts: list[str], sizes: list[int], media: Mapping[int, Content]
    ) -> list[int]:
        counted = self._scaled(texts)
        if len(texts) != len(sizes) or 0 in sizes:
            each, counted, start = counted, [], 0
            for size in sizes:
                counted.append(each[start] if size == 1 else sum(each[start : start + size]))
                start += size
        for index, item in media.items():
            counted[index] += self.media(item)
        framing = self.framing
        return [tokens + framing for tokens in counted] if framing else counted

    def count_flat(self, items: list[Any]) -> list[int]:
        """Count texts, or whole messages where the caller counts those; without framing."""
        if self._messages is None:
            return self._texts.count_many(items) if self._percent == 100 else self._scaled(items)
        return checked(self._messages.count_messages(items), len(items), self.counter)

    def media(self, content: Content) -> int:
        """Estimate the media of one message. Unit: tokens."""
        return sum(MEDIA_TOKENS[kind] for kind in content.media)

    def _scaled(self, texts: list[str]) -> list[int]:
        counted = self._texts.count_many(texts)
        percent = self._percent
        if percent == 100:
            return counted
        return [-(-tokens * percent // 100) for tokens in counted]

    def text(self, text: str) -> int:
        """Count one text without framing; 0 only for the empty text. Unit: tokens."""
        return -(-self._texts.count_many([text])[0] * self._percent // 100)

    def texts(self, texts: Sequence[str]) -> list[int]:
        """Count texts at once, each as `text` does."""
        return self._scaled(list(texts))

    def tools(self, tools: Sequence[Any] | None = None, schema: Any = None) -> int:
        """Count tool definitions and an output schema.

        Args:
            tools: Definitions as they are sent (or objects with `model_dump`). `None` or empty:
                no tools.
            schema: JSON Schema of the output, or a class with `model_json_schema`. `None`: none.

        Returns:
            Tokens of their JSON text and of the framing around tools; 0 for neither.

        Raises:
            TranscriptError: `INVALID_TRANSCRIPT`, when one of them is not JSON.
        """
        if not tools and schema is None:
            return 0
        texts = [_json(tool) for tool in tools or ()]
        framing = self._framing
        around = framing.tools + framing.per_tool * len(texts) if texts else 0
        if schema is not None:
            texts.append(_json(schema))
        return around + -(-sum(self._texts.count_many(texts)) * self._percent // 100)

    def request(
        self,
        dialect: Dialect,
        messages: Sequence[Any],
        *,
        tools: Sequence[Any] | None = None,
        schema: Any = None,
    ) -> TokenCount:
        """Count a complete request; with media in it, the confidence is `estimated` at best."""
        tokens, media = self.size(dialect, messages)
        return self.whole(
            Size(self.base + tokens + self.tools(tools, schema), media),
            beside=bool(tools) or schema is not None,
        )

    def whole(self, size: Size, *, beside: bool) -> TokenCount:
        """Say how far the size of a request can be trusted.

        Args:
            size: Messages and all beside them.
            beside: Whether tools, a schema or a system text outside the list are in it.
        """
        confidence = self.confidence
        if beside:
            confidence = weakest(confidence, self._texts.confidence)
        if size.media:
            confidence = weakest(confidence, "estimated")
        return TokenCount(tokens=size.tokens, tokenizer=self.tokenizer, confidence=confidence)

    def __repr__(self) -> str:
        return f"Measure({self.tokenizer!r}, {self.confidence!r})"


def measure_for(
    counter: Any = None, model: str | None = None, *, capacity: ModelCapacity | int | None = None
) -> Measure:
    """Choose how to measure.

    Args:
        counter: What counts. A name (`estimate`, `o200k_base`, `cl100k_base`,
            `tiktoken:o200k_base`): raw counts of that tokenizer, with the model's framing. A
            function of one text, or an object with `count_many`, `count_tokens` or `count`: taken
            at its word, without framing. An object with `count_messages`, or
            `tokens.per_message(...)`: whole messages, with neither framing nor media. A `Measure`:
            itself. `None`: the model's own tokenizer where it can be had, otherwise the nearest
            one scaled; without a model `estimate-1`, whatever is installed.
        model: Name of the model; chooses tokenizer and framing. `None`: no model.
        capacity: What the caller knows of the model; its tokenizer and vendor win over the table.

    Raises:
        OptionsError: `INVALID_OPTIONS`, for a counter that cannot count or does not exist.
        MissingExtraError: `MISSING_EXTRA`, when a named tokenizer is not installed.

    Example:
        >>> measure_for().text("Weather in Oslo?")
        4
    """
    if isinstance(counter, Measure):
        return counter
    if counter is None or isinstance(counter, str):
        family, vendor = _family(model, capacity)
        if counter is None:
            return _own(family, vendor)
        return _by_name(ESTIMATE_NAME if counter == "estimate" else counter, family, vendor)
    if counts_messages(counter):
        texts = remembered(counter) if counts_text(counter) else _named(ESTIMATE_NAME)
        return Measure(texts, framing=NONE, confidence=confidence_of(counter), messages=counter)
    texts = remembered(counter)
    return Measure(texts, framing=NONE, confidence=texts.confidence)


def _family(model: str | None, capacity: ModelCapacity | int | None) -> tuple[str | None, str]:
    """Find the model's tokenizer and vendor; `None` and no vendor without a model."""
    if capacity is not None:
        given = ModelCapacity.of(capacity)
        if given.tokenizer != UNKNOWN:
            return given.tokenizer, given.vendor
    if model is None:
        return None, ""
    found = capacity_of(model)
    return found.tokenizer, found.vendor


@lru_cache(maxsize=16)
def _named(name: str) -> CachedCounter:
    """Give each named counter one cache for the whole process."""
    return CachedCounter(counter_named(name))


@lru_cache(maxsize=256)
def _by_name(counter: str, family: str | None, vendor: str) -> Measure:
    """Measure with the tokenizer of that name, its counts as they are."""
    texts = _named(counter)
    confidence = texts.confidence if family is None else _trust(texts.name, family)
    return Measure(texts, framing=_framing(family, vendor), confidence=confidence)


@lru_cache(maxsize=256)
def _own(family: str | None, vendor: str) -> Measure:
    """Measure with the model's own tokenizer, or the nearest one scaled to it."""
    if family is None:
        return _by_name(ESTIMATE_NAME, None, "")
    nearest = family if family in BPE else "o200k_base"
    texts = _named(nearest if bpe_available() else ESTIMATE_NAME)
    raw = family in ("o200k_base", texts.name) or family not in RATIOS
    return Measure(
        texts,
        framing=_framing(family, vendor),
        confidence=_trust(texts.name, family),
        scaled_to=None if raw else family,
    )


def _trust(counter: str, family: str) -> Confidence:
    if family not in RATIOS:
        return "conservative"
    return "exact" if counter == family else "estimated"


def _framing(family: str | None, vendor: str) -> Framing:
    return NO_MODEL if family is None else FRAMING.get(vendor, OTHER_VENDOR)


def _json(value: Any) -> str:
    """Write a definition as the text a model reads of it; text stays as it is."""
    if isinstance(value, str):
        return value
    if isinstance(value, type) and callable(schema := getattr(value, "model_json_schema", None)):
        value = schema()
    return text_of(value)
