"""Collect what a document claims of recordings and archived jobs, with the evidence of each claim.

A recording that is small enough goes into the evidence as a whole. Claims about others name the
reason why a reader cannot check them. Where a snapshot of such a recording has a finding, the
smallest part that shows it goes into the evidence, with a claim of its own.
"""

from dataclasses import dataclass, field
from typing import Any

from snapshots.archive import filling, queries
from snapshots.domain.judging.cuts import Cut, cut_at
from snapshots.domain.judging.report import SnapshotReport
from snapshots.domain.judging.verdicts import judge
from snapshots.domain.model.derived import is_derived
from snapshots.domain.model.recording import Instant, MessageId
from snapshots.domain.model.recording import Recording as Log
from snapshots.domain.model.topology import ChannelId, ProcessId
from snapshots.domain.proving import checkpoints, claims
from snapshots.domain.proving.claims import CHECKPOINT, CUT, EVENT, LOG, MESSAGE, SNAPSHOT, Says
from snapshots.domain.proving.evidence import Wanted, evidence, exact
from snapshots.domain.reviewing import place_text, places
from snapshots.domain.reviewing.place_text import NotAPlace, read_place
from snapshots.files.recordings import open_recording
from snapshots.models import EngineJob, Recording, Snapshot
from snapshots.problems import Conflict
from snapshots.quantities import counted
from snapshots.reviews import describing, resolving, small_parts
from snapshots.reviews.subjects import Subject
from snapshots.store.errors import StoreError
from snapshots.store.reader import StoredRecording
from snapshots.store.whole_log import event_count, read_log
from webapp.version import VERSION

MOST_EVENTS = 20_000  # of one recording
MOST_EVENTS_IN_ALL = 60_000  # of the recordings of one document
MOST_TASKS = 2_000  # of one checkpoint
MOST_DEFECTS = 20  # of a recording whose sentences a document names
MOST_CUTS = 100  # of one document; each is counted over a whole log
MOST_SNAPSHOTS = 20  # of a recording that is an exhibit as a whole

NOT_CLAIMED = (
    {
        "path": "logs/*/events/*/*/at",
        "why": "The times of events place them in the figures. Claims rest on the first and the "
        "last time of a log, on the times of the events and messages that they name, and on that "
        "no time falls.",
    },
    {
        "path": "checkpoints/*/path/*/to",
        "why": "No claim rests on how long a commit took.",
    },
)
"""The numbers in the data on which no claim rests; ``*`` stands for any name or number."""


class _NotChecked(Exception):
    """A claim cannot be checked in the document; the message says why."""


@dataclass
class _Source:
    """A recording whose log is in the document."""

    row: Recording
    stored: StoredRecording
    log: Log
    reports: dict[str, SnapshotReport]
    wanted: Wanted = field(default_factory=Wanted)


@dataclass
class Proof:
    """The claims of one document and their evidence, collected place by place.

    Attributes:
        claims: the claims in the order in which they were made.
        checkpoints: the data of the checkpoints that claims name.
    """

    claims: list[dict[str, Any]] = field(default_factory=list)
    checkpoints: dict[str, Any] = field(default_factory=dict)
    _sources: dict[int, _Source | str] = field(default_factory=dict)
    _made: dict[tuple[str, str, str], dict[str, Any]] = field(default_factory=dict)
    _large: set[int] = field(default_factory=set)
    _part_claims: dict[tuple[int, str], list[dict[str, Any]]] = field(default_factory=dict)
    _parts: dict[str, tuple[Log, Wanted]] = field(default_factory=dict)
    _events: int = 0
    _cuts: int = 0

    def cite(self, subject: Subject, text: str, mark: str = "") -> list[dict[str, Any]]:
        """Return the claims about a place; the same place gives the same claims.

        Args:
            subject: a recording or archived job that the reader of the document may see.
            text: the text of the place. Empty for the whole.
            mark: the mark of the place when somebody wrote about it. Empty if it had none.
        """
        whole = [] if isinstance(subject, EngineJob) else [self._once(subject, "")]
        if not text:
            return whole
        claim = self._once(subject, text, mark)
        self._add_task(claim, text)
        return [*whole, claim, *self._of_part(subject, text)]

    def _add_task(self, claim: dict[str, Any], text: str) -> None:
        """Add the times of a task that a place names to the claim about its checkpoint."""
        if claim["kind"] != CHECKPOINT or "why_not" in claim:
            return
        place = read_place(text)
        if isinstance(place, places.SubtaskPlace):
            says = checkpoints.task_says(self.checkpoints[claim["evidence"]], place.subtask)
            if says is not None:
                claim["says"]["of_tasks"][place.subtask] = says

    def snapshots_of(self, subject: Recording) -> tuple[list[dict[str, Any]], int]:
        """Return claims about the first snapshots of a recording, and how many are left out."""
        rows = list(subject.snapshots.values_list("snapshot", flat=True))
        texts = [place_text.write_place(places.SnapshotPlace(name)) for name in rows]
        made = [
            claim
            for text in texts[:MOST_SNAPSHOTS]
            for claim in (self._once(subject, text), *self._of_part(subject, text))
        ]
        return made, len(rows[MOST_SNAPSHOTS:])

    def data(self) -> dict[str, Any]:
        """Return the claims and their evidence as JSON."""
        logs = {str(key): evidence(source.log, source.wanted) for key, source in self.sources}
        parts = {key: evidence(log, wanted) for key, (log, wanted) in self._parts.items()}
        data: dict[str, Any] = exact(
            {
                "claims": self.claims,
                "logs": logs | parts,
                "checkpoints": self.checkpoints,
                "not_claimed": NOT_CLAIMED,
            }
        )
        return data

    @property
    def sources(self) -> list[tuple[int, _Source]]:
        """Return the recordings whose logs are in the document, by number."""
        items = sorted(self._sources.items())
        return [(key, source) for key, source in items if isinstance(source, _Source)]

    def defects(self) -> list[tuple[str, int, list[str]]]:
        """Return recordings with defects: the name, how many there are, and the first sentences."""
        found = [(source.row, source.stored.defects()) for _, source in self.sources]
        return [
            (str(row), item["total"], [text["sentence"] for text in item["defects"][:MOST_DEFECTS]])
            for row, item in found
            if item["total"]
        ]

    def log(self, key: str) -> Log:
        """Return the log that a claim names as its evidence."""
        if key in self._parts:
            return self._parts[key][0]
        source = self._sources[int(key)]
        assert isinstance(source, _Source)  # claims name no other evidence
        return source.log

    def _once(self, subject: Subject, text: str, mark: str = "") -> dict[str, Any]:
        """Return the claim about the place that covers a place; it is worded by itself."""
        shared = _shared(text)
        key = (f"{type(subject).__name__}:{subject.pk}", shared, mark)
        if key not in self._made:
            self._made[key] = self._claim(subject, shared, mark)
            self.claims.append(self._made[key])
        return self._made[key]

    def _claim(self, subject: Subject, text: str, mark: str) -> dict[str, Any]:
        claim: dict[str, Any] = {
            "id": f"c{len(self.claims) + 1}",
            "about": str(subject),
            "place": text,
            "kind": LOG,
            "evidence": str(subject.pk),
            "says": {},
            "sentence": "",
        }
        try:
            place = read_place(text) if text else None
            claim["sentence"] = _sentence(subject, place, text, mark)
            if isinstance(subject, EngineJob):
                claim |= self._archived(subject, place)
            else:
                claim |= self._recorded(self._source(subject), place)
        except (_NotChecked, NotAPlace, StoreError) as reason:
            claim["why_not"] = str(reason)
        return claim

    # --- recordings -------------------------------------------------------------------------------

    def _source(self, row: Recording) -> _Source:
        if row.pk not in self._sources:
            self._sources[row.pk] = self._opened(row)
        source = self._sources[row.pk]
        if isinstance(source, str):
            raise _NotChecked(source)
        return source

    def _opened(self, row: Recording) -> _Source | str:
        """Return the log of a recording, or why it is not in the document."""
        if not row.is_ready:
            return f"The recording is {row.status} and not ready, so nothing is known of it."
        stored = open_recording(row)
        events = event_count(stored)
        if events > MOST_EVENTS or self._events + events > MOST_EVENTS_IN_ALL:
            self._large.add(row.pk)
            made = f"Cutline {VERSION} made the claim from a recording of {row.created_at:%Y-%m-%d}"
            return (
                f"Not in this document: {events:,} events. A document holds at most "
                f"{MOST_EVENTS:,} of a recording and {MOST_EVENTS_IN_ALL:,} in all. {made}. "
                f"{small_parts.where_to_check(row)}"
            )
        self._events += events
        log = read_log(stored, row.name)
        return _Source(row, stored, log, {item.snapshot: item for item in judge(log)})

    def _recorded(self, source: _Source, place: places.Place | None) -> dict[str, Any]:
        """Return kind, evidence and numbers of a claim about a recording."""
        log = source.log
        match place:
            case None:
                says = claims.log_says(log)
                sentence = _sizes(says, is_derived=is_derived(log.header_extra))
                return {"kind": LOG, "says": says, "sentence": sentence}
            case places.SnapshotPlace(snapshot) | places.SnapshotChannelPlace(snapshot, _):
                return {"kind": SNAPSHOT, "says": _snapshot_says(source, snapshot)}
            case places.MomentPlace(axis, value):
                self._require_room_for_a_cut()
                is_time = axis == places.TIME
                at = cut_at(log, at=Instant(value)) if is_time else cut_at(log, step=value)
                return {"kind": CUT, "says": _cut_says(source, at)}
            case places.CutPlace(positions):
                self._require_room_for_a_cut()
                cut = Cut({ProcessId(name): count for name, count in positions})
                return {"kind": CUT, "says": _cut_says(source, cut)}
            case places.EventPlace(process, index):
                says = claims.event_says(log, ProcessId(process), index)
                source.wanted.events.add((ProcessId(process), index))
                return {"kind": EVENT, "says": says}
            case places.MessagePlace(channel, message) if not is_derived(log.header_extra):
                source.wanted.add_message(log, ChannelId(channel), MessageId(message))
                return {"kind": MESSAGE, "says": claims.message_says(log, channel, message)}
            case places.CheckpointPlace(name, _) | places.SubtaskPlace(name, _, _):
                return self._checkpoint(source, name)
            case places.StatePlace():
                raise _NotChecked("The files of the engine's state are not in this document.")
            case places.MessagePlace():
                raise _NotChecked("The recording is derived, and does not hold when it was sent.")
            case _:
                raise _NotChecked("A note on this does not keep the moment that the screen showed.")

    def _require_room_for_a_cut(self) -> None:
        """Count one more cut. Raises: _NotChecked if the document has enough of them."""
        if self._cuts >= MOST_CUTS:
            raise _NotChecked(
                f"Not in this document: it holds the first {MOST_CUTS:,} moments and cuts, and "
                "this is a later one."
            )
        self._cuts += 1

    def _checkpoint(self, source: _Source, name: str) -> dict[str, Any]:
        reports = {report["checkpoint"]: report for report in source.stored.checkpoints()}
        if name not in reports:
            raise _NotChecked("The upload does not hold the times of this checkpoint.")
        key = f"{source.row.pk}:{name}"
        return self._with_data(
            key,
            checkpoints.reported_says(reports[name]),
            checkpoints.reported_data(reports[name]),
            source.stored.manifest.time_unit,
        )

    # --- parts of recordings that are too large ---------------------------------------------------

    def _of_part(self, subject: Subject, text: str) -> list[dict[str, Any]]:
        """Return the claim about the part of a large recording that shows a finding, if any."""
        snapshot = self._large_snapshot(subject, text)
        if snapshot is None:
            return []
        key = (subject.pk, snapshot.snapshot)
        if key not in self._part_claims:
            self._part_claims[key] = self._claim_of_part(snapshot, self._once(subject, text))
        return self._part_claims[key]

    def _large_snapshot(self, subject: Subject, text: str) -> Snapshot | None:
        """Return the snapshot of a place, if its recording is too large for a document."""
        if isinstance(subject, EngineJob) or subject.pk not in self._large:
            return None
        try:
            place = read_place(text)
        except NotAPlace:
            return None
        if not isinstance(place, places.SnapshotPlace | places.SnapshotChannelPlace):
            return None
        return Snapshot.objects.filter(recording=subject, snapshot=place.snapshot).first()

    def _claim_of_part(self, row: Snapshot, whole: dict[str, Any]) -> list[dict[str, Any]]:
        """Return the claim about a part; without one, add the reason to the claim about all."""
        try:
            if len(self._parts) >= small_parts.MOST_PARTS:
                raise Conflict(f"A document holds {small_parts.MOST_PARTS} parts of recordings.")
            part = small_parts.small_part(row)
        except (Conflict, StoreError) as reason:
            whole["why_not"] += f" {reason}"
            return []
        key, wanted = f"part of {row.recording_id}: {row.snapshot}", Wanted()
        wanted.add_snapshot(part.log, part.report)
        self._parts[key] = (part.log, wanted)
        claim = {
            "id": f"c{len(self.claims) + 1}",
            "about": f"a part of {row.recording}",
            "place": whole["place"],
            "kind": SNAPSHOT,
            "evidence": key,
            "is_part": True,
            "says": claims.snapshot_says(part.log, part.report),
            "sentence": part.sentence,
        }
        self.claims.append(claim)
        return [claim]

    # --- archived jobs ----------------------------------------------------------------------------

    def _archived(self, job: EngineJob, place: places.Place | None) -> dict[str, Any]:
        if not isinstance(place, places.CheckpointPlace | places.SubtaskPlace):
            raise _NotChecked("An archived job holds checkpoints, and no log.")
        number = resolving.archived_number(place.checkpoint)
        facts = filling.facts_of(queries.checkpoint(job, place.pipeline, number))
        key = f"job {job.pk}:{place.pipeline}:{number}"
        says, data = checkpoints.archived_says(facts), checkpoints.archived_data(facts)
        return self._with_data(key, says, data, "ms")

    def _with_data(
        self, key: str, says: Says, data: dict[str, Any], time_unit: str
    ) -> dict[str, Any]:
        if len(data["tasks"]) > MOST_TASKS:
            raise _NotChecked(
                f"Not in this document: {len(data['tasks']):,} tasks, which is more than "
                f"{MOST_TASKS:,}."
            )
        self.checkpoints[key] = data | {"time_unit": time_unit}
        return {"kind": CHECKPOINT, "evidence": key, "says": says | {"time_unit": time_unit}}


def _shared(text: str) -> str:
    """Return the place whose claim covers a place: a snapshot its channels, and so on."""
    try:
        place = read_place(text) if text else None
    except NotAPlace:
        return text
    match place:
        case places.SnapshotChannelPlace(snapshot, _):
            return place_text.write_place(places.SnapshotPlace(snapshot))
        case places.SubtaskPlace(checkpoint, pipeline, _):
            return place_text.write_place(places.CheckpointPlace(checkpoint, pipeline))
        case _:
            return text


def _sentence(subject: Subject, place: places.Place | None, text: str, mark: str) -> str:
    """Return the sentence about a place, or why there is none. Raises: _NotChecked."""
    if place is None:
        return ""
    resolved = resolving.resolve(subject, text, mark)
    if resolved.state != resolving.THERE:
        raise _NotChecked(resolved.reason)
    return describing.describe(subject, place)


def _sizes(says: Says, *, is_derived: bool) -> str:
    """Word the sizes of a log; not all of its messages need have arrived."""
    arrived = "whether they arrived is not known"
    if not is_derived:
        arrived = f"of which {says['arrived']:,} arrived"
    parts = [
        counted(says["events"], "event"),
        f"{counted(says['messages'], 'message')}, {arrived}",
        counted(says["markers"], "marker"),
    ]
    if says["strays"]:
        parts.append(f"{counted(says['strays'], 'receive')} without a send")
    return f"the log has {'; '.join(parts)}"


def _cut_says(source: _Source, cut: Cut) -> Says:
    whole = Cut({item.id: cut.position(item.id) for item in source.log.topology.processes})
    source.wanted.add_cut(source.log, whole)
    return claims.cut_says(source.log, whole)


def _snapshot_says(source: _Source, snapshot: str) -> Says:
    """Return the contents of a snapshot with the verdict that Cutline keeps and shows."""
    row = Snapshot.objects.get(recording=source.row, snapshot=snapshot)
    report = source.reports[snapshot]
    source.wanted.add_snapshot(source.log, report)
    says = claims.snapshot_says(source.log, report)
    kept = {
        "verdict": row.verdict,
        "counts": {item["verdict"]: item["count"] for item in row.verdict_counts},
        "positions": row.positions,
    }
    if row.answers:
        kept["answers"] = {item["question"]: item["answer"] for item in row.answers}
    return says | kept
