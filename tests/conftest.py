"""Fixtures that tests of several directories use."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.postgres_server import running_server


@pytest.fixture(scope="session")
def postgres_url() -> Iterator[str]:
    """The URL of a real PostgreSQL server, started for this session."""
    with running_server() as url:
        yield url
