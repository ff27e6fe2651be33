"""Every store obeys the same laws."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from thusfar.storage import Store, open_store
from thusfar.testing.stores import check_law, check_store, list_laws

LAWS = list_laws()


@pytest.fixture(scope="module", params=["memory", "sqlite", "postgres"])
def store(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Store]:
    if request.param == "memory":
        opened = open_store("memory:")
    elif request.param == "sqlite":
        path = tmp_path_factory.mktemp("stores") / "laws.db"
        opened = open_store(f"sqlite:///{path}", synchronous="NORMAL")
    else:
        opened = open_store(request.getfixturevalue("postgres_url"))
    yield opened
    opened.close()


@pytest.mark.parametrize("name", LAWS)
def test_a_store_obeys(store: Store, name: str) -> None:
    check_law(store, LAWS[name], name)


def test_the_suite_can_be_run_whole() -> None:
    checked = check_store(open_store("memory:"))

    assert checked == tuple(LAWS)
    assert len(checked) > 60


def test_a_store_that_breaks_a_law_is_named() -> None:
    def broken_law(store: Store) -> None:
        raise AssertionError("never holds")

    with pytest.raises(AssertionError) as caught:
        check_law(open_store("memory:"), broken_law, "a_law_that_never_holds")

    assert caught.value.__notes__ == ["law: a law that never holds"]
