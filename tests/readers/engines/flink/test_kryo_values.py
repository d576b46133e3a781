"""Values of Java's own classes that Flink's Kryo wrote, and objects with fields of it."""

import re
from pathlib import Path

import pytest

from snapshots.readers.engines.flink.types.composites import PojoSerializer, TupleSerializer
from snapshots.readers.engines.flink.types.kryo_values import KryoSerializer
from snapshots.readers.engines.flink.types.values import SIMPLE, Undecodable
from snapshots.readers.formats.cursor import Cursor, Malformed
from tests.readers.engines.flink.types import string

DATA = Path(__file__).resolve().parents[3] / "data" / "flink-serializers" / "kryo.txt"
LINES = [line.rsplit(" ", 1) for line in DATA.read_text().splitlines()]
OF_JAVA = re.compile(r"(?:Optional\w*\[(.*)\]|Optional\w*\.(empty)|(.*))")
BOTH = "{'if Flink 2 wrote it': '00000000-0000-0001-0000-000000000002', "
SHOWN = {
    "00000000-0000-0001-0000-000000000002": BOTH
    + "'if Flink 1 wrote it': '01000000-0000-0000-0200-000000000000'}",
    "2026-01-02T03:04:05+01:00[Europe/Berlin]": "2026-01-02T03:04:05[Europe/Berlin]",
    "empty": "None",
    "null": "None",
    "true": "True",
}
LISTS = ("ArrayList", "Optional[[1]]")


@pytest.mark.parametrize(("written", "data"), LINES)
def test_a_value_of_kryo_is_the_text_that_java_gives(written, data):
    class_name, text = written.split(" ", 1)
    cursor = Cursor(bytes.fromhex(data))
    if any(part in written for part in LISTS):
        with pytest.raises(Undecodable, match=r"Kryo wrote the value, a java\.util\."):
            KryoSerializer(class_name).decode(cursor)
        return
    value = KryoSerializer(class_name).decode(cursor)
    inside = next(part for part in OF_JAVA.fullmatch(text).groups() if part is not None)
    assert str(value) == SHOWN.get(inside, inside)
    assert cursor.left == 0


@pytest.mark.parametrize(
    ("class_name", "data"),
    [
        ("java.time.LocalDate", "5701ea0f0d03"),
        ("java.time.LocalTime", "570119fd"),
        ("java.time.ZoneOffset", "57017e"),
        ("java.time.Duration", "570101000000000000008094ebdc03"),
        ("java.util.UUID", "540101"),
        ("java.util.Optional", "570103017f"),
    ],
)
def test_what_java_cannot_hold_is_refused(class_name, data):
    with pytest.raises(Malformed):
        KryoSerializer(class_name).decode(Cursor(bytes.fromhex(data)))


def test_a_class_by_name_must_be_the_one_that_is_described():
    named = b"\x01\x00" + b"demo.Od\xe4" + b"\x01\x07"
    with pytest.raises(Undecodable, match=r"Kryo wrote the value, a demo\.Odd"):
        KryoSerializer("java.time.LocalDate").decode(Cursor(named))


def test_the_fields_before_one_that_is_not_read_are_known():
    inner = PojoSerializer("demo.In", (("at", SIMPLE["int"]), ("odd", KryoSerializer("demo.Odd"))))
    order = PojoSerializer(
        "demo.Order", (("name", SIMPLE["string"]), ("in", inner), ("total", SIMPLE["int"]))
    )
    pair = TupleSerializer((SIMPLE["int"], order))
    data = b"\0\0\0\7" + b"\2\0" + string("a") + b"\0\2\0\0\0\0\1\0\x57\1\1"

    with pytest.raises(Undecodable) as caught:
        pair.decode(Cursor(data))

    odd = {"unread": "Kryo wrote the value, a demo.Odd."}
    behind = {"unread": "It lies behind in, whose end is not known."}
    assert caught.value.known == [7, {"name": "a", "in": {"at": 1, "odd": odd}, "total": behind}]
