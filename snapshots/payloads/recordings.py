"""Payloads of recordings and their snapshots.

Instants are in the recording's time unit; dates are ISO 8601 in UTC.
"""

from collections.abc import Iterable
from typing import Annotated, Any

from typing_extensions import TypedDict  # pydantic needs it before Python 3.12

from snapshots.domain.judging.answers import Answer
from snapshots.domain.model import defects
from snapshots.models import Job, Recording, Snapshot
from snapshots.payloads.dates import date
from snapshots.payloads.declaring import Payload, described, documented, list_of, payload_of
from snapshots.payloads.notes import notes_of
from snapshots.payloads.teams import OwningTeam, team_of
from snapshots.problems import LISTED_DEFECTS
from snapshots.readers.engines import registry
from snapshots.store import manifest


@described
class Counts(TypedDict):
    """The numbers of events, messages and other items in a recording.

    Attributes:
        events: how many events there are, including the events of the snapshot protocol.
        messages: how many messages were sent.
        markers: how many markers were sent.
        processes: how many processes there are.
        channels: how many channels there are.
        snapshots: how many snapshots there are.
        defects: how many defects the input had.
    """

    events: int
    messages: int
    markers: int
    processes: int
    channels: int
    snapshots: int
    defects: int


Extent = Annotated[dict[str, Any], Payload(payload_of(manifest.Extent))]
AnswerItem = Annotated[dict[str, Any], Payload(payload_of(Answer, "AnswerItem"))]
Defect = Annotated[
    dict[str, Any], Payload(payload_of(defects.Defect, optional=["process", "count"]))
]


@described
class RecordingSummary(TypedDict):
    """A recording.

    Attributes:
        id: the number of the recording.
        name: the name that people gave it.
        status: ``open``, ``queued``, ``running``, ``ready``, ``refused`` or ``failed``.
        format: the format in which the input is read.
        sample: whether it is a sample, which everybody can read and nobody can change.
        team: the team that owns it; null for your own and for samples.
        description: what to look for in a sample; empty for all others.
        time_unit: the unit of all instants and durations of the recording.
        created_at: when the recording was uploaded or simulated, as ISO 8601 in UTC.
        size: the bytes of the upload.
        counts: the numbers of items in the recording; all are 0 until it is ready.
        extent: its first and last instant, and its number of events.
        job: the number of the recording's newest job; null if there is none.
        error: why the recording was refused or could not be read; null if neither happened.
    """

    id: int
    name: str
    status: str
    format: str
    sample: bool
    team: OwningTeam | None
    description: str
    time_unit: str
    created_at: str
    size: int
    counts: Counts
    extent: Extent
    job: int | None
    error: dict[str, Any] | None


@described
class ListedRecording(RecordingSummary):
    """A recording in a list of recordings.

    Attributes:
        outcomes: how many of its snapshots have each outcome, the most serious first.
        answers: for each of the four questions how many snapshots have each answer; empty if the
            recording has more than 500 snapshots.
        goes_at: when the retention setting of its owner removes the recording; null if it is kept,
            as every recording with notes is.
    """

    outcomes: dict[str, int]
    answers: dict[str, dict[str, int]]
    goes_at: str | None


@described
class RecordingDetail(RecordingSummary):
    """A recording with its defects and the names of its snapshots.

    Attributes:
        recognised: how its format was recognised, as a sentence; null where that is not known.
        notes: what such a log cannot show, as sentences.
        defects: the first 100 defects.
        defects_total: how many defects the input had.
        snapshots: the ids of the snapshots, in the order in which they began.
    """

    recognised: str | None
    notes: list[str]
    defects: list[Defect]
    defects_total: int
    snapshots: list[str]


RecordingList = list_of(ListedRecording, "RecordingList")
DefectList = list_of(Defect, "DefectList")


@described
class VerdictCount(TypedDict):
    """How often a snapshot has a verdict.

    Attributes:
        verdict: the name of the verdict.
        count: how many findings have this verdict.
    """

    verdict: str
    count: int


@described
class SnapshotSummary(TypedDict):
    """One snapshot, judged.

    Attributes:
        snapshot: the id of the snapshot.
        verdict: the worst verdict.
        outcome: the word that lists show: the verdict, ``not known`` if that is unknown, and for
            the checkpoint of an engine ``damaged``, ``failed``, ``in progress`` or ``not judged``.
        answers: the four answers, in the order of cut, channels, states and rule; empty where the
            snapshot was judged by an older version: ingest the recording again to have them.
        verdicts: the findings, the worst verdict first, and at most 100 of each verdict.
        verdict_counts: how many findings each verdict has, listed or not.
        initiators: the processes that began it.
        began_at: the instant of its first event, in the time unit; null where it has none.
        ended_at: the instant of its last event, in the time unit; null where it has none.
        duration: the time from the first event to the last, in the time unit; null where it has
            none, and where the files of an engine do not tell it.
        markers_sent: how many of its markers were sent.
        markers_received: how many of its markers were received.
        positions: for each process the index at which it recorded; a process that never recorded
            is absent.
        totals: the sums of all states and contents, where they are numbers; null where they are
            not.
    """

    snapshot: str
    verdict: str
    outcome: str
    answers: list[AnswerItem]
    verdicts: list[dict[str, Any]]
    verdict_counts: list[VerdictCount]
    initiators: list[str]
    began_at: int | None
    ended_at: int | None
    duration: int | None
    markers_sent: int
    markers_received: int
    positions: dict[str, int]
    totals: dict[str, Any] | None


@described
class BriefSnapshot(TypedDict):
    """One snapshot in as few words as a long list takes.

    Attributes:
        snapshot: the id of the snapshot.
        verdict: the worst verdict.
        outcome: the word that lists show, as in the snapshot itself.
        answers: the answer to each of the four questions; empty where the snapshot was judged by an
            older version.
        began_at: the instant of its first event, in the time unit; null where it has none.
        ended_at: the instant of its last event, in the time unit; null where it has none.
        recorded: how many processes recorded their state.
        events: how many events lie inside the cut; null where a process of the recording did not
            record, so that the cut does not pass there.
    """

    snapshot: str
    verdict: str
    outcome: str
    answers: dict[str, str]
    began_at: int | None
    ended_at: int | None
    recorded: int
    events: int | None


_NEXT = {
    "next": documented(
        str | None, "The id after which the next page begins; null where this is the last one."
    )
}
SnapshotList = list_of(SnapshotSummary, "SnapshotList", more=_NEXT)
BriefSnapshotList = list_of(BriefSnapshot, "BriefSnapshotList", more=_NEXT)


@described
class Accepted(TypedDict):
    """The request was accepted, and its work has begun.

    Attributes:
        id: the number of the recording.
        job: the number of the job that does the work.
    """

    id: int
    job: int


@described
class SameFile(TypedDict):
    """A recording of the same file, by its SHA-256.

    Attributes:
        id: the number of the recording.
        name: the name of the recording.
        created_at: when the file was uploaded.
    """

    id: int
    name: str
    created_at: str


@described
class AcceptedRecording(TypedDict):
    """An upload that was accepted as a recording.

    Attributes:
        id: the number of the recording.
        job: the number of the job that does the work; null if the upload was a recording with its
            notes that is here already, so that there is nothing to read.
        format: the format in which the input is read.
        recognised: how the format was recognised, as a sentence; null if it is known only
            after unpacking.
        notes: what became of the notes, in sentences; null if the upload was no recording with its
            notes.
        same_file: up to 5 other recordings of the same file that you may see, the newest first.
            Recordings that older versions took are not among them: their hashes are not known.
    """

    id: int
    job: int | None
    format: str
    recognised: str | None
    notes: str | None
    same_file: list[SameFile]


@described
class AcceptedUpload(AcceptedRecording):
    """The answer to an upload: its first recording, and a list of all its recordings.

    Attributes:
        recordings: all recordings, where several files came in one request.
    """

    recordings: list[AcceptedRecording]


def recording_summary(row: Recording, job: int | None) -> RecordingSummary:
    """Return the fields that lists show of a recording. ``job`` is the id of its newest job."""
    return {
        "id": row.pk,
        "name": row.name,
        "status": row.status,
        "format": row.format,
        "sample": row.is_sample,
        "team": team_of(row),
        "description": row.description,
        "time_unit": row.time_unit,
        "created_at": date(row.created_at),
        "size": row.size,
        "counts": {
            "events": row.event_count,
            "messages": row.message_count,
            "markers": row.marker_count,
            "processes": row.process_count,
            "channels": row.channel_count,
            "snapshots": row.snapshot_count,
            "defects": row.defects_total,
        },
        "extent": {"from": row.began_at, "to": row.ended_at, "steps": row.event_count},
        "job": job,
        "error": row.error,
    }


def recording_detail(row: Recording) -> RecordingDetail:
    return {
        **recording_summary(row, newest_job(row)),
        "recognised": recognised(row),
        "notes": notes_of(row),
        "defects": row.defects[:LISTED_DEFECTS],
        "defects_total": row.defects_total,
        "snapshots": list(row.snapshots.order_by("code").values_list("snapshot", flat=True)),
    }


def recognised(row: Recording) -> str | None:
    return (row.parameters or {}).get("recognised")


def accepted_recording(
    row: Recording, job: Job | None, same: Iterable[Recording], notes: str | None = None
) -> AcceptedRecording:
    """Return the answer to one uploaded file. ``same`` are other recordings of the same file."""
    return {
        "id": row.pk,
        "job": None if job is None else job.pk,
        "format": row.format,
        "recognised": recognised(row),
        "notes": notes,
        "same_file": [
            {"id": other.pk, "name": other.name, "created_at": date(other.created_at)}
            for other in same
        ],
    }


def newest_job(row: Recording) -> int | None:
    return row.jobs.order_by("-pk").values_list("pk", flat=True).first()


def snapshot_summary(row: Snapshot, outcome: str) -> SnapshotSummary:
    """Return the fields that lists show of a snapshot. ``outcome`` is its word for lists."""
    return {
        "snapshot": row.snapshot,
        "verdict": row.verdict,
        "outcome": outcome,
        "answers": row.answers,
        "verdicts": row.verdicts,
        "verdict_counts": row.verdict_counts,
        "initiators": row.initiators,
        "began_at": row.began_at,
        "ended_at": row.ended_at,
        "duration": _duration(row),
        "markers_sent": row.markers_sent,
        "markers_received": row.markers_received,
        "positions": row.positions,
        "totals": row.totals,
    }


def _duration(row: Snapshot) -> int | None:
    """Return how long a snapshot took, or None if that is not known.

    An engine's checkpoint takes time. If its events have one instant, the files tell no other.
    """
    if row.began_at is None or row.ended_at is None:
        return None
    duration = row.ended_at - row.began_at
    return None if duration == 0 and row.recording.format in registry.READERS else duration
