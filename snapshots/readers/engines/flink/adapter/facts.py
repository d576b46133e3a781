"""What only Flink knows of a job, a checkpoint, an operator, as facts for people to read."""

from collections.abc import Iterable, Iterator, Mapping

from snapshots.domain.inventory.model import (
    BYTES,
    COUNT,
    EPOCH_MS,
    MILLISECONDS,
    STATUSES,
    Fact,
)
from snapshots.domain.model import durations
from snapshots.readers.engines.flink.adapter.checkpoints import FlinkCheckpoint
from snapshots.readers.engines.flink.adapter.entries import OperatorSeen
from snapshots.readers.engines.flink.checkpoint_kind import Properties
from snapshots.readers.engines.flink.metadata import Metadata, Operator
from snapshots.readers.engines.flink.rest.checkpoints import RestCheckpoint
from snapshots.readers.engines.flink.rest.job import RestJob

_CONFIG = {
    "mode": "mode",
    "interval": "interval",
    "timeout": "timeout",
    "min_pause": "least pause",
    "max_concurrent": "checkpoints at once, at most",
    "unaligned_checkpoints": "unaligned checkpoints",
    "aligned_checkpoint_timeout": "alignment timeout",
    "tolerable_failed_checkpoints": "tolerated failed checkpoints",
    "state_backend": "state backend",
    "checkpoint_storage": "checkpoint storage",
    "state_changelog_enabled": "changelog",
}
_UNITS = {
    EPOCH_MS: ("started at", "ended at", "answers given at", "last failure at",
               "last acknowledgement at", "failed at"),
    MILLISECONDS: ("interval", "timeout", "least pause", "alignment timeout",
                   "longest start delay", "longest alignment", "longest copy", "longest upload",
                   *(f"duration, {durations.of_checkpoint(status, durations.FLINK)}"
                     for status in STATUSES)),
    BYTES: ("size of _metadata", "state size by the REST API", "uploaded",
            "processed during alignment",
            "persisted in flight, with the length of each buffer"),
    COUNT: ("checkpoints at once, at most", "tolerated failed checkpoints",
            "failures of the job", "subtasks", "acknowledged"),
}  # fmt: skip
_UNIT_OF = {name: unit for unit, names in _UNITS.items() for name in names}
_NEVER = 2**62  # an interval as long as this stands for none
_LONGEST = 500  # characters of a text
_MOST_BACKENDS = 10  # ids that are named


def facts_of_job(rest: RestJob | None) -> tuple[Fact, ...]:
    """Return the facts of a job; none without answers of the REST API."""
    if rest is None:
        return ()
    known: dict[str, object] = {
        "state": rest.state,
        "type": rest.kind,
        "Flink": rest.flink_version,
        "started at": rest.started_at,
        "ended at": rest.ended_at,
        "answers given at": rest.asked_at,
    }
    known |= {name: rest.config.get(key) for key, name in _CONFIG.items()}
    interval = known["interval"]
    if isinstance(interval, int) and interval >= _NEVER:
        known["interval"] = "none: checkpoints only when asked for"
    if rest.exceptions:
        last = rest.exceptions[-1]
        known |= {"failures of the job": len(rest.exceptions), "last failure": last.name}
        known |= {"last failure at": last.at, "last failure in": last.task}
    counts = tuple(
        Fact(f"checkpoints {status.replace('_', ' ')}", count, unit=COUNT)
        for status, count in rest.counts.items()
    )
    return _facts(known) + counts


def facts_of_checkpoint(checkpoint: FlinkCheckpoint) -> tuple[Fact, ...]:
    """Return the facts of a checkpoint, by its files and by the REST API."""
    known: dict[str, object] = {}
    hooks: tuple[Fact, ...] = ()
    if (metadata := checkpoint.metadata) is not None:
        known |= _of_metadata(metadata)
        hooks = tuple(
            Fact(f"hook {master.name[:_LONGEST]}", len(master.data), unit=BYTES)
            for master in metadata.master_states
        )
    if checkpoint.rest is not None:
        known |= _of_rest(checkpoint.rest, checkpoint.status)
    return _facts(known) + hooks


def _of_metadata(metadata: Metadata) -> dict[str, object]:
    known: dict[str, object] = {
        "version of _metadata": metadata.version,
        "size of _metadata": metadata.byte_count,
        "handles": _listed(_handles(metadata)),
    }
    if isinstance(properties := metadata.properties, Properties):
        known |= {
            "type": properties.name,
            "savepoint format": properties.format,
            "sharing of files": properties.sharing,
            "flags": ", ".join(name for name, is_set in properties.flags.items() if is_set),
        }
    return known


def _handles(metadata: Metadata) -> Iterator[str]:
    for operator in metadata.operators:
        for subtask in operator.subtasks:
            for handle in subtask.handles():
                stream = getattr(handle, "stream", None)
                suffix = "" if stream is None else f" in {type(stream).__name__}"
                yield type(handle).__name__ + suffix


def _of_rest(rest: RestCheckpoint, status: str) -> dict[str, object]:
    totals = rest.totals
    subtasks = [subtask for vertex in rest.vertices for subtask in vertex.subtasks]
    return {
        "told by the lines": ", ".join(rest.places) or None,
        "type by the REST API": rest.kind,
        "savepoint format by the REST API": rest.savepoint_format,
        f"duration, {durations.of_checkpoint(status, durations.FLINK)}": totals.duration,
        "last acknowledgement at": totals.ack_at,
        "state size by the REST API": totals.state_size,
        "uploaded": totals.uploaded_size,
        "processed during alignment": totals.processed,
        "persisted in flight, with the length of each buffer": totals.persisted,
        "subtasks": totals.subtasks,
        "acknowledged": totals.acknowledged,
        "longest start delay": _most(subtask.start_delay for subtask in subtasks),
        "longest alignment": _most(subtask.alignment for subtask in subtasks),
        "longest copy": _most(subtask.sync for subtask in subtasks),
        "longest upload": _most(subtask.async_ for subtask in subtasks),
        "stored at": rest.path,
        "discarded": rest.discarded,
        "failed at": rest.failed_at,
        "failure": rest.failure,
    }


def facts_of_operator(operator: Operator, seen: OperatorSeen) -> tuple[Fact, ...]:
    """Return the facts of an operator."""
    keyed = [one.managed_keyed for one in operator.subtasks if one.managed_keyed is not None]
    streams = [one.managed_operator.stream for one in operator.subtasks if one.managed_operator]
    backends = sorted({one.backend_id for one in keyed if hasattr(one, "backend_id")})
    taken_over = {one.reference for one in operator.subtasks if one.reference is not None}
    return _facts(
        {
            "layout of keyed state": ", ".join(seen.layouts),
            "handles of keyed state": _listed(type(one).__name__ for one in keyed),
            "operator state in": _listed(type(one).__name__ for one in streams),
            "backend ids": ", ".join(backends[:_MOST_BACKENDS]),
            "compressed": next(iter(seen.compressed)) if len(seen.compressed) == 1 else None,
            "state of checkpoints": ", ".join(map(str, sorted(taken_over))),
        }
    )


def _listed(names: Iterable[str]) -> str:
    return ", ".join(sorted(set(names)))


def _most(numbers: Iterable[int | None]) -> int | None:
    return max((number for number in numbers if number is not None), default=None)


def _facts(known: Mapping[str, object]) -> tuple[Fact, ...]:
    """Return facts, without those that are not known."""
    return tuple(filter(None, (_fact(name, value) for name, value in known.items())))


def _fact(name: str, value: object) -> Fact | None:
    if isinstance(value, bool):
        return Fact(name, "yes" if value else "no")
    if isinstance(value, int | float):
        return Fact(name, value, unit=_UNIT_OF.get(name))
    return Fact(name, value[:_LONGEST]) if isinstance(value, str) and value else None
