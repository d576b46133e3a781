"""Read the file `_metadata` of a Flink checkpoint or savepoint, versions 2 to 7.

Source: Flink, Checkpoints.loadCheckpointMetadata and MetadataV2Serializer ... MetadataV6Serializer;
version 7 from the development tree.
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from snapshots.readers.engines.flink import handle_reading as read
from snapshots.readers.engines.flink.checkpoint_kind import Properties, read_properties
from snapshots.readers.engines.flink.handle_reading import MetadataCursor
from snapshots.readers.engines.flink.handles import (
    INPUT,
    OUTPUT,
    Channels,
    Handle,
    Keyed,
    OperatorState,
    Stream,
    streams,
)
from snapshots.readers.formats.cursor import Cursor, Malformed
from snapshots.readers.formats.opaque import Opaque

MAGIC = 0x4960672D
VERSIONS = range(2, 8)
MOST_BYTES = 2**53  # of all state; JSON's numbers are exact up to it
_MASTER_MAGIC = 0xC96B1696


@dataclass(frozen=True, slots=True)
class MasterState:
    """The state of a hook of the job manager; only the hook can decode it."""

    name: str
    version: int
    data: bytes


@dataclass(frozen=True, slots=True)
class Subtask:
    """The handles that one subtask recorded; it has none if it had finished.

    Attributes:
        reference: the checkpoint whose state was reused (version 7); None if the subtask wrote its
            own.
    """

    index: int
    finished: bool = False
    managed_operator: OperatorState | None = None
    raw_operator: OperatorState | None = None
    managed_keyed: Keyed | None = None
    raw_keyed: Keyed | None = None
    inputs: tuple[Channels, ...] = ()
    outputs: tuple[Channels, ...] = ()
    reference: int | None = None

    def handles(self) -> Iterator[Handle]:
        fixed = (self.managed_operator, self.raw_operator, self.managed_keyed, self.raw_keyed)
        yield from (handle for handle in fixed if handle is not None)
        yield from self.inputs
        yield from self.outputs

    @property
    def size(self) -> int:
        return sum(handle.size for handle in self.handles())

    @property
    def uploaded_size(self) -> int:
        return sum(handle.uploaded_size for handle in self.handles())


@dataclass(frozen=True, slots=True)
class Operator:
    """One operator of the job.

    Attributes:
        id: 32 hex digits.
        name: none before version 5, or if the program gives none.
        uid: none before version 5, or if the program gives none.
        coordinator: the state of its coordinator.
        finished: whether all its subtasks had finished. If so, ``subtasks`` is empty.
    """

    id: str
    name: str | None
    uid: str | None
    parallelism: int
    max_parallelism: int
    coordinator: Stream | None
    finished: bool
    subtasks: tuple[Subtask, ...]

    @property
    def coordinator_size(self) -> int:
        return 0 if self.coordinator is None else self.coordinator.size

    @property
    def size(self) -> int:
        return self.coordinator_size + sum(subtask.size for subtask in self.subtasks)

    @property
    def uploaded_size(self) -> int:
        return self.coordinator_size + sum(subtask.uploaded_size for subtask in self.subtasks)


@dataclass(frozen=True, slots=True)
class Metadata:
    """The content of one `_metadata`.

    Attributes:
        properties: none before version 4.
        byte_count: the size of the file in bytes.
    """

    version: int
    checkpoint_id: int
    master_states: tuple[MasterState, ...]
    operators: tuple[Operator, ...]
    properties: Properties | Opaque | None
    byte_count: int

    @property
    def size(self) -> int:
        """Return the size of all state in bytes, including that of coordinators."""
        return sum(operator.size for operator in self.operators)

    def streams(self) -> Iterator[Stream]:
        """Yield every stream that this checkpoint needs."""
        for operator in self.operators:
            if operator.coordinator is not None:
                yield from streams(operator.coordinator)
            for subtask in operator.subtasks:
                for handle in subtask.handles():
                    yield from streams(handle)


def is_metadata(head: bytes) -> bool:
    """Tell whether a file that begins with ``head`` (4 bytes or more) is a `_metadata`."""
    return head[:4] == MAGIC.to_bytes(4, "big")


def read_metadata(data: bytes | memoryview) -> Metadata:
    """Read a `_metadata` to its last byte. Raises: Malformed."""
    cursor = MetadataCursor(data)
    if cursor.u32() != MAGIC:
        raise Malformed("This is not a _metadata of Flink: its beginning is wrong", 0)
    version = cursor.i32()
    if version not in VERSIONS:
        raise Malformed(
            f"Version {version} of _metadata is unknown; known are 2 (Flink 1.3) to 7", 4
        )
    checkpoint_id = cursor.natural(big=True, subject="A checkpoint id of 0 or more")
    masters = tuple(_master_state(cursor) for _ in range(cursor.count(bytes_each=8)))
    operators = tuple(_operator(cursor, version) for _ in range(cursor.count(bytes_each=29)))
    _refuse_twice([operator.id for operator in operators], "Operator", cursor)
    properties = None
    if version >= 4:
        properties = read_properties(cursor.take(cursor.left), len(cursor.data))
    if cursor.left:
        raise Malformed(f"{cursor.left} bytes follow the last operator", cursor.position)
    metadata = Metadata(version, checkpoint_id, masters, operators, properties, len(cursor.data))
    if metadata.size > MOST_BYTES:
        raise Malformed("The sizes of its handles add up to more than any state can have", 0)
    return metadata


def _refuse_twice(names: Sequence[str | int], subject: str, cursor: Cursor) -> None:
    if len(set(names)) < len(names):
        twice = Counter(names).most_common(1)[0][0]
        raise Malformed(f"{subject} {twice} is described twice", cursor.position)


def _master_state(cursor: MetadataCursor) -> MasterState:
    cursor.thing()
    at = cursor.position
    if cursor.u32() != _MASTER_MAGIC:
        raise Malformed("The state of a master hook has a wrong beginning", at)
    inner = Cursor(cursor.data, at + 8, at + 8 + cursor.count())
    version, name = inner.i32(), inner.utf()
    state = MasterState(name, version, inner.take(inner.count()))
    if inner.left:
        raise Malformed(f"{inner.left} bytes follow the state of a master hook", inner.position)
    cursor.take(inner.end - cursor.position)
    return state


def _operator(cursor: MetadataCursor, version: int) -> Operator:
    cursor.thing()
    name, uid = (cursor.utf(), cursor.utf()) if version >= 5 else ("", "")
    operator_id = cursor.take(16).hex()
    at, parallelism, max_parallelism = cursor.position, cursor.i32(), cursor.i32()
    if not 0 < parallelism <= max_parallelism <= read.MOST_KEY_GROUPS:
        raise Malformed(
            f"Parallelism {parallelism} of at most {max_parallelism} is not possible", at
        )
    if version == 2:
        cursor.i32()  # length of the chain, always 1
    coordinator = read.stream(cursor) if version >= 3 else None
    at, count = cursor.position, cursor.i32()
    finished = count == -1 and version >= 3
    if not finished and not 0 <= count <= parallelism:
        raise Malformed(
            f"An operator with parallelism {parallelism} cannot have {count} subtasks", at
        )
    subtasks = tuple(_subtask(cursor, version, parallelism) for _ in range(max(count, 0)))
    _refuse_twice([subtask.index for subtask in subtasks], "Subtask", cursor)
    return Operator(
        operator_id,
        name or None,
        uid or None,
        parallelism,
        max_parallelism,
        coordinator,
        finished,
        subtasks,
    )


def _subtask(cursor: MetadataCursor, version: int, parallelism: int) -> Subtask:
    cursor.thing()
    at, index = cursor.position, cursor.i32()
    finished = index < 0 and version >= 3
    if finished:
        index = -index - 1
    if not 0 <= index < parallelism:
        raise Malformed(f"An operator with parallelism {parallelism} has no subtask {index}", at)
    if finished:
        return Subtask(index, finished=True)
    if version == 2:
        _skip_obsolete_fields(cursor)
    return Subtask(  # in the order of the file
        index,
        managed_operator=_operator_state(cursor),
        raw_operator=_operator_state(cursor),
        managed_keyed=read.keyed(cursor),
        raw_keyed=read.keyed(cursor),
        inputs=_channels(cursor, INPUT, version),
        outputs=_channels(cursor, OUTPUT, version),
        reference=cursor.i64() if version >= 7 and cursor.flag() else None,
    )


def _skip_obsolete_fields(cursor: MetadataCursor) -> None:
    cursor.i64()  # duration
    at, legacy = cursor.position, cursor.i32()
    if legacy:
        raise Malformed("It holds state of Flink 1.1, which cannot be read", at)


def _operator_state(cursor: MetadataCursor) -> OperatorState | None:
    at, present = cursor.position, cursor.i32()
    if present not in (0, 1):
        raise Malformed(f"A 0 or 1 is expected before an operator state, not {present}", at)
    return read.operator_state(cursor) if present else None


def _channels(cursor: MetadataCursor, side: str, version: int) -> tuple[Channels, ...]:
    count = cursor.count(bytes_each=20) if version >= 3 else 0
    return tuple(read.channels(cursor, side, version) for _ in range(count))
