"""What a thread keeps with each message agrees with the units that planning derives."""

from __future__ import annotations

from readers import transcripts
from shared_data import needs_shared
from thusfar.dialects import dialect
from thusfar.facts import facts_of
from thusfar.thread.tracking import ROOT, advance
from thusfar.units import group

pytestmark = needs_shared


def test_turns_and_exchanges_are_those_of_the_units() -> None:
    compared = 0
    for transcript in transcripts():
        source = dialect(transcript.dialect)
        messages = [source.lift(message) for message in transcript.messages]
        facts = [facts_of(message) for message in messages]
        prefix = next((i for i, f in enumerate(facts) if f.role != "system"), len(facts))
        units = group(facts[prefix:])
        if prefix == len(facts):
            continue

        marks = advance(ROOT, messages, exact=False)[prefix:]

        exchanges = sorted({mark.exchange - prefix for mark in marks})
        turns = sorted({mark.turn - prefix for mark in marks if mark.turn >= 0})
        assert exchanges == units.exchanges, transcript.name
        assert turns == units.turns, transcript.name
        compared += 1
    assert compared > 500, "hardly any transcript was compared"
