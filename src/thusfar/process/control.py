"""Control: pausing and stopping a run from outside, between two steps or during a model call.

Source:
    docs/spec/process.md#runs
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Generator
from typing import TYPE_CHECKING, Any, Literal

if TYPE_CHECKING:
    import asyncio

    from thusfar.process.outcomes import Outcome, ProcessEvent

StoppedAs = Literal["cancelled", "early"]


class RunStopped(Exception):  # noqa: N818 - no error: what was asked for
    """Ends a run that was asked to stop; it never leaves the run."""


class Control:
    """What was asked of a run, by its own event loop or by another thread.

    Attributes:
        stopped: How it is to end. `None`: by itself.
        reason: Why; of the first request only.
        waiting: Whether the run stands between two steps until it is resumed.
        listeners: Told what happens in the run, and in those inside it.
    """

    def __init__(self) -> None:
        import asyncio
        import threading

        self._loop = _running_loop()
        self._asking = threading.Lock()
        self.stopped: StoppedAs | None = None
        self.reason = ""
        self.waiting = False
        self.listeners: list[Callable[[ProcessEvent], None]] = []
        self._go = asyncio.Event()
        self._go.set()
        self._call: asyncio.Future[Any] | None = None

    def pause(self) -> None:
        """Hold the run at the next border between two steps."""
        self._there(self._go.clear)

    def resume(self) -> None:
        """Let the run go on."""
        self._there(self._go.set)

    def stop(self, how: StoppedAs, reason: str) -> bool:
        """Ask for the end; a model call in flight is cancelled.

        Returns:
            Whether this was the first request.
        """
        with self._asking:
            if self.stopped is not None:
                return False
            self.stopped, self.reason = how, reason
        self._there(self._wake)
        return True

    def _wake(self) -> None:
        self._go.set()
        if self._call is not None:
            self._call.cancel()

    def _there(self, act: Callable[[], object]) -> None:
        """Act where the run is: its event loop does not see what another thread does."""
        loop = self._loop
        if loop is None or loop is _running_loop():
            act()
            return
        try:
            loop.call_soon_threadsafe(act)
        except RuntimeError:  # the loop has ended, and the run with it
            return

    def require_going(self) -> None:
        """End the run here where that was asked for.

        Raises:
            RunStopped: When it was.
        """
        if self.stopped is not None:
            raise RunStopped

    @property
    def held(self) -> bool:
        """Whether the run is to wait at the next border."""
        return not self._go.is_set()

    async def go(self) -> None:
        """Wait until the run may go on."""
        self.waiting = True
        try:
            await self._go.wait()
        finally:
            self.waiting = False

    async def call(self, made: Any) -> Any:
        """Await a model call that a request to stop cancels.

        Raises:
            RunStopped: When it was cancelled so.
        """
        import asyncio

        self._call = asyncio.ensure_future(made)
        try:
            return await self._call
        except asyncio.CancelledError:
            if self.stopped is not None and self._call.cancelled():
                raise RunStopped from None
            raise
        finally:
            self._call = None


def _running_loop() -> asyncio.AbstractEventLoop | None:
    import asyncio

    try:
        return asyncio.get_running_loop()
    except RuntimeError:
        return None


class RunHandle:
    """A run that was started; `await` it for its outcome.

    Made by `Process.start`. Its methods may be called from any thread.
    """

    def __init__(self, task: asyncio.Task[Outcome], control: Control) -> None:
        self._task = task
        self._control = control

    def __await__(self) -> Generator[Any, None, Outcome]:
        return self._task.__await__()

    @property
    def done(self) -> bool:
        """Whether the run has ended."""
        return self._task.done()

    @property
    def paused(self) -> bool:
        """Whether the run stands between two steps until it is resumed."""
        return self._control.waiting and not self.done

    def events(self) -> AsyncIterator[ProcessEvent]:
        """Stream what happens from now on, sub-processes included, up to the end of the run.

        Call it on the event loop of the run. It never holds the run up, and raises nothing of it:
        await the handle for that.

        Example:
            >>> import asyncio
            >>> from thusfar.models import Scripted
            >>> from thusfar.process import Process, Task
            >>> async def told():
            ...     handle = Process([Task(id="greet")], model=Scripted("Hello.")).start()
            ...     return [type(event).__name__ async for event in handle.events()]
            >>> asyncio.run(told())
            ['StepStarted', 'PromptPlanned', 'StepCommitted']
        """
        import asyncio

        told: asyncio.Queue[ProcessEvent | None] = asyncio.Queue()
        self._control.listeners.append(told.put_nowait)
        self._task.add_done_callback(lambda _: told.put_nowait(None))
        return self._streamed(told)

    async def _streamed(
        self, told: asyncio.Queue[ProcessEvent | None]
    ) -> AsyncIterator[ProcessEvent]:
        try:
            while (event := await told.get()) is not None:
                yield event
        finally:
            self._control.listeners.remove(told.put_nowait)

    def pause(self) -> bool:
        """Hold the run at the next border between two steps, those of sub-processes included.

        State is never seen half-changed.

        Returns:
            Whether the run was still going.
        """
        if self.done:
            return False
        self._control.pause()
        return True

    def resume(self) -> bool:
        """Let a paused run go on.

        Returns:
            Whether it was to be paused.
        """
        was = self._control.held and not self.done
        self._control.resume()
        return was

    def cancel(self, reason: str = "") -> bool:
        """End the run as `cancelled`: a model call in flight is cancelled, its step is dropped.

        Args:
            reason: Why, for the outcome.

        Returns:
            Whether this was the first request to end it, and it was still going.
        """
        return not self.done and self._control.stop("cancelled", reason)

    def finish_early(self, reason: str = "") -> bool:
        """End the run as `early`, with the output as it is by now; otherwise as `cancel`."""
        return not self.done and self._control.stop("early", reason)
