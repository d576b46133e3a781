"""Convert answers of Flink's REST API into the report from which the first answer is made."""

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise, takewhile

from snapshots.domain.answering import job_report
from snapshots.domain.answering.job_report import JobFailure, JobReport, JobRestore, TaskLoad
from snapshots.readers.engines.flink.rest import answers
from snapshots.readers.engines.flink.rest.archive import facts_of
from snapshots.readers.engines.flink.rest.job import RestException, RestJob
from snapshots.readers.engines.flink.rest.load import VertexLoad
from snapshots.readers.engines.flink.text_logs.reading import LOG

LONGEST_MESSAGE = 500  # characters
LONGEST_TRACE = 4_000  # characters of a stack trace that are shown
_LONGEST_NAME = 200
_KINDS = {
    answers.JOB: job_report.JOB,
    answers.CHECKPOINTS: job_report.CHECKPOINTS,
    answers.EXCEPTIONS: job_report.EXCEPTIONS,
    answers.BACK_PRESSURE: job_report.BACK_PRESSURE,
}
_CAUSED_BY = "Caused by: "
_PYTHON_TRACEBACK = "Traceback (most recent call last):"
_PYTHON_RAISED = re.compile(r"[A-Za-z_][\w.]*(?:: |$)")
_CLASS = re.compile(r"[\w.$]+(?:Exception|Error|Throwable|Failure)\b")


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
        is_of_log=LOG in rest.kinds,
    )


def _no_checkpoints(rest: RestJob) -> str | None:
    if rest.is_off:
        return job_report.OFF
    return job_report.NOT_PERIODIC if rest.is_not_periodic else None


def _names(rest: RestJob) -> dict[str, str]:
    """Return a name for each vertex by id; those of one name get the beginning of their ids."""
    vertices = rest.graph.vertices if rest.graph else ()
    counts = Counter(vertex.name for vertex in vertices)
    return {
        vertex.id: vertex.name if counts[vertex.name] == 1 else f"{vertex.name} ({vertex.id[:8]})"
        for vertex in vertices
    }


def _named(vertex: str, names: Mapping[str, str]) -> str:
    return (names.get(vertex) or f"vertex {vertex[:8]}")[:_LONGEST_NAME]


def _restore(rest: RestJob) -> JobRestore | None:
    last = rest.restore
    if last is None:
        return None
    path = None if last.path is None else last.path[:LONGEST_MESSAGE]
    return JobRestore(last.id, last.at, last.is_savepoint, path)


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
        _shortened(exception.text),
        exception.place,
    )


def _shortened(trace: str) -> str:
    """Return a stack trace, or its beginning and how much more it has."""
    if len(trace) <= LONGEST_TRACE:
        return trace
    left_out = len(trace) - LONGEST_TRACE
    return f"{trace[:LONGEST_TRACE]}\n… {left_out:,} more characters are not shown."


def _clipped(text: str | None) -> str | None:
    return None if text is None else text[:_LONGEST_NAME]


def first_cause(trace: str) -> tuple[str | None, str | None]:
    """Return class and message of the innermost cause that has a message; None if none has one.

    A cause that quotes a traceback of Python is replaced by the exception that Python raised.
    """
    lines = trace.splitlines()
    heads = [
        number
        for number, line in enumerate(lines)
        if line.startswith(_CAUSED_BY) or (number == 0 and line.strip())
    ]
    causes = [
        _raised_by_python(lines[head + 1 : end])
        if lines[head].endswith(_PYTHON_TRACEBACK)
        else _class_and_message(lines[head].removeprefix(_CAUSED_BY))
        for head, end in pairwise([*heads, len(lines)])
    ]
    with_message = [cause for cause in causes if cause[1]]
    return (with_message or causes or [(None, None)])[-1]


def _raised_by_python(lines: Sequence[str]) -> tuple[str | None, str | None]:
    """Return class and message of what Python raised first: the line after the frames.

    Python prints an exception before those that it caused.


    Args:
        lines: the traceback, and after it the frames of Java.
    """
    traceback = list(takewhile(lambda line: not line.startswith("\tat "), lines))
    raised = [
        line
        for frame, line in pairwise(traceback)
        if frame.startswith("  ") and _PYTHON_RAISED.match(line)
    ]
    if not raised:
        return None, None
    name, _, message = raised[0].partition(": ")
    return name, message.strip()[:LONGEST_MESSAGE] or None


def _class_and_message(line: str) -> tuple[str | None, str | None]:
    """Split ``java.io.IOException: No space left`` after its class, which may be missing."""
    name, _, message = line.strip().partition(": ")
    if _CLASS.fullmatch(name):
        return name, message.strip()[:LONGEST_MESSAGE] or None
    return None, line.strip()[:LONGEST_MESSAGE] or None
