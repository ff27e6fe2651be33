"""Exchanges, turns, openers, defects and their repair, on conversations one can read."""

from __future__ import annotations

import pytest

from thusfar import RequestCompositionError, history
from thusfar.facts import ASSISTANT, REASONING, SYSTEM, USER, Facts, Link
from thusfar.units import group


def call(*ids, name="read"):
    return Facts("assistant", tuple(Link(i, name) for i in ids))


def result(call_id, name="read"):
    return Facts("tool", (), (Link(call_id, name),))


def test_a_call_and_its_results_are_one_exchange_with_all_between_them():
    found = group([USER, call("a", "b"), result("b"), USER, result("a"), ASSISTANT])

    assert found.exchanges == [0, 1, 5]
    assert found.turns == [0]


def test_reasoning_goes_with_the_entry_it_stands_before():
    assert group([USER, REASONING, REASONING, ASSISTANT]).exchanges == [0, 1]
    assert group([USER, REASONING, USER]).exchanges == [0, 1, 2]


def test_a_result_answers_the_latest_open_call_of_its_id():
    found = group([call("a"), result("a"), call("a"), result("a")])

    assert found.answers() == {(1, 0): (0, 0), (3, 0): (2, 0)}
    assert found.exchanges == [0, 2]


def test_using_an_id_again_closes_the_older_call_as_unanswered():
    found = group([call("a"), call("a"), result("a")])

    assert found.unanswered == ((0, 0),)
    assert found.answers() == {(2, 0): (1, 0)}


def test_without_ids_results_pair_by_name_with_the_latest_message_in_order():
    found = group(
        [
            call(None, name="f"),
            call(None, None, name="f"),
            result(None, "f"),
            result(None, "f"),
            result(None, "f"),
        ]
    )

    assert found.answers() == {(2, 0): (1, 0), (3, 0): (1, 1), (4, 0): (0, 0)}


def test_consecutive_user_messages_belong_together_and_an_answer_ends_the_turn():
    assert group([USER, USER, ASSISTANT, USER]).turns == [0, 3]


def test_a_system_message_directly_before_user_input_opens_the_turn():
    found = group([USER, ASSISTANT, SYSTEM, SYSTEM, USER, SYSTEM, ASSISTANT, USER])

    assert found.turns == [0, 2, 7]
    assert found.opener_end(2) == 5


def test_user_input_inside_an_exchange_opens_no_turn():
    assert group([USER, call("a"), USER, result("a"), USER]).turns == [0, 4]


def test_messages_before_the_first_user_input_are_a_turn_of_their_own():
    found = group([ASSISTANT, USER, ASSISTANT])

    assert found.turns == [0, 1]
    assert found.opener_end(0) == 0


def test_a_call_is_pending_while_nothing_but_results_of_its_step_follows():
    assert group([USER, call("a", "b"), result("a")]).pending == ((1, 1),)
    assert group([USER, call("a"), ASSISTANT]).pending == ((1, 0),)
    assert group([USER, call("a"), USER]).unanswered == ((1, 0),)
    assert group([USER, call("a", "b"), result("a"), ASSISTANT]).unanswered == ((1, 1),)


def test_a_tool_call_of_the_user_side_is_kept_whole_as_an_opener():
    found = group([Facts("user", (Link("u", "dial"),), user_input=True), result("u"), ASSISTANT])

    assert found.exchanges == [0, 2]
    assert found.opener_end(0) == 2


ORPHAN_BESIDE_TEXT = [
    {"role": "user", "content": "Look it up."},
    {
        "role": "user",
        "content": [
            {"type": "tool_result", "tool_use_id": "gone", "content": "3 C"},
            {"type": "text", "text": "And be quick."},
        ],
    },
]


def test_drop_keeps_the_text_beside_an_orphan_result_in_a_copy():
    projection = history.recent(9, repair="drop").project(ORPHAN_BESIDE_TEXT)

    assert projection.messages[0] is ORPHAN_BESIDE_TEXT[0]
    assert projection.messages[1] == {"role": "user", "content": "And be quick."}
    assert len(ORPHAN_BESIDE_TEXT[1]["content"]) == 2
    receipt = projection.receipt
    assert receipt.kept == ((0, 1),)
    assert receipt.added == 1
    assert [(r.kind, r.position, r.reason, r.call_ids) for r in receipt.repairs] == [
        ("rewritten", 1, "orphan-result", ("gone",))
    ]


ANTHROPIC_UNANSWERED = [
    {"role": "user", "content": "Delete tmp."},
    {
        "role": "assistant",
        "content": [
            {"type": "tool_use", "id": "a", "name": "rm", "input": {}},
            {"type": "tool_use", "id": "b", "name": "ls", "input": {}},
        ],
    },
    {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "b", "content": "x"}]},
    {"role": "user", "content": "What happened?"},
]


def test_strict_names_the_message_and_shows_no_content():
    with pytest.raises(RequestCompositionError) as caught:
        history.recent(9).project(ANTHROPIC_UNANSWERED)

    assert caught.value.diagnostics[0].positions == (1,)
    assert "tmp" not in str(caught.value)


def test_drop_leaves_out_the_message_with_everything_paired_to_it():
    projection = history.recent(9, repair="drop").project(ANTHROPIC_UNANSWERED)

    assert projection.messages == [ANTHROPIC_UNANSWERED[0], ANTHROPIC_UNANSWERED[3]]
    assert [(r.kind, r.position, r.reason) for r in projection.receipt.repairs] == [
        ("dropped", 1, "unanswered-call"),
        ("dropped", 2, "paired-with-dropped"),
    ]


def test_close_adds_a_marked_result_behind_the_last_one_in_the_same_dialect():
    projection = history.recent(9, repair="close").project(ANTHROPIC_UNANSWERED)

    made = projection.messages[3]
    assert projection.messages[:3] == ANTHROPIC_UNANSWERED[:3]
    assert made["role"] == "user"
    assert made["content"][0]["tool_use_id"] == "a"
    assert made["content"][0]["is_error"] is True
    assert "unknown" in str(made["content"][0]["content"])
    assert "not run" not in str(made)
    assert [(r.kind, r.position, r.call_ids) for r in projection.receipt.repairs] == [
        ("closed", 1, ("a",))
    ]


def test_a_defect_outside_the_view_is_none_of_its_business():
    talk = [*ANTHROPIC_UNANSWERED, {"role": "assistant", "content": "Done."}]

    assert history.recent(2).project(talk).messages == talk[3:]


def test_a_pending_call_at_the_end_is_kept_and_noted():
    talk = ANTHROPIC_UNANSWERED[:3]

    receipt = history.recent(9).project(talk).receipt

    assert receipt.kept == ((0, 3),)
    assert [w.code for w in receipt.warnings] == ["HISTORY_OPEN_CALLS"]


def test_a_stepped_window_shows_a_call_of_the_user_side_with_its_result():
    def dial(**more):
        function = {"name": "dial", "arguments": "{}"}
        call = {"id": "u", "type": "function", "function": function}
        return {"role": "user", "content": "Calling.", "tool_calls": [call], **more}

    said = [{"role": "assistant", "content": f"line {n}"} for n in range(8)]
    rang = {"role": "tool", "tool_call_id": "u", "content": "It rang."}
    talk = [*said[:2], dial(), *said[2:6], rang, *said[6:]]

    for end in range(8, len(talk) + 1):
        view = history.recent(5, cut="exchange", advance=0.8).project(talk[:end]).messages
        assert (talk[2] in view) == (rang in view), f"half of an exchange at {end} messages"


def test_a_list_of_user_messages_only_is_one_opener_and_stays_whole():
    talk = [{"role": "user", "content": f"line {n}"} for n in range(50)]

    for cut in ("auto", "exchange"):
        receipt = history.recent(3, cut=cut).project(talk).receipt
        assert receipt.kept == ((0, 50),)
        assert receipt.opener == ((0, 47),)
    assert history.recent(3, cut="turn").project(talk).receipt.kept == ((0, 50),)
