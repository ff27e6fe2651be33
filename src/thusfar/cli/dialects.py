"""`thusfar dialects`: list the wire formats, and the rules that are known of each."""

from __future__ import annotations

from typing import Annotated, Final

from cyclopts import Parameter

from thusfar.cli.findings import rules_of
from thusfar.cli.options import AsJson
from thusfar.cli.output import console, print_indented, print_json, print_table
from thusfar.dialects import dialect, ordered

_READS: Final = {
    "openai-chat": "Chat Completions messages of OpenAI and of servers that speak it",
    "openai-responses": "items of the OpenAI Responses API",
    "anthropic": "messages of the Anthropic Messages API; Claude Code logs",
    "gemini": "contents of Google generateContent; Gemini CLI logs",
    "bedrock-converse": "messages of Amazon Bedrock Converse",
    "thusfar": "thusfar's own messages as JSON; pi logs",
    "langchain": "LangChain messages, as objects or as JSON",
    "pydantic-ai": "pydantic-ai messages, as objects or as JSON",
}


def dialects(
    name: Annotated[str | None, Parameter(help="Show the rules of this one")] = None,
    /,
    *,
    as_json: AsJson = False,
) -> int:
    """List the wire formats in the order in which they are tried.

    With NAME, list the rules of that one: what its provider refuses, each with its source.
    thusfar lint checks them.

    With --json: {"dialects": [{"name", "reads", "rules": [{"name", "statement", "source"}]}]}.

    Exit status: 0 listed; 2 there is no dialect of that name.
    """
    chosen = tuple(ordered()) if name is None else (dialect(name),)
    if as_json:
        listed = [
            {
                "name": each.name,
                "reads": _READS.get(each.name, ""),
                "rules": [
                    {"name": rule.name, "statement": rule.statement, "source": rule.source}
                    for rule in rules_of(each)
                ],
            }
            for each in chosen
        ]
        print_json({"dialects": listed})
    elif name is None:
        _print_all([(each.name, len(rules_of(each))) for each in chosen])
    else:
        _print_one(name)
    return 0


def _print_all(rows: list[tuple[str, int]]) -> None:
    from rich.table import Table

    table = Table(box=None, pad_edge=False, header_style="bold", padding=(0, 2, 0, 0))
    table.add_column("dialect", no_wrap=True)
    table.add_column("rules", justify="right", no_wrap=True)
    table.add_column("reads")
    for name, rules in rows:
        table.add_row(name, str(rules), _READS.get(name, ""))
    print_table(table, console())


def _print_one(name: str) -> None:
    out = console()
    rules = rules_of(dialect(name))
    out.print(f"{name}: {_READS.get(name, '')}")
    if not rules:
        out.print("No rules: this form is not sent to a provider as it is.")
    for rule in rules:
        out.print()
        out.print(rule.name, style="bold")
        print_indented(rule.statement, out)
        print_indented(f"source: {rule.source}", out)
