"""`thusfar plan`: plan one complete request, and show what it weighs, what was chosen and why."""

from __future__ import annotations

from typing import Annotated, Any

import msgspec
from cyclopts import Parameter

from thusfar.cli.options import AsJson, DialectName
from thusfar.cli.output import console, print_json, shown
from thusfar.cli.plan_options import PlanOptions
from thusfar.cli.reading import STDIN, Source, read_source
from thusfar.cli.request_body import for_model, output_limit, output_schema
from thusfar.codec import to_json
from thusfar.dialects import dialect as dialect_named
from thusfar.errors import OptionsError
from thusfar.planner.receipt import Inspection, RequestReceipt
from thusfar.runtime.planned import Planned
from thusfar.runtime.planning import plan_sync
from thusfar.tokens import measure_for


def plan(
    file: Annotated[str, Parameter(help="File of the transcript; - for stdin")],
    /,
    *,
    asked: PlanOptions | None = None,
    dialect: DialectName = None,
    as_json: AsJson = False,
) -> int:
    """Plan the request that the transcript in FILE asks for, and show what it weighs.

    FILE is as for thusfar project. The whole request is counted: system text, messages, tools,
    output schema. Of the forms that the policy allows, the most faithful one that fits is chosen.
    Shown are the parts of the request, largest first, what became of the messages, every form
    that was looked at with why it was chosen or not, the limits, and warnings. Nothing is
    written, and no model is called but the one of --summary-model.

    With --json: {"request", "receipt", "inspection"}. "request" is what is to be sent, in the
    format of FILE: for a request file its own body with the planned messages in it, else the
    keyword arguments of the provider's SDK.

    Exit status: 0 planned; 1 refused, such as REQUEST_TOO_LARGE or REPRESENTATION_UNAVAILABLE
    (code and fix on stderr, with --json also {"error"} on stdout); 2 an option does not exist or
    is out of its range.
    """
    options = asked or PlanOptions()
    if file == options.summary_text == STDIN:
        raise OptionsError(
            "Both the transcript and its summary were to be read from stdin.",
            fix="Pass one of them as a file.",
            option="summary_text",
        )
    source = read_source(file, dialect)
    planned = plan_source(options, source)
    receipt, inspection = evidence(planned, options)
    if as_json:
        print_json(planned_json(planned, source, receipt, inspection))
    else:
        _print(receipt, inspection, source, options)
    return 0


def plan_source(options: PlanOptions, source: Source) -> Planned:
    """Plan a request as the options ask.

    Raises:
        HistoryError: As `plan_sync`, and for options out of their range.
    """
    loaded, body = source.loaded, source.body() or {}
    model, most = model_of(options, source), output_limit(body)
    return plan_sync(
        loaded.messages,
        model=model,
        system=loaded.system,
        tools=loaded.tools or (),
        schema=output_schema(body),
        policy=options.policy_for(loaded.messages, model=model, output_limit=most),
        dialect=loaded.dialect,
        budget=options.budget(),
        counter=options.bounds.counter,
        max_output_tokens=most,
        cache=False,
    )


def model_of(options: PlanOptions, source: Source) -> str:
    """Find the model that the request is for: the one of `--model`, else the one of the file.

    Raises:
        OptionsError: `INVALID_OPTIONS`, when neither is there.
    """
    given = options.bounds.model
    model = source.loaded.model if given is None else given
    if not model:
        raise OptionsError(
            "A plan is for a model, and none is named.",
            fix="Pass --model with the name of the model that the request is for.",
            option="model",
        )
    return model


def evidence(planned: Planned, options: PlanOptions) -> tuple[RequestReceipt, Inspection]:
    """Return the evidence of a plan; for a summary that was written already, without its making.

    No model was called for it, so neither a support call nor a warning of one is told.
    """
    receipt, inspection = planned.receipt, planned.inspect()
    if options.summary_text is None:
        return receipt, inspection
    told = msgspec.structs.replace(
        receipt,
        support=(),
        adaptations=tuple(msgspec.structs.replace(a, support=()) for a in receipt.adaptations),
        warnings=tuple(w for w in receipt.warnings if w.code != "HISTORY_SUMMARY_INLINE"),
    )
    return told, msgspec.structs.replace(inspection, support=())


def planned_json(
    planned: Planned, source: Source, receipt: RequestReceipt, inspection: Inspection
) -> dict[str, Any]:
    """Write a plan as the JSON that the help of `plan` describes."""
    messages = [m if isinstance(m, dict) else to_json(m) for m in planned.messages]
    request = source.with_messages(messages)
    written = to_json(planned.kwargs) if request is None else for_model(request, receipt.model)
    return {"request": written, "receipt": receipt.to_json(), "inspection": to_json(inspection)}


def _print(
    receipt: RequestReceipt, inspection: Inspection, source: Source, options: PlanOptions
) -> None:
    from thusfar.cli.plan_view import print_request

    loaded = source.loaded
    console().print(f"A request to {shown(receipt.model)} that fits", end="\n\n")
    view = receipt.history.view
    head = loaded.messages[: view.system] if view is not None else ()
    measure = measure_for(options.bounds.counter, receipt.model)
    system = sum(measure.count(dialect_named(loaded.dialect), head))
    print_request(receipt, inspection, system=system)
