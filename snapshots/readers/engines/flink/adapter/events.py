"""One checkpoint of a run as events of its subtasks and its coordinator: all of them derived.

Order within a subtask: what an earlier checkpoint held in flight is received and what this one
holds is sent; barriers arrive; the state is recorded; copy, upload, acknowledgement. What was in
flight at one checkpoint counts as received before the next, whose own messages are told anew: when
it was is inferred. A barrier on its way to a subtask that has not acknowledged counts as discarded
when the checkpoint was given up. While a subtask copies its state it handles no later barrier: the
trigger of a later checkpoint says who was ``busy`` with that. Instants are ms since the recording
began.
"""

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
)
from snapshots.domain.model.topology import ChannelId
from snapshots.readers.engines.derived_log import present
from snapshots.readers.engines.flink.adapter.barriers import Barrier, barriers
from snapshots.readers.engines.flink.adapter.flights import Flights
from snapshots.readers.engines.flink.adapter.log import RunLog
from snapshots.readers.engines.flink.adapter.places import Place
from snapshots.readers.engines.flink.adapter.runs import Link
from snapshots.readers.engines.flink.adapter.states import Subtask, finished
from snapshots.readers.engines.flink.adapter.times import LONGEST, Times, times_of
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


def write_checkpoint(run_log: RunLog, place: Place, following: Place | None) -> None:
    """All of one checkpoint; nothing where neither files nor answers tell of it.

    following: the next one of the run.
    """
    if place.rest is None and not place.has_files:
        return
    one = _Checkpoint(run_log, place, following)
    one.begin()
    for subtask in run_log.order:
        one.of_subtask(subtask)
    one.end()


class _Checkpoint:
    """trigger: None where no answer tells it; following: of the next checkpoint."""

    def __init__(self, run_log: RunLog, place: Place, following: Place | None) -> None:
        self.run_log, self.run, self.place = run_log, run_log.run, place
        self.snapshot = self.run.snapshots[place.number]
        self.rest = place.rest
        self.trigger = self._since_epoch(self.rest and self.rest.triggered_at)
        self.is_complete = place.status == COMPLETED
        self.following = self._since_epoch(
            following and following.rest and following.rest.triggered_at
        )
        self.finished = finished(place, self.run)
        self.told: dict[Subtask, SubtaskTimes] = {
            (vertex.vertex, one.index): one
            for vertex in (self.rest.vertices if self.rest else ())
            for one in vertex.subtasks
        }
        self.times = self._times()
        self.states = run_log.states.of(place, self.run)
        self.flights = run_log.flights.of(place, self.run) if self.is_complete else {}
        self.barriers = self._barriers()
        self.ids = {
            channel: tuple(f"{self.snapshot}:{place}" for place in range(len(own.messages)))
            for channel, own in self.flights.items()
        }
        self.new: dict[ChannelId, tuple[tuple[str, ...], int]] = {}

    def _since_epoch(self, instant: int | None) -> int | None:
        return None if instant is None else min(max(instant - self.run_log.epoch, 0), LONGEST)

    def _times(self) -> dict[Subtask, Times]:
        if self.trigger is None:
            return {}
        found = {}
        for subtask in self.run_log.order:
            told = self.told.get(subtask)
            if told is not None and subtask not in self.finished:
                is_source = not self.run.graph.vertex_by_id[subtask[0]].inputs
                times = times_of(told, self.trigger, is_source=is_source)
                if times is not None:
                    found[subtask] = times
        return found

    def _barriers(self) -> dict[ChannelId, Barrier]:
        """Empty where they are not to be shown, or would lack on some channels of a completed
        checkpoint, as if they had not come."""
        log = self.run_log
        living = [one for one in log.order if one not in self.finished]
        if not log.with_barriers or not self.times:
            return {}
        if self.is_complete and not all(self._is_timed(one) for one in living):
            return {}
        return barriers(self.run, log.order, self.times, self.finished, log.floors)

    def _is_timed(self, subtask: Subtask) -> bool:
        times = self.times.get(subtask)
        has_inputs = bool(self.run.incoming.get(subtask))
        return times is not None and (times.first is not None or not has_inputs)

    # --- the coordinator -------------------------------------------------------------------------

    def begin(self) -> None:
        when = self.run_log.latest if self.trigger is None else self.trigger
        if self.trigger is not None:
            self._at_coordinator(kinds.CP_TRIGGER, when, self._triggered())
        self._at_coordinator(RECORD_STATE, when, {}, state=json_text(self._summary()))

    def _at_coordinator(self, kind: str, when: int, extra: dict, **fields: object) -> None:
        timed = self.trigger is not None
        name = self.run.coordinator
        self.run_log.log.add(name, kind, when, extra, timed=timed, snapshot=self.snapshot, **fields)

    def _triggered(self) -> dict[str, object]:
        run, config = self.run, self.place.job.rest.config
        living = [one for one in self.run_log.order if one not in self.finished]
        asked = [one for one in living if not self.is_complete or one in self.times]
        sources = [one for one in living if not run.graph.vertex_by_id[one[0]].inputs]
        return {
            "type": "savepoint" if self.place.is_savepoint else "checkpoint",
            "mode": self._mode(),
            "flink_type": _cut(self.rest.kind),
            "timeout": number(config, "timeout"),
            "align_timeout": number(config, "aligned_checkpoint_timeout") or None,
            "to_trigger": [run.process(*one) for one in sources] if run.links else None,
            "to_ack": [run.process(*one) for one in asked],
            "finished": [run.process(*one) for one in sorted(self.finished)] or None,
            "busy": self._busy(living) or None,
        }

    def _busy(self, living: list[Subtask]) -> dict[str, dict[str, object]]:
        """By process: until when it was still copying its state for an earlier checkpoint."""
        known = self.run_log.copying
        return {
            self.run.process(*one): {"checkpoint": known[one][1], "until": known[one][0]}
            for one in living
            if one in known and known[one][0] > self.trigger
        }

    def _mode(self) -> str:
        config = self.place.job.rest.config
        if (self.rest.kind or "").startswith("UNALIGNED"):
            late = number(config, "aligned_checkpoint_timeout")
            return "timeout" if late else "unaligned"
        return "at-least-once" if config.get("mode") == "at_least_once" else "aligned"

    def _summary(self) -> dict[str, object]:
        """What the coordinator itself keeps of a checkpoint."""
        bytes_ = self.rest and self.rest.totals.state_size
        found = {"id": self.place.id, "status": self.place.status, "bytes": bytes_}
        if self.place.has_files:
            found["bytes"] = self.place.stored.metadata.size
        return {"checkpoint": present(found)}

    def end(self) -> None:
        self.run_log.pending |= self.new
        totals = self.rest and self.rest.totals
        if self.trigger is None:
            return
        instant = None if totals.duration is None else self.trigger + totals.duration
        extra = {"subtasks": totals.subtasks, "acknowledged": totals.acknowledged}
        if self.is_complete:
            when = self._since_epoch(totals.ack_at) if instant is None else instant
            if when is not None:
                extra |= {"path": _cut(self.rest.path)}
                self._at_coordinator(kinds.CP_COMPLETE, min(when, LONGEST), extra)
        elif self.place.status == FAILED:
            extra |= _failure(self.rest)
            self._at_coordinator(kinds.CP_ABORT, self._failed(), extra)

    def _failed(self) -> int:
        duration = self.rest.totals.duration
        if duration is not None:
            return min(self.trigger + duration, LONGEST)
        return max(self._since_epoch(self.rest.failed_at) or 0, self.trigger)

    # --- a subtask -------------------------------------------------------------------------------

    def of_subtask(self, subtask: Subtask) -> None:
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
        """What was on its way when the checkpoint was given up, or the next one was triggered."""
        if not self.barriers:
            return
        ends = [] if self.place.status != FAILED else [self._failed()]
        ends += [] if self.following is None else [max(self.following, base)]
        for link in self.run.incoming.get(subtask, ()) if ends else ():
            barrier = self.barriers.get(link.channel.id)
            if barrier is not None and barrier.arrived is None:
                when = max(min(ends), barrier.sent, base)
                channel = link.channel.id
                extra = _INFERRED | self._marks(barrier)
                self._add(subtask, MARKER_RECEIVE, when, extra, channel=channel, label=DISCARDED)
                self.run_log.raise_floor(subtask, when)

    def _add(
        self,
        subtask: Subtask,
        kind: str,
        when: int,
        extra: dict | None = None,
        **fields: object,
    ) -> None:
        """Of this snapshot, unless a message is meant."""
        if kind not in (SEND, RECEIVE):
            fields["snapshot"] = self.snapshot
        name, timed = self.run.process(*subtask), self.trigger is not None
        self.run_log.log.add(name, kind, when, extra or {}, timed=timed, **fields)

    def _taken_and_sent(self, subtask: Subtask, base: int) -> int:
        """What an earlier checkpoint held in flight, and what this one holds."""
        for link in self.run.incoming.get(subtask, ()):
            ids, sent = self.run_log.pending.pop(link.channel.id, ((), 0))
            base = max(base, sent)
            for message in ids:
                self._add(
                    subtask, RECEIVE, base, _INFERRED, channel=link.channel.id, message=message
                )
        for link in self.run.outgoing.get(subtask, ()):
            flights = self.flights.get(link.channel.id)
            if flights is not None and flights.messages:
                self._send(subtask, link, flights, base)
        return base

    def _send(self, subtask: Subtask, link: Link, flights: Flights, when: int) -> None:
        ids = self.ids[link.channel.id]
        for message, one in zip(ids, flights.messages, strict=True):
            self._add(
                subtask,
                SEND,
                when,
                _INFERRED | {"timestamp": one.timestamp},
                channel=link.channel.id,
                message=message,
                value=one.value,
            )
        self.new[link.channel.id] = ids, when
        if flights.type is not None:
            ends = self.run.names[link.edge.source], self.run.names[link.target]
            self.run_log.types[ends] = flights.type, flights.inferred

    def _arrived(self, subtask: Subtask, times: Times | None, recorded: int) -> int:
        """The barriers, and when all had come."""
        own = [
            barrier
            for link in self.run.incoming.get(subtask, ())
            if (barrier := self.barriers.get(link.channel.id)) and barrier.arrived is not None
        ]
        for barrier in sorted(own, key=lambda one: one.arrived):
            extra = _INFERRED | self._marks(barrier)
            channel = barrier.link.channel.id
            self._add(subtask, MARKER_RECEIVE, barrier.arrived, extra, channel=channel)
        if times is None or times.last is None:
            return recorded
        last = max([times.last, *(barrier.arrived for barrier in own)])
        self._add(subtask, kinds.ALIGN_END, last, {"first_barrier": times.first})
        return last

    def _marks(self, barrier: Barrier) -> dict[str, object]:
        overtakes = self._mode() == "unaligned" and barrier.link.channel.overtaking
        return {"end": barrier.end or None, "priority": overtakes or None}

    def _channels_recorded(self, subtask: Subtask, times: Times | None, aligned: int) -> None:
        for link in self.run.incoming.get(subtask, ()):
            flights = self.flights.get(link.channel.id)
            if flights is None or not (flights.messages or self.run_log.with_barriers):
                continue
            barrier = self.barriers.get(link.channel.id)
            at_barrier = times is not None and times.unaligned and barrier is not None
            count = len(flights.messages)
            self._add(
                subtask,
                RECORD_CHANNEL,
                barrier.arrived if at_barrier else aligned,
                {"in": flights.in_input, "out": count - flights.in_input} if count else {},
                channel=link.channel.id,
                messages=self.ids[link.channel.id],
            )

    def _sent_on(self, subtask: Subtask) -> None:
        for link in self.run.outgoing.get(subtask, ()):
            barrier = self.barriers.get(link.channel.id)
            if barrier is None:
                continue
            extra = _INFERRED | self._marks(barrier)
            self._add(subtask, MARKER_SEND, barrier.sent, extra, channel=link.channel.id)
            self.run_log.raise_floor(subtask, barrier.sent)
            flights = self.flights.get(link.channel.id)
            if flights is not None and len(flights.messages) > flights.in_input:
                count = len(flights.messages) - flights.in_input
                self._add(
                    subtask,
                    kinds.OVERTAKEN_OUT,
                    barrier.sent,
                    {"count": count},
                    channel=link.channel.id,
                )

    def _recorded(self, subtask: Subtask, times: Times | None, when: int) -> None:
        state = self.states.get(subtask)
        if subtask in self.finished:
            extra = _INFERRED | {"finished": True}
            self._add(subtask, RECORD_STATE, when, extra, state=state)
            return
        if times is None:
            self._add(subtask, RECORD_STATE, when, _INFERRED, state=state)
            return
        told = self.told[subtask]
        mode = "unaligned" if times.unaligned else self._mode()
        extra = {
            "sync": None if times.copied is None else max(times.copied - when, 0),
            "mode": "aligned" if mode == "timeout" else mode,
            "inferred": None if times.is_told else True,
        }
        self._add(subtask, RECORD_STATE, when, extra, state=state)
        if times.is_told and times.copied is not None:
            self.run_log.copied(subtask, times.copied, self.snapshot)
        if times.uploaded is not None:
            extra = {"start": times.copied, "bytes": told.uploaded_size, "total": told.state_size}
            self._add(subtask, kinds.SNAP_ASYNC, max(times.uploaded, when), extra)
        if times.acked is not None:
            self._add(subtask, kinds.CP_ACK, max(times.acked, when), {"told": _durations(told)})


def _durations(told: SubtaskTimes) -> dict[str, int]:
    """What the REST API says, ms and bytes, whatever had to be rounded to make one order of it."""
    return present(
        {
            "start_delay": told.start_delay,
            "alignment": told.alignment,
            "sync": told.sync,
            "async": told.async_,
            "duration": told.duration,
            "processed": told.processed,
            "persisted": told.persisted,
        }
    )


def _failure(rest: RestCheckpoint) -> dict[str, object]:
    message = rest.failure
    if message is None:
        return {}
    for begin, reason in _REASONS:
        if message.startswith(begin):
            return {"reason": reason, "failure": _cut(message)}
    return {"reason": _cut(message).rstrip(".")}


def _cut(text: str | None) -> str | None:
    return text and text[:_LONGEST]
