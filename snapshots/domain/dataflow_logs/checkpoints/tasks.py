"""The events of one checkpoint, and what each task did for it."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

from snapshots.domain.dataflow_logs.checkpoints.report import (
    DECLINED,
    SUBSUMED,
    Blocked,
    TaskReport,
)
from snapshots.domain.dataflow_logs.events import DISCARDED, Plan, ProtocolEvent, whole
from snapshots.domain.dataflow_logs.failovers.events import Failed, failures_of
from snapshots.domain.dataflow_logs.kinds import (
    ALIGN_END,
    BLOCK,
    CP_ABORT,
    CP_ACK,
    CP_COMPLETE,
    CP_DECLINE,
    CP_NOTIFIED,
    CP_TRIGGER,
    END,
    OVERTAKEN_OUT,
    RESTART,
    SNAP_ASYNC,
    TX_BEGIN,
    TX_COMMIT,
    TX_PRECOMMIT,
    TX_RECOVER_COMMIT,
    UNBLOCK,
)
from snapshots.domain.dataflow_logs.schema_changes import stops_of
from snapshots.domain.model.recording import (
    MARKER_RECEIVE,
    MARKER_SEND,
    RECORD_CHANNEL,
    RECORD_STATE,
    RESTORE,
)
from snapshots.domain.model.topology import ChannelId, ProcessId


@dataclass(frozen=True, slots=True)
class Span:
    """Records of a channel to be counted: those sent after the sender's event ``sent_index``.

    ``until``: the step of the recording before which they were sent; None for the end of the
    recording.
    """

    channel: ChannelId
    sent_index: int
    until: int | None


@dataclass(frozen=True, slots=True)
class Ahead:
    """Records of a channel to be counted: those on it at the sender's event ``sent_index``.

    ``step``: the place of that event in the order of the recording.
    """

    channel: ChannelId
    sent_index: int
    step: int


@dataclass(frozen=True, slots=True)
class Early:
    """Records of a channel to be counted: sent after one event and received before another.

    ``sent_index`` counts the sender's events, ``received_index`` the receiver's.
    """

    channel: ChannelId
    sent_index: int
    received_index: int


Count = Callable[[Sequence[Span | Ahead | Early]], list[int]]
"""Counts the records of each item; a report needs nothing else of records."""


class RunEvents:
    """What a run did beside its checkpoints. ``events``: those of RUN_KINDS, in order."""

    def __init__(self, events: Iterable[ProtocolEvent], plan: Plan) -> None:
        self.plan = plan
        self.events = tuple(events)
        self.failures: tuple[Failed, ...] = failures_of(self.events, plan)
        self.schema_stops = stops_of(self.events, self.failures, plan)
        self.ends: dict[ProcessId, list[ProtocolEvent]] = {}
        self.commits: dict[tuple[ProcessId, str], ProtocolEvent] = {}
        begun = [event for event in self.events if event.kind == TX_BEGIN]
        self._begun_by = {event.text("tx"): event.process for event in begun}
        self._writers = {event.process for event in begun}
        for event in self.events:
            if event.kind in (END, RESTORE, RESTART):
                self.ends.setdefault(event.process, []).append(event)
            elif event.kind in (TX_COMMIT, TX_RECOVER_COMMIT):
                self.commits.setdefault((self.writer(event), event.text("tx") or ""), event)

    def writer(self, event: ProtocolEvent) -> ProcessId:
        """Return the task whose transaction the event is about.

        A committer begins no transactions; its events are about those of writers.
        """
        if event.process in self._writers:
            return event.process
        return self._begun_by.get(event.text("tx"), event.process)

    def ends_at(self, process: ProcessId, index: int) -> list[ProtocolEvent]:
        """Return the ends of channels that the process has taken before an event, in the same
        attempt.
        """
        taken: list[ProtocolEvent] = []
        for event in self.ends.get(process, ()):
            if event.index >= index:
                break
            if event.kind != END:
                taken = []
            elif event.channel is not None:
                taken.append(event)
        return taken

    def end_of(self, process: ProcessId, step: int) -> ProtocolEvent | None:
        """Return the last event before ``step`` with which the process had read all its input."""
        events = self.ends.get(process, ())
        ended = [e for e in events if e.kind == END and e.channel is None and e.step < step]
        return ended[-1] if ended else None

    def failure_after(self, process: ProcessId, step: int) -> ProtocolEvent | None:
        """Return the first event after ``step`` that took the process down."""
        down = (item.event for item in self.failures if process in item.scope)
        return next((event for event in down if event.step > step), None)


class CheckpointEvents:
    """The events of one checkpoint, by process and kind. ``events`` are in order."""

    def __init__(self, name: str, events: list[ProtocolEvent], run: RunEvents) -> None:
        self.name = name
        self.run = run
        self.plan = run.plan
        self.all = events
        self.trigger = self._first(CP_TRIGGER)
        self.complete = self._first(CP_COMPLETE)
        self.abort = self._first(CP_ABORT)
        self.decline = self._first(CP_DECLINE)
        self.at: dict[tuple[ProcessId, str], list[ProtocolEvent]] = {}
        for event in events:
            self.at.setdefault((event.process, event.kind), []).append(event)
        self.sent = {e.channel: e for e in reversed(events) if e.kind == MARKER_SEND}

    def _first(self, kind: str) -> ProtocolEvent | None:
        return next((event for event in self.all if event.kind == kind), None)

    def first(self, process: ProcessId, kind: str) -> ProtocolEvent | None:
        """Return the first event of this kind at a task, or None."""
        return next(iter(self.at.get((process, kind), ())), None)

    @property
    def end(self) -> ProtocolEvent | None:
        """Return the event that completed or aborted the checkpoint, or None."""
        return self.complete or self.abort

    @property
    def was_declined(self) -> bool:
        """Tell whether a task's refusal ended the checkpoint.

        One may come when it is over already.
        """
        if self.decline is None:
            return False
        if self.abort is None:
            return True
        reason = self.abort.text("reason")
        return self.decline.step < self.abort.step and reason in (DECLINED, SUBSUMED, None)

    @property
    def is_derived(self) -> bool:
        """Tell whether the events were made of statistics, which lack tasks that did not
        acknowledge.
        """
        return self.trigger is not None and self.trigger.is_so("derived")

    def busy(self, process: ProcessId) -> tuple[int, str] | None:
        """Return until when the process copied its state for an earlier checkpoint, and for which.

        Meanwhile it handles no barrier. None if the log does not say that it was busy.
        """
        if self.trigger is None:
            return None
        busy = self.trigger.fields.get("busy")
        fields = busy.get(process) if isinstance(busy, dict) else None
        if not isinstance(fields, dict):
            return None
        until, earlier = whole(fields.get("until")), fields.get("checkpoint")
        if until is None or until <= self.trigger.at or not isinstance(earlier, str):
            return None
        return until, earlier

    @cached_property
    def triggered(self) -> frozenset[ProcessId]:
        """The tasks to which the coordinator sent its trigger."""
        names = self.trigger.names("to_trigger") if self.trigger else None
        return frozenset(map(ProcessId, names or ()))

    @cached_property
    def tasks(self) -> tuple[ProcessId, ...]:
        """The tasks that had to acknowledge.

        If the log does not name them, they are those that did something for the checkpoint.
        """
        expected = self.trigger.names("to_ack") if self.trigger else None
        if expected is not None:
            processes = self.plan.topology.process_by_id
            return tuple(ProcessId(name) for name in dict.fromkeys(expected) if name in processes)
        active = {event.process for event in self.all if not event.is_so("finished")}
        return tuple(name for name in self.plan.tasks if name in active)

    def record(self, process: ProcessId) -> ProtocolEvent | None:
        """Return the event with which a task recorded its state, or None."""
        return self.first(process, RECORD_STATE)

    def arrivals(self, process: ProcessId) -> list[ProtocolEvent]:
        """Return the barriers that the task handled, without those that stand for an end of a
        channel.
        """
        return [
            event
            for event in self.at.get((process, MARKER_RECEIVE), ())
            if event.label != DISCARDED and not event.is_so("end")
        ]

    def first_barrier(self, process: ProcessId) -> int | None:
        """Return when the first barrier was handled; if ends stood for all, when the last was."""
        arrivals = self.arrivals(process)
        last = self.last_barrier(process)
        aligned = self.first(process, ALIGN_END)
        noted = aligned and aligned.whole("first_barrier")
        first = arrivals[0].at if arrivals else noted
        return last if first is None or last is None else min(first, last)

    def last_barrier(self, process: ProcessId) -> int | None:
        """Return the time of a task's last barrier, or None if none arrived."""
        aligned = self.first(process, ALIGN_END)
        if aligned is not None:
            return aligned.at
        arrivals = self.arrivals(process)
        return arrivals[-1].at if arrivals else None


def task_reports(checkpoint: CheckpointEvents, count: Count) -> list[TaskReport]:
    """Report on every task of a checkpoint and on what its blocked channels held back."""
    reports = [_task_report(checkpoint, process) for process in checkpoint.tasks]
    spans = [_spans(checkpoint, process) for process in checkpoint.tasks]
    counted = [span for pairs in spans for _, span in pairs if span is not None]
    numbers = iter(count(counted))
    return [
        replace(
            report,
            blocked=tuple(
                item if span is None else replace(item, held_back=next(numbers))
                for item, span in pairs
            ),
        )
        for report, pairs in zip(reports, spans, strict=True)
    ]


def _task_report(checkpoint: CheckpointEvents, process: ProcessId) -> TaskReport:
    record = checkpoint.record(process)
    upload = checkpoint.first(process, SNAP_ASYNC)
    ack = checkpoint.first(process, CP_ACK)
    first, last = checkpoint.first_barrier(process), checkpoint.last_barrier(process)
    aligned = checkpoint.first(process, ALIGN_END)
    copied_at = None if record is None or record.is_inferred("at") else record.at
    began = copied_at if first is None else first
    triggered = checkpoint.trigger and checkpoint.trigger.at
    new, total = sizes(ack, upload)
    busy_until, busy_with = checkpoint.busy(process) or (None, None)
    return TaskReport(
        process=process,
        vertex=checkpoint.plan.vertex_of(process),
        mode=record and record.text("mode"),
        first_barrier_at=first,
        last_barrier_at=last,
        start_delay=_between(triggered, began),
        alignment=None if aligned is None else _between(first, last),
        sync_from=copied_at,
        sync_to=sync_end(record, upload),
        async_to=upload and upload.at,
        acked_at=ack and ack.at,
        notified_at=_notified(checkpoint, process),
        committed_at=_committed(checkpoint, process),
        bytes_new=new,
        bytes_total=total,
        overtaken=_sum(e.whole("count") for e in checkpoint.at.get((process, OVERTAKEN_OUT), ())),
        in_flight=_sum(e.held for e in checkpoint.at.get((process, RECORD_CHANNEL), ())),
        busy_until=busy_until,
        busy_with=busy_with,
        watermark=record and record.whole("watermark"),
        has_ended=record is not None and record.text("watermark") == "end",
    )


def _between(start: int | None, end: int | None) -> int | None:
    return None if start is None or end is None else end - start


def sync_end(record: ProtocolEvent | None, upload: ProtocolEvent | None) -> int | None:
    """Return when the state had been copied, or None if the log does not say."""
    if record is None:
        return None
    sync = record.whole("sync")
    if sync is not None and sync >= 0:
        return record.at + sync
    return upload and upload.whole("start")


def handles(ack: ProtocolEvent | None) -> list[dict[str, Any]] | None:
    """Return the files that an acknowledgement names, each with its name and size."""
    files = ack and ack.fields.get("handles")
    if not isinstance(files, list):
        return None
    return [
        file
        for file in files
        if isinstance(file, dict)
        and isinstance(file.get("file"), str)
        and whole(file.get("bytes")) is not None
    ]


def sizes(ack: ProtocolEvent | None, upload: ProtocolEvent | None) -> tuple[int | None, int | None]:
    """Return the bytes uploaded, and the bytes in all, by the files that were acknowledged."""
    files = handles(ack)
    if files is None:
        return (None, None) if upload is None else (upload.whole("bytes"), upload.whole("total"))
    new = (file["bytes"] for file in files if file.get("shared") is not True)
    return sum(new), sum(file["bytes"] for file in files)


def _notified(checkpoint: CheckpointEvents, process: ProcessId) -> int | None:
    notifications = checkpoint.at.get((process, CP_NOTIFIED), ())
    return next((event.at for event in notifications if event.text("what") == "complete"), None)


def _committed(checkpoint: CheckpointEvents, process: ProcessId) -> int | None:
    """Return when the last transaction was committed that the checkpoint had pre-committed."""
    commits = (
        checkpoint.run.commits.get((process, event.text("tx") or ""))
        for event in checkpoint.at.get((process, TX_PRECOMMIT), ())
    )
    return max((event.at for event in commits if event is not None), default=None)


def _sum(numbers: Iterable[int | None]) -> int:
    return sum(number or 0 for number in numbers)


def _spans(checkpoint: CheckpointEvents, process: ProcessId) -> list[tuple[Blocked, Span | None]]:
    """Return the times in which inputs were blocked, each with the records that it held back."""
    unblocks = checkpoint.at.get((process, UNBLOCK), ())
    spans = []
    for block in checkpoint.at.get((process, BLOCK), ()):
        if block.channel is None:
            continue  # only a damaged log leaves it out
        later = (e for e in unblocks if e.channel == block.channel and e.index > block.index)
        opened = next(later, None)
        ends = [opened, checkpoint.run.failure_after(process, block.step)]
        end = min((e for e in ends if e is not None), key=lambda e: e.step, default=None)
        sent = checkpoint.sent.get(block.channel)
        span = sent and Span(block.channel, sent.index, end and end.step)
        buffered = opened.whole("buffered") if opened is not None and end is opened else None
        item = Blocked(block.channel, block.at, end and end.at, None, buffered)
        spans.append((item, span))
    return spans
