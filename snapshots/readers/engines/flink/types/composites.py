"""Flink's types that are made of other types, and how their values are written.

Source: Flink, the serializers named at each class. A recursive type does not exist there, so that
decoding goes no deeper than the serializers nest, which whoever builds them has to bound.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from json import dumps

from snapshots.readers.engines.flink.types.values import SIMPLE, Serializer, Undecodable, named
from snapshots.readers.formats.cursor import Cursor, Malformed

ROW_KINDS = ("+I", "-U", "+U", "-D")
_LEAST_I64 = -(2**63)


def elements(cursor: Cursor, count: int, one: Serializer) -> list[object]:
    """``count`` values. Raises: Malformed, also where they take no bytes: any number would do."""
    start = cursor.position
    found = []
    for _ in range(count):
        found.append(one.decode(cursor))
        if cursor.position == start:
            raise Malformed(f"{count} values of no bytes are announced", start)
    return found


def as_object(pairs: Iterable[tuple[object, object]]) -> dict[str, object] | list[list[object]]:
    """A map as a JSON object; as pairs where its keys, written as text, would not stay apart."""
    pairs = list(pairs)
    names = [_name(key) for key, _ in pairs]
    if None in names or len(set(names)) < len(names):
        return [[key, value] for key, value in pairs]
    return {name: value for name, (_, value) in zip(names, pairs, strict=True)}


def _name(key: object) -> str | None:
    if isinstance(key, str):
        return key
    return dumps(key) if isinstance(key, bool | int | float) else None


def _total(parts: Iterable[Serializer]) -> int | None:
    lengths = [part.fixed_length for part in parts]
    return None if None in lengths else sum(lengths)


@dataclass(frozen=True, slots=True)
class ListSerializer(Serializer):
    """ListSerializer."""

    element: Serializer

    @property
    def name(self) -> str:
        return named("list", (self.element,))

    fixed_length = None

    def decode(self, cursor: Cursor) -> list[object]:
        return elements(cursor, cursor.count(), self.element)


@dataclass(frozen=True, slots=True)
class ArraySerializer(Serializer):
    """GenericArraySerializer: each element behind a mark whether it is there."""

    element: Serializer

    @property
    def name(self) -> str:
        return named("array", (self.element,))

    fixed_length = None

    def decode(self, cursor: Cursor) -> list[object]:
        count = cursor.count()
        return [self.element.decode(cursor) if cursor.flag() else None for _ in range(count)]


@dataclass(frozen=True, slots=True)
class MapSerializer(Serializer):
    """MapSerializer: a value behind a mark whether it is null."""

    key: Serializer
    value: Serializer

    @property
    def name(self) -> str:
        return named("map", (self.key, self.value))

    fixed_length = None

    def decode(self, cursor: Cursor) -> object:
        count = cursor.count()
        return as_object([(self.key.decode(cursor), self.one(cursor)) for _ in range(count)])

    def one(self, cursor: Cursor) -> object:
        """The value of one key."""
        return None if cursor.flag() else self.value.decode(cursor)


@dataclass(frozen=True, slots=True)
class TupleSerializer(Serializer):
    """TupleSerializer and ScalaCaseClassSerializer: one field after the other."""

    fields: tuple[Serializer, ...]
    outer: str = "tuple"

    @property
    def name(self) -> str:
        return named(self.outer, self.fields)

    @property
    def fixed_length(self) -> int | None:
        return _total(self.fields)

    def decode(self, cursor: Cursor) -> list[object]:
        return [field.decode(cursor) for field in self.fields]


@dataclass(frozen=True, slots=True)
class RowSerializer(Serializer):
    """RowSerializer: a mask (kind, then which fields are null), then the other fields.

    A row is the list of its fields; one that is no insertion says its kind.
    """

    fields: tuple[Serializer, ...]
    has_kind: bool = True

    @property
    def name(self) -> str:
        return named("row", self.fields)

    fixed_length = None

    def decode(self, cursor: Cursor) -> object:
        of_kind = 2 if self.has_kind else 0
        width = of_kind + len(self.fields)
        mask = cursor.take((width + 7) // 8)
        bits = [mask[place // 8] >> (7 - place % 8) & 1 for place in range(width)]
        values = [
            None if null else field.decode(cursor)
            for null, field in zip(bits[of_kind:], self.fields, strict=True)
        ]
        kind = bits[0] | bits[1] << 1 if of_kind else 0
        return {"rowKind": ROW_KINDS[kind], "fields": values} if kind else values


@dataclass(frozen=True, slots=True)
class EnumSerializer(Serializer):
    """EnumSerializer: the place of the constant among the names."""

    type_name: str
    constants: tuple[str, ...]

    @property
    def name(self) -> str:
        return f"enum {self.type_name}"

    fixed_length = 4

    def decode(self, cursor: Cursor) -> str:
        at, place = cursor.position, cursor.i32()
        if not 0 <= place < len(self.constants):
            raise Malformed(f"Constant {place} of an enum of {len(self.constants)}", at)
        return self.constants[place]


@dataclass(frozen=True, slots=True)
class NullableSerializer(Serializer):
    """NullableSerializer. padding: bytes that stand for a null."""

    element: Serializer
    padding: int

    @property
    def name(self) -> str:
        return named("nullable", (self.element,))

    @property
    def fixed_length(self) -> int | None:
        return self.padding + 1 if self.padding else None

    def decode(self, cursor: Cursor) -> object:
        if cursor.flag():
            cursor.take(self.padding)
            return None
        return self.element.decode(cursor)


@dataclass(frozen=True, slots=True)
class EitherSerializer(Serializer):
    """EitherSerializer of Java and of Scala: {"left": value} or {"right": value}."""

    left: Serializer
    right: Serializer

    @property
    def name(self) -> str:
        return named("either", (self.left, self.right))

    fixed_length = None

    def decode(self, cursor: Cursor) -> dict[str, object]:
        if cursor.flag():
            return {"left": self.left.decode(cursor)}
        return {"right": self.right.decode(cursor)}


@dataclass(frozen=True, slots=True)
class TimerSerializer(Serializer):
    """TimerSerializer: {"timestamp", "key", "namespace"}; its time is stored to sort as bytes."""

    key: Serializer
    namespace: Serializer

    @property
    def name(self) -> str:
        return named("timer", (self.key, self.namespace))

    fixed_length = None

    def decode(self, cursor: Cursor) -> dict[str, object]:
        time = cursor.i64() ^ _LEAST_I64
        return {
            "timestamp": time,
            "key": self.key.decode(cursor),
            "namespace": self.namespace.decode(cursor),
        }


@dataclass(frozen=True, slots=True)
class TtlSerializer(Serializer):
    """TtlStateFactory's: {"userValue", "lastAccessTimestamp" in ms since 1970}."""

    value: Serializer
    time: Serializer = SIMPLE["long"]

    @property
    def name(self) -> str:
        return named("ttl", (self.value,))

    @property
    def fixed_length(self) -> int | None:
        return _total((self.time, self.value))

    def decode(self, cursor: Cursor) -> dict[str, object]:
        time = self.time.decode(cursor)
        return {"userValue": self.value.decode(cursor), "lastAccessTimestamp": time}


@dataclass(frozen=True, slots=True)
class PojoSerializer(Serializer):
    """PojoSerializer: a flag, then each field behind a mark whether it is null.

    fields: name -> serializer, in the order of the snapshot. registered: the serializers of
    registered subclasses in order; others: class name -> serializer of the subclasses seen. A
    subclass that was not seen before the snapshot is not described anywhere.
    """

    type_name: str
    fields: tuple[tuple[str, Serializer], ...]
    registered: tuple[tuple[str, Serializer], ...] = ()
    others: tuple[tuple[str, Serializer], ...] = ()

    @property
    def name(self) -> str:
        return f"pojo {self.type_name}"

    fixed_length = None

    def decode(self, cursor: Cursor) -> object:
        at, flags = cursor.position, cursor.u8()
        if flags == 1:
            return None
        if flags == 2:
            return {
                name: None if cursor.flag() else field.decode(cursor) for name, field in self.fields
            }
        if flags == 4:
            return self._of_class(cursor.utf(), at).decode(cursor)
        if flags == 8 and (place := cursor.u8()) < len(self.registered):
            return self.registered[place][1].decode(cursor)
        raise Malformed(f"An object begins with the flags {flags}", at)

    def _of_class(self, class_name: str, at: int) -> Serializer:
        for name, serializer in self.others:
            if name == class_name:
                return serializer
        raise Undecodable(
            f"The value is of the class {class_name[:200]}, which the checkpoint does not describe",
            at,
        )
