"""`thusfar process lint`: what is wrong with a definition, without running it."""

from __future__ import annotations

import msgspec

from thusfar.cli.options import AsJson
from thusfar.cli.output import console, counted, print_indented, print_json, shown
from thusfar.cli.process.options import DefinitionWord, HookOptions, process_named


def lint(
    definition: DefinitionWord,
    /,
    *,
    names: HookOptions | None = None,
    as_json: AsJson = False,
) -> int:
    """Find targets and names that do not exist, tasks that nothing leads to, and endless graphs.

    What cannot be read at all is refused with INVALID_DEFINITION and its place. No model is
    asked, and no function of the author is called but one that makes the process.

    With --json: {"process_id", "tasks", "findings": [{"kind", "task_id", "message", "process_id",
    "stops"}]}.

    Exit status: 0 nothing found; 1 findings, or refused; 2 a wrong command line.
    """
    process = process_named(definition, names)
    found = process.check()
    if as_json:
        listed = [{**msgspec.to_builtins(each), "stops": each.stops} for each in found]
        tasks = list(process.graph.tasks)
        print_json({"process_id": process.id, "tasks": tasks, "findings": listed})
        return 1 if found else 0
    out = console()
    for each in found:
        stops = " (it cannot run)" if each.stops else ""
        inside = each.process_id != process.id
        where = f" in the sub-process {shown(each.process_id)}" if inside else ""
        out.print(f"{each.kind}{where}{stops}", soft_wrap=True)
        print_indented(shown(each.message), out)
    if not found:
        size = counted(len(process.graph.tasks), "task")
        out.print(f"{shown(process.id)}: {size}, nothing wrong.", soft_wrap=True)
    return 1 if found else 0
