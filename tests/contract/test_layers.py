"""Layers: imports point down or sideways, no cycles, nothing impure below the purity line."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from graphlib import CycleError, TopologicalSorter

import pytest

from checkout import DOCS, modules

# What each layer holds, lowest first; `x.*` stands for a package and all in it. The page
# docs/architecture.md shows the same table.
LAYERS: tuple[tuple[str, tuple[str, ...]], ...] = (
    ("errors", ("errors", "codes", "drive", "_numbers", "_version")),
    ("messages", ("messages", "codec", "digests", "facts", "lines", "words")),
    ("dialects", ("dialects.*", "sources.*")),
    ("units", ("units",)),
    ("tokens", ("tokens.*", "capacity", "capacity_table", "budget")),
    ("options", ("_options", "_summarize", "receipt")),
    (
        "projection",
        (
            "_ledger",
            "_window",
            "_plain",
            "_recent",
            "_advance",
            "_digest",
            "repair",
            "_setting",
            "_view",
            "_choice",
            "projection",
            "_exact",
            "_managed",
            "_history",
            "artifacts",
            "summaries.*",
        ),
    ),
    ("planner", ("planner.*",)),
    ("edge of tokens", ("tokens.tiktoken_backend",)),
    ("storage", ("storage.*",)),
    ("thread", ("thread.*",)),
    ("models", ("models.*",)),
    ("runtime", ("runtime.*",)),
    ("process", ("process.*",)),
    ("testing", ("testing.*",)),
    ("command line", ("cli.*", "demo.*", "__main__")),
    ("package", ("",)),
)
PURE = 8  # the first layers, which read no clock, file, environment or random number

# Imports that point up. Each is made inside a function, when a caller asks for it by name.
DOORS = {
    ("tokens.counters", "tokens.tiktoken_backend"): "the counter that is asked for as tiktoken:…",
}

IMPURE_MODULES = {
    "apsw", "asyncio", "concurrent", "glob", "io", "logging", "multiprocessing", "os", "pathlib",
    "platform", "psycopg", "psycopg_pool", "queue", "random", "sched", "secrets", "select",
    "shutil", "signal", "socket", "sqlite3", "subprocess", "tempfile", "threading", "time",
    "urllib", "warnings",
}  # fmt: skip
IMPURE_NAMES = {"uuid1", "uuid4", "environ", "getenv", "open", "print"}
IMPURE_ATTRIBUTES = IMPURE_NAMES | {"now", "utcnow", "today"}


@dataclass(frozen=True)
class Import:
    importer: str
    imported: str
    line: int
    when: str  # "load": at import time; "later": in a function; "types": for type checkers


def layer_of(module: str) -> int | None:
    """Find the layer of a module by the longest name of the table that covers it."""
    best, level = -1, None
    for number, (_, names) in enumerate(LAYERS):
        for name in names:
            package = name.removesuffix(".*")
            covers = module == package or (name.endswith(".*") and module.startswith(f"{package}."))
            if covers and len(package) > best:
                best, level = len(package), number
    return level


def _short(module: str) -> str:
    return module.removeprefix("thusfar").removeprefix(".")


@cache
def tree(module: str) -> ast.Module:
    return ast.parse(modules()[module].read_text(encoding="utf-8"))


def imports(module: str) -> Iterator[Import]:
    """Yield every import of the package's own modules, resolved to modules."""
    yield from _imports(tree(module).body, module, "load")


def _imports(nodes: list[ast.stmt] | list[ast.AST], module: str, when: str) -> Iterator[Import]:
    for node in nodes:
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{module} imports by relative name"
            names = [
                name if (name := f"{node.module}.{alias.name}") in modules() else str(node.module)
                for alias in node.names
            ]
        else:
            inner = when
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda):
                inner = "later"
            elif isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test):
                inner = "types"
            yield from _imports(list(ast.iter_child_nodes(node)), module, inner)
            continue
        for name in names:
            if name.split(".")[0] == "thusfar":
                yield Import(_short(module), _short(name), node.lineno, when)


def test_every_module_has_a_layer():
    homeless = [name for name in modules() if layer_of(_short(name)) is None]

    assert homeless == [], "place these in LAYERS and in docs/architecture.md"


def test_every_name_of_the_table_stands_for_a_module():
    built = {_short(name) for name in modules()}
    names = {name.removesuffix(".*") for _, names in LAYERS for name in names}

    stale = {n for n in names if not any(m == n or m.startswith(f"{n}.") for m in built)}
    assert stale == set()


@pytest.mark.parametrize("module", modules())
def test_imports_point_down_or_sideways(module: str):
    mine = layer_of(_short(module))

    for found in imports(module):
        if (found.importer, found.imported) in DOORS:
            assert found.when == "later", f"{module}:{found.line} opens a door at import time"
            continue
        theirs = layer_of(found.imported)
        assert theirs is not None
        assert mine is not None
        assert theirs <= mine, (
            f"{module}:{found.line} ({LAYERS[mine][0]}) imports thusfar.{found.imported} "
            f"({LAYERS[theirs][0]}), which is above it"
        )


def test_every_door_is_used():
    used = {(i.importer, i.imported) for module in modules() for i in imports(module)}

    assert DOORS.keys() <= used


def test_no_modules_import_each_other_in_a_circle():
    graph = {
        _short(module): {
            i.imported
            for i in imports(module)
            if i.when == "load" and not f"{i.importer}.".startswith(f"{i.imported}.")
        }
        for module in modules()
    }

    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        pytest.fail(" -> ".join(error.args[1]))


@pytest.mark.parametrize(
    "module", [m for m in modules() if (layer_of(_short(m)) or 0) < PURE and _short(m)]
)
def test_nothing_below_the_purity_line_reads_the_world(module: str):
    for node in ast.walk(tree(module)):
        if isinstance(node, ast.Import):
            tops = {alias.name.split(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            names = {alias.name for alias in node.names}
            tops = {str(node.module).split(".")[0]} | names & IMPURE_ATTRIBUTES
        elif isinstance(node, ast.Attribute):
            tops = {node.attr} & IMPURE_ATTRIBUTES
        elif isinstance(node, ast.Name):
            tops = {node.id} & IMPURE_NAMES
        else:
            continue
        impure = tops & (IMPURE_MODULES | IMPURE_ATTRIBUTES)
        assert not impure, f"{module}:{node.lineno} uses {', '.join(sorted(impure))}"


def test_the_architecture_page_shows_the_same_layers():
    page = (DOCS / "architecture.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| *(\d+) *\| ([^|]+?) *\| ([^|]+?) *\|", page, re.MULTILINE)
    shown = {
        int(number): (name, tuple(re.findall(r"`([^`]+)`", held))) for number, name, held in rows
    }
    expected = {
        number: (name, tuple(held or "thusfar" for held in names))
        for number, (name, names) in enumerate(LAYERS)
    }
    assert shown == expected


def test_the_architecture_page_draws_the_purity_line():
    page = (DOCS / "architecture.md").read_text(encoding="utf-8")

    assert f"Layers 0 to {PURE - 1} are pure" in page
