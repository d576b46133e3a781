"""Types of records in flight: named by a person, taken from a state, or suggested."""

import time

import pytest

from snapshots.readers.engines.flink import checkpoint_state
from snapshots.readers.engines.flink.channels.elements import Element, printable_runs, split
from snapshots.readers.engines.flink.types.element_types import (
    UnknownType,
    decoded,
    fits,
    parse_type,
    types_of,
)
from snapshots.readers.engines.flink.types.type_suggestions import suggest
from snapshots.readers.formats.cursor import Malformed
from tests.readers.engines.flink.cases import ON_THE_WIRE, UNALIGNED, load
from tests.readers.engines.flink.writing import i32, i64


def _record(value: bytes) -> bytes:
    return i32(1 + len(value)) + b"\x01" + value


def test_a_type_has_the_name_of_its_serializer():
    for text in ("string", "tuple<string,string,long>", "list<tuple<int,double>>",
                 "map<string,list<long>>", "row<string,int>", "either<int,string>",
                 "nullable<bytes>", "array<instant>"):  # fmt: skip
        assert parse_type(text).name == text
    assert parse_type(" tuple< text , byte[] > ").name == "tuple<string,bytes>"


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "“” is not known"), ("strin", "“strin” is not known"), ("tuple", "is not known"),
        ("string<int>", "no types inside"), ("tuple<", "“” is not known"),
        ("tuple<int", "“>” is missing"), ("map<int>", "2 types inside, not 1"),
        ("int>", "“>” follows"), ("list<" * 30 + "int" + ">" * 30, "at most 20 deep"),
        ("x" * 2_000, "more than 1,000 characters"), ("pojo a.B", "is not known"),
    ],
)  # fmt: skip
def test_other_texts_are_not_types(text, reason):
    with pytest.raises(UnknownType, match=reason):
        parse_type(text)


def _records(*values: bytes) -> list[Element]:
    return list(split(b"".join(map(_record, values))))


def test_a_type_fits_only_if_every_record_takes_all_of_its_bytes():
    assert fits(_records(b"\x02a", b"\x03bc"), parse_type("string"))
    assert not fits(_records(b"\x02a", b"\x03bcd"), parse_type("string"))
    assert not fits(_records(b"\x02a", b"\x03b"), parse_type("string"))
    with pytest.raises(Malformed, match="1 bytes follow the value"):
        decoded(_records(b"\x02ab")[0], parse_type("string"))


def test_suggestions_are_types_that_fit():
    pair = [b"\x02" + bytes([97 + n]) + i64(n * 1000) for n in range(20)]
    assert suggest([_records(*pair)])[0] == "tuple<string,long>"
    for text in suggest([_records(*pair)]):
        assert fits(_records(*pair), parse_type(text))
    assert suggest([]) == []
    assert suggest([_records(b"\xff\xfe" * 40)]) == []


def test_the_search_for_types_ends_for_long_records_too():
    began = time.process_time()
    longs = b"\x00" * 7 + b"\x01"
    suggest([_records(*(longs * (20_000 + number) for number in range(40)))])
    suggest([_records(*(b"\x82\x82\x02" + "é".encode() * 8_000 for _ in range(40)))])
    assert time.process_time() - began < 5


def test_printable_runs_are_cut_off():
    assert printable_runs(b"\x05abcd\x00xy\x00efghi") == [(1, "abcd"), (9, "efghi")]
    assert len(printable_runs(b"abcd\x00" * 1000, most=7)) == 7


@pytest.mark.parametrize("name", UNALIGNED)
def test_the_true_type_of_every_edge_is_suggested_first(shared_data, name):
    case = load(shared_data, name)
    for _, stored in case.snapshots():
        known = checkpoint_state.state_types(case.upload, stored)
        for edge in checkpoint_state.channels(case.upload, stored).edges:
            records = [channel.elements for channel in edge.channels]
            target = next(
                vertex.members[0]
                for vertex in case.upload.jobs[0].rest.graph.vertices
                if vertex.id == edge.target
            )
            wire = ON_THE_WIRE.get(target) or ON_THE_WIRE[f"{target} {edge.gate}"]
            if any(records):
                assert suggest(records, known)[0] == wire


def test_types_of_states_are_types_of_records(shared_data):
    case = load(shared_data, "types")
    known = checkpoint_state.state_types(case.upload, case.snapshots()[0][1])
    assert {"pojo demo.TypesJob$Animal", "row<string,int,double>"} <= known.keys()
    assert parse_type("list<pojo demo.TypesJob$Animal>", known).name == (
        "list<pojo demo.TypesJob$Animal>"
    )
    assert types_of(known.values()).keys() == known.keys()
    case = load(shared_data, "changelog")
    assert "long" in checkpoint_state.state_types(case.upload, case.snapshots()[-1][1])
