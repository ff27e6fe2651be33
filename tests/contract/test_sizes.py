"""Sizes: no module over 400 lines, no function over 60, no module named for nothing."""

from __future__ import annotations

import ast

import pytest

from checkout import modules

MODULE_LINES = 400
FUNCTION_LINES = 60
NAMELESS = {"utils", "util", "helpers", "helper", "common", "core", "misc", "base_utils"}


@pytest.mark.parametrize("module", modules())
def test_no_module_is_longer_than_a_reader_can_hold(module: str):
    lines = modules()[module].read_text(encoding="utf-8").count("\n")

    assert lines <= MODULE_LINES, f"{module} has {lines} lines; split it by a new noun"


@pytest.mark.parametrize("module", modules())
def test_no_function_is_longer_than_a_screen(module: str):
    for node in ast.walk(ast.parse(modules()[module].read_text(encoding="utf-8"))):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            lines = code_lines(node)
            assert lines <= FUNCTION_LINES, f"{module}.{node.name} has {lines} lines"


def code_lines(node: ast.FunctionDef | ast.AsyncFunctionDef) -> int:
    """Count the lines of a function behind its docstring."""
    body = node.body[1:] if ast.get_docstring(node, clean=False) is not None else node.body
    if not body:
        return 1
    return int(node.end_lineno or 0) - body[0].lineno + 1


def test_no_module_is_named_for_nothing():
    named = {part.strip("_") for module in modules() for part in module.split(".")}

    assert named & NAMELESS == set()
