"""Word what is at a place, with the same answers that the pages show."""

import json
from dataclasses import replace
from typing import Any

import numpy as np
import orjson

from snapshots.answers import inventory, replay
from snapshots.answers.outcomes import outcome_of
from snapshots.archive import filling, queries
from snapshots.archive.payloads import checkpoint_detail
from snapshots.domain.archive import absence
from snapshots.domain.judging.findings import CONSISTENT
from snapshots.domain.model.derived import is_derived, is_untimed
from snapshots.domain.reviewing import places, sentences
from snapshots.domain.reviewing.places import Place, in_words
from snapshots.files.recordings import open_recording
from snapshots.models import EngineJob, Recording
from snapshots.payloads.cuts import snapshot_detail
from snapshots.reviews import resolving
from snapshots.reviews.subjects import Subject
from snapshots.store.reader import StoredRecording

Seen = places.MomentPlace | places.CutPlace
"""What the screen showed when a place was noted: a moment, or a dragged cut."""

_WORDED = (
    "at",
    "consistent",
    "channels",
    "omitted",
    "states",
    "orphans",
    "orphans_total",
    "strays_total",
)


def describe(subject: Subject, place: Place, seen: Seen | None = None) -> str:
    """Return the sentence about a place that is there.

    Args:
        subject: the recording or the archived job.
        place: the place, which is there.
        seen: where the screen stood when the place was looked at. None if that does not matter.
    """
    if isinstance(subject, EngineJob):
        return _archived(subject, place)
    return _Describer(subject).describe(place, seen)


class _Describer:
    """Words places of one recording that is ready."""

    def __init__(self, recording: Recording) -> None:
        self.recording = recording
        self.stored = open_recording(recording)
        self.log = log_facts(self.stored)

    def describe(self, place: Place, seen: Seen | None) -> str:
        match place:
            case places.MomentPlace() | places.CutPlace():
                return self._cut(place)
            case places.ProcessPlace(process) if seen is not None:
                return sentences.process_sentence(process, self._answer(seen), self.log, at(seen))
            case places.ChannelPlace(channel) if seen is not None:
                return sentences.channel_sentence(channel, self._answer(seen), self.log, at(seen))
            case places.EventPlace(process, index):
                return self._event(process, index)
            case places.MessagePlace(channel, message):
                return self._message(channel, message)
            case places.SnapshotPlace(snapshot):
                return self._snapshot(snapshot)
            case places.SnapshotChannelPlace(snapshot, channel):
                return self._snapshot_channel(snapshot, channel)
            case places.CheckpointPlace(checkpoint, _):
                return self._checkpoint(checkpoint)
            case places.SubtaskPlace(checkpoint, _, subtask):
                return self._subtask(checkpoint, subtask) or in_words(place)
            case places.StatePlace():
                return self._state(place)
            case _:
                return in_words(place)

    def _answer(self, seen: Seen) -> dict[str, Any]:
        """Return the CutAnswer of a moment or a cut as plain JSON, without what is not worded."""
        answer = replay.cut(self.stored, question(seen))
        return json.loads(orjson.dumps({name: answer[name] for name in _WORDED}))

    def _cut(self, seen: Seen) -> str:
        return sentences.cut_sentence(self._answer(seen), self.log, at(seen))

    def _event(self, process: str, index: int) -> str:
        event = replay.event(self.stored, process, index)
        log = self.log
        snapshot = event["snapshot"]
        if snapshot is not None and is_untimed(self.stored.manifest.header_extra, snapshot):
            log = replace(log, is_timed=False)
        return sentences.event_sentence(json.loads(orjson.dumps(event)), log)

    def _message(self, channel: str, message: str) -> str:
        code, ordinals = resolving.message_ordinals(self.stored, channel, message)
        [first] = self.stored.tables.read_messages(np.array([code]), np.array(ordinals[:1]))
        fields = {
            "message": message,
            "channel": channel,
            "value": None if first.value is None else json.loads(first.value),
            "sent_at": first.sent_at,
            "received_at": first.received_at,
        }
        return sentences.message_sentence(fields, self.log, len(ordinals))

    def _snapshot(self, snapshot: str) -> str:
        row = self.recording.snapshots.get(snapshot=snapshot)
        total = sum(item["count"] for item in row.verdict_counts if item["verdict"] != CONSISTENT)
        return sentences.snapshot_sentence(snapshot, outcome_of(row), row.verdicts, total)

    def _snapshot_channel(self, snapshot: str, channel: str) -> str:
        row = self.recording.snapshots.get(snapshot=snapshot)
        detail = json.loads(orjson.dumps(snapshot_detail(row, self.stored, outcome_of(row))))
        recorded, recomputed = (
            detail[side]["channels"].get(channel) for side in ("recorded", "recomputed")
        )
        return sentences.snapshot_channel_sentence(
            snapshot, channel, recorded, recomputed, self.log
        )

    def _checkpoint(self, checkpoint: str) -> str:
        if (report := self._report(checkpoint)) is not None:
            return sentences.report_sentence(report)
        number = resolving.checkpoint_number(self.recording, checkpoint)
        assert number is not None  # the place is there, so the report or the upload has it
        held = inventory.checkpoint(inventory.opened(self.recording), number)
        return f"{held['kind']} {checkpoint}: {held['status']}; its times are not known"

    def _report(self, checkpoint: str) -> dict[str, Any] | None:
        reports = self.stored.checkpoints()
        return next((item for item in reports if item["checkpoint"] == checkpoint), None)

    def _subtask(self, checkpoint: str, subtask: str) -> str:
        """Word what a task did for a checkpoint; empty if no report has it."""
        report = self._report(checkpoint)
        tasks = report["tasks"] if report is not None else []
        own = next((task for task in tasks if task["process"] == subtask), None)
        return "" if own is None else sentences.task_sentence(checkpoint, own, self.log.unit)

    def _state(self, place: places.StatePlace) -> str:
        rows = resolving.state_entries(self.recording, place)
        entries = [
            {"value": None if row["value"] is None else json.loads(row["value"])} for row in rows
        ]
        return sentences.state_sentence(place.checkpoint, place.state, place.key, entries)


def log_facts(stored: StoredRecording) -> sentences.LogFacts:
    """Return what sentences must know of a recording."""
    extra = stored.manifest.header_extra
    return sentences.LogFacts(
        stored.manifest.time_unit,
        is_derived=is_derived(extra),
        is_timed=not (is_derived(extra) and extra.get("untimed")),
        channels=len(stored.topology.channels),
    )


def question(seen: Seen) -> dict[str, Any]:
    """Return the question for the cut at a moment or at positions, as ``replay.cut`` takes it."""
    if isinstance(seen, places.CutPlace):
        return {"positions": dict(seen.positions)}
    return {"at" if seen.axis == places.TIME else "step": seen.value}


def at(seen: Seen) -> places.MomentPlace | None:
    """Return the moment at which the screen stood; None if it showed a dragged cut."""
    return seen if isinstance(seen, places.MomentPlace) else None


def _archived(job: EngineJob, place: Place) -> str:
    """Word a checkpoint of an archived job, or one of its subtasks."""
    if not isinstance(place, places.CheckpointPlace | places.SubtaskPlace):
        return in_words(place)
    number = resolving.archived_number(place.checkpoint)
    row = queries.checkpoint(job, place.pipeline, number)
    if isinstance(place, places.SubtaskPlace):
        tasks = checkpoint_detail(row)["tasks"]
        own = next((task for task in tasks if task["name"] == place.subtask), None)
        if own is None:
            return in_words(place)
        return sentences.archived_task_sentence(place.checkpoint, own)
    blame = absence.blame(filling.facts_of(row)).sentence
    return sentences.archived_sentence(number, row.pipeline, row.status, row.duration, blame)
