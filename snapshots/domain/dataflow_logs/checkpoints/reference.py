"""Analyses the checkpoints of a dataflow from its log, record by record: the reference.

`report` needs a checkpoint's events and counts of records. Here the records are counted one by one;
the Spark job counts them by search. Fields have the names of Flink's checkpoint statistics where
they mean the same. Source: docs/formats/protocols.md, "2. Flink" and "6. What is recomputed from
what".
"""

from collections.abc import Iterable, Sequence
from dataclasses import replace

from snapshots.domain.dataflow_logs.checkpoints.files import (
    Decision,
    FileReport,
    acknowledged,
    decisions_of,
    files_of,
)
from snapshots.domain.dataflow_logs.checkpoints.paths import critical_path
from snapshots.domain.dataflow_logs.checkpoints.report import (
    ABORTED,
    COMMIT,
    COMPLETED,
    DECLINED,
    EXPIRED,
    PENDING,
    SUBSUMED,
    CheckpointReport,
    Segment,
    TaskReport,
)
from snapshots.domain.dataflow_logs.checkpoints.schema_points import schema_point
from snapshots.domain.dataflow_logs.checkpoints.sentences import sentence
from snapshots.domain.dataflow_logs.checkpoints.tasks import (
    Ahead,
    CheckpointEvents,
    Count,
    Early,
    RunEvents,
    Span,
    task_reports,
)
from snapshots.domain.dataflow_logs.events import (
    CHECKPOINT_KINDS,
    RUN_KINDS,
    Plan,
    ProtocolEvent,
    by_checkpoint,
    dataflow_of,
)
from snapshots.domain.model.derived import is_derived
from snapshots.domain.model.recording import Event, Message, Recording
from snapshots.domain.simulators.protocols.flink_task import TIMEOUT

_STATUSES_BY_REASON = (EXPIRED, DECLINED, SUBSUMED)


def checkpoints(recording: Recording) -> tuple[CheckpointReport, ...]:
    """Report on every checkpoint that the log names, in the order of their first events."""
    run = run_of(recording)
    records = Records(recording)
    return tuple(
        report(CheckpointEvents(name, events, run), records.count)
        for name, events in checkpoint_events(recording).items()
    )


def files(recording: Recording) -> tuple[FileReport, ...]:
    """Report on every file that an acknowledgement names, and which checkpoints need it."""
    by_checkpoint = checkpoint_events(recording).items()
    return files_of(item for name, events in by_checkpoint for item in acknowledged(name, events))


def decisions(recording: Recording) -> tuple[Decision, ...]:
    """Report what became of every request for a checkpoint."""
    return decisions_of(protocol_events(recording, RUN_KINDS))


def plan_of(recording: Recording) -> Plan:
    """Return what the recording's header says of the dataflow."""
    extra = recording.header_extra
    return Plan(
        recording.topology,
        dataflow_of(extra),
        recording.time_unit,
        is_derived(extra),
        extra.get("started_from"),
    )


def run_of(recording: Recording) -> RunEvents:
    """Collect the events of a recording that belong to checkpoints and failures."""
    return RunEvents(protocol_events(recording, RUN_KINDS), plan_of(recording))


def checkpoint_events(recording: Recording) -> dict[str, list[ProtocolEvent]]:
    """Return the events of each checkpoint, in order."""
    return by_checkpoint(protocol_events(recording, CHECKPOINT_KINDS))


def protocol_events(recording: Recording, kinds: Iterable[str]) -> list[ProtocolEvent]:
    """Return the events of these kinds in the order of the recording."""
    wanted = frozenset(kinds)
    events = [
        ProtocolEvent.of(event)
        for of_process in recording.events.values()
        for event in of_process
        if event.kind in wanted
    ]
    return sorted(events, key=lambda event: event.step)


class Records:
    """Counts the messages of a recording one by one."""

    def __init__(self, recording: Recording) -> None:
        self.recording = recording

    def count(self, items: Sequence[Span | Ahead | Early]) -> list[int]:
        """Count the records of each item one by one."""
        return [self._count(item) for item in items]

    def _count(self, item: Span | Ahead | Early) -> int:
        channel = self.recording.topology.channel_by_id[item.channel]
        sender, receiver = (self.recording.events[end] for end in (channel.source, channel.target))
        messages = self.recording.messages.get(channel.id, ())
        if isinstance(item, Span):
            return sum(
                message.sent_index > item.sent_index
                and (item.until is None or sender[message.sent_index].step < item.until)
                for message in messages
            )
        if isinstance(item, Early):
            return sum(
                message.sent_index > item.sent_index
                and message.received_index is not None
                and message.received_index < item.received_index
                for message in messages
            )
        return sum(
            message.sent_index < item.sent_index
            and not _received_before(message, receiver, item.step)
            for message in messages
        )


def _received_before(message: Message, receiver: Sequence[Event], step: int) -> bool:
    index = message.received_index
    return index is not None and receiver[index].step < step


def report(checkpoint: CheckpointEvents, count: Count) -> CheckpointReport:
    """Report on one checkpoint, with the records counted by ``count``."""
    tasks = task_reports(checkpoint, count)
    path = critical_path(checkpoint, tasks, count)
    status, reason = _fate(checkpoint)
    trigger, complete, end = checkpoint.trigger, checkpoint.complete, checkpoint.end
    duration = None if trigger is None or end is None else end.at - trigger.at
    mode = trigger and trigger.text("mode")
    return CheckpointReport(
        checkpoint=checkpoint.name,
        pipeline=_pipeline(trigger or end),
        kind=trigger and trigger.text("type"),
        mode="timeout" if mode == TIMEOUT else mode,
        status=status,
        reason=reason,
        triggered_at=trigger and trigger.at,
        completed_at=complete and complete.at,
        ended_at=end and end.at,
        duration=duration,
        bytes_new=_sum_known(task.bytes_new for task in tasks),
        bytes_total=_sum_known(task.bytes_total for task in tasks),
        tasks=_worst_first(tasks, path),
        critical_path=path,
        sentence=sentence(checkpoint, status, duration, path),
        why_no_mode=trigger and trigger.text("why_no_mode"),
        schema_point=schema_point(checkpoint),
    )


def _fate(checkpoint: CheckpointEvents) -> tuple[str, str | None]:
    """Return status and reason."""
    if checkpoint.complete is not None:
        return COMPLETED, None
    if checkpoint.abort is None:
        return PENDING, None
    reason = checkpoint.abort.text("reason")
    return reason if reason in _STATUSES_BY_REASON else ABORTED, reason


def _pipeline(event: ProtocolEvent | None) -> str | None:
    """Return ``2`` for ``coordinator 2``, unless the event names the pipeline itself.

    In a derived recording the number of a coordinator may be that of a run of the job instead.
    """
    if event is None:
        return None
    number = "" if event.is_so("derived") else event.process.partition("coordinator ")[2]
    logged = event.whole("pipeline")
    return event.text("pipeline") or (number if logged is None else str(logged)) or None


def _worst_first(tasks: list[TaskReport], path: tuple[Segment, ...]) -> tuple[TaskReport, ...]:
    """Sort tasks by their shares of the critical path, then by how late they acknowledged."""
    shares: dict[str, int] = {}
    for segment in path:
        if segment.phase != COMMIT:
            shares[segment.process] = shares.get(segment.process, 0) + segment.length
    with_shares = (replace(task, held_up=shares.get(task.process, 0)) for task in tasks)
    return tuple(
        sorted(with_shares, key=lambda t: (-t.held_up, t.acked_at is not None, -(t.acked_at or 0)))
    )


def _sum_known(numbers: Iterable[int | None]) -> int | None:
    known = [number for number in numbers if number is not None]
    return sum(known) if known else None
