"""The driver of a simulated continuous query: carries out what it decides, and logs it.

The decisions are the step functions in `protocols/continuous_driver.py`.
"""

from snapshots.domain.dataflow_logs.dataflow import SINK, SOURCE
from snapshots.domain.dataflow_logs.kinds import (
    CP_COMPLETE,
    CP_STORED,
    CP_TRIGGER,
    EPOCH,
    FINISH,
    SINK_WRITE,
)
from snapshots.domain.model.topology import ProcessId
from snapshots.domain.simulators.continuous.markers import Report
from snapshots.domain.simulators.continuous.tasks import ContinuousMachine, ContinuousTask
from snapshots.domain.simulators.dataflows.coordinator import CoordinatorProcess
from snapshots.domain.simulators.protocols import continuous_driver
from snapshots.domain.simulators.protocols.continuous_driver import (
    CommitEpoch,
    EndEpoch,
    LogOffsets,
)

DRIVER = ProcessId("coordinator")
FAILOVER = "failover"


class Driver(CoordinatorProcess):
    """The driver's state and its events.

    Attributes:
        restorable: the newest committed epoch. None if none is committed.
        open: the epochs that have ended, and are neither committed nor given up.
        has_read_all: whether an epoch of this attempt has ended behind the last record.
    """

    def __init__(self, machine: ContinuousMachine) -> None:
        super().__init__(machine, DRIVER)
        self.settings = machine.plan.epochs
        self.tasks: list[ContinuousTask] = list(machine.tasks.values())
        self.readers = [task for task in self.tasks if task.vertex.kind == SOURCE]
        self.writers = [task for task in self.tasks if task.vertex.kind == SINK]
        readers = frozenset(task.id for task in self.readers)
        writers = frozenset(task.id for task in self.writers)
        self.state: continuous_driver.Driver = continuous_driver.start(readers, writers)
        self.restorable: int | None = None
        self.open: list[int] = []
        self.has_read_all = False
        self.is_done = False

    # --- what happens at the driver --------------------------------------------------------------

    def begin(self) -> None:
        """Run the first trigger at once, as Spark does."""
        self.machine.later(self, 0, self._trigger)

    def _trigger(self) -> None:
        if not self.has_read_all:
            self._act(continuous_driver.on_trigger(self.state))
            self.machine.later(self, self.settings.interval, self._trigger)

    def on_report(self, report: Report) -> None:
        """Take the report of a reader or a writer."""
        epoch, task = report.epoch, report.task.id
        if report.offset is None:
            self._act(continuous_driver.on_written(self.state, task, epoch))
        else:
            self._act(continuous_driver.on_offset(self.state, task, epoch, report.offset))

    def on_restart(self) -> None:
        """Give up what was not committed, and go on under a new number."""
        for epoch in self.open:
            self.abort(epoch, FAILOVER)
        self.open = []
        self.has_read_all = False
        self.alive = True
        self.state = continuous_driver.on_restart(self.state)
        self.begin()

    # --- what the driver decides -----------------------------------------------------------------

    def _act(self, step: continuous_driver.Step) -> None:
        self.state, decisions = step
        for decision in decisions:
            match decision:
                case EndEpoch(epoch):
                    self._log_end(epoch)
                case LogOffsets(epoch):
                    self._log_offsets(decision)
                case CommitEpoch(epoch):
                    self._deliver(epoch)

    def _log_end(self, epoch: int) -> None:
        extra = {
            "type": EPOCH,
            "mode": "aligned",
            "to_trigger": [task.id for task in self.readers],
            "to_ack": [task.id for task in (*self.readers, *self.writers)],
        }
        self.open.append(epoch)
        self.log(CP_TRIGGER, extra, snapshot=str(epoch))
        self.record(epoch)

    def _log_offsets(self, decision: LogOffsets) -> None:
        positions = dict(sorted(decision.offsets.items()))
        self.log(CP_STORED, {"positions": positions}, snapshot=str(decision.epoch))
        if all(positions[task.id] > task.vertex.records for task in self.readers):
            self.has_read_all = True

    def _deliver(self, epoch: int) -> None:
        """Let the sink take over the epoch, before the commit is written."""
        for name in dict.fromkeys(task.vertex.id for task in self.writers):
            self.log(SINK_WRITE, {"sink": name}, snapshot=str(epoch))
        for task in self.writers:
            self.machine.committing.commit(task, epoch)
        self.machine.later(self, self.machine.plan.commit_time, self._commit, epoch)

    def _commit(self, epoch: int) -> None:
        self.complete(epoch, CP_COMPLETE, {})
        self.restorable = epoch
        self.open.remove(epoch)
        self._act(continuous_driver.on_committed(self.state, epoch))
        if self.has_read_all and not self.open:
            self._stop()

    def _stop(self) -> None:
        """Stop the query, whose source holds no more records."""
        self.is_done = self.machine.stopped = True
        for task in self.tasks:
            self.machine.log.add(task.id, FINISH)
