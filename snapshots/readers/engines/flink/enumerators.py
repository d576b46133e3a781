"""What the coordinator of a source keeps: the splits that no reader has yet.

Nothing names the serializer of an enumerator, so a form counts only if it fits to the last byte.
Source: Flink, SourceCoordinator, which writes its own version, that of the enumerator's serializer
and a length; NumberSequenceSource; FileSource's PendingSplitsCheckpointSerializer, whose numbers
are little-endian; HybridSourceEnumeratorStateSerializer; Flink's connector for Kafka,
KafkaSourceEnumStateSerializer.
"""

import struct
from collections.abc import Callable
from dataclasses import dataclass, replace

from snapshots.domain.inventory.positions import Position
from snapshots.readers.engines.flink.forms import fitting, versioned, versioned_whole
from snapshots.readers.engines.flink.splits import numbers, of_source, position_in
from snapshots.readers.formats.cursor import Cursor

_COORDINATOR = bytes((0, 0, 0, 1))  # version
_MOST_SHOWN = 256 * 1024  # bytes
_SMALLEST_SPLIT = 18  # bytes of a NumberSequenceSource
_SMALLEST_PARTITION = 10  # bytes
_FILES_MAGIC = 0xDEADBEEF
_KAFKA = "The bytes have the form of the state of Flink's Kafka source."


@dataclass(frozen=True, slots=True)
class Enumerator:
    """The state of an enumerator.

    Attributes:
        waiting: the splits that no reader has yet.
        found: the files that were found before, and are not looked for again.
        assigned: the partitions that readers have, as ``topic-partition``.
        source: which source of a HybridSource is read, the first one being 0; None of others.
    """

    waiting: tuple[Position, ...]
    found: tuple[str, ...] = ()
    assigned: tuple[str, ...] = ()
    source: int | None = None


def waiting_of(data: bytes) -> tuple[Position, ...] | None:
    """Return the splits that no reader has yet; None if the bytes have none of the known forms."""
    state = enumerator_of(data)
    return None if state is None else state.waiting


def shown(data: bytes) -> dict[str, object] | None:
    """Return the state of a coordinator as a value; None if it is not known, or too large."""
    state = enumerator_of(data) if len(data) <= _MOST_SHOWN else None
    if state is None:
        return None
    value: dict[str, object] = {"waiting": [position.sentence for position in state.waiting]}
    if state.found:
        value["found before"] = list(state.found)
    if state.assigned:
        value["assigned"] = list(state.assigned)
    if state.source is not None:
        value["source"] = state.source + 1
    return value | {"hex": data.hex()}


def enumerator_of(data: bytes) -> Enumerator | None:
    """Return the state of an enumerator; None if the bytes have none of the known forms."""
    if data[:4] != _COORDINATOR or (state := versioned_whole(memoryview(data)[4:])) is None:
        return None
    version, inside = state
    return fitting((_hybrid,), inside) if version == 0 else _read(version, inside)


def _read(version: int, data: bytes) -> Enumerator | None:
    """Return the state of an enumerator of any source but a HybridSource, which has another in it.

    None as above.
    """
    return fitting(_FORMS.get(version, ()), data)


def _numbers(cursor: Cursor) -> Enumerator | None:
    splits = [numbers(cursor) for _ in range(cursor.count(bytes_each=_SMALLEST_SPLIT))]
    known = tuple(split for split in splits if split is not None)
    return Enumerator(known) if len(known) == len(splits) else None


def _files(cursor: Cursor) -> Enumerator | None:
    magic, version, splits, paths = (_little(cursor) for _ in range(4))
    if magic != _FILES_MAGIC:
        return None
    positions = [position_in(version, _sized(cursor)) for _ in range(splits)]
    found = tuple(_sized(cursor).decode("utf-8", "replace") for _ in range(paths))
    known = tuple(position for position in positions if position is not None)
    return Enumerator(known, found) if len(known) == len(positions) else None


def _little(cursor: Cursor) -> int:
    """Read a number of four bytes, which counts things that take four bytes or more."""
    return int(struct.unpack("<I", cursor.take(4))[0])


def _sized(cursor: Cursor) -> bytes:
    return cursor.take(_little(cursor))


def _partitions(cursor: Cursor) -> Enumerator | None:
    """Read the partitions that a Kafka source knows, with a number for those that wait."""
    waiting, assigned = [], []
    for _ in range(cursor.count(bytes_each=_SMALLEST_PARTITION)):
        topic, partition, status = cursor.utf(), cursor.i32(), cursor.i32()
        if not topic or partition < 0 or status not in (0, 1):
            return None
        split = f"{topic}-{partition}"
        if status:
            sentence = f"Partition {partition} of the topic {topic} waits for a reader."
            waiting.append(Position(split, None, None, None, sentence, _KAFKA))
        else:
            assigned.append(split)
    cursor.flag()  # whether all partitions were looked for once
    return Enumerator(tuple(waiting), assigned=tuple(assigned))


def _hybrid(cursor: Cursor) -> Enumerator | None:
    source, state = cursor.i32(), _read(*versioned(cursor))
    if source < 0 or state is None:
        return None
    waiting = tuple(
        replace(position, sentence=f"{position.sentence} {of_source(source)}")
        for position in state.waiting
    )
    return replace(state, waiting=waiting, source=source)


_FORMS: dict[int, tuple[Callable[[Cursor], Enumerator | None], ...]] = {
    1: (_numbers, _files),
    2: (_partitions,),
}
