"""The view of a planned request for people: what it weighs, what was chosen and why, its limits."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from thusfar.cli.output import console, counted, print_table, shown
from thusfar.cli.view import place, print_repairs, print_warnings
from thusfar.planner.receipt import Candidate, Inspection, RequestReceipt, SupportReceipt
from thusfar.receipt import HistoryReceipt, Range

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

BAR: Final = 28  # columns of the longest bar
_BESIDE_BAR: Final = 24  # columns of the numbers and gaps beside a name and its bar
_MOST_ROWS: Final = 16
_MOST_RANGES: Final = 5
_NAMES: Final = {
    "system": "system text",
    "tools": "tool definitions",
    "schema": "output schema",
    "turn": "current turn",
}


@dataclass(frozen=True, slots=True)
class Part:
    """A part of a request.

    Attributes:
        name: What it is.
        tokens: Its size.
    """

    name: str
    tokens: int


def print_request(receipt: RequestReceipt, inspection: Inspection, *, system: int = 0) -> None:
    """Print a request: its parts by size, its history, the forms looked at, limits, warnings.

    Args:
        receipt: The receipt.
        inspection: The evidence behind it.
        system: Tokens of the system messages at the head of the list. 0: they are not told
            apart from the rest of the history.
    """
    out, view = console(), receipt.history.view
    print_table(_parts_table(parts(receipt, inspection, system=system), out.width), out)
    out.print()
    for line in (_input_line(receipt), _limits_line(inspection), _window_line(inspection)):
        if line:
            out.print(line)
    if receipt.cached_prefix_tokens is not None:
        cached = counted(receipt.cached_prefix_tokens, "token")
        out.print(f"{cached} at the head equal the request before")
    if view is not None:
        out.print()
        _print_history(receipt, view, out)
    out.print()
    print_table(_forms_table(inspection), out)
    _print_support(inspection.support, out)
    if view is not None:
        print_repairs(view.repairs, out)
    print_placement(receipt, out)
    print_warnings(receipt.warnings, out)


def print_placement(receipt: RequestReceipt, out: Console) -> None:
    """Print what was changed for the provider, with positions in the request."""
    if receipt.placement:
        out.print("\nChanged for the provider")
        for note in receipt.placement:
            out.print(f"  {note}")


def parts(receipt: RequestReceipt, inspection: Inspection, *, system: int = 0) -> list[Part]:
    """List the parts of a request, largest first; the history by what it consists of.

    Args:
        receipt: The receipt.
        inspection: The evidence behind it.
        system: Tokens of the system messages at the head of the list.
    """
    made: dict[str, int] = {}
    view = receipt.history.view
    for name, tokens in inspection.breakdown:
        if name == "history" and view is not None:
            summary = view.summary_tokens or 0
            made[f"summary of {counted(view.summarised_messages, 'message')}"] = summary
            made["history kept"] = tokens - summary - system
        else:
            made[_NAMES.get(name, shown(name))] = tokens
    if system:
        made[_NAMES["system"]] = made.get(_NAMES["system"], 0) + system
    found = [Part(name, tokens) for name, tokens in made.items() if tokens]
    return sorted(found, key=lambda part: (-part.tokens, part.name))


def _parts_table(rows: Sequence[Part], width: int) -> Table:
    from rich.table import Table

    made = Table(box=None, pad_edge=False, header_style="bold", padding=(0, 2, 0, 0))
    made.add_column("part", overflow="fold")
    made.add_column("tokens", justify="right", no_wrap=True)
    made.add_column("share", justify="right", no_wrap=True)
    made.add_column("", no_wrap=True)
    total = sum(row.tokens for row in rows) or 1
    largest = max((row.tokens for row in rows), default=1)
    longest = width - max((len(row.name) for row in rows), default=0) - _BESIDE_BAR
    most = max(0, min(BAR, longest))
    for row in rows[:_MOST_ROWS]:
        share = f"{100 * row.tokens / total:.0f} %"
        made.add_row(row.name, f"{row.tokens:,}", share, bar(row.tokens, largest, most=most))
    if left := rows[_MOST_ROWS:]:
        rest = sum(row.tokens for row in left)
        made.add_row(f"{len(left)} more", f"{rest:,}", f"{100 * rest / total:.0f} %", "")
    return made


def bar(tokens: int, largest: int, *, most: int = BAR) -> str:
    """Draw a bar as long as its share of the largest; anything at all has one column.

    Args:
        tokens: Size of the part.
        largest: Size of the largest part.
        most: Columns of the longest bar. 0: there are no bars.
    """
    mark = "█"
    try:
        mark.encode(sys.stdout.encoding or "ascii")
    except UnicodeEncodeError:
        mark = "#"
    return mark * max(1, round(most * tokens / largest)) if tokens and most else ""


def _input_line(receipt: RequestReceipt) -> str:
    size = counted(receipt.input_tokens, "input token")
    line = f"Total: {size} ({receipt.tokenizer}, {receipt.measurement})"
    if receipt.max_input_tokens is None:
        return line
    left = receipt.max_input_tokens - receipt.input_tokens
    return f"{line}, {left:,} left"


def _limits_line(inspection: Inspection) -> str:
    """Name the limits, the hard one first."""
    names = ("max", "optimize_at", "prepare_at")
    said = [f"{name} {inspection.limits[name]:,}" for name in names if _has(inspection, name)]
    return f"Limits: {', '.join(said)}" if said else ""


def _window_line(inspection: Inspection) -> str:
    """Say what the window leaves of itself for input."""
    if not _has(inspection, "window"):
        return ""
    limits = inspection.limits
    kept = (limits["reserve"] or 0) + (limits["overhead"] or 0)
    line = f"Window: {limits['window']:,}, less {kept:,} for the answer and overhead"
    margin = round(100 * ((limits["factor"] or 1) - 1))
    return f"{line}, {margin} % margin" if margin else line


def _has(inspection: Inspection, name: str) -> bool:
    return inspection.limits.get(name) is not None


def _print_history(receipt: RequestReceipt, view: HistoryReceipt, out: Console) -> None:
    """Print what became of the messages, by position."""
    out.print(f"History: {view.policy}, {counted(view.messages, 'message')} ({view.dialect})")
    for what, ranges in (
        ("kept", view.kept),
        ("shortened", receipt.history.shortened),
        ("summarised", view.summarised),
        ("left out", view.omitted),
        ("opener", view.opener),
        ("pinned", view.pinned),
    ):
        if ranges:
            size = sum(end - start for start, end in ranges)
            out.print(f"  {what:<11}{size:>6,}  {_places(ranges)}", soft_wrap=True)
    if receipt.history.stale:
        out.print(f"  the summary ends {counted(receipt.history.stale, 'message')} early")


def _places(ranges: Sequence[Range]) -> str:
    more = len(ranges) - _MOST_RANGES
    listed = ", ".join(map(place, ranges[:_MOST_RANGES]))
    return f"{listed} and {more:,} more" if more > 0 else listed


def _forms_table(inspection: Inspection) -> Table:
    """Lay out every form that was looked at, with why it is in the request or is not."""
    from rich.table import Table

    made = Table(box=None, pad_edge=False, header_style="bold", padding=(0, 2, 0, 0))
    made.add_column("form", no_wrap=True)
    made.add_column("tokens", justify="right", no_wrap=True)
    made.add_column("why", overflow="fold")
    for form, why in list(forms(inspection))[:_MOST_ROWS]:
        made.add_row(f"{shown(form.contributor)}: {_named(form)}", f"{form.tokens:,}", why)
    if (left := len(inspection.candidates) - _MOST_ROWS) > 0:
        made.add_row(f"{left} more", "", "see --json for every form")
    return made


def _named(form: Candidate) -> str:
    """Name a form; that of a history without its older part is not the whole history omitted."""
    if form.representation == "shortened" and form.covers:
        return f"{counted(form.covers, 'message')} shortened"
    if form.covers:
        return f"{form.representation} of {counted(form.covers, 'message')}"
    left_out = form.contributor == "history" and form.representation == "omitted"
    return "older part omitted" if left_out else form.representation


def forms(inspection: Inspection) -> Iterator[tuple[Candidate, str]]:
    """Say of every form that was looked at why it is in the request, or why not."""
    total = sum(tokens for _, tokens in inspection.breakdown)
    chosen = {each.contributor: each.tokens for each in inspection.candidates if each.selected}
    for each in inspection.candidates:
        with_it = total - chosen.get(each.contributor, 0) + each.tokens
        yield each, _chosen(inspection, total) if each.selected else _why(each, inspection, with_it)


def _chosen(inspection: Inspection, total: int) -> str:
    """Say by which of the two limits a form was chosen."""
    mark = inspection.limits.get("optimize_at")
    return "chosen" if mark is None or total <= mark else "chosen, though over optimize_at"


def _why(each: Candidate, inspection: Inspection, with_it: int) -> str:
    """Say why a form was rejected."""
    match each.reason:
        case "over-limit":
            most, mark = inspection.limits.get("max"), inspection.limits.get("optimize_at")
            if most is not None and with_it > most:
                return f"over max, {with_it:,} in all"
            if mark is not None and with_it > mark:
                return f"over optimize_at, {with_it:,} in all"
            return "too large beside the rest"
        case "lower-fidelity":
            return "less faithful, and not needed"
        case "prefix":
            return "would change the head that the request before had"
        case "unprepared":
            return "not made yet"
        case "unavailable":
            return "could not be had"
        case _:
            return "given up earlier in this execution"


def _print_support(support: Sequence[SupportReceipt], out: Console) -> None:
    """Print the calls that were made for summaries."""
    if not support:
        return
    out.print("\nSupport calls")
    for call in support[:_MOST_ROWS]:
        answered = "no answer" if call.output_tokens is None else f"{call.output_tokens:,} out"
        out.print(
            f"  {shown(call.model)}: {call.purpose}, {call.input_tokens:,} in, {answered}, "
            f"{shown(call.outcome)}"
        )
    if (left := len(support) - _MOST_ROWS) > 0:
        out.print(f"  {left:,} more, see --json")
