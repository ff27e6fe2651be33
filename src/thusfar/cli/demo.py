"""`thusfar demo`: bound one long conversation in three ways, and show the receipts."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated, Any, Final

from cyclopts import Parameter

from thusfar.cli.failures import error_json
from thusfar.cli.options import AsJson
from thusfar.cli.output import (
    console,
    counted,
    json_rows,
    preview,
    print_indented,
    print_json,
)
from thusfar.demo import LIMIT, RECENT_TOKENS, RULE_AT, Step, run_steps, transcript
from thusfar.dialects import dialect

if TYPE_CHECKING:
    from rich.console import Console

    from thusfar.projection import Projection

_QUOTED: Final = 72  # columns of a line quoted from the conversation
_REMARKS: Final = (
    "",
    f"Whole turns, and no call without its result. Message {RULE_AT} and its rule are not in this "
    "view.",
    f"The same turns, and one line for each older exchange. The rule of message {RULE_AT} is still "
    "there:",
)
_NEXT: Final = (
    "thusfar demo --transcript > ferry.json",
    f"thusfar project ferry.json --policy digest --tokens {RECENT_TOKENS} --max {LIMIT}",
    "thusfar lint ferry.json",
)


def demo(
    *,
    transcript_only: Annotated[
        bool,
        Parameter(
            name="--transcript",
            negative=(),
            show_default=False,
            help="Print the conversation itself as JSON, and nothing else",
        ),
    ] = False,
    as_json: AsJson = False,
) -> int:
    """Bound one long conversation in three ways, and show each receipt.

    The conversation comes with the package and is longer than the limit. Exact history is refused
    before any model would be called; the newest turns fit; so does a view in which one line
    stands for each older exchange. No model, no key, no network.

    With --json: {"messages", "limit", "steps": [{"call", "receipt" or "error"}]}.

    Exit status: 0 shown.
    """
    messages = transcript()
    if transcript_only:
        print(json_rows(messages))  # noqa: T201 - what was asked for
        return 0
    steps = run_steps(messages)
    if as_json:
        told = [_step_json(step) for step in steps]
        print_json({"messages": len(messages), "limit": LIMIT, "steps": told})
    else:
        _print(messages, steps)
    return 0


def _step_json(step: Step) -> dict[str, Any]:
    if step.projection is None:
        assert step.error is not None
        return {"call": step.call, "error": error_json(step.error)}
    return {"call": step.call, "receipt": step.projection.receipt.to_json()}


def _print(messages: Sequence[Any], steps: Sequence[Step]) -> None:
    out = console()
    out.print("One long conversation, three policies", style="bold")
    print_indented(
        f"{counted(len(messages), 'message')} between the office of a small ferry line and the "
        f"agent that maintains its booking system. Message {RULE_AT} holds a rule, never to write "
        "to the table of tariffs, and the newest turns depend on it. The limit is "
        f"{LIMIT:,} input tokens.",
        out,
    )
    for number, (step, remark) in enumerate(zip(steps, _REMARKS, strict=True), 1):
        out.print()
        out.print(f"{number}. {step.call}", style="bold")
        if step.error is not None:
            print_indented(f"{step.error.code}: {step.error.args[0]}", out, hanging=2)
            print_indented(f"fix: {step.error.fix}", out, hanging=2)
        elif step.projection is not None:
            print_indented(str(step.projection.receipt), out, hanging=13)
            print_indented(remark, out)
            for line in _lines_about(RULE_AT, step.projection):
                print_indented(preview([line], most=2 * _QUOTED), out, by=4, hanging=2)
    _print_next(out)


def _lines_about(position: int, projection: Projection) -> list[str]:
    """Find the line of a digest that stands for the exchange that begins at a position."""
    if projection.receipt.summary_tokens is None:
        return []
    digest = projection.messages[projection.receipt.system]
    texts = dialect(projection.receipt.dialect).content(digest).texts
    rows = [row for text in texts for row in text.splitlines()]
    return [row for row in rows if row.startswith((f"{position} ", f"{position}-"))]


def _print_next(out: Console) -> None:
    out.print()
    out.print("Next", style="bold")
    for line in _NEXT:
        print_indented(line, out)
