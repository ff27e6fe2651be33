"""Failures: how errors are told, on stderr for people and as JSON on stdout for programs."""

from __future__ import annotations

import sys
import textwrap
from collections.abc import Mapping, Sequence
from typing import Any, Final

import msgspec

from thusfar.cli.output import WIDTH, print_json, shown
from thusfar.errors import Diagnostic, HistoryError, OptionsError, ProviderError

_ON_THE_COMMAND_LINE: Final = {
    "REQUEST_TOO_LARGE": "Pass --policy recent or --policy digest, lower --messages or --tokens, "
    "or raise --max.",
    "REPRESENTATION_UNAVAILABLE": "Pass --strategy digest, which needs no model, --summary-model "
    "with one that makes it, --summary-text with a summary of your own, or --on-miss recent-only; "
    "or raise --max.",
    "INVALID_COMPOSITION": "Pass --repair drop or --repair close; thusfar lint shows every defect.",
    "MISSING_EXTRA": "Run thusfar doctor, which shows the extras and how to install them.",
}
"""What an error's fix means here: fixes name arguments of the library."""

_MOST_POSITIONS: Final = 12
_MOST_WORDS: Final = 400  # characters of what a provider said
_USAGE: Final = "Run thusfar --help, or thusfar COMMAND --help."


def report(error: HistoryError, *, as_json: bool) -> None:
    """Tell an error: code, sentence, fix and findings on stderr; with `as_json` also on stdout."""
    if as_json:
        print_json({"error": error_json(error)})
    lines = [f"thusfar: {shown(str(error.args[0]))} [{error.code}]", f"  fix: {shown(error.fix)}"]
    if error.code in _ON_THE_COMMAND_LINE:
        lines.append(f"  on the command line: {_ON_THE_COMMAND_LINE[error.code]}")
    lines += [f"  {_diagnostic(each)}" for each in error.diagnostics if each.message != error.fix]
    if isinstance(cause := error.__cause__, HistoryError):
        lines.append(f"  cause: {shown(str(cause.args[0]))} [{cause.code}]")
    elif isinstance(error, ProviderError) and (words := str(cause or "")):
        lines.append(f"  cause: {shown(words[:_MOST_WORDS])}")
    _print(lines)


def report_usage(sentence: str, *, as_json: bool) -> None:
    """Tell what is wrong with a command line: on stderr; with `as_json` also on stdout."""
    if as_json:
        error = OptionsError(sentence, fix=_USAGE)
        print_json({"error": error_json(error)})
    _print([f"thusfar: {shown(sentence)}", f"  fix: {_USAGE}"])


def _print(lines: Sequence[str]) -> None:
    """Print lines on stderr, folded between words so that they are readable anywhere."""
    for line in lines:
        folded = textwrap.fill(
            line,
            WIDTH,
            subsequent_indent="    ",
            break_long_words=False,
            break_on_hyphens=False,
        )
        print(folded, file=sys.stderr)  # noqa: T201 - what errors are told on


def error_json(error: HistoryError) -> Mapping[str, Any]:
    """Convert an error to plain JSON values, with what caused it where that is an error of ours."""
    made = {
        "code": error.code,
        "message": str(error.args[0]),
        "fix": error.fix,
        "diagnostics": [msgspec.to_builtins(each) for each in error.diagnostics],
        "facts": dict(error.facts),
    }
    if isinstance(cause := error.__cause__, HistoryError):
        made["cause"] = {"code": cause.code, "message": str(cause.args[0])}
    return made


def _diagnostic(found: Diagnostic) -> str:
    places = ", ".join(map(str, found.positions[:_MOST_POSITIONS]))
    more = len(found.positions) - _MOST_POSITIONS
    where = f" At {places}{f' and {more} more' if more > 0 else ''}." if places else ""
    return f"{found.code}: {shown(found.message)}{where}"
