"""`thusfar chat`: talk to a model in the terminal, with everything that is said kept in a store."""

from __future__ import annotations

import io
import sys
from contextlib import suppress
from dataclasses import dataclass
from typing import Annotated, Any, Final, Literal

from cyclopts import Parameter

from thusfar._history import HistoryPolicy, history
from thusfar._summarize import summarize
from thusfar.budget import InputBudget
from thusfar.cli.chat.session import Chat
from thusfar.cli.options import AsJson, Whole
from thusfar.cli.store import StoreOptions, opened
from thusfar.cli.thread.options import Owner
from thusfar.errors import OptionsError
from thusfar.models.resolving import resolve_model
from thusfar.runtime.edge import Runtime
from thusfar.runtime.hosts import ThreadHost
from thusfar.runtime.prompts import Prompt
from thusfar.thread import Thread

DEFAULT_STORE: Final = "sqlite:///thusfar.db"
DEFAULT_MODEL: Final = "local"
DRAIN_SECONDS: Final = 10.0  # for a summary that is being made when the user leaves

ChatPolicy = Literal["managed", "digest", "recent", "exact"]


@Parameter(name="*")
@dataclass(frozen=True, slots=True, kw_only=True)
class ChatOptions:
    """How requests are made.

    Attributes:
        model: The model, as provider:model, such as anthropic:claude-sonnet-4-5, openai:gpt-5,
            gemini:gemini-2.5-pro or litellm:mistral/mistral-large-latest. local needs no key.
        system: System text.
        policy: managed: everything while it fits, else a summary and the newest messages. digest:
            the same with one line for each older exchange, made without a model. recent: the
            newest messages. exact: everything, or a refusal.
        messages: Under recent, most messages to send. By default 20.
        max: Most input tokens of a request. By default what the model takes.
        max_output: Most output tokens of an answer. By default what the model takes.
    """

    model: str = DEFAULT_MODEL
    system: str | None = None
    policy: ChatPolicy = "managed"
    messages: Whole = None
    max: Whole = None
    max_output: Whole = None

    def history(self) -> HistoryPolicy:
        """Make the history policy.

        Raises:
            OptionsError: `INVALID_OPTIONS`, for `--messages` beside another policy than recent.
        """
        if self.messages is not None and self.policy != "recent":
            raise OptionsError(
                f"--messages stood beside --policy {self.policy}.", fix="Pass --policy recent."
            )
        match self.policy:
            case "managed":
                return history()
            case "digest":
                return history(summary=summarize.digest())
            case "recent":
                return history.recent(self.messages or 20)
            case _:
                return history.exact()


def chat(
    say: Annotated[
        str | None, Parameter(help="Say this, print the answer, and leave; - reads it from stdin")
    ] = None,
    /,
    *,
    thread: Annotated[str, Parameter(help="Id of the thread; it is made when it is new")] = "chat",
    owner: Owner = "main",
    where: StoreOptions | None = None,
    asked: ChatOptions | None = None,
    as_json: AsJson = False,
) -> int:
    """Talk to a model; every turn is stored in THREAD before the next one.

    Without --store the conversation is kept in thusfar.db in this directory, and without --model
    a small model answers that runs in this process and needs no key and no network. Lines that
    begin with / are commands: /help lists them. Ctrl-C stops an answer, of which nothing is then
    stored; Ctrl-D leaves.

    With --json: {"type": "text", "text"} on a line for each piece of an answer, and for each stored
    turn {"type": "turn", "text", "finish", "usage", "request", "thread_commit"}.

    Exit status: 0 done; 1 refused or failed, for SAY; 2 a wrong command line.
    """
    options = asked or ChatOptions()
    used = where or StoreOptions()
    if not used.store:
        used = StoreOptions(store=DEFAULT_STORE, namespace=used.namespace)
    policy, model = options.history(), resolve_model(options.model)
    with opened(used, "create") as store:
        host = ThreadHost()
        session = Chat(
            thread=Thread(thread, store=store, owner=owner),
            prompt=Prompt(
                id="chat",
                use=[policy],
                model=model,
                system=options.system,
                budget=None if options.max is None else InputBudget(max=options.max),
                max_output_tokens=options.max_output,
            ),
            runtime=Runtime(store, host=host),
            as_json=as_json,
        )
        status = session.once(_words(say)) if say is not None else session.talk(_lines())
        host.drain(timeout_seconds=DRAIN_SECONDS)
    return status


def _words(say: str) -> str:
    """Take what is said on the command line or piped in.

    Raises:
        OptionsError: `INVALID_OPTIONS`, when that is nothing.
    """
    from thusfar.cli.reading import STDIN, read_text

    words = read_text(STDIN).removesuffix("\n") if say == STDIN else say
    if not words.strip():
        raise OptionsError("There was nothing to say.", fix="Write words behind thusfar chat.")
    return words


def _lines() -> Any:
    """Take lines from the terminal, with a prompt, or from stdin as they come."""
    if isinstance(sys.stdin, io.TextIOWrapper):
        sys.stdin.reconfigure(errors="replace")  # one bad byte is no end of a talk
    if not sys.stdin.isatty():
        return (line.removesuffix("\n") for line in sys.stdin)
    return _typed()


def _typed() -> Any:
    with suppress(ImportError):  # not on every system
        import readline  # noqa: F401 - gives `input` a history and keys to edit with
    while True:
        try:
            yield input("> ")
        except KeyboardInterrupt:  # the line is given up, the talk is not
            sys.stdout.write("\n")
        except EOFError:
            sys.stdout.write("\n")
            return
