"""Events: what a user interface may want to know of summaries being made. Counts and codes only."""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal

import msgspec


class SummaryEvent(msgspec.Struct, frozen=True, kw_only=True):
    """Work on a summary began or ended.

    Attributes:
        kind: `started`, `finished` or `failed`.
        key: Key of the summary.
        messages: Messages it covers; 0 for a contributor's text.
        why: `inline` (a request waits for it), `background` or `on-demand`.
        code: Code of the error, when it failed.
    """

    kind: Literal["started", "finished", "failed"]
    key: str
    messages: int
    why: Literal["inline", "background", "on-demand"]
    code: str = ""


Listener = Callable[[SummaryEvent], None]
