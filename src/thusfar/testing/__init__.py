"""Testing: conformance suites and Hypothesis strategies, for this library and those who use it.

Names are loaded when they are first used; the strategies need the extra `testing`. The server
that stands in for providers is in `thusfar.testing.loopback`.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from thusfar.testing.stores import check_law as check_law
    from thusfar.testing.stores import check_store as check_store
    from thusfar.testing.stores import list_laws as list_laws
    from thusfar.testing.strategies import canonical_transcripts as canonical_transcripts
    from thusfar.testing.strategies import texts as texts
    from thusfar.testing.strategies import transcripts as transcripts

_HOMES = {
    "canonical_transcripts": "strategies",
    "check_law": "stores",
    "check_store": "stores",
    "list_laws": "stores",
    "texts": "strategies",
    "transcripts": "strategies",
}

__all__ = sorted(_HOMES)  # noqa: PLE0605 - names, from the table above


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'thusfar.testing' has no attribute {name!r}")
    return getattr(import_module(f"thusfar.testing.{_HOMES[name]}"), name)
