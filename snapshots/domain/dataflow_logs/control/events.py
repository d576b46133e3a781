"""The events that tell what tasks and coordinators do, and where on the axes something stands.

Of most logs these are few: all that processes do with records is left out, but for the first work
of a task after it began, came back, or ended a batch.
"""

from dataclasses import dataclass

from snapshots.domain.dataflow_logs.events import DISCARDED, ProtocolEvent
from snapshots.domain.dataflow_logs.kinds import (
    ALIGN_ABORT,
    ALIGN_END,
    BATCH_COMMIT,
    BATCH_PLAN,
    BLOCK,
    COORDINATOR_KINDS,
    CP_ABORT,
    CP_ACK,
    CP_COMPLETE,
    CP_DECLINE,
    CP_NOTIFIED,
    CP_NOTIFY,
    CP_TRIGGER,
    FINISH,
    JOB_FAIL,
    READ,
    RESTART,
    SNAP_ASYNC,
    TASK_END,
    UNBLOCK,
    WRITE,
)
from snapshots.domain.model.recording import (
    CRASH,
    INTERNAL,
    MARKER_RECEIVE,
    RECEIVE,
    RECORD_STATE,
    RESTORE,
    SEND,
)

RESTORED = "restored"
"""The label of the event with which a restarted task has its state again."""
TASK_TELLING = frozenset(
    (
        CRASH,
        RESTORE,
        RESTART,
        FINISH,
        MARKER_RECEIVE,
        BLOCK,
        UNBLOCK,
        ALIGN_END,
        ALIGN_ABORT,
        RECORD_STATE,
        SNAP_ASYNC,
        CP_ACK,
        CP_DECLINE,
        CP_NOTIFIED,
        TASK_END,
    )
)
TELLING = TASK_TELLING | frozenset((*COORDINATOR_KINDS, BATCH_PLAN, BATCH_COMMIT))
"""The kinds of events that tell what tasks and coordinators do."""
WITH_FIELDS = frozenset(
    (
        CRASH,
        JOB_FAIL,
        RECORD_STATE,
        SNAP_ASYNC,
        ALIGN_END,
        CP_TRIGGER,
        CP_NOTIFY,
        CP_NOTIFIED,
        CP_COMPLETE,
        CP_ABORT,
        CP_DECLINE,
        BATCH_PLAN,
    )
)
"""Those of them whose further fields are needed."""
WORK = frozenset((READ, RECEIVE, WRITE, SEND, INTERNAL))
DOWN_KINDS = frozenset((CRASH, JOB_FAIL))
BACK_KINDS = frozenset((RESTORE, RESTART))


@dataclass(frozen=True, slots=True)
class Place:
    """The place of an event, or of a moment between events, on both axes.

    Attributes:
        at: its instant in the time unit of the recording.
        step: the step of the event at which it stands. None where it stands at no event; on the
            order axis that is at the first event of its process that is not earlier than ``at``.
        latest: a step behind which it does not stand then. None if there is none.
    """

    at: int
    step: int | None
    latest: int | None = None

    @classmethod
    def of(cls, event: ProtocolEvent) -> "Place":
        """Return the place of an event."""
        return cls(event.at, event.step)


def is_coordinator(process: str) -> bool:
    """Tell whether a process is a coordinator, or the driver of a query, and no task."""
    return process.startswith("coordinator")


def is_work(event: ProtocolEvent) -> bool:
    """Tell whether a task works on records with an event, and does not only come back with it."""
    if event.kind not in WORK or event.label in (DISCARDED, RESTORED):
        return False
    return not event.is_so("restored")


def tells(event: ProtocolEvent) -> bool:
    """Tell whether an event tells what its process does."""
    return event.kind in TELLING or is_work(event)
