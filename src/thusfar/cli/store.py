"""The store that a command line names, and how it is opened and closed."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Final, Literal
from urllib.parse import unquote

from cyclopts import Parameter

from thusfar.errors import HistoryError, OptionsError, StorageUnavailableError
from thusfar.storage import DEFAULT_NAMESPACE, Store, open_store

STORE_VARIABLE: Final = "THUSFAR_STORE"
_SQLITE: Final = "sqlite:///"
_POSTGRES: Final = ("postgresql://", "postgres://")

WORDS: Final = (
    ("pass open=True", "pass --open"),
    ("pass force=True", "pass --force"),
    ("Try again, or raise busy_timeout_seconds.", "Try again."),
    ("take it over: take_over=True.", "take it over with --take-over."),
    ("allow the change: allow_changed=True.", "allow the change with --allow-changed."),
    ("Pass it under that name,", "Pass it under that name in the mapping of --hooks,"),
    ("Pass it in by name, or allow imports:", "Pass it in with --hooks, or --allow-imports:"),
    (
        "Check its path, or open it once without read_only, so that its tables are made.",
        "Check --store; thusfar thread append and import make the tables.",
    ),
    (
        "Open it once without read_only, so that it is migrated.",
        "Run a command that writes, such as thusfar thread verify --erased: it is migrated then.",
    ),
    (
        "Open it without read_only and with write permission on the file and its directory.",
        "Get write permission on the file and its directory.",
    ),
)
"""Words of fixes in the library, and what they are on the command line."""

Use = Literal["read", "change", "create"]
"""What a command does with a store: a file is made only by `create`, written never by `read`."""


@Parameter(name="*")
@dataclass(frozen=True, slots=True, kw_only=True)
class StoreOptions:
    """Which store, and whose threads in it.

    Attributes:
        store: Where threads are kept: sqlite:///file.db (relative), sqlite:////file.db (absolute)
            or postgresql://user@host/database.
        namespace: The tenant; nothing of one is ever seen from another.
    """

    store: Annotated[str | None, Parameter(env_var=STORE_VARIABLE)] = None
    namespace: str = DEFAULT_NAMESPACE

    def url(self) -> str:
        """The URL of the store.

        Raises:
            OptionsError: `INVALID_OPTIONS`, without one, for one of no known kind, and for one
                in memory, which would be gone when the command ends.
        """
        if not self.store:
            raise OptionsError(
                "No store was given.",
                fix=f"Pass --store {_SQLITE}threads.db, or set {STORE_VARIABLE}.",
            )
        if self.store == "memory:":
            raise OptionsError(
                "A store in memory would be gone when the command ends.",
                fix=f"Pass --store {_SQLITE}threads.db, or a postgresql:// URL.",
            )
        if not self.store.startswith((_SQLITE, *_POSTGRES)):
            raise OptionsError(
                "A store was asked for by a URL of no known kind.",
                fix=f"Pass --store {_SQLITE}threads.db or postgresql://user@host/database.",
            )
        return self.store


@contextmanager
def opened(where: StoreOptions | None, use: Use) -> Iterator[Store]:
    """Open the store that a command line names, and close it at the end.

    Args:
        where: The options; `None` when no option was given.
        use: What the command does.

    Raises:
        OptionsError: `INVALID_OPTIONS`, for no URL or one of no known kind.
        StorageUnavailableError: `STORAGE_UNAVAILABLE`, for a file that does not exist, unless
            the command makes one.
        StorageError: when the store cannot be opened.
    """
    options = where or StoreOptions()
    url = options.url()
    if use != "create" and url.startswith(_SQLITE):
        _require_file(url)
    try:
        store = open_store(url, namespace=options.namespace, read_only=use == "read")
        try:
            yield store
        finally:
            store.close()
    except HistoryError as error:
        error.fix = on_the_command_line(error.fix)
        raise


def on_the_command_line(fix: str) -> str:
    """Say in words of the command line what a fix says in words of the library."""
    for library, here in WORDS:
        fix = fix.replace(library, here)
    return fix


def _require_file(url: str) -> None:
    if not Path(unquote(url.removeprefix(_SQLITE))).exists():
        raise StorageUnavailableError(
            "The store does not exist.",
            fix="Check --store; thusfar thread append and import, and process run, make a new one.",
        )
