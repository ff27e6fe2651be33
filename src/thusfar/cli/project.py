"""`thusfar project`: show what a model would be sent of a transcript, and why."""

from __future__ import annotations

from typing import Annotated, Any

from cyclopts import Parameter

from thusfar._setting import Setting
from thusfar.cli.options import AsJson, DialectName
from thusfar.cli.output import print_json
from thusfar.cli.reading import Source, read_source
from thusfar.cli.view_options import ViewOptions
from thusfar.codec import to_json
from thusfar.projection import Projection


def project(
    file: Annotated[str, Parameter(help="File of the transcript; - for stdin")],
    /,
    *,
    view: ViewOptions | None = None,
    dialect: DialectName = None,
    as_json: AsJson = False,
) -> int:
    """Show what a model would be sent of the transcript in FILE, and why.

    FILE is a list of messages, a request or response of a provider, a cassette, or a session log
    (Claude Code, Gemini CLI, pi). The table shows the stretches of the transcript in order: what
    is sent, what is left out, what a digest stands for, and the tokens of each. Nothing is
    written and no model is called.

    With --json: {"dialect", "messages", "receipt", "source"}, and for a request file also
    "request", the file's own body with the view in place of its list. "messages" are the
    messages as they stand in FILE. Positions on the receipt are pairs: the first, and the one
    behind the last.

    Exit status: 0 shown; 1 refused, such as REQUEST_TOO_LARGE (code and fix on stderr, with
    --json also {"error"} on stdout); 2 an option does not exist or is out of its range.
    """
    options = view or ViewOptions()
    source = read_source(file, dialect)
    loaded = source.loaded
    setting = Setting(
        dialect=loaded.dialect,
        counter=options.counter,
        model=options.model,
        budget=options.budget(),
        system=loaded.system,
        tools=loaded.tools,
    )
    projection = project_source(options, source, setting)
    if as_json:
        print_json(projection_json(projection, source))
    else:
        from thusfar.cli.view import print_view

        print_view(projection, loaded, setting)
    return 0


def project_source(options: ViewOptions, source: Source, setting: Setting) -> Projection:
    """Project a transcript as the options ask, with the number of tokens on the receipt.

    Raises:
        HistoryError: As `project` of the policies, and for options out of their range.
    """
    policy = options.policy_for(source.loaded.messages, setting)
    projection = policy.project(
        source.loaded.messages,
        dialect=setting.dialect,
        counter=setting.counter,
        model=setting.model,
        budget=setting.budget,
        system=setting.system,
        tools=setting.tools,
    )
    return projection.measured()


def projection_json(projection: Projection, source: Source) -> dict[str, Any]:
    """Write a projection as the JSON that the help of `project` describes."""
    loaded = source.loaded
    messages = [m if isinstance(m, dict) else to_json(m) for m in projection.messages]
    made = {
        "dialect": loaded.dialect,
        "messages": messages,
        "receipt": projection.receipt.to_json(),
        "source": {"kind": loaded.kind, "model": loaded.model, "facts": dict(loaded.facts)},
    }
    request = source.with_messages(messages)
    return made if request is None else {**made, "request": request}
