"""Examples: the code blocks of a page, run top to bottom in one namespace and one folder.

- a `python` block is run; with `>>>` in it, as a doctest;
- an `output` block behind it is what it printed;
- a `console` block holds `$ ` commands, each followed by what it prints;
- `<!-- file: NAME -->` before a block of any language writes it to that file first.

In expected text `…` stands for anything, and a line of nothing else for any number of lines. Run as
a program with the names of pages it writes into them what their examples print now.
"""

from __future__ import annotations

import contextlib
import doctest
import io
import os
import re
import subprocess
import sys
import tempfile
import warnings
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

FENCE = re.compile(
    r"(?:^<!-- file: (?P<file>[\w.-]+) -->\n+)?"
    r"^```(?P<language>\w*)[^\n]*\n(?P<body>.*?)^```[ \t]*$",
    re.MULTILINE | re.DOTALL,
)
SECONDS = 600


@dataclass(frozen=True)
class Block:
    """One fenced block of a page."""

    language: str
    body: str
    line: int
    start: int  # place of the body in the text of the page
    file: str | None = None


@dataclass
class Run:
    """What running a page gave: what was printed where, and what differs from the page."""

    differences: list[str] = field(default_factory=list)
    rewritten: list[tuple[int, int, str]] = field(default_factory=list)
    blocks: int = 0


def blocks(text: str) -> list[Block]:
    """List the fenced blocks of a page."""
    return [
        Block(
            found["language"],
            found["body"],
            text.count("\n", 0, found.start("body")) + 1,
            found.start("body"),
            found["file"],
        )
        for found in FENCE.finditer(text)
    ]


def matches(expected: str, printed: str) -> bool:
    """Compare, trailing space aside; `…` in what is expected stands for anything."""
    pattern = ""
    for line in tidy(expected).splitlines():
        pattern += "(?:.*\n)*?" if line == "…" else re.escape(line).replace("…", ".*") + "\n"
    return re.fullmatch(pattern, tidy(printed)) is not None


def tidy(text: str) -> str:
    lines = [line.rstrip() for line in text.strip("\n").splitlines()]
    return "".join(f"{line}\n" for line in lines)


def run_page(page: Path, text: str, folder: Path) -> Run:
    """Run the examples of a page in a folder."""
    run = Run()
    names: dict[str, Any] = {"__name__": "__main__"}
    listed = blocks(text)
    with contextlib.chdir(folder), warnings.catch_warnings():
        warnings.simplefilter("error")
        for number, block in enumerate(listed):
            behind = listed[number + 1] if number + 1 < len(listed) else None
            if block.file:
                (folder / block.file).write_text(block.body, encoding="utf-8")
            if block.language == "python":
                run.blocks += 1
                _python(run, page, block, behind, names)
            elif block.language == "console":
                run.blocks += 1
                _console(run, page, block, folder)
    return run


def _python(
    run: Run, page: Path, block: Block, behind: Block | None, names: dict[str, Any]
) -> None:
    where = f"{page.name}:{block.line}"
    if ">>> " in block.body:
        example = doctest.DocTestParser().get_doctest(block.body, names, where, str(page), 0)
        report = io.StringIO()
        runner = doctest.DocTestRunner(optionflags=doctest.ELLIPSIS)
        failed = runner.run(example, out=report.write, clear_globs=False).failed
        if failed:
            run.differences.append(f"{where}\n{report.getvalue()}")
        return
    printed = io.StringIO()
    code = compile("\n" * (block.line - 1) + block.body, str(page), "exec", dont_inherit=True)
    with contextlib.redirect_stdout(printed):
        exec(code, names)
    if behind is None or behind.language != "output" or matches(behind.body, printed.getvalue()):
        return
    run.differences.append(difference(where, behind.body, printed.getvalue()))
    end = behind.start + len(behind.body)
    run.rewritten.append((behind.start, end, tidy(printed.getvalue())))


def _console(run: Run, page: Path, block: Block, folder: Path) -> None:
    where = f"{page.name}:{block.line}"
    written: list[str] = []
    changed = False
    for command, expected in commands(block.body):
        printed = shell(command, folder)
        written += [f"$ {command}\n", expected]
        if not matches(expected, printed):
            changed = True
            written[-1] = tidy(printed)
            run.differences.append(difference(f"{where} $ {command}", expected, printed))
    if changed:
        run.rewritten.append((block.start, block.start + len(block.body), "".join(written)))


def commands(body: str) -> list[tuple[str, str]]:
    """Split a console block into commands and what each prints."""
    found: list[tuple[str, str]] = []
    for line in body.splitlines(keepends=True):
        if line.startswith("$ "):
            found.append((line[2:].rstrip("\n"), ""))
        else:
            command, expected = found.pop()
            if command.endswith("\\"):
                found.append((f"{command}\n{line.rstrip()}", expected))
            else:
                found.append((command, expected + line))
    return found


def shell(command: str, folder: Path) -> str:
    """Run one command line as a user would, without colours and at a width of 100."""
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    world = {"PATH": path, "HOME": str(folder), "COLUMNS": "100", "NO_COLOR": "1"}
    done = subprocess.run(
        ["bash", "-c", command],
        check=False,
        cwd=folder,
        env={**world, "LC_ALL": "C.UTF-8", "PYTHONWARNINGS": "error"},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        timeout=SECONDS,
        text=True,
        encoding="utf-8",
    )
    return done.stdout


def difference(where: str, expected: str, printed: str) -> str:
    """Show both texts below each other."""
    return f"{where}\n--- the page says\n{tidy(expected)}--- it printed\n{tidy(printed)}"


def rewrite(page: Path) -> int:
    """Write what the examples of a page print now into it; tell how many places changed."""
    text = page.read_text(encoding="utf-8")
    with tempfile.TemporaryDirectory() as folder:
        run = run_page(page, text, Path(folder))
    for start, end, printed in reversed(run.rewritten):
        text = text[:start] + printed + text[end:]
    page.write_text(text, encoding="utf-8")
    return len(run.rewritten)


if __name__ == "__main__":
    for name in sys.argv[1:]:
        sys.stdout.write(f"{name}: {rewrite(Path(name))} places written\n")
