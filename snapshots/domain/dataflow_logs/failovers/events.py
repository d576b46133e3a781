"""The failures of a run, found in its log: what failed, who went down, and who came back."""

from collections.abc import Iterable
from dataclasses import dataclass, field

from snapshots.domain.dataflow_logs.events import Plan, ProtocolEvent
from snapshots.domain.dataflow_logs.kinds import JOB_FAIL, RESTART
from snapshots.domain.model.recording import CRASH, RESTORE
from snapshots.domain.model.topology import ProcessId


@dataclass
class Failed:
    """event: ``crash`` or ``job_fail``. scope: who went down. back: of each of these that came back
    its ``restore`` or ``restart``. overtaken_by: a later failure that took down again what had not
    come back, and restarts it in its own name."""

    event: ProtocolEvent
    scope: tuple[ProcessId, ...]
    back: dict[ProcessId, ProtocolEvent] = field(default_factory=dict)
    overtaken_by: "Failed | None" = None

    @property
    def process(self) -> ProcessId | None:
        """None where the job failed as a whole."""
        return self.event.process if self.event.kind == CRASH else None

    @property
    def snapshot(self) -> str | None:
        """The checkpoint that it went back to; None where there was none."""
        named = (event.snapshot for event in self.back.values() if event.kind == RESTORE)
        return next(named, None)

    @property
    def restarted(self) -> ProtocolEvent | None:
        """The first that came back."""
        return min(self.back.values(), key=lambda event: event.step, default=None)


def failures_of(events: Iterable[ProtocolEvent], plan: Plan) -> tuple[Failed, ...]:
    """events: of the run, in order. A job that fails while its tasks are down fails no more."""
    found: list[Failed] = []
    down: dict[ProcessId, Failed] = {}
    for event in events:
        if event.kind == CRASH:
            scope = event.names("scope") or (event.process,)
        elif event.kind == JOB_FAIL and not _any_down(scope_of(event, plan), down):
            scope = scope_of(event, plan)
        else:
            if event.kind in (RESTORE, RESTART) and event.process in down:
                down.pop(event.process).back[event.process] = event
            continue
        found.append(Failed(event, scope))
        for process in scope:
            if process in down:
                down[process].overtaken_by = found[-1]
            down[process] = found[-1]
    return tuple(found)


def scope_of(event: ProtocolEvent, plan: Plan) -> tuple[ProcessId, ...]:
    """Whom a ``job_fail`` takes down: all, unless it says whom."""
    return event.names("scope") or plan.tasks


def _any_down(scope: tuple[ProcessId, ...], down: dict[ProcessId, Failed]) -> bool:
    return any(process in down for process in scope)
