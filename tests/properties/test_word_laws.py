"""Laws of the word rule: what a search finds, an index must name; and the rule itself."""

from __future__ import annotations

import unicodedata

from hypothesis import given, settings
from hypothesis import strategies as st

from thusfar.words import Search, spaced, stems_of

LATIN = "order Orders ordered order4711 id 7 c++ don't user_id e-mail AND NOT NEAR( \" * ^ : - \\"
OTHERS = (
    "北京市 我住在 カード ไทย हिन्दी Быстрая طلبي؟ Crème cre\u0300me Straße ΟΔΥΣΣΕΥΣ"
    " ＡＢＣ ﬁne 👩‍💻🎉 ﾊﾟ"
)
SEEDS = f"{LATIN} {OTHERS}".split()
pieces = st.one_of(st.sampled_from(SEEDS), st.text(max_size=6))
texts = st.lists(pieces, max_size=8).map(" ".join) | st.lists(pieces, max_size=8).map("".join)


@settings(max_examples=400)
@given(texts, texts)
def test_an_index_names_every_text_that_is_found(text: str, words: str):
    search, written = Search(words), spaced(text)

    if search.finds(written):
        assert search.stems <= stems_of(written)


@settings(max_examples=400)
@given(texts)
def test_every_text_is_found_by_all_of_its_own_words(text: str):
    search, written = Search(text), spaced(text)

    assert search.finds(written)
    assert search.stems <= stems_of(written)


@settings(max_examples=400)
@given(texts, texts, texts)
def test_more_text_loses_nothing(before: str, text: str, behind: str):
    """White space lies between, so that no word becomes another."""
    words = spaced(text).split()

    longer = spaced(f"{before}\n{text}\n{behind}")

    assert Search(" ".join(words)).finds(longer)


@settings(max_examples=400)
@given(texts)
def test_writing_words_twice_changes_nothing(text: str):
    written = spaced(text)

    assert spaced(written) == written


@settings(max_examples=400)
@given(texts, texts)
def test_case_and_compatible_forms_do_not_count(text: str, words: str):
    search = Search(words)

    assert search.finds(spaced(text)) == search.finds(spaced(unicodedata.normalize("NFKC", text)))
    assert Search(unicodedata.normalize("NFC", words)).words == search.words


def test_a_short_word_is_found_whole_and_a_longer_one_as_a_beginning():
    text = spaced("The identity of order 4711")

    assert not Search("id").finds(text)
    assert not Search("47").finds(text)
    assert Search("ide 471").finds(text)
    assert not Search("dentity").finds(text)


def test_a_run_without_spaces_is_found_wherever_it_stands_and_never_in_pieces():
    text = spaced("我住在北京市")

    assert Search("北京").finds(text)
    assert Search("京").finds(text)
    assert not Search("京北").finds(text)
    assert not Search("我在").finds(text)
    assert Search("我 在").finds(text)


def test_a_search_without_words_finds_nothing_to_look_for():
    assert not Search("")
    assert not Search(' "*" (^) -- \x00\u200d')
