"""State: the shared data of a process, with a read-only mirror of its log under `history`."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, MutableMapping
from typing import Any

from thusfar.codec import to_json
from thusfar.errors import InvalidStateError
from thusfar.process.entries import Entry
from thusfar.process.paths import RESERVED, reserved

Mirror = Callable[[], tuple[Entry, ...]]


class State(MutableMapping[str, Any]):
    """The state of a process: JSON values by name.

    `state["history"]` and `state.history` are the newest entries of the log, read-only: a tuple
    of frozen entries that shares nothing with the log.

    Args:
        values: The values at the start; converted to JSON values, and copied.
        mirror: Gives the entries.

    Raises:
        InvalidStateError: `INVALID_STATE`, for what is no mapping, or a value under the reserved
            name.
        TranscriptError: `INVALID_TRANSCRIPT`, for a value that is not JSON.
    """

    __slots__ = ("_mirror", "_values")

    def __init__(self, values: Mapping[str, Any], mirror: Mirror) -> None:
        if not isinstance(values, Mapping):
            raise InvalidStateError(
                f"A state was a {type(values).__name__}.", fix="Pass a mapping of names to values."
            )
        if RESERVED in values:
            raise reserved()
        self._values: dict[str, Any] = to_json(values)
        self._mirror = mirror

    @property
    def history(self) -> tuple[Entry, ...]:
        """The newest entries of the log, read-only."""
        return self._mirror()

    @property
    def values_only(self) -> dict[str, Any]:
        """The values without the mirror; the object that a commit replaces."""
        return self._values

    def copy(self) -> State:
        """Copy it, for a function of the author: what that changes stays with the copy."""
        return State(self._values, self._mirror)

    def replace(self, values: dict[str, Any]) -> None:
        """Put other values in place, all at once; for a commit, which has checked them."""
        self._values = values

    def __getitem__(self, name: str) -> Any:
        return self._mirror() if name == RESERVED else self._values[name]

    def __setitem__(self, name: str, value: Any) -> None:
        if name == RESERVED:
            raise reserved()
        self._values = {**self._values, name: to_json(value)}

    def __delitem__(self, name: str) -> None:
        if name == RESERVED:
            raise reserved()
        self._values = {key: value for key, value in self._values.items() if key != name}

    def __iter__(self) -> Iterator[str]:
        yield from self._values
        yield RESERVED

    def __len__(self) -> int:
        return len(self._values) + 1

    def __repr__(self) -> str:
        return f"State({len(self._values)} values, {len(self._mirror())} entries)"
