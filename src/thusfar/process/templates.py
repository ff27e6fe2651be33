"""Templates: `${…}` expressions in Jinja2's immutable sandbox; what they yield is never read again.

Source:
    docs/spec/process.md#templates
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from typing import Any, Final

from thusfar.codec import json_text, text_of
from thusfar.errors import InvalidTemplateError
from thusfar.lines import cap, escape_line
from thusfar.process.entries import Entry
from thusfar.process.state import State

# Statements and comments open with a character that no text has, so that they cannot be written.
_UNUSABLE: Final = "\ufdd0"
_ESCAPED: Final = "\\${"
_PART_CALL: Final = re.compile(
    r"""\$\{\s*(?:promptPart|prompt_part|prt)\(\s*(?:'(\w+)'|"(\w+)")\s*\)\s*\}"""
)


_NAMED: Final = re.compile(r"has no (?:attribute|element) (.+)$|^'(.+)' is undefined$", re.DOTALL)
NAME_SHOWN: Final = 80  # characters of a name in an error
PART_NAMES: Final = ("promptPart", "prompt_part", "prt")
SUMMARY_SCOPE: Final = ("output", "state", "json", "goal")
"""Names that the template of a summary may use."""
PROMPT_SCOPE: Final = (
    *("state", "goal", "inputs", "failure", "task", "process", "json"),
    *PART_NAMES,
)
"""Names that templates of prompts may use."""

Pieces = tuple[tuple[str, str], ...]


class PartText(str):
    """The text of a prompt part inside a rendered template, recognised by its type.

    Text cannot pretend to be one, whatever it holds.

    Attributes:
        pieces: Name and text of each stretch of it, in order.
    """

    pieces: Pieces

    def __new__(cls, pieces: Pieces) -> PartText:
        """Join the pieces of a part."""
        made = super().__new__(cls, "".join([text for _, text in pieces]))
        made.pieces = pieces
        return made

    def __str__(self) -> str:
        return self


class PartFunction:
    """The function that gives parts, recognised by its type: it may be called without a look.

    Args:
        function: Takes names, gives a `PartText`.
        pieces: Takes one name, gives the pieces alone, which are not joined.
    """

    __slots__ = ("_function", "_pieces")

    def __init__(self, function: Callable[..., PartText], pieces: Callable[[str], Pieces]) -> None:
        self._function = function
        self._pieces = pieces

    def __call__(self, *args: Any, **kwargs: Any) -> PartText:
        """Give the part."""
        return self._function(*args, **kwargs)


class OmittedValue(str):
    """What stands for a value that a partial prompt leaves out, and for all inside it."""

    __slots__ = ()


def check_template(text: str, *, owner: str) -> None:
    """Check that a template can be read.

    Args:
        text: The template.
        owner: What it belongs to, for the message.

    Raises:
        InvalidTemplateError: `INVALID_TEMPLATE`, when it cannot, or is no text.
    """
    if not isinstance(text, str):
        raise _refused(owner, f"was no text, but a {type(text).__name__}", None)
    _compiled(text, owner)


@lru_cache(maxsize=1024)
def parts_named(text: str) -> frozenset[str]:
    """List the prompt parts that a template asks for by a name written in it."""
    if "${" not in text:
        return frozenset()
    from jinja2 import nodes

    found: set[str] = set()
    for call in _environment().parse(text.replace(_ESCAPED, "${'${'}")).find_all(nodes.Call):
        if isinstance(call.node, nodes.Name) and call.node.name in PART_NAMES and call.args:
            named = call.args[0]
            listed = named.items if isinstance(named, nodes.List | nodes.Tuple) else [named]
            found |= {f"{each.value}" for each in listed if isinstance(each, nodes.Const)}
    return frozenset(found)


@lru_cache(maxsize=1024)
def names_used(text: str) -> frozenset[str]:
    """List the names that a template takes from its scope."""
    if "${" not in text:
        return frozenset()
    from jinja2 import meta

    parsed = _environment().parse(text.replace(_ESCAPED, "${'${'}"))
    return frozenset(meta.find_undeclared_variables(parsed))


def render_pieces(text: str, scope: Mapping[str, Any], *, owner: str) -> list[str | Pieces]:
    """Render a template.

    Args:
        text: The template.
        scope: Names it can use.
        owner: What it belongs to, for the message.

    Returns:
        Its pieces in order; prompt parts as `PartText`, or as the pieces they are made of.

    Raises:
        InvalidTemplateError: `INVALID_TEMPLATE`, when it cannot be read, names something that
            does not exist, or does what the sandbox forbids.
    """
    if "${" not in text:
        return [text] if text else []
    parts = _parts_only(text)
    part = scope.get("promptPart")
    try:
        if parts is not None and type(part) is PartFunction:
            return [part._pieces(name) if is_part else name for is_part, name in parts]
        template = _compiled(text, owner)
        return list(template.root_render_func(template.new_context(dict(scope))))
    except InvalidTemplateError:
        raise
    except Exception as error:  # filters raise whatever their values raise
        raise _refused(owner, "could not be rendered", error, text) from error


def render_text(text: str, scope: Mapping[str, Any], *, owner: str) -> str:
    """Render a template to one text; see `render_pieces`."""
    made = render_pieces(text, scope, owner=owner)
    return "".join([t if isinstance(t, str) else "".join(each for _, each in t) for t in made])


def json_of(value: Any) -> str:
    """Write a value as compact JSON; a state without its `history`.

    Raises:
        TranscriptError: `INVALID_TRANSCRIPT`, for a value that is not JSON.
    """
    if isinstance(value, State):
        return json_text(value.values_only)
    if isinstance(value, Entry):
        return json_text(value.to_json())
    if isinstance(value, Sequence) and value and isinstance(value[0], Entry):
        return json_text([entry.to_json() for entry in value])
    return text_of(value)


@lru_cache(maxsize=1024)
def _parts_only(text: str) -> tuple[tuple[bool, str], ...] | None:
    """Read a template of text and whole parts alone, as most are; `None` for any other.

    What the sandbox would do with it is known: measured, it is a fifth of the work of a step.
    """
    found: list[tuple[bool, str]] = []
    end = 0
    for call in _PART_CALL.finditer(text):
        found += [(False, text[end : call.start()]), (True, call[1] or call[2])]
        end = call.end()
    found.append((False, text[end:]))
    plain = "".join(piece for is_part, piece in found if not is_part)
    # Backslashes may escape, and line ends of other kinds are made into \n.
    if any(mark in plain for mark in ("${", "\\", "\r", _UNUSABLE)):
        return None
    return tuple(piece for piece in found if piece[1])


@lru_cache(maxsize=1)
def _environment() -> Any:
    from jinja2 import StrictUndefined
    from jinja2.sandbox import ImmutableSandboxedEnvironment

    class Environment(ImmutableSandboxedEnvironment):
        """Reads the items of a mapping by attribute, and never its methods."""

        def call(self, context: Any, obj: Any, *args: Any, **kwargs: Any) -> Any:
            if type(obj) is PartFunction:  # no template can make one
                return obj(*args, **kwargs)
            return super().call(context, obj, *args, **kwargs)

        def getitem(self, obj: Any, argument: Any) -> Any:
            return obj if isinstance(obj, OmittedValue) else super().getitem(obj, argument)

        def getattr(self, obj: Any, attribute: str) -> Any:
            if isinstance(obj, OmittedValue):
                return obj
            if isinstance(obj, Mapping):
                if attribute in obj:
                    return obj[attribute]
                return self.undefined(obj=obj, name=attribute)
            return super().getattr(obj, attribute)

    environment = Environment(
        variable_start_string="${",
        variable_end_string="}",
        block_start_string=f"{_UNUSABLE}%",
        block_end_string=f"%{_UNUSABLE}",
        comment_start_string=f"{_UNUSABLE}#",
        comment_end_string=f"#{_UNUSABLE}",
        undefined=StrictUndefined,
        keep_trailing_newline=True,
        newline_sequence="\n",
        autoescape=False,
    )
    environment.globals.clear()
    del environment.filters["random"]  # a replay could not make the same prompt
    return environment


@lru_cache(maxsize=1024)
def _compiled(text: str, owner: str) -> Any:
    from jinja2.exceptions import TemplateError

    if _UNUSABLE in text:
        raise _refused(owner, "held the character U+FDD0", None)
    try:
        return _environment().from_string(text.replace(_ESCAPED, "${'${'}"))
    except TemplateError as error:
        raise _refused(owner, "could not be read", error) from error


def _refused(
    owner: str, what: str, error: Exception | None, template: str = ""
) -> InvalidTemplateError:
    """Make the error; it says what the author wrote, and nothing of the values."""
    line = getattr(error, "lineno", None)
    facts: dict[str, Any] = {"owner": owner}
    if isinstance(line, int):
        facts["line"] = line
    if (missing := _missing(error, template)) is not None:
        facts["undefined"] = missing
        what = f"named what does not exist: {missing}"
    elif isinstance(line, int) and error is not None:
        what += f": {cap(escape_line(str(error.args[0])).rstrip('.'), NAME_SHOWN)}"
    elif error is not None:
        what += f": {type(error).__name__}"
    return InvalidTemplateError(
        f"The template of {owner} {what}.",
        fix="Write ${name} for what exists, or \\${ for the characters themselves.",
        **facts,
    )


def _missing(error: Exception | None, template: str) -> str | None:
    """Name what was undefined, where the template itself has that name."""
    if type(error).__name__ != "UndefinedError":
        return None
    named = _NAMED.search(str(error))
    name = (named[1] or named[2]).strip("'") if named is not None else ""
    return cap(escape_line(name), NAME_SHOWN) if name and name in template else None
