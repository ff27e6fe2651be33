"""A template of text and parts alone needs no sandbox, and gives what the sandbox gives."""

from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from thusfar.errors import InvalidTemplateError
from thusfar.process import templates
from thusfar.process.prompts import STANDARD_PROMPT
from thusfar.process.templates import PartFunction, PartText, render_pieces, render_text

PARTS = PartFunction(
    lambda name, *_: PartText(((str(name), f"<{name}>"),)), lambda name: ((name, f"<{name}>"),)
)
SCOPE = {"promptPart": PARTS, "prompt_part": PARTS, "prt": PARTS, "x": "X"}
FRAGMENTS = st.sampled_from(
    ["${promptPart('a')}", '${ prt("b") }', "${prompt_part('a')}", "${x}", "\\${", "$", "{", "}",
     "\\", "\n", "\r\n", "text", " ", "${promptPart('a', True)}", "${promptPart(['a', 'b'])}",
     "${'literal'}", "${promptPart(x)}", "${nothing}"]
)  # fmt: skip


def rendered(text: str) -> Any:
    try:
        pieces = render_pieces(text, SCOPE, owner="test")
    except InvalidTemplateError as error:
        return error.args[0]
    parts = [
        piece.pieces if isinstance(piece, PartText) else piece
        for piece in pieces
        if isinstance(piece, PartText | tuple)
    ]
    return render_text(text, SCOPE, owner="test"), parts


@given(st.lists(FRAGMENTS, max_size=7).map("".join))
def test_the_shortcut_gives_what_the_sandbox_gives(text: str):
    shortly = rendered(text)

    plain = templates._parts_only
    templates._parts_only = lambda _: None  # type: ignore[assignment]
    try:
        assert rendered(text) == shortly
    finally:
        templates._parts_only = plain  # type: ignore[assignment]


def test_the_standard_prompt_takes_it():
    found = templates._parts_only(STANDARD_PROMPT)

    assert found is not None
    assert len(found) == 8
