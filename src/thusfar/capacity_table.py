"""The capacity table: windows, output limits and tokenizers of models, as data.

Each window was compared with the model table of LiteLLM 1.110.2. Those that stand there with
another one, or not at all, were looked up on pages of their vendors: `CONFIRMED` has the page, and
the names in `UNCONFIRMED` were found on none. Output limits are the vendors' where known, and were
not all compared. Hosts of an open model often allow less than its vendor: who knows, passes a
capacity. A reserve is what an answer is given when the request sets no output limit: 32,768 tokens
for models that reason before they answer, otherwise at most 16,384, and never more than the
provider allows or a quarter of the window.
"""

from __future__ import annotations

from types import MappingProxyType
from typing import Final

import msgspec

COMPARED_WITH: Final = "LiteLLM 1.110.2, model_prices_and_context_window.json"
TABLE_DATE: Final = "2026-11-30"
"""When the windows were compared with that table."""

SOURCES: Final = MappingProxyType(
    {
        "openai": "https://developers.openai.com/api/docs/models",
        "anthropic": "https://platform.claude.com/docs/en/about-claude/models/overview",
        "google": "https://ai.google.dev/gemini-api/docs/models",
        "meta": "https://www.llama.com/docs/model-cards-and-prompt-formats",
        "qwen": "https://www.alibabacloud.com/help/en/model-studio/models",
        "deepseek": "https://api-docs.deepseek.com/quick_start/pricing",
        "mistral": "https://docs.mistral.ai/getting-started/models",
        "xai": "https://docs.x.ai/docs/models",
        "moonshot": "https://platform.moonshot.ai/docs/pricing",
        "zai": "https://docs.z.ai/guides/overview/pricing",
        "cohere": "https://docs.cohere.com/docs/models",
        "amazon": "https://docs.aws.amazon.com/nova/latest/userguide/what-is-nova.html",
    }
)
"""Page of each vendor on which its limits stand; most were not read for this table."""


class Row(msgspec.Struct, frozen=True):
    """Models with equal limits.

    Attributes:
        names: Beginnings of model names.
        window: Input and output together. Unit: tokens.
        reserve: Room for an answer of no stated limit. Unit: tokens.
        tokenizer: The tokenizer family, as in `thusfar.tokens.factors`.
        vendor: Key of `SOURCES`.
        max_output: Most output allowed. Unit: tokens. `None`: not published.
        max_input: Most input allowed, where less than the rest of the window. Unit: tokens.
    """

    names: tuple[str, ...]
    window: int
    reserve: int
    tokenizer: str
    vendor: str
    max_output: int | None = None
    max_input: int | None = None


def _rows(vendor: str, tokenizer: str, *lines: str) -> tuple[Row, ...]:
    """Read lines of `names: window reserve [max_output [max_input]]`."""
    made = []
    for line in lines:
        names, _, numbers = line.partition(": ")
        limits = [int(number.replace(",", "")) for number in numbers.split()]
        window, reserve, *more = limits
        made.append(Row(tuple(names.split()), window, reserve, tokenizer, vendor, *more))
    return tuple(made)


ROWS: Final = (
    *_rows(
        "openai",
        "o200k_base",
        "gpt-5 gpt-5.1 gpt-5.2 gpt-5.3: 400,000 32,768 128,000 272,000",
        "gpt-5-pro: 400,000 32,768 272,000",
        "gpt-5-chat gpt-5.1-chat gpt-5.2-chat gpt-5.3-chat: 128,000 16,384 16,384",
        "gpt-5.4 gpt-5.5 gpt-5.6: 1,050,000 32,768 128,000 922,000",
        "gpt-5.4-mini gpt-5.4-nano gpt-5.6-cyber: 400,000 32,768 128,000 272,000",
        "gpt-4.1: 1,047,576 16,384 32,768",
        "gpt-4.5 gpt-4o chatgpt-4o gpt-audio: 128,000 16,384 16,384",
        "gpt-4o-2024-05-13: 128,000 4,096 4,096",
        "o1 o3 o4 codex-mini: 200,000 32,768 100,000",
        "o1-mini: 128,000 32,000 65,536",
        "o1-preview: 128,000 32,000 32,768",
        "computer-use-preview: 8,192 1,024 1,024",
        # The merges of gpt-oss are those of o200k_base; only its special tokens differ.
        "gpt-oss: 131,072 32,768 131,072",
    ),
    *_rows(
        "openai",
        "cl100k_base",
        "gpt-4-turbo gpt-4-1106 gpt-4-0125 gpt-4-vision: 128,000 4,096 4,096",
        "gpt-4: 8,192 2,048 8,192",
        "gpt-4-32k: 32,768 4,096",
        "gpt-3.5-turbo gpt-35-turbo gpt-3.5: 16,385 4,096 4,096",
        "gpt-3.5-turbo-instruct: 4,096 1,024 4,096",
    ),
    *_rows("openai", "openai-6", "gpt-6 gpt-6.1: 1,050,000 32,768 128,000 922,000"),
    *_rows(
        "anthropic",
        "claude-3",
        "claude-instant claude-v1 claude-v2 claude-2: 100,000 4,096 4,096",
        "claude-2-1: 200,000 4,096 4,096",
        "claude-3-opus claude-3-sonnet claude-3-haiku claude-3: 200,000 4,096 4,096",
        "claude-3-5-sonnet claude-3-5-haiku claude-3-5: 200,000 8,192 8,192",
        "claude-3-7-sonnet claude-3-7: 200,000 32,768 64,000",
        "claude-opus-4 claude-4-opus: 200,000 32,000 32,000",
        "claude-sonnet-4 claude-4-sonnet: 200,000 32,768 64,000",
        "claude-opus-4-5 claude-sonnet-4-5 claude-haiku-4-5: 200,000 32,768 64,000",
        "claude-4-5-opus claude-4-5-sonnet claude-4-5-haiku: 200,000 32,768 64,000",
        "claude-opus-4-6 claude-sonnet-4-6: 1,000,000 32,768 128,000",
    ),
    *_rows(
        "anthropic",
        "claude-4.7",
        "claude-opus-4-7 claude-opus-4-8: 1,000,000 32,768 128,000",
        "claude-opus-5 claude-sonnet-5 claude-haiku-5: 1,000,000 32,768 128,000",
        "claude-fable claude-mythos: 1,000,000 32,768 128,000",
        "claude: 200,000 16,384",
    ),
    *_rows(
        "google",
        "gemini",
        "gemini-1.0 gemini-pro: 32,760 2,048 2,048",
        "gemini-1.5-pro: 2,097,152 8,192 8,192",
        "gemini-1.5 gemini-2.0: 1,048,576 8,192 8,192",
        "gemini-2.5 gemini-3 gemini-3.1: 1,048,576 32,768 65,536",
        "gemini-3.5 gemini-3.6 gemini-3.7 gemini-3.8: 1,048,576 32,768 65,536",
        "gemini-pro-latest gemini-flash-latest gemini-flash-lite-latest: 1,048,576 32,768 65,536",
        "gemini-4: 1,048,576 32,768",
        "gemini-2.5-flash-image: 32,768 8,192 32,768",
        "gemini-3-pro-image gemini-3.1-flash-image: 65,536 16,384 32,768",
        "gemini-3.1-flash-lite-image: 65,536 4,096 4,096",
        "gemini-2.5-computer-use: 128,000 32,000 64,000",
        "gemini-2.5-flash-native-audio: 131,072 8,192 8,192",
        "gemini-live: 128,000 8,192 64,000",
        "gemini-omni gemini-3.1-flash-live gemini-3.8-live: 131,072 32,768 65,536",
        "gemma-2: 8,192 2,048 8,192",
        "gemma-3: 131,072 8,192 8,192",
        "gemma-4: 262,144 16,384 32,768",
    ),
    *_rows(
        "meta",
        "llama-3",
        "llama-3: 8,192 2,048",
        "llama-3.1 llama-3.2 llama-3.3: 131,072 4,096",
        "llama-3-1 llama-3-2 llama-3-3: 131,072 4,096",
        "llama-4 llama-4-maverick llama-4-scout: 131,072 8,192",
    ),
    *_rows("meta", "unknown", "llama-2: 4,096 1,024"),
    *_rows(
        "qwen",
        "qwen-3",
        "qwen-2 qwen-2.5 qwen-turbo qwen-max: 32,768 8,192 8,192",
        "qwq qwen-plus: 131,072 8,192 8,192",
        "qwq-plus: 131,072 8,192 8,192 98,304",
        "qwen-3: 32,768 8,192",
        "qwen-3-235b-a22b-2507 qwen-3-coder qwen-3-max qwen-3-next: 262,144 16,384 65,536",
        "qwen-3-235b-a22b-instruct-2507 qwen-3-235b-a22b-thinking-2507: 262,144 16,384",
        "qwen-3-30b-a3b-instruct-2507 qwen-3-30b-a3b-thinking-2507: 262,144 16,384",
        "qwen-3-4b-instruct-2507 qwen-3-4b-thinking-2507: 262,144 16,384",
        "qwen-3-vl: 131,072 16,384 32,768",
        "qwen-3.5 qwen-3.6 qwen-3.7 qwen-3.8: 262,144 32,768",
        "qwen-flash qwen-plus-latest qwen-coder qwen-long: 1,000,000 16,384",
    ),
    *_rows(
        "deepseek",
        "deepseek-v3",
        "deepseek-coder: 65,536 8,192 8,192",
        "deepseek-v2: 131,072 8,192",
        "deepseek-v2-lite: 32,768 8,192",
        "deepseek-v3 deepseek-r1: 65,536 8,192 8,192",
        "deepseek-chat deepseek-v3.1 deepseek-v3.2: 131,072 8,192 8,192",
        "deepseek-reasoner: 131,072 32,768 65,536",
        "deepseek-v4 deepseek-flash: 1,000,000 32,768 393,216",
    ),
    *_rows(
        "mistral",
        "mistral",
        "mistral mistral-7b open-mistral-7b mistral-tiny mixtral mixtral-8x7b: 32,768 4,096",
        "open-mixtral-8x7b mistral-small mistral-large-2402: 32,768 4,096",
        "mixtral-8x22b open-mixtral-8x22b: 65,536 4,096",
        "mistral-nemo open-mistral-nemo mistral-large mistral-medium: 131,072 8,192",
        "mistral-small-3.1 mistral-small-3.2 pixtral ministral: 131,072 8,192",
        "magistral devstral: 128,000 16,384",
        "codestral: 256,000 16,384",
        "codestral-2405: 32,768 4,096",
        "mistral-large-2512 mistral-large-3 mistral-large-latest: 262,144 16,384",
        "mistral-medium-2604 mistral-medium-3-5 mistral-medium-3.5: 262,144 16,384",
        "mistral-medium-latest mistral-small-2603 mistral-small-latest: 262,144 16,384",
        "magistral-medium-latest magistral-small-latest devstral-latest: 256,000 16,384",
        "mistral-large-4: 1,048,576 32,768",
    ),
    *_rows(
        "xai",
        "unknown",
        "grok-2 grok-3: 131,072 16,384",
        "grok-4 grok-code-fast grok-build: 256,000 32,768",
        "grok-4.20 grok-4.3: 1,000,000 32,768",
        "grok-4.5 grok-4.6 grok-4.7: 500,000 32,768",
    ),
    *_rows(
        "moonshot",
        "unknown",
        "kimi-k2: 131,072 16,384",
        "kimi-k2-0905 kimi-k2-thinking kimi-k2.5 kimi-k2.6 kimi-k2.7: 262,144 32,768",
        "kimi-k3 kimi-k3.1: 1,048,576 32,768",
        "moonshot-v1-8k: 8,192 2,048",
        "moonshot-v1-32k: 32,768 4,096",
        "moonshot-v1-128k moonshot-v1-auto: 131,072 8,192",
    ),
    *_rows(
        "zai",
        "unknown",
        "glm-4: 128,000 8,192",
        "glm-4.5: 128,000 32,000 32,000",
        "glm-4.6 glm-4.7 glm-5 glm-5.1: 200,000 32,768 128,000",
        "glm-5.2 glm-5.3: 1,000,000 32,768 128,000",
    ),
    *_rows(
        "cohere",
        "unknown",
        "command-r command-r-plus command-r7b: 128,000 4,096 4,096",
        "command-a: 128,000 8,000 8,000",
    ),
    *_rows(
        "amazon",
        "unknown",
        "nova-micro: 128,000 10,000 10,000",
        "nova-lite nova-pro: 300,000 10,000 10,000",
        "nova-premier: 1,000,000 10,000 10,000",
        "nova-2: 1,000,000 32,768 64,000",
    ),
)
"""Every row; the longest name that begins a model's name wins."""

_CONFIRMED: Final = {
    "https://cloud.google.com/vertex-ai/generative-ai/docs/models/gemini/1-5-flash": (
        "gemini-1.5",
    ),
    "https://docs.cloud.google.com/gemini-enterprise-agent-platform/models/gemini"
    "/2-5-flash-live-api": ("gemini-live",),
    "https://github.com/QwenLM/Qwen3, README.md": (
        "qwen-3-235b-a22b-2507 qwen-3-235b-a22b-instruct-2507 qwen-3-235b-a22b-thinking-2507",
        "qwen-3-30b-a3b-instruct-2507 qwen-3-30b-a3b-thinking-2507",
        "qwen-3-4b-instruct-2507 qwen-3-4b-thinking-2507",
    ),
    "https://github.com/deepseek-ai/DeepSeek-V2, README.md": ("deepseek-v2 deepseek-v2-lite",),
    "https://github.com/openai/openai-cookbook, examples/data/oai_docs/models.txt": (
        "gpt-3.5-turbo-instruct",
    ),
    "https://ai.google.dev/gemini-api/docs/models/gemini-2.0-flash": ("gemini-2.0",),
    "https://github.com/meta-llama/llama-models/blob/main/README.md": (
        "llama-3.1 llama-3-1 llama-3-2",
    ),
    "https://github.com/mistralai/platform-docs-public, models/overview.md": (
        "open-mistral-nemo mistral-medium mistral-small-3.1 mistral-small-3.2 pixtral codestral",
    ),
    "https://github.com/mistralai/platform-docs-public, models.mdx": (
        "open-mistral-7b mistral-tiny mixtral open-mixtral-8x7b mistral-small",
        "mistral-large-2402 open-mixtral-8x22b codestral-2405",
    ),
}
CONFIRMED: Final = MappingProxyType(
    {name: page for page, lines in _CONFIRMED.items() for line in lines for name in line.split()}
)
"""Pages of the vendors, as they stood while the model was offered, by the name they confirm."""
PAGES_DATE: Final = "2026-11-30"
"""When those pages were read."""

_UNCONFIRMED: Final = (
    "gpt-4.5 chatgpt-4o o1-preview gpt-4-vision gpt-4-32k gpt-35-turbo gpt-3.5",
    "claude-2 claude-2-1 claude-3 claude-3-5 claude-3-7",
    "claude-4-5-opus claude-4-5-sonnet claude-4-5-haiku claude gemini-1.0 gemini-pro",
    "gemini-1.5-pro gemini-2.5-flash-image gemini-3-pro-image",
    "gemini-3.1-flash-image gemini-3.1-flash-lite-image gemini-2.5-flash-native-audio",
    "gemini-3.1-flash-live gemini-3.8-live",
    "llama-4 qwen-turbo qwen-max qwen-plus qwen-3-vl qwen-flash",
    "qwen-plus-latest qwen-long deepseek-coder deepseek-v3.2 mistral",
    "magistral-medium-latest magistral-small-latest kimi-k3.1 command-a",
)
UNCONFIRMED: Final = frozenset(name for line in _UNCONFIRMED for name in line.split())
"""Names whose window nothing confirms that was read: most are of older models."""


def origin(name: str, vendor: str) -> tuple[str, str]:
    """Say where the window of a name is from, and when it was compared; no date: never."""
    if name in UNCONFIRMED:
        return f"unconfirmed; see {SOURCES[vendor]}", ""
    if name in CONFIRMED:
        return CONFIRMED[name], PAGES_DATE
    return COMPARED_WITH, TABLE_DATE
