"""A slow, literal reading of the rules for `history.recent`, to hold the fast one against.

Written from the rules alone, over facts; shares no code with the library's grouping or walk.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any


@dataclass
class Structure:
    system: int
    exchanges: list[tuple[int, int]]
    turns: list[tuple[int, int]]
    openers: dict[int, tuple[int, int]]
    defects: set[int]
    pending: set[int]
    pairs: dict[tuple[int, int], tuple[int, int]] = field(default_factory=dict)


def structure(facts: list[Any]) -> Structure:
    n = len(facts)
    system = 0
    while system < n and facts[system].role == "system":
        system += 1
    pairs: dict[tuple[int, int], tuple[int, int]] = {}
    taken: set[tuple[int, int]] = set()
    defects: set[int] = set()
    for r in range(system, n):
        for k, link in enumerate(facts[r].results):
            call = _call_for(facts, system, r, link, taken)
            if call is None:
                defects.add(r)
            else:
                taken.add(call)
                pairs[r, k] = call
    step = n
    while step > system and facts[step - 1].role == "tool":
        step -= 1
    if step > system and facts[step - 1].role == "user" and facts[step - 1].calls:
        step -= 1
    else:
        while step > system and facts[step - 1].role == "assistant":
            step -= 1
    pending = set()
    for c in range(system, n):
        for k, link in enumerate(facts[c].calls):
            if (c, k) not in taken:
                reused = link.id is not None and any(
                    other.id == link.id
                    for later in range(c, n)
                    for j, other in enumerate(facts[later].calls)
                    if (later, j) > (c, k)
                )
                if c >= step and not reused:
                    pending.add(c)
                else:
                    defects.add(c)
    spans = [(c, r) for (r, _), (c, _) in pairs.items()] + [(c, n - 1) for c in pending]
    spans += [
        (i, i + 1)
        for i in range(system, n - 1)
        if facts[i].leads and facts[i + 1].role == "assistant"
    ]
    cuts = [i for i in range(system, n) if i == system or not any(a < i <= b for a, b in spans)]
    exchanges = list(zip(cuts, [*cuts[1:], n], strict=False))
    turns, openers = _turns(facts, system, exchanges)
    return Structure(system, exchanges, turns, openers, defects, pending, pairs)


def _call_for(facts, system, r, link, taken):
    if link.id is not None:
        for c in range(r - 1, system - 1, -1):
            for k in range(len(facts[c].calls) - 1, -1, -1):
                if facts[c].calls[k].id == link.id:
                    return None if (c, k) in taken else (c, k)
        return None
    for c in range(r - 1, system - 1, -1):
        for without_id in (True, False):
            for k, call in enumerate(facts[c].calls):
                if call.name != link.name or (c, k) in taken or (call.id is None) != without_id:
                    continue
                if call.id is not None and any(
                    other.id == call.id
                    for later in range(c, r)
                    for j, other in enumerate(facts[later].calls)
                    if (later, j) > (c, k)
                ):
                    continue  # closed: its id was used again
                return c, k
    return None


def _turns(facts, system, exchanges):
    n = len(facts)
    heads = {a for a, _ in exchanges}
    starts = [system] if system < n else []
    for i in range(system, n):
        if i not in heads:
            continue
        if facts[i].user_input:
            before = i
            while before > system and before - 1 in heads and facts[before - 1].role == "system":
                before -= 1
            earlier = [j for j in range(system, i) if j in heads and facts[j].user_input]
            if before < i:
                starts.append(before)
            elif not earlier:
                starts.append(i)
            else:
                start = max(starts)
                if any(facts[j].role == "assistant" for j in range(start, i)):
                    starts.append(i)
    starts = sorted(set(starts))
    turns = list(zip(starts, [*starts[1:], n], strict=False))
    openers = {}
    for a, b in turns:
        end, asked = a, False
        for low, high in exchanges:
            if not a <= low < b or low != end:
                continue
            if facts[low].user_input:
                asked = True
            elif facts[low].role != "system" or asked:
                break
            end = high
            if high - low > 1:
                break
        openers[a] = (a, end) if asked else (a, a)
    return turns, openers


@dataclass
class Answer:
    view: list[int]
    inside: int
    overflow: bool = False
    boundary: bool = False
    outside: bool = False


def recent(facts, tokens, *, messages=None, cap_tokens=None, cut="auto") -> Answer:
    s = structure(facts)
    n = len(facts)

    def weight(span):
        return span[1] - span[0], sum(tokens[span[0] : span[1]])

    def fits(w):
        return (messages is None or w[0] <= messages) and (cap_tokens is None or w[1] <= cap_tokens)

    def plus(a, b):
        return a[0] + b[0], a[1] + b[1]

    def half(w):
        return (messages is None or w[0] < messages / 2) and (
            cap_tokens is None or w[1] < cap_tokens / 2
        )

    def walk(units):
        kept, used, overflow = [], (0, 0), False
        for unit in reversed(units):
            if not fits(plus(used, weight(unit))):
                if kept:
                    break
                overflow = True
            used = plus(used, weight(unit))
            kept.append(unit)
            if overflow:
                break
        return kept, used, overflow

    opener = (0, 0)
    for a, _ in reversed(s.turns):
        if s.openers[a][1] > a:
            opener = s.openers[a]
            break
    inside_opener = (0, 0)
    outside = False
    if cut == "turn":
        kept, used, overflow = walk(s.turns)
    elif cut == "exchange":
        kept, used, overflow = walk(s.exchanges)
        outside = True
    else:
        kept, used, overflow = walk(s.turns)
        if overflow:
            kept, used, overflow = walk([e for e in s.exchanges if e[0] >= s.turns[-1][0]])
            outside = True
        elif kept and half(used) and kept[-1][0] > s.system:
            turn = next(t for t in s.turns if t[1] == kept[-1][0])
            head = s.openers[turn[0]]
            trial = plus(used, weight(head))
            more = []
            if fits(trial):
                for e in reversed([e for e in s.exchanges if head[1] <= e[0] < turn[1]]):
                    if not fits(plus(trial, weight(e))):
                        break
                    trial = plus(trial, weight(e))
                    more.append(e)
            if more:
                kept, used, inside_opener = kept + more, trial, head
    view = set(range(s.system))
    for a, b in kept:
        view |= set(range(a, b))
    view |= set(range(*inside_opener))
    added = set()
    if outside:
        added = set(range(*opener)) - view
        view |= added
    left_out = n - len(view)
    exact = used[0] == messages or used[1] == cap_tokens
    return Answer(sorted(view), used[0], overflow, bool(left_out) and not exact, bool(added))
