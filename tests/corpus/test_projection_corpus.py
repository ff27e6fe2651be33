"""Every recorded transcript projects: legal views, typed refusals only where it is defective."""

from __future__ import annotations

import copy
import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from pathlib import PurePosixPath
from typing import Any

import pytest

import oracle
from readers import Transcript, transcripts
from shared_data import SHARED, needs_shared
from thusfar import history, summarize
from thusfar.dialects import Dialect
from thusfar.dialects import dialect as dialect_named
from thusfar.errors import HistoryError, RequestCompositionError
from thusfar.tokens import measure_for

CUTS = ("auto", "turn", "exchange")
CAPS: tuple[dict[str, int], ...] = (
    *({"messages": cap} for cap in (1, 2, 3, 5, 8, 13, 21, 34)),
    *({"tokens": cap} for cap in (200, 1000, 4000)),
    {"messages": 8, "tokens": 1000},
)
FLAGS = {
    "HISTORY_CAP_OVERFLOW": "overflow",
    "HISTORY_CAUSAL_BOUNDARY": "boundary",
    "HISTORY_OPENER_OUTSIDE_CAP": "outside",
}

pytestmark = needs_shared


@dataclass(frozen=True)
class Recorded:
    """One transcript, and what the slow reading of the rules says of it."""

    transcript: Transcript
    legal: set[tuple[int, ...]] = field(default_factory=set)  # views that were checked before

    @property
    def name(self) -> str:
        return self.transcript.name

    @property
    def messages(self) -> tuple[Any, ...]:
        return self.transcript.messages

    @cached_property
    def dialect(self) -> Dialect:
        return dialect_named(self.transcript.dialect)

    @cached_property
    def facts(self) -> tuple[Any, ...]:
        return tuple(map(self.dialect.describe, self.messages))

    @cached_property
    def structure(self) -> oracle.Structure:
        return oracle.structure(self.facts)

    @cached_property
    def tokens(self) -> list[int]:
        return measure_for().count(self.dialect, self.messages)

    @cached_property
    def places(self) -> dict[int, int]:
        return {id(message): position for position, message in enumerate(self.messages)}

    def positions(self, view: Sequence[Any]) -> list[int]:
        """Positions of the caller's own objects in a view, in its order."""
        return [self.places[id(m)] for m in view if id(m) in self.places]


@pytest.fixture(scope="module")
def corpus() -> list[Recorded]:
    found = [Recorded(transcript) for transcript in transcripts()]
    assert found, "the shared data is here and no transcript was read"
    return found


@pytest.fixture
def slow_rules(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the slow rules keep the structure of the transcript that was read last."""
    monkeypatch.setattr(oracle, "structure", lru_cache(maxsize=2)(oracle.structure))


def policies(repair: str) -> Iterator[tuple[dict[str, int], str, Any]]:
    for cut in CUTS:
        for caps in CAPS:
            yield caps, cut, history.recent(**caps, cut=cut, repair=repair)


def right_view(each: Recorded, caps: dict[str, int], cut: str) -> oracle.Answer:
    return oracle.recent(
        each.facts,
        each.tokens,
        messages=caps.get("messages"),
        cap_tokens=caps.get("tokens"),
        cut=cut,
    )


def expand(ranges: Sequence[tuple[int, int]]) -> list[int]:
    return [position for start, end in ranges for position in range(start, end)]


def check_legal(each: Recorded, view: Sequence[Any], where: object) -> None:
    """No result without its call, no call without its results; trailing open calls aside."""
    own = tuple(each.positions(view))
    if len(own) == len(view) and own in each.legal:
        return
    facts = tuple(map(each.dialect.describe, view))
    found = oracle.structure(facts)
    open_calls = {each.places.get(id(view[position])) for position in found.pending}
    assert not found.defects, f"{where}: a defect in the view"
    assert open_calls <= each.structure.pending, f"{where}: a call lost its result"
    if len(own) == len(view):
        each.legal.add(own)


def check_receipt(each: Recorded, projection: Any, where: object) -> None:
    """What the receipt says is what the view is."""
    view, receipt = projection.messages, projection.receipt
    own = each.positions(view)
    changed = {note.position for note in receipt.repairs if note.kind != "closed"}
    assert own == sorted(own), f"{where}: out of order"
    assert own[: each.structure.system] == list(range(each.structure.system)), where
    assert expand(receipt.kept) == own, f"{where}: kept"
    assert receipt.added == len(view) - len(own), f"{where}: added"
    rest = expand(receipt.omitted) + expand(receipt.summarised)
    assert sorted([*own, *rest, *(changed - {*own, *rest})]) == list(range(len(each.messages))), (
        f"{where}: not every message is kept, omitted, summarised or repaired"
    )


def say(capsys: pytest.CaptureFixture[str], line: str) -> None:
    with capsys.disabled():
        print(f"\n{line}")


@pytest.mark.usefixtures("slow_rules")
def test_under_strict_the_view_is_right_or_the_defect_in_it_is_refused(
    corpus: list[Recorded], capsys: pytest.CaptureFixture[str]
):
    tried = refused = 0
    for each in corpus:
        before = copy.deepcopy(each.messages)
        for caps, cut, policy in policies("strict"):
            where = (each.name, caps, cut)
            right = right_view(each, caps, cut)
            defects = sorted(each.structure.defects.intersection(right.view))
            tried += 1
            if defects:
                refused += 1
                with pytest.raises(RequestCompositionError) as raised:
                    policy.project(each.messages, dialect=each.dialect)
                assert list(raised.value.diagnostics[0].positions) == defects, where
                continue
            projection = policy.project(each.messages, dialect=each.dialect)
            assert each.positions(projection.messages) == right.view, where
            assert len(projection.messages) == len(right.view), where
            codes = {warning.code for warning in projection.receipt.warnings}
            for code, flag in FLAGS.items():
                assert (code in codes) == getattr(right, flag), f"{where}: {code}"
            assert ("HISTORY_OPEN_CALLS" in codes) == bool(each.structure.pending), where
            check_receipt(each, projection, where)
            check_legal(each, projection.messages, where)
        assert each.messages == before, f"{each.name}: the transcript was changed"

    say(capsys, f"strict: {len(corpus)} transcripts, {tried} projections, {refused} refused")
    assert tried == len(corpus) * len(CUTS) * len(CAPS)
    assert refused


@pytest.mark.usefixtures("slow_rules")
@pytest.mark.parametrize("repair", ["drop", "close"])
def test_a_repaired_view_is_never_refused_and_always_legal(
    corpus: list[Recorded], repair: str, capsys: pytest.CaptureFixture[str]
):
    tried = repaired = 0
    for each in corpus:
        before = copy.deepcopy(each.messages)
        for caps, cut, policy in policies(repair):
            where = (each.name, caps, cut)
            tried += 1
            try:
                projection = policy.project(each.messages, dialect=each.dialect)
            except HistoryError as error:
                pytest.fail(f"{where}: refused with {error.code}")
            repaired += bool(projection.receipt.repairs)
            check_receipt(each, projection, where)
            check_legal(each, projection.messages, where)
            if not each.structure.defects:
                assert each.positions(projection.messages) == right_view(each, caps, cut).view
                assert not projection.receipt.added, where
        assert each.messages == before, f"{each.name}: the transcript was changed"

    say(capsys, f"{repair}: {len(corpus)} transcripts, {tried} projections, {repaired} repaired")
    assert tried == len(corpus) * len(CUTS) * len(CAPS)
    assert repaired


def edges(heading: str) -> dict[str, int]:
    """Read one list of the notes on odd cases: path of the file to the count of the thing."""
    assert SHARED is not None
    text = (SHARED / "data" / "EDGES.md").read_text(encoding="utf-8")
    (section,) = (part for part in text.split("\n## ") if part.startswith(heading))
    rows = [line[2:] for line in section.splitlines() if line.startswith("- ")]
    return {
        PurePosixPath(row.split(" #")[0].rpartition(" (")[0] or row).name: int(
            row.rpartition("(")[2].rstrip(")")
        )
        for row in rows
    }


def file_of(name: str) -> str:
    return PurePosixPath(name.split("#")[0]).name


def is_excerpt(each: Recorded) -> bool:
    """Whether what came before is not in the file: it begins with a result.

    Single rows of a session log, and requests that name the response before them instead of
    repeating it.
    """
    return bool(each.facts[0].results) and not each.facts[0].calls


# One row of this log has its content under a misspelled key, so that its result cannot be read.
MISSPELLED = "edge_cases.jsonl"


def test_refusals_are_exactly_the_defects_that_the_notes_tell_of(
    corpus: list[Recorded], capsys: pytest.CaptureFixture[str]
):
    without_result = edges("calls with no result anywhere")
    assert without_result
    assert edges("results whose call is not earlier") == {}

    whole = history.recent(messages=2**53 - 1)
    refused, excerpts = set(), set()
    for each in corpus:
        try:
            whole.project(each.messages, dialect=each.dialect)
        except RequestCompositionError:
            (excerpts if is_excerpt(each) else refused).add(each.name)
    waiting = {file_of(each.name) for each in corpus if each.structure.pending}
    unanswered = {
        file_of(each.name): sum(
            len(each.facts[position].calls)
            for position in each.structure.defects
            if not each.facts[position].results
        )
        for each in corpus
        if each.name in refused
    }

    say(
        capsys,
        f"strict refuses {len(refused)} whole transcripts and {len(excerpts)} excerpts "
        f"of {len(corpus)}",
    )
    told = {name: count for name, count in without_result.items() if name not in waiting}
    assert unanswered.pop(MISSPELLED) == 1
    assert unanswered == told
    assert without_result.keys() - told.keys() <= waiting
    assert excerpts


def test_lists_tuples_and_iterators_give_the_same_objects(corpus: list[Recorded]):
    policy = history.recent(messages=8)
    tried = 0
    for each in corpus:
        if each.structure.defects:
            continue
        views = [
            policy.project(given, dialect=each.dialect).messages
            for given in (each.messages, list(each.messages), iter(each.messages))
        ]
        tried += 1
        assert [list(map(id, view)) for view in views] == [list(map(id, views[0]))] * 3, each.name

    assert tried


def test_a_transcript_without_its_dialects_name_gives_the_same_view(corpus: list[Recorded]):
    tried = 0
    for caps in ({"messages": 5}, {"messages": 34}, {"tokens": 1000}):
        policy = history.recent(**caps, repair="close")
        for each in corpus:
            named = policy.project(each.messages, dialect=each.dialect)
            found = policy.project(each.messages)
            tried += 1
            assert each.positions(found.messages) == each.positions(named.messages), each.name

    assert tried == 3 * len(corpus)


def test_exact_history_is_every_message_and_a_defect_only_warns(corpus: list[Recorded]):
    for each in corpus:
        projection = history.exact().project(each.messages, dialect=each.dialect)

        codes = {warning.code for warning in projection.receipt.warnings}
        assert list(map(id, projection.messages)) == list(map(id, each.messages)), each.name
        assert ("HISTORY_TRANSCRIPT_DEFECT" in codes) == bool(each.structure.defects), each.name


@pytest.mark.parametrize("repair", ["drop", "close"])
def test_a_digest_and_its_suffix_stand_for_every_message(
    corpus: list[Recorded], repair: str, capsys: pytest.CaptureFixture[str]
):
    split = 0
    for each in corpus:
        before = copy.deepcopy(each.messages)
        for cut in CUTS:
            policy = history(
                recent=history.recent(messages=5, cut=cut, repair=repair),
                summary=summarize.digest(line_max_chars=60),
            )
            projection = policy.project(each.messages, dialect=each.dialect)

            where = (each.name, cut)
            split += bool(projection.receipt.summarised)
            assert projection.receipt.omitted == (), where
            check_receipt(each, projection, where)
            check_legal(each, projection.messages, where)
        assert each.messages == before, f"{each.name}: the transcript was changed"

    say(capsys, f"digest, {repair}: {len(corpus)} transcripts, {split} views with a summary")
    assert split


def test_receipts_are_json_and_hold_no_text_of_a_transcript(corpus: list[Recorded]):
    policy = history.recent(messages=5, repair="close")
    for each in corpus:
        receipt = policy.project(each.messages, dialect=each.dialect).receipt

        written = json.dumps(receipt.to_json())
        texts = {
            text
            for message in each.messages
            for text in each.dialect.content(message).texts
            if len(text) > 20
        }
        assert not any(text in written or text in str(receipt) for text in texts), each.name
