"""Every store obeys the same laws."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from typing import Any

import pytest

from thusfar.errors import OptionsError
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


def test_a_store_that_breaks_a_law_is_told_which_and_what_was_expected() -> None:
    def broken_law(store: Store) -> None:
        assert store.namespace == "elsewhere"

    with pytest.raises(AssertionError, match="a law that never holds") as caught:
        check_law(open_store("memory:"), broken_law, "a_law_that_never_holds")

    assert 'It expected: assert store.namespace == "elsewhere"' in str(caught.value)


def test_whatever_a_store_raises_is_a_law_that_does_not_hold() -> None:
    def raises(store: Store) -> None:
        raise KeyError("leaf")

    with pytest.raises(AssertionError, match="It raised KeyError: 'leaf'") as caught:
        check_law(open_store("memory:"), raises, "a_law")

    assert isinstance(caught.value.__cause__, KeyError)


@pytest.mark.parametrize("other", ["memory:", None, object()])
def test_what_is_no_store_is_told_what_it_lacks(other: Any) -> None:
    with pytest.raises(OptionsError, match=r"it lacks clock, within, run, .*namespace"):
        check_store(other)


def test_laws_without_expectations_are_not_checked() -> None:
    said = (
        "from thusfar.storage import open_store; from thusfar.testing import check_store;"
        " check_store(open_store('memory:'))"
    )
    done = subprocess.run(
        [sys.executable, "-O", "-c", said], check=False, capture_output=True, text=True
    )

    assert done.returncode == 1
    assert "Run it without -O" in done.stderr
