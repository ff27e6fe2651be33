"""Leftovers: whatever a wire form has beside its rendered form is found and put back."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from thusfar.codec import canonical_json
from thusfar.dialects.leftovers import (
    form_of,
    leftovers,
    pack,
    restore,
    same,
    unpack,
    with_form,
)
from thusfar.errors import TranscriptError

scalars = st.none() | st.booleans() | st.integers(-2, 2) | st.floats(allow_nan=False, width=16)
values = st.recursive(
    scalars.filter(lambda value: value not in (float("inf"), float("-inf"))) | st.text(max_size=2),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from("ab"), inner),
    max_leaves=8,
)
objects = st.dictionaries(st.sampled_from(["", "a", "b", "c"]), values)


@given(objects, objects)
def test_what_is_left_over_restores_the_original(original, rendered):
    left = unpack("d", pack("d", leftovers(original, rendered)))

    assert canonical_json(restore(rendered, left)) == canonical_json(original)


@given(values, values)
def test_values_are_the_same_exactly_when_their_canonical_json_is(one, other):
    assert same(one, other) == (canonical_json(one) == canonical_json(other))


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (1, 1.0),
        (0.0, -0.0),
        (1, True),
        (0, False),
        ([1], [1.0]),
        ({"a": 1}, {"b": 1}),
        ([], [1]),
        (b"a", "a"),
    ],
)
def test_values_of_different_kinds_are_told_apart(one, other):
    assert not same(one, other)


def test_bytes_are_compared_by_content():
    assert same(b"a", bytearray(b"a"))
    assert not same(b"a", b"b")


def test_keys_of_the_original_stay_readable_and_the_rest_is_noted():
    original = {"text": "hi", "cache_control": {"type": "ephemeral"}, "source": {"type": "url"}}
    rendered = {"type": "text", "text": "hi", "source": {"type": "file", "id": 3}}

    assert leftovers(original, rendered) == {
        "cache_control": {"type": "ephemeral"},
        "": {
            "absent": ["type"],
            "inside": {"source": {"": {"absent": ["id"], "as": {"type": "url"}}}},
        },
    }


def test_a_key_that_is_rendered_meanwhile_wins_over_the_leftover():
    assert restore({"is_error": True}, {"is_error": False}) == {"is_error": True}


def test_nothing_left_over_is_empty_text():
    assert leftovers({"a": 1}, {"a": 1}) == {}
    assert pack("d", with_form({}, {})) == ""
    assert unpack("d", "") == {}


def test_each_dialect_reads_only_its_own_leftovers():
    wire = pack("mine", with_form({"x": 1}, {"content": "list"}))

    assert unpack("other", wire) == {}
    assert form_of(unpack("mine", wire)) == {"content": "list"}
    assert form_of({}) == {}


@pytest.mark.parametrize("left", [{"": 3}, {"": {"absent": 3}}, {"": {"inside": []}}])
def test_notes_of_another_shape_are_refused(left):
    with pytest.raises(TranscriptError):
        restore({}, left)


@pytest.mark.parametrize("wire", ["3", '{"d":3}', "{"])
def test_a_wire_text_of_another_shape_is_refused(wire):
    with pytest.raises(TranscriptError):
        unpack("d", wire)


def test_a_form_of_another_shape_is_refused():
    with pytest.raises(TranscriptError):
        form_of({"": {"form": 3}})


def test_notes_about_what_is_not_there_any_more_do_no_harm():
    assert restore({"a": 1}, {"": {"inside": {"b": {"x": 1}, "a": {"y": 2}}}}) == {"a": 1}
