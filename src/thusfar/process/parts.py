"""Parts: the named parts of one attempt's prompt, put together by its template.

Nothing is kept from attempt to attempt: what a model is to know stands in the prompt. Recorded
text enters as data and is never read as a template.

Source:
    docs/spec/process.md#prompts
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from thusfar.errors import InvalidTemplateError
from thusfar.lines import cap, escape_line
from thusfar.process.kinds import END
from thusfar.process.log import LogSlice
from thusfar.process.prompts import BUILT_IN, SAME, AttemptPrompt, Moment, Piece
from thusfar.process.rendering import INTENTS_ZONE, NEWEST_ZONE, OLDER_ZONE, sendable
from thusfar.process.tasks import Transition
from thusfar.process.templates import (
    PART_NAMES,
    PartFunction,
    PartText,
    Pieces,
    json_of,
    render_pieces,
)

ERROR_MAX_CHARS: Final = 500  # of one complaint; a model may have written part of it
_END_OF_LINE: Final = ("text", "\n")


def attempt_prompt(moment: Moment, *, collapsed: bool = False) -> AttemptPrompt:
    """Put the prompt of one attempt together.

    Args:
        moment: What it is made from.
        collapsed: Whether runs of equal lines become one line.

    Raises:
        InvalidTemplateError: `INVALID_TEMPLATE`, when a template cannot be rendered, asks for
            a part that does not exist or for itself, or changes the history, of which nothing may
            be left out.
    """
    parts = _Parts(moment, collapsed)
    task = moment.task
    own = task.prompt if task.prompt is not None else moment.texts.standard_prompt
    pieces, replaced = _sendable(parts.rendered(own, "text", f"{task.id}.prompt"))
    system, more = _sendable(parts.rendered(moment.texts.system_prompt, "system", "system_prompt"))
    shows_history = any(piece.part == "history" for piece in (*pieces, *system))
    if parts.made_history and not shows_history:
        raise InvalidTemplateError(
            "A template changed the history part, of which nothing may be left out.",
            fix="Write ${promptPart('history')} by itself, without a filter or an operator.",
            part="history",
        )
    return AttemptPrompt(
        system="".join([piece.text for piece in system]),
        pieces=pieces,
        replaced=replaced + more,
        shows_history=shows_history,
        collapsed=collapsed,
    )


def _sendable(pieces: Pieces) -> tuple[tuple[Piece, ...], int]:
    """Make pieces fit to be sent; recorded text is so already."""
    made: list[Piece] = []
    replaced = 0
    for part, text in pieces:
        if part != "history":
            text, found = sendable(text)
            replaced += found
        if text:
            made.append(Piece(part, text))
    return tuple(made), replaced


class _Parts:
    """Makes the parts that a template asks for."""

    def __init__(self, moment: Moment, collapsed: bool) -> None:
        self.moment = moment
        self.collapsed = collapsed
        self.made_history = False
        self._making: list[str] = []
        self._left_out = {SAME.get(name, name) for name in moment.task.omit}
        self.scope: dict[str, Any] = {
            "state": moment.state,
            "goal": moment.texts.goal,
            "inputs": moment.inputs,
            "failure": moment.failure,
            "task": {
                "id": moment.task.id,
                "title": moment.task.title or moment.task.id,
                "description": moment.task.description or "",
            },
            "process": {"id": moment.process_id, "steps_executed": moment.steps_executed},
            "json": json_of,
            **dict.fromkeys(PART_NAMES, self._function()),
        }

    def _function(self) -> PartFunction:
        return PartFunction(self.prompt_part, self._whole)

    def _whole(self, name: str) -> Pieces:
        """Give one part between line ends; nothing for an empty one."""
        made = self._part(SAME.get(name, name))
        return (_END_OF_LINE, *made, _END_OF_LINE) if made else ()

    def prompt_part(
        self,
        names: str | Sequence[str],
        omitNewlines: bool = False,  # noqa: N803 - as templates of the interface write it
        *,
        omit_newlines: bool = False,
    ) -> PartText:
        """Give one part, or several joined."""
        bare = omitNewlines or omit_newlines
        pieces: list[tuple[str, str]] = []
        for name in [names] if isinstance(names, str) else names:
            pieces += self._part(SAME.get(name, name)) if bare else self._whole(name)
        return PartText(tuple(pieces))

    def rendered(self, template: str, part: str, owner: str) -> Pieces:
        """Render a template; what stands between parts belongs to the part it is for."""
        pieces: list[tuple[str, str]] = []
        for text in render_pieces(template, self.scope, owner=owner):
            if isinstance(text, PartText):
                pieces += text.pieces
            elif isinstance(text, tuple):
                pieces += text
            elif text:
                pieces.append((part, text))
        return tuple(pieces)

    def _part(self, name: str) -> Pieces:
        if name in self._left_out:
            return ()
        if name in self._making:
            raise _no_part("asked for itself", name)
        self._making.append(name)
        try:
            made = self._made(name)
        finally:
            self._making.pop()
        omitted = self.moment.omitted
        if made and name == "transitionsPrimer" and "transitions" in omitted:
            return ()
        return _text(name, f"[{name} omitted]") if made and name in omitted else made

    def _made(self, name: str) -> Pieces:
        texts, task = self.moment.texts, self.moment.task
        primers = texts.primers
        if name in texts.optional_prompts and name not in BUILT_IN:
            return self.rendered(texts.optional_prompts[name], name, name)
        match name:
            case "intro":
                return self.rendered(texts.intro_prompt, name, "intro_prompt")
            case "taskPrompt":
                return self.rendered(task.task_prompt, name, f"{task.id}.task_prompt")
            case "goalData":
                return _text("goal", texts.goal)
            case "goal":
                return _text(name, f"{primers.goal_primer}\n{texts.goal}" if texts.goal else "")
            case "history":
                return self._history()
            case "errors":
                return _text(name, self._errors())
            case "outputFormat":
                return _text(name, self._output_format())
            case "transitionsPrimer":
                return _text("transitions", primers.transitions_primer if task.edges else "")
            case "transitions":
                return _text(name, self._transitions())
        raise _no_part("does not exist", name)

    def _history(self) -> Pieces:
        """The whole log: earlier entries as lines, the newest in full."""
        moment = self.moment
        log, primers = moment.log, moment.texts.primers
        if moment.no_history or moment.task.no_history or not log.recorded:
            return ()
        self.made_history = True
        pieces = [primers.history_primer, "\n"]
        if isinstance(log, LogSlice) and log.omitted:
            pieces.append(f"[{log.omitted} earlier entries omitted]\n")
        if older := log.older_texts(collapsed=self.collapsed):
            pieces += [f"{primers.completed_work_primer}\n<{OLDER_ZONE}>\n", *older]
            pieces.append(f"</{OLDER_ZONE}>\n")
        for zone, lines in ((NEWEST_ZONE, log.detail_lines()), (INTENTS_ZONE, log.intent_lines())):
            if lines:
                pieces += [f"<{zone}>\n", *(f"{line}\n" for line in lines), f"</{zone}>\n"]
        pieces[-1] = pieces[-1].rstrip("\n")
        return tuple([("history", text) for text in pieces])

    def _errors(self) -> str:
        moment = self.moment
        if not moment.errors and not moment.omitted_errors:
            return ""
        primer = moment.task.errors_primer
        shown = primer if primer is not None else moment.texts.primers.errors_primer
        lines = [f"- {cap(escape_line(each), ERROR_MAX_CHARS)}" for each in moment.errors]
        if moment.omitted_errors:
            lines.append(f"[{moment.omitted_errors} more errors omitted]")
        return "\n".join([shown, *lines])

    def _output_format(self) -> str:
        schema = self.moment.task.schema
        if schema is None:
            return ""
        return f"Answer with one JSON value that fits this JSON Schema:\n{schema.text()}"

    def _transitions(self) -> str:
        lines = [f"- {edge.to}: {self._label(edge)}" for edge in self.moment.visible]
        return "\n".join(["Next tasks:", *lines]) if lines else ""

    def _label(self, edge: Transition) -> str:
        target = self.moment.tasks.get(edge.to)
        own = (target.description or target.title) if target is not None else None
        return escape_line(edge.label or own or ("finish" if edge.to == END else edge.to))


def _text(part: str, text: str) -> Pieces:
    return ((part, text),) if text else ()


def _no_part(what: str, name: str) -> InvalidTemplateError:
    return InvalidTemplateError(
        f"A template asked for a prompt part that {what}.",
        fix=f"Use one of {', '.join(BUILT_IN)}, or a name of optional_prompts.",
        part=name,
    )
