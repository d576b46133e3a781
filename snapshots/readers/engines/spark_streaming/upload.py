"""Read an uploaded folder: its checkpoints, and the files beside them.

Beside a checkpoint can be the input files of its file sources, progress reports of the query, and
the folders of file sinks.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from snapshots.domain.model.defects import refuse
from snapshots.readers.engines.spark_streaming.checkpoint import (
    SparkCheckpoint,
    read_files,
    read_source_logs,
)
from snapshots.readers.engines.spark_streaming.files import DamagedFile, Files, list_files
from snapshots.readers.engines.spark_streaming.inputs import count_rows, match_inputs
from snapshots.readers.engines.spark_streaming.limits import SparkLimits
from snapshots.readers.engines.spark_streaming.logs.sources import read_sink_log
from snapshots.readers.engines.spark_streaming.progress import (
    Progress,
    looks_like_progress,
    read_progress,
)

MOST_CHECKPOINTS = 100
MOST_TRIED_FOR_PROGRESS = 1000
SINK_LOG = "_spark_metadata"
_LOG_FILE = re.compile(r"(?:(.*)/)?(?:offsets|commits)/\d+")
STATE_FILE = re.compile(r"(?:(.*)/)?state/\d+/(?:\d+/.+|_metadata/metadata)")
_EVENT_LOG = re.compile(r"(?:^|/)(?:events_\d+_|(?:application|local|app|spark)-)[^/]*$")
_OWN_FOLDERS = frozenset({"offsets", "commits", "sources", "state"})
_PROGRESS_SUFFIXES = (".json", ".jsonl", ".ndjson", ".log", ".txt")


@dataclass(frozen=True)
class SinkLog:
    """The log of a file sink.

    Attributes:
        folder: the folder of the sink.
        written: the urls of output files by number of the log's file.
        modified: when the newest file of each was written, in epoch ms, as far as that is told.
        compacted: the numbers of the log's files that repeat all before them.
    """

    folder: str
    written: Mapping[int, tuple[str, ...]]
    modified: Mapping[int, int]
    compacted: frozenset[int]


@dataclass(frozen=True)
class SparkUpload:
    """An upload. Paths are relative to its root, except those inside of a checkpoint.

    Attributes:
        checkpoints: the checkpoints by folder, "" for the root.
        inputs: the uploaded input files by their urls in source logs.
        roles: the roles of the files outside of checkpoints; None for a file without a known role.
        damaged: the damaged files outside of checkpoints.
        left_out: what is not a regular file.
    """

    checkpoints: Mapping[str, SparkCheckpoint]
    reports: tuple[Progress, ...]
    inputs: Mapping[str, str]
    sinks: tuple[SinkLog, ...]
    roles: Mapping[str, str | None]
    damaged: tuple[DamagedFile, ...]
    left_out: tuple[str, ...]

    @property
    def unknown_files(self) -> tuple[str, ...]:
        """Return the files without a known role, including those inside of checkpoints."""
        unknown = [path for path, role in self.roles.items() if role is None]
        for folder, checkpoint in self.checkpoints.items():
            prefix = f"{folder}/" if folder else ""
            unknown += [prefix + path for path in checkpoint.unknown_files]
        return tuple(sorted(unknown))


def find_checkpoints(files: Files) -> list[str]:
    """Return the folders ("" for the root) with an offset or commit log, and those inside of them.

    Where there is none, these are the folders with state. What a checkpoint keeps in folders of its
    own, such as those of a source, is no checkpoint.
    """
    folders = _folders_with(files, _LOG_FILE) or _folders_with(files, STATE_FILE)
    return sorted(folder for folder in folders if not _is_part(folder, folders))


def _folders_with(files: Files, pattern: re.Pattern[str]) -> set[str]:
    return {match[1] or "" for path in files.entries if (match := pattern.fullmatch(path))}


def _is_part(folder: str, others: set[str]) -> bool:
    """Tell whether a folder lies in a folder that a checkpoint above it writes itself."""
    parts = folder.split("/")
    return any(
        parts[depth] in _OWN_FOLDERS and "/".join(parts[:depth]) in others
        for depth in range(len(parts))
    )


def read_upload(root: Path, limits: SparkLimits | None = None) -> SparkUpload:
    """Read a folder that nobody else writes to. Raises: InputRefused if it has no checkpoint."""
    limits = limits or SparkLimits()
    files = list_files(root, limits.files)
    folders = find_checkpoints(files)
    if not folders:
        raise refuse(
            "unknown-format",
            "There is no Spark checkpoint in it: no folder holds offsets/ or commits/ with a file "
            "for each batch, or state/. Is it the directory of the option checkpointLocation?",
        )
    if len(folders) > MOST_CHECKPOINTS:
        raise refuse("too-large", f"It holds more than {MOST_CHECKPOINTS} checkpoints.")
    return _read(files, folders, limits)


def read_checkpoint(root: Path, limits: SparkLimits | None = None) -> SparkCheckpoint:
    """Read the only checkpoint below ``root``, and what lies beside it. Raises: InputRefused."""
    checkpoints = read_upload(root, limits).checkpoints
    if len(checkpoints) > 1:
        names = ", ".join(checkpoints)
        raise refuse("unknown-format", f"It holds several checkpoints ({names}): choose one.")
    return next(iter(checkpoints.values()))


def _read(files: Files, folders: list[str], limits: SparkLimits) -> SparkUpload:
    outside = _outside(files, folders)
    own = Files(
        files.root,
        {path: entry for path, entry in files.entries.items() if path not in outside.entries},
        spent=files.spent,
    )
    inner = {folder: own.inside(folder, _below(folder, folders)) for folder in folders}
    # Input files are matched first, so that none of them is read as a report.
    seen = [
        file
        for own_files in inner.values()
        for log in read_source_logs(own_files, limits).values()
        for entry in log.files.values()
        for file in entry
    ]
    inputs = match_inputs(outside, seen)
    rows = {url: count_rows(outside, path, limits.input_bytes) for url, path in inputs.items()}
    roles: dict[str, str | None] = dict.fromkeys(outside.entries)
    roles.update(dict.fromkeys(inputs.values(), "input"))
    reports, damaged = _reports(outside, roles, limits)
    sinks = _sinks(outside, roles, damaged, limits)
    known_rows = {url: count for url, count in rows.items() if count is not None}
    return SparkUpload(
        {folder: read_files(own, limits, known_rows, reports) for folder, own in inner.items()},
        tuple(reports),
        inputs,
        sinks,
        roles,
        tuple(damaged),
        files.left_out,
    )


def _below(folder: str, folders: list[str]) -> list[str]:
    """Return the checkpoints that lie inside of another."""
    prefix = f"{folder}/" if folder else ""
    return [other for other in folders if other != folder and other.startswith(prefix)]


def _outside(files: Files, folders: list[str]) -> Files:
    """Return the files outside of checkpoints, and reports that people put into their folders."""
    prefixes = tuple(f"{folder}/" if folder else "" for folder in folders)
    kept = {
        path: entry
        for path, entry in files.entries.items()
        if not path.startswith(prefixes) or _is_report_inside(files, path, prefixes)
    }
    return Files(files.root, kept, spent=files.spent)


def _is_report_inside(files: Files, path: str, prefixes: tuple[str, ...]) -> bool:
    """Tell whether a file of progress reports lies in a checkpoint, beside what Spark keeps."""
    if not _may_hold_reports(path):
        return False
    prefix = max((one for one in prefixes if path.startswith(one)), key=len)
    if path[len(prefix) :].split("/", maxsplit=1)[0] in _OWN_FOLDERS:
        return False
    return looks_like_progress(files, path)


def _may_hold_reports(path: str) -> bool:
    return path.endswith(_PROGRESS_SUFFIXES) or _EVENT_LOG.search(path) is not None


def _reports(
    files: Files, roles: dict[str, str | None], limits: SparkLimits
) -> tuple[list[Progress], list[DamagedFile]]:
    candidates = [path for path in files.entries if roles[path] is None and _may_hold_reports(path)]
    candidates.sort(key=lambda path: (path.count("/"), path))
    reports: list[Progress] = []
    damaged: list[DamagedFile] = []
    for path in candidates[:MOST_TRIED_FOR_PROGRESS]:
        if looks_like_progress(files, path):
            roles[path] = "progress"
            file_reports, damaged_lines = read_progress(files, path, limits)
            reports += file_reports
            damaged += damaged_lines
    return reports, damaged


def _sinks(
    files: Files,
    roles: dict[str, str | None],
    damaged: list[DamagedFile],
    limits: SparkLimits,
) -> tuple[SinkLog, ...]:
    """Return the file sinks, and note the roles of their files. Only logged files are output."""
    inner = f"/{SINK_LOG}/"
    folders = sorted({path.split(inner)[0] for path in files.entries if inner in path})
    sinks = []
    for folder in folders:
        written, modified, damaged_files, read = read_sink_log(
            files, f"{folder}/{SINK_LOG}", limits
        )
        damaged += damaged_files
        roles.update(dict.fromkeys(read, "sink log"))
        names = {url.rsplit("/", 1)[-1] for urls in written.values() for url in urls}
        for path in files.below(folder):
            name = path.rsplit("/", 1)[-1]
            if name.startswith(".") and name.endswith(".crc"):
                roles[path] = "checksum"
            elif roles[path] is None and inner not in path:
                roles[path] = "sink output" if name in names else "sink left-over"
        compacted = {n for n in written if f"{folder}/{SINK_LOG}/{n}.compact" in read}
        sinks.append(SinkLog(folder, written, modified, frozenset(compacted)))
    return tuple(sinks)
