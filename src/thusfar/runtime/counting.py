"""Counting: a request counted by its provider, before it is sent.

Source:
    docs/spec/generate.md#warnings
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from thusfar.dialects import Dialect
from thusfar.dialects.placement import place
from thusfar.errors import OptionsError, ProviderError
from thusfar.models.arguments import call_arguments
from thusfar.planner.questions import UNPREPARED, CountRequest
from thusfar.planner.sealing import Assembled
from thusfar.runtime.crossing import crossed


@dataclass(frozen=True, slots=True)
class ProviderCount:
    """The counter of a model's provider. Without one, and where it fails, nothing is counted.

    Attributes:
        model: The model, which fulfils the port.
    """

    model: Any

    def ask(self, wanted: CountRequest, dialect: Dialect, wire: Dialect) -> Any:
        """Count a request; `UNPREPARED` where the provider does not.

        Args:
            wanted: The pieces of the request.
            dialect: What its messages are in.
            wire: The format that is sent.
        """
        try:
            counted = self.model.count_tokens_sync(self._arguments(wanted, dialect, wire))
        except ProviderError:
            return UNPREPARED
        return UNPREPARED if counted is None else counted

    async def aask(self, wanted: CountRequest, dialect: Dialect, wire: Dialect) -> Any:
        """Count a request without blocking the event loop; see `ask`."""
        try:
            counted = await self.model.count_tokens(self._arguments(wanted, dialect, wire))
        except ProviderError:
            return UNPREPARED
        return UNPREPARED if counted is None else counted

    def _arguments(self, wanted: CountRequest, dialect: Dialect, wire: Dialect) -> dict[str, Any]:
        messages = list(wanted.messages)
        if wire is not dialect:
            messages = crossed(messages, dialect, wire, leave_out=True).messages
        name = self.model.name
        placed = place(wire, messages, system=wanted.system, tools=wanted.tools, model=name)
        request = Assembled(
            messages=placed.messages,
            system=placed.system,
            tools=placed.tools or (),
            schema=wanted.schema,
        )
        return call_arguments(request, wire, model=name, max_output_tokens=None)


def sync_count(counted: Any) -> Any:
    """Refuse the answer of an async counter in code without an event loop.

    Raises:
        OptionsError: `INVALID_OPTIONS`, for something that would have to be awaited.
    """
    if not hasattr(counted, "__await__"):
        return counted
    if hasattr(counted, "close"):
        counted.close()
    raise OptionsError(
        "An async counter was asked in code without an event loop.",
        fix="Pass a sync function as count_tokens=, or use the async form of the call.",
        option="count_tokens",
    )
