"""Capacity: how large a model's window is, and which tokenizer fills it.

The table is data with sources (`thusfar.capacity_table`); callers can pass their own values. A
model that is not in it gets a small, conservative window, and says so.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cache, lru_cache
from typing import Any, Final

import msgspec

from thusfar._numbers import kind_of, require_whole
from thusfar.errors import OptionsError

UNKNOWN: Final = "unknown"
"""The tokenizer of a model about which nothing is known."""

UNKNOWN_WINDOW: Final = 8192  # no current model that holds a conversation has less
UNKNOWN_RESERVE: Final = 2048
_DEFAULT_RESERVE: Final = 4096  # at most a quarter of the window


class ModelCapacity(msgspec.Struct, frozen=True, kw_only=True):
    """What fits into one request to a model.

    Attributes:
        context_window: Input and output together. Unit: tokens. At least 1.
        output_reserve: Room kept for the answer when the request sets no output limit; less than
            the window. Unit: tokens. `None`: a quarter of the window, at most 4,096.
        tokenizer: As in the table, such as `o200k_base` or `claude-3`; `unknown` otherwise.
        vendor: `openai`, `anthropic`, `google` or another; chooses the framing. Empty: unknown.
        max_input: Most input the provider takes, where that is less than the window without
            the output. Unit: tokens. `None`: the window alone limits it.
        max_output: Most output the provider allows. Unit: tokens. `None`: not known.
        name: The model or family that the values are about.
        source: Where the window is from, or that nothing confirmed it.
        date: When it was compared with the source, ISO 8601; empty when it was not.
        known: Whether the model was found; `False` marks the conservative stand-in.

    Raises:
        OptionsError: `INVALID_OPTIONS`, for any value outside its range.
    """

    context_window: int
    output_reserve: int | None = None
    tokenizer: str = UNKNOWN
    vendor: str = ""
    max_input: int | None = None
    max_output: int | None = None
    name: str = ""
    source: str = "the caller"
    date: str = ""
    known: bool = True

    def __post_init__(self) -> None:
        owner = "ModelCapacity()"
        if self.context_window is None:
            raise OptionsError(
                f"{owner} got no window.", fix="Pass context_window=.", option="context_window"
            )
        require_whole(owner, "context_window", self.context_window)
        require_whole(owner, "output_reserve", self.output_reserve, least=0)
        require_whole(owner, "max_input", self.max_input)
        require_whole(owner, "max_output", self.max_output)
        if self.output_reserve is None:
            reserve = min(_DEFAULT_RESERVE, self.context_window // 4)
            msgspec.structs.force_setattr(self, "output_reserve", reserve)
        elif self.output_reserve >= self.context_window:
            raise OptionsError(
                f"{owner} got an output reserve of {self.output_reserve} tokens in a window of "
                f"{self.context_window}.",
                fix="Pass an output_reserve smaller than the window.",
                option="output_reserve",
                window=self.context_window,
                reserve=self.output_reserve,
            )

    @property
    def reserve(self) -> int:
        """The output reserve, which construction has filled in. Unit: tokens."""
        return self.output_reserve or 0

    @classmethod
    def of(cls, value: object) -> ModelCapacity:
        """Read a capacity, or a whole number as a window of that many tokens.

        Raises:
            OptionsError: `INVALID_OPTIONS`, for anything else.
        """
        if isinstance(value, ModelCapacity):
            return value
        if isinstance(value, bool) or not isinstance(value, int):
            raise OptionsError(
                f"A capacity was given as {kind_of(value)}.",
                fix="Pass a ModelCapacity or the window as a whole number of tokens.",
                option="capacity",
            )
        return cls(context_window=value)


UNKNOWN_CAPACITY: Final = ModelCapacity(
    context_window=UNKNOWN_WINDOW,
    output_reserve=UNKNOWN_RESERVE,
    source="the conservative stand-in for unknown models",
    known=False,
)


def capacity_of(
    model: str, *, overrides: Mapping[str, ModelCapacity | int] | None = None
) -> ModelCapacity:
    """Find what is known of a model by its name.

    Names are read as they are written in many places: `openai:gpt-5`,
    `anthropic/claude-sonnet-4-5`, `models/gemini-2.5-pro`,
    `us.anthropic.claude-sonnet-4-5-20250929-v1:0`. The longest entry that begins the name wins.

    Args:
        model: Name of the model, with or without its provider.
        overrides: Values of the caller by model name or beginning of one; a whole number is a
            window. They win over the table.

    Returns:
        The capacity; for a model that is not found 8,192 tokens with 2,048 reserved and
        `known=False`.

    Raises:
        OptionsError: `INVALID_OPTIONS`, when the name is not text or an override is no capacity.

    Source:
        docs/spec/budget.md#capacity

    Example:
        >>> capacity_of("anthropic/claude-sonnet-4-5").context_window
        200000
    """
    if not isinstance(model, str):
        raise OptionsError(
            f"A model was given as {kind_of(model)}.",
            fix="Pass its name as text.",
            option="model",
        )
    if overrides:
        if model in overrides:
            return ModelCapacity.of(overrides[model])
        named = {canonical_name(name): value for name, value in overrides.items()}
        if (found := _longest(canonical_name(model), named)) is not None:
            return ModelCapacity.of(named[found])
    return _from_table(model)


@lru_cache(maxsize=1024)
def _from_table(model: str) -> ModelCapacity:
    for spelling in _spellings(model):
        if (found := _longest(spelling, _table())) is not None:
            return _table()[found]
    return UNKNOWN_CAPACITY


# fmt: off
_PROVIDERS: Final = frozenset((
    "ai21", "amazon", "anthropic", "apac", "au", "azure", "azure-openai", "azure_ai", "bedrock",
    "bedrock_converse", "ca", "cerebras", "cohere", "dashscope", "deepinfra", "deepseek", "eu",
    "fireworks", "fireworks_ai", "ft", "gemini", "global", "google", "google-gla", "google-vertex",
    "google_genai", "google_vertexai", "groq", "huggingface", "jp", "litellm", "meta", "minimax",
    "mistral", "mistralai", "moonshot", "moonshotai", "nvidia", "ollama", "openai", "openai-chat",
    "openai-responses", "openrouter", "qwen", "together", "together_ai", "us", "us-gov", "vercel",
    "vertex", "vertex_ai", "vllm", "x-ai", "xai", "zai",
))
# fmt: on
_LEADING: Final = re.compile(r"([a-z][a-z0-9_-]*)[:.](?=.)")
_VERSIONED: Final = re.compile(r"^(?:meta-)?(llama|qwen|gemma)-?(?=\d)")


def canonical_name(model: str) -> str:
    """Reduce a model name to what the table is keyed by: no provider, one spelling.

    Example:
        >>> canonical_name("openrouter/anthropic/claude-sonnet-4.5"), canonical_name("llama3.1:8b")
        ('claude-sonnet-4-5', 'llama-3.1:8b')
    """
    return _spellings(model)[0]


def _spellings(model: str) -> list[str]:
    """List a name without its provider first, then with more and more before it."""
    name = model.strip().lower().rpartition("/")[2]
    names = [name]
    while (found := _LEADING.match(name)) and found[1] in _PROVIDERS:
        name = name[found.end() :]
        names.insert(0, name)
    return [_one_spelling(name) for name in names]


def _one_spelling(name: str) -> str:
    if name.startswith("claude"):
        return name.replace(".", "-").replace("@", "-")
    return _VERSIONED.sub(r"\1-", name)


def _longest(name: str, table: Mapping[str, Any]) -> str | None:
    """Find the longest key that begins the name and ends at a border within it."""
    for end in range(len(name), 0, -1):
        if (end == len(name) or not name[end].isalnum()) and name[:end] in table:
            return name[:end]
    return None


@cache
def _table() -> dict[str, ModelCapacity]:
    """Read the table when the first model is asked for: importing it costs what few need."""
    from thusfar.capacity_table import ROWS, origin

    made: dict[str, ModelCapacity] = {}
    named = [(name, row) for row in ROWS for name in row.names]
    for name, row in named:
        source, date = origin(name, row.vendor)
        made[canonical_name(name)] = ModelCapacity(
            context_window=row.window,
            output_reserve=row.reserve,
            tokenizer=row.tokenizer,
            vendor=row.vendor,
            max_input=row.max_input,
            max_output=row.max_output,
            name=name,
            source=source,
            date=date,
        )
    return made
