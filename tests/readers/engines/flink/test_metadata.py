"""`_metadata` of every version: each kind of handle is read as it was written, the rest refused."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from snapshots.readers.engines.flink import handle_reading
from snapshots.readers.engines.flink import handles as h
from snapshots.readers.engines.flink.checkpoint_kind import Properties
from snapshots.readers.engines.flink.metadata import (
    VERSIONS,
    MasterState,
    Metadata,
    Operator,
    Subtask,
    read_metadata,
)
from snapshots.readers.formats.cursor import Malformed
from snapshots.readers.formats.opaque import Opaque
from tests.effort import examples
from tests.readers.engines.flink import writing as write
from tests.readers.engines.flink.cases import CASES, LEGACY, expected_facts, found_facts, load
from tests.readers.mutated import MANY, mutated

names = st.text(max_size=8)
sizes = st.integers(0, 2**44)  # their sum stays below the limit of the reader
offsets = st.lists(sizes, max_size=3).map(tuple)
ranges = st.tuples(st.integers(0, 100), st.integers(0, 4))
flat_streams = st.one_of(
    st.builds(h.Inline, names, st.binary(max_size=20)),
    st.builds(h.File, names, sizes),
    st.builds(h.RelativeFile, names, sizes),
    st.builds(h.Segment, names, sizes, sizes, st.sampled_from([h.EXCLUSIVE, h.SHARED]), names),
    st.just(h.EmptySegment()),
)
streams = flat_streams | st.builds(h.KeyGroups, st.integers(0, 100), offsets, flat_streams)
log_streams = st.builds(h.File, names, sizes, st.just(True)) | st.builds(
    h.Inline, names, st.binary(max_size=20)
)
backend_files = st.lists(st.builds(h.BackendFile, names, streams), max_size=2).map(tuple)
key_groups = st.builds(h.KeyGroups, st.integers(0, 100), offsets, streams) | st.builds(
    h.KeyGroups, st.integers(0, 100), offsets, streams, st.just(False), names
)


@st.composite
def incrementals(draw):
    first, count = draw(ranges)
    second = draw(st.booleans())
    return h.Incremental(
        first, count, draw(sizes), draw(names), draw(streams), draw(backend_files),
        draw(backend_files), draw(st.none() | sizes) if second else None,
        draw(names) if second else None,
    )  # fmt: skip


@st.composite
def logs(draw):
    first, count = draw(ranges)
    if draw(st.booleans()):
        changes = st.builds(h.Change, st.integers(-1, 100), st.binary(max_size=9))
        listed = tuple(draw(st.lists(changes, max_size=2)))
        return h.ChangesInMemory(first, count, draw(sizes), draw(sizes), listed, draw(names))
    parts = tuple(draw(st.lists(st.builds(h.LogPart, sizes, log_streams), max_size=2)))
    return h.ChangesInFiles(
        first, count, parts, draw(sizes), draw(sizes), draw(names), draw(st.none() | names)
    )


@st.composite
def changelogs(draw):
    first, count = draw(ranges)
    return h.Changelog(
        first, count, draw(sizes),
        tuple(draw(st.lists(key_groups | incrementals(), max_size=2))),
        tuple(draw(st.lists(logs(), max_size=2))),
        draw(sizes), draw(st.none() | sizes), draw(names),
    )  # fmt: skip


keyed_handles = st.one_of(key_groups, incrementals(), logs(), changelogs())
operator_states = st.builds(
    h.OperatorState,
    st.lists(
        st.builds(h.OperatorStateOffsets, names, st.sampled_from(h.MODES), offsets), max_size=2
    ).map(tuple),
    streams,
    st.none() | st.tuples(names, names),
)
parts = st.builds(h.ChannelPart, st.tuples(st.integers(0, 9), st.integers(0, 9)), sizes, offsets)


@st.composite
def channel_handles(draw, side: str, version: int):
    if version >= 6 and draw(st.booleans()):
        listed = tuple(draw(st.lists(parts, max_size=3)))
        return h.Channels(side, draw(st.integers(0, 9)), draw(sizes), listed, draw(streams), True)
    part = draw(parts)
    return h.Channels(side, draw(st.integers(0, 9)), part.size, (part,), draw(streams), False)


@st.composite
def subtasks(draw, index: int, version: int):
    if version >= 3 and draw(st.integers(0, 3)) == 0:
        return Subtask(index, finished=True)
    sides = [
        tuple(draw(st.lists(channel_handles(side, version), max_size=1))) if version >= 3 else ()
        for side in (h.INPUT, h.OUTPUT)
    ]
    return Subtask(
        index, False, draw(st.none() | operator_states), draw(st.none() | operator_states),
        draw(st.none() | keyed_handles), draw(st.none() | keyed_handles), *sides,
        draw(st.none() | sizes) if version >= 7 else None,
    )  # fmt: skip


@st.composite
def operators(draw, number: int, version: int):
    finished = version >= 3 and draw(st.integers(0, 3)) == 0
    named = st.none() | st.text(min_size=1, max_size=5) if version >= 5 else st.none()
    count = 0 if finished else draw(st.integers(0, 2))
    return Operator(
        f"{number:032x}", draw(named), draw(named), 2, 128,
        draw(st.none() | streams) if version >= 3 else None, finished,
        tuple(draw(subtasks(index, version)) for index in range(count)),
    )  # fmt: skip


@st.composite
def written_metadata(draw):
    version = draw(st.sampled_from(list(VERSIONS)))
    listed = [draw(operators(number, version)) for number in range(draw(st.integers(0, 2)))]
    masters = tuple(
        draw(st.lists(st.builds(MasterState, names, st.just(3), st.binary(max_size=5)), max_size=1))
    )
    return version, listed, masters


@settings(max_examples=examples(100), deadline=None)
@given(written_metadata())
def test_what_is_written_is_read_in_every_version(drawn):
    version, listed, masters = drawn
    data = write.metadata(version, listed, masters=masters)
    metadata = read_metadata(data)
    assert (metadata.version, metadata.checkpoint_id) == (version, 7)
    assert metadata.operators == tuple(listed)
    assert metadata.master_states == masters
    assert metadata.byte_count == len(data)


def _an_operator(*, managed_keyed=None, **of_operator) -> Operator:
    of = {
        "id": "0" * 32, "name": None, "uid": None, "parallelism": 2, "max_parallelism": 128,
        "coordinator": None, "finished": False,
        "subtasks": (Subtask(0, managed_keyed=managed_keyed),),
    }  # fmt: skip
    return Operator(**of | of_operator)


EVERYTHING = _an_operator(
    name="map",
    uid="u",
    coordinator=h.Inline("c", b"abc"),
    subtasks=(
        Subtask(
            1,
            False,
            h.OperatorState((h.OperatorStateOffsets("s", "UNION", (4,)),), h.RelativeFile("f", 9)),
            None,
            h.KeyGroups(0, (1, 2), h.File("/f", 9), False, "id"),
            None,
            (h.Channels(h.INPUT, 1, 8, (h.ChannelPart((0, 1), 8, (4,)),), h.File("c", 8), True),),
            (h.Channels(h.OUTPUT, 1, 8, (h.ChannelPart((0, 1), 8, (4,)),), h.File("c", 8), False),),
            5,
        ),
    ),
)


def test_a_file_that_ends_too_early_is_malformed_wherever_it_ends():
    data = write.metadata(7, [EVERYTHING], properties=b"")
    assert read_metadata(data).operators == (EVERYTHING,)
    for length in range(len(data)):
        with pytest.raises(Malformed):
            read_metadata(data[:length])


def test_no_byte_may_follow_the_last_operator():
    with pytest.raises(Malformed, match="1 bytes follow the last operator"):
        read_metadata(write.metadata(3, []) + b"\x00")


@pytest.mark.parametrize("version", [-1, 0, 1, 8, 2**31 - 1])
def test_other_versions_are_refused(version):
    with pytest.raises(Malformed, match=f"Version {version} of _metadata is unknown"):
        read_metadata(write.metadata(version, []))


@pytest.mark.parametrize(
    ("operator", "reason"),
    [
        (_an_operator(parallelism=129), "Parallelism 129 of at most 128"),
        (_an_operator(parallelism=0, subtasks=()), "Parallelism 0"),
        (_an_operator(max_parallelism=2**15 + 1), "is not possible"),
        (_an_operator(subtasks=(Subtask(2),)), "parallelism 2 has no subtask 2"),
        (_an_operator(subtasks=(Subtask(1), Subtask(1, finished=True))), "Subtask 1 is described"),
        (_an_operator(subtasks=tuple(map(Subtask, range(3)))), "cannot have 3 subtasks"),
        (_an_operator(managed_keyed=h.KeyGroups(-1, (), h.EmptySegment())), "are not possible"),
        (
            _an_operator(managed_keyed=h.KeyGroups(2**15, (1,), h.EmptySegment())),
            "are not possible",
        ),
        (_an_operator(managed_keyed=h.KeyGroups(0, (-2,), h.EmptySegment())), "offset is negative"),
        (_an_operator(coordinator=h.File("f", -1)), "A size of 0 or more"),
        (_an_operator(coordinator=h.File("f", 2**53 + 1)), "add up to more than any state"),
    ],
)
def test_what_cannot_be_is_refused(operator, reason):
    with pytest.raises(Malformed, match=reason):
        read_metadata(write.metadata(6, [operator]))


def test_a_key_group_without_data_has_the_offset_minus_one():
    raw = h.KeyGroups(0, (-1, 4, -1), h.Inline("raw", b"abcdefgh"))
    operator = _an_operator(managed_keyed=raw)
    assert read_metadata(write.metadata(6, [operator])).operators == (operator,)


def test_an_operator_is_described_only_once():
    with pytest.raises(Malformed, match=f"Operator {'0' * 32} is described twice"):
        read_metadata(write.metadata(6, [_an_operator(), _an_operator()]))


def test_version_2_knows_nothing_of_finished_subtasks():
    operator = _an_operator(subtasks=(Subtask(1, finished=True),))
    assert read_metadata(write.metadata(3, [operator])).operators == (operator,)
    with pytest.raises(Malformed, match="no subtask -2"):
        read_metadata(write.metadata(2, [operator]))


def _changed(data: bytes, old: bytes, new: bytes) -> bytes:
    assert data.count(old) == 1
    return data.replace(old, new)


CHANNEL = h.Channels(h.INPUT, 1, 8, (h.ChannelPart((0, 1), 8, (4,)),), h.File("name", 8), True)
WITH_CHANNEL = write.metadata(6, [_an_operator(subtasks=(Subtask(1, inputs=(CHANNEL,)),))])


def test_a_channel_handle_of_the_other_side_is_malformed():
    begin = write.i32(1) + b"\x03" + write.i32(1)
    with pytest.raises(Malformed, match="of type 4 stands among the input ones"):
        read_metadata(_changed(WITH_CHANNEL, begin, write.i32(1) + b"\x04" + write.i32(1)))
    with pytest.raises(Malformed, match="has the unknown type 5"):
        read_metadata(_changed(WITH_CHANNEL, begin, write.i32(1) + b"\x05" + write.i32(1)))


def test_merged_channels_take_as_many_bytes_as_announced():
    lengths = b"name" + write.i32(32)
    with pytest.raises(Malformed, match="31 bytes of channels are announced and 32 are there"):
        read_metadata(_changed(WITH_CHANNEL, lengths, b"name" + write.i32(31)))


def test_a_list_of_keyed_handles_has_no_gaps():
    handle = h.Changelog(0, 0, 0, (None,), (), 0, None, "")
    with pytest.raises(Malformed, match="in a list is expected and there is none"):
        read_metadata(write.metadata(6, [_an_operator(managed_keyed=handle)]))


def test_state_of_the_first_versions_of_flink_is_refused():
    data = write.metadata(2, [_an_operator()])
    duration = write.i64(1234)
    with pytest.raises(Malformed, match=r"state of Flink 1\.1"):
        read_metadata(_changed(data, duration + write.i32(0), duration + write.i32(1)))
    with pytest.raises(Malformed, match="A 0 or 1 is expected before an operator state, not 2"):
        read_metadata(_changed(data, duration + write.i32(0, 0), duration + write.i32(0, 2)))


def test_the_state_of_a_master_hook_ends_where_it_says():
    data = write.metadata(3, [], masters=(MasterState("hook", 1, b"abc"),))
    size = write.i32(4 + 6 + 4 + 3)
    longer = _changed(data, size, write.i32(4 + 6 + 4 + 7))
    with pytest.raises(Malformed, match="4 bytes follow the state of a master hook"):
        read_metadata(longer)


def test_the_nesting_of_handles_is_bounded():
    nested = h.KeyGroups(0, (), h.EmptySegment())
    for _ in range(handle_reading.MOST_NESTED - 1):
        nested = h.KeyGroups(0, (), nested)
    read_metadata(write.metadata(6, [_an_operator(coordinator=nested)]))
    with pytest.raises(Malformed, match="nest deeper than 8"):
        read_metadata(write.metadata(6, [_an_operator(coordinator=h.KeyGroups(0, (), nested))]))


def test_the_nesting_of_changelogs_is_bounded():
    one_in_another = b"\x08" + write.i32(0, 0) + write.i64(0) + write.i32(1)
    cursor = handle_reading.MetadataCursor(one_in_another * 2_000)
    with pytest.raises(Malformed, match="nest deeper than 8"):
        handle_reading.keyed(cursor)


def test_the_handles_of_one_file_are_bounded(monkeypatch):
    monkeypatch.setattr(handle_reading, "MOST_THINGS", 4)
    with pytest.raises(Malformed, match="More than 4 handles"):
        read_metadata(write.metadata(6, [_an_operator()]))


def test_counts_are_checked_before_anything_is_allocated():
    data = bytes.fromhex("4960672d00000006") + bytes(8) + bytes(4)
    with pytest.raises(Malformed, match="2147483647 items are announced and 0 bytes are left"):
        read_metadata(data + b"\x7f\xff\xff\xff")


@pytest.mark.parametrize(
    ("properties", "reason"),
    [
        (b"", "4 bytes are announced"),
        (b"rubbish", "begin with ac ed 00 05"),
        (write.PROPERTIES, "No known type of checkpoint"),
        (write.PROPERTIES * 2, "not what Flink writes"),
        (bytes(2**20 + 1), "1,048,577 bytes are too many"),
    ],
)
def test_unknown_properties_are_kept_as_bytes(properties, reason):
    metadata = read_metadata(write.metadata(6, [_an_operator()], properties=properties))
    assert isinstance(metadata.properties, Opaque)
    assert reason in metadata.properties.reason
    assert metadata.properties.size == len(properties)
    assert metadata.operators == (_an_operator(),)


def test_the_properties_of_savepoints(shared_data):
    case = load(shared_data, "savepoint-native")
    (_, checkpoint), (_, savepoint) = case.snapshots()
    assert checkpoint.metadata.properties == Properties(
        "checkpoint", "Checkpoint", None, "FORWARD_BACKWARD", checkpoint.metadata.properties.flags
    )
    assert (savepoint.metadata.properties.kind, savepoint.metadata.properties.format) == (
        "savepoint", "native",
    )  # fmt: skip


@pytest.mark.parametrize("name", [*CASES, *LEGACY])
def test_the_frame_of_a_real_case_is_what_flink_reads(shared_data, name):
    case = load(shared_data, name)
    for snapshot, stored in case.snapshots():
        expected = expected_facts(snapshot, graph=case.has_graph)
        actual = found_facts(case.upload, stored)
        assert {where: actual.get(where, "not found") for where in expected} == expected


def _accounts_for(metadata: Metadata) -> None:
    """Visit all that a reader of metadata would show."""
    assert metadata.size >= 0
    assert all(stream.size >= 0 for stream in metadata.streams())


def test_damaged_metadata_is_malformed_or_read(shared_data):
    seeds = [write.metadata(7, [EVERYTHING])]
    for name in ("bank-unaligned", "changelog-files", "rocksdb-incremental", "file-merging",
                 "bounded", "v2-bank-fs", "v3-orders-rocksdb", "v4-unaligned-orders"):  # fmt: skip
        case = load(shared_data, name)
        seeds.append((case.folder / case.snapshots()[-1][1].path).read_bytes())
    read = 0
    for data in mutated(seeds):
        try:
            _accounts_for(read_metadata(data))
        except Malformed:
            continue
        read += 1
    assert 0 < read < MANY
