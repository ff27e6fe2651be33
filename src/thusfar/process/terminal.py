"""Terminal: a run as somebody at a terminal follows it, and decides about its calls.

Source:
    docs/spec/process.md#reading-a-run
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final, TextIO

from thusfar.lines import cap, escape_line
from thusfar.process.intercepting import Call, Cancel, Decision, Forward, Skip, Use
from thusfar.process.outcomes import (
    AnswerRefused,
    ProcessEvent,
    PromptPlanned,
    StepCommitted,
    StepFailed,
    StepStarted,
)
from thusfar.process.rendering import compact_line

if TYPE_CHECKING:
    from rich.console import Console

LINE_CHARS: Final = 76  # of an entry
ERROR_CHARS: Final = 200  # of one complaint
ASKED: Final = "[u]se an answer, [f]orward, [s]kip, [c]ancel? "


class TerminalLog:
    r"""Prints a run as it goes, with its progress; pass it as `on_event`.

    Prints nothing where standard error is no terminal, and no more where its stream is gone:
    listening changes nothing about a run.

    Args:
        stream: Where to. `None`: standard error, if that is a terminal.
        max_steps: The step limit of the run, for the progress. `None`: not shown.
        starts: Whether a line tells that a step begins.

    Example:
        >>> import io
        >>> from thusfar.models import Scripted
        >>> from thusfar.process import END, Process, Task, TerminalLog
        >>> out = io.StringIO()
        >>> log = TerminalLog(out, max_steps=3, starts=False)
        >>> task = Task(id="greet", title="Greet", next_task=END)
        >>> Process([task], model=Scripted("Hello."), on_event=log).run_sync().status
        'finished'
        >>> out.getvalue()
        '  1/3  Greet | Hello.\n'
    """

    def __init__(
        self, stream: TextIO | None = None, *, max_steps: int | None = None, starts: bool = True
    ) -> None:
        self._console = console_of(stream)
        self._most = max_steps
        self._starts = starts
        self.steps = self.calls = self.prompt_tokens = 0

    def __call__(self, event: ProcessEvent) -> None:
        """Take an event."""
        match event:
            case StepStarted():
                if self._starts:
                    self._print(event.step, f"{event.process_id}: {event.task_id} ...", "dim")
            case PromptPlanned():
                self.calls += 1
                self.prompt_tokens += event.receipt.request.input_tokens
            case AnswerRefused():
                told = "; ".join(cap(escape_line(each), ERROR_CHARS) for each in event.errors)
                self._print(event.step, f"refused (attempt {event.attempt}): {told}", "yellow")
            case StepFailed():
                text = f"{event.task_id} failed with {event.code}, on to {event.next_task}"
                self._print(event.step, text, "red")
            case StepCommitted():
                self.steps += 1
                for entry in event.entries:
                    self._print(event.step, compact_line(entry, most=LINE_CHARS), "")
                if not event.entries:
                    self._print(event.step, f"{event.task_id} done, on to {event.next_task}", "dim")

    def _print(self, step: int, text: str, style: str) -> None:
        if self._console is not None:
            of = f"/{self._most}" if self._most is not None else ""
            shown = f"{step:>3}{of}  {printable(text)}"
            try:
                self._console.print(shown, style=style or None, markup=False, soft_wrap=True)
            except (OSError, ValueError):  # nobody reads any more, or it was closed
                self._console = None

    def __repr__(self) -> str:
        return (
            f"TerminalLog(steps={self.steps}, calls={self.calls}, "
            f"prompt_tokens={self.prompt_tokens})"
        )


class TerminalInterceptor:
    """Shows each prompt at a terminal and asks what to do; pass it as `interceptor`.

    Args:
        stream: Where prompts are shown. `None`: standard error; without a terminal there every
            call is forwarded.
        ask: Reads a line of what is typed, given a question. `None`: standard input. The end of
            the input, or of the stream, cancels the run.
    """

    def __init__(
        self, stream: TextIO | None = None, *, ask: Callable[[str], str] | None = None
    ) -> None:
        self._console = console_of(stream)
        self._ask = ask or input

    def __call__(self, call: Call) -> Decision:
        """Ask about a call."""
        if self._console is None:
            return Forward()
        try:
            self._show(call)
            while True:
                match self._ask(ASKED).strip().lower():
                    case "u" | "use":
                        return Use(self._ask("Answer, on one line: "))
                    case "f" | "forward" | "":
                        return Forward()
                    case "s" | "skip":
                        return Skip()
                    case "c" | "cancel":
                        return Cancel(self._ask("Why? "))
        except EOFError:
            return Cancel("the input ended")
        except BrokenPipeError:
            return Cancel("the terminal is gone")

    def _show(self, call: Call) -> None:
        assert self._console is not None
        tokens = call.receipt.request.input_tokens
        head = f"{call.process_id}: {call.task_id}, step {call.step}, attempt {call.attempt}"
        for text in (f"{head}, {tokens:,} tokens", call.system, call.prompt):
            self._console.print(printable(text, lines=True), markup=False, soft_wrap=True)


def console_of(stream: TextIO | None) -> Console | None:
    """Open a stream for printing; `None` where standard error is no terminal."""
    import sys

    if stream is None and not sys.stderr.isatty():
        return None
    from rich.console import Console

    class Quiet(Console):
        """Raises where its stream is gone; what is built in ends the whole program."""

        def on_broken_pipe(self) -> None:
            raise BrokenPipeError

    return Quiet(file=stream or sys.stderr, highlight=False, emoji=False)


def printable(text: Any, *, lines: bool = False) -> str:
    """Write text without what a terminal would obey."""
    kept = "\n\t" if lines else ""
    return "".join(c if c.isprintable() or c in kept else "\ufffd" for c in text)
