"""The short way of an append gives exactly the rows of the long one."""

from __future__ import annotations

import msgspec
from hypothesis import given
from hypothesis import strategies as st

from thusfar import Message
from thusfar.digests import ROOT_CHAIN, chain_digest, message_digest
from thusfar.messages import Reasoning, Text, ToolCall, ToolResult
from thusfar.storage.questions import AppendGroup
from thusfar.storage.rows import GUESSED, SPENT, HeadRow, ThreadRow, first_of
from thusfar.testing import canonical_transcripts
from thusfar.thread.appending import empty_head, head_on, rows_of
from thusfar.thread.following import follow
from thusfar.thread.paths import Context
from thusfar.thread.preparing import prepare
from thusfar.thread.tracking import advance, digest_bytes, digest_of, extended, place_of_head

CONTEXT = Context("default", "t", "main")
THREAD = ThreadRow("t", "", "{}", 0, 0, "5a" * 16, 1, 1)
QUESTION, ANSWER = Message("user", (Text("Where?"),)), Message("assistant", (Text("Here."),))


def the_long_way(head: HeadRow, message: Message) -> tuple[HeadRow, AppendGroup]:
    """Append one message as any group is appended, its calls left open."""
    group = prepare(CONTEXT, message)
    marks = advance(place_of_head(head), [message], open=True, exact=False)
    place = place_of_head(head)
    node = head.node + 1 if head.node else first_of(1)
    nodes = rows_of(group, marks, place, node, head.salt, 7)
    moved = head_on(head, marks[0], nodes, 7)
    return moved, AppendGroup(msgspec.structs.replace(moved, tip=GUESSED), head, nodes)


def head_after(*messages: Message) -> HeadRow:
    head = empty_head(THREAD, "main", 1)
    for index, message in enumerate(messages):
        head, _ = the_long_way(head, msgspec.structs.replace(message, id=f"h{index}"))
    return head


@given(canonical_transcripts(defects=True))
def test_where_the_short_way_is_taken_its_rows_are_those_of_the_long_way(transcript):
    head = head_after(QUESTION)
    for index, message in enumerate(transcript):
        told = msgspec.structs.replace(message, id=f"m{index}")

        short = follow(head, prepare(CONTEXT, told)[0], 7)
        following, long = the_long_way(head, told)

        assert short is None or short == long
        head = following


def test_a_plain_message_behind_a_head_goes_the_short_way():
    for message in (QUESTION, ANSWER, Message("system", (Text("Be brief."),))):
        assert follow(head_after(QUESTION, ANSWER), prepare(CONTEXT, message)[0], 7) is not None


def test_what_needs_more_knowledge_does_not_go_the_short_way():
    call = Message("assistant", (ToolCall("c", "look"),))
    result = Message("tool", (ToolResult("c"),))
    thought = Message("assistant", (Reasoning("hm"),))
    head = head_after(QUESTION)
    spent = msgspec.structs.replace(head, flags=head.flags | SPENT)
    followed = msgspec.structs.replace(head, tip=0)
    full = msgspec.structs.replace(head, node=first_of(2) - 2)
    cases = [
        *((head, message) for message in (call, result, thought)),
        *((at, ANSWER) for at in (spent, followed, full, empty_head(THREAD, "main", 1))),
        *((head_after(QUESTION, before), ANSWER) for before in (call, thought)),
    ]

    for at, message in cases:
        assert follow(at, prepare(CONTEXT, message)[0], 7) is None


@given(st.lists(st.text(), max_size=4), st.text(alphabet="0123456789abcdef", max_size=32))
def test_stored_chains_are_those_of_the_codec(texts, salt):
    chain, stored = ROOT_CHAIN, digest_bytes(ROOT_CHAIN)
    for text in texts:
        message = Message("user", (Text(text),))
        chain = chain_digest(chain, message_digest(message), salt=salt)
        stored = extended(stored, digest_of(message), salt)

        assert stored == digest_bytes(chain)
