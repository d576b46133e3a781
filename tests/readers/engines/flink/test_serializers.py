"""Serializers as checkpoints describe them, and the values that they read."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from snapshots.readers.engines.flink.types.serializers import (
    MOST_NESTED,
    UnknownSerializer,
    read_envelope,
)
from snapshots.readers.engines.flink.types.state_meta import read_meta_info
from snapshots.readers.engines.flink.types.values import Undecodable
from snapshots.readers.formats.cursor import Cursor, Malformed
from tests.effort import examples
from tests.readers.engines.flink import types
from tests.readers.engines.flink.writing import i32, utf
from tests.readers.mutated import MANY, mutated

STRING, LONG = types.SIMPLE_KINDS[7], types.SIMPLE_KINDS[0]
UNKNOWN = utf("com.example.OwnSerializerSnapshot") + i32(1)


def read(snapshot: bytes):
    """Read a description, of which nothing may be left over."""
    cursor = Cursor(types.envelope(snapshot) + b"next")
    serializer = read_envelope(cursor)
    assert cursor.left == 4
    return serializer


def decoded(serializer, data: bytes):
    cursor = Cursor(data)
    value = serializer.decode(cursor)
    assert cursor.left == 0
    return value


@settings(max_examples=examples(200), deadline=None)
@given(data=st.data(), kind=types.kinds)
def test_values_of_any_type_are_read_as_they_were_written(data, kind):
    serializer = read(kind.snapshot)
    assert serializer.name == kind.name or serializer.name.endswith("…")
    written, meaning = data.draw(kind.values)
    assert decoded(serializer, written) == meaning
    if serializer.fixed_length is not None:
        assert len(written) == serializer.fixed_length


@settings(max_examples=examples(100), deadline=None)
@given(data=st.data(), kind=types.kinds)
def test_a_value_that_is_cut_short_is_refused(data, kind):
    written, _ = data.draw(kind.values)
    cut = data.draw(st.integers(0, len(written) - 1))
    serializer = read(kind.snapshot)
    with pytest.raises(Malformed):
        serializer.decode(Cursor(written[:cut]))


@pytest.mark.parametrize("kind", types.SIMPLE_KINDS, ids=lambda kind: kind.name)
def test_every_simple_type_has_its_name(kind):
    assert read(kind.snapshot).name == kind.name


def test_a_class_outside_of_flink_is_unknown():
    with pytest.raises(UnknownSerializer, match="com.example.OwnSerializerSnapshot") as caught:
        read(UNKNOWN)
    assert caught.value.class_name == "com.example.OwnSerializerSnapshot"
    same_last_name = types.simple_snapshot("demo.LongSerializer$LongSerializerSnapshot")
    with pytest.raises(UnknownSerializer):
        read(same_last_name)


def test_an_unknown_class_inside_another_is_unknown():
    inner = types.Kind("own", UNKNOWN, st.nothing())
    with pytest.raises(UnknownSerializer):
        read(types.composite(types._BASE + "ListSerializerSnapshot", (inner,)))


def test_an_unknown_field_of_a_pojo_leaves_the_others_known():
    fields = [("name", STRING.snapshot), ("own", UNKNOWN), ("age", LONG.snapshot)]
    serializer = read(types.pojo_snapshot(fields))
    assert [name for name, _ in serializer.fields] == ["name", "own", "age"]
    null = b"\x02" + b"\x00" + types.string("Ann") + b"\x01" + b"\x00" + bytes(8)
    assert decoded(serializer, null) == {"name": "Ann", "own": None, "age": 0}
    with pytest.raises(Undecodable, match="OwnSerializerSnapshot"):
        serializer.decode(Cursor(null.replace(b"\x01", b"\x00")))


def test_subclasses_of_a_pojo():
    cat = types.pojo_snapshot([("lives", LONG.snapshot)], name="demo.Cat")
    dog = types.pojo_snapshot([("name", STRING.snapshot)], name="demo.Dog")
    serializer = read(
        types.pojo_snapshot([("name", STRING.snapshot)], [("demo.Cat", cat)], [("demo.Dog", dog)])
    )
    lives = b"\x02\x00" + bytes(7) + b"\x09"
    assert decoded(serializer, b"\x08\x00" + lives) == {"lives": 9}
    rex = b"\x02\x00" + types.string("Rex")
    assert decoded(serializer, b"\x04" + utf("demo.Dog") + rex) == {"name": "Rex"}
    with pytest.raises(Undecodable, match="demo.Bird, which the checkpoint does not describe"):
        serializer.decode(Cursor(b"\x04" + utf("demo.Bird") + rex))
    for flags in (b"\x00", b"\x03", b"\x08\x01"):
        with pytest.raises(Malformed, match="flags"):
            serializer.decode(Cursor(flags + rex))


def test_kryo_is_named_and_not_read():
    maps = types.optional_map([]) * 3
    kryo = utf(types._JAVA + "kryo.KryoSerializerSnapshot") + i32(2) + utf("demo.Odd") + maps
    serializer = read(kryo)
    assert serializer.name == "kryo Odd"
    with pytest.raises(Undecodable, match="Kryo wrote the value, a demo.Odd"):
        serializer.decode(Cursor(b"\x01"))


def test_composites_of_old_versions_have_no_outer_frame():
    snapshot = utf(types._JAVA + "TupleSerializerSnapshot") + i32(2) + utf("a tuple")
    assert read(snapshot + types.nested((STRING, LONG))).name == "tuple<string,long>"


def test_the_nesting_of_serializers_is_bounded():
    kind = LONG
    for _ in range(MOST_NESTED - 1):
        kind = types.list_of(kind)
    assert read(kind.snapshot).name.startswith("list<list<")
    with pytest.raises(Malformed, match=f"more than {MOST_NESTED} deep"):
        read(types.list_of(kind).snapshot)


def test_a_type_without_parts_would_take_no_bytes_and_is_refused():
    with pytest.raises(Malformed, match="0 parts"):
        read(types.composite(types._JAVA + "TupleSerializerSnapshot", (), utf("a tuple")))


def test_a_composite_with_too_many_parts_is_refused():
    with pytest.raises(Malformed, match="3 parts"):
        read(types.composite(types._BASE + "MapSerializerSnapshot", (LONG, LONG, LONG)))


def test_a_null_with_padding_takes_as_many_bytes_as_a_value():
    serializer = read(types.nullable(LONG, 8).snapshot)
    assert serializer.fixed_length == 9
    assert decoded(serializer, b"\x01" + bytes(8)) is None
    assert decoded(serializer, bytes(8) + b"\x05") == 5


def test_a_state_is_described_with_options_and_serializers():
    written = utf("totals") + i32(0, 1) + utf("KEYED_STATE_TYPE") + utf("VALUE") + i32(1)
    written += utf("VALUE_SERIALIZER") + types.envelope(LONG.snapshot)
    meta = read_meta_info(Cursor(written))
    assert (meta.name, meta.backend_type) == ("totals", "KEY_VALUE")
    assert meta.options == {"KEYED_STATE_TYPE": "VALUE"}
    assert meta.serializers["VALUE_SERIALIZER"].name == "long"
    with pytest.raises(Malformed, match="9 is not a kind of state"):
        read_meta_info(Cursor(utf("totals") + i32(9)))


def test_long_names_are_cut():
    kind = types.tuple_of(*[types.list_of(STRING)] * 100)
    name = read(kind.snapshot).name
    assert len(name) == 200
    assert name.endswith("…")


def test_damaged_descriptions_are_read_or_refused():
    inner = types.tuple_of(STRING, types.map_of(types.row_of(LONG, STRING)))
    kind = types.pojo(inner, types.constants("RED"), types.with_time(types.nullable(inner)))
    for data in mutated([types.envelope(kind.snapshot)], MANY):
        try:
            serializer = read_envelope(Cursor(data))
        except Malformed:
            continue
        assert len(serializer.name) <= 300


def test_an_enum_of_scala_has_numbers_of_its_own():
    constants = utf("LOW") + i32(3) + utf("HIGH") + i32(9)
    name = utf("org.apache.flink.table.api.typeutils.ScalaEnumSerializerSnapshot")
    serializer = read(name + i32(2) + utf("demo.Level$") + i32(2) + constants)
    assert decoded(serializer, i32(9)) == "HIGH"
    with pytest.raises(Malformed, match="no constant of the number 1"):
        serializer.decode(Cursor(i32(1)))


def test_a_collection_of_scala_may_hold_nulls():
    name = "org.apache.flink.table.api.typeutils.TraversableSerializerSnapshot"
    serializer = read(types.composite(name, (LONG,), utf("implicitly[…]"), 2))
    assert serializer.name == "traversable<long>"
    assert decoded(serializer, i32(2) + b"\x00\x01" + bytes(7) + b"\x07") == [None, 7]
