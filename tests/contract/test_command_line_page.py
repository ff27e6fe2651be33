"""The page of the command line names every command and every option, and no others."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from checkout import DOCS
from contract.examples import shell
from thusfar.cli.registry import COMMANDS

PAGE = (DOCS / "command-line.md").read_text(encoding="utf-8")
SECTIONS = dict(
    re.findall(r"^## `thusfar ([a-z -]+?)(?: [A-Z].*?)?`\n(.*?)(?=^## |\Z)", PAGE, re.M | re.S)
)
EVERYWHERE = {"--help", "--version"}


def test_every_command_has_its_section():
    assert {name.split()[0] for name in SECTIONS} == {command.name for command in COMMANDS}


@pytest.mark.parametrize("command", SECTIONS)
def test_a_section_names_the_options_of_its_command(command: str, tmp_path: Path):
    shown = shell(f"thusfar {command} --help", tmp_path)
    options = set(re.findall(r"^│[ *]+(--[\w-]+)", shown, re.MULTILINE)) - EVERYWHERE
    listed = set(re.findall(r"^\| `(--[\w-]+)` \|", SECTIONS[command], re.MULTILINE))

    assert options, shown
    assert listed == options
