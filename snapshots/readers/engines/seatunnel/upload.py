"""Read a folder of SeaTunnel's checkpoint files and REST answers, and account for every file."""

import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from snapshots.domain.model.defects import refuse
from snapshots.readers.engines.seatunnel.checkpoint import read_checkpoint
from snapshots.readers.engines.seatunnel.history import (
    DamagedCheckpoint,
    PipelineHistory,
    StoredCheckpoint,
    histories,
)
from snapshots.readers.engines.seatunnel.names import FileName, file_name
from snapshots.readers.engines.seatunnel.payloads import Decoder
from snapshots.readers.engines.seatunnel.rest import Answer, read_answer, refusal
from snapshots.readers.formats.cursor import Malformed, NotReadHere
from snapshots.readers.formats.opaque import SHOWN_BYTES, Opaque

CHECKPOINT, UNFINISHED, ANSWER, UNKNOWN = "checkpoint", "unfinished", "answer", "unknown"
_LARGEST_REFUSAL = 2**20  # bytes of an answer with an error
_ENDINGS = (".ser", ".sertmp")


@dataclass(frozen=True)
class SeaTunnelLimits:
    """Upper bounds for one upload.

    Attributes:
        file_bytes: the size of one file.
        total_bytes: the size of all files.
        decoded_bytes: the size of all elements of states that are decoded.
    """

    files: int = 10_000
    file_bytes: int = 64 * 2**20
    total_bytes: int = 2**30
    decoded_bytes: int = 8 * 2**20


@dataclass(frozen=True, slots=True)
class FileAccount:
    """One file of the upload.

    Attributes:
        path: relative to the root.
        kind: CHECKPOINT, UNFINISHED, ANSWER or UNKNOWN.
        content: why the content is unknown; None if it was read.
        is_damaged: whether the content contradicts the format.
    """

    path: str
    bytes: int
    kind: str
    content: Opaque | None = None
    name: FileName | None = None
    is_damaged: bool = False


@dataclass(frozen=True, slots=True)
class SeaTunnelUpload:
    """An upload.

    Attributes:
        answers: paths and REST answers.
        notes: sentences about contradictions.
    """

    pipelines: tuple[PipelineHistory, ...]
    answers: tuple[tuple[str, Answer], ...]
    files: tuple[FileAccount, ...]
    notes: tuple[str, ...]


def read_upload(root: Path, limits: SeaTunnelLimits) -> SeaTunnelUpload:
    """Read a folder. Raises: InputRefused (``too-large``; ``unknown-format`` for other files)."""
    stored: list[StoredCheckpoint] = []
    answers: list[tuple[str, Answer]] = []
    files: list[FileAccount] = []
    decoder, total = Decoder(limits.decoded_bytes), 0
    for number, (path, size) in enumerate(walk(root)):
        total += size
        if number >= limits.files or total > limits.total_bytes:
            raise refuse(
                "too-large",
                f"The upload holds more than {limits.files:,} files or "
                f"{limits.total_bytes:,} bytes, the most that is read here.",
            )
        content = _read(root / path, path, size, limits, decoder)
        if isinstance(content, StoredCheckpoint):
            stored.append(content)
            files.append(FileAccount(path, size, CHECKPOINT, name=content.name))
        elif isinstance(content, Answer):
            answers.append((path, content))
            files.append(FileAccount(path, size, ANSWER))
        else:
            files.append(content)
    if not stored and not answers:
        named = [file for file in files if file.path.endswith(_ENDINGS)]
        reasons = [file.content.reason for file in named if file.content]
        for file in () if named else files:  # a checkpoint file is more than an answer
            is_small_json = file.path.endswith(".json") and file.bytes <= _LARGEST_REFUSAL
            if is_small_json and (said := refusal((root / file.path).read_bytes())):
                raise refuse("unknown-format", f"{said} So there is nothing to show.")
        raise refuse(
            "unknown-format",
            "The upload holds no checkpoint file and no REST answer of SeaTunnel. "
            + (reasons[0] if reasons else "Checkpoint files end in .ser."),
        )
    damaged = [
        DamagedCheckpoint(file.path, file.name)
        for file in files
        if file.is_damaged and file.name is not None
    ]
    return SeaTunnelUpload(
        histories(stored, damaged), tuple(answers), tuple(files), tuple(_notes(stored, answers))
    )


def walk(root: Path) -> Iterator[tuple[str, int]]:
    """Yield path and size of every file below the root, sorted by name; links are skipped."""
    for folder, folders, names in os.walk(root):
        folders.sort()
        for name in sorted(names):
            path = Path(folder) / name
            if path.is_file() and not path.is_symlink():
                yield path.relative_to(root).as_posix(), path.stat().st_size


def _read(
    file: Path, path: str, size: int, limits: SeaTunnelLimits, decoder: Decoder
) -> StoredCheckpoint | Answer | FileAccount:
    def unknown(reason: str, kind: str = UNKNOWN, *, is_damaged: bool = False) -> FileAccount:
        with file.open("rb") as opened:
            head = opened.read(SHOWN_BYTES)
        opaque = Opaque(size, head, reason, path, 0)
        return FileAccount(path, size, kind, opaque, name, is_damaged)

    name = file_name(path)
    if name is not None and name.unfinished:
        return unknown(
            "Writing this file was interrupted: the checkpoint is not there.", UNFINISHED
        )
    if not path.endswith((".ser", ".json")):
        return unknown("This is neither a checkpoint file (.ser) nor a REST answer (.json).")
    if size > limits.file_bytes:
        return unknown(f"Files of more than {limits.file_bytes:,} bytes are not read.")
    try:
        if path.endswith(".json"):
            answer = read_answer(file.read_bytes())
            return answer or unknown("This JSON is not a known answer of SeaTunnel.")
        content, checkpoint = read_checkpoint(file.read_bytes(), path, decoder)
    except Malformed as error:
        if path.endswith("_metadata.ser"):
            return unknown("This is the commit marker of a savepoint, whose encoding is unknown.")
        is_damaged = not isinstance(error, NotReadHere)
        return unknown(f"It cannot be read: {error}.", is_damaged=is_damaged)
    return StoredCheckpoint(path, size, content, checkpoint, name)


def _notes(stored: list[StoredCheckpoint], answers: list[tuple[str, Answer]]) -> Iterator[str]:
    for file in stored:
        name, checkpoint = file.name, file.checkpoint
        if name is None:
            continue
        if (name.pipeline, name.checkpoint) != (checkpoint.pipeline, checkpoint.id):
            yield (
                f"{file.path}: the name says checkpoint {name.checkpoint} of pipeline "
                f"{name.pipeline}, the content {checkpoint.id} of {checkpoint.pipeline}."
            )
        if name.job is not None and name.job != checkpoint.job:
            yield f"{file.path}: the folder is of another job than the content ({checkpoint.job})."
    jobs = {file.checkpoint.job for file in stored}
    for path, answer in answers:
        named = ({job.id for job in answer.jobs} | {answer.job}) - {None}
        if jobs and named and not named & jobs:
            yield f"{path}: an answer about another job than the files are of."
