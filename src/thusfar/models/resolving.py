"""Resolving: a model by its name, such as `anthropic:claude-sonnet-5`.

Source:
    docs/spec/models.md#names
"""

from __future__ import annotations

import os
from functools import lru_cache
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
MODELS_HELD: Final = 64  # by name; a program uses a few
_VARIABLES: Final = {
    "openai": ("OPENAI_",),
    "openai-responses": ("OPENAI_",),
    "openai-chat": ("OPENAI_",),
    "anthropic": ("ANTHROPIC_",),
    "gemini": ("GEMINI_", "GOOGLE_"),
    "google": ("GEMINI_", "GOOGLE_"),
}
"""How the variables begin that a provider's SDK reads when a client is made."""
PORT: Final = ("name", "dialect", "generate", "generate_sync", "stream", "stream_sync")


def resolve_model(model: Any) -> Model:
    """Find a model: by its name, or the one that is given.

    The same name gives the same model, as long as the environment that its SDK reads stays.

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
    return _made(*found, rest, _surroundings(provider))


@lru_cache(maxsize=MODELS_HELD)
def _made(module: str, kind: str, name: str, surroundings: Any) -> Model:
    """Make a model, once for the same surroundings: its client holds the connections."""
    del surroundings
    adapter = getattr(import_module(f"thusfar.models.{module}"), kind)
    made: Model = adapter(name) if name else adapter()
    return made


def _surroundings(provider: str) -> tuple[Any, ...]:
    """Tell what a client that is made now would be made from: the process, and what SDKs read."""
    names = _VARIABLES.get(provider, ())
    read = sorted((k, v) for k, v in os.environ.items() if k.startswith(names)) if names else ()
    return os.getpid(), *read
