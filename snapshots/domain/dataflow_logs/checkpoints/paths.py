"""Finds what set the duration of a checkpoint: for each step the latest event that came before it.

The search goes backwards from the last acknowledgement: the task's upload and copy, then the
barrier that came last (or, unaligned, the one with which it recorded), the task that sent it, and
so on to the trigger. The segments join without gaps. If the checkpoint did not complete, the path
leads to what was still missing at its end. A task that was still copying its state for an earlier
checkpoint handles no barrier before that is done: a barrier that came meanwhile waited for this,
whoever sent it.
"""

from collections.abc import Iterable
from dataclasses import replace
from typing import Any

from snapshots.domain.dataflow_logs.checkpoints.report import (
    ACK,
    ALIGNMENT,
    ASYNC,
    BUSY,
    COMMIT,
    REST,
    SYNC,
    TRAVEL,
    TRIGGER,
    Segment,
    TaskReport,
)
from snapshots.domain.dataflow_logs.checkpoints.tasks import Ahead, CheckpointEvents, Count
from snapshots.domain.dataflow_logs.events import ProtocolEvent
from snapshots.domain.dataflow_logs.kinds import ALIGN_END, ANNOUNCE, CP_ACK, END, SNAP_ASYNC
from snapshots.domain.model.topology import Channel, ChannelId, ProcessId


def critical_path(
    checkpoint: CheckpointEvents, tasks: Iterable[TaskReport], count: Count
) -> tuple[Segment, ...]:
    """Return the segments in the order of time, as far as the log tells.

    ``tasks``: their reports.
    """
    walk = _Walk(checkpoint, {task.process: task for task in tasks})
    if checkpoint.complete is not None:
        walk.completed(checkpoint.complete)
    elif checkpoint.decline is not None and checkpoint.was_declined:
        walk.declined(checkpoint.decline)
    else:
        walk.unfinished()
    return walk.path(count)


class _Walk:
    """A walk backwards along the critical path.

    ``segments``: the last one comes first. ``queues``: where a barrier waits behind records.
    """

    def __init__(self, checkpoint: CheckpointEvents, tasks: dict[ProcessId, TaskReport]) -> None:
        self.checkpoint = checkpoint
        self.tasks = tasks
        self.segments: list[Segment] = []
        self.queues: dict[ChannelId, Ahead] = {}
        self.seen: set[ProcessId] = set()

    def path(self, count: Count) -> tuple[Segment, ...]:
        behind = dict(zip(self.queues, count(list(self.queues.values())), strict=True))
        return tuple(
            segment
            if segment.channel is None
            else replace(segment, behind=behind.get(segment.channel))
            for segment in reversed(self.segments)
        )

    # --- where it starts -------------------------------------------------------------------------

    def completed(self, complete: ProtocolEvent) -> None:
        commits = [
            (t.committed_at, t.process) for t in self.tasks.values() if t.committed_at is not None
        ]
        if commits:
            committed_at, process = max(commits, key=lambda commit: commit[0])
            self._add(process, COMMIT, complete.at, committed_at)
        self._to_last_ack()

    def declined(self, decline: ProtocolEvent) -> None:
        self._add(decline.process, ACK, decline.at, self._end_at())
        self._to_barriers(decline.process, decline)

    def unfinished(self) -> None:
        """Go to a task that has not acknowledged, preferring one that has not recorded.

        If all have acknowledged, the completion was missing, which is the coordinator's part.
        """
        checkpoint = self.checkpoint
        late = [name for name in self.tasks if self._is_late(checkpoint.first(name, CP_ACK))]
        unrecorded = [name for name in late if self._is_late(checkpoint.record(name))]
        if unrecorded:
            if checkpoint.is_derived:
                self._busy_at_end(unrecorded)
            else:
                self._to_missing_barrier(unrecorded[0])
        elif late:
            self._to_missing_ack(late[0])
        else:
            self._to_last_ack()

    def _is_late(self, event: ProtocolEvent | None) -> bool:
        """Tell whether the event came after the end of the checkpoint, or did not come."""
        end = self.checkpoint.end
        return event is None or (end is not None and event.step > end.step)

    def _missing(self, process: ProcessId) -> list[Channel]:
        """Return the inputs whose barriers had not come when the checkpoint ended."""
        arrivals = self.checkpoint.arrivals(process)
        arrived = {event.channel for event in arrivals if not self._is_late(event)}
        incoming = self.checkpoint.plan.topology.incoming[process]
        return [channel for channel in incoming if channel.id not in arrived]

    def _is_sent(self, channel: Channel) -> bool:
        return not self._is_late(self.checkpoint.sent.get(channel.id))

    def _end_at(self) -> int | None:
        end = self.checkpoint.end
        return end and end.at

    # --- a step back at a time -------------------------------------------------------------------

    def _to_last_ack(self) -> None:
        acks = (self.checkpoint.first(process, CP_ACK) for process in self.tasks)
        before = (ack for ack in acks if ack is not None and not self._is_late(ack))
        ack = max(before, key=lambda ack: ack.step, default=None)
        if ack is not None:
            self._add(ack.process, ACK, ack.at, self._end_at())
            self._to_ack(ack.process, ack)

    def _to_ack(self, process: ProcessId, ack: ProtocolEvent) -> None:
        """Go back from an acknowledgement, which waited for the upload or, unaligned, the last
        barrier.
        """
        upload = self.checkpoint.first(process, SNAP_ASYNC)
        aligned = self.checkpoint.first(process, ALIGN_END)
        record = self.checkpoint.record(process)
        waited = [e for e in (upload, aligned) if e is not None and e.index < ack.index]
        last = max(waited, key=lambda event: event.index, default=None)
        if last is None or record is None:
            return
        if last is aligned and aligned.index > record.index:
            self._add(process, REST, aligned.at, ack.at)
            self._to_barriers(process, aligned)
            return
        stored_at = ack.at if upload is None else upload.at
        self._add(process, REST, stored_at, ack.at)
        sync_to = self.tasks[process].sync_to
        if sync_to is None:
            self._add(process, ASYNC, record.at, stored_at)
        else:
            self._add(process, ASYNC, sync_to, stored_at)
            self._add(process, SYNC, record.at, sync_to)
        self._to_barriers(process, record)

    def _to_barriers(self, process: ProcessId, event: ProtocolEvent) -> None:
        """Go back from ``event``, for which the process needed all barriers that it had then."""
        cause = self._cause(process, event)
        if process in self.seen:
            return
        self.seen.add(process)
        if cause is None:
            self._to_trigger(process, event.at)
            return
        self._add(process, ALIGNMENT, cause.at, event.at)
        if cause.channel is None:
            return
        if cause.kind == END:
            self._through_end(process, cause, cause.channel)
        else:
            self._through_channel(process, cause.channel, cause.at, cause.is_so("priority"))

    def _cause(self, process: ProcessId, event: ProtocolEvent) -> ProtocolEvent | None:
        """Return the last barrier or end of a channel before an event, or None for the trigger."""
        checkpoint = self.checkpoint
        if process in checkpoint.triggered:
            return None
        trigger = checkpoint.trigger
        arrivals = [
            *checkpoint.arrivals(process),
            *checkpoint.at.get((process, ANNOUNCE), ()),
            *(
                end
                for end in checkpoint.run.ends_at(process, event.index)
                if trigger is None or end.step > trigger.step
            ),
        ]
        before = (item for item in arrivals if item.index < event.index)
        return max(before, key=lambda item: item.index, default=None)

    def _through_channel(
        self, process: ProcessId, channel: ChannelId, until: int | None, overtakes: bool
    ) -> None:
        """Follow a barrier back; what the receiver spends on it after its first is alignment."""
        sent = self.checkpoint.sent.get(channel)
        if sent is None:
            return
        inferred = sent.is_so("inferred")
        first = self.tasks[process].first_barrier_at if process in self.tasks else None
        turn = until
        if first is not None:
            turn = max(first, sent.at) if until is None else min(max(first, sent.at), until)
        if turn is not None and turn != until:
            self._add(process, ALIGNMENT, turn, until, channel, is_inferred=inferred)
        busy = self.checkpoint.busy(process)
        if busy is not None and sent.at < busy[0]:
            free = busy[0] if turn is None else min(busy[0], turn)
            self._add(process, TRAVEL, free, turn, channel, is_inferred=inferred)
            self._to_trigger(process, free)
            return
        if not overtakes and not inferred:
            self.queues[channel] = Ahead(channel, sent.index, sent.step)
        self._add(process, TRAVEL, sent.at, turn, channel, is_inferred=inferred)
        self._to_barriers(sent.process, sent)

    def _through_end(self, process: ProcessId, taken: ProtocolEvent, channel: ChannelId) -> None:
        """Follow an end that stood for the barrier; its sender sent it for reasons of its own."""
        source = self.checkpoint.plan.topology.channel_by_id[channel].source
        ended = self.checkpoint.run.end_of(source, taken.step)
        trigger = self.checkpoint.trigger
        if ended is None or trigger is None:
            return
        later = max(ended, trigger, key=lambda event: event.step)
        self.queues[channel] = Ahead(channel, ended.index, later.step)
        self._add(process, TRAVEL, later.at, taken.at, channel, end=True)
        self._to_trigger(source, later.at)

    def _to_trigger(self, process: ProcessId, until: int) -> None:
        """Go to the trigger: what is left was spent on it, or on an earlier copy."""
        trigger, busy = self.checkpoint.trigger, self.checkpoint.busy(process)
        if trigger is None:
            return
        if busy is None:
            self._add(process, TRIGGER, trigger.at, until)
            return
        free = min(busy[0], until)
        self._add(process, TRIGGER, free, until)
        self._add(process, BUSY, trigger.at, free, earlier=busy[1])

    def _busy_at_end(self, late: Iterable[ProcessId]) -> None:
        """Go to the first task that was still copying for an earlier checkpoint at the end of this
        one.
        """
        end = self._end_at()
        for process in late:
            busy = self.checkpoint.busy(process)
            if busy is not None and end is not None and busy[0] >= end:
                self._to_trigger(process, end)
                return

    # --- what never came -------------------------------------------------------------------------

    def _to_missing_barrier(self, process: ProcessId) -> None:
        """Go upstream until a task has sent its barrier."""
        checkpoint, end = self.checkpoint, self._end_at()
        missing = self._missing(process)
        sent = next((channel for channel in missing if self._is_sent(channel)), None)
        if process in checkpoint.triggered or not missing:
            if checkpoint.trigger is not None:
                self._add(process, TRIGGER, checkpoint.trigger.at, end)
        elif sent is not None:
            self.seen.add(process)
            self._through_channel(process, sent.id, end, False)
        elif missing[0].source not in self.seen:
            self.seen.add(process)
            self._to_missing_barrier(missing[0].source)

    def _to_missing_ack(self, process: ProcessId) -> None:
        checkpoint, end = self.checkpoint, self._end_at()
        open_ = [channel.id for channel in self._missing(process) if self._is_sent(channel)]
        record, sync_to = checkpoint.record(process), self.tasks[process].sync_to
        uploaded = not self._is_late(checkpoint.first(process, SNAP_ASYNC))
        if open_ and uploaded:
            self._through_channel(process, open_[0], end, False)
            return
        if record is None:
            return
        if sync_to is None or (end is not None and end <= sync_to):
            self._add(process, SYNC, record.at, end)
        else:
            self._add(process, ASYNC, sync_to, end)
            self._add(process, SYNC, record.at, sync_to)
        self._to_barriers(process, record)

    def _add(
        self,
        process: ProcessId,
        phase: str,
        from_: int | None,
        to: int | None,
        channel: ChannelId | None = None,
        **fields: Any,
    ) -> None:
        """Add a segment unless it takes no time. ``fields``: further fields of the segment."""
        if from_ is not None and (to is None or to > from_):
            self.segments.append(Segment(process, channel, phase, from_, to, **fields))
