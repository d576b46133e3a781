"""Strategies for types of state as Flink describes them, with values as Flink writes them."""

import struct
from dataclasses import dataclass, field
from datetime import datetime
from decimal import Decimal

from hypothesis import strategies as st

from tests.readers.engines.flink.writing import i32, i64, utf

_BASE = "org.apache.flink.api.common.typeutils.base."
_JAVA = "org.apache.flink.api.java.typeutils.runtime."
_LIST_MAGIC, _OUTER_MAGIC, _MAP_MAGIC = 1333245, 911108, 0x4F2C69A3D70


@dataclass(frozen=True)
class Kind:
    """One type with its values."""

    name: str
    snapshot: bytes = field(repr=False)
    """The description, without envelope."""
    values: st.SearchStrategy = field(repr=False)
    """A strategy of pairs: the bytes of a value, and the decoded value."""


def envelope(snapshot: bytes) -> bytes:
    return i32(2) + snapshot


def simple_snapshot(class_name: str, version: int = 3) -> bytes:
    body = utf("the class") if version == 2 else b""
    return utf(class_name) + i32(version) + body


def nested(parts: tuple[Kind, ...]) -> bytes:
    return i32(_LIST_MAGIC, 1, len(parts)) + b"".join(part.snapshot for part in parts)


def composite(
    class_name: str, parts: tuple[Kind, ...], outer: bytes = b"", outer_version: int = 1
) -> bytes:
    head = utf(class_name) + i32(3, _OUTER_MAGIC, outer_version)
    return head + outer + nested(parts)


def varint(number: int) -> bytes:
    out = b""
    while number >= 0x80:
        out += bytes([number & 0x7F | 0x80])
        number >>= 7
    return out + bytes([number])


def string(text: str | None) -> bytes:
    if text is None:
        return b"\x00"
    data = text.encode("utf-16-be")
    units = struct.unpack(f">{len(data) // 2}H", data)
    return varint(len(units) + 1) + b"".join(map(varint, units))


def big_integer(number: int) -> bytes:
    if number in (0, 1, 10):
        return i32({0: 1, 1: 2, 10: 3}[number])
    data = number.to_bytes(number.bit_length() // 8 + 1, "big", signed=True)
    return i32(len(data) + 4) + data


def _numbers(code: str, low: int, high: int) -> st.SearchStrategy:
    return st.integers(low, high).map(lambda n: (struct.pack(f">{code}", n), n))


def _simple(name: str, class_name: str, values: st.SearchStrategy) -> Kind:
    return Kind(name, simple_snapshot(f"{_BASE}{class_name}${class_name}Snapshot"), values)


def _decimal(pair: tuple[int, int]) -> tuple[bytes, str]:
    digits, scale = pair
    text = str(Decimal(digits).scaleb(-scale)) if digits else str(Decimal((0, (0,), -scale)))
    return big_integer(digits) + i32(scale), text


def _instant(moment) -> tuple[bytes, str]:
    seconds = int((moment.replace(microsecond=0) - _EPOCH).total_seconds())
    fraction = f".{moment.microsecond:06}" if moment.microsecond else ""
    fraction = fraction.removesuffix("000")
    text = moment.strftime("%H:%M:%S")
    return (
        i64(seconds) + i32(moment.microsecond * 1000),
        f"{moment.date().isoformat()}T{text}{fraction}Z",
    )


def _date(day) -> tuple[bytes, str]:
    return i32(day.year) + bytes([day.month, day.day]), day.isoformat()


_EPOCH = datetime(1970, 1, 1)
_texts = st.text(max_size=12)
SIMPLE_KINDS = (
    _simple("long", "LongSerializer", _numbers("q", -(2**63), 2**63 - 1)),
    _simple("int", "IntSerializer", _numbers("i", -(2**31), 2**31 - 1)),
    _simple("short", "ShortSerializer", _numbers("h", -(2**15), 2**15 - 1)),
    _simple("byte", "ByteSerializer", _numbers("b", -128, 127)),
    _simple("boolean", "BooleanSerializer", st.booleans().map(lambda b: (bytes([b]), b))),
    _simple(
        "double",
        "DoubleSerializer",
        st.floats(allow_nan=False, allow_infinity=False).map(lambda n: (struct.pack(">d", n), n)),
    ),
    _simple(
        "char",
        "CharSerializer",
        st.characters(max_codepoint=0xFFFF, exclude_categories=["Cs"]).map(
            lambda c: (c.encode("utf-16-be"), c)
        ),
    ),
    _simple("string", "StringSerializer", (st.none() | _texts).map(lambda t: (string(t), t))),
    _simple(
        "biginteger",
        "BigIntSerializer",
        st.integers(-(2**200), 2**200).map(lambda n: (big_integer(n), str(n))),
    ),
    _simple(
        "bigdecimal",
        "BigDecSerializer",
        st.tuples(st.integers(-(10**20), 10**20), st.integers(-30, 30)).map(_decimal),
    ),
    _simple("instant", "InstantSerializer", st.datetimes().map(_instant)),
    _simple("localdate", "LocalDateSerializer", st.dates().map(_date)),
    Kind(
        "bytes",
        simple_snapshot(
            f"{_BASE}array.BytePrimitiveArraySerializer$BytePrimitiveArraySerializerSnapshot"
        ),
        st.binary(max_size=9).map(lambda data: (i32(len(data)) + data, {"hex": data.hex()})),
    ),
    Kind(
        "bytes",
        simple_snapshot(
            "org.apache.flink.streaming.api.utils.ByteArrayWrapperSerializer"
            "$ByteArrayWrapperSerializerSnapshot"
        ),
        st.binary(max_size=9).map(lambda data: (i32(len(data)) + data, {"hex": data.hex()})),
    ),
    Kind(
        "strings",
        simple_snapshot(f"{_BASE}array.StringArraySerializer$StringArraySerializerSnapshot", 2),
        st.lists(st.none() | _texts, max_size=3).map(
            lambda texts: (i32(len(texts)) + b"".join(map(string, texts)), texts)
        ),
    ),
    Kind(
        "timewindow",
        simple_snapshot(
            "org.apache.flink.streaming.api.windowing.windows."
            "TimeWindow$Serializer$TimeWindowSerializerSnapshot"
        ),
        st.tuples(st.integers(0, 2**40), st.integers(0, 2**40)).map(
            lambda ends: (i64(*ends), {"start": ends[0], "end": ends[1]})
        ),
    ),
)


def _joined(values) -> tuple[bytes, list]:
    return b"".join(data for data, _ in values), [value for _, value in values]


def list_of(kind: Kind) -> Kind:
    def written(values):
        data, means = _joined(values)
        return i32(len(values)) + data, means

    return Kind(
        f"list<{kind.name}>",
        composite(f"{_BASE}ListSerializerSnapshot", (kind,)),
        st.lists(kind.values, max_size=3).map(written),
    )


def array_of(kind: Kind) -> Kind:
    def written(values):
        data = b"".join(b"\x00" if pair is None else b"\x01" + pair[0] for pair in values)
        return i32(len(values)) + data, [pair and pair[1] for pair in values]

    return Kind(
        f"array<{kind.name}>",
        composite(f"{_BASE}GenericArraySerializerSnapshot", (kind,), utf("java.lang.Object")),
        st.lists(st.none() | kind.values, max_size=3).map(written),
    )


def tuple_of(*kinds: Kind) -> Kind:
    return Kind(
        f"tuple<{','.join(kind.name for kind in kinds)}>",
        composite(f"{_JAVA}TupleSerializerSnapshot", kinds, utf("a tuple"), 2),
        st.tuples(*(kind.values for kind in kinds)).map(_joined),
    )


def row_of(*kinds: Kind) -> Kind:
    def written(drawn):
        row_kind, values = drawn
        bits = [row_kind & 1, row_kind >> 1] + [int(pair is None) for pair in values]
        bits += [0] * (-len(bits) % 8)
        mask = int("".join(map(str, bits)), 2).to_bytes(len(bits) // 8, "big")
        data = b"".join(pair[0] for pair in values if pair is not None)
        fields = [pair and pair[1] for pair in values]
        kind = ("+I", "-U", "+U", "-D")[row_kind]
        return mask + data, {"rowKind": kind, "fields": fields} if row_kind else fields

    return Kind(
        f"row<{','.join(kind.name for kind in kinds)}>",
        composite(f"{_JAVA}RowSerializer$RowSerializerSnapshot", kinds, b"\x01", 4),
        st.tuples(st.integers(0, 3), st.tuples(*(st.none() | kind.values for kind in kinds))).map(
            written
        ),
    )


def map_of(kind: Kind) -> Kind:
    def written(pairs):
        data = b"".join(
            string(key) + (b"\x01" if value is None else b"\x00" + value[0])
            for key, value in pairs.items()
        )
        return i32(len(pairs)) + data, {key: value and value[1] for key, value in pairs.items()}

    texts = next(simple for simple in SIMPLE_KINDS if simple.name == "string")
    return Kind(
        f"map<string,{kind.name}>",
        composite(f"{_BASE}MapSerializerSnapshot", (texts, kind)),
        st.dictionaries(_texts, st.none() | kind.values, max_size=3).map(written),
    )


def nullable(kind: Kind, padding: int = 0) -> Kind:
    """Return a type that can be null; ``padding`` is the size of a value if all have the same."""
    class_name = f"{_JAVA}NullableSerializer$NullableSerializerSnapshot"
    return Kind(
        f"nullable<{kind.name}>",
        composite(class_name, (kind,), i32(padding)),
        (st.none() | kind.values).map(
            lambda pair: (
                (b"\x01" + bytes(padding), None) if pair is None else (b"\x00" + pair[0], pair[1])
            )
        ),
    )


def either(left: Kind, right: Kind) -> Kind:
    return Kind(
        f"either<{left.name},{right.name}>",
        composite(f"{_JAVA}JavaEitherSerializerSnapshot", (left, right)),
        left.values.map(lambda pair: (b"\x01" + pair[0], {"left": pair[1]}))
        | right.values.map(lambda pair: (b"\x00" + pair[0], {"right": pair[1]})),
    )


def with_time(kind: Kind) -> Kind:
    return Kind(
        f"ttl<{kind.name}>",
        composite(
            "org.apache.flink.runtime.state.ttl.TtlStateFactory$TtlSerializerSnapshot",
            (SIMPLE_KINDS[0], kind),
        ),
        st.tuples(st.integers(0, 2**41), kind.values).map(
            lambda drawn: (
                i64(drawn[0]) + drawn[1][0],
                {"userValue": drawn[1][1], "lastAccessTimestamp": drawn[0]},
            )
        ),
    )


def timer(key: Kind, namespace: Kind) -> Kind:
    return Kind(
        f"timer<{key.name},{namespace.name}>",
        composite(
            "org.apache.flink.streaming.api.operators.TimerSerializerSnapshot", (key, namespace)
        ),
        st.tuples(st.integers(-(2**63), 2**63 - 1), key.values, namespace.values).map(
            lambda drawn: (
                struct.pack(">Q", drawn[0] + 2**63) + drawn[1][0] + drawn[2][0],
                {"timestamp": drawn[0], "key": drawn[1][1], "namespace": drawn[2][1]},
            )
        ),
    )


def constants(*names: str) -> Kind:
    return Kind(
        "enum demo.Colour",
        utf(f"{_BASE}EnumSerializer$EnumSerializerSnapshot")
        + i32(3)
        + utf("demo.Colour")
        + i32(len(names))
        + b"".join(map(utf, names)),
        st.integers(0, len(names) - 1).map(lambda index: (i32(index), names[index])),
    )


def framed(data: bytes) -> bytes:
    return b"\x01" + i32(len(data)) + data


def optional_map(entries: list[tuple[str, bytes, bytes]]) -> bytes:
    written = (utf(name) + framed(key) + framed(value) for name, key, value in entries)
    return i64(_MAP_MAGIC) + i32(len(entries)) + b"".join(written)


def pojo_snapshot(fields, registered=(), others=(), name: str = "demo.Order") -> bytes:
    """Describe a POJO; fields and subclasses are pairs of a name and a snapshot."""
    return (
        utf(f"{_JAVA}PojoSerializerSnapshot")
        + i32(2)
        + utf(name)
        + optional_map([(field, utf(name) + utf(field), snapshot) for field, snapshot in fields])
        + optional_map([(class_, utf(class_), snapshot) for class_, snapshot in registered])
        + optional_map([(class_, utf(class_), snapshot) for class_, snapshot in others])
    )


def pojo(*kinds: Kind) -> Kind:
    names = [f"field{index}" for index in range(len(kinds))]

    def written(values):
        if values is None:
            return b"\x01", None
        data = b"".join(b"\x01" if pair is None else b"\x00" + pair[0] for pair in values)
        means = {name: pair and pair[1] for name, pair in zip(names, values, strict=True)}
        return b"\x02" + data, means

    fields = [(name, kind.snapshot) for name, kind in zip(names, kinds, strict=True)]
    values = st.none() | st.tuples(*(st.none() | kind.values for kind in kinds))
    return Kind("pojo demo.Order", pojo_snapshot(fields), values.map(written))


def _with_parts(inner: st.SearchStrategy) -> st.SearchStrategy:
    several = st.lists(inner, min_size=1, max_size=3)
    return st.one_of(
        inner.map(list_of),
        inner.map(array_of),
        inner.map(map_of),
        inner.map(nullable),
        inner.map(with_time),
        several.map(lambda kinds: tuple_of(*kinds)),
        several.map(lambda kinds: row_of(*kinds)),
        several.map(lambda kinds: pojo(*kinds)),
        st.builds(either, inner, inner),
        st.builds(timer, inner, inner),
    )


kinds = st.recursive(
    st.sampled_from((*SIMPLE_KINDS, constants("RED", "GREEN"), nullable(SIMPLE_KINDS[0], 8))),
    _with_parts,
    max_leaves=6,
)
