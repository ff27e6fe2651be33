"""References resolve: links between pages, clauses cited by docstrings, numbers of clauses."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path

import pytest

from checkout import DOCS, ROOT, files, pages

LINK = re.compile(r"\[[^\]]*\]\(([^()\s]+)\)")
CITED = re.compile(r"\bdocs/[\w/.-]*?\.md(?:#[\w-]+)?")
CLAUSE = re.compile(r"^\*\*(\w+-\d+)\.\*\* ", re.MULTILINE)
SPECS = sorted((DOCS / "spec").glob("*.md"))


@cache
def anchors(page: Path) -> frozenset[str]:
    """List the anchors of a page as a renderer makes them: its headings, and `<a id>`."""
    text = re.sub(r"^```.*?^```", "", page.read_text(encoding="utf-8"), flags=re.M | re.S)
    made = {_slug(title) for title in re.findall(r"^#+ (.+)$", text, re.MULTILINE)}
    return frozenset(made | set(re.findall(r'<a id="([\w-]+)"></a>', text)))


def _slug(title: str) -> str:
    kept = re.sub(r"[^\w\- ]", "", title.replace("`", "").lower())
    return kept.strip().replace(" ", "-")


def _broken(target: str, base: Path) -> bool:
    name, _, anchor = target.partition("#")
    page = (base / name).resolve() if name else None
    if page is not None and not page.exists():
        return True
    return bool(anchor and page is not None and page.suffix == ".md") and (
        anchor not in anchors(page)  # type: ignore[arg-type]  # None is excluded before
    )


@pytest.mark.parametrize("page", pages(), ids=lambda page: str(page.relative_to(ROOT)))
def test_every_link_of_a_page_leads_somewhere(page: Path):
    text = re.sub(r"^```.*?^```", "", page.read_text(encoding="utf-8"), flags=re.M | re.S)
    targets = [target for target in LINK.findall(text) if not re.match(r"https?:|mailto:", target)]
    here = [f"{page.name}{t}" if t.startswith("#") else t for t in targets]

    assert [target for target in here if _broken(target, page.parent)] == []


def test_every_page_that_code_cites_exists():
    cited = {
        (str(path.relative_to(ROOT)), target)
        for path in files()
        if path.suffix == ".py" and path.is_relative_to(ROOT / "src")
        for target in CITED.findall(path.read_text(encoding="utf-8"))
        if "://" not in target and target != "docs/errors/CODE.md"
    }
    ours = {(path, target) for path, target in cited if _is_ours(path, target)}

    assert ours, "no docstring cites a page"
    assert sorted(pair for pair in ours if _broken(pair[1], ROOT)) == []


def _is_ours(path: str, target: str) -> bool:
    """Tell a page of ours from the end of a provider's address."""
    text = (ROOT / path).read_text(encoding="utf-8")
    return re.search(rf"(?<![\w/.-]){re.escape(target)}", text) is not None


@pytest.mark.parametrize("page", SPECS, ids=lambda page: page.stem)
def test_the_clauses_of_a_specification_are_numbered_without_gaps(page: Path):
    numbers = CLAUSE.findall(page.read_text(encoding="utf-8"))
    if page.stem == "index":
        return
    letters = {number.split("-")[0] for number in numbers}

    assert len(letters) == 1, "one page, one letter"
    assert numbers == [f"{next(iter(letters))}-{i}" for i in range(1, len(numbers) + 1)]


def test_no_two_specifications_use_the_same_letter():
    used = [CLAUSE.findall(page.read_text(encoding="utf-8"))[:1] for page in SPECS]
    first = [numbers[0] for numbers in used if numbers]

    assert len(first) == len(set(first))


def test_every_clause_that_is_cited_exists():
    clauses = {number for page in SPECS for number in CLAUSE.findall(page.read_text("utf-8"))}
    letters = "|".join(sorted({number.split("-")[0] for number in clauses}))
    cited = {
        (str(path.relative_to(ROOT)), number)
        for path in files()
        if path.suffix in (".py", ".md")
        for number in re.findall(rf"\bclause ((?:{letters})-\d+)\b", path.read_text("utf-8"))
    }

    assert {pair for pair in cited if pair[1] not in clauses} == set()
