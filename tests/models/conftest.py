"""What the tests of models have in common."""

from __future__ import annotations

import gc
from collections.abc import Iterator

import pytest


@pytest.fixture(autouse=True)
def _nothing_is_left(request: pytest.FixtureRequest) -> Iterator[None]:
    """Collect what LiteLLM leaves open while the warnings about it are still ignored."""
    yield
    if "litellm" in request.node.name.lower():
        gc.collect()
