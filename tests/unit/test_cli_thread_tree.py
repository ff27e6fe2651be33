"""The drawing of a thread: forks hang to the right, the selected path stays in one column."""

import json

from rich.cells import cell_len

from thusfar.cli import main
from thusfar.cli.thread.tree import ASCII, UNICODE, read_tree, tree_lines
from thusfar.messages import Message, Text
from thusfar.storage import MemoryStore, open_store
from thusfar.thread import Thread


def said(name, text, role="user"):
    return Message(role, (Text(text),), id=name)


def told(store=None):
    return Thread("trip", store=store or MemoryStore()).sync


def drawn(thread, glyphs=UNICODE, **more):
    return list(tree_lines(read_tree(thread), glyphs, 60, **more))


def test_a_thread_without_branches_is_one_column():
    thread = told()
    thread.append(said("u1", "Ferry to Bergen?"))
    thread.append(said("a1", "At nine.", "assistant"))

    assert drawn(thread) == [
        "● user       u1  Ferry to Bergen?",
        "● assistant  a1  At nine.  ← main",
    ]


def test_siblings_hang_off_the_line_in_the_order_they_were_stored():
    """The selected path stays at the margin, wherever it stands among its siblings."""
    thread = told()
    thread.append(said("u1", "Ferry?"))
    thread.append(said("a1", "At nine.", "assistant"))
    thread.regenerate("u1", said("a2", "At ten.", "assistant"))
    thread.append(said("u2", "Sure?"))
    thread.regenerate("u1", said("a3", "At noon.", "assistant"))
    thread.edit("u1", "Train?", id="u1b")
    thread.select("a2")
    thread.fork("ada", at="a1")

    assert drawn(thread) == [
        "├─○ user       u1b  Train?",
        "● user       u1   Ferry?",
        "├─○ assistant  a1   At nine.  ← ada",
        "├─○ assistant  a3   At noon.",
        "● assistant  a2   At ten.",
        "● user       u2   Sure?  ← main",
    ]


def test_a_branch_has_branches_of_its_own():
    thread = told()
    thread.append(said("u1", "One?"))
    thread.append(said("u2", "Two?"))
    thread.append(said("u3", "Three?"))
    thread.edit("u3", "Third?", id="u3b")
    thread.append(said("u4", "Four?"))
    thread.edit("u2", "Second?", id="u2b")

    assert drawn(thread, ASCII) == [
        "* user       u1   One?",
        "|-o user       u2   Two?",
        "| |-o user       u3b  Third?",
        "| | o user       u4   Four?",
        "| o user       u3   Three?",
        "* user       u2b  Second?  <- main",
    ]


def test_the_middle_of_a_long_stretch_is_counted_unless_all_is_asked_for():
    thread = told()
    for number in range(20):
        thread.append(said(f"u{number:02}", f"Question {number}?"))

    short = drawn(thread)

    assert short[2:5] == [
        "● user       u02  Question 2?",
        "┊ 14 more",
        "● user       u17  Question 17?",
    ]
    assert len(short) == 7
    assert len(drawn(thread, full=True)) == 20


def test_what_was_erased_keeps_its_place_in_the_drawing():
    thread = told()
    thread.append(said("u1", "A secret."))
    thread.append(said("a1", "Noted.", "assistant"))
    thread.redact("u1")

    assert drawn(thread)[0] == "● -          u1  [redacted]"


def test_branches_of_branches_without_end_are_drawn_within_the_width():
    """Nothing recurses, and what hangs too deep is drawn at the margin."""
    thread = told()
    place = None
    for number in range(1_200):
        thread.append(said(f"a{number}", "Left."), after=place)
        thread.append(said(f"b{number}", "Right."), after=place)
        place = f"b{number}"
    thread.rewind(None)

    lines = drawn(thread)

    assert len(lines) == 2_400
    assert max(map(cell_len, lines)) <= 60
    assert lines[1] == "│ ├─○ user       b1     Right."
    assert lines[100].startswith("…")


def test_a_tree_as_json_has_every_place_and_says_which_are_selected(tmp_path, capsys):
    url = f"sqlite:///{tmp_path}/t.db"
    store = open_store(url)
    thread = told(store)
    thread.append(said("u1", "Ferry?"))
    thread.edit("u1", "Train?", id="u1b")
    store.close()

    status = main(["thread", "show", "trip", "--tree", "--json", "--store", url])
    made = json.loads(capsys.readouterr().out)

    assert status == 0
    assert list(made) == ["thread_id", "head", "owners", "branches", "entries"]
    assert [(each["id"], each["selected"]) for each in made["entries"]] == [
        ("u1", False),
        ("u1b", True),
    ]
    assert [each["leaf"] for each in made["branches"]] == ["u1", "u1b"]
    assert made["owners"] == {"main": "u1b"}
