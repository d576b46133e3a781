"""The positions in splits of Flink's sources are read by the form of their bytes, or not at all."""

import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st

from snapshots.readers.engines.flink.enumerators import waiting_of
from snapshots.readers.engines.flink.splits import position_of

NO_STOP = -(2**63)


def utf(text):
    data = text.encode()
    return struct.pack(">H", len(data)) + data


def nullable(text):
    """Write a text as Flink's StringUtils.writeNullableString does."""
    return b"\0" if text is None else b"\x01" + bytes([len(text) + 1]) + text.encode()


def a_split(version, body):
    return struct.pack(">ii", version, len(body)) + body


def numbers(split, begin, end):
    return utf(split) + struct.pack(">qq", begin, end)


def kafka(topic, partition, offset, stop=NO_STOP):
    return a_split(0, utf(topic) + struct.pack(">iqq", partition, offset, stop))


def a_file(path, begin, length, *, position=None, times=None, hosts=(), host=None):
    parts = [utf("0000000001"), b"\x01", nullable("hdfs" if host else "file"), nullable(None)]
    parts += [nullable(host), struct.pack(">i", 8020 if host else -1), nullable(path)]
    parts += [nullable(None), nullable(None), struct.pack(">qq", begin, length)]
    if times is not None:
        parts.append(struct.pack(">qq", *times))
    parts += [struct.pack(">i", len(hosts)), *map(utf, hosts)]
    parts.append(b"\0" if position is None else b"\x01" + struct.pack(">qq", *position))
    return a_split(1, b"".join(parts))


def test_the_split_of_a_real_number_source():
    """The bytes are those of `flink-upgrade/savepoints/base/canonical`."""
    data = bytes.fromhex("000000010000001300013100000000000004800000000005f5e100")
    position = position_of(data)
    assert (position.split, position.next, position.end) == ("1", 1_152, 100_000_000)
    assert position.unit == "number"
    assert position.sentence == (
        "Split 1 goes on with the number 1,152. 99,998,849 are left, up to 100,000,000."
    )


def test_a_number_split_that_was_read_to_its_end():
    position = position_of(a_split(1, numbers("3", 11, 10)))
    assert (position.next, position.sentence) == (11, "Split 3 has been read to its end, 10.")


@pytest.mark.parametrize(
    ("data", "split", "next_", "words"),
    [
        (kafka("orders", 3, 1_234), "orders-3", 1_234, "goes on with the offset 1,234."),
        (kafka("orders", 0, -2), "orders-0", None, "goes on with the earliest offset."),
        (kafka("o", 1, 5, 10), "o-1", 5, "the offset 5 and stops before 10."),
    ],
)
def test_the_offset_of_a_kafka_partition(data, split, next_, words):
    position = position_of(data)
    assert (position.split, position.next, position.unit) == (split, next_, "offset")
    assert words in position.sentence


@pytest.mark.parametrize(
    ("data", "sentence"),
    [
        (
            a_file("/in/a.csv", 0, 500),
            "file:/in/a.csv, bytes 0 to 500, has not been begun: all of it is read.",
        ),
        (
            a_file("/in/a.csv", 100, 50, times=(1_700_000_000_000, 900), position=(120, 3)),
            "file:/in/a.csv, bytes 100 to 150, goes on 3 records after byte 120.",
        ),
        (
            a_file("/in/a", 0, 9, times=(1, 9), position=(7, 0), hosts=["h1", "h2"], host="name"),
            "hdfs://name:8020/in/a, bytes 0 to 9, goes on at byte 7.",
        ),
        (
            a_file("/in/a", 0, 9, times=(1, 9), position=(-1, 4)),
            "file:/in/a, bytes 0 to 9, goes on 4 records after its beginning.",
        ),
    ],
)
def test_the_place_in_a_file(data, sentence):
    position = position_of(data)
    assert (position.sentence, position.next) == (sentence, None)


@pytest.mark.parametrize(
    "data",
    [
        b"",
        a_split(1, numbers("1", 5, 10))[:-1],
        a_split(1, numbers("1", 5, 10) + b"x"),
        a_split(1, numbers("orders", 5, 10)),
        a_split(1, numbers("1", 50, 10)),
        a_split(7, numbers("1", 5, 10)),
        kafka("orders", -1, 5),
        kafka("orders", 1, -9),
        a_split(0, b""),
    ],
)
def test_other_bytes_have_no_position(data):
    assert position_of(data) is None


@given(st.binary(max_size=80))
def test_no_bytes_raise_anything(data):
    position_of(data)
    position_of(a_split(1, data))
    position_of(a_split(0, data))
    waiting_of(data)


def coordinator(*splits):
    body = struct.pack(">i", len(splits)) + b"".join(splits)
    return struct.pack(">iii", 1, 1, len(body)) + body


def test_splits_that_the_coordinator_keeps():
    assert waiting_of(bytes.fromhex("00000001000000010000000400000000")) == ()
    [waiting] = waiting_of(coordinator(numbers("2", 50, 99)))
    assert (waiting.split, waiting.next) == ("2", 50)
    assert waiting_of(coordinator(numbers("2", 50, 99))[:-1]) is None
    assert waiting_of(struct.pack(">iii", 1, 2, 0)) is None
