"""Markdown: a run as a document for people, in which recorded text stays data.

Source:
    docs/spec/process.md#reading-a-run
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby
from typing import Any, Final

from thusfar.codec import to_json
from thusfar.errors import OptionsError
from thusfar.lines import escape_line
from thusfar.process.definition import Process
from thusfar.process.entries import Entry
from thusfar.process.outcomes import Outcome
from thusfar.process.rendering import action_text

_FENCES: Final = re.compile(r"`{3,}")
# Besides markup: what readers of Markdown take for a link without any.
_SPECIAL: Final = re.compile(r"[\\`*_\[\]<>#!|~&$@]|:(?=//)|(?<=www)\.", re.IGNORECASE)
_TITLE_CHARS: Final = 120  # of a heading
_DEEPEST: Final = 6  # headings of Markdown


def run_markdown(
    run: Process | Sequence[Entry],
    outcome: Outcome | None = None,
    *,
    title: str | None = None,
    state: Mapping[str, Any] | None = None,
) -> str:
    """Write a run as Markdown.

    Args:
        run: The process that ran, or the entries of a stored run.
        outcome: How it ended. `None`: that is left out.
        title: The heading. `None`: the id of the process, else `Run`.
        state: The state at its end. `None`: that of the process, where one is given.

    Returns:
        A document with a heading for each step. Entries that left memory are named with their
        line.

    Raises:
        OptionsError: `INVALID_OPTIONS`, for something else than a process or entries.
    """
    lines = [f"# {_plain(title if title is not None else _title(run))}", ""]
    if outcome is not None:
        lines += _outcome(outcome)
    if isinstance(run, Process):
        lines += _forgotten(run)
        entries: Sequence[Entry] = run.history
        state = run.state.values_only if state is None else state
    else:
        entries = _required(run)
    lines += _entries(entries, 2)
    if state:
        lines += ["## State", "", *_block(state, "json")]
    return "\n".join(lines).rstrip() + "\n"


def _title(run: Any) -> str:
    return run.id if isinstance(run, Process) else "Run"


def _required(run: Any) -> Sequence[Entry]:
    if isinstance(run, Sequence) and all(isinstance(each, Entry) for each in run):
        return run
    raise OptionsError(
        "A document was asked for of something that is no run.",
        fix="Pass a process, or the entries of a stored run.",
        option="run",
    )


def _outcome(outcome: Outcome) -> Iterator[str]:
    counts = f"{outcome.steps:,} steps, {outcome.calls:,} calls"
    counts += f", {outcome.tokens:,} tokens" if outcome.tokens else ""
    yield f"**{outcome.status.capitalize()}**: {counts}"
    yield ""
    failure = outcome.failure
    if failure is not None:
        yield f"`{failure.code}` at {_plain(failure.task_id)}, step {failure.step}:"
        yield ""
        yield from _block("\n".join([failure.message, *failure.errors, failure.fix]), "text")
    if outcome.reason:
        yield from ("Reason:", "", *_block(outcome.reason, "text"))


def _forgotten(process: Process) -> Iterator[str]:
    """Entries whose detail is no longer in memory, by their lines."""
    gone = process.log.recorded - len(process.history)
    if gone > 0:
        yield f"## The first {gone:,} entries, a line each"
        yield ""
        yield from _block("\n".join(process.log.older_lines()[:gone]), "text")


def _entries(entries: Sequence[Entry], level: int) -> Iterator[str]:
    for step, several in groupby(entries, key=lambda entry: entry.step):
        first, *more = several
        where = f"Step {step}" if step else f"Entry {first.seq}"
        yield from _entry(first, f"{where}: {_plain(action_text(first, _TITLE_CHARS))}", level)
        for entry in more:
            yield from _entry(entry, _plain(action_text(entry, _TITLE_CHARS)), level + 1)


def _entry(entry: Entry, heading: str, level: int) -> Iterator[str]:
    yield f"{'#' * min(level, _DEEPEST)} {heading}"
    yield ""
    yield f"Entry {entry.seq}, {entry.kind}, {_plain(entry.ts)}"
    yield ""
    for name, text in (
        ("Intent", entry.intent),
        ("Step after", entry.step_after),
        ("Summary", entry.summary),
    ):
        if text:
            yield from (f"{name}:", "", *_block(text, "text"))
    if entry.result_json != "null":
        result = entry.result
        language = "text" if isinstance(result, str) else "json"
        yield from ("Result:", "", *_block(result, language))
    if entry.extra:
        yield from ("Further fields:", "", *_block(entry.extra, "json"))
    if entry.nested and (gone := entry.nested[0].seq - 1):
        yield from (f"The first {gone:,} of its entries had left memory.", "")
    yield from _entries(entry.nested, level + 1)


def _block(value: Any, language: str) -> Iterator[str]:
    """Put a value into a code block whose fence is longer than any in it."""
    text = value if isinstance(value, str) else _pretty(value)
    longest = max((len(each) for each in _FENCES.findall(text)), default=2)
    fence = "`" * (longest + 1)
    yield from (f"{fence}{language}", _harmless(text), fence, "")


def _harmless(text: str) -> str:
    """Replace what a terminal would obey, and what no file can hold."""
    return "".join(c if c.isprintable() or c in "\n\t" else "\ufffd" for c in text)


def _pretty(value: Any) -> str:
    import json

    return json.dumps(to_json(value), ensure_ascii=False, indent=2)


def _plain(text: str) -> str:
    """Write text that no reader takes for markup, on one line."""
    return _SPECIAL.sub(r"\\\g<0>", _harmless(escape_line(text)))
