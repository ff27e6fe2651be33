"""Every store obeys the same laws."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from thusfar.storage import Store, open_store
from thusfar.testing.stores import check_law, check_store, store_laws

LAWS = store_laws()


@pytest.fixture(scope="module", params=["memory", "sqlite"])
def store(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Store]:
    if request.param == "memory":
        opened = open_store("memory:")
    else:
        path = tmp_path_factory.mktemp("stores") / "laws.db"
        opened = open_store(f"sqlite:///{path}", synchronous="NORMAL")
    yield opened
    opened.close()


@pytest.mark.parametrize("name", LAWS)
def test_a_store_obeys(store: Store, name: str) -> None:
    check_law(store, LAWS[name], name)
