"""Error pages: one for each code of the table, and each answers the same four questions."""

from __future__ import annotations

import re

import pytest

from checkout import DOCS
from thusfar.codes import CODES

QUESTIONS = ["What happened", "Why", "What is still true", "What to do"]
PAGES = sorted(path for path in (DOCS / "errors").glob("*.md") if path.stem != "index")


def test_there_is_one_page_for_each_code():
    assert {page.stem for page in PAGES} == set(CODES)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_a_page_has_its_code_its_meaning_and_four_answers(page):
    text = page.read_text(encoding="utf-8")
    kind, meaning = CODES[page.stem]

    assert text.startswith(f"# {page.stem}\n")
    assert f"*{kind}* · {meaning}" in text, "the line below the title is the table's sentence"
    assert re.findall(r"^## (.+)$", text, re.MULTILINE) == QUESTIONS


def test_the_index_lists_every_code_by_kind():
    index = (DOCS / "errors" / "index.md").read_text(encoding="utf-8")
    listed = re.findall(r"^\| \[(\w+)\]\((\w+)\.md\) \| (.+) \|$", index, re.MULTILINE)

    assert [(code, page) for code, page, _ in listed] == [(code, code) for code in CODES]
    assert {code: text for code, _, text in listed} == {c: text for c, (_, text) in CODES.items()}
