"""The view of a projection for people: one row a stretch of the transcript, in order."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from thusfar._setting import Setting
from thusfar.cli.output import console, counted, preview, print_indented, print_table, shown
from thusfar.dialects import dialect as dialect_named
from thusfar.projection import Projection
from thusfar.receipt import HistoryReceipt, Range, ReceiptWarning, Repair
from thusfar.sources import Loaded

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

MOST_ROWS: Final = 40  # a view of many pinned stretches stays readable; the rest is counted
_MOST_NOTES: Final = 12


@dataclass(frozen=True, slots=True)
class Row:
    """One stretch of the transcript, or something that the view has besides.

    Attributes:
        place: Its positions; empty for what is not in the transcript.
        what: What became of it.
        messages: How many messages it holds.
        tokens: Their tokens.
        why: The reason.
    """

    place: str
    what: str
    messages: int
    tokens: int
    why: str


def print_view(projection: Projection, loaded: Loaded, setting: Setting) -> None:
    """Print a projection as a table, with its repairs and warnings below."""
    receipt, out = projection.receipt, console()
    out.print(f"{_policy(receipt)} of {counted(receipt.messages, 'message')} ({receipt.dialect})")
    out.print()
    rows = list(view_rows(projection, loaded, setting))
    print_table(table(rows), out)
    out.print()
    out.print(_total(projection))
    first = _first_shown(receipt)
    if first is not None:
        said = dialect_named(receipt.dialect).content(loaded.messages[first]).texts
        role = dialect_named(receipt.dialect).describe(loaded.messages[first]).role
        out.print(f"The conversation begins at {first}, {role}: {preview(said, most=40)}")
    print_notes(receipt, out)


def table(rows: Sequence[Row]) -> Table:
    """Lay rows out for 80 columns; of very many the middle is counted, not shown."""
    from rich.table import Table

    made = Table(box=None, pad_edge=False, header_style="bold", padding=(0, 2, 0, 0))
    made.add_column("positions", no_wrap=True)
    made.add_column("what", no_wrap=True)
    made.add_column("messages", justify="right", no_wrap=True)
    made.add_column("tokens", justify="right", no_wrap=True)
    made.add_column("why", overflow="fold")
    left_over = len(rows) - MOST_ROWS
    for number, row in enumerate(rows):
        if left_over > 0 and number == MOST_ROWS // 2:
            made.add_row("…", f"{left_over} more", "", "", "see --json for every stretch")
        if left_over <= 0 or not MOST_ROWS // 2 <= number < MOST_ROWS // 2 + left_over:
            size = f"{row.messages:,}" if row.messages else ""
            made.add_row(row.place, row.what, size, f"{row.tokens:,}", row.why)
    return made


def view_rows(projection: Projection, loaded: Loaded, setting: Setting) -> Iterator[Row]:
    """Say of every message whether the view has it and why, and what else the view has."""
    receipt, measure = projection.receipt, setting.measure()
    counts = measure.count(dialect_named(receipt.dialect), loaded.messages)
    sent = 0
    for (start, end), what, why in _stretches(receipt):
        tokens = sum(counts[start:end])
        sent += tokens if what in _SENT else 0
        yield Row(place((start, end)), what, end - start, tokens, why)
    fixed = setting.fixed_tokens(measure)
    total = receipt.tokens.tokens if receipt.tokens else sent + fixed
    summary = receipt.summary_tokens or 0
    if summary:
        covered = ", ".join(map(place, receipt.summarised[:3]))
        yield Row("", "digest", 1, summary, f"one line an exchange, for {covered}")
    if made := receipt.added - bool(summary):
        yield Row("", "repaired", made, total - fixed - summary - sent, "made by --repair")
    if fixed:
        yield Row("", "fixed", 0, fixed, "system, tools and framing outside the list")


_SENT: Final = ("system", "opener", "pinned", "sent")


def _stretches(receipt: HistoryReceipt) -> list[tuple[Range, str, str]]:
    """Divide the transcript into stretches of one fate each, in order."""
    fates = ["dropped"] * receipt.messages
    for what, ranges in (
        ("left out", receipt.omitted),
        ("digest", receipt.summarised),
        ("sent", receipt.kept),
    ):
        for start, end in ranges:
            fates[start:end] = [what] * (end - start)
    for what, ranges in (
        ("pinned", receipt.pinned),
        ("opener", receipt.opener),
        ("system", ((0, receipt.system),)),
    ):
        for start, end in ranges:
            fates[start:end] = [what if fate == "sent" else fate for fate in fates[start:end]]
    reasons = _reasons(receipt)
    return [(found, what, reasons[what]) for found, what in _runs(fates)]


def _runs(fates: Sequence[str]) -> Iterator[tuple[Range, str]]:
    start = 0
    for position, fate in enumerate(fates):
        if position + 1 == len(fates) or fates[position + 1] != fate:
            yield (start, position + 1), fate
            start = position + 1


def _reasons(receipt: HistoryReceipt) -> dict[str, str]:
    """Say why a stretch has its fate, for this policy and these caps."""
    caps = _caps(receipt)
    shortened = receipt.units is not None
    by = f", cut by {receipt.units.cut_at}" if receipt.units else ""
    overflow = any(w.code == "HISTORY_CAP_OVERFLOW" for w in receipt.warnings)
    newest = "the newest unit, larger than the cap" if overflow else f"newest within {caps}{by}"
    return {
        "system": "system messages at the start, always sent",
        "opener": "opened the newest turn; outside the caps",
        "pinned": "pinned; outside the caps",
        "sent": newest if shortened else "complete, nothing left out",
        "left out": f"older than what fits {caps}",
        "digest": "only the digest stands for it",
        "dropped": "left out by --repair",
    }


def _caps(receipt: HistoryReceipt) -> str:
    """Name the caps of a policy."""
    named = [
        counted(receipt.options[name], name.removesuffix("s"))
        for name in ("messages", "tokens")
        if receipt.options.get(name) is not None
    ]
    return " and ".join(named)


def _policy(receipt: HistoryReceipt) -> str:
    if receipt.policy == "managed":
        return "Digest" if receipt.summary_tokens else "Full history (a digest was not needed)"
    return {"exact": "Exact history", "recent": "Recent history"}[receipt.policy]


def _total(projection: Projection) -> str:
    """State what is sent in one line."""
    receipt, size = projection.receipt, projection.receipt.tokens
    line = f"Sent: {counted(len(projection.messages), 'message')}"
    if size is not None:
        line += f", {counted(size.tokens, 'token')} ({size.tokenizer}, {size.confidence})"
    return f"{line}, of at most {receipt.limit:,}" if receipt.limit else line


def _first_shown(receipt: HistoryReceipt) -> int | None:
    """Find the first position behind the system run that is in the view."""
    return next((max(a, receipt.system) for a, b in receipt.kept if b > receipt.system), None)


def print_notes(receipt: HistoryReceipt, out: Console) -> None:
    """Print what was repaired, and every warning with its facts."""
    print_repairs(receipt.repairs, out)
    print_warnings(receipt.warnings, out)


def print_repairs(repairs: Sequence[Repair], out: Console) -> None:
    """Print what was repaired, where, and why."""
    if repairs:
        out.print("\nRepairs")
    for repair in repairs[:_MOST_NOTES]:
        ids = f" ({', '.join(shown(each) for each in repair.call_ids)})" if repair.call_ids else ""
        print_indented(f"{repair.kind} {repair.position}: {repair.reason}{ids}", out, hanging=2)
    if len(repairs) > _MOST_NOTES:
        out.print(f"  … {len(repairs) - _MOST_NOTES} more, see --json")


def print_warnings(warnings: Sequence[ReceiptWarning], out: Console) -> None:
    """Print every warning with its facts."""
    if warnings:
        out.print("\nWarnings")
    for warning in warnings:
        facts = ", ".join(f"{name} {_number(value)}" for name, value in warning.facts.items())
        out.print(f"  {warning.code}{f': {facts}' if facts else ''}")
        print_indented(warning.message, out, by=4)


def place(found: Range) -> str:
    """Show a range of positions, both ends included."""
    start, end = found
    return f"{start}" if end - start == 1 else f"{start}–{end - 1}"


def _number(value: float | str) -> str:
    return shown(value) if isinstance(value, str) else f"{value:,}"
