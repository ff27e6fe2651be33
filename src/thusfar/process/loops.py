"""Loops: a model that gives the same answer in the same state goes in a circle.

Source:
    docs/spec/process.md#runs
"""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING, Any

import msgspec

from thusfar.codec import canonical_json
from thusfar.errors import LoopDetectedError
from thusfar.process.answers import Answer, Refused, Skipped

if TYPE_CHECKING:
    from thusfar.process.definition import Process

_MARK_CHARS = 16  # hexadecimal digits; an accident needs billions of answers


class LoopCheck:
    """Compares the answers of one step with those of the steps before.

    Args:
        process: The process; looked at only where its limits have a `loop_threshold`.

    Attributes:
        mark: Digest of the newest answer with its task and the state.
    """

    def __init__(self, process: Process) -> None:
        self.mark = ""
        self._process = process
        self._told = False

    def checked(self, task_id: str, answer: Answer, *, can_retry: bool) -> Answer:
        """Refuse an answer that goes in a circle, the first time.

        Args:
            task_id: The task.
            answer: What it would do next.
            can_retry: Whether the model can be asked again.

        Raises:
            LoopDetectedError: `LOOP_DETECTED`, when it was refused before in this step, or cannot
                be asked again.
        """
        process, most = self._process, self._process.limits.loop_threshold
        if most is None or isinstance(answer, Refused | Skipped):
            return answer
        self.mark = _mark(task_id, process.state.values_only, msgspec.to_builtins(answer))
        if process.position.seen.count(self.mark) < most:
            return answer
        if self._told or not can_retry:
            raise LoopDetectedError(
                f"A model gave the task {task_id} the same answer in the same state more than "
                f"{most:,} times.",
                fix="Read process.history to see the circle, and let the state or the prompt show "
                "what was tried; or raise loop_threshold.",
                task_id=task_id,
                loop_threshold=most,
            )
        self._told = True
        return Refused(errors=(f"You gave this answer {most} times and nothing came of it.",))


def _mark(task_id: str, state: dict[str, Any], answer: Any) -> str:
    return hashlib.sha256(canonical_json([task_id, state, answer])).hexdigest()[:_MARK_CHARS]
