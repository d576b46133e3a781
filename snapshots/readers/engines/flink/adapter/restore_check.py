"""Whether all the files are there that a restore of Flink's checkpoints reads.

Flink reads the `_metadata` to its end, and every file that a handle names. A file has the size that
its handle names; of a merged file a handle needs a part, and of a log the changes from an offset
on. Source: Flink, Checkpoints.loadAndValidateCheckpoint and the restore operations of its backends.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from snapshots.domain.inventory.model import FAILED, IN_PROGRESS
from snapshots.domain.inventory.restore_check import (
    AS_LISTED,
    NO_FILES,
    NOT_COMPLETED,
    Findings,
    NeededFile,
    RestoreCheck,
    UnneededFile,
    UploadCheck,
    check_upload,
    conclude,
)
from snapshots.domain.model.defects import times
from snapshots.readers.engines import listing
from snapshots.readers.engines.flink import checkpoint_state
from snapshots.readers.engines.flink.adapter.checkpoints import FlinkCheckpoint
from snapshots.readers.engines.flink.adapter.entries import OperatorSeen
from snapshots.readers.engines.flink.adapter.files import METADATA as METADATA_ROLE
from snapshots.readers.engines.flink.adapter.files import needed_streams
from snapshots.readers.engines.flink.files import ONLY_LISTED, Files, Missing
from snapshots.readers.engines.flink.handles import (
    Changelog,
    ChangesInFiles,
    File,
    Keyed,
    LogPart,
    RelativeFile,
    Segment,
)
from snapshots.readers.engines.flink.keyed.changes import Log
from snapshots.readers.engines.flink.keyed.entries import Limits, Notes
from snapshots.readers.engines.flink.metadata import VERSIONS, Metadata, is_metadata
from snapshots.readers.engines.flink.upload import (
    NOT_NEEDED,
    NOT_NEEDED_BY_READABLE,
    FlinkLimits,
    FlinkUpload,
    StoredCheckpoint,
)
from snapshots.readers.formats.cursor import Malformed
from snapshots.readers.formats.java.stream import parse
from snapshots.readers.formats.opaque import Opaque

NO_METADATA = (
    "There is no _metadata in the folder {}. The checkpoint is being written, was given up, or its "
    "_metadata was lost: the files do not tell which."
)
_OWN_FOLDER = re.compile(r"chk-(\d{1,18})|savepoint-.+")
_IN_JOB = ("shared", "taskowned")  # folders beside those of the checkpoints
_HEADER_BYTES = 8
_MOST_USERS = 3

Seen = Mapping[tuple[int, str], OperatorSeen]  # by number of the checkpoint and operator
Named = File | RelativeFile | Segment


def restore_check(
    upload: FlinkUpload, checkpoints: tuple[FlinkCheckpoint, ...], seen: Seen
) -> UploadCheck:
    """Check all checkpoints of an upload.

    Args:
        seen: what came to light while the entries were read.
    """
    checks = [_checked(upload, one, seen) for one in checkpoints]
    unneeded = [
        UnneededFile(path, upload.files.sizes[path], reason)
        for path, reason in upload.unread.items()
        if reason in (NOT_NEEDED, NOT_NEEDED_BY_READABLE)
    ]
    return check_upload("flink", checks, unneeded)


def _checked(upload: FlinkUpload, checkpoint: FlinkCheckpoint, seen: Seen) -> RestoreCheck:
    findings = Findings()
    if (stored := checkpoint.stored) is None:
        _reported_only(checkpoint, findings)
    elif not stored.is_there:
        say = findings.refute if stored.is_certain else findings.doubt
        say(NO_METADATA.format(stored.folder))
    elif (metadata := checkpoint.metadata) is None:
        _unread_metadata(upload.files, stored, findings)
    else:
        _read_metadata(upload.files, stored.path, metadata, findings)
        _files(upload.files, checkpoint, stored, findings)
        _in_flight(upload, stored, findings)
        _logs(upload.files, metadata, stored.folder, findings)
        _contents(checkpoint, seen, findings)
        _as_listed(upload.files, findings)
    return conclude(
        findings,
        number=checkpoint.number,
        job=checkpoint.job.id or "",
        id=checkpoint.id,
        kind="savepoint" if checkpoint.is_savepoint else "checkpoint",
        path=None if stored is None else stored.folder,
        decides=stored is not None,
    )


def _as_listed(files: Files, findings: Findings) -> None:
    """Say once that of some files a listing tells names and sizes, and nothing their content."""
    listed = [file for path, file in findings.files.items() if path in files.listed]
    if not listed:
        return
    for sentence in [one for one in findings.unknown if ONLY_LISTED in one]:
        del findings.unknown[sentence]
    size = sum(file.uploaded or 0 for file in findings.files.values())
    rough = " (the listing rounds them)" if any(file.path in files.rough for file in listed) else ""
    if not findings.unknown and not findings.witnesses:
        every = times(len(findings.files), "file")
        findings.doubt(
            f"{AS_LISTED}{rough}, all {every} that it needs are there, "
            f"{size:,} bytes. A listing names {len(listed):,} of them, whose content is not known."
        )


def _reported_only(checkpoint: FlinkCheckpoint, findings: Findings) -> None:
    """Note what the REST API says of a checkpoint without files."""
    if checkpoint.status in (FAILED, IN_PROGRESS):
        findings.refute(NOT_COMPLETED.format(checkpoint.status))
    else:
        findings.doubt(NO_FILES)


def _unread_metadata(files: Files, stored: StoredCheckpoint, findings: Findings) -> None:
    problem = f"It cannot be read: {stored.problem}"
    if stored.path in files.listed:
        problem = stored.problem or ""
    size = files.sizes[stored.path]
    file = NeededFile(stored.path, METADATA_ROLE, None, None, size, problem)
    findings.need(file, is_certain=not _may_be_intact(files, stored.path))


def _may_be_intact(files: Files, path: str) -> bool:
    """Tell whether a `_metadata` is of a version that is not known here yet, or too large."""
    data = files.whole(path)
    if not files.sizes[path]:
        return False
    if isinstance(data, Missing) or len(data) > FlinkLimits().metadata_bytes:
        return True
    header = bytes(data[:_HEADER_BYTES])
    version = int.from_bytes(header[4:], "big")
    return is_metadata(header) and len(header) == _HEADER_BYTES and version >= VERSIONS.stop


def _read_metadata(files: Files, path: str, metadata: Metadata, findings: Findings) -> None:
    file = NeededFile(path, METADATA_ROLE, None, None, metadata.byte_count)
    if not isinstance(properties := metadata.properties, Opaque):
        findings.need(file)
        return
    data = files.whole(path)
    assert not isinstance(data, Missing)  # it was read before
    try:
        is_whole = bool(parse(bytes(data[metadata.byte_count - properties.size :])))
    except Malformed:
        is_whole = False
    end = f"Its last {properties.size:,} bytes, the properties of the checkpoint"
    problem = f"{end}: {properties.reason}" if is_whole else f"{end}, are cut off or damaged."
    findings.need(
        NeededFile(path, METADATA_ROLE, None, None, metadata.byte_count, problem),
        is_certain=not is_whole,
    )


@dataclass(slots=True)
class _Use:
    """What handles say of one file.

    Attributes:
        end: the last byte, from 1, that any of them needs; None if they name no size.
        problem: what is wrong with the file; None if nothing is.
    """

    path: str
    uploaded: int | None
    end: int | None = None
    problem: Missing | None = None
    roles: dict[str, None] = field(default_factory=dict)
    users: dict[str, None] = field(default_factory=dict)

    def file(self, files: Files, folder: str) -> tuple[NeededFile, bool]:
        """Return the file, and whether its problem is certain."""
        users = listing.names(list(self.users), _MOST_USERS, " and ")
        problem, is_certain = None, True
        if self.problem is not None:
            problem, is_certain = self.problem.reason, self.problem.is_certain
            if self.uploaded is None and is_certain and _lies_outside(self.path, folder, files):
                problem = "It lies outside of what was given, so that nobody can tell."
                is_certain = False
        roles = ", ".join(self.roles)
        return NeededFile(self.path, roles, users, self.end, self.uploaded, problem), is_certain


def _files(
    files: Files, checkpoint: FlinkCheckpoint, stored: StoredCheckpoint, findings: Findings
) -> None:
    """Note every file that a handle names."""
    folder = stored.folder
    uses: dict[str, _Use] = {}
    for role, user, stream in needed_streams(checkpoint):
        if not isinstance(stream, Named):
            continue
        path = files.path_of(stream, folder)
        place = files.locate(stream, folder)
        if isinstance(path, Missing):
            use = uses.setdefault(path.path, _Use(path.path, None))
        else:
            use = uses.setdefault(path, _Use(path, files.sizes[path]))
        use.roles[role] = use.users[user] = None
        if isinstance(place, Missing):
            use.problem = place
        if isinstance(stream, Segment):
            use.end = max(use.end or 0, stream.start + stream.size)
        elif not stream.log:
            use.end = stream.size
    for use in uses.values():
        file, is_certain = use.file(files, stored.listed_in or folder)
        findings.need(file, is_certain=is_certain)


def _lies_outside(path: str, folder: str, files: Files) -> bool:
    """Tell whether an absent file lies in a folder of the cluster that nobody gave.

    Args:
        path: the path that the handle names, relative to the folder or of the cluster.
        folder: the folder of the `_metadata`.
    """
    above = [name for name in path.split("/") if name][:-1]
    if not above or "/" not in path:
        return False  # relative to the folder
    if _OWN_FOLDER.fullmatch(above[-1]) and (not folder or folder.endswith(above[-1])):
        return False
    if above[-1] in _IN_JOB and folder:
        return False
    return tuple(above[-2:]) not in files.folder_ends


def _in_flight(upload: FlinkUpload, stored: StoredCheckpoint, findings: Findings) -> None:
    """Read the data in flight to its end; what is absent stands among the files."""
    absent = {missing.reason for missing in stored.missing}
    for half in checkpoint_state.in_flight(upload, stored).halves:
        if half.problem is None:
            continue
        sentence = f"The data in flight of subtask {half.subtask}: {half.problem}"
        if not half.is_missing:
            findings.refute(sentence)
        elif half.problem not in absent:
            findings.doubt(sentence)


def _logs(files: Files, metadata: Metadata, folder: str, findings: Findings) -> None:
    """Read the logs of changes to their ends, since no handle names the size of such a file."""
    for subtask in (one for operator in metadata.operators for one in operator.subtasks):
        for handle in _logs_of(subtask.managed_keyed):
            for part in handle.parts:
                _log(files, handle, part, folder, findings)


def _logs_of(handle: Keyed | None) -> Iterator[ChangesInFiles]:
    if isinstance(handle, ChangesInFiles):
        yield handle
    elif isinstance(handle, Changelog):
        for part in handle.changes:
            yield from _logs_of(part)


def _log(
    files: Files, handle: ChangesInFiles, part: LogPart, folder: str, findings: Findings
) -> None:
    notes = Notes()
    log = Log(lambda stream: files.read(stream, folder), Limits(room=files.room), notes)
    for _ in log.in_part(part):
        pass
    for sentence in notes.damage:
        findings.refute(f"{_path(part)}: {sentence}")
    for sentence in notes.not_read:
        findings.doubt(f"{_path(part)}: {sentence}")


def _path(part: LogPart) -> str:
    return getattr(part.stream, "path", "A log inside _metadata")


def _contents(checkpoint: FlinkCheckpoint, seen: Seen, findings: Findings) -> None:
    """Note what the entries brought to light."""
    for operator in checkpoint.operators:
        own = seen.get((checkpoint.number, operator.id), OperatorSeen())
        name = operator.name or operator.id
        for sentence in own.damage:
            findings.refute(f"{name}, {sentence}")
        for sentence in own.not_read:
            findings.doubt(f"{name}, {sentence}")
        for state, (count, reason) in own.undecoded.items():
            entries = times(count, "entry", "entries")
            findings.note(
                f"{name}.{state}: {entries} cannot be decoded here, so that only their bytes were "
                f"looked at: {reason}"
            )
        private = own.private_bytes + sum(
            subtask.raw_operator.size
            for subtask in operator.subtasks
            if subtask.raw_operator is not None
        )
        if private:
            findings.note(f"{name}: {private:,} bytes of raw state, which only the job can decode.")
