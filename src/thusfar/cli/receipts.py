"""`thusfar receipts`: show a request that was planned with a store, in another process."""

from __future__ import annotations

from typing import Annotated

from cyclopts import Parameter

from thusfar.cli.options import AsJson
from thusfar.cli.output import console, print_json, shown
from thusfar.cli.store import StoreOptions, opened
from thusfar.codec import to_json
from thusfar.planner.receipt import StoredReceipt
from thusfar.runtime.keeping import read_receipt_steps


def receipts(
    request: Annotated[str, Parameter(help="Id of the request, as its receipt has it")],
    /,
    *,
    where: StoreOptions | None = None,
    as_json: AsJson = False,
) -> int:
    """Show the receipt of a request that was planned with a store, and the evidence behind it.

    Shown is what thusfar plan shows: the parts of the request, what became of the messages, every
    form that was looked at, the limits, support calls, and warnings. A SQLite database is opened
    without writing to it.

    With --json: {"receipt", "inspection"}.

    Exit status: 0 shown; 1 no receipt of that id is kept there, or the store cannot be read; 2
    the URL is none of a store.
    """
    with opened(where, "read") as store:
        stored: StoredReceipt = store.run(read_receipt_steps(request))
    if as_json:
        print_json(to_json(stored))
    else:
        from thusfar.cli.plan_view import print_request

        receipt = stored.receipt
        console().print(f"Request {shown(receipt.id)} to {shown(receipt.model)}", end="\n\n")
        print_request(receipt, stored.inspection)
    return 0
