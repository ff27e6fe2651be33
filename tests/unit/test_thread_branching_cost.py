"""What a branch costs depends on what it leaves, not on how often its path was branched."""

from __future__ import annotations

from collections.abc import Generator
from typing import Any

from thusfar.storage import MemoryStore
from thusfar.testing.store_laws.told import assistant, sound, thread, user


class _Counting(MemoryStore):
    """A store that counts what it is asked."""

    asked = 0

    def run(self, steps: Generator[Any, Any, Any]) -> Any:
        return super().run(self._counted(steps))

    def _counted(self, steps: Generator[Any, Any, Any]) -> Generator[Any, Any, Any]:
        answer = None
        while True:
            try:
                question = steps.send(answer)
            except StopIteration as done:
                return done.value
            self.asked += 1
            answer = yield question


def test_another_answer_costs_the_same_however_often_the_path_was_branched() -> None:
    store = _Counting()
    told = thread(store)
    told.append(user("u0"))
    costs = []
    for i in range(60):
        told.append(user(f"u{i + 1}"))
        told.append(assistant(f"a{i + 1}"))
        store.asked = 0
        told.regenerate(f"u{i + 1}", assistant(f"b{i + 1}"))
        costs.append(store.asked)

    assert costs[-1] == costs[5]
    assert told.select("a60").head == "a60"
    assert told.select("b60").head == "b60"
    assert told.select("a3").head == "a3"
    assert told.select("b3").head == "b60"
    sound(told)
