"""What only Flink knows of a job, a checkpoint, an operator: named for people to read."""

from collections.abc import Iterator

from snapshots.domain.inventory.model import BYTES, COUNT, EPOCH_MS, MILLISECONDS, Fact
from snapshots.readers.engines.flink.adapter.entries import OperatorSeen
from snapshots.readers.engines.flink.adapter.places import Place
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
    MILLISECONDS: ("interval", "timeout", "least pause", "alignment timeout", "duration",
                   "longest start delay", "longest alignment", "longest copy", "longest upload"),
    BYTES: ("size of _metadata", "state size by the REST API", "uploaded",
            "processed during alignment", "persisted in flight"),
    COUNT: ("checkpoints at once, at most", "tolerated failed checkpoints",
            "failures of the job", "subtasks", "acknowledged"),
}  # fmt: skip
_UNIT_OF = {name: unit for unit, names in _UNITS.items() for name in names}
_NEVER = 2**62  # an interval as long as this stands for none
_LONGEST = 500  # characters of a text


def facts_of_job(rest: RestJob | None) -> tuple[Fact, ...]:
    if rest is None:
        return ()
    found = {
        "state": rest.state,
        "type": rest.kind,
        "Flink": rest.flink_version,
        "started at": rest.started_at,
        "ended at": rest.ended_at,
        "answers given at": rest.asked_at,
    }
    found |= {name: rest.config.get(key) for key, name in _CONFIG.items()}
    if isinstance(found["interval"], int) and found["interval"] >= _NEVER:
        found["interval"] = "none: checkpoints only when asked for"
    if rest.exceptions:
        last = rest.exceptions[-1]
        found |= {"failures of the job": len(rest.exceptions), "last failure": last.name}
        found |= {"last failure at": last.at, "last failure in": last.task}
    counts = tuple(
        Fact(f"checkpoints {status}", count, unit=COUNT) for status, count in rest.counts.items()
    )
    return _facts(found) + counts


def facts_of_checkpoint(place: Place) -> tuple[Fact, ...]:
    found: dict[str, object] = {}
    hooks: tuple[Fact, ...] = ()
    if place.has_files:
        found |= _of_metadata(place.stored.metadata)
        hooks = tuple(_hooks(place.stored.metadata))
    if place.rest is not None:
        found |= _of_rest(place.rest)
    return _facts(found) + hooks


def _of_metadata(metadata: Metadata) -> dict[str, object]:
    found: dict[str, object] = {
        "version of _metadata": metadata.version,
        "size of _metadata": metadata.byte_count,
        "handles": ", ".join(sorted(set(_handles(metadata)))),
    }
    if isinstance(metadata.properties, Properties):
        properties = metadata.properties
        found |= {
            "type": properties.name,
            "savepoint format": properties.format,
            "sharing of files": properties.sharing,
        }
        kept = [name for name, is_so in properties.flags.items() if is_so]
        found["flags"] = ", ".join(kept)
    return found


def _hooks(metadata: Metadata) -> Iterator[Fact]:
    for master in metadata.master_states:
        yield Fact(f"hook {master.name[:_LONGEST]}", len(master.data), unit=BYTES)


def _handles(metadata: Metadata) -> Iterator[str]:
    for operator in metadata.operators:
        for subtask in operator.subtasks:
            for handle in subtask.handles():
                stream = getattr(handle, "stream", None)
                of = "" if stream is None else f" in {type(stream).__name__}"
                yield type(handle).__name__ + of


def _of_rest(rest: RestCheckpoint) -> dict[str, object]:
    totals = rest.totals
    subtasks = [subtask for vertex in rest.vertices for subtask in vertex.subtasks]
    return {
        "type by the REST API": rest.kind,
        "savepoint format by the REST API": rest.savepoint_format,
        "duration": totals.duration,
        "last acknowledgement at": totals.ack_at,
        "state size by the REST API": totals.state_size,
        "uploaded": totals.uploaded_size,
        "processed during alignment": totals.processed,
        "persisted in flight": totals.persisted,
        "subtasks": totals.subtasks,
        "acknowledged": totals.acknowledged,
        "longest start delay": _most(one.start_delay for one in subtasks),
        "longest alignment": _most(one.alignment for one in subtasks),
        "longest copy": _most(one.sync for one in subtasks),
        "longest upload": _most(one.async_ for one in subtasks),
        "stored at": rest.path,
        "discarded": rest.discarded,
        "failed at": rest.failed_at,
        "failure": rest.failure,
    }


def facts_of_operator(operator: Operator, seen: OperatorSeen) -> tuple[Fact, ...]:
    keyed = {type(one.managed_keyed).__name__ for one in operator.subtasks if one.managed_keyed}
    of_operator = {type(s.managed_operator.stream).__name__
                   for s in operator.subtasks if s.managed_operator}  # fmt: skip
    backends = {
        handle.backend_id
        for subtask in operator.subtasks
        if hasattr(handle := subtask.managed_keyed, "backend_id")
    }
    taken_over = {one.reference for one in operator.subtasks if one.reference is not None}
    return _facts(
        {
            "layout of keyed state": ", ".join(seen.layouts) or None,
            "handles of keyed state": ", ".join(sorted(keyed)) or None,
            "operator state in": ", ".join(sorted(of_operator)) or None,
            "backend ids": ", ".join(sorted(backends)[:10]) or None,
            "compressed": next(iter(seen.compressed)) if len(seen.compressed) == 1 else None,
            "state of checkpoints": ", ".join(map(str, sorted(taken_over))) or None,
        }
    )


def _most(numbers: Iterator[int | None]) -> int | None:
    return max((number for number in numbers if number is not None), default=None)


def _facts(found: dict[str, object]) -> tuple[Fact, ...]:
    """Without what is not known."""
    return tuple(_fact(name, value) for name, value in found.items() if _is_told(value))


def _fact(name: str, value: object) -> Fact:
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    return Fact(name, _plain(value), unit=_UNIT_OF.get(name) if is_number else None)


def _is_told(value: object) -> bool:
    return value not in (None, "") and isinstance(value, str | int | float)


def _plain(value: object) -> str | int | float:
    if isinstance(value, bool):
        return "yes" if value else "no"
    return value[:_LONGEST] if isinstance(value, str) else value
