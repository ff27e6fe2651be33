"""Telling: warnings of generated requests in the log, each once for a model and its provider.

They are on every receipt too. What listeners and background work raise is logged each time.
A log line holds codes and counts, never content.

Source:
    docs/spec/generate.md#warnings
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final

from thusfar.receipt import ReceiptWarning

LOGGED: Final = frozenset(
    {
        "HISTORY_EXACT_NEAR_LIMIT",
        "HISTORY_NO_BACKGROUND",
        "MODEL_CAPACITY_UNKNOWN",
        "REQUEST_FIXED_NEAR_LIMIT",
    }
)
"""What an author can correct in the code: said to whoever reads the log."""

MODELS_REMEMBERED: Final = 1024  # names only; after that many the oldest are told again

_told: dict[tuple[str, str, str], None] = {}


def log_once(model: Any, name: str, warnings: Iterable[ReceiptWarning]) -> None:
    """Log the warnings of a request that were not logged for its model yet.

    Args:
        model: The model; its `provider` is part of what is remembered.
        name: Its name, as on the receipt.
        warnings: The warnings of the receipt.
    """
    provider = str(getattr(model, "provider", ""))
    for warning in warnings:
        key = (provider, name, warning.code)
        if warning.code not in LOGGED or key in _told:
            continue
        while len(_told) >= MODELS_REMEMBERED:
            del _told[next(iter(_told))]
        _told[key] = None
        import logging

        facts = ", ".join(f"{fact}={value}" for fact, value in sorted(warning.facts.items()))
        logging.getLogger("thusfar").warning(
            "%s (%s): %s %s", warning.code, name, warning.message, f"[{facts}]" if facts else ""
        )


def log_raised(what: str, error: Exception) -> None:
    """Log that something beside a request raised, by its type alone.

    Args:
        what: What raised.
        error: What it raised.
    """
    import logging

    logging.getLogger("thusfar").error("%s raised %s.", what, type(error).__name__)


def forget_told() -> None:
    """Let every warning be logged once more."""
    _told.clear()
