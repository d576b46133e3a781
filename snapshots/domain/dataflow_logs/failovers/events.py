"""Finds the failures of a run in its log: what failed, who went down, and who came back."""

from collections.abc import Iterable
from dataclasses import dataclass, field

from snapshots.domain.dataflow_logs.events import Plan, ProtocolEvent
from snapshots.domain.dataflow_logs.kinds import JOB_FAIL, RESTART
from snapshots.domain.model.recording import CRASH, RESTORE
from snapshots.domain.model.topology import ProcessId


@dataclass
class Failed:
    """A failure and the tasks that it took down.

    Attributes:
        event: the ``crash`` or ``job_fail``.
        scope: the tasks that went down.
        back: the ``restore`` or ``restart`` of each of these tasks that came back.
        overtaken_by: a later failure that took down tasks which had not come back, and restarts
            them itself.
    """

    event: ProtocolEvent
    scope: tuple[ProcessId, ...]
    back: dict[ProcessId, ProtocolEvent] = field(default_factory=dict)
    overtaken_by: "Failed | None" = None

    @property
    def process(self) -> ProcessId | None:
        """The process that crashed, or None if the job failed as a whole."""
        return self.event.process if self.event.kind == CRASH else None

    @property
    def snapshot(self) -> str | None:
        """The checkpoint that was restored, or None if there was none."""
        named = (event.snapshot for event in self.back.values() if event.kind == RESTORE)
        return next(named, None)

    @property
    def restarted(self) -> ProtocolEvent | None:
        """The event with which the first task came back, or None if none did."""
        return min(self.back.values(), key=lambda event: event.step, default=None)


def failures_of(events: Iterable[ProtocolEvent], plan: Plan) -> tuple[Failed, ...]:
    """Return the failures among the events of a run, which are in order.

    A ``job_fail`` while tasks of its scope are down is no further failure.
    """
    failures: list[Failed] = []
    down: dict[ProcessId, Failed] = {}
    for event in events:
        if event.kind in (RESTORE, RESTART) and event.process in down:
            down.pop(event.process).back[event.process] = event
        if event.kind not in (CRASH, JOB_FAIL):
            continue
        scope = tuple(map(ProcessId, event.names("scope") or ()))
        if event.kind == CRASH:
            scope = scope or (event.process,)
        else:
            scope = scope or plan.tasks
            if not down.keys().isdisjoint(scope):
                continue
        failure = Failed(event, scope)
        failures.append(failure)
        for process in scope:
            if process in down:
                down[process].overtaken_by = failure
            down[process] = failure
    return tuple(failures)
