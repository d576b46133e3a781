"""What an upload of Flink's holds, in the words of every engine."""

from collections.abc import Iterator

from snapshots.domain.inventory.model import (
    COORDINATOR,
    KEYED,
    OPERATOR,
    RAW_KEYED,
    RAW_OPERATOR,
    CheckpointInventory,
    Fact,
    JobInventory,
    MissingFile,
    OperatorInventory,
    StateInventory,
    SubtaskInventory,
    UploadInventory,
)
from snapshots.domain.model.derived import WHY_EMPTY, WHY_UNKNOWN
from snapshots.readers.engines.derived_log import present
from snapshots.readers.engines.flink.adapter.channels import InFlightReading
from snapshots.readers.engines.flink.adapter.emptiness import why_empty, why_unknown
from snapshots.readers.engines.flink.adapter.entries import OperatorSeen
from snapshots.readers.engines.flink.adapter.facts import (
    facts_of_checkpoint,
    facts_of_job,
    facts_of_operator,
)
from snapshots.readers.engines.flink.adapter.files import file_uses
from snapshots.readers.engines.flink.adapter.places import Place
from snapshots.readers.engines.flink.adapter.runs import Run
from snapshots.readers.engines.flink.handles import Handle
from snapshots.readers.engines.flink.metadata import Operator, Subtask
from snapshots.readers.engines.flink.rest.checkpoints import RestCheckpoint, SubtaskTimes
from snapshots.readers.engines.flink.upload import FlinkUpload
from snapshots.readers.formats.opaque import Opaque

INPUT, OUTPUT = "in flight, at the input", "in flight, at the output"
IN_FLIGHT, COORDINATING = "in flight", "coordinator"

Seen = dict[tuple[int, str], OperatorSeen]  # by place and operator


def upload_inventory(
    upload: FlinkUpload,
    places: tuple[Place, ...],
    runs: dict[int, Run],
    in_flight: InFlightReading,
    seen: Seen,
) -> UploadInventory:
    """runs: by place. seen: what reading the entries has told."""
    made = _Making(upload, runs, in_flight, seen)
    jobs = {
        job.id or "": JobInventory(job.id or "", job.rest and job.rest.name, facts_of_job(job.rest))
        for job in upload.jobs
    }
    return UploadInventory(
        "flink",
        tuple(jobs.values()),
        tuple(map(made.checkpoint, places)),
        file_uses(upload, places),
    )


class _Making:
    def __init__(
        self,
        upload: FlinkUpload,
        runs: dict[int, Run],
        in_flight: InFlightReading,
        seen: Seen,
    ) -> None:
        self._upload = upload
        self._runs = runs
        self._in_flight = in_flight
        self._seen = seen

    def checkpoint(self, place: Place) -> CheckpointInventory:
        rest, run = place.rest, self._runs[place.number]
        numbered = self._in_flight.numbered(place, run)
        return CheckpointInventory(
            job=place.job.id or "",
            id=place.id,
            kind="savepoint" if place.is_savepoint else "checkpoint",
            status=place.status,
            path=place.stored.folder if place.stored is not None else None,
            triggered_at=rest and rest.triggered_at,
            completed_at=rest and completed_at(rest),
            bytes=_bytes(place),
            shared=self._shared(place),
            operators=tuple(self._operators(place, run)),
            channels=tuple(one.described for one in numbered),
            missing=tuple(
                MissingFile(one.path, one.size, one.reason)
                for one in (place.stored.missing if place.stored is not None else ())
            ),
            facts=facts_of_checkpoint(place) + self._types(place, run),
            notes=tuple(_notes(place)),
            problem=_problem(place),
            snapshot=_named(run.snapshots[place.number], place),
            **_whys(place),
        )

    def _types(self, place: Place, run: Run) -> tuple[Fact, ...]:
        """Of the records in flight, by edge."""
        found: dict[str, Fact] = {}
        for (source, target, _), type_ in self._in_flight.types_of(place, run).items():
            name = f"records of {run.names[source]} -> {run.names[target]}"
            found[name] = Fact(name, type_.serializer.name, type_.inferred)
        return tuple(found.values())

    def _shared(self, place: Place) -> int | None:
        """Bytes of the files that other checkpoints need, too."""
        if not place.has_files:
            return None
        used, path = self._upload.usage.used, place.stored.path
        sizes = self._upload.files.sizes
        return sum(sizes[file] for file, by in used.items() if len(by) > 1 and path in by)

    def _operators(self, place: Place, run: Run) -> Iterator[OperatorInventory]:
        if place.has_files:
            for operator in place.stored.metadata.operators:
                yield self._operator(place, run, operator)
        elif place.rest is not None:
            yield from _of_rest(place.rest, run)

    def _operator(self, place: Place, run: Run, operator: Operator) -> OperatorInventory:
        seen = self._seen.get((place.number, operator.id), OperatorSeen())
        vertex = run.names.get(run.vertex_of(place, operator.id) or "")
        return OperatorInventory(
            id=operator.id,
            name=operator.name,
            parallelism=operator.parallelism,
            max_parallelism=operator.max_parallelism,
            uid=operator.uid,
            vertex=vertex if vertex != operator.name else None,
            bytes=operator.size,
            finished=operator.finished,
            subtasks=tuple(_subtasks(operator)),
            states=tuple(
                StateInventory(
                    name,
                    one.kind,
                    one.type,
                    complete=one.complete,
                    type_in_full=one.type_in_full,
                )
                for name, one in seen.states.items()
            ),
            facts=facts_of_operator(operator, seen),
            notes=(*seen.notes, *_notes_of_operator(operator)),
        )


def _whys(place: Place) -> dict[str, str | None]:
    """Halves that cannot be joined are listed, so that with files all of it is known."""
    empty, unknown = why_empty(place), why_unknown(place)
    return {
        "why_empty": WHY_EMPTY.get(empty),
        "why_unknown": None if place.has_files and empty else WHY_UNKNOWN.get(unknown),
    }


def _named(snapshot: str, place: Place) -> str | None:
    return None if snapshot == str(place.id) else snapshot


def completed_at(rest: RestCheckpoint) -> int | None:
    """When the last acknowledgement came, of a checkpoint that completed."""
    if rest.status != "COMPLETED":
        return None
    if rest.totals.ack_at is None and None not in (rest.triggered_at, rest.totals.duration):
        return rest.triggered_at + rest.totals.duration
    return rest.totals.ack_at


def _bytes(place: Place) -> int | None:
    if place.has_files:
        return place.stored.metadata.size
    return place.rest and place.rest.totals.state_size


def _problem(place: Place) -> str | None:
    if place.stored is None:
        if place.rest.status == "FAILED":
            failure = place.rest.failure or "The REST API does not say why."
            return f"It failed, so that there are no files of it: {failure}"
        return "Its files are not in the upload; this is what the REST API says of it."
    if place.stored.problem:
        return f"Its _metadata cannot be read: {place.stored.problem}"
    return None


def _notes(place: Place) -> Iterator[str]:
    if not place.has_files:
        return
    if place.job.id is None:
        yield "Nothing in the upload tells of which job it is."
    elif place.job.rest is None:
        yield "The upload has no answers of the REST API about its job: no times, no edges."
    elif place.rest is None:
        yield "The answers of the REST API do not tell of it: its times are not known."
    if isinstance(properties := place.stored.metadata.properties, Opaque):
        yield f"The last {properties.size:,} bytes of _metadata: {properties.reason}"


def _notes_of_operator(operator: Operator) -> Iterator[str]:
    without = operator.parallelism - len(operator.subtasks)
    if without and not operator.finished:
        yield f"{without:,} of {operator.parallelism:,} subtasks recorded nothing."
    if size := sum(one.raw_keyed.size for one in operator.subtasks if one.raw_keyed is not None):
        yield f"{size:,} bytes of raw keyed state, whose content is private to the operator."


def _subtasks(operator: Operator) -> Iterator[SubtaskInventory]:
    if operator.coordinator is not None:
        size = operator.coordinator.size
        yield SubtaskInventory(COORDINATOR, size, parts={COORDINATING: size})
    yield from map(subtask_inventory, operator.subtasks)


def subtask_inventory(one: Subtask) -> SubtaskInventory:
    parts = {
        KEYED: _size(one.managed_keyed),
        RAW_KEYED: _size(one.raw_keyed),
        OPERATOR: _size(one.managed_operator),
        RAW_OPERATOR: _size(one.raw_operator),
        INPUT: sum(handle.size for handle in one.inputs) if one.inputs else None,
        OUTPUT: sum(handle.size for handle in one.outputs) if one.outputs else None,
    }
    groups = None
    if (keyed := one.managed_keyed or one.raw_keyed) is not None and keyed.count > 0:
        groups = keyed.first, keyed.first + keyed.count - 1
    return SubtaskInventory(
        one.index,
        one.size,
        groups,
        present(parts),
        one.finished,
    )


def _size(handle: Handle | None) -> int | None:
    return None if handle is None else handle.size


def _of_rest(rest: RestCheckpoint, run: Run) -> Iterator[OperatorInventory]:
    """The vertices, where there are no files: their chains are one."""
    for one in rest.vertices:
        yield OperatorInventory(
            id=one.vertex,
            name=run.names.get(one.vertex),
            parallelism=one.totals.subtasks,
            bytes=one.totals.state_size,
            subtasks=tuple(map(_told, one.subtasks)),
            notes=("What the REST API says of all operators of the vertex together.",),
        )


def _told(one: SubtaskTimes) -> SubtaskInventory:
    parts = {IN_FLIGHT: one.persisted} if one.persisted else {}
    return SubtaskInventory(one.index, one.state_size, parts=parts)
