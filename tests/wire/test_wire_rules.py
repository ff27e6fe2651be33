"""Each wire rule stands by itself: it says where it is from, and something breaks it alone."""

from __future__ import annotations

import re
from importlib import import_module

import pytest

from thusfar.dialects.rules import Rule, check_wire
from wire.rule_breakers import BREAKERS

RULES: dict[str, tuple[Rule, ...]] = {
    name: import_module(f"thusfar.dialects.{name.replace('-', '_')}_rules").RULES
    for name in BREAKERS
}
EVERY = [(name, rule) for name, rules in RULES.items() for rule in rules]
SDKS = ("openai-python 3.57.0", "botocore 1.44.8")

rules = pytest.mark.parametrize(("name", "rule"), EVERY, ids=[rule.name for _, rule in EVERY])


@rules
def test_a_request_breaks_this_rule_alone(name: str, rule: Rule):
    """A rule without such a request fails here: add one to `rule_breakers`."""
    legal, mutated = BREAKERS[name][rule.name.partition("/")[2]].wires()

    assert check_wire(RULES[name], legal) == ()
    assert {found.rule for found in check_wire(RULES[name], mutated)} == {rule.name}


@rules
def test_a_rule_cites_a_page_or_a_refusal_and_when_it_was_read(name: str, rule: Rule):
    assert rule.name.startswith(f"{name}/")
    assert rule.statement.endswith(".")
    assert "2026-11-30" in rule.source
    assert "https://" in rule.source or rule.source.startswith(SDKS)


@rules
def test_a_rule_that_cites_a_discussion_quotes_the_refusal(name: str, rule: Rule):
    """A discussion is evidence only for the provider's own words in it."""
    if "https://github.com/" in rule.source:
        assert re.search(r"""['"][^'"]{12,}""", rule.source), rule.source


def test_no_breaker_is_left_of_a_rule_that_is_gone():
    named = {f"{name}/{short}" for name, each in BREAKERS.items() for short in each}

    assert named == {rule.name for _, rule in EVERY}
