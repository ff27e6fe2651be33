"""Where the shared corpora are, for tests that read them; nothing here copies them."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

_CANDIDATE = Path(
    os.environ.get("THUSFAR_SHARED") or Path(__file__).resolve().parents[2] / "shared"
)

SHARED: Path | None = _CANDIDATE if _CANDIDATE.is_dir() else None

needs_shared = pytest.mark.skipif(SHARED is None, reason="the shared corpora are not here")
