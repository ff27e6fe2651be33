"""The public names are the committed ones; a change of them shows in review as a difference."""

from __future__ import annotations

import difflib
import inspect
from importlib import import_module

import thusfar
from contract.api import CONTRACT, PUBLIC, as_text, describe_api
from thusfar.codes import CODES


def test_the_public_names_are_the_committed_ones():
    committed = CONTRACT.read_text(encoding="utf-8")
    now = as_text(describe_api())

    changed = difflib.unified_diff(
        committed.splitlines(), now.splitlines(), "committed", "now", n=4, lineterm=""
    )
    assert now == committed, "run `make api` and review:\n" + "\n".join(changed)


def test_every_name_at_the_root_can_be_imported_and_listed():
    for name in thusfar.__all__:
        assert getattr(thusfar, name) is not None
    assert set(thusfar.__all__) <= set(dir(thusfar))


def test_every_public_name_has_a_docstring():
    for module in PUBLIC:
        for name in import_module(module).__all__:
            value = getattr(import_module(module), name)
            if inspect.isclass(value) or inspect.isfunction(value):
                assert inspect.getdoc(value), f"{module}.{name}"


def test_every_code_says_in_one_sentence_what_happened():
    for code, (kind, text) in CODES.items():
        assert code == code.upper()
        assert kind in ("error", "diagnostic", "warning")
        assert text.endswith("."), code
        assert text[0].isupper(), code
