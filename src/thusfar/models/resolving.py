"""Resolving: a model by its name, such as `anthropic:claude-sonnet-5`.

Source:
    docs/spec/models.md#names
"""

from __future__ import annotations

from importlib import import_module
from typing import Any, Final

from thusfar.errors import OptionsError
from thusfar.models.port import Model

# Module and class by the name before the colon.
ADAPTERS: Final[dict[str, tuple[str, str]]] = {
    "openai": ("openai_responses", "OpenAIResponses"),
    "openai-responses": ("openai_responses", "OpenAIResponses"),
    "openai-chat": ("openai_chat", "OpenAIChat"),
    "anthropic": ("anthropic", "Anthropic"),
    "gemini": ("gemini", "Gemini"),
    "google": ("gemini", "Gemini"),
    "litellm": ("litellm", "LiteLLM"),
    "local": ("local", "Local"),
}
PORT: Final = ("name", "dialect", "generate", "generate_sync", "stream", "stream_sync")


def resolve_model(model: Any) -> Model:
    """Find a model: by its name, or the one that is given.

    Args:
        model: `provider:name`, such as `openai:gpt-5`; `local`; or an object that fulfils the
            port, which comes back as it is.

    Raises:
        OptionsError: `INVALID_OPTIONS`, for a name that no adapter has, and for anything else.

    Example:
        >>> resolve_model("anthropic:claude-sonnet-5")
        Anthropic('claude-sonnet-5')
    """
    if isinstance(model, str):
        return _named(model)
    if all(hasattr(model, name) for name in PORT) and not isinstance(model, type):
        found: Model = model
        return found
    raise OptionsError(
        f"A {type(model).__name__} was given where a model is called.",
        fix="Pass a name such as 'openai:gpt-5', or an object with generate and stream.",
        option="model",
    )


def _named(name: str) -> Model:
    provider, _, rest = name.partition(":")
    found = ADAPTERS.get(provider)
    if found is None or not (rest or provider == "local"):
        raise OptionsError(
            "A model was named that no adapter knows.",
            fix=f"Write provider:model, with one of these providers: {', '.join(ADAPTERS)}.",
            option="model",
        )
    module, kind = found
    adapter = getattr(import_module(f"thusfar.models.{module}"), kind)
    made: Model = adapter(rest) if rest else adapter()
    return made
