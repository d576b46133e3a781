"""Join an upload of Flink's checkpoints, savepoints and REST answers.

A `_metadata` names no job. Its job is the one whose id is in its path, or else the one that has a
checkpoint there according to the REST API. If neither exists, the job is unknown.
"""

import os
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from urllib.parse import unquote

from snapshots.domain.inventory.restore_check import AS_LISTED
from snapshots.domain.model.defects import InputRefused, quoted, refuse, times
from snapshots.domain.model.listing import listed
from snapshots.readers.engines.flink.files import (
    CHECKPOINT_FOLDER,
    MOST_FILES,
    SAVEPOINT_FOLDER,
    Files,
    Missing,
    Usage,
)
from snapshots.readers.engines.flink.listed import METADATA, add_listings
from snapshots.readers.engines.flink.metadata import Metadata, is_metadata, read_metadata
from snapshots.readers.engines.flink.rest import error_answers
from snapshots.readers.engines.flink.rest.answers import NAMELESS, Answers, read_answers
from snapshots.readers.engines.flink.rest.beginnings import looks_like_json
from snapshots.readers.engines.flink.rest.checkpoints import RestCheckpoint
from snapshots.readers.engines.flink.rest.job import RestJob, jobs_of
from snapshots.readers.engines.flink.rest.job_graph import vertices_of
from snapshots.readers.engines.flink.sql.plans import Naming, begins_as_naming, read_naming
from snapshots.readers.engines.flink.text_logs.messages import begins_as_log
from snapshots.readers.engines.flink.text_logs.reading import LogReading, read_logs
from snapshots.readers.formats.cursor import Malformed
from snapshots.readers.formats.listings import Listing
from snapshots.readers.formats.log_lines import beginning

_JOB_ID = re.compile(r"(?<![0-9A-Za-z])[0-9a-f]{32}(?![0-9A-Za-z])")
_ID_PREFIX = 6  # hex digits of the job's id in the name of a savepoint's folder
_REMAINS = "It lies in the folder of a checkpoint that cannot be read."
_EMPTY = (
    "It is empty. Flink writes it last: either it was stopped while it wrote, or the copy failed."
)
_MOST_CANDIDATES = 100  # jobs that are compared
_HEAD_BYTES = 2**12
_LOG_HEAD = 2**16  # bytes
_MOST_TRIED_AS_LOGS = 2_000  # files
NOT_NEEDED = "No checkpoint in the upload needs it."
NOT_NEEDED_BY_READABLE = "No checkpoint that can be read needs it."


@dataclass(frozen=True, slots=True)
class FlinkLimits:
    """Upper bounds for one upload.

    Attributes:
        metadata_bytes: the size of one `_metadata`.
    """

    metadata_bytes: int = 256 * 2**20
    files: int = MOST_FILES


@dataclass(frozen=True, slots=True)
class StoredCheckpoint:
    """One `_metadata` of the upload, or a folder of a checkpoint that lacks it.

    Attributes:
        path: the path of the `_metadata`, relative to the root.
        metadata: the content of the `_metadata`; None if the file is damaged or missing.
        problem: why the `_metadata` cannot be read, as a sentence.
        is_there: whether the upload has the `_metadata`, be it readable or not.
        is_listed: whether only a listing tells of the `_metadata`, or of its folder without it.
        listed_in: what a listing calls the folder of the `_metadata`. None if none does.
        is_certain: whether it is certain that a `_metadata` that is not there is missing.
        job: the id of the checkpoint's job; None if it is unknown.
        rest: the same checkpoint in the answers of the REST API.
        vertices: ids of vertices by ids of operators, as far as known; None if there are no
            answers.
        missing: the files that the checkpoint needs and the upload does not hold.
    """

    path: str
    metadata: Metadata | None
    problem: str | None = None
    is_there: bool = True
    is_listed: bool = False
    listed_in: str | None = None
    is_certain: bool = True
    job: str | None = None
    rest: RestCheckpoint | None = None
    vertices: dict[str, str] | None = None
    missing: tuple[Missing, ...] = ()

    @property
    def folder(self) -> str:
        """Return the folder of the `_metadata` relative to the root, "" for the root itself."""
        return self.path.rpartition("/")[0]


@dataclass(frozen=True, slots=True)
class FlinkJob:
    """A job with its checkpoints, ordered by id.

    Attributes:
        id: None if the job is unknown; such a job has a single checkpoint, or answers of the REST
            API that name no job.
        rest: the job in the answers of the REST API; None if the upload has no answers about it.
    """

    id: str | None
    rest: RestJob | None
    checkpoints: tuple[StoredCheckpoint, ...]


@dataclass(frozen=True, slots=True)
class FlinkUpload:
    """The jobs and checkpoints that were read from an upload, and how each of its files was used.

    Each file is a `_metadata`, or its path is in ``usage.used``, ``answers`` or ``unread``. A file
    that a checkpoint needs and that does not hold what it should is in ``unread``, too, and so are
    the files in the folder of a checkpoint that cannot be read.

    Attributes:
        answers: the paths of the files with answers of the REST API.
        unread: the reasons why files are not shown, by the paths of the files.
        logs: the paths of the text logs.
        listings: the paths of the listings of folders.
        notes: how far logs and listings were read, as sentences.
        naming: what names the columns of queries.
        naming_files: the paths of the files that do.
    """

    files: Files
    jobs: tuple[FlinkJob, ...]
    usage: Usage
    answers: tuple[str, ...]
    unread: dict[str, str]
    logs: tuple[str, ...] = ()
    listings: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    naming: Naming = field(default_factory=Naming)
    naming_files: tuple[str, ...] = ()

    def checkpoints(self) -> Iterator[StoredCheckpoint]:
        for job in self.jobs:
            yield from job.checkpoints


def read_upload(root: Path, limits: FlinkLimits | None = None) -> FlinkUpload:
    """Read all that Flink wrote below ``root``. Raises: InputRefused if nothing is readable."""
    limits = limits or FlinkLimits()
    files = Files(root, limits.files)
    listings, called = add_listings(files, lambda path: _head(files, path, _LOG_HEAD))
    metadata_paths, json_paths = _candidates(files)
    stored = [_stored(files, path, limits) for path in metadata_paths]
    needs = {each.path: list(each.metadata.streams()) for each in stored if each.metadata}
    usage = files.usage(needs)
    others = {*metadata_paths, *files.listed, *(listing.path for listing in listings)}
    logs = _logs(files, usage, others)
    naming_paths = _naming_paths(files, {*usage.used, *others, *logs})
    naming, not_naming = read_naming((path, _content(files, path)) for path in naming_paths)
    taken = {*usage.used, *logs, *naming_paths}
    json = [path for path in json_paths if path not in taken]
    answers, told = read_answers((path, _content(files, path)) for path in json), {}
    reading = read_logs(files.root, logs)
    for job, of_logs in reading.answers().items():
        told[job] = (*answers.jobs.get(job, ()), *of_logs)
    answers = replace(answers, jobs=answers.jobs | told)
    rest = jobs_of(answers)
    remaining = _without_metadata(files, metadata_paths)
    is_listed = any(each.is_listed for each in stored)
    if not needs and not rest and not is_listed and (stored or not remaining):
        raise _nothing_readable(stored, answers, listings, reading)
    stored += remaining
    stored = [
        replace(each, missing=usage.missing.get(each.path, ()), listed_in=called.get(each.folder))
        for each in stored
    ]
    jobs = _jobs(list(map(_Owners(rest, stored).joined, stored)), rest)
    used_answers = tuple(path for path in json if path not in answers.unread)
    remains = _remains_of(files, usage, stored)
    told_by = tuple(listing.path for listing in listings)
    naming_files = tuple(path for path in naming_paths if path not in not_naming)
    known = (*used_answers, *logs, *told_by, *naming_paths)
    unread = _unread(files, usage, stored, known, answers, remains) | not_naming
    usage = replace(usage, used=usage.used | remains)
    notes = (*(listing.sentence() for listing in listings), *reading.notes())
    return FlinkUpload(
        files, jobs, usage, used_answers, unread, tuple(logs), told_by, notes, naming, naming_files
    )


def _nothing_readable(
    stored: list[StoredCheckpoint],
    answers: Answers,
    listings: tuple[Listing, ...],
    reading: LogReading,
) -> InputRefused:
    if listings:
        return refuse(
            "unknown-format",
            f"{quoted(listings[0].path)} is a listing that names folders of Flink's checkpoints, "
            "and not what is in them. List the folders in them, too: hdfs dfs -ls -R, aws s3 ls "
            "--recursive, ls -lR or find -ls.",
        )
    if stored:
        more = f" (and {times(len(stored) - 1, 'other')} of its kind)" if len(stored) > 1 else ""
        return refuse(
            "truncated",
            f"The file {quoted(stored[0].path)}{more}, the metadata of a Flink checkpoint, cannot "
            f"be read: {stored[0].problem}{_likely(stored[0].problem or '')}",
            field=METADATA,
        )
    if answers.errors:
        file, messages = next(iter(answers.errors.items()))
        cause = error_answers.likely_cause(messages)
        return refuse(
            "unknown-format",
            f"Flink's REST API answered with an error in {quoted(file)}: “{messages[0]}”. {cause}",
            line=1,
            field="errors",
        )
    if answers.savepoints:
        return refuse(
            "unknown-format",
            f"Flink answered that the savepoint is complete, and that it lies at "
            f"{answers.savepoints[0]}. Nothing else is in the answer: upload that folder to see "
            "whether it is whole and what it holds.",
        )
    if answers.is_of_no_job:
        return refuse(
            "unknown-format",
            "Flink's REST API gave these answers, and none of them tells of a job's checkpoints or "
            "state. Get the answers of /jobs/ID and /jobs/ID/checkpoints, and upload these.",
        )
    if reading.accounts and not answers.unread:
        return refuse("unknown-format", f"No line of the log tells of a job. {reading.notes()[0]}")
    reasons = [f"{quoted(path)}: {reason}" for path, reason in answers.unread.items()][:1]
    return refuse(
        "unknown-format",
        "The upload has neither a _metadata of a Flink checkpoint nor an answer of Flink's REST "
        f"API about a job. {' '.join(reasons)}".rstrip(),
    )


def _likely(problem: str) -> str:
    """Return the likely cause where a file ends before what it announces."""
    return " Was it cut short when it was copied?" if "are left" in problem else ""


def _candidates(files: Files) -> tuple[list[str], list[str]]:
    """Return the paths of files that may be metadata, and of those that may be JSON."""
    metadata_paths, json_paths = [], []
    for path in files.sizes:
        head = _head(files, path)
        if is_metadata(head) or path.rpartition("/")[2] == METADATA:
            metadata_paths.append(path)
        elif looks_like_json(head):
            json_paths.append(path)
    return metadata_paths, json_paths


def _logs(files: Files, usage: Usage, others: set[str]) -> list[str]:
    """Return the paths of the text logs of Flink's processes, up to a number."""
    candidates = [path for path in files.sizes if path not in usage.used and path not in others]
    return [
        path
        for path in candidates[:_MOST_TRIED_AS_LOGS]
        if begins_as_log(beginning(_head(files, path, _LOG_HEAD)))
    ]


def _naming_paths(files: Files, others: set[str]) -> list[str]:
    """Return the paths of files that may name the columns of queries, up to a number."""
    candidates = [path for path in files.sizes if path not in others]
    return [
        path
        for path in candidates[:_MOST_TRIED_AS_LOGS]
        if begins_as_naming(_head(files, path, _LOG_HEAD))
    ]


def _head(files: Files, path: str, most: int = _HEAD_BYTES) -> bytes:
    if path in files.listed:
        return b""
    try:
        descriptor = os.open(files.root / path, os.O_RDONLY | os.O_NOFOLLOW)
    except OSError:
        return b""
    try:
        return os.read(descriptor, most)
    finally:
        os.close(descriptor)


def _without_metadata(files: Files, metadata_paths: list[str]) -> list[StoredCheckpoint]:
    """Return the folders that Flink names as those of checkpoints, and that lack a `_metadata`."""
    readable = {path.rpartition("/")[0] for path in metadata_paths}
    sizes: dict[str, list[int]] = {folder: [] for folder in files.empty}
    only_listed = {*files.empty} - {*files.folders}
    for path, size in files.sizes.items():
        sizes.setdefault(path.rpartition("/")[0], []).append(size)
        if path in files.listed:
            only_listed.add(path.rpartition("/")[0])
    return [
        StoredCheckpoint(
            f"{folder}/{METADATA}",
            None,
            _why_remains(sizes[folder]),
            is_there=False,
            is_listed=folder in only_listed,
            is_certain=files.is_certain or folder not in only_listed,
        )
        for folder in sorted(sizes.keys() - readable)
        if CHECKPOINT_FOLDER.fullmatch(folder.rpartition("/")[2])
    ]


def _remains_of(
    files: Files, usage: Usage, stored: list[StoredCheckpoint]
) -> dict[str, tuple[str, ...]]:
    """Return the files in the folders of checkpoints that cannot be read, with whose they are."""
    owners = {
        each.folder: each.path
        for each in stored
        if each.metadata is None and CHECKPOINT_FOLDER.fullmatch(each.folder.rpartition("/")[2])
    }
    return {
        path: (owners[folder],)
        for path in files.sizes
        if (folder := path.rpartition("/")[0]) in owners and path not in usage.used
    }


def _why_remains(sizes: list[int]) -> str:
    held = f"{times(len(sizes), 'file')} ({sum(sizes):,} bytes)" if sizes else "nothing"
    return (
        f"Its folder holds {held} and no {METADATA}, which Flink writes last. Either the "
        "checkpoint did not complete, or it was being removed, or the file was not copied."
    )


def _why_listed(files: Files, path: str) -> str:
    """Say what a listing tells of a checkpoint whose `_metadata` it names."""
    folder = path.rpartition("/")[0]
    beside = {
        other: size
        for other, size in files.sizes.items()
        if other.rpartition("/")[0] == folder and other != path
    }
    empty = [other.rpartition("/")[2] for other, size in beside.items() if not size]
    others = f"{times(len(beside), 'other file')} of {sum(beside.values()):,} bytes"
    others = others if beside else "no other file"
    none = f" {listed(empty, 3)} {'has' if len(empty) == 1 else 'have'} 0 bytes." if empty else ""
    return (
        f"{AS_LISTED}, its {METADATA} is there, which Flink writes last ({files.sizes[path]:,} "
        f"bytes), and {others} in its folder.{none} Which files the checkpoint needs is written in "
        f"the {METADATA} alone: upload it beside the listing."
    )


def _content(files: Files, path: str) -> bytes | memoryview:
    data = files.whole(path)
    return b"" if isinstance(data, Missing) else data


def _stored(files: Files, path: str, limits: FlinkLimits) -> StoredCheckpoint:
    if files.sizes[path] > limits.metadata_bytes:
        most = f"{limits.metadata_bytes // 2**20:,} MiB"
        return StoredCheckpoint(path, None, f"It is larger than {most}.")
    if not files.sizes[path]:
        return StoredCheckpoint(path, None, _EMPTY, is_listed=path in files.listed)
    if path in files.listed:
        return StoredCheckpoint(path, None, _why_listed(files, path), is_listed=True)
    data = files.whole(path)
    if isinstance(data, Missing):
        return StoredCheckpoint(path, None, data.reason)
    try:
        return StoredCheckpoint(path, read_metadata(data))
    except Malformed as malformed:
        return StoredCheckpoint(path, None, f"{malformed}.")


class _Owners:
    """A search for the job of a `_metadata`, by its path and by answers of the REST API."""

    def __init__(self, rest: dict[str, RestJob], stored: list[StoredCheckpoint]) -> None:
        self._rest = rest
        self._by_checkpoint: dict[int, list[RestJob]] = defaultdict(list)
        for job in rest.values():
            for number in job.checkpoint_by_id:
                self._by_checkpoint[number].append(job)
        self._by_id_prefix: dict[str, set[str]] = defaultdict(set)
        for job_id in {*rest, *filter(None, map(_job_in_path, stored))}:
            self._by_id_prefix[job_id[:_ID_PREFIX]].add(job_id)

    def joined(self, stored: StoredCheckpoint) -> StoredCheckpoint:
        """Add to a checkpoint its job, its answer of the REST API, and its operators' vertices."""
        job_id = self._job_of(stored)
        job = self._rest.get(job_id) if job_id is not None else None
        if job is None or stored.metadata is None:
            return replace(stored, job=job_id)
        vertices = {} if job.graph is None else vertices_of(job.graph, stored.metadata.operators)
        rest = job.checkpoint_by_id.get(stored.metadata.checkpoint_id)
        return replace(stored, job=job_id, rest=rest, vertices=vertices)

    def _job_of(self, stored: StoredCheckpoint) -> str | None:
        if (in_path := _job_in_path(stored)) is not None:
            return in_path
        if (metadata := stored.metadata) is not None:
            candidates = self._by_checkpoint[metadata.checkpoint_id]
            compared = candidates[:_MOST_CANDIDATES]
            fitting = [job.id for job in compared if _fits(stored, metadata, job)]
            if len(fitting) == 1 and len(candidates) <= _MOST_CANDIDATES:
                return fitting[0]
        if savepoint := SAVEPOINT_FOLDER.search(stored.path):
            job_ids = self._by_id_prefix[savepoint.group(1)]
            return next(iter(job_ids)) if len(job_ids) == 1 else None
        return None


def _job_in_path(stored: StoredCheckpoint) -> str | None:
    path = f"{stored.listed_in or ''}/{stored.path}"
    return next(iter(reversed(_JOB_ID.findall(unquote(path)))), None)


def _fits(stored: StoredCheckpoint, metadata: Metadata, job: RestJob) -> bool:
    """Tell whether a job's checkpoint of the same id has this folder's name and its operators."""
    path = job.checkpoint_by_id[metadata.checkpoint_id].path
    folder = stored.folder.rpartition("/")[2]
    if folder and path is not None and path.rstrip("/").rpartition("/")[2] != folder:
        return False
    operators = {operator.id for operator in metadata.operators}
    return job.graph is not None and job.graph.vertex_by_id.keys() <= operators


def _jobs(stored: list[StoredCheckpoint], rest: dict[str, RestJob]) -> tuple[FlinkJob, ...]:
    by_job: dict[str, list[StoredCheckpoint]] = defaultdict(list, {job: [] for job in rest})
    unknown = []
    for checkpoint in stored:
        if checkpoint.job is None:
            unknown.append(FlinkJob(None, None, (checkpoint,)))
        else:
            by_job[checkpoint.job].append(checkpoint)
    identified = [
        FlinkJob(
            job if job != NAMELESS else None, rest.get(job), tuple(sorted(checkpoints, key=_order))
        )
        for job, checkpoints in by_job.items()
    ]
    return (*identified, *unknown)


def _order(stored: StoredCheckpoint) -> tuple[int, str]:
    return (stored.metadata.checkpoint_id if stored.metadata else -1), stored.path


def _unread(
    files: Files,
    usage: Usage,
    stored: list[StoredCheckpoint],
    used_answers: tuple[str, ...],
    answers: Answers,
    remains: Iterable[str],
) -> dict[str, str]:
    damaged = {
        each.path: each.problem or ""
        for each in stored
        if each.metadata is None and each.path in files.sizes
    }
    accounted = {*usage.used, *used_answers, *answers.unread, *damaged, *files.refused}
    accounted |= files.listed
    is_all_readable = all(each.metadata is not None for each in stored)
    not_needed = NOT_NEEDED if is_all_readable else NOT_NEEDED_BY_READABLE
    others = {path: not_needed for path in files.sizes if path not in accounted}
    in_folders = dict.fromkeys(remains, _REMAINS)
    return files.refused | answers.unread | others | usage.damaged | in_folders | damaged
