"""An upload of what Flink wrote: checkpoints, savepoints and answers of its REST API, joined.

A `_metadata` names no job. Its job is the one whose id stands in its path, or the one of whose
checkpoints the REST API says that it lies there; else it is not known.
"""

import os
import re
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

from snapshots.domain.model.defects import quoted, refuse, times
from snapshots.readers.engines.flink.files import MOST_FILES, Files, Missing, Usage
from snapshots.readers.engines.flink.metadata import Metadata, is_metadata, read_metadata
from snapshots.readers.engines.flink.rest.answers import Answers, looks_like_json, read_answers
from snapshots.readers.engines.flink.rest.checkpoints import RestCheckpoint
from snapshots.readers.engines.flink.rest.job import RestJob, jobs_of
from snapshots.readers.engines.flink.rest.job_graph import vertices_of
from snapshots.readers.formats.cursor import Malformed

METADATA = "_metadata"
_JOB_FOLDER = re.compile(r"[0-9a-f]{32}")
_SAVEPOINT_FOLDER = re.compile(r"savepoint-([0-9a-f]{6})-[0-9a-f]{12}")
_BEGIN = 6  # hex digits of the job's id in the name of a savepoint's folder
_MOST_CANDIDATES = 100  # jobs that are compared
_HEAD_BYTES = 64


@dataclass(frozen=True, slots=True)
class FlinkLimits:
    """How much one upload may hold. metadata_bytes: of one `_metadata`."""

    metadata_bytes: int = 256 * 2**20
    files: int = MOST_FILES


@dataclass(frozen=True, slots=True)
class StoredCheckpoint:
    """One `_metadata`. path: below the root.

    metadata: None where it is damaged; problem says why, as a sentence. job: its id, None where
    not known. rest: what the REST API says of it. vertices: operator id -> vertex id, where known.
    missing: what it needs and the upload does not hold.
    """

    path: str
    metadata: Metadata | None
    problem: str | None = None
    job: str | None = None
    rest: RestCheckpoint | None = None
    vertices: dict[str, str] | None = None
    missing: tuple[Missing, ...] = ()

    @property
    def folder(self) -> str:
        """Below the root, "" for the root itself."""
        return self.path.rpartition("/")[0]


@dataclass(frozen=True, slots=True)
class FlinkJob:
    """id: None where not known, and then of one checkpoint only. checkpoints: by id.

    rest: None where the upload has no answers about it.
    """

    id: str | None
    rest: RestJob | None
    checkpoints: tuple[StoredCheckpoint, ...]


@dataclass(frozen=True, slots=True)
class FlinkUpload:
    """Every file is a `_metadata`, a file in ``usage.used``, in ``answers``, or in ``unread``.

    answers: the files with answers of the REST API. unread: path -> why nothing of it is shown.
    """

    files: Files
    jobs: tuple[FlinkJob, ...]
    usage: Usage
    answers: tuple[str, ...]
    unread: dict[str, str]

    def checkpoints(self) -> Iterator[StoredCheckpoint]:
        for job in self.jobs:
            yield from job.checkpoints


def read_upload(root: Path, limits: FlinkLimits | None = None) -> FlinkUpload:
    """All that Flink wrote below ``root``. Raises: InputRefused where nothing is readable."""
    limits = limits or FlinkLimits()
    files = Files(root, limits.files)
    metadata_paths, json_paths = _sniffed(files)
    stored = [_stored(files, path, limits) for path in metadata_paths]
    needs = {one.path: list(one.metadata.streams()) for one in stored if one.metadata}
    usage = files.usage(needs)
    not_state = [path for path in json_paths if path not in usage.used]
    answers = read_answers((path, _content(files, path)) for path in not_state)
    rest = jobs_of(answers)
    if not needs and not rest:
        raise _nothing_readable(stored)
    stored = [replace(one, missing=usage.missing.get(one.path, ())) for one in stored]
    jobs = _jobs(list(map(_Owners(rest, stored).joined, stored)), rest)
    used_answers = tuple(path for path in not_state if path not in answers.unread)
    unread = _unread(files, usage, stored, used_answers, answers)
    return FlinkUpload(files, jobs, usage, used_answers, unread)


def _nothing_readable(stored: list[StoredCheckpoint]):
    if stored:
        more = f" (and {times(len(stored) - 1, 'other')} of its kind)" if len(stored) > 1 else ""
        return refuse(
            "truncated",
            f"The file {quoted(stored[0].path)}{more} cannot be read: {stored[0].problem}",
            field=METADATA,
        )
    return refuse(
        "unknown-format",
        "Neither a _metadata of a Flink checkpoint nor an answer of Flink's REST API is in here.",
    )


def _sniffed(files: Files) -> tuple[list[str], list[str]]:
    """Paths of what may be metadata, and of what may be JSON."""
    metadata_paths, json_paths = [], []
    for path in files.sizes:
        head = _head(files, path)
        if is_metadata(head) or path.rpartition("/")[2] == METADATA:
            metadata_paths.append(path)
        elif looks_like_json(head):
            json_paths.append(path)
    return metadata_paths, json_paths


def _head(files: Files, path: str) -> bytes:
    try:
        descriptor = os.open(files.root / path, os.O_RDONLY | os.O_NOFOLLOW)
    except OSError:
        return b""
    try:
        return os.read(descriptor, _HEAD_BYTES)
    finally:
        os.close(descriptor)


def _content(files: Files, path: str) -> bytes | memoryview:
    data = files.whole(path)
    return b"" if isinstance(data, Missing) else data


def _stored(files: Files, path: str, limits: FlinkLimits) -> StoredCheckpoint:
    if files.sizes[path] > limits.metadata_bytes:
        most = f"{limits.metadata_bytes // 2**20:,} MiB"
        return StoredCheckpoint(path, None, f"It is larger than {most}.")
    data = files.whole(path)
    if isinstance(data, Missing):
        return StoredCheckpoint(path, None, data.reason)
    try:
        return StoredCheckpoint(path, read_metadata(data))
    except Malformed as malformed:
        return StoredCheckpoint(path, None, f"{malformed}.")


class _Owners:
    """Finds the job of a `_metadata` by its path and by what the REST API says."""

    def __init__(self, rest: dict[str, RestJob], stored: list[StoredCheckpoint]) -> None:
        self._rest = rest
        self._by_checkpoint: dict[int, list[RestJob]] = defaultdict(list)
        for job in rest.values():
            for number in job.checkpoint_by_id:
                self._by_checkpoint[number].append(job)
        self._by_begin: dict[str, set[str]] = defaultdict(set)
        for job_id in {*rest, *filter(None, map(_job_in_path, stored))}:
            self._by_begin[job_id[:_BEGIN]].add(job_id)

    def job_of(self, one: StoredCheckpoint) -> str | None:
        if (in_path := _job_in_path(one)) is not None:
            return in_path
        if one.metadata is not None:
            candidates = self._by_checkpoint[one.metadata.checkpoint_id]
            told = [job.id for job in candidates[:_MOST_CANDIDATES] if _told_at(one, job)]
            if len(told) == 1 and len(candidates) <= _MOST_CANDIDATES:
                return told[0]
        if savepoint := _SAVEPOINT_FOLDER.fullmatch(one.folder.rpartition("/")[2]):
            like = self._by_begin[savepoint.group(1)]
            return next(iter(like)) if len(like) == 1 else None
        return None

    def joined(self, one: StoredCheckpoint) -> StoredCheckpoint:
        """The same with its job, what the REST API says of it, and its operators' vertices."""
        job = self.job_of(one)
        known = self._rest.get(job)
        if known is None or one.metadata is None:
            return replace(one, job=job)
        vertices = {} if known.graph is None else vertices_of(known.graph, one.metadata.operators)
        told = known.checkpoint_by_id.get(one.metadata.checkpoint_id)
        return replace(one, job=job, rest=told, vertices=vertices)


def _job_in_path(one: StoredCheckpoint) -> str | None:
    names = one.folder.split("/")
    return next((name for name in reversed(names) if _JOB_FOLDER.fullmatch(name)), None)


def _told_at(one: StoredCheckpoint, job: RestJob) -> bool:
    """Whether the job's checkpoint of this id lies in a folder of this name, with its operators."""
    told = job.checkpoint_by_id[one.metadata.checkpoint_id]
    folder = one.folder.rpartition("/")[2]
    if folder and told.path is not None and told.path.rstrip("/").rpartition("/")[2] != folder:
        return False
    operators = {operator.id for operator in one.metadata.operators}
    return job.graph is not None and job.graph.vertex_by_id.keys() <= operators


def _jobs(stored: list[StoredCheckpoint], rest: dict[str, RestJob]) -> tuple[FlinkJob, ...]:
    by_job: dict[str, list[StoredCheckpoint]] = defaultdict(list, {job: [] for job in rest})
    alone = []
    for one in stored:
        if one.job is None:
            alone.append(FlinkJob(None, None, (one,)))
        else:
            by_job[one.job].append(one)
    known = [
        FlinkJob(job, rest.get(job), tuple(sorted(checkpoints, key=_order)))
        for job, checkpoints in by_job.items()
    ]
    return (*known, *alone)


def _order(one: StoredCheckpoint) -> tuple[int, str]:
    return (one.metadata.checkpoint_id if one.metadata else -1), one.path


def _unread(
    files: Files,
    usage: Usage,
    stored: list[StoredCheckpoint],
    used_answers: tuple[str, ...],
    answers: Answers,
) -> dict[str, str]:
    damaged = {one.path: one.problem for one in stored if one.metadata is None}
    accounted = {*usage.used, *used_answers, *answers.unread, *damaged, *files.refused}
    others = {
        path: "No checkpoint in the upload needs it."
        for path in files.sizes
        if path not in accounted
    }
    return files.refused | answers.unread | damaged | others
