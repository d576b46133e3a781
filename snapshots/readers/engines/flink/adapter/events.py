"""One checkpoint of a run as events of its subtasks and its coordinator: all of them derived.

Order within a subtask: what an earlier checkpoint held in flight is received and what this one
holds is sent; barriers arrive; the state is recorded; copy, upload, acknowledgement. What was in
flight at one checkpoint counts as received before the next, whose own messages are sent anew: when
it was is inferred. A barrier on its way to a subtask that has not acknowledged counts as discarded
when the checkpoint was given up. While a subtask copies its state it handles no later barrier: the
trigger of a later checkpoint says who was ``busy`` with that. Instants are milliseconds since the
recording began.
"""

from collections.abc import Mapping
from typing import Any

from snapshots.domain.dataflow_logs import kinds
from snapshots.domain.dataflow_logs.events import DISCARDED
from snapshots.domain.inventory.model import COMPLETED, FAILED
from snapshots.domain.model.recording import (
    MARKER_RECEIVE,
    MARKER_SEND,
    RECEIVE,
    RECORD_CHANNEL,
    RECORD_STATE,
    SEND,
    MessageId,
)
from snapshots.domain.model.topology import ChannelId
from snapshots.readers.engines.derived_log import present
from snapshots.readers.engines.flink.adapter import modes
from snapshots.readers.engines.flink.adapter.barriers import (
    LONGEST,
    Barrier,
    Times,
    barriers,
    times_of,
)
from snapshots.readers.engines.flink.adapter.checkpoints import FlinkCheckpoint
from snapshots.readers.engines.flink.adapter.in_flight import Flights
from snapshots.readers.engines.flink.adapter.log import RunLog
from snapshots.readers.engines.flink.adapter.runs import Link, Subtask
from snapshots.readers.engines.flink.adapter.states import finished
from snapshots.readers.engines.flink.rest.checkpoints import RestCheckpoint, SubtaskTimes
from snapshots.readers.engines.flink.rest.fields import number
from snapshots.readers.formats.fields import json_text

_REASONS = (
    ("Checkpoint expired", "expired"),
    ("Checkpoint has been subsumed", "subsumed"),
    ("Checkpoint was declined", "declined"),
)
_LONGEST = 1_000  # characters of what the REST API says
_INFERRED = {"inferred": True}


def write_checkpoint(
    run_log: RunLog, checkpoint: FlinkCheckpoint, following: FlinkCheckpoint | None
) -> None:
    """Write the events of a checkpoint, unless there are neither files nor answers of it.

    Args:
        following: the next checkpoint of the run.
    """
    if checkpoint.rest is None and checkpoint.metadata is None:
        return
    writer = _CheckpointWriter(run_log, checkpoint, following)
    writer.begin()
    for subtask in run_log.order:
        writer.subtask(subtask)
    writer.end()


class _CheckpointWriter:
    """Writes one checkpoint.

    Attributes:
        trigger: when it was triggered; None where no answer says it.
        following: when the next one was triggered.
        answers: what the REST API says of each subtask.
        ids: the ids of the messages that were in flight, by channel.
    """

    def __init__(
        self, run_log: RunLog, checkpoint: FlinkCheckpoint, following: FlinkCheckpoint | None
    ) -> None:
        self.run_log, self.run, self.checkpoint = run_log, run_log.run, checkpoint
        self.snapshot = self.run.snapshots[checkpoint.number]
        self.rest = checkpoint.rest
        self.trigger = self._since_epoch(checkpoint.triggered_at)
        self.is_complete = checkpoint.status == COMPLETED
        self.following = self._since_epoch(following.triggered_at if following else None)
        self.finished = finished(checkpoint, self.run)
        self.living = [subtask for subtask in run_log.order if subtask not in self.finished]
        self.answers: dict[Subtask, SubtaskTimes] = {
            (vertex.vertex, answer.index): answer
            for vertex in checkpoint.vertices
            for answer in vertex.subtasks
        }
        self.times = {} if self.trigger is None else self._times(self.trigger)
        self.states = run_log.states.by_subtask(checkpoint, self.run)
        self.flights = run_log.flights.flights(checkpoint, self.run) if self.is_complete else {}
        self.barriers = self._barriers()
        self.ids = {
            channel: tuple(
                MessageId(f"{self.snapshot}:{place}") for place in range(len(flights.messages))
            )
            for channel, flights in self.flights.items()
        }
        self.pending: dict[ChannelId, tuple[tuple[MessageId, ...], int]] = {}

    def _since_epoch(self, instant: int | None) -> int | None:
        return None if instant is None else min(max(instant - self.run_log.epoch, 0), LONGEST)

    def _is_source(self, subtask: Subtask) -> bool:
        return not self.run.graph.vertex_by_id[subtask[0]].inputs

    def _times(self, trigger: int) -> dict[Subtask, Times]:
        times = {}
        for subtask in self.living:
            if (answer := self.answers.get(subtask)) is not None:
                instants = times_of(answer, trigger, is_source=self._is_source(subtask))
                if instants is not None:
                    times[subtask] = instants
        return times

    def _barriers(self) -> dict[ChannelId, Barrier]:
        """Return the barriers by channel.

        There are none where they are not to be shown, or where those of some channels of a
        completed checkpoint are not known: these would look as if they had not come.
        """
        log = self.run_log
        if not log.with_barriers or not self.times:
            return {}
        if self.is_complete and not all(map(self._is_timed, self.living)):
            return {}
        return barriers(self.run, log.order, self.times, self.finished, log.floors)

    def _is_timed(self, subtask: Subtask) -> bool:
        times = self.times.get(subtask)
        has_inputs = bool(self.run.incoming.get(subtask))
        return times is not None and (times.first is not None or not has_inputs)

    # --- the coordinator -------------------------------------------------------------------------

    def begin(self) -> None:
        when = self.run_log.latest
        if self.trigger is not None and self.rest is not None:
            when = self.trigger
            self._at_coordinator(kinds.CP_TRIGGER, when, self._triggered(self.rest, when))
        self._at_coordinator(RECORD_STATE, when, {}, state=json_text(self._summary()))

    def _at_coordinator(
        self, kind: str, when: int, about: Mapping[str, object], **fields: Any
    ) -> None:
        timed, fields["snapshot"] = self.trigger is not None, self.snapshot
        self.run_log.log.add(self.run.coordinator, kind, when, about, timed=timed, **fields)

    def _triggered(self, rest: RestCheckpoint, trigger: int) -> dict[str, object]:
        run, config = self.run, self.checkpoint.config
        asked = [one for one in self.living if not self.is_complete or one in self.times]
        sources = [run.process(*one) for one in self.living if self._is_source(one)]
        return {
            "type": "savepoint" if self.checkpoint.is_savepoint else "checkpoint",
            "mode": self.checkpoint.mode,
            "why_no_mode": self.checkpoint.why_no_mode,
            "flink_type": _cut(rest.kind),
            "timeout": number(config, "timeout"),
            "align_timeout": number(config, "aligned_checkpoint_timeout") or None,
            "to_trigger": sources if run.links else None,
            "to_ack": [run.process(*one) for one in asked],
            "finished": [run.process(*one) for one in sorted(self.finished)] or None,
            "busy": self._busy(trigger) or None,
        }

    def _busy(self, trigger: int) -> dict[str, dict[str, object]]:
        """Return until when processes were still copying state for an earlier checkpoint."""
        busy: dict[str, dict[str, object]] = {}
        for subtask in self.living:
            until, snapshot = self.run_log.copying.get(subtask, (0, ""))
            if until > trigger:
                busy[self.run.process(*subtask)] = {"checkpoint": snapshot, "until": until}
        return busy

    def _summary(self) -> dict[str, object]:
        """Return what the coordinator itself keeps of a checkpoint."""
        size = self.rest.totals.state_size if self.rest is not None else None
        if self.checkpoint.metadata is not None:
            size = self.checkpoint.metadata.size
        about = {"id": self.checkpoint.id, "status": self.checkpoint.status, "bytes": size}
        return {"checkpoint": present(about)}

    def end(self) -> None:
        self.run_log.pending |= self.pending
        if self.trigger is None or self.rest is None:
            return
        totals = self.rest.totals
        about: dict[str, object] = {
            "subtasks": totals.subtasks,
            "acknowledged": totals.acknowledged,
        }
        if self.is_complete:
            when = self._since_epoch(totals.ack_at)
            if totals.duration is not None:
                when = self.trigger + totals.duration
            if when is not None:
                about["path"] = _cut(self.rest.path)
                self._at_coordinator(kinds.CP_COMPLETE, min(when, LONGEST), about)
        elif (failed := self._failed()) is not None:
            self._at_coordinator(kinds.CP_ABORT, failed, about | _failure(self.rest))

    def _failed(self) -> int | None:
        """Return when the checkpoint was given up; None if it was not."""
        if self.checkpoint.status != FAILED or self.rest is None or self.trigger is None:
            return None
        if (duration := self.rest.totals.duration) is not None:
            return min(self.trigger + duration, LONGEST)
        return max(self._since_epoch(self.rest.failed_at) or 0, self.trigger)

    # --- a subtask -------------------------------------------------------------------------------

    def subtask(self, subtask: Subtask) -> None:
        times = self.times.get(subtask)
        base = max(self.run_log.floor(subtask), self.trigger or 0)
        recorded = base if times is None else max(times.recorded, base)
        if self.is_complete or times is not None:
            base = self._taken_and_sent(subtask, base)
            recorded = max(recorded, base)
            aligned = self._arrived(subtask, times, recorded)
            self._channels_recorded(subtask, times, aligned)
            self._sent_on(subtask)
            self._recorded(subtask, times, recorded)
            self.run_log.raise_floor(subtask, max(recorded, aligned))
        else:
            self._sent_on(subtask)
        self._discarded(subtask, base)

    def _discarded(self, subtask: Subtask, base: int) -> None:
        """Discard what was on its way when the checkpoint ended, or the next one was triggered."""
        if not self.barriers:
            return
        failed = self._failed()
        ends = [] if failed is None else [failed]
        ends += [] if self.following is None else [max(self.following, base)]
        for link in self.run.incoming.get(subtask, ()) if ends else ():
            barrier = self.barriers.get(link.channel.id)
            if barrier is not None and barrier.arrived is None:
                when = max(min(ends), barrier.sent, base)
                self._barrier(subtask, MARKER_RECEIVE, when, barrier, label=DISCARDED)
                self.run_log.raise_floor(subtask, when)

    def _add(
        self, subtask: Subtask, kind: str, when: int, about: Mapping[str, object], **fields: Any
    ) -> None:
        """Add an event, which is part of this snapshot unless it is about a message."""
        if kind not in (SEND, RECEIVE):
            fields["snapshot"] = self.snapshot
        name, timed = self.run.process(*subtask), self.trigger is not None
        self.run_log.log.add(name, kind, when, about, timed=timed, **fields)

    def _barrier(
        self, subtask: Subtask, kind: str, when: int, barrier: Barrier, **fields: Any
    ) -> None:
        channel = barrier.link.channel
        overtakes = self.checkpoint.mode == modes.UNALIGNED and channel.overtaking
        about = {"inferred": True, "end": barrier.end or None, "priority": overtakes or None}
        self._add(subtask, kind, when, about, channel=channel.id, **fields)

    def _taken_and_sent(self, subtask: Subtask, base: int) -> int:
        """Receive what an earlier checkpoint held in flight, and send what this one holds."""
        for link in self.run.incoming.get(subtask, ()):
            channel = link.channel.id
            ids, sent = self.run_log.pending.pop(channel, ((), 0))
            base = max(base, sent)
            for message in ids:
                self._add(subtask, RECEIVE, base, _INFERRED, channel=channel, message=message)
        for link in self.run.outgoing.get(subtask, ()):
            flights = self.flights.get(link.channel.id)
            if flights is not None and flights.messages:
                self._send(subtask, link, flights, base)
        return base

    def _send(self, subtask: Subtask, link: Link, flights: Flights, when: int) -> None:
        channel = link.channel.id
        ids = self.ids[channel]
        for message, flight in zip(ids, flights.messages, strict=True):
            fields = {"channel": channel, "message": message, "value": flight.value}
            self._add(subtask, SEND, when, _INFERRED | {"timestamp": flight.timestamp}, **fields)
        self.pending[channel] = ids, when
        if flights.type is not None:
            ends = self.run.names[link.edge.source], self.run.names[link.target]
            self.run_log.types[ends] = flights.type, flights.inferred

    def _arrived(self, subtask: Subtask, times: Times | None, recorded: int) -> int:
        """Receive the barriers; return when all had come."""
        arrivals = [
            (barrier.arrived, barrier)
            for link in self.run.incoming.get(subtask, ())
            if (barrier := self.barriers.get(link.channel.id)) and barrier.arrived is not None
        ]
        for arrived, barrier in sorted(arrivals, key=lambda pair: pair[0]):
            self._barrier(subtask, MARKER_RECEIVE, arrived, barrier)
        if times is None or times.last is None:
            return recorded
        last = max([times.last, *(arrived for arrived, _ in arrivals)])
        self._add(subtask, kinds.ALIGN_END, last, {"first_barrier": times.first})
        return last

    def _channels_recorded(self, subtask: Subtask, times: Times | None, aligned: int) -> None:
        for link in self.run.incoming.get(subtask, ()):
            channel = link.channel.id
            flights = self.flights.get(channel)
            if flights is None or not (flights.messages or self.run_log.with_barriers):
                continue
            barrier, when = self.barriers.get(channel), aligned
            if times is not None and times.unaligned and barrier and barrier.arrived is not None:
                when = barrier.arrived
            count = len(flights.messages)
            about = {"in": flights.in_input, "out": count - flights.in_input} if count else {}
            fields = {"channel": channel, "messages": self.ids[channel]}
            self._add(subtask, RECORD_CHANNEL, when, about, **fields)

    def _sent_on(self, subtask: Subtask) -> None:
        for link in self.run.outgoing.get(subtask, ()):
            channel = link.channel.id
            if (barrier := self.barriers.get(channel)) is None:
                continue
            self._barrier(subtask, MARKER_SEND, barrier.sent, barrier)
            self.run_log.raise_floor(subtask, barrier.sent)
            flights = self.flights.get(channel)
            if flights is not None and len(flights.messages) > flights.in_input:
                about = {"count": len(flights.messages) - flights.in_input}
                self._add(subtask, kinds.OVERTAKEN_OUT, barrier.sent, about, channel=channel)

    def _recorded(self, subtask: Subtask, times: Times | None, when: int) -> None:
        state = self.states.get(subtask)
        about: dict[str, object]
        if times is None:  # as of every finished subtask
            about = {"inferred": True, "finished": subtask in self.finished or None}
            self._add(subtask, RECORD_STATE, when, about, state=state)
            return
        answer = self.answers[subtask]
        mode = modes.UNALIGNED if times.unaligned else self.checkpoint.mode
        about = {
            "sync": None if times.copied is None else max(times.copied - when, 0),
            "mode": modes.ALIGNED if mode == modes.TIMEOUT else mode,
            "inferred": None if times.is_told else True,
        }
        self._add(subtask, RECORD_STATE, when, about, state=state)
        if times.is_told and times.copied is not None:
            self.run_log.copied(subtask, times.copied, self.snapshot)
        if times.uploaded is not None:
            size, total = answer.uploaded_size, answer.state_size
            about = {"start": times.copied, "bytes": size, "total": total}
            self._add(subtask, kinds.SNAP_ASYNC, max(times.uploaded, when), about)
        if times.acked is not None:
            about = {"told": _durations(answer)}
            self._add(subtask, kinds.CP_ACK, max(times.acked, when), about)


def _durations(answer: SubtaskTimes) -> dict[str, object]:
    """Return what the REST API says, ms and bytes, before anything is rounded into one order."""
    return present(
        {
            "start_delay": answer.start_delay,
            "alignment": answer.alignment,
            "sync": answer.sync,
            "async": answer.async_,
            "duration": answer.duration,
            "processed": answer.processed,
            "persisted": answer.persisted,
        }
    )


def _failure(rest: RestCheckpoint) -> dict[str, object]:
    message = rest.failure
    if message is None:
        return {}
    for begin, reason in _REASONS:
        if message.startswith(begin):
            return {"reason": reason, "failure": message[:_LONGEST]}
    return {"reason": message[:_LONGEST].rstrip(".")}


def _cut(text: str | None) -> str | None:
    return text and text[:_LONGEST]
