"""Java's serialized objects, as Java itself, Flink and SeaTunnel's look-alikes write them."""

import json
import struct
import zipfile
from base64 import b64decode
from pathlib import Path

import pytest

from snapshots.readers.formats.cursor import Cursor, Malformed
from snapshots.readers.formats.java import stream as java_stream
from snapshots.readers.formats.java.stream import MAGIC, MOST_NESTED
from snapshots.readers.formats.java.values import plain
from tests.readers.mutated import mutated

LINES = Path(__file__).with_name("java_streams.txt").read_text().splitlines()
STREAMS = {name: b64decode(text) for name, text in map(str.split, LINES)}
OBJECTS = b"\x72\x00\x13[Ljava.lang.Object;" + bytes(8) + b"\x02\x00\x00\x78\x70"  # their array
BASE = {"class": "JavaStreams$Base", "fields": {"n": 1, "same": "base"}}


def read(name):
    return java_stream.parse(STREAMS[name])


def reference(number):
    return b"\x71" + struct.pack(">i", 0x7E0000 + number)


def array(length, *, first=False):
    return b"\x75" + (OBJECTS if first else reference(0)) + struct.pack(">i", length)


def test_fields_of_every_type_and_of_superclasses():
    assert read("fields") == [
        {
            "class": "JavaStreams$Sub",
            "fields": {
                "n": 1, "JavaStreams$Base.same": "base", "b": True, "c": "ä", "d": "NaN",
                "f": "Infinity", "l": -(2**63), "s": -300, "y": -3, "next": None, "same": "sub",
            },
        }
    ]  # fmt: skip


def test_an_object_that_contains_itself_is_named_inside():
    [loop] = read("cycle")
    assert loop["fields"]["next"] == [{"class": "JavaStreams$Sub", "same_as": loop["id"]}, None]


def test_a_reference_becomes_a_copy_of_its_object():
    assert read("shared") == [["shared", "shared", BASE, BASE]]


def test_enums():
    [constants] = read("enums")
    assert [constant["constant"] for constant in constants] == ["RED", "BLUE", "RED"]
    assert {constant["class"] for constant in constants} == {"JavaStreams$Colour"}


def test_what_a_class_writes_itself_stands_behind_its_fields():
    [own] = read("own")
    assert own["fields"] == {"kept": 7}
    number, text, block = own["written"]["JavaStreams$Own"]
    assert (number, text, block) == ({"block": "0000002a"}, "more", {"block": "00" * 300})


def test_an_externalizable_object_has_only_what_it_wrote():
    [value] = read("externalizable")
    assert value["fields"] == {}
    assert value["written"] == {"JavaStreams$Ext": [{"block": "00000005"}, "x"]}


def test_arrays():
    assert read("arrays") == [
        [[1, -2], [2**40], {"hex": "00ff"}, "ab", [True, False], [1.5], [-0.5], [9], [["q"], None]]
    ]


def test_a_proxy_has_its_interfaces_and_its_handler():
    [proxy] = read("proxy")
    assert proxy["interfaces"] == ["java.lang.Runnable"]
    assert proxy["fields"] == {"h": {"class": "JavaStreams$Handler", "fields": {}}}


def test_a_broken_off_object_leaves_its_exception_and_the_objects_after_it():
    exception, after = read("broken")
    assert exception["exception"]["class"] == "java.io.NotSerializableException"
    assert exception["exception"]["fields"]["detailMessage"] == "java.lang.Object"
    assert after == "after"


def test_a_reset_and_block_data_between_objects():
    assert read("reset") == ["a", {"block": "00000102"}, "a"]


def test_classes_are_names():
    assert [value["fields"]["name"] for value in read("classes")] == ["JavaStreams$Base"] * 2


def test_a_long_text():
    data = MAGIC + b"\x7c" + struct.pack(">q", 70_000) + b"x" * 70_000 + reference(0)
    assert java_stream.parse(data) == ["x" * 70_000] * 2


def test_collections_are_plain_where_they_hold_what_they_say():
    assert plain(read("lists")) == [
        [
            [1, 2], ["a"], [1], ["a", "b"], ["z"], [True, "c", 1], ["s"], [1, 2], ["o"], [], ["u"],
            ["v"], ["w"], [2.5],
        ]
    ]  # fmt: skip
    red = {"class": "JavaStreams$Colour", "constant": "RED"}
    assert plain(read("maps")) == [
        [
            {"k": 1}, [[2, "t"]], {"h": 1}, {"i": 2}, [[red, "e"]], {"s": 1}, {}, {"u": 1},
            {"c": 1}, {"y": 1},
        ]
    ]  # fmt: skip
    [[first, *_]] = read("lists")
    first["fields"]["size"] = 3
    assert plain(first)["class"] == "java.util.ArrayList"


def test_skip_leaves_the_cursor_behind_the_first_content():
    for name, data in STREAMS.items():
        cursor = Cursor(b"ab" + data + b"rest", 2)
        [first] = java_stream.skip(cursor)
        assert first == read(name)[0]
        if len(read(name)) == 1:
            assert cursor.position == 2 + len(data)


def metadata_files(shared_data):
    return sorted(shared_data.glob("flink*/**/_metadata"))


def test_the_properties_of_every_real_checkpoint(shared_data):
    found = savepoints = 0
    for path in metadata_files(shared_data):
        data = path.read_bytes()
        if data[7] < 4:
            continue
        cursor = Cursor(data, data.rindex(MAGIC))
        [properties] = java_stream.skip(cursor)
        assert cursor.left == 0, path
        kind = properties["fields"]["checkpointType"]["fields"]
        if path.parent.parent.parent.parent.name == "flink":
            assert ("Savepoint" in kind["name"]) == path.parent.name.startswith("savepoint"), path
            savepoints += path.parent.name.startswith("savepoint")
        if "formatType" in kind:
            assert kind["formatType"]["constant"] in ("CANONICAL", "NATIVE")
        found += 1
    assert found > 60
    assert savepoints == 5


def seatunnel_payloads(shared_data):
    for path in sorted((shared_data / "seatunnel").glob("*.zip")):
        with zipfile.ZipFile(path) as archive:
            for name in archive.namelist():
                data, at = archive.read(name), -1
                while (at := data.find(MAGIC, at + 1)) >= 0:
                    yield data, at


def test_payloads_of_seatunnel(shared_data):
    kinds = set()
    for data, at in seatunnel_payloads(shared_data):
        [value] = java_stream.skip(Cursor(data, at))
        kinds.add(value["class"].rpartition(".")[2])
        json.dumps(plain(value), allow_nan=False)
    assert kinds == {
        "FakeSourceSplit", "FakeSourceState", "FileSinkState", "FileAggregatedCommitInfo",
    }  # fmt: skip


def test_references_cannot_multiply_a_small_input():
    """Each array holds the one before it twice."""
    data = MAGIC + array(90, first=True) + b"\x74\x00\x01x"
    data += b"".join(array(2) + reference(n) * 2 for n in range(2, 91))
    [value] = java_stream.parse(data)
    assert len(json.dumps(value)) < 2**20
    assert '"same_as"' in json.dumps(value)


def test_references_cannot_nest_objects_without_limit():
    """Each array holds the one before it: 3,000 deep if all were given again."""

    def height(value):
        return 1 + max(map(height, value), default=0) if isinstance(value, list) else 0

    data = MAGIC + array(3000, first=True) + b"\x74\x00\x01x"
    data += b"".join(array(1) + reference(n) for n in range(2, 3001))
    [value] = java_stream.parse(data)
    assert height(value) == MOST_NESTED - 1  # and the text in the innermost


CLASS = b"\x72\x00\x01a" + bytes(8) + b"\x02\x00\x00\x78"  # without its superclass
TOO_MUCH = {
    "arrays in arrays": array(1, first=True) + array(1) * 5000,
    "superclasses": b"\x73" + CLASS * 5000,
    "superclasses by reference": CLASS
    + b"\x70"
    + b"".join(CLASS + reference(n) for n in range(MOST_NESTED + 1)),
    "an array longer than the data": array(2**31 - 1, first=True) + b"\x70",
    "a negative array": array(-1, first=True),
    "a text longer than the data": b"\x7c" + struct.pack(">q", 2**62),
    "nulls": b"\x70" * 2**18,
    "resets": b"\x79" * 2**18,
    "repeated texts": b"\x74\xff\xff" + b"x" * 65535 + reference(0) * 10_000,
    "a reference ahead": reference(0),
    "a class that is its own": b"\x73" + CLASS + reference(0),
    "a class with -1 fields": b"\x73\x72\x00\x01a" + bytes(8) + b"\x02\xff\xff\x78\x70",
    "an object without a class": b"\x73\x70",
}


@pytest.mark.parametrize("content", TOO_MUCH.values(), ids=TOO_MUCH)
def test_too_much_is_malformed(content, monkeypatch):
    monkeypatch.setattr(java_stream, "MOST_MEMORY", 2**22)
    with pytest.raises(Malformed):
        java_stream.parse(MAGIC + content)


def test_nesting_up_to_the_limit_is_read():
    data = MAGIC + array(1, first=True) + array(1) * (MOST_NESTED - 2) + b"\x70"
    plain(java_stream.parse(data))


def test_damaged_streams_are_read_or_malformed(shared_data):
    seeds = [*STREAMS.values(), *(data[at:] for data, at in seatunnel_payloads(shared_data))]
    read_ones = 0
    for data in mutated(seeds):
        try:
            contents = java_stream.skip(Cursor(data))
            json.dumps(plain(contents), allow_nan=False).encode()
            read_ones += 1
        except Malformed:
            pass
    assert read_ones
