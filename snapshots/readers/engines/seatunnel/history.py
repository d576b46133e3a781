"""Order the checkpoints of each pipeline, and infer what their files do not state.

The files hold nothing about failed or pending checkpoints.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

from snapshots.readers.engines.seatunnel.model import FINAL_TYPES, Checkpoint
from snapshots.readers.engines.seatunnel.names import FileName, action_name


@dataclass(frozen=True, slots=True)
class StoredCheckpoint:
    """A file with a checkpoint.

    Attributes:
        content: PIPELINE_STATE or COMPLETED_CHECKPOINT.
    """

    path: str
    bytes: int
    content: str
    checkpoint: Checkpoint
    name: FileName | None


@dataclass(frozen=True, slots=True)
class Gap:
    """Ids of checkpoints without a file, from ``first`` to ``last``, both included."""

    first: int
    last: int
    reason: str = "The checkpoint failed, or its file was deleted: the files do not show which."


@dataclass(frozen=True, slots=True)
class Inference:
    """A conclusion from the files that none of them states.

    Attributes:
        kind: ``closed``, ``committed``, ``not-proven``, ``restored-next``, ``restore-fails`` (a
            restore takes another file, which is damaged) or ``parallelism``.
        checkpoint: the id of the first checkpoint that shows it.
        by: the reason, as sentences.
    """

    kind: str
    checkpoint: int
    by: str
    action: str | None = None
    subtask: int | None = None
    inferred: bool = True


@dataclass(frozen=True, slots=True)
class PipelineHistory:
    """The checkpoints of one pipeline.

    Attributes:
        checkpoints: ordered by id, then by the time in the file's name.
    """

    job: int
    pipeline: int | None
    checkpoints: tuple[StoredCheckpoint, ...]
    gaps: tuple[Gap, ...]
    inferences: tuple[Inference, ...]


@dataclass(frozen=True, slots=True)
class DamagedCheckpoint:
    """A file with the name of a checkpoint whose content is damaged."""

    path: str
    name: FileName


def histories(
    stored: Iterable[StoredCheckpoint], damaged: Sequence[DamagedCheckpoint] = ()
) -> tuple[PipelineHistory, ...]:
    """Return the history of each pipeline, ordered by job and pipeline."""
    groups: dict[tuple[int, int], list[StoredCheckpoint]] = defaultdict(list)
    for file in stored:
        groups[file.checkpoint.job, file.checkpoint.pipeline or 0].append(file)
    only = len({job for job, _ in groups}) == 1
    return tuple(
        _history(
            groups[job, pipeline],
            [
                file
                for file in damaged
                if file.name.pipeline == pipeline
                and (file.name.job == job or (only and file.name.job is None))
            ],
        )
        for job, pipeline in sorted(groups)
    )


def _history(
    files: list[StoredCheckpoint], damaged: Sequence[DamagedCheckpoint]
) -> PipelineHistory:
    files = sorted(files, key=lambda file: (file.checkpoint.id, _written_at(file), file.path))
    first = files[0].checkpoint
    ids = sorted({file.checkpoint.id for file in files})
    gaps = (Gap(low + 1, high - 1) for low, high in pairwise(ids) if high > low + 1)
    return PipelineHistory(
        first.job, first.pipeline, tuple(files), tuple(gaps), tuple(_inferred(files, damaged))
    )


def _written_at(file: StoredCheckpoint) -> int:
    """Return the time in the file's name, or else when the checkpoint was complete."""
    if file.name is not None and file.name.written_at is not None:
        return file.name.written_at
    return file.checkpoint.completed_at or 0


def _inferred(
    files: list[StoredCheckpoint], damaged: Sequence[DamagedCheckpoint]
) -> Iterator[Inference]:
    for earlier, later in pairwise(files):
        yield from _changes(earlier.checkpoint, later.checkpoint)
        if later.checkpoint.id > earlier.checkpoint.id:
            yield Inference(
                "committed",
                earlier.checkpoint.id,
                f"Checkpoint {later.checkpoint.id} was taken later. Unless a restore lies between "
                "them, the later one could begin only when this one was committed.",
            )
    last = files[-1].checkpoint
    yield Inference(
        "not-proven",
        last.id,
        "There is no later file. The file of this checkpoint proves that every task acknowledged "
        "the checkpoint, but not that the checkpoint was committed.",
    )
    newest = max(files, key=_written_at)
    unread = max(damaged, key=lambda file: file.name.written_at or 0, default=None)
    if unread is not None and (unread.name.written_at or 0) > _written_at(newest):
        yield Inference(
            "restore-fails",
            newest.checkpoint.id,
            f"A restore takes the file with the latest time in its name, {unread.path}, which is "
            f"damaged, and fails. It goes on from checkpoint {newest.checkpoint.id} only when that "
            "file is moved away.",
        )
        return
    ended = (
        " The job stopped with this checkpoint." if newest.checkpoint.type in FINAL_TYPES else ""
    )
    yield Inference(
        "restored-next",
        newest.checkpoint.id,
        "A restore from the files takes the file with the latest time in its name; the next "
        f"checkpoint is then {newest.checkpoint.id + 1}.{ended}",
    )


def _changes(earlier: Checkpoint, later: Checkpoint) -> Iterator[Inference]:
    actions = {action.key: action for action in earlier.actions}
    for action in later.actions:
        before = actions.get(action.key)
        if before is None:
            continue
        if action.parallelism != before.parallelism:
            yield Inference(
                "parallelism",
                later.id,
                f"{before.parallelism} subtasks in checkpoint {earlier.id}, "
                f"{action.parallelism} in this one: the job was started anew in between.",
                action_name(action.key).name,
            )
            continue
        for index, (old, new) in enumerate(zip(before.subtasks, action.subtasks, strict=False)):
            if old is not None and new is None:
                yield Inference(
                    "closed",
                    later.id,
                    f"The subtask has a state in checkpoint {earlier.id} and none in this one: its "
                    "tasks were closed, as the tasks of an idle reader are.",
                    action_name(action.key).name,
                    index,
                )
