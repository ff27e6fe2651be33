"""Laws of branches: edits, alternatives, selections, rewinds and owners keep everything."""

from __future__ import annotations

from thusfar.storage.base import Store
from thusfar.testing.store_laws.told import (
    assistant,
    calling,
    conversation,
    refusal,
    result,
    sound,
    thread,
    user,
)


def an_append_behind_an_older_message_is_an_alternative(store: Store) -> None:
    """It does not move the head, and is a sibling of what followed."""
    told = conversation(store, 2)
    commit = told.append(user("alt"), after="a1")
    assert (commit.status, commit.parent_id, commit.selected_head) == ("alternative", "a1", "a2")
    assert told.read().ids == ("u1", "a1", "u2", "a2")
    variant = told.read().entries[2].variant
    assert variant is not None
    assert (variant.index, variant.count, variant.next) == (0, 2, "alt")
    again = told.append(user("alt"), after="a1")
    assert again.replayed
    assert (again.status, again.selected_head) == ("alternative", "a2")
    sound(told)


def an_edit_keeps_the_original_and_selects_the_new(store: Store) -> None:
    """The old branch is read as before, with all that followed."""
    told = conversation(store, 3)
    commit = told.edit("u2", "another question", id="u2e")
    assert (commit.status, commit.parent_id) == ("selected", "a1")
    assert told.read().ids == ("u1", "a1", "u2e")
    assert told.read(at="a3").ids == ("u1", "a1", "u2", "a2", "u3", "a3")
    variant = told.read().entries[2].variant
    assert variant is not None
    assert (variant.index, variant.count, variant.previous, variant.next) == (1, 2, "u2", None)
    told.append(assistant("a2e"))
    assert told.read().ids == ("u1", "a1", "u2e", "a2e")
    sound(told)


def the_first_message_can_be_edited(store: Store) -> None:
    """A thread may have several roots."""
    told = conversation(store, 1)
    told.edit("u1", "again", id="u1e")
    assert told.read().ids == ("u1e",)
    assert told.read().entries[0].parent_id is None
    assert told.select("u1").ids == ("u1", "a1")
    sound(told)


def an_edit_repeated_under_its_id_changes_nothing(store: Store) -> None:
    """The same edit gives the same receipt; another under that id is a conflict."""
    told = conversation(store, 2)
    first = told.edit("u2", "new", id="u2e")
    told.append(assistant("x"))
    again = told.edit("u2", "new", id="u2e")
    assert again.replayed
    assert again.message_ids == first.message_ids
    assert told.read().ids == ("u1", "a1", "u2e", "x")
    with refusal("IDENTITY_CONFLICT"):
        told.edit("u2", "other", id="u2e")
    with refusal("IDENTITY_CONFLICT"):
        told.append(user("u2e", "new"))
    with refusal("IDENTITY_CONFLICT"):
        told.edit("u1", "new", id="u2e")


def only_user_messages_that_begin_a_group_are_edited(store: Store) -> None:
    """Answers are regenerated; the inside of a group is fixed."""
    told = conversation(store, 1)
    told.append([user("u2"), assistant("a2"), user("u3")])
    with refusal("INVALID_GROUP"):
        told.edit("a1", "no")
    with refusal("INVALID_GROUP"):
        told.edit("u3", "no")
    with refusal("MESSAGE_NOT_FOUND"):
        told.edit("nowhere", "no")


def the_user_message_of_a_managed_turn_can_be_edited(store: Store) -> None:
    """The branch begins before the whole turn."""
    told = conversation(store, 1)
    told.commit_turn(
        [user("u2"), calling("b1", "c1"), result("t1", "c1"), assistant("b2")], after="a1"
    )
    told.edit("u2", "better", id="u2e")
    assert told.read().ids == ("u1", "a1", "u2e")
    assert told.select("u2").ids == ("u1", "a1", "u2", "b1", "t1", "b2")
    sound(told)


def an_answer_is_regenerated_under_its_question(store: Store) -> None:
    """The old answer stays as a sibling, also inside a managed turn."""
    told = thread(store)
    told.commit_turn(
        [user("u1"), calling("b1", "c1"), result("t1", "c1"), assistant("a1")], after=None
    )
    commit = told.regenerate("u1", assistant("a1r"))
    assert (commit.status, commit.parent_id) == ("selected", "u1")
    assert told.read().ids == ("u1", "a1r")
    variant = told.read().entries[1].variant
    assert variant is not None
    assert (variant.count, variant.previous) == (2, "b1")
    told.append(user("u2"))
    assert told.read(limit=1).cursor == "u2"
    assert told.read(limit=2, before="u2").ids == ("u1", "a1r")
    assert told.select("b1").ids == ("u1", "b1", "t1", "a1")
    assert told.select("a1r").ids == ("u1", "a1r", "u2")
    again = told.regenerate("u1", assistant("a1r"))
    assert again.replayed
    sound(told)


def selecting_restores_where_a_branch_was_left(store: Store) -> None:
    """A branch continues where its reader stood; what is on the path changes nothing."""
    told = conversation(store, 3)
    told.edit("u2", "new", id="u2e")
    told.append(assistant("a2e"))
    assert told.select("u2").ids == ("u1", "a1", "u2", "a2", "u3", "a3")
    assert told.select("u2e").ids == ("u1", "a1", "u2e", "a2e")
    before = told.read()
    assert told.select("u1") == before, "an active ancestor is a no-op"
    told.select("u2")
    told.rewind("a2")
    told.append(user("u3b"))
    assert told.read().ids == ("u1", "a1", "u2", "a2", "u3b")
    told.select("u2e")
    assert told.select("u2").ids == ("u1", "a1", "u2", "a2", "u3b")
    assert told.select("u3").ids == ("u1", "a1", "u2", "a2", "u3", "a3")
    sound(told)


def a_branch_continued_in_the_background_is_remembered(store: Store) -> None:
    """Appends to an unselected branch are where it continues when it is selected."""
    told = conversation(store, 2)
    told.append(user("alt"), after="a1")
    told.append(assistant("alt2"), after="alt")
    assert told.read().ids == ("u1", "a1", "u2", "a2")
    assert told.select("alt").ids == ("u1", "a1", "alt", "alt2")
    told.append(assistant("a2b"), after="u2")
    assert told.select("u2").ids == ("u1", "a1", "u2", "a2")
    sound(told)


def an_unselected_branch_can_be_edited(store: Store) -> None:
    """The edit selects its own branch and keeps both others."""
    told = conversation(store, 3)
    told.append(user("alt"), after="a1")
    told.append(assistant("alt2"), after="alt")
    told.edit("alt", "edited", id="alt-e")
    assert told.read().ids == ("u1", "a1", "alt-e")
    assert told.select("alt").ids == ("u1", "a1", "alt", "alt2")
    assert told.select("u2").ids == ("u1", "a1", "u2", "a2", "u3", "a3")
    sound(told)


def a_message_inside_a_group_is_not_selected(store: Store) -> None:
    """Selections begin where a branch begins."""
    told = conversation(store, 1)
    told.append([user("x1"), assistant("x2"), user("x3")], after="u1")
    with refusal("INVALID_GROUP"):
        told.select("x3")
    with refusal("MESSAGE_NOT_FOUND"):
        told.select("nowhere")
    assert told.read().ids == ("u1", "a1")


def a_rewind_keeps_what_follows_as_an_alternative(store: Store) -> None:
    """The head moves back to the end of a group, and forward again by a selection."""
    told = conversation(store, 3)
    assert told.rewind("a1").ids == ("u1", "a1")
    told.append(user("new"))
    assert told.read().ids == ("u1", "a1", "new")
    assert told.select("u2").ids == ("u1", "a1", "u2", "a2", "u3", "a3")
    assert told.rewind(None).ids == ()
    told.append(user("root"))
    assert told.read().ids == ("root",)
    with refusal("INVALID_GROUP"):
        told.rewind("a1")
    sound(told)


def a_rewind_may_be_taken_back_by_the_same_append(store: Store) -> None:
    """A replay after navigation gives the old receipt and moves nothing."""
    told = conversation(store, 2)
    told.rewind("a1")
    again = told.append(user("u2"))
    assert again.replayed
    assert told.read().ids == ("u1", "a1")


def owners_stand_and_move_independently(store: Store) -> None:
    """Each owner has a head of its own, and all of them survive."""
    told = conversation(store, 2)
    told.fork("reviewer", at="a1")
    other = thread(store, owner="reviewer")
    assert other.read().ids == ("u1", "a1")
    other.append(user("r1"))
    assert other.read().ids == ("u1", "a1", "r1")
    assert told.read().ids == ("u1", "a1", "u2", "a2")
    told.append(user("u3"))
    other.edit("r1", "again", id="r1e")
    assert told.read().ids == ("u1", "a1", "u2", "a2", "u3")
    assert told.owners() == {"main": "u3", "reviewer": "r1e"}
    with refusal("IDENTITY_CONFLICT"):
        told.fork("reviewer")
    other.release()
    assert told.owners() == {"main": "u3"}
    with refusal("THREAD_IN_USE"):
        told.release()
    sound(told)


def two_owners_at_one_tip_both_continue(store: Store) -> None:
    """The second to append there begins a branch, and both are selected by their owner."""
    told = conversation(store, 1)
    told.fork("b")
    other = thread(store, owner="b")
    assert told.append(user("m")).status == "selected"
    assert other.append(user("o")).status == "selected"
    assert told.read().ids == ("u1", "a1", "m")
    assert other.read().ids == ("u1", "a1", "o")
    sound(told)


def an_owner_at_the_end_of_a_branch_stays_there_while_others_add_to_it(store: Store) -> None:
    """Whoever adds to the end of a branch moves nobody but himself."""
    told = conversation(store, 1)
    told.append(user("u2"))
    told.fork("two")
    two, three = thread(store, owner="two"), thread(store, owner="three")
    assert two.append(assistant("b2")).status == "selected"
    assert two.append(user("b3")).status == "selected"
    assert told.read().ids == ("u1", "a1", "u2")
    told.fork("three", at="u2")
    assert three.append(assistant("c2"), after="b3").status == "alternative"
    assert [each.read().ids[-1] for each in (told, two, three)] == ["u2", "b3", "u2"]
    assert two.append(assistant("b4")).status == "selected"
    assert two.read().ids == ("u1", "a1", "u2", "b2", "b3", "b4")
    assert told.append(assistant("a2")).status == "selected"
    assert told.append(user("u3")).parent_id == "a2"
    assert told.rewind("a2").ids == ("u1", "a1", "u2", "a2")
    assert told.append(user("u4")).parent_id == "a2"
    assert told.owners() == {"main": "u4", "two": "b4", "three": "u2"}
    revisions = [each.read().revision for each in (told, two)]
    told.append(assistant("a4"))
    assert told.read().revision != revisions[0]
    assert two.read().revision == revisions[1]
    sound(told)


def branches_are_listed_with_who_stands_on_them(store: Store) -> None:
    """Every end of the tree is listed, in the order in which its branch began."""
    told = conversation(store, 2)
    told.edit("u2", "new", id="u2e")
    listed = told.branches()
    assert [(b.leaf, b.start, b.parent_id, b.length) for b in listed] == [
        ("a2", "u1", None, 4),
        ("u2e", "u2e", "a1", 3),
    ]
    assert listed[1].selected_by == ("main",)
    assert len({b.leaf for b in listed}) == 2


def nested_branches_are_paths_of_many_ranges(store: Store) -> None:
    """A path through twenty branches is read, paged and verified like any other."""
    told = thread(store)
    told.append(user("m0"))
    for i in range(1, 20):
        told.append(assistant(f"x{i}"))
        told.regenerate(f"m{i - 1}", assistant(f"m{i}"))
    expected = tuple(f"m{i}" for i in range(20))
    assert told.read().ids == expected
    assert told.read(limit=7).ids == expected[-7:]
    assert told.read(limit=7, before="m13").ids == expected[6:13]
    assert told.read(at="x9").ids == (*expected[:9], "x9")
    sound(told)
