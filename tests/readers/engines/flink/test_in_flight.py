"""In-flight data: buffers, their channels, the elements in them, and types that these may have."""

import json
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from snapshots.readers.engines.flink import checkpoint_state
from snapshots.readers.engines.flink import handles as h
from snapshots.readers.engines.flink.channels.elements import NO_TIME, RECORD, split
from snapshots.readers.engines.flink.channels.in_flight import Half, InFlight, read_in_flight
from snapshots.readers.engines.flink.channels.joining import join
from snapshots.readers.engines.flink.files import Files
from snapshots.readers.engines.flink.metadata import Metadata, Operator, Subtask
from snapshots.readers.engines.flink.rest.job_graph import Input, JobGraph, Vertex
from snapshots.readers.engines.flink.types.element_types import decoded, fits, parse_type
from snapshots.readers.engines.flink.upload import read_upload
from snapshots.readers.formats.cursor import Malformed
from tests.effort import examples
from tests.readers.engines.flink.cases import UNALIGNED, load
from tests.readers.engines.flink.writing import i32, i64
from tests.readers.mutated import mutated

# Buffers


def _stream(*buffers: bytes) -> bytes:
    return i32(0) + b"".join(i32(len(buffer)) + buffer for buffer in buffers)


def _metadata(*handles: h.Channels) -> Metadata:
    subtasks = [
        Subtask(
            index,
            inputs=tuple(
                handle for handle in handles if (handle.side, handle.subtask) == (h.INPUT, index)
            ),
            outputs=tuple(
                handle for handle in handles if (handle.side, handle.subtask) == (h.OUTPUT, index)
            ),
        )
        for index in range(2)
    ]
    operator = Operator("a" * 32, None, None, 2, 128, None, False, tuple(subtasks))
    return Metadata(6, 1, (), (operator,), None, 0)


def _channels(stream: h.Stream, *parts: tuple[int, tuple[int, ...]], side=h.INPUT, subtask=0):
    listed = tuple(h.ChannelPart((0, channel), 0, offsets) for channel, offsets in parts)
    return h.Channels(side, subtask, 0, listed, stream, True)


def _read(tmp_path: Path, data: bytes | None, *handles: h.Channels) -> InFlight:
    if data is not None:
        (tmp_path / "channels").write_bytes(data)
    return read_in_flight(_metadata(*handles), Files(tmp_path), "")


def test_subtasks_share_a_file_and_all_of_it_is_accounted_for(tmp_path):
    data = _stream(b"abc", b"", b"de", b"nobody's")
    file = h.RelativeFile("channels", len(data))
    in_flight = _read(
        tmp_path,
        data,
        _channels(file, (0, (4,)), (1, (11,))),
        _channels(file, (0, (15,)), subtask=1, side=h.OUTPUT),
    )
    assert [half.data() for half in in_flight.halves] == [b"abc", b"", b"de"]
    assert [list(map(len, half.buffers)) for half in in_flight.halves] == [[3], [0], [2]]
    assert in_flight.byte_count == 5
    assert in_flight.unread == {"channels": 4 + len(b"nobody's")}


def test_no_byte_is_in_two_buffers(tmp_path):
    data = _stream(b"abc", b"de")
    file = h.RelativeFile("channels", len(data))
    same = _channels(file, (0, (4,)), (1, (4,)))
    assert [half.problem for half in _read(tmp_path, data, same).halves] == [
        None, "Two buffers lie in the same bytes (at byte 4).",
    ]  # fmt: skip
    three = _stream(b"a", b"b", b"c")
    twice = _channels(h.RelativeFile("channels", len(three)), (0, (4, 9)), (1, (9,)))
    assert "the same bytes" in _read(tmp_path, three, twice).halves[1].problem
    many = h.RelativeFile("channels", 12 + 4)
    nested = i32(0) + i32(8) + i32(4) + i32(0)
    in_flight = _read(tmp_path, nested, _channels(many, (0, (4, 8, 12))))
    assert "the same bytes" in in_flight.halves[0].problem
    assert in_flight.halves[0].buffers == ()


@pytest.mark.parametrize(
    ("data", "offset", "reason"),
    [
        (_stream(b"abc"), 0, "the same bytes"),
        (_stream(b"abc"), 5, "are announced"),
        (_stream(b"abc"), 2**62, "a number of 4 bytes is expected"),
        (i32(0) + i32(-1), 4, "-1 items"),
        (i32(0) + i32(2**31 - 1), 4, "2147483647 items are announced"),
        (i32(1) + i32(0), 4, "has a wrong beginning"),
        (b"", 4, "has a wrong beginning"),
        (None, 4, "No such file lies beside the _metadata"),
    ],
)
def test_unreadable_buffers_are_left_out_with_a_reason(tmp_path, data, offset, reason):
    file = h.RelativeFile("channels", 0 if data is None else len(data))
    (half,) = _read(tmp_path, data, _channels(file, (0, (offset,)))).halves
    assert half.buffers == ()
    assert reason.lower() in half.problem.lower()


# Elements


def _record(value: bytes, time: int | None = NO_TIME) -> bytes:
    element = b"\x01" + value if time is None else b"\x00" + i64(time) + value
    return i32(len(element)) + element


def test_every_kind_of_element_is_recognised():
    id_ = bytes(range(16))
    bodies = [
        b"\x00" + i64(5) + b"x", b"\x01xy", b"\x02" + i64(-3), b"\x03" + i64(9) + id_ + i32(1),
        b"\x04" + i32(-1), b"\x05\x01", b"\x06" + i32(2) + i64(8),
    ]  # fmt: skip
    elements = split(b"".join(i32(len(body)) + body for body in bodies))
    assert [
        (element.kind, element.timestamp, element.value, element.details) for element in elements
    ] == [
        ("record", 5, b"x", None),
        ("record", None, b"xy", None),
        ("watermark", -3, b"", None),
        ("latency marker", 9, b"", {"operator": id_.hex(), "subtask": 1}),
        ("status", None, b"", {"status": -1}),
        ("record attributes", None, b"", {"backlog": True}),
        ("internal watermark", 8, b"", {"subpartition": 2}),
    ]
    assert [element.size for element in elements] == [len(body) for body in bodies]
    assert elements.count(RECORD) == 2
    assert elements[-1] == list(elements)[6]
    with pytest.raises(IndexError):
        elements[7]


@pytest.mark.parametrize(
    "data",
    [b"\x00", i32(0), i32(-1), i32(5) + b"\x02", i32(1) + b"\x07", i32(2) + b"\x02\x00",
     i32(10) + b"\x02" + bytes(9), i32(8) + bytes(8), i32(2**31 - 1)],
)  # fmt: skip
def test_an_incomplete_element_is_malformed(data):
    with pytest.raises(Malformed):
        split(_record(b"first") + data)


@settings(max_examples=examples(100), deadline=None)
@given(st.lists(st.binary(max_size=9)), st.integers(0, 200))
def test_an_element_can_lie_in_both_halves(values, cut):
    data = b"".join(map(_record, values))
    cut = min(cut, len(data))
    graph, vertices = _graph("HASH")
    (edge,) = join([_half("b", h.INPUT, data[:cut]), _half("a", h.OUTPUT, data[cut:])],
                   graph, vertices).edges  # fmt: skip
    (channel,) = edge.channels
    assert channel.data() == data
    assert [element.value for element in channel.elements] == values
    ends = [sum(4 + 9 + len(value) for value in values[:n]) for n in range(1, len(values) + 1)]
    assert channel.elements.wholly_before(channel.input_bytes) == sum(end <= cut for end in ends)


# Channels


def _half(operator, side, data, *, subtask=0, place=(0, 0), problem=None) -> Half:
    buffers = () if problem else (memoryview(data),)
    return Half(operator, subtask, side, place, len(data) + 4, True, (4,), buffers, problem)


def _graph(*ships: str, parallelism=2) -> tuple[JobGraph, dict[str, str]]:
    """Return a graph in which vertex a feeds b, c ..., each by one edge."""
    targets = "bcdefgh"[: len(ships)]
    vertices = [Vertex("a", "a", ("a",), parallelism, 128, ())]
    for name, ship in zip(targets, ships, strict=True):
        vertices.append(Vertex(name, name, (name,), parallelism, 128, (Input("a", 0, ship),)))
    return JobGraph(tuple(vertices)), {name: name for name in "a" + targets}


def test_the_halves_of_a_channel_are_joined_by_number():
    graph, vertices = _graph("REBALANCE")
    halves = [
        _half("b", h.INPUT, b"", subtask=1, place=(0, 0)),
        _half("a", h.OUTPUT, b"", subtask=0, place=(0, 1)),
        _half("a", h.OUTPUT, b"", subtask=1, place=(0, 0)),
    ]
    joined = join(halves, graph, vertices)
    (edge,) = joined.edges
    assert (edge.partition, joined.unjoined) == (0, ())
    assert [(c.source, c.target, c.input, c.output) for c in edge.channels] == [
        (0, 1, halves[0], halves[1]), (1, 0, None, halves[2]),
    ]  # fmt: skip


def test_left_over_bytes_are_a_problem_of_their_channel_only():
    graph, vertices = _graph("HASH")
    halves = [_half("a", h.OUTPUT, b"\x00"), _half("a", h.OUTPUT, _record(b"x"), place=(0, 1))]
    broken, whole = join(halves, graph, vertices).edges[0].channels
    assert broken.elements is None
    assert "An element" in broken.problem
    assert (len(whole.elements), whole.problem) == (1, None)


def test_the_order_of_several_consumers_is_found_by_what_fits():
    graph, vertices = _graph("HASH", "HASH", "BROADCAST")
    to_b, to_c = _record(b"for b") * 2, _record(b"and for c")
    halves = [
        _half("b", h.INPUT, to_b[:7]), _half("a", h.OUTPUT, to_b[7:], place=(2, 0)),
        _half("c", h.INPUT, to_c[:3]), _half("a", h.OUTPUT, to_c[3:], place=(0, 0)),
    ]  # fmt: skip
    joined = join(halves, graph, vertices)
    assert {edge.target: edge.partition for edge in joined.edges} == {"b": 2, "c": 0}
    assert [edge.channels[0].data() for edge in joined.edges] == [to_b, to_c]
    assert joined.unjoined == ()


def test_no_order_is_taken_if_several_fit():
    graph, vertices = _graph("HASH", "HASH")
    halves = [_half("b", h.INPUT, _record(b"x")), _half("a", h.OUTPUT, _record(b"y"))]
    joined = join(halves, graph, vertices)
    assert [edge.partition for edge in joined.edges] == [None, None]
    assert joined.edges[0].channels[0].data() == _record(b"x")
    assert [unjoined.half for unjoined in joined.unjoined] == halves[1:]
    assert "is unknown" in joined.unjoined[0].reason


def test_a_broadcast_edge_holds_nothing_in_flight():
    graph, vertices = _graph("BROADCAST", "HASH")
    (edge,) = join([_half("a", h.OUTPUT, _record(b"x"), place=(1, 0))], graph, vertices).edges
    assert (edge.target, edge.partition) == ("c", 1)


@pytest.mark.parametrize(("consumers", "partition"), [(5, 3), (6, None)])
def test_orders_are_tried_up_to_a_number_of_consumers(consumers, partition):
    graph, vertices = _graph(*["HASH"] * consumers)
    data = _record(b"for b")
    halves = [_half("b", h.INPUT, data[:5]), _half("a", h.OUTPUT, data[5:], place=(3, 0))]
    joined = join(halves, graph, vertices)
    assert joined.edges[0].partition == partition
    assert len(joined.unjoined) == (partition is None)


def test_every_half_is_joined_or_unjoined():
    graph, vertices = _graph("FORWARD")
    strange = [
        _half("b", h.INPUT, b""),  # a forward edge stores nothing
        _half("nobody", h.INPUT, b""),
        _half("b", h.INPUT, b"", place=(7, 0)),
        _half("a", h.OUTPUT, b"", place=(3, 0)),
        _half("a", h.OUTPUT, b"", place=(3, 0)),
    ]
    joined = join(strange, graph, vertices)
    assert joined.edges == ()
    assert sorted(id(unjoined.half) for unjoined in joined.unjoined) == sorted(map(id, strange))


def test_a_missing_file_is_reported_at_its_channel():
    graph, vertices = _graph("HASH")
    halves = [_half("b", h.INPUT, _record(b"x")), _half("a", h.OUTPUT, b"", problem="It is gone.")]
    (channel,) = join(halves, graph, vertices).edges[0].channels
    assert (channel.elements, channel.problem) == (None, "It is gone.")


# Real ones


@pytest.mark.parametrize("name", UNALIGNED)
def test_what_the_job_sent_and_had_not_received_is_in_the_channels(shared_data, name):
    case = load(shared_data, name)
    for snapshot, stored in case.snapshots():
        in_flight = checkpoint_state.in_flight(case.upload, stored)
        assert set(in_flight.unread.values()) == {0}
        assert (
            sum(half.size for half in in_flight.halves) == snapshot["restSizes"]["persisted_data"]
        )
        joined = checkpoint_state.channels(case.upload, stored)
        assert joined.unjoined == ()
        counted = sum(
            channel.elements.count(RECORD) for edge in joined.edges for channel in edge.channels
        )
        noted = [edge["emittedMinusReceivedByTheJob"] for edge in snapshot["recordsInFlight"]]
        assert counted == sum(noted) > 0


def _keyed_values(case, stored, state: str) -> list[int]:
    return [
        entry.value
        for subtask in checkpoint_state.keyed_states(case.upload, stored)
        for entry in subtask.state.entries
        if entry.state == state
    ]


def test_the_money_in_the_channels_is_what_was_withdrawn_and_not_deposited(shared_data):
    case = load(shared_data, "bank-unaligned")
    transfer = parse_type("tuple<string,string,long>")
    for snapshot, stored in case.snapshots():
        (deposit,) = (
            operator for operator in stored.metadata.operators if operator.name == "deposit"
        )
        joined = checkpoint_state.channels(case.upload, stored)
        (edge,) = (edge for edge in joined.edges if edge.target == deposit.id)
        money = {
            "withdrawn": sum(1000 - balance for balance in _keyed_values(case, stored, "balance")),
            "deposited": sum(_keyed_values(case, stored, "credited")),
            "inFlight": sum(
                decoded(element, transfer)[2]
                for channel in edge.channels
                for element in channel.elements
            ),
        }
        assert money["withdrawn"] == money["deposited"] + money["inFlight"]
        assert snapshot["money"] == {**money, "conserved": True}


def test_halves_are_not_joined_without_the_graph(shared_data):
    case = load(shared_data, "bank-unaligned")
    upload = read_upload(case.folder / "files")
    for snapshot, stored in zip(case.expected["snapshots"], upload.checkpoints(), strict=True):
        joined = checkpoint_state.channels(upload, stored)
        assert joined.edges == ()
        assert len(joined.unjoined) == snapshot["inFlight"]["channelEntries"]
        assert all("plan is missing" in unjoined.reason for unjoined in joined.unjoined)


def test_damaged_channel_files_give_channels_or_problems(shared_data, tmp_path):
    case = load(shared_data, "bank-unaligned")
    stored = case.snapshots()[1][1]
    graph = case.upload.jobs[0].rest.graph
    (name,) = checkpoint_state.in_flight(case.upload, stored).unread
    seed = bytes(case.upload.files.whole(f"{stored.folder}/{name}"))
    transfer = parse_type("tuple<string,string,long>")
    for data in mutated([seed]):
        (tmp_path / name).write_bytes(data)
        in_flight = read_in_flight(_resized(stored.metadata, len(data)), Files(tmp_path), "")
        assert in_flight.byte_count <= len(data)
        for edge in join(in_flight.halves, graph, stored.vertices).edges:
            for channel in edge.channels:
                assert (channel.elements is None) == (channel.problem is not None)
                fits(list(channel.elements or ())[:50], transfer)
        assert json.dumps(in_flight.unread)


def _resized(metadata: Metadata, size: int) -> Metadata:
    """Change the size in the handle of the channels' file."""

    def resized(handle: h.Channels) -> h.Channels:
        return replace(handle, stream=replace(handle.stream, size=size))

    operators = tuple(
        replace(
            operator,
            subtasks=tuple(
                replace(
                    subtask,
                    inputs=tuple(map(resized, subtask.inputs)),
                    outputs=tuple(map(resized, subtask.outputs)),
                )
                for subtask in operator.subtasks
            ),
        )
        for operator in metadata.operators
    )
    return replace(metadata, operators=operators)
