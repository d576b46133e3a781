"""One checkpoint as its events tell it, and what each task did for it."""

from collections.abc import Callable, Iterable
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
    """Records of a channel to be counted: sent after the sender's event ``sent_index``, and before
    the event ``until`` in the order of the recording (None: up to its end)."""

    channel: ChannelId
    sent_index: int
    until: int | None


@dataclass(frozen=True, slots=True)
class Ahead:
    """Records of a channel to be counted: those that lie on it when its sender comes to its event
    ``sent_index``, which is ``step`` in the order of the recording."""

    channel: ChannelId
    sent_index: int
    step: int


@dataclass(frozen=True, slots=True)
class Early:
    """Records of a channel to be counted: sent after the sender's event ``sent_index``, received
    before the receiver's event ``received_index``."""

    channel: ChannelId
    sent_index: int
    received_index: int


Count = Callable[[list[Span | Ahead | Early]], list[int]]
"""Counts records: all that a report needs of them."""


class RunEvents:
    """What the run did beside its checkpoints. events: RUN_KINDS, in order."""

    def __init__(self, events: Iterable[ProtocolEvent], plan: Plan) -> None:
        self.plan = plan
        self.events = tuple(events)
        self.failures: tuple[Failed, ...] = failures_of(self.events, plan)
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
        """Whose transaction the event is about. A committer begins none and speaks for others."""
        if event.process in self._writers:
            return event.process
        return self._begun_by.get(event.text("tx"), event.process)

    def ends_at(self, process: ProcessId, index: int) -> list[ProtocolEvent]:
        """The ends that the process has taken from its channels, in the attempt of this event."""
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
        """The last time before ``step`` that the process had read all its input."""
        own = self.ends.get(process, ())
        ended = [e for e in own if e.kind == END and e.channel is None and e.step < step]
        return ended[-1] if ended else None

    def failure_after(self, process: ProcessId, step: int) -> ProtocolEvent | None:
        """What took the process down, first after ``step``."""
        down = (item.event for item in self.failures if process in item.scope)
        return next((event for event in down if event.step > step), None)


class CheckpointEvents:
    """The events of one checkpoint, by what they are. events: in order."""

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
        """Whether a task's refusal was what ended it; one may come when it is over already."""
        if self.decline is None:
            return False
        if self.abort is None:
            return True
        reason = self.abort.text("reason")
        return self.decline.step < self.abort.step and reason in (DECLINED, SUBSUMED, None)

    @property
    def is_derived(self) -> bool:
        """Whether the events were made of statistics, which know the acknowledged tasks only."""
        return self.trigger is not None and self.trigger.is_so("derived")

    def busy(self, process: ProcessId) -> tuple[int, str] | None:
        """Until when the process was copying its state for an earlier checkpoint, and for which:
        meanwhile it takes up no barrier. None where the log does not say that it was."""
        told = self.trigger and self.trigger.fields.get("busy")
        own = told.get(process) if isinstance(told, dict) else None
        if not isinstance(own, dict):
            return None
        until, earlier = whole(own.get("until")), own.get("checkpoint")
        if until is None or until <= self.trigger.at or not isinstance(earlier, str):
            return None
        return until, earlier

    @cached_property
    def triggered(self) -> frozenset[ProcessId]:
        """The tasks to which the coordinator's word went."""
        return frozenset((self.trigger.names("to_trigger") if self.trigger else None) or ())

    @cached_property
    def tasks(self) -> tuple[ProcessId, ...]:
        """Those that were asked for an acknowledgement; where the log does not say who was, those
        that did something for the checkpoint."""
        asked = self.trigger.names("to_ack") if self.trigger else None
        known = self.plan.topology.process_by_id
        if asked is not None:
            return tuple(dict.fromkeys(name for name in asked if name in known))
        active = {event.process for event in self.all if not event.is_so("finished")}
        return tuple(name for name in self.plan.tasks if name in active)

    def record(self, process: ProcessId) -> ProtocolEvent | None:
        """Return the event with which a task recorded its state, or None."""
        return self.first(process, RECORD_STATE)

    def arrivals(self, process: ProcessId) -> list[ProtocolEvent]:
        """The barriers that it handled; not those that stand for an end, which has counted."""
        return [
            event
            for event in self.at.get((process, MARKER_RECEIVE), ())
            if event.label != DISCARDED and not event.is_so("end")
        ]

    def first_barrier(self, process: ProcessId) -> int | None:
        """When the first barrier was handled, or, where ends stood for all, the last of them."""
        arrivals = self.arrivals(process)
        last = self.last_barrier(process)
        aligned = self.first(process, ALIGN_END)
        told = aligned and aligned.whole("first_barrier")
        first = arrivals[0].at if arrivals else told
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
    known = [span for own in spans for _, span in own if span is not None]
    numbers = iter(count(known))
    return [
        replace(
            report,
            blocked=tuple(
                item if span is None else replace(item, held_back=next(numbers))
                for item, span in own
            ),
        )
        for report, own in zip(reports, spans, strict=True)
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
        start_delay=None if None in (began, triggered) else began - triggered,
        alignment=None if aligned is None or first is None else last - first,
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
    )


def sync_end(record: ProtocolEvent | None, upload: ProtocolEvent | None) -> int | None:
    """When the state had been copied."""
    if record is None:
        return None
    sync = record.whole("sync")
    if sync is not None and sync >= 0:
        return record.at + sync
    return upload and upload.whole("start")


def handles(ack: ProtocolEvent | None) -> list[dict[str, Any]] | None:
    """The files that an acknowledgement names, each with its name and size."""
    named = ack and ack.fields.get("handles")
    if not isinstance(named, list):
        return None
    return [
        item
        for item in named
        if isinstance(item, dict)
        and isinstance(item.get("file"), str)
        and whole(item.get("bytes")) is not None
    ]


def sizes(ack: ProtocolEvent | None, upload: ProtocolEvent | None) -> tuple[int | None, int | None]:
    """Bytes uploaded, and bytes in all, by the files that were acknowledged."""
    named = handles(ack)
    if named is None:
        return (None, None) if upload is None else (upload.whole("bytes"), upload.whole("total"))
    new = (item["bytes"] for item in named if item.get("shared") is not True)
    return sum(new), sum(item["bytes"] for item in named)


def _notified(checkpoint: CheckpointEvents, process: ProcessId) -> int | None:
    told = checkpoint.at.get((process, CP_NOTIFIED), ())
    return next((event.at for event in told if event.text("what") == "complete"), None)


def _committed(checkpoint: CheckpointEvents, process: ProcessId) -> int | None:
    """When what it had pre-committed with this checkpoint was visible, with whichever word."""
    commits = (
        checkpoint.run.commits.get((process, event.text("tx") or ""))
        for event in checkpoint.at.get((process, TX_PRECOMMIT), ())
    )
    return max((event.at for event in commits if event is not None), default=None)


def _sum(numbers: Iterable[int | None]) -> int:
    return sum(number or 0 for number in numbers)


def _spans(checkpoint: CheckpointEvents, process: ProcessId) -> list[tuple[Blocked, Span | None]]:
    """The times in which inputs were blocked, each with the records that it held back."""
    opened = checkpoint.at.get((process, UNBLOCK), ())
    found = []
    for block in checkpoint.at.get((process, BLOCK), ()):
        own = (e for e in opened if e.channel == block.channel and e.index > block.index)
        ends = [next(own, None), checkpoint.run.failure_after(process, block.step)]
        end = min((e for e in ends if e is not None), key=lambda e: e.step, default=None)
        sent = checkpoint.sent.get(block.channel)
        span = sent and Span(block.channel, sent.index, end and end.step)
        found.append((Blocked(block.channel, block.at, end and end.at, None), span))
    return found
