"""The shortcut for plain turns answers as grouping and selection do, on any conversation."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from thusfar import HistoryError, dialect, history
from thusfar.testing import transcripts

OPENAI = dialect("openai-chat")


class ThePortAlone:
    """openai-chat without its shortcut and its loops over many messages."""

    name = OPENAI.name
    describe = staticmethod(OPENAI.describe)
    content = staticmethod(OPENAI.content)
    lift = staticmethod(OPENAI.lift)
    lower = staticmethod(OPENAI.lower)


def outcome(messages, policy, wire):
    try:
        projection = policy.project(messages, dialect=wire, counter=len)
    except HistoryError as error:
        return type(error), str(error), error.diagnostics
    return [id(m) for m in projection.messages], projection.receipt


@given(
    transcripts(defects=True, max_turns=9) | transcripts(max_turns=9),
    st.none() | st.integers(1, 30),
    st.none() | st.integers(1, 600),
    st.sampled_from(["auto", "turn"]),
    st.data(),
)
@settings(max_examples=500)
def test_the_shortcut_gives_the_same_view_and_receipt_or_the_same_error(
    messages, cap, tokens, cut, data
):
    if cap is None and tokens is None:
        cap = 7
    if messages and data.draw(st.booleans()):  # break something, anywhere
        del messages[data.draw(st.integers(0, len(messages) - 1))]
    policy = history.recent(messages=cap, tokens=tokens, cut=cut)

    assert outcome(messages, policy, OPENAI) == outcome(messages, policy, ThePortAlone())


@given(transcripts(defects=True, max_turns=9), st.data())
@settings(max_examples=200)
def test_one_loop_over_many_messages_reads_them_as_one_by_one(messages, data):
    facts, flat = OPENAI.survey(messages)

    assert facts == OPENAI.describe_all(messages) == [OPENAI.describe(m) for m in messages]
    contents = [OPENAI.content(m) for m in messages]
    assert flat.texts == [text for content in contents for text in content.texts]
    assert flat.sizes == [len(content.texts) for content in contents]
    assert flat == OPENAI.flatten(messages)
