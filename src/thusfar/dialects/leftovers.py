"""Leftovers: what a wire form has beside its canonical form, kept so that lowering gives it back.

A canonical part is rendered to the wire from its own fields alone. What the original had more,
had not, or had otherwise is kept in the part's `wire`. Never content that the part already holds.

Source:
    docs/spec/dialects.md#leftovers
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from thusfar.codec import json_text, parse_json
from thusfar.errors import TranscriptError

NOTES: Final = ""  # a key of its own kind: a wire key of that name goes to "as", so none collides


def same(one: Any, other: Any) -> bool:
    """Tell whether two JSON values have the same canonical JSON (1, 1.0 and true differ).

    Bytes, which SDKs allow in place of base64 text, are compared as such.
    """
    stack = [(one, other)]
    while stack:
        left, right = stack.pop()
        if left is right:
            continue
        if isinstance(left, bytes | bytearray):
            if not isinstance(right, bytes | bytearray) or left != right:
                return False
        elif isinstance(left, Mapping):
            if not isinstance(right, Mapping) or left.keys() != right.keys():
                return False
            stack.extend((value, right[key]) for key, value in left.items())
        elif isinstance(left, list | tuple):
            if not isinstance(right, list | tuple) or len(left) != len(right):
                return False
            stack.extend(zip(left, right, strict=True))
        elif type(left) is not type(right) or _written(left) != _written(right):
            return False
    return True


def _written(value: Any) -> Any:
    """Write a number as JSON does, which tells -0.0 from 0.0."""
    return repr(value) if isinstance(value, float) else value


def leftovers(original: Mapping[str, Any], rendered: Mapping[str, Any]) -> dict[str, Any]:
    """Find what `restore` must add to `rendered` to get `original` back.

    Keys that only the original has stay readable as they are. Under the empty key stand notes:
    `absent` (rendered keys that the original lacks), `inside` (leftovers of nested objects) and
    `as` (values that the original writes in another way).

    Returns:
        An empty dict when both are the same.
    """
    left: dict[str, Any] = {}
    inside: dict[str, Any] = {}
    written: dict[str, Any] = {}
    for key, value in original.items():
        if key == NOTES:
            written[key] = value
        elif key not in rendered:
            left[key] = value
        elif not same(value, mine := rendered[key]):
            if isinstance(value, Mapping) and isinstance(mine, Mapping):
                inside[key] = leftovers(value, mine)
            else:
                written[key] = value
    absent = [key for key in rendered if key not in original]
    notes = {"absent": absent, "inside": inside, "as": written}
    if kept := {name: note for name, note in notes.items() if note}:
        left[NOTES] = kept
    return left


def restore(rendered: Mapping[str, Any], left: Mapping[str, Any]) -> dict[str, Any]:
    """Put leftovers back: `restore(r, leftovers(x, r))` is `x` after canonical JSON.

    Where the rendered form has meanwhile got a key that was left over, the rendered value
    stands. Who changes a part's own fields makes a new part without `wire`.

    Raises:
        TranscriptError: `INVALID_TRANSCRIPT`, when the leftovers were not made by this module.
    """
    notes = _notes(left)
    absent, inside, written = notes.get("absent", []), notes.get("inside", {}), notes.get("as", {})
    if not (isinstance(absent, list) and isinstance(inside, dict) and isinstance(written, dict)):
        raise _unreadable()
    made = {key: value for key, value in rendered.items() if key not in absent}
    for key, value in left.items():
        if key != NOTES:
            made.setdefault(key, value)
    for key, inner in inside.items():
        if isinstance(inner, dict) and isinstance(made.get(key), Mapping):
            made[key] = restore(made[key], inner)
    made.update(written)
    return made


def with_form(left: dict[str, Any], form: Mapping[str, Any]) -> dict[str, Any]:
    """Note beside leftovers how the dialect wrote what has several spellings."""
    if form:
        left.setdefault(NOTES, {})["form"] = dict(form)
    return left


def form_of(left: Mapping[str, Any]) -> Mapping[str, Any]:
    """Read the note of `with_form`; empty when there is none."""
    form = _notes(left).get("form", {})
    if not isinstance(form, dict):
        raise _unreadable()
    return form


def pack(dialect: str, left: Mapping[str, Any]) -> str:
    """Write leftovers as the `wire` text of a part or message; empty text for none.

    Raises:
        TranscriptError: `INVALID_TRANSCRIPT`, when they hold something that is not JSON.
    """
    return json_text({dialect: left}) if left else ""


def unpack(dialect: str, wire: str) -> dict[str, Any]:
    """Read what one dialect kept in a `wire` text; empty when it kept nothing.

    Raises:
        TranscriptError: `INVALID_TRANSCRIPT`, when the text is no JSON object of objects.
    """
    if not wire:
        return {}
    kept = parse_json(wire, where="the wire field of a message")
    left = kept.get(dialect, {}) if isinstance(kept, dict) else None
    if not isinstance(left, dict):
        raise _unreadable()
    return left


def _notes(left: Mapping[str, Any]) -> dict[str, Any]:
    notes = left.get(NOTES, {})
    if not isinstance(notes, dict):
        raise _unreadable()
    return notes


def _unreadable() -> TranscriptError:
    return TranscriptError(
        "The wire field of a message did not have the shape that lifting gives it.",
        fix="Leave wire as it was lifted, or empty it.",
    )
