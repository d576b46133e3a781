"""Decode what Flink's own operators keep: joins, windows, CEP, asynchronous calls, SQL's views.

Each class has the name of Flink's serializer. A value with several fields becomes an object with
Flink's names of them. Source: Flink, the serializers of these names.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar

from snapshots.readers.engines.flink.types import moments
from snapshots.readers.engines.flink.types.composites import as_object
from snapshots.readers.engines.flink.types.values import (
    Serializer,
    Simple,
    Undecodable,
    hex_bytes,
    named,
    string,
)
from snapshots.readers.engines.flink.types.variants import variant
from snapshots.readers.formats.cursor import Cursor, Malformed

_LEAST_I64 = -(2**63)


@dataclass(frozen=True, slots=True)
class SetSerializer(Serializer):
    """SetSerializer: a flag before each element says whether it is null."""

    element: Serializer

    @property
    def name(self) -> str:
        return named("set", (self.element,))

    fixed_length = None

    def decode(self, cursor: Cursor) -> list[object]:
        count = cursor.count()
        return [None if cursor.flag() else self.element.decode(cursor) for _ in range(count)]


@dataclass(frozen=True, slots=True)
class NullAwareMapSerializer(Serializer):
    """NullAwareMapSerializer: a flag before each key and each value says whether it is null."""

    key: Serializer
    value: Serializer

    @property
    def name(self) -> str:
        return named("map", (self.key, self.value))

    fixed_length = None

    def decode(self, cursor: Cursor) -> object:
        count = cursor.count(bytes_each=2)
        return as_object(
            [(_nullable(self.key, cursor), _nullable(self.value, cursor)) for _ in range(count)]
        )


def _nullable(part: Serializer, cursor: Cursor) -> object:
    return None if cursor.flag() else part.decode(cursor)


@dataclass(frozen=True, slots=True)
class LinkedListSerializer(Serializer):
    """LinkedListSerializer: a bit for each element says whether it is null, the first bit highest.

    Attributes:
        has_nulls: whether these bits are there; the first versions had none.
    """

    element: Serializer
    has_nulls: bool

    @property
    def name(self) -> str:
        return named("list", (self.element,))

    fixed_length = None

    def decode(self, cursor: Cursor) -> list[object]:
        if not self.has_nulls:
            return [self.element.decode(cursor) for _ in range(cursor.count())]
        at, count = cursor.position, cursor.i32()
        if not 0 <= count <= 8 * cursor.left:
            raise Malformed(f"{count} things are announced and {cursor.left} bytes are left", at)
        mask = cursor.take((count + 7) // 8)
        return [
            None if mask[index // 8] >> (7 - index % 8) & 1 else self.element.decode(cursor)
            for index in range(count)
        ]


@dataclass(frozen=True, slots=True)
class FieldsSerializer(Serializer):
    """A serializer of some fields, one behind the other; a value is an object with their names."""

    outer: str
    names: tuple[str, ...]
    parts: tuple[Serializer, ...]

    @property
    def name(self) -> str:
        return named(self.outer, self.parts)

    @property
    def fixed_length(self) -> int | None:
        lengths = [part.fixed_length for part in self.parts]
        return None if None in lengths else sum(length or 0 for length in lengths)

    def decode(self, cursor: Cursor) -> dict[str, object]:
        pairs = zip(self.names, self.parts, strict=True)
        return {name: part.decode(cursor) for name, part in pairs}


@dataclass(frozen=True, slots=True)
class UnionSerializer(Serializer):
    """CoGroupedStreams.UnionSerializer: a byte tells from which of two inputs a value is."""

    one: Serializer
    two: Serializer

    @property
    def name(self) -> str:
        return named("union", (self.one, self.two))

    fixed_length = None

    def decode(self, cursor: Cursor) -> dict[str, object]:
        at, tag = cursor.position, cursor.u8()
        if tag not in (1, 2):
            raise Malformed(f"A value is of the input 1 or 2, and {tag} is there", at)
        return {"one": self.one.decode(cursor)} if tag == 1 else {"two": self.two.decode(cursor)}


@dataclass(frozen=True, slots=True)
class StreamElementSerializer(Serializer):
    """StreamElementSerializer: a tag, then a record, a watermark, or what else streams carry."""

    value: Serializer

    @property
    def name(self) -> str:
        return named("record", (self.value,))

    fixed_length = None

    def decode(self, cursor: Cursor) -> dict[str, object]:
        at, tag = cursor.position, cursor.u8()
        match tag:
            case 0:
                return {"timestamp": cursor.i64(), "value": self.value.decode(cursor)}
            case 1:
                return {"value": self.value.decode(cursor)}
            case 2:
                return {"watermark": cursor.i64()}
            case 3:
                time, low, high = cursor.i64(), cursor.i64(), cursor.i64()
                operator = f"{low & 2**64 - 1:016x}{high & 2**64 - 1:016x}"
                return {"latencyMarker": time, "operator": operator, "subtask": cursor.i32()}
            case 4:
                return {"watermarkStatus": cursor.i32()}
            case 5:
                return {"isBacklog": cursor.flag()}
            case 6:
                return {"subpartition": cursor.i32(), "watermark": cursor.i64()}
        raise Malformed(f"An element of a stream cannot begin with {tag}", at)


@dataclass(frozen=True, slots=True)
class TwoPhaseCommitStateSerializer(Serializer):
    """TwoPhaseCommitSinkFunction.StateSerializer: transactions with the times they began at."""

    transaction: Serializer
    context: Serializer

    @property
    def name(self) -> str:
        return named("transactions", (self.transaction, self.context))

    fixed_length = None

    def decode(self, cursor: Cursor) -> dict[str, object]:
        pending = self._transaction(cursor)
        count = cursor.count(bytes_each=8)
        waiting = [self._transaction(cursor) for _ in range(count)]
        context = self.context.decode(cursor) if cursor.flag() else None
        return {"pending": pending, "waitingForCommit": waiting, "context": context}

    def _transaction(self, cursor: Cursor) -> dict[str, object]:
        return {"transaction": self.transaction.decode(cursor), "startTime": cursor.i64()}


@dataclass(frozen=True, slots=True)
class NodeIdSerializer(Serializer):
    """NodeId.NodeIdSerializer of CEP: an event and the name of the pattern that took it."""

    event: Serializer

    name: ClassVar[str] = "nodeid"
    fixed_length = None

    def decode(self, cursor: Cursor) -> dict[str, object] | None:
        if not cursor.flag():
            return None
        return {"event": self.event.decode(cursor), "page": string(cursor)}


@dataclass(frozen=True, slots=True)
class SharedBufferNodeSerializer(Serializer):
    """SharedBufferNodeSerializer of CEP: edges, each with how many runs hold it."""

    edge: Serializer

    name: ClassVar[str] = "sharedbuffernode"
    fixed_length = None

    def decode(self, cursor: Cursor) -> list[object]:
        return [self._edge(cursor) for _ in range(cursor.count(bytes_each=4))]

    def _edge(self, cursor: Cursor) -> dict[str, object]:
        return {"refCounter": cursor.i32(), "edge": self.edge.decode(cursor)}


@dataclass(frozen=True, slots=True)
class NfaStateSerializer(Serializer):
    """NFAStateSerializer of CEP: the matches in progress, and those that are complete."""

    version: Serializer
    node: Serializer
    event: Serializer
    has_previous_time: bool

    name: ClassVar[str] = "nfastate"
    fixed_length = None

    def decode(self, cursor: Cursor) -> dict[str, object]:
        return {"partialMatches": self._runs(cursor), "completedMatches": self._runs(cursor)}

    def _runs(self, cursor: Cursor) -> list[object]:
        return [self._run(cursor) for _ in range(cursor.count(bytes_each=11))]

    def _run(self, cursor: Cursor) -> dict[str, object]:
        run: dict[str, object] = {
            "state": string(cursor),
            "previousBufferEntry": self.node.decode(cursor),
            "version": self.version.decode(cursor),
            "startTimestamp": cursor.i64(),
        }
        if self.has_previous_time:
            run["previousTimestamp"] = cursor.i64()
        return run | {"startEvent": self.event.decode(cursor) if cursor.flag() else None}


@dataclass(frozen=True, slots=True)
class RawValueSerializer(Serializer):
    """RawValueDataSerializer: bytes behind their length, which another serializer wrote."""

    inner: Serializer

    @property
    def name(self) -> str:
        return named("raw", (self.inner,))

    fixed_length = None

    def decode(self, cursor: Cursor) -> object:
        data = cursor.take(cursor.count())
        try:
            return self.inner.decode(Cursor(data))
        except Undecodable:
            return {"hex": data.hex()}


@dataclass(frozen=True, slots=True)
class BinaryRow(Serializer):
    """BinaryRowDataSerializer: a row of SQL. Its description tells how many fields, no types."""

    arity: int

    @property
    def name(self) -> str:
        return f"binaryrow({self.arity})"

    fixed_length = None

    def decode(self, cursor: Cursor) -> dict[str, object]:
        return {"binaryRow": cursor.take(cursor.count()).hex(), "arity": self.arity}


def _dewey(cursor: Cursor) -> str:
    return ".".join(str(cursor.i32()) for _ in range(cursor.count(bytes_each=4)))


def _event_id(cursor: Cursor) -> dict[str, int]:
    return {"id": cursor.i32(), "timestamp": cursor.i64()}


def _sorted_long(cursor: Cursor) -> int:
    return cursor.i64() ^ _LEAST_I64


def _nothing(cursor: Cursor) -> None:
    pass


def _one_byte(cursor: Cursor) -> None:
    cursor.u8()


def _variant(cursor: Cursor) -> object:
    at, value, metadata = cursor.position, cursor.i32(), cursor.i32()
    if value < 0 or metadata < 0 or value + metadata > cursor.left:
        raise Malformed(f"{value} and {metadata} bytes are more than are left", at)
    return variant(cursor.take(value), cursor.take(metadata), at)


def _count_window(cursor: Cursor) -> dict[str, int]:
    return {"window": cursor.i64()}


def _days(cursor: Cursor) -> str:
    return moments.day_text(cursor.i32())


def _millis_of_day(cursor: Cursor) -> str:
    at = cursor.position
    return moments.time_of_day_text(cursor.i32(), at)


_Read = Callable[[Cursor], object]
_SIMPLE: tuple[tuple[str, int | None, _Read], ...] = (
    ("deweynumber", None, _dewey),
    ("eventid", 12, _event_id),
    ("sortedlong", 8, _sorted_long),
    ("null", 1, _one_byte),
    ("nullvalue", 0, _nothing),
    ("variant", None, _variant),
    ("bitmap", None, hex_bytes),
    ("countwindow", 8, _count_window),
    ("tuple0", 1, _one_byte),
    ("days", 4, _days),
    ("millisofday", 4, _millis_of_day),
)
SIMPLE = {name: Simple(name, length, read) for name, length, read in _SIMPLE}
