"""Recognise answers of Flink's REST API in JSON files, by their path in the API or their content.

These ways of keeping answers are read:

* one file per answer with any name; an ``index.json`` beside them may map files to {"path"};
* one file per answer, named like the path in the API, as a History Server unpacks them;
* the archive of a History Server: one file, {"archive": [{path, json}]}.
"""

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace

import orjson

from snapshots.readers.engines.flink.rest.fields import mapping

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
INDEX = "index"
NOT_USED = "not used"  # a known answer that adds nothing
UNKNOWN = "unknown"

_BYTE_ORDER_MARK = b"\xef\xbb\xbf"
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
_BY_KEYS = (
    (SUBTASKS, {"id", "status", "summary", "subtasks"}),
    (CHECKPOINT, {"id", "status", "trigger_timestamp", "tasks"}),
    (CHECKPOINTS, {"counts", "summary", "latest", "history"}),
    (CHECKPOINT_CONFIG, {"mode", "interval", "timeout", "externalization"}),
    (JOB, {"jid", "name", "state", "vertices"}),
    (PLAN, {"plan"}),
    (EXCEPTIONS, {"exceptionHistory"}),
    (EXCEPTIONS, {"root-exception", "all-exceptions"}),
    (CLUSTER, {"flink-version", "refresh-interval"}),
    (NOT_USED, {"jid", "execution-config"}),
    (BACK_PRESSURE, {"status", "subtasks", "backpressure-level"}),
    (VERTEX, {"id", "name", "parallelism", "subtasks"}),
)
_TELLING_KEYS = 3
"""How many keys of an answer the beginning of a longer file must show."""

_TOKEN = re.compile(rb'"((?:[^"\\]|\\.)*)"\s*(:)?|[{}\[\]]')
_JID = re.compile(rb'"jid"\s*:\s*"[0-9a-f]{32}"')
_ARCHIVED_PATH = re.compile(rb'"path"\s*:\s*"/(?:jobs|config)')
_OF_NO_JOB = (NOT_USED, VERTEX, BACK_PRESSURE)  # alone they do not show that a file is Flink's
_NOT_MEASURED = {"status": "deprecated"}  # back pressure that Flink had not measured yet
_NOT_USED_ALONE = ({"jobs"}, {"errors"})


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
    """

    jobs: dict[str, tuple[Answer, ...]]
    cluster: tuple[Answer, ...]
    unread: dict[str, str]


def looks_like_json(head: bytes) -> bool:
    """Tell whether a file with this beginning may be an answer."""
    return head.removeprefix(_BYTE_ORDER_MARK).lstrip()[:1] in (b"{", b"[")


def begins_as_answer(start: bytes, is_whole: bool) -> bool:
    """Tell whether the beginning of a file shows an answer, by the keys of its outermost object.

    Args:
        start: the first bytes of the file.
        is_whole: whether these are all its bytes.
    """
    shown = _outermost_keys(start)
    if "archive" in shown:
        return _ARCHIVED_PATH.search(start) is not None
    if "plan" in shown:
        return _JID.search(start) is not None
    return any(
        keys <= shown or (not is_whole and len(keys & shown) >= _TELLING_KEYS)
        for kind, keys in _BY_KEYS
        if kind not in _OF_NO_JOB
    )


def _outermost_keys(start: bytes) -> set[str]:
    """Return the keys of the object that begins a JSON text, as far as the text goes."""
    keys, depth = set(), 0
    for token in _TOKEN.finditer(start):
        mark = token.group()[:1]
        if mark in b"{[":
            depth += 1
        elif mark in b"}]":
            depth -= 1
        elif depth == 1 and token.group(2):
            keys.add(token.group(1).decode("utf-8", "replace"))
        if depth == 0:
            break
    return keys


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
            answers += _answers_in(path, _load(data))
        except _NotUnderstood as reason:
            unread[path] = str(reason)
    known = []
    for answer in _with_paths(answers):
        if answer.kind == UNKNOWN:
            unread[answer.file] = "It is not a known answer of Flink's REST API."
        else:
            known.append(answer)
    return _by_job(known, unread)


class _NotUnderstood(ValueError):
    """A file holds no answers; the message says why, as a sentence."""


def _answers_in(path: str, value: object) -> Iterator[Answer]:
    if isinstance(value, dict) and isinstance(entries := value.get("archive"), list):
        for entry in entries:
            yield _archived(path, entry)
    else:
        yield _recognised(path, value)


def _load(data: bytes | memoryview) -> object:
    if len(data) > LARGEST:
        raise _NotUnderstood(f"It is larger than {LARGEST // 2**20} MiB.")
    try:
        return orjson.loads(bytes(data).removeprefix(_BYTE_ORDER_MARK))
    except orjson.JSONDecodeError as error:
        raise _NotUnderstood(f"It is not JSON: {error.msg}.") from None


def _archived(file: str, entry: object) -> Answer:
    if not isinstance(entry, dict) or not isinstance(entry.get("path"), str):
        raise _NotUnderstood("An entry of the archive has no path.")
    value = entry.get("json")
    if isinstance(value, str):
        value = _load(value.encode())
    return _at_path(Answer(NOT_USED, file, value), entry["path"])


def _at_path(answer: Answer, path: str) -> Answer:
    """Return an answer with kind and subject as its path in the API says them."""
    if path.strip("/") == "config":
        return replace(answer, kind=CLUSTER)
    if (job_path := _JOB_PATH.match(path)) is None:
        return replace(answer, kind=NOT_USED)
    job, below = job_path.group(1), (job_path.group(2) or "").rstrip("/")
    for kind, pattern in _BELOW_JOB:
        if match := pattern.match(below):
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
    kind = next((kind for kind, keys in _BY_KEYS if keys <= value.keys()), UNKNOWN)
    if value.keys() in _NOT_USED_ALONE:
        kind = NOT_USED
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


def _vertex_in(kind: str, path: str, value: dict) -> str | None:
    """Return the vertex that an answer is about, which only some say themselves."""
    own = value.get("id")
    if kind == VERTEX:
        return own if isinstance(own, str) and re.fullmatch(_ID, own) else None
    named = _IN_NAME.search(path) if kind in (SUBTASKS, BACK_PRESSURE) else None
    return named.group(1) if named else None


def _job_in(value: dict) -> str | None:
    plan = value.get("plan")
    job = value.get("jid") or (plan.get("jid") if isinstance(plan, dict) else None)
    return job if isinstance(job, str) and re.fullmatch(_ID, job) else None


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
    """Group answers by job. An answer that names no job belongs to the only job of its folder."""
    jobs_by_folder: dict[str, set[str]] = defaultdict(set)
    for answer in answers:
        if answer.job is not None:
            jobs_by_folder[_folder(answer)].add(answer.job)
    by_job: dict[str, list[Answer]] = defaultdict(list)
    cluster = []
    for answer in answers:
        jobs = {answer.job} if answer.job is not None else jobs_by_folder[_folder(answer)]
        if answer.kind == CLUSTER:
            cluster.append(answer)
        elif len(jobs) == 1:
            by_job[next(iter(jobs))].append(answer)
        elif answer.kind != NOT_USED:
            unread[answer.file] = (
                f"It does not say of which job it is, and its folder has answers of {len(jobs)}."
            )
    jobs_answers = {job: tuple(job_answers) for job, job_answers in by_job.items()}
    return Answers(jobs_answers, tuple(cluster), unread)


def _folder(answer: Answer) -> str:
    return answer.file.rpartition("/")[0]
