"""The process of a simulated engine that decides on checkpoints or batches."""

from collections.abc import Mapping
from typing import Any

from snapshots.domain.dataflow_logs.kinds import CP_ABORT
from snapshots.domain.model.recording import INTERNAL, RECORD_STATE
from snapshots.domain.model.topology import ProcessId
from snapshots.domain.simulators.dataflows.machine import Machine
from snapshots.domain.simulators.dataflows.tasks import Attempt, Effects, Step, text_of


class CoordinatorProcess(Attempt):
    """A coordinator's events and timer; its state is how many checkpoints are ``completed``."""

    def __init__(self, machine: Machine[Any, Any], process: ProcessId) -> None:
        super().__init__()
        self.machine = machine
        self.process = process
        self.completed = 0
        self._timer = 0

    def log(self, kind: str, extra: Mapping[str, Any] | None = None, **fields: Any) -> None:
        """Log an event of the coordinator now; the arguments are those of ``EventLog.add``."""
        self.machine.log.add(self.process, kind, extra, **fields)

    def record(self, cid: int) -> None:
        """Record the coordinator's part of a checkpoint."""
        self.log(RECORD_STATE, snapshot=str(cid), state=self._state_text)

    def complete(self, cid: int, kind: str, extra: Mapping[str, Any]) -> None:
        """Log and count a complete checkpoint.

        Args:
            cid: the checkpoint.
            kind: of the event that says so.
            extra: the further fields of this event.
        """
        self.completed += 1
        self.machine.counted.completed.append(cid)
        self.log(kind, extra, snapshot=str(cid))
        self.log(INTERNAL, label="completed", state=self._state_text)

    def abort(self, cid: int, reason: str) -> None:
        """Log and count a checkpoint that is off."""
        self.machine.counted.aborted[cid] = reason
        self.log(CP_ABORT, {"reason": reason}, snapshot=str(cid))

    def set_timer(self, delay: int, step: Step) -> None:
        """Plan a step in place of the one that the timer was set for."""
        self._timer += 1
        self.machine.queue.after(delay, self._ring, self._timer, step)

    def _ring(self, timer: int, step: Step) -> Effects | None:
        return step() if timer == self._timer else None

    @property
    def _state_text(self) -> str:
        return text_of({"completed": self.completed})
