"""The wheel holds what users need, and works where only its declared dependencies are."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
import venv
import zipfile
from importlib import metadata
from pathlib import Path

import pytest

from checkout import ROOT

EXTRAS = {"hypothesis", "psycopg", "psycopg_pool", "tiktoken"}


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("wheel")
    _run("-m", "hatchling", "build", "--target", "wheel", "--directory", str(folder), cwd=ROOT)
    (built,) = folder.glob("*.whl")
    return built


def _run(*arguments: str, python: str = sys.executable, cwd: Path) -> str:
    done = subprocess.run(
        [python, *arguments], check=False, cwd=cwd, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def dependencies(requirements: list[str]) -> set[str]:
    """Collect the installed packages that these requirements need, extras aside."""
    needed: set[str] = set()
    waiting = list(requirements)
    while waiting:
        requirement = waiting.pop()
        if "extra ==" in requirement:
            continue
        found = re.match(r"[\w.-]+", requirement)
        assert found is not None, requirement
        name = re.sub(r"[-_.]+", "-", found.group()).lower()
        if name in needed:
            continue
        try:
            requires = metadata.requires(name) or []
        except metadata.PackageNotFoundError:
            continue  # for another platform or version of Python
        needed.add(name)
        waiting += requires
    return needed


@pytest.fixture(scope="module")
def bare(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Make an environment of the wheel and its declared dependencies alone, with no network."""
    folder = tmp_path_factory.mktemp("bare") / "venv"
    venv.create(folder, with_pip=False)
    (site,) = folder.glob("lib/python*/site-packages")
    for name in dependencies(["msgspec", "apsw", "jinja2", "cyclopts", "rich"]):
        for file in metadata.files(name) or []:
            target = site / file
            if ".." in file.parts or not Path(str(file.locate())).is_file():
                continue
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(str(file.locate()), target)
    python = folder / "bin" / "python"
    _run(
        *("-m", "pip", "--python", str(python), "--disable-pip-version-check", "install"),
        *("--quiet", "--no-index", "--no-deps", str(wheel)),
        cwd=folder,
    )
    return folder


def test_the_wheel_holds_types_and_demo_and_no_tests(wheel: Path):
    names = zipfile.ZipFile(wheel).namelist()

    assert "thusfar/py.typed" in names
    assert any(re.match(r"thusfar/.*\.jsonl?$", name) for name in names), "no demo transcript"
    assert {name.split("/")[0] for name in names if ".dist-info/" not in name} == {"thusfar"}


def test_the_wheel_declares_the_dependencies_this_test_installs(wheel: Path):
    with zipfile.ZipFile(wheel) as archive:
        (name,) = (name for name in archive.namelist() if name.endswith(".dist-info/METADATA"))
        text = archive.read(name).decode()
    declared = re.findall(r"^Requires-Dist: ([\w-]+)[^;\n]*$", text, re.MULTILINE)

    assert {name.lower() for name in declared} == {"msgspec", "apsw", "jinja2", "cyclopts", "rich"}


def test_the_command_works_after_a_bare_install(bare: Path, tmp_path: Path):
    python = str(bare / "bin" / "python")
    version = _run(str(bare / "bin" / "thusfar"), "--version", python=python, cwd=tmp_path)
    shown = _run(str(bare / "bin" / "thusfar"), "demo", python=python, cwd=tmp_path)

    assert re.search(r"\b\d+\.\d+\.\d+", version)
    assert "REQUEST_TOO_LARGE" in shown


def test_every_module_but_the_extras_can_be_imported_after_a_bare_install(
    bare: Path, tmp_path: Path
):
    program = """
import json, pkgutil, thusfar
from importlib import import_module
missing = {}
for found in pkgutil.walk_packages(thusfar.__path__, "thusfar."):
    try:
        import_module(found.name)
    except ImportError as error:
        missing[found.name] = getattr(error.__cause__ or error, "name", None) or str(error)
print(json.dumps(missing))
"""
    shown = _run("-c", program, python=str(bare / "bin" / "python"), cwd=tmp_path)
    missing: dict[str, str] = json.loads(shown)

    assert {name.split(".")[0] for name in missing.values()} <= EXTRAS, missing
