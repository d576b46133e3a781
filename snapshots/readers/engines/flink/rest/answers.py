"""Which answer of Flink's REST API a JSON file holds: by the path it came from, or by its content.

Ways to keep answers that are read: a file per answer, named at will, or with an ``index.json``
beside them (file -> {"path"}), or named like the path in the API (as a History Server unpacks
them), and a History Server's archive (one file, {"archive": [{path, json}]}).
"""

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace

import orjson

LARGEST = 32 * 2**20  # bytes of one file
LARGEST_TOTAL = 128 * 2**20  # bytes of all files together

JOB = "job"
PLAN = "plan"
CHECKPOINTS = "checkpoints"
CHECKPOINT = "checkpoint"
SUBTASKS = "subtasks"
CHECKPOINT_CONFIG = "checkpoint config"
EXCEPTIONS = "exceptions"
CLUSTER = "cluster"
INDEX = "index"
NOT_USED = "not used"  # an answer that is known and adds nothing here
UNKNOWN = "unknown"

_ID = r"([0-9a-f]{32})"
_IN_NAME = re.compile(rf"subtasks\W{_ID}")
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
    (NOT_USED, {"status", "subtasks", "backpressure-level"}),
    (NOT_USED, {"id", "name", "parallelism", "subtasks"}),
)
_NOT_USED_ALONE = ({"jobs"}, {"errors"})


@dataclass(frozen=True, slots=True)
class Answer:
    """One answer. value: JSON. job, checkpoint, vertex: of what, None where not said."""

    kind: str
    file: str
    value: object
    job: str | None = None
    checkpoint: int | None = None
    vertex: str | None = None


@dataclass(frozen=True, slots=True)
class Answers:
    """jobs: job id -> its answers. cluster: those about no job. unread: file -> why."""

    jobs: dict[str, tuple[Answer, ...]]
    cluster: tuple[Answer, ...]
    unread: dict[str, str]


def looks_like_json(head: bytes) -> bool:
    """Whether a file that begins so may be an answer."""
    return head.removeprefix(b"\xef\xbb\xbf").lstrip()[:1] in (b"{", b"[")


def read_answers(files: Iterable[tuple[str, bytes | memoryview]]) -> Answers:
    """files: path below the root and content of each JSON file."""
    found: list[Answer] = []
    unread: dict[str, str] = {}
    left = LARGEST_TOTAL
    for path, data in files:
        left -= len(data)
        try:
            if left < 0:
                raise _NotUnderstood(
                    f"Only {LARGEST_TOTAL // 2**20} MiB of JSON are read of one upload."
                )
            found += _of_file(path, _load(data))
        except _NotUnderstood as reason:
            unread[path] = str(reason)
    known = []
    for answer in _with_paths(found):
        if answer.kind == UNKNOWN:
            unread[answer.file] = "It is no answer of Flink's REST API that is known here."
        else:
            known.append(answer)
    return _by_job(known, unread)


class _NotUnderstood(ValueError):
    pass


def _of_file(path: str, value: object) -> Iterator[Answer]:
    if isinstance(value, dict) and isinstance(entries := value.get("archive"), list):
        for entry in entries:
            yield _of_archive(path, entry)
    else:
        yield _of_content(path, value)


def _load(data: bytes | memoryview) -> object:
    if len(data) > LARGEST:
        raise _NotUnderstood(f"It is larger than {LARGEST // 2**20} MiB.")
    try:
        return orjson.loads(bytes(data).removeprefix(b"\xef\xbb\xbf"))
    except orjson.JSONDecodeError as error:
        raise _NotUnderstood(f"It is not JSON: {error.msg}.") from None


def _of_archive(file: str, entry: object) -> Answer:
    if not isinstance(entry, dict) or not isinstance(entry.get("path"), str):
        raise _NotUnderstood("An entry of the archive has no path.")
    value = entry.get("json")
    if isinstance(value, str):
        value = _load(value.encode())
    return _of_path(Answer(NOT_USED, file, value), entry["path"])


def _of_path(answer: Answer, path: str) -> Answer:
    """The answer as what the REST API gives at ``path``."""
    if path.strip("/") == "config":
        return replace(answer, kind=CLUSTER)
    if (of_job := _JOB_PATH.match(path)) is None:
        return replace(answer, kind=NOT_USED)
    job, below = of_job.group(1), (of_job.group(2) or "").rstrip("/")
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


def _of_content(path: str, value: object) -> Answer:
    if isinstance(value, list) and all(isinstance(item, dict) and "id" in item for item in value):
        return Answer(NOT_USED, path, value)
    if not isinstance(value, dict):
        return Answer(UNKNOWN, path, value)
    if value and all(isinstance(item, dict) and "path" in item for item in value.values()):
        return Answer(INDEX, path, value)
    kind = next((kind for kind, keys in _BY_KEYS if keys <= value.keys()), UNKNOWN)
    if value.keys() in _NOT_USED_ALONE:
        kind = NOT_USED
    number, named = value.get("id"), _IN_NAME.search(path)
    of_checkpoint = kind in (CHECKPOINT, SUBTASKS) and type(number) is int
    return Answer(
        kind,
        path,
        value,
        _job_in(value),
        number if of_checkpoint else None,
        named.group(1) if named and kind == SUBTASKS else None,
    )


def _job_in(value: dict) -> str | None:
    plan = value.get("plan")
    job = value.get("jid") or (plan.get("jid") if isinstance(plan, dict) else None)
    return job if isinstance(job, str) and re.fullmatch(_ID, job) else None


def _with_paths(answers: list[Answer]) -> list[Answer]:
    """What a file's path or an index beside it says counts more than the file's content."""
    paths = {}
    for answer in answers:
        if match := _FILE_OF_PATH.search(answer.file):
            paths[answer.file] = match.group(1)
    for index in answers:
        if index.kind == INDEX:
            folder = index.file.rpartition("/")[0]
            for name, item in index.value.items():
                if isinstance(item["path"], str):
                    paths[f"{folder}/{name}" if folder else name] = item["path"]
    return [
        _of_path(answer, paths[answer.file]) if answer.file in paths else answer
        for answer in answers
        if answer.kind != INDEX
    ]


def _by_job(answers: list[Answer], unread: dict[str, str]) -> Answers:
    """Answers that name no job belong to the only job of their folder."""
    in_folder: dict[str, set[str]] = defaultdict(set)
    for answer in answers:
        if answer.job is not None:
            in_folder[_folder(answer)].add(answer.job)
    jobs: dict[str, list[Answer]] = defaultdict(list)
    cluster = []
    for answer in answers:
        named = {answer.job} if answer.job is not None else in_folder[_folder(answer)]
        if answer.kind == CLUSTER:
            cluster.append(answer)
        elif len(named) == 1:
            jobs[next(iter(named))].append(answer)
        elif answer.kind != NOT_USED:
            unread[answer.file] = (
                f"It does not say of which job it is, and its folder has answers of {len(named)}."
            )
    return Answers({job: tuple(each) for job, each in jobs.items()}, tuple(cluster), unread)


def _folder(answer: Answer) -> str:
    return answer.file.rpartition("/")[0]
