"""Decode values of Flink's composite types. Each class has the name of Flink's serializer.

No type is recursive, so decoding goes no deeper than the serializers nest. Code that builds
serializers bounds their depth.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from json import dumps

from snapshots.readers.engines.flink.types.values import SIMPLE, Serializer, Undecodable, named
from snapshots.readers.formats.cursor import Cursor, Malformed

ROW_KINDS = ("+I", "-U", "+U", "-D")
_LEAST_I64 = -(2**63)


def unread(undecodable: Undecodable) -> dict[str, str]:
    """Return what stands for a value that could not be read."""
    return {"unread": f"{undecodable.what}."}


def _elements(cursor: Cursor, count: int, element: Serializer) -> list[object]:
    """Decode ``count`` values. Raises: Malformed, also for values of no bytes.

    Values of no bytes would let a few bytes announce any number of them.
    """
    start = cursor.position
    values = []
    for _ in range(count):
        values.append(element.decode(cursor))
        if cursor.position == start:
            raise Malformed(f"{count} values of no bytes are announced", start)
    return values


def as_object(pairs: Iterable[tuple[object, object]]) -> dict[str, object] | list[list[object]]:
    """Return a map as a JSON object, or as pairs if its keys are not distinct as texts."""
    pairs = list(pairs)
    named = {name: value for key, value in pairs if (name := _name(key)) is not None}
    return named if len(named) == len(pairs) else [[key, value] for key, value in pairs]


def _name(key: object) -> str | None:
    if isinstance(key, str):
        return key
    return dumps(key) if isinstance(key, bool | int | float) else None


def _total(parts: Sequence[Serializer]) -> int | None:
    lengths = [part.fixed_length for part in parts if part.fixed_length is not None]
    return sum(lengths) if len(lengths) == len(parts) else None


@dataclass(frozen=True, slots=True)
class ListSerializer(Serializer):
    element: Serializer

    @property
    def name(self) -> str:
        return named("list", (self.element,))

    fixed_length = None

    def decode(self, cursor: Cursor) -> list[object]:
        return _elements(cursor, cursor.count(), self.element)


@dataclass(frozen=True, slots=True)
class ArraySerializer(Serializer):
    """GenericArraySerializer, TraversableSerializer: a flag says whether an element is not null."""

    element: Serializer
    outer: str = "array"

    @property
    def name(self) -> str:
        return named(self.outer, (self.element,))

    fixed_length = None

    def decode(self, cursor: Cursor) -> list[object]:
        count = cursor.count()
        return [self.element.decode(cursor) if cursor.flag() else None for _ in range(count)]


@dataclass(frozen=True, slots=True)
class MapSerializer(Serializer):
    """MapSerializer: a flag before each value says whether it is null."""

    key: Serializer
    value: Serializer

    @property
    def name(self) -> str:
        return named("map", (self.key, self.value))

    fixed_length = None

    def decode(self, cursor: Cursor) -> object:
        count = cursor.count()
        return as_object([(self.key.decode(cursor), self._value(cursor)) for _ in range(count)])

    def _value(self, cursor: Cursor) -> object:
        return None if cursor.flag() else self.value.decode(cursor)


@dataclass(frozen=True, slots=True)
class TupleSerializer(Serializer):
    """TupleSerializer and ScalaCaseClassSerializer: the fields in order."""

    fields: tuple[Serializer, ...]
    outer: str = "tuple"

    @property
    def name(self) -> str:
        return named(self.outer, self.fields)

    @property
    def fixed_length(self) -> int | None:
        return _total(self.fields)

    def decode(self, cursor: Cursor) -> list[object]:
        values: list[object] = []
        for field in self.fields:
            try:
                values.append(field.decode(cursor))
            except Undecodable as undecodable:
                undecodable.known = [*values, undecodable.known or unread(undecodable)]
                raise
        return values


@dataclass(frozen=True, slots=True)
class RowSerializer(Serializer):
    """RowSerializer: a mask with the kind and the null fields, then the other fields.

    An insertion decodes to the list of its fields, any other row to an object with its kind.
    """

    fields: tuple[Serializer, ...]
    has_kind: bool = True

    @property
    def name(self) -> str:
        return named("row", self.fields)

    fixed_length = None

    def decode(self, cursor: Cursor) -> object:
        kind_bits = 2 if self.has_kind else 0
        width = kind_bits + len(self.fields)
        mask = cursor.take((width + 7) // 8)
        bits = [mask[bit // 8] >> (7 - bit % 8) & 1 for bit in range(width)]
        values = [
            None if null else field.decode(cursor)
            for null, field in zip(bits[kind_bits:], self.fields, strict=True)
        ]
        kind = bits[0] | bits[1] << 1 if kind_bits else 0
        return {"rowKind": ROW_KINDS[kind], "fields": values} if kind else values


@dataclass(frozen=True, slots=True)
class EnumSerializer(Serializer):
    """EnumSerializer: the index of a constant."""

    type_name: str
    constants: tuple[str, ...]

    @property
    def name(self) -> str:
        return f"enum {self.type_name}"

    fixed_length = 4

    def decode(self, cursor: Cursor) -> str:
        at, index = cursor.position, cursor.i32()
        if not 0 <= index < len(self.constants):
            raise Malformed(
                f"An enum with {len(self.constants)} constants has no constant {index}", at
            )
        return self.constants[index]


@dataclass(frozen=True, slots=True)
class ScalaEnumSerializer(Serializer):
    """EnumValueSerializer of Scala: the number of a constant.

    Attributes:
        constants: the names of the constants with their numbers.
    """

    type_name: str
    constants: tuple[tuple[str, int], ...]

    @property
    def name(self) -> str:
        return f"enum {self.type_name}"

    fixed_length = 4

    def decode(self, cursor: Cursor) -> str:
        at, number = cursor.position, cursor.i32()
        for name, own in self.constants:
            if own == number:
                return name
        raise Malformed(f"The enum has no constant of the number {number}", at)


@dataclass(frozen=True, slots=True)
class OptionSerializer(Serializer):
    """OptionSerializer of Scala: a flag, and behind it the value if there is one; else None."""

    element: Serializer

    @property
    def name(self) -> str:
        return named("option", (self.element,))

    fixed_length = None

    def decode(self, cursor: Cursor) -> object:
        return self.element.decode(cursor) if cursor.flag() else None


@dataclass(frozen=True, slots=True)
class TrySerializer(Serializer):
    """TrySerializer of Scala; a value is {"success": value} or {"failure": exception}."""

    success: Serializer
    failure: Serializer

    @property
    def name(self) -> str:
        return named("try", (self.success,))

    fixed_length = None

    def decode(self, cursor: Cursor) -> dict[str, object]:
        if cursor.flag():
            return {"success": self.success.decode(cursor)}
        return {"failure": self.failure.decode(cursor)}


@dataclass(frozen=True, slots=True)
class NullableSerializer(Serializer):
    """A value that may be null, as NullableSerializer writes it: a flag, then value or padding.

    Attributes:
        padding: how many bytes stand for a null, beside the flag.
    """

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
    """EitherSerializer of Java and of Scala; a value is {"left": value} or {"right": value}."""

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
    """TimerSerializer; a timer is {"timestamp", "key", "namespace"}.

    The sign bit of the stored time is inverted, so that timers sort as bytes.
    """

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
    """TtlStateFactory.TtlSerializer; a value is {"userValue", "lastAccessTimestamp" (epoch ms)}."""

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
    """PojoSerializer: a byte of flags, then each field after a flag for null.

    A subclass that was first met after the snapshot is described nowhere.

    Attributes:
        fields: names and serializers, in the order of the snapshot.
        registered: class names and serializers of the registered subclasses; a value has the index
            of one.
        others: class names and serializers of other subclasses; a value has the name of its class.
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
            return self._own_fields(cursor)
        if flags == 4:
            return self._subclass(cursor.utf(), at).decode(cursor)
        if flags == 8 and (index := cursor.u8()) < len(self.registered):
            return self.registered[index][1].decode(cursor)
        raise Malformed(f"An object begins with the flags {flags}", at)

    def _own_fields(self, cursor: Cursor) -> dict[str, object]:
        """Decode the fields. Raises: Malformed; Undecodable with what is known of them."""
        values: dict[str, object] = {}
        for name, field in self.fields:
            try:
                values[name] = None if cursor.flag() else field.decode(cursor)
            except Undecodable as undecodable:
                values[name] = undecodable.known or unread(undecodable)
                behind = {"unread": f"It lies behind {name}, whose end is not known."}
                undecodable.known = {other: behind for other, _ in self.fields} | values
                raise
        return values

    def _subclass(self, class_name: str, at: int) -> Serializer:
        for name, serializer in self.others:
            if name == class_name:
                return serializer
        raise Undecodable(
            f"The value is of the class {class_name[:200]}, which the checkpoint does not describe",
            at,
        )
