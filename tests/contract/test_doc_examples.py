"""Every example of README, the documentation and the docstrings runs and prints what it says."""

from __future__ import annotations

import doctest
import gc
import warnings
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path

import pytest

from checkout import ROOT, modules, pages
from contract.examples import blocks, matches, run_page

EXAMPLE_PAGES = [
    page
    for page in pages()
    if {block.language for block in blocks(page.read_text(encoding="utf-8"))}
    & {"python", "console"}
]
DOCTESTED = [name for name, path in modules().items() if ">>> " in path.read_text(encoding="utf-8")]


@pytest.fixture(autouse=True)
def _nothing_is_left() -> Iterator[None]:
    """Collect the clients that pages leave open, as a reader would, where nobody is warned."""
    yield
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ResourceWarning)
        gc.collect()


@pytest.mark.parametrize("page", EXAMPLE_PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_the_examples_of_a_page_run_and_print_what_it_says(page: Path, tmp_path: Path):
    run = run_page(page, page.read_text(encoding="utf-8"), tmp_path)

    assert run.blocks > 0
    assert run.differences == [], "\n" + "\n".join(run.differences)


@pytest.mark.parametrize("name", DOCTESTED)
def test_the_examples_of_docstrings_run_and_print_what_they_say(name: str):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        result = doctest.testmod(import_module(name))

    assert result.attempted > 0
    assert result.failed == 0


def test_the_pages_that_must_have_examples_have_them():
    shown = {str(page.relative_to(ROOT)) for page in EXAMPLE_PAGES}
    guides = {str(page.relative_to(ROOT)) for page in (ROOT / "docs" / "guides").glob("*.md")}

    assert {"README.md", "docs/index.md", "docs/tutorial.md", "docs/concepts.md"} <= shown
    assert guides - {"docs/guides/index.md"} <= shown


def test_an_ellipsis_stands_for_anything_and_nothing_else_does():
    assert matches("a … c\n…\nend\n", "a b c\nx\ny\nend\n")
    assert not matches("a\nend\n", "a\nx\nend\n")
    assert not matches("a.c\n", "abc\n")
