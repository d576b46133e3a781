"""Whether the file of each SeaTunnel checkpoint is whole.

A checkpoint of a pipeline is one file, which holds everything. The engine writes it under another
name and renames it when it is complete. The format always writes numbers, booleans and maps, so
that a checkpoint without one of them was cut.
"""

from collections.abc import Iterator

from snapshots.domain.inventory.model import FAILED, IN_PROGRESS
from snapshots.domain.inventory.restore_check import (
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
from snapshots.readers.engines.seatunnel.adapter.checkpoints import (
    Pipeline,
    Pipelines,
    SeaTunnelCheckpoint,
    job_key,
)
from snapshots.readers.engines.seatunnel.adapter.entries import operator_ids, states_of
from snapshots.readers.engines.seatunnel.model import Checkpoint
from snapshots.readers.engines.seatunnel.names import action_name
from snapshots.readers.engines.seatunnel.upload import (
    CHECKPOINT,
    UNFINISHED,
    UNKNOWN,
    FileAccount,
    SeaTunnelUpload,
)
from snapshots.readers.formats.opaque import Opaque

ONE_PIPELINE = (
    "It is the checkpoint of one pipeline. A job with more pipelines needs a file of each of them; "
    "the files do not tell how many there are."
)
_ENDING = ".ser"


def restore_check(upload: SeaTunnelUpload, pipelines: Pipelines) -> UploadCheck:
    """Check all checkpoints of an upload."""
    sizes = {file.path: file.bytes for file in upload.files}
    checks = [_checked(*pair, sizes) for pair in pipelines.checkpoints()]
    checks += _unread(upload.files)
    of_pipeline = [ONE_PIPELINE] if any(check.path is not None for check in checks) else []
    unneeded = [
        UnneededFile(file.path, file.bytes, file.content.reason)
        for file in upload.files
        if file.kind == UNFINISHED and file.content is not None
    ]
    fails = [
        inference.by
        for history in upload.pipelines
        for inference in history.inferences
        if inference.kind == "restore-fails"
    ]
    return check_upload("seatunnel", checks, unneeded, [*fails, *of_pipeline])


def _checked(
    pipeline: Pipeline, checkpoint: SeaTunnelCheckpoint, sizes: dict[str, int]
) -> RestoreCheck:
    findings = Findings()
    stored = checkpoint.stored
    if stored is not None:
        size = sizes[stored.path]
        problem = _gap(stored.checkpoint)
        findings.need(NeededFile(stored.path, CHECKPOINT, None, None, size, problem))
        _contents(stored.checkpoint, findings)
    elif checkpoint.status in (FAILED, IN_PROGRESS):
        findings.refute(NOT_COMPLETED.format(checkpoint.status))
    else:
        findings.doubt(NO_FILES)
    return conclude(
        findings,
        number=checkpoint.number,
        job=job_key(pipeline.job),
        id=checkpoint.id,
        kind=checkpoint.kind,
        path=None if stored is None else stored.path,
        decides=stored is not None,
    )


def _gap(checkpoint: Checkpoint) -> str | None:
    """Say what a checkpoint lacks that the format always writes; None if it lacks nothing."""
    always = {
        "pipeline": checkpoint.pipeline,
        "type": checkpoint.type,
        "time of its trigger": checkpoint.triggered_at,
        "time of its completion": checkpoint.completed_at,
        "last field": checkpoint.is_ended,
    }
    lacking = [name for name, value in always.items() if value is None or value is False]
    if not lacking:
        return None
    return f"It ends too early: its {', '.join(lacking)} cannot be found."


def _contents(checkpoint: Checkpoint, findings: Findings) -> None:
    """Count the elements that cannot be decoded here, by state."""
    for id, action in zip(operator_ids(checkpoint), checkpoint.actions, strict=True):
        name = action_name(action.key).name or id
        for state, _, parts in states_of(action):
            contents = [item.content for _, part in parts for item in part.elements if item]
            opaque = [content for content in contents if isinstance(content, Opaque)]
            if opaque:
                findings.note(
                    f"{name}, {state}: {times(len(opaque), 'element')} cannot be decoded here, so "
                    f"that only their bytes were looked at: {opaque[0].reason}"
                )


def _unread(files: tuple[FileAccount, ...]) -> Iterator[RestoreCheck]:
    """Yield the files that are named as checkpoints and cannot be read."""
    for file in files:
        if file.kind != UNKNOWN or not file.path.endswith(_ENDING) or file.content is None:
            continue
        findings = Findings()
        findings.need(
            NeededFile(file.path, CHECKPOINT, None, None, file.bytes, file.content.reason),
            is_certain=file.is_damaged and file.name is not None,
        )
        name = file.name
        yield conclude(
            findings,
            number=None,
            job=None if name is None else job_key(name.job),
            id=0 if name is None else name.checkpoint,
            kind="checkpoint",
            path=file.path,
        )
