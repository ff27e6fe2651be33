"""A chat session: lines in, streamed answers out, commands about the thread."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any, Final

import msgspec

from thusfar.cli.chat.commands import COMMANDS, Leave
from thusfar.cli.failures import error_json, report
from thusfar.cli.output import print_json_line, shown
from thusfar.codec import to_json
from thusfar.errors import HistoryError
from thusfar.models.port import TextDelta
from thusfar.runtime.edge import Runtime
from thusfar.runtime.generate import stream_sync
from thusfar.runtime.prompts import Prompt
from thusfar.runtime.results import AnswerRejected, Completed, Result
from thusfar.thread import Thread

COMMAND: Final = "/"
_LINE_ENDS: Final = ("\n", "\t")


@dataclass(slots=True)
class Chat:
    """One conversation in a terminal.

    Attributes:
        thread: Where it is kept.
        prompt: Model, policy, system text and limits of every request.
        runtime: What requests share.
        as_json: Whether events are printed as JSON, a line each.
        last: The newest turn of this session.
    """

    thread: Thread
    prompt: Prompt
    runtime: Runtime
    as_json: bool = False
    last: Result | None = None

    def once(self, words: str) -> int:
        """Say one thing; what goes wrong is raised."""
        self.answer(words)
        return 0

    def talk(self, lines: Iterable[str]) -> int:
        """Take lines until they end; what goes wrong is told, and the talk goes on."""
        for line in lines:
            if not line.strip():
                continue
            try:
                if line.startswith(COMMAND):
                    self.command(line)
                else:
                    self.answer(line)
            except Leave:
                break
            except KeyboardInterrupt:
                self.tell("\n(stopped; nothing of this answer is stored)")
            except HistoryError as error:
                self._report(error)
        return 0

    def command(self, line: str) -> None:
        """Carry out a command; an unknown one is told.

        Raises:
            Leave: to end the session.
            ThreadError: as the thread does.
        """
        word, _, rest = line[len(COMMAND) :].partition(" ")
        found = COMMANDS.get(word.lower())
        if found is None:
            self.tell(f"There is no command /{shown(word)}; /help lists them.")
            return
        found.carry_out(self, rest.strip())

    def answer(self, words: str | None) -> Result:
        """Have words, or the newest question of the thread, answered; print it as it comes."""
        asked = with_words(self.prompt, words)
        with stream_sync(asked, thread=self.thread, runtime=self.runtime) as events:
            for event in events:
                if isinstance(event, TextDelta):
                    self._piece(event.text)
                elif isinstance(event, AnswerRejected):
                    self.tell("\n(asked again)")
                elif isinstance(event, Completed):
                    self.last = event.result
            result = events.result()
        self._ended(result)
        return result

    def tell(self, text: str) -> None:
        """Print a line for people; with --json it goes to stderr."""
        out = sys.stderr if self.as_json else sys.stdout
        out.write(f"{text}\n")
        out.flush()

    def _piece(self, text: str) -> None:
        if self.as_json:
            print_json_line({"type": "text", "text": text})
        else:
            sys.stdout.write(spoken(text))
        sys.stdout.flush()

    def _ended(self, result: Result) -> None:
        if not self.as_json:
            sys.stdout.write("\n")
        else:
            told: dict[str, Any] = {"type": "turn", "text": result.text, "finish": result.finish}
            told["usage"] = to_json(msgspec.to_builtins(result.usage))
            told["request"] = to_json(msgspec.to_builtins(result.request))
            told["thread_commit"] = to_json(msgspec.to_builtins(result.thread_commit))
            print_json_line(told)
        sys.stdout.flush()

    def _report(self, error: HistoryError) -> None:
        if self.as_json:
            print_json_line({"type": "error", **error_json(error)})
        else:
            report(error, as_json=False)
        sys.stdout.flush()


def with_words(prompt: Prompt, words: str | None) -> Prompt:
    """Give the prompt with the words of this turn."""
    return replace(prompt, prompt=words)


def spoken(text: str) -> str:
    r"""Show what a model says: line breaks and tabs stay, what a terminal obeys is escaped.

    Example:
        >>> spoken("red \x1b[31m\nalert")
        'red \\e[31m\nalert'
    """
    return "".join(char if char in _LINE_ENDS else shown(char) for char in text)
