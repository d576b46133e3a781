"""Recognise answers of Flink's REST API in JSON files, by their path in the API or their content.

These ways of keeping answers are read:

* one file per answer with any name, or several answers in a file, one behind the other or in a
  list; an ``index.json`` beside them may map files to {"path"};
* one file per answer, named like the path in the API, as a History Server unpacks them;
* the archive of a History Server: one file, {"archive": [{path, json}]}.
"""

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from typing import Any

from snapshots.readers.engines.flink.rest import error_answers
from snapshots.readers.engines.flink.rest.documents import NotDocuments, documents
from snapshots.readers.engines.flink.rest.fields import items, mapping, text

LARGEST = 32 * 2**20  # bytes of one file
LARGEST_TOTAL = 128 * 2**20  # bytes of all files together

JOB = "job"
PLAN = "plan"
CHECKPOINTS = "checkpoints"
CHECKPOINT = "checkpoint"
SUBTASKS = "subtasks"
CHECKPOINT_CONFIG = "checkpoint config"
EXCEPTIONS = "exceptions"
BACK_PRESSURE = "back pressure"
VERTEX = "vertex"
CLUSTER = "cluster"
JOBS = "jobs"  # an overview of jobs, or an application with its jobs
OFF = "checkpointing off"  # Flink says that the job takes no checkpoints
ERROR = "error"
INDEX = "index"
LOG = "log"  # a log of Flink's tells of the job; its value has the names of vertices by id
NOT_USED = "not used"  # a known answer that adds nothing
UNKNOWN = "unknown"

_ID = r"([0-9a-f]{32})"
_IN_NAME = re.compile(rf"(?:subtasks|vertex|vertices)\W{_ID}")
_JOB_PATH = re.compile(rf"^/?(?:v1/)?jobs/{_ID}(/.*)?$")
_FILE_OF_PATH = re.compile(rf"(?:^|/)(jobs/{_ID}(?:/.*)?)\.json$")
_BELOW_JOB = tuple(
    (kind, re.compile(pattern))
    for kind, pattern in (
        (JOB, r"^$"),
        (PLAN, r"^/plan$"),
        (CHECKPOINTS, r"^/checkpoints$"),
        (CHECKPOINT_CONFIG, r"^/checkpoints/config$"),
        (CHECKPOINT, r"^/checkpoints/details/(?P<checkpoint>\d{1,19})$"),
        (
            SUBTASKS,
            rf"^/checkpoints/details/(?P<checkpoint>\d{{1,19}})/subtasks/(?P<vertex>{_ID})$",
        ),
        (EXCEPTIONS, r"^/exceptions$"),
        (VERTEX, rf"^/vertices/(?P<vertex>{_ID})$"),
        (BACK_PRESSURE, rf"^/vertices/(?P<vertex>{_ID})/backpressure$"),
    )
)
OPERATION = {"status", "operation"}  # the keys of an answer about a savepoint that was asked for
REQUEST = {"request-id"}
BY_KEYS = (
    (SUBTASKS, {"id", "status", "summary", "subtasks"}),
    (CHECKPOINT, {"id", "status", "trigger_timestamp", "tasks"}),
    (CHECKPOINTS, {"counts", "summary", "latest", "history"}),
    (CHECKPOINT_CONFIG, {"mode", "interval", "timeout", "externalization"}),
    (JOB, {"jid", "name", "state", "vertices"}),
    (JOBS, {"id", "name", "status", "jobs", "start-time"}),
    (JOBS, {"applications"}),
    (PLAN, {"plan"}),
    (EXCEPTIONS, {"exceptionHistory"}),
    (EXCEPTIONS, {"root-exception", "all-exceptions"}),
    (CLUSTER, {"flink-version", "refresh-interval"}),
    (NOT_USED, {"jid", "execution-config"}),
    (NOT_USED, {"job-accumulators", "user-task-accumulators"}),
    (NOT_USED, {"taskmanagers", "slots-total"}),
    (NOT_USED, OPERATION),
    (NOT_USED, REQUEST),
    (BACK_PRESSURE, {"status", "subtasks", "backpressure-level"}),
    (VERTEX, {"id", "name", "parallelism", "subtasks"}),
)
_NOT_MEASURED = {"status": "deprecated"}  # back pressure that Flink had not measured yet
JOBS_ALONE = {"jobs"}
MOST_DOCUMENTS = 100  # at the beginning of a file, and answers in a list
_CHECKPOINT_OF_JOB = re.compile(r"/([0-9a-f]{32})/chk-\d{1,19}/?$")
_APPLICATION_PATH = re.compile(
    rf"^/?(?:v1/)?(?:jobs/overview|jobs|applications(?:/overview|/{_ID})?)/?$"
)
NAMELESS = ""
"""Stands for the job of answers that name none, where the upload has no answer of another job."""

MOST_SUMMARIES = 500  # jobs of an overview that are told


@dataclass(frozen=True, slots=True)
class Answer:
    """One answer. Job, checkpoint and vertex are its subject, None if it does not name them.

    Attributes:
        value: JSON.
    """

    kind: str
    file: str
    value: object
    job: str | None = None
    checkpoint: int | None = None
    vertex: str | None = None


@dataclass(frozen=True, slots=True)
class Answers:
    """All answers of an upload.

    Attributes:
        jobs: the answers about each job, by its id.
        cluster: the answers about the cluster.
        unread: for each file without known answers the reason, as a sentence.
        errors: Flink's messages in error answers about none of the jobs, by file.
        is_of_no_job: whether there are answers, and none of them is about a job.
        savepoints: where savepoints lie that were asked for and are complete.
    """

    jobs: dict[str, tuple[Answer, ...]]
    cluster: tuple[Answer, ...]
    unread: dict[str, str]
    errors: dict[str, tuple[str, ...]] = field(default_factory=dict)
    is_of_no_job: bool = False
    savepoints: tuple[str, ...] = ()


def read_answers(files: Iterable[tuple[str, bytes | memoryview]]) -> Answers:
    """Return the answers in files, each of them given as its path and content."""
    answers: list[Answer] = []
    unread: dict[str, str] = {}
    left = LARGEST_TOTAL
    for path, data in files:
        left -= len(data)
        try:
            if left < 0:
                mebibytes = LARGEST_TOTAL // 2**20
                raise _NotUnderstood(f"Only {mebibytes} MiB of JSON are read of one upload.")
            for document in _load(data):
                answers += _answers_in(path, document)
        except _NotUnderstood as reason:
            unread[path] = str(reason)
    known = []
    others = {}
    for answer in _with_paths(answers):
        if answer.kind == UNKNOWN:
            others[answer.file] = "It is not a known answer of Flink's REST API."
        else:
            known.append(answer)
    read = {answer.file for answer in known}
    unread |= {file: reason for file, reason in others.items() if file not in read}
    return _by_job(known, unread)


class _NotUnderstood(ValueError):
    """A file holds no answers; the message says why, as a sentence."""


def _answers_in(path: str, value: object) -> Iterator[Answer]:
    if isinstance(value, dict) and isinstance(entries := value.get("archive"), list):
        for entry in entries:
            yield _archived(path, entry)
    elif isinstance(value, list) and _lists_answers(value):
        for item in value[:MOST_DOCUMENTS]:
            yield _recognised(path, item)
    else:
        yield _recognised(path, value)


def _lists_answers(values: list[object]) -> bool:
    """Tell whether a list holds whole answers, as ``jq -s`` writes them."""
    return any(_kind_of(mapping(value)) != UNKNOWN for value in values[:MOST_DOCUMENTS])


def _load(data: bytes | memoryview) -> list[object]:
    if len(data) > LARGEST:
        raise _NotUnderstood(f"It is larger than {LARGEST // 2**20} MiB.")
    try:
        return documents(bytes(data))
    except NotDocuments as error:
        raise _NotUnderstood(str(error)) from None


def _archived(file: str, entry: object) -> Answer:
    if not isinstance(entry, dict) or not isinstance(entry.get("path"), str):
        raise _NotUnderstood("An entry of the archive has no path.")
    value = entry.get("json")
    if isinstance(value, str):
        value = _load(value.encode("utf-8", "replace"))[0]
    return _at_path(Answer(NOT_USED, file, value), entry["path"])


def _at_path(answer: Answer, path: str) -> Answer:
    """Return an answer with kind and subject as its path in the API says them."""
    if path.strip("/") == "config":
        return replace(answer, kind=CLUSTER)
    if _APPLICATION_PATH.match(path):
        return replace(answer, kind=JOBS)
    if (job_path := _JOB_PATH.match(path)) is None:
        return replace(answer, kind=NOT_USED)
    job, below = job_path.group(1), (job_path.group(2) or "").rstrip("/")
    for kind, pattern in _BELOW_JOB:
        if match := pattern.match(below):
            if error_answers.messages_of(answer.value):
                return replace(_error(answer), job=job)
            groups = match.groupdict()
            number = groups.get("checkpoint")
            return replace(
                answer,
                kind=kind,
                job=job,
                checkpoint=None if number is None else int(number),
                vertex=groups.get("vertex"),
            )
    return replace(answer, kind=NOT_USED, job=job)


def _recognised(path: str, value: object) -> Answer:
    """Return an answer with kind and subject as its content shows them."""
    if isinstance(value, list) and all(isinstance(item, dict) and "id" in item for item in value):
        return Answer(NOT_USED, path, value)
    if not isinstance(value, dict):
        return Answer(UNKNOWN, path, value)
    if value and all(isinstance(item, dict) and "path" in item for item in value.values()):
        return Answer(INDEX, path, value)
    kind = _kind_of(value)
    if kind == ERROR:
        return _error(Answer(ERROR, path, value))
    if value == _NOT_MEASURED and _IN_NAME.search(path):
        kind = BACK_PRESSURE
    number = value.get("id")
    has_checkpoint = kind in (CHECKPOINT, SUBTASKS) and type(number) is int
    return Answer(
        kind,
        path,
        value,
        _job_in(value),
        number if has_checkpoint else None,
        _vertex_in(kind, path, value),
    )


def _kind_of(value: dict[str, Any]) -> str:
    """Return the kind of an answer by its keys, UNKNOWN if they show none."""
    if value.keys() == JOBS_ALONE:
        return JOBS
    if value.keys() == {"errors"}:
        return ERROR if error_answers.messages_of(value) else NOT_USED
    if value.keys() == OPERATION and error_answers.messages_of(value):
        return ERROR
    kind = next((kind for kind, keys in BY_KEYS if keys <= value.keys()), UNKNOWN)
    history = mapping(value, "exceptionHistory")
    if kind == EXCEPTIONS and value.keys() == {"exceptionHistory"} and "truncated" not in history:
        return kind if items(history, "entries") else NOT_USED  # an application without failures
    return kind


def _error(answer: Answer) -> Answer:
    """Return an error answer with the job that it names."""
    messages = error_answers.messages_of(answer.value)
    kind = OFF if error_answers.is_off(messages) else ERROR
    return replace(answer, kind=kind, job=error_answers.job_in(messages))


def _vertex_in(kind: str, path: str, value: dict) -> str | None:
    """Return the vertex that an answer is about, which only some say themselves."""
    own = value.get("id")
    if kind == VERTEX:
        return own if isinstance(own, str) and re.fullmatch(_ID, own) else None
    named = _IN_NAME.search(path) if kind in (SUBTASKS, BACK_PRESSURE) else None
    return named.group(1) if named else None


def _job_in(value: dict[str, Any]) -> str | None:
    plan = value.get("plan")
    job = value.get("jid") or (plan.get("jid") if isinstance(plan, dict) else None)
    if isinstance(job, str):
        return job if re.fullmatch(_ID, job) else None
    return _job_of_paths(value) or _job_of_exceptions(value)


def _job_of_exceptions(value: dict[str, Any]) -> str | None:
    """Return the job that all exceptions of an application name."""
    entries = items(mapping(value, "exceptionHistory"), "entries")
    found = {text(entry, "jobId") for entry in entries}
    job = next(iter(found)) if len(found) == 1 else None
    return job if job is not None and re.fullmatch(_ID, job) else None


def _job_of_paths(value: dict[str, Any]) -> str | None:
    """Return the job in whose folder all checkpoints of an answer lie; savepoints lie anywhere."""
    paths = [item.get("external_path") for item in (value, *items(value, "history"))]
    found = {
        match.group(1)
        for path in paths
        if isinstance(path, str) and (match := _CHECKPOINT_OF_JOB.search(path))
    }
    return next(iter(found)) if len(found) == 1 else None


def _with_paths(answers: list[Answer]) -> list[Answer]:
    """Apply the paths of files and indexes, which take precedence over the content."""
    paths = {}
    for answer in answers:
        if match := _FILE_OF_PATH.search(answer.file):
            paths[answer.file] = match.group(1)
    for index in answers:
        if index.kind == INDEX:
            folder = _folder(index)
            for name, item in mapping(index.value).items():
                if isinstance(item["path"], str):
                    paths[f"{folder}/{name}" if folder else name] = item["path"]
    return [
        _at_path(answer, paths[answer.file]) if answer.file in paths else answer
        for answer in answers
        if answer.kind != INDEX
    ]


def _by_job(answers: list[Answer], unread: dict[str, str]) -> Answers:
    """Group answers by job. One that names none belongs to the only job of its folder or upload."""
    jobs_by_folder: dict[str, set[str]] = defaultdict(set)
    summaries = [answer for answer in answers if answer.kind == JOBS]
    errors = [answer for answer in answers if answer.kind == ERROR]
    others = [answer for answer in answers if answer.kind not in (JOBS, ERROR)]
    for answer in others:
        if answer.job is not None:
            jobs_by_folder[_folder(answer)].add(answer.job)
    every = set().union(*jobs_by_folder.values())
    nameless = {_folder(each) for each in others if each.job is None and each.kind in _OF_A_JOB}
    by_job: dict[str, list[Answer]] = defaultdict(list)
    cluster = []
    for answer in others:
        jobs = {answer.job} if answer.job is not None else jobs_by_folder[_folder(answer)]
        jobs = jobs or every
        if answer.kind == CLUSTER:
            cluster.append(answer)
        elif len(jobs) == 1:
            by_job[next(iter(jobs))].append(answer)
        elif not every and len(nameless) == 1 and answer.kind != NOT_USED:
            by_job[NAMELESS].append(answer)
        elif answer.kind != NOT_USED:
            count = len(jobs) or len(nameless)
            unread[answer.file] = (
                f"It does not say of which job it is, and {count} may be meant. Put the answers of "
                "each job into a folder of its own, with the answer of /jobs/ID."
            )
    _add_summaries(by_job, summaries)
    told = _add_errors(by_job, errors, jobs_by_folder)
    unread |= {file: f"Flink answered: {messages[0]}" for file, messages in told.items()}
    jobs_answers = {job: tuple(job_answers) for job, job_answers in by_job.items()}
    is_of_no_job = bool(answers) and not by_job
    return Answers(jobs_answers, tuple(cluster), unread, told, is_of_no_job, _savepoints(answers))


def _savepoints(answers: list[Answer]) -> tuple[str, ...]:
    """Return where savepoints lie, by the answers about operations that completed."""
    values = [mapping(answer.value) for answer in answers if answer.kind == NOT_USED]
    found = [text(mapping(value, "operation"), "location") for value in values]
    return tuple(filter(None, found))


_OF_A_JOB = frozenset({CHECKPOINTS, CHECKPOINT, CHECKPOINT_CONFIG, EXCEPTIONS, SUBTASKS, OFF})
"""Kinds of answers that are about a job, also where they do not name it."""


def _add_summaries(by_job: dict[str, list[Answer]], answers: list[Answer]) -> None:
    """Add what overviews say of jobs that have no answer of their own.

    Jobs that only overviews name are told where the upload has no answer about another one.
    """
    is_alone = all(each.kind == EXCEPTIONS for own in by_job.values() for each in own)
    for answer in answers:
        for item in _summaries_in(mapping(answer.value)):
            job = item["jid"]
            if job not in by_job and (not is_alone or len(by_job) >= MOST_SUMMARIES):
                continue
            if not any(each.kind == JOB for each in by_job[job]):
                by_job[job].append(Answer(JOB, answer.file, item, job))


def _summaries_in(value: dict[str, Any]) -> Iterator[dict[str, Any]]:
    for item in items(value, "jobs"):
        job = item.get("jid", item.get("id"))
        if isinstance(job, str) and re.fullmatch(_ID, job):
            state = item.get("state", item.get("status"))
            yield {**item, "jid": job, "state": state}


def _add_errors(
    by_job: dict[str, list[Answer]], errors: list[Answer], by_folder: dict[str, set[str]]
) -> dict[str, tuple[str, ...]]:
    """Add error answers to the jobs that they are about; return the others by file."""
    told: dict[str, tuple[str, ...]] = {}
    for answer in errors:
        jobs = {answer.job} if answer.job is not None else by_folder[_folder(answer)]
        job = next(iter(jobs)) if len(jobs) == 1 else None
        if job in by_job:
            by_job[job].append(answer)
        else:
            messages = error_answers.messages_of(answer.value)
            told[answer.file] = (*told.get(answer.file, ()), *messages)
    return told


def _folder(answer: Answer) -> str:
    return answer.file.rpartition("/")[0]
