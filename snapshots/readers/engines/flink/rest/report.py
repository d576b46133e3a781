"""Convert answers of Flink's REST API into the report from which the first answer is made."""

from collections import Counter
from collections.abc import Iterator, Mapping

from snapshots.domain.answering import job_report
from snapshots.domain.answering.job_report import JobFailure, JobReport, JobRestore, TaskLoad
from snapshots.readers.engines.flink.rest import answers
from snapshots.readers.engines.flink.rest.archive import facts_of
from snapshots.readers.engines.flink.rest.job import RestException, RestJob
from snapshots.readers.engines.flink.rest.load import VertexLoad
from snapshots.readers.formats.stack_traces import first_cause, shortened

_LONGEST_NAME = 200
_LONGEST_PATH = 500
_KINDS = {
    answers.JOB: job_report.JOB,
    answers.CHECKPOINTS: job_report.CHECKPOINTS,
    answers.EXCEPTIONS: job_report.EXCEPTIONS,
    answers.BACK_PRESSURE: job_report.BACK_PRESSURE,
}


def report_of(rest: RestJob) -> JobReport:
    """Return what Flink said of a job."""
    names = _names(rest)
    measured = [load.measured_at for load in rest.loads if load.measured_at is not None]
    vertices = dict.fromkeys((*names, *(load.vertex for load in rest.loads)))
    is_measured = {load.vertex for load in rest.loads if load.is_measured}
    return JobReport(
        key=rest.id,
        state=None if rest.state is None else rest.state.lower()[:_LONGEST_NAME],
        asked_at=rest.asked_at,
        answers=tuple(name for kind, name in _KINDS.items() if kind in rest.kinds),
        counts=rest.counts or None,
        checkpoints=facts_of(rest.checkpoints, names),
        failures=tuple(map(_failure, rest.exceptions)),
        has_more_failures=rest.has_more_exceptions,
        restore=_restore(rest),
        measured_at=max(measured, default=None),
        loads=tuple(load for vertex in rest.loads for load in _loads(vertex, names)),
        not_measured=tuple(_named(id, names) for id in vertices if id not in is_measured),
        edges=_edges(rest, names),
        no_checkpoints=_no_checkpoints(rest),
        errors=rest.errors,
        removed=tuple(each.id for each in rest.checkpoints if each.discarded),
        is_of_log=rest.is_of_log,
    )


def _no_checkpoints(rest: RestJob) -> str | None:
    if rest.is_off:
        return job_report.OFF
    return job_report.NOT_PERIODIC if rest.is_not_periodic else None


def _names(rest: RestJob) -> dict[str, str]:
    """Return a name for each vertex by id; those of one name get the beginning of their ids."""
    vertices = rest.graph.vertices if rest.graph else ()
    counts = Counter(vertex.name for vertex in vertices)
    return rest.logged_vertices | {
        vertex.id: vertex.name if counts[vertex.name] == 1 else f"{vertex.name} ({vertex.id[:8]})"
        for vertex in vertices
    }


def _named(vertex: str, names: Mapping[str, str]) -> str:
    return (names.get(vertex) or f"vertex {vertex[:8]}")[:_LONGEST_NAME]


def _restore(rest: RestJob) -> JobRestore | None:
    last = rest.restore
    if last is None:
        return None
    path = None if last.path is None else last.path[:_LONGEST_PATH]
    return JobRestore(last.id, last.at, last.is_savepoint, path, last.place)


def _edges(rest: RestJob, names: Mapping[str, str]) -> tuple[tuple[str, str], ...] | None:
    if rest.graph is None:
        return None
    pairs = (
        (_named(edge.source, names), _named(target.id, names))
        for target, edge in rest.graph.edges()
        if edge.source in names
    )
    return tuple(dict.fromkeys(pairs))


def _loads(vertex: VertexLoad, names: Mapping[str, str]) -> Iterator[TaskLoad]:
    for index, load in vertex.subtasks.items():
        yield TaskLoad(
            _named(vertex.vertex, names),
            index,
            load.busy,
            load.back_pressured,
            load.idle,
            load.busy_ms,
            load.back_pressured_ms,
            load.running_ms,
        )


def _failure(exception: RestException) -> JobFailure:
    name, message = first_cause(exception.text)
    return JobFailure(
        exception.at,
        _clipped(name or exception.name),
        message,
        _clipped(exception.task),
        shortened(exception.text),
        exception.place,
    )


def _clipped(text: str | None) -> str | None:
    return None if text is None else text[:_LONGEST_NAME]
