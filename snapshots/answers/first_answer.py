"""Answer what an upload says first: a few sentences, each with where it can be checked."""

from collections.abc import Mapping
from typing import Any

from django.db.models import Count

from snapshots.archive.uploads import IN_MILLISECONDS, facts_of_report
from snapshots.domain.answering import log, uploads
from snapshots.domain.answering.dataflow_run import AskedFailure, troubles
from snapshots.domain.answering.log import JudgedSnapshot
from snapshots.domain.answering.sentences import FirstAnswer, Sentence, Subject
from snapshots.domain.answering.upload_summary import UploadSummary
from snapshots.domain.archive.absence import Blame, blame
from snapshots.domain.judging.answers import Answer
from snapshots.domain.judging.findings import VERDICTS
from snapshots.files import recordings
from snapshots.files.recordings import open_recording
from snapshots.models import Recording, Snapshot
from snapshots.readers.logs.headers import TOLD
from snapshots.readers.recognition import TELLING
from snapshots.store.inventory.reading import StoredInventory, as_checkpoint
from snapshots.store.reader import StoredRecording


def first_answer(recording: Recording) -> FirstAnswer:
    """Return the first answer to a ready recording. Raises: StoreError."""
    inventory = StoredInventory(recordings.store().folder(recording.store))
    stored = open_recording(recording)
    if not inventory.exists:
        return FirstAnswer(None, (_of_log(recording, stored),))
    return of_inventory(inventory, timed(inventory.summary, stored))


def of_inventory(inventory: StoredInventory, timed: frozenset[str] = frozenset()) -> FirstAnswer:
    """Return the first answer to an upload of an engine.

    ``timed``: the names of the snapshots for which there is a page of times.
    """
    subjects = uploads.subjects(
        inventory.summary,
        inventory.reports,
        lambda number: as_checkpoint(inventory.checkpoint(number)),
        timed,
    )
    return FirstAnswer(inventory.summary.engine, subjects)


def timed(summary: UploadSummary, stored: StoredRecording) -> frozenset[str]:
    """Return the names of the snapshots for which there is a page of times."""
    return stored.checkpoint_names if stored.is_dataflow else frozenset()


def blame_of(recording: Recording, report: Mapping[str, Any]) -> Blame:
    """Return for whom a checkpoint waited, by the rule and from the facts of the archive.

    The engine's own report comes first, then that of the derived recording. A log of one's own has
    no such facts, so that nobody is named.

    Args:
        report: the report of the checkpoint in the recording.
    """
    inventory = StoredInventory(recordings.store().folder(recording.store))
    if not inventory.exists:
        return Blame()
    name = report["checkpoint"]
    same = [
        (index, item)
        for index, item in enumerate(inventory.summary.checkpoints)
        if item.snapshot_name == name
    ]
    if len(same) != 1:
        return Blame()
    ((index, item),) = same
    for job in inventory.reports or ():
        if job.key == item.job:
            facts = (facts for facts in job.checkpoints if facts.number == item.id)
            return next(map(blame, facts), Blame())
    unit = IN_MILLISECONDS.get(recording.time_unit)
    if unit is None:
        return Blame()
    return blame(facts_of_report(report, inventory.upload["checkpoints"][index], unit))


def worst_snapshot(recording: Recording) -> Snapshot | None:
    """Return the first snapshot with the worst verdict of all; None if there is no snapshot."""
    verdicts = set(recording.snapshots.order_by().values_list("verdict", flat=True).distinct())
    worst = next((name for name in VERDICTS if name in verdicts), None)
    return recording.snapshots.filter(verdict=worst).first()


def _of_log(recording: Recording, stored: StoredRecording) -> Subject:
    counted = recording.snapshots.values_list("verdict").annotate(Count("pk")).order_by()
    verdicts = dict(counted)
    row = worst_snapshot(recording)
    worst = None
    if row is not None:
        worst = JudgedSnapshot(
            row.snapshot,
            row.verdict,
            next((item["sentence"] for item in row.verdicts if item.get("sentence")), None),
            tuple(Answer(**item) for item in row.answers),
        )
    return log.subject(
        recording.name,
        verdicts,
        worst,
        recording.defects_total,
        stored.checkpoints(),
        _troubles(recording, stored),
        next((item["sentence"] for item in recording.defects if item.get("sentence")), None),
    )


def _troubles(recording: Recording, stored: StoredRecording) -> tuple[Sentence, ...]:
    """Return what went wrong in a run, as a dataflow's log or the reader of another log says it."""
    if recording.format in TELLING:
        told = stored.manifest.header_extra.get(TOLD)
        return tuple(log.told(told if isinstance(told, list) else ()))
    if not stored.is_dataflow:
        return ()
    parameters = recording.parameters or {}
    failures = parameters.get("failures") if "topology" in parameters else None
    asked = [AskedFailure(one["process"], one["at"]) for one in failures or ()]
    return troubles(stored.failovers(), recording.time_unit, asked)
