"""Fixtures that tests of several directories use."""

from __future__ import annotations

import gc
import os
import sys
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
