"""Fixtures that tests of several directories use."""

from __future__ import annotations

import gc
import os
import sys
import time
import warnings
from collections.abc import Generator, Iterator
from typing import Any

import pytest
from hypothesis import HealthCheck, settings

from postgres_server import running_server

# Tests say themselves what terminal they write to, and reach nothing but this machine.
_OF_TERMINALS = ("CLICOLOR_FORCE", "COLUMNS", "FORCE_COLOR", "LINES", "NO_COLOR", "TTY_COMPATIBLE")
for name in list(os.environ):
    if name in _OF_TERMINALS or name.lower().endswith("_proxy"):
        del os.environ[name]

# A busy machine is no failure. The rest of the profile (in CI: equal examples each time) stays.
settings.register_profile(
    "unhurried", settings(), deadline=None, suppress_health_check=[HealthCheck.too_slow]
)
settings.load_profile("unhurried")

_LONG_COLLECTION = 0.01  # seconds


@pytest.fixture(scope="session")
def postgres_url() -> Iterator[str]:
    """The URL of a real PostgreSQL server, started for this session."""
    with running_server() as url:
        yield url


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol() -> Generator[None, object, object]:
    """Let go of the clients that LiteLLM keeps open, of loops that have ended too.

    It drops them after ten minutes, or when they are too many: in the middle of some other test.
    """
    done = yield
    litellm: Any = sys.modules.get("litellm")
    kept = getattr(litellm, "in_memory_llm_clients_cache", None)
    if kept is not None and kept.cache_dict:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            kept.flush_cache()
            gc.collect()
    return done


def pytest_itemcollected(item: pytest.Item) -> None:
    """Refuse a test that is named otherwise in each process: workers could not share it."""
    if " at 0x" in item.nodeid:
        raise pytest.UsageError(f"A test has an address of memory in its id: {item.nodeid}")


def pytest_collection_finish() -> None:
    """Leave alone what lives as long as the session, so that collecting garbage is quick."""
    gc.collect()
    gc.freeze()


@pytest.fixture(autouse=True)
def _complains_itself() -> Iterator[None]:
    """Collect what a test left open behind that test, and not in the middle of another one."""
    yield
    begun = time.perf_counter()
    gc.collect()
    if time.perf_counter() - begun > _LONG_COLLECTION:  # modules were imported: they stay
        gc.freeze()
