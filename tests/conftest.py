"""Fixtures that tests of several directories use."""

from __future__ import annotations

import gc
from collections.abc import Iterator

import pytest
from hypothesis import settings

from postgres_server import running_server

# A busy machine is no failure. The rest of the profile (in CI: equal examples each time) stays.
settings.register_profile("unhurried", settings(), deadline=None)
settings.load_profile("unhurried")


@pytest.fixture(scope="session")
def postgres_url() -> Iterator[str]:
    """The URL of a real PostgreSQL server, started for this session."""
    with running_server() as url:
        yield url


@pytest.fixture(autouse=True)
def _nothing_is_left(request: pytest.FixtureRequest) -> Iterator[None]:
    """Collect what LiteLLM leaves open while the warnings about it are still ignored."""
    yield
    if "litellm" in request.node.name.lower():
        gc.collect()


def pytest_itemcollected(item: pytest.Item) -> None:
    """Refuse a test that is named otherwise in each process: workers could not share it."""
    if " at 0x" in item.nodeid:
        raise pytest.UsageError(f"A test has an address of memory in its id: {item.nodeid}")
