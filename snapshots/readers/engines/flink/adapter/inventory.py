"""The inventory of an upload of Flink's."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace

from snapshots.domain.inventory.model import (
    COORDINATOR,
    IN_PROGRESS,
    KEYED,
    OPERATOR,
    RAW_KEYED,
    RAW_OPERATOR,
    UNDIVIDED,
    CheckpointInventory,
    Fact,
    JobInventory,
    MissingFile,
    OperatorInventory,
    StateInventory,
    SubtaskInventory,
    UploadInventory,
)
from snapshots.domain.model.derived import NOT_TOLD, WHY_EMPTY, WHY_UNKNOWN
from snapshots.readers.engines.flink.adapter.checkpoints import FlinkCheckpoint
from snapshots.readers.engines.flink.adapter.entries import OperatorSeen
from snapshots.readers.engines.flink.adapter.facts import (
    facts_of_checkpoint,
    facts_of_job,
    facts_of_operator,
)
from snapshots.readers.engines.flink.adapter.files import file_uses
from snapshots.readers.engines.flink.adapter.in_flight import InFlightReading
from snapshots.readers.engines.flink.adapter.runs import Run
from snapshots.readers.engines.flink.handles import Handle, Incremental
from snapshots.readers.engines.flink.metadata import Operator, Subtask
from snapshots.readers.engines.flink.rest.checkpoints import RestCheckpoint, SubtaskTimes
from snapshots.readers.engines.flink.sql.plans import Plan, of_graph
from snapshots.readers.engines.flink.upload import FlinkUpload
from snapshots.readers.formats.opaque import Opaque

INPUT, OUTPUT = "in flight, at the input", "in flight, at the output"
IN_FLIGHT, COORDINATING = "in flight", "coordinator"

Seen = Mapping[tuple[int, str], OperatorSeen]  # by number of the checkpoint and operator


def upload_inventory(
    upload: FlinkUpload,
    checkpoints: tuple[FlinkCheckpoint, ...],
    runs: Mapping[int, Run],
    in_flight: InFlightReading,
    seen: Seen,
) -> UploadInventory:
    """Return what an upload holds.

    Args:
        runs: the run of each checkpoint of which more is known than that it was there, by the
            checkpoint's number.
        seen: what came to light while the entries were read.
    """
    making = _Making(upload, in_flight, seen)
    jobs = {
        job.id or "": JobInventory(
            job.id or "", job.rest.name if job.rest else None, facts_of_job(job.rest)
        )
        for job in upload.jobs
    }
    return UploadInventory(
        "flink",
        tuple(jobs.values()),
        tuple(
            making.checkpoint(one, runs[one.number]) if one.is_described else _remains(one)
            for one in checkpoints
        ),
        file_uses(upload, checkpoints),
        upload.notes,
    )


class _Making:
    def __init__(self, upload: FlinkUpload, in_flight: InFlightReading, seen: Seen) -> None:
        self._upload = upload
        self._in_flight = in_flight
        self._seen = seen
        self._plans: dict[str | None, Plan | None] = {}

    def checkpoint(self, checkpoint: FlinkCheckpoint, run: Run) -> CheckpointInventory:
        rest, stored = checkpoint.rest, checkpoint.stored
        snapshot = run.snapshots[checkpoint.number]
        why_empty, why_unknown = checkpoint.why_empty or "", checkpoint.why_unknown or ""
        # Halves that cannot be joined are listed, so that with files all of it is known.
        is_known = checkpoint.metadata is not None and why_empty
        item = replace(
            _remains(checkpoint),
            triggered_at=checkpoint.triggered_at,
            completed_at=None if rest is None else _completed_at(rest),
            bytes=_bytes(checkpoint),
            shared=self._shared(checkpoint),
            operators=tuple(self._operators(checkpoint, run)),
            channels=tuple(one.described for one in self._in_flight.numbered(checkpoint, run)),
            missing=tuple(
                MissingFile(file.path, file.size, file.reason)
                for file in (stored.missing if stored is not None else ())
            ),
            facts=facts_of_checkpoint(checkpoint) + self._types(checkpoint, run),
            notes=tuple(_notes(checkpoint)),
            snapshot=None if snapshot == str(checkpoint.id) else snapshot,
            why_empty=WHY_EMPTY.get(why_empty),
            why_unknown=None if is_known else WHY_UNKNOWN.get(why_unknown),
            in_flight_stated=checkpoint.persisted,
        )
        return item if item.in_flight is not None else replace(item, why_empty=None)

    def _plan(self, checkpoint: FlinkCheckpoint) -> Plan | None:
        """Return what the REST API says of the job's operators; None if it says nothing."""
        job = checkpoint.job
        if job.id not in self._plans:
            graph = job.rest.graph if job.rest is not None else None
            self._plans[job.id] = None if graph is None else of_graph(graph)
        return self._plans[job.id]

    def _types(self, checkpoint: FlinkCheckpoint, run: Run) -> tuple[Fact, ...]:
        """Return the types of the records in flight, by edge."""
        facts: dict[str, Fact] = {}
        for (source, target, _), type_ in self._in_flight.types_of(checkpoint, run).items():
            name = f"records of {run.names[source]} -> {run.names[target]}"
            facts[name] = Fact(name, type_.serializer.name, type_.inferred)
        return tuple(facts.values())

    def _shared(self, checkpoint: FlinkCheckpoint) -> int | None:
        """Return the bytes of the files that other checkpoints need, too."""
        if (stored := checkpoint.readable) is None:
            return None
        sizes = self._upload.files.sizes
        users = self._upload.usage.used.items()
        return sum(sizes[file] for file, by in users if len(by) > 1 and stored.path in by)

    def _operators(self, checkpoint: FlinkCheckpoint, run: Run) -> Iterator[OperatorInventory]:
        if checkpoint.metadata is None:
            yield from _vertices(checkpoint, run)
        for operator in checkpoint.operators:
            seen = self._seen.get((checkpoint.number, operator.id), OperatorSeen())
            vertex = run.names.get(run.vertex_of(checkpoint, operator.id) or "")
            named = seen.query.named(self._upload.naming, self._plan(checkpoint))
            yield OperatorInventory(
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
                        state.kind,
                        state.type,
                        complete=state.complete,
                        type_in_full=state.type_in_full,
                        held=seen.query.held(name, named.ttl, is_complete=state.complete),
                        columns=named.states.get(name),
                    )
                    for name, state in seen.states.items()
                ),
                facts=facts_of_operator(operator, seen),
                notes=(*seen.notes, *_notes_of_operator(operator), *named.notes),
                sql=seen.query.words,
                window_clock=seen.query.clock(named.zone),
            )


def _remains(checkpoint: FlinkCheckpoint) -> CheckpointInventory:
    """Return what is known of a checkpoint that is only known to have been there."""
    return CheckpointInventory(
        job=checkpoint.job.id or "",
        id=checkpoint.id,
        kind="savepoint" if checkpoint.is_savepoint else "checkpoint",
        status=checkpoint.status,
        path=checkpoint.stored.folder if checkpoint.stored is not None else None,
        problem=_problem(checkpoint),
        why_unknown=WHY_UNKNOWN[NOT_TOLD],
    )


def _completed_at(rest: RestCheckpoint) -> int | None:
    """Return when the last acknowledgement of a completed checkpoint came, in epoch ms."""
    if rest.status != "COMPLETED":
        return None
    duration = rest.totals.duration
    if rest.totals.ack_at is None and rest.triggered_at is not None and duration is not None:
        return rest.triggered_at + duration
    return rest.totals.ack_at


def _bytes(checkpoint: FlinkCheckpoint) -> int | None:
    if checkpoint.metadata is not None:
        return checkpoint.metadata.size
    return checkpoint.rest.totals.state_size if checkpoint.rest is not None else None


def _problem(checkpoint: FlinkCheckpoint) -> str | None:
    stored, rest = checkpoint.stored, checkpoint.rest
    if rest is not None and rest.status == "FAILED":
        failure = rest.failure or "The REST API does not say why."
        if stored is None:
            return f"It failed, so that there are no files of it: {failure}"
        return f"It failed: {failure} What is left of it cannot be read. {stored.problem}"
    if stored is not None and stored.is_listed and stored.is_there and stored.problem is not None:
        return stored.problem
    if stored is not None and stored.problem is not None:
        what = "its _metadata cannot be read:" if stored.is_there else "it cannot be read."
        return f"It was there, but {what} {stored.problem}"
    if stored is not None:
        return None
    if checkpoint.status == IN_PROGRESS:
        return "It was still under way when the REST API answered: there are no files of it yet."
    who = "the log" if rest is not None and rest.places else "the REST API"
    return f"Its files are not in the upload; this is what {who} says of it."


def _notes(checkpoint: FlinkCheckpoint) -> Iterator[str]:
    if checkpoint.metadata is None:
        return
    if checkpoint.job.id is None:
        yield "Nothing in the upload says to which job it belongs."
    elif checkpoint.job.rest is None:
        yield "The upload has no REST answers about its job: times and edges are not known."
    elif checkpoint.rest is None:
        yield "The REST answers about its job do not mention it: its times are not known."
    if isinstance(properties := checkpoint.metadata.properties, Opaque):
        yield f"The last {properties.size:,} bytes of _metadata: {properties.reason}"


def _notes_of_operator(operator: Operator) -> Iterator[str]:
    without = operator.parallelism - len(operator.subtasks)
    if without and not operator.finished:
        yield f"{without:,} of {operator.parallelism:,} subtasks recorded nothing."


def _subtasks(operator: Operator) -> Iterator[SubtaskInventory]:
    if operator.coordinator is not None:
        size = operator.coordinator.size
        parts = {COORDINATING: size}
        yield SubtaskInventory(COORDINATOR, size, parts=parts, new=parts)
    yield from map(subtask_inventory, operator.subtasks)


def subtask_inventory(subtask: Subtask) -> SubtaskInventory:
    """Return what one subtask recorded."""
    handles = {
        KEYED: _present(subtask.managed_keyed),
        RAW_KEYED: _present(subtask.raw_keyed),
        OPERATOR: _present(subtask.managed_operator),
        RAW_OPERATOR: _present(subtask.raw_operator),
        INPUT: subtask.inputs,
        OUTPUT: subtask.outputs,
    }
    groups = None
    if (keyed := subtask.managed_keyed or subtask.raw_keyed) is not None and keyed.count > 0:
        groups = keyed.first, keyed.first + keyed.count - 1
    sizes = {name: sum(each.size for each in own) for name, own in handles.items() if own}
    new = {name: _uploaded(own) for name, own in handles.items() if own}
    known = {name: size for name, size in new.items() if size is not None}
    is_own = subtask.reference is None
    return SubtaskInventory(
        subtask.index, subtask.size, groups, sizes, subtask.finished, known if is_own else {}
    )


def _present(handle: Handle | None) -> tuple[Handle, ...]:
    return () if handle is None else (handle,)


def _uploaded(handles: Iterable[Handle]) -> int | None:
    """Return how many bytes the checkpoint uploaded; None if `_metadata` does not say."""
    total = 0
    for handle in handles:
        if isinstance(handle, Incremental) and handle.stored_size is None:
            return None
        total += handle.uploaded_size
    return total


def _vertices(checkpoint: FlinkCheckpoint, run: Run) -> Iterator[OperatorInventory]:
    """Yield the vertices of a checkpoint without files, of which the chains are one."""
    for vertex in checkpoint.vertices:
        yield OperatorInventory(
            id=vertex.vertex,
            name=run.names.get(vertex.vertex),
            parallelism=vertex.totals.subtasks,
            bytes=vertex.totals.state_size,
            subtasks=tuple(map(_answer, vertex.subtasks)),
            notes=("The REST API describes all operators of the vertex together.",),
        )


def _answer(subtask: SubtaskTimes) -> SubtaskInventory:
    parts = {IN_FLIGHT: subtask.persisted} if subtask.persisted else {}
    uploaded = subtask.uploaded_size
    new = {} if parts or uploaded is None else {UNDIVIDED: uploaded}
    return SubtaskInventory(subtask.index, subtask.state_size, parts=parts, new=new)
