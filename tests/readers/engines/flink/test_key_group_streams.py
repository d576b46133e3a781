"""Streams with key groups, written by hand: undecodable values, lengths, damage, both layouts."""

import pytest

from snapshots.readers.engines.flink.handles import KeyGroups
from snapshots.readers.engines.flink.keyed.entries import Limits
from snapshots.readers.engines.flink.keyed.keyed_state import read_keyed
from snapshots.readers.formats.opaque import Opaque
from tests.readers.engines.flink import keyed_writing as write
from tests.readers.engines.flink import types
from tests.readers.engines.flink.keyed_writing import KRYO, LONG, STRING, entry, long
from tests.readers.engines.flink.writing import i32, i64

ODD = b"\x01\x00\x02\x00\x00\x00\x00\x05"  # what Kryo could have written
TEXTS = write.state("texts", STRING.snapshot)
ODDS = write.state("odds", KRYO)
TOTALS = write.state("totals", LONG.snapshot)


def read(description, groups, savepoint=False, max_parallelism=16, limits=None):
    handle = write.handle(description, groups, savepoint)
    state = read_keyed(handle, write.inline, max_parallelism, limits)
    return state, list(state.entries)


def shown(entries):
    return [
        (entry.state, entry.key_group, "?" if isinstance(entry.key, Opaque) else entry.key,
         bytes(entry.raw_value) if isinstance(entry.value, Opaque) else entry.value)
        for entry in entries
    ]  # fmt: skip


def test_the_next_state_is_found_behind_an_undecodable_value():
    group = write.heap_group(
        3, (0, [entry("a", ODD)]), (1, [entry("a", long(7))]), (2, [entry("a", types.string("x"))])
    )
    state, entries = read(write.meta(ODDS, TOTALS, TEXTS), {3: group})
    assert shown(entries) == [("odds", 3, "a", ODD), ("totals", 3, "a", 7), ("texts", 3, "a", "x")]
    assert entries[0].value.reason == "Kryo wrote the value, a demo.Odd."
    assert state.notes.complete
    assert state.layout == "heap"


def test_two_states_in_a_row_that_cannot_be_decoded():
    more = write.state("more odds", KRYO)
    group = write.heap_group(
        0, (1, [entry("b", ODD)]), (0, [entry("b", ODD + ODD)]), (2, [entry("b", long(1))])
    )
    empty = write.heap_group(1, (1, []), (0, []), (2, []))
    _, entries = read(write.meta(ODDS, more, TOTALS), {0: group, 1: empty})
    assert shown(entries) == [
        ("more odds", 0, "b", ODD), ("odds", 0, "b", ODD + ODD), ("totals", 0, "b", 1)
    ]  # fmt: skip


def test_several_undecodable_entries_of_a_state_stay_together():
    group = write.heap_group(0, (0, [entry("a", ODD), entry("b", ODD)]), (1, [entry("a", long(7))]))
    _, entries = read(write.meta(ODDS, TOTALS), {0: group})
    first = entry("a", ODD) + entry("b", ODD)
    assert shown(entries) == [("odds", 0, "?", first), ("totals", 0, "a", 7)]
    assert "The entries that follow it are lost, too: 1." in entries[0].value.reason


def test_the_next_state_is_not_taken_from_inside_an_undecodable_value():
    """Kryo's bytes decode as the next state to the end, but then a state is missing."""
    rest = write.heap_group(0, (1, [entry("a", long(7))]), (2, []))[4:]
    swallowing = i32(1) + b"\0" + types.varint(len(rest) - 8 + 1)
    group = write.heap_group(0, (0, [entry("a", write.i16(1) + swallowing)])) + rest
    _, entries = read(write.meta(ODDS, TOTALS, TEXTS), {0: group})
    assert shown(entries)[1:] == [("totals", 0, "a", 7)]


def test_a_state_can_be_in_a_key_group_only_once():
    twice = write.heap_group(2, (0, [entry("a", long(7))]), (0, [entry("a", long(8))]))
    state, entries = read(write.meta(TOTALS), {2: twice})
    assert shown(entries)[0] == ("totals", 2, "a", 7)
    assert [entry.is_known for entry in entries] == [True, False]
    assert not state.notes.complete


def test_the_rest_of_a_key_group_stays_bytes_if_no_next_state_fits():
    group = write.heap_group(0, (0, [entry("a", ODD)]), (1, [entry("a", long(7))])) + b"rest"
    other = write.heap_group(1, (0, []), (1, [entry("c", long(8))]))
    state, entries = read(write.meta(ODDS, TOTALS), {0: group, 1: other})
    lost = entries[0]
    assert (lost.state, lost.key_group, lost.key) == ("odds", 0, "a")
    assert bytes(lost.raw_value).endswith(b"rest")
    assert shown(entries[1:]) == [("totals", 1, "c", 8)]
    assert not state.notes.complete


def test_the_search_is_given_up_after_a_while():
    group = write.heap_group(0, (0, [entry("a", b"\0\1" * 25_000)]), (1, [entry("a", long(7))]))
    limits = Limits(searched_bytes=100)
    state, entries = read(write.meta(ODDS, TOTALS), {0: group}, limits=limits)
    assert [entry.state for entry in entries] == ["odds"]
    assert "Where an undecodable value ends could not be found." in state.notes.sentences


def test_a_state_behind_one_of_an_unknown_class_is_found_again():
    own = write.state("own", write.UNKNOWN)
    group = write.heap_group(
        0, (0, [entry("a", ODD)]), (1, [entry("a", long(7))]), (2, [entry("a", ODD)])
    )
    last = write.state("last", write.UNKNOWN)
    state, entries = read(write.meta(own, TOTALS, last), {0: group, 1: write.heap_group(1)})
    assert shown(entries)[1] == ("totals", 0, "a", 7)
    assert [(each.state, each.key) for each in entries] == [
        ("own", "a"), ("totals", "a"), ("last", "a"),
    ]  # fmt: skip
    assert "com.example.OwnSerializerSnapshot" in entries[0].value.reason
    assert state.notes.sentences == []
    assert state.notes.complete


def test_an_unknown_type_of_keys_leaves_the_names_of_the_states_known():
    group = write.heap_group(5, (0, [entry("a", long(7))]))
    state, entries = read(write.meta(TOTALS, key=write.UNKNOWN), {5: group})
    assert [(each.state, each.key_group) for each in entries] == [("totals", 5)]
    assert [each.name for each in state.states] == ["totals"]
    assert state.key is None


def test_keyed_state_of_old_versions_leaves_bytes():
    group = write.heap_group(0, (0, []))
    state, entries = read(i32(4) + b"older", {0: group})
    assert [bytes(entry.raw_value) for entry in entries] == [group, b"lder"]
    assert state.notes.sentences == ["Keyed state of version 4 cannot be read."]


def test_the_number_of_another_key_group_is_reported():
    group = write.heap_group(7, (0, [entry("a", long(7))]))
    right = write.heap_group(3, (0, [entry("b", long(8))]))
    _, entries = read(write.meta(TOTALS), {2: right.replace(i32(3), i32(2), 1), 3: right})
    assert shown(entries) == [("totals", 2, "b", 8), ("totals", 3, "b", 8)]
    state, entries = read(write.meta(TOTALS), {2: group, 3: right})
    assert state.layout == "full"  # which nothing in here fits
    assert not any(entry.is_known for entry in entries)
    assert not state.notes.complete


def test_bytes_of_no_key_group_are_kept():
    handle = write.handle(write.meta(TOTALS) + b"gap", {0: write.heap_group(0, (0, []))})
    entries = list(read_keyed(handle, write.inline, 16).entries)
    assert [(entry.key_group, bytes(entry.raw_value)) for entry in entries] == [(None, b"gap")]


def test_no_byte_is_read_for_two_key_groups():
    group = write.heap_group(0, (0, [entry("a", long(7))]))
    handle = write.handle(write.meta(TOTALS), {0: group})
    twice = KeyGroups(0, handle.offsets * 2, handle.stream, True)
    full = KeyGroups(0, handle.offsets, handle.stream, True)
    once = list(read_keyed(full, write.inline, 16).entries)
    entries = list(read_keyed(twice, write.inline, 16).entries)
    assert sum(entry.size for entry in entries) == sum(entry.size for entry in once) > 0


PREFIX = b"\x03"


def test_the_full_layout():
    first, second = (PREFIX + types.string(key) + b"\0" for key in "ab")
    group = write.full_group((0, [(first, long(1)), (second, long(2))]), (1, [(first, ODD)]))
    state, entries = read(write.meta(TOTALS, ODDS), {3: group, 4: b""}, savepoint=True)
    assert shown(entries) == [("totals", 3, "a", 1), ("totals", 3, "b", 2), ("odds", 3, "a", ODD)]
    assert state.notes.complete
    assert entries[2].raw_key == PREFIX + types.string("a") + b"\0"


def test_with_more_than_128_key_groups_their_number_takes_two_bytes():
    group = write.full_group((0, [(b"\x01\x2c" + types.string("a") + b"\0", long(1))]))
    _, entries = read(write.meta(TOTALS), {300: group}, savepoint=True, max_parallelism=512)
    assert shown(entries) == [("totals", 300, "a", 1)]


def test_lengths_follow_key_and_namespace_where_both_vary():
    states = write.state("totals", LONG.snapshot, namespace=STRING.snapshot)
    long_text = "n" * 300
    key = types.string("a") + b"\x02" + types.string(long_text) + b"\x2e\x01"
    group = write.full_group((0, [(PREFIX + key, long(1))]))
    _, entries = read(write.meta(states), {3: group}, savepoint=True)
    assert [(entry.key, entry.namespace, entry.value) for entry in entries] == [("a", long_text, 1)]
    wrong = write.full_group((0, [(PREFIX + key.replace(b"\x02", b"\x03", 1), long(1))]))
    _, entries = read(write.meta(states), {3: wrong}, savepoint=True)
    assert not entries[0].is_known


def test_lists_and_maps_in_the_full_layout():
    lists = write.state("lists", types.list_of(LONG).snapshot, "LIST")
    maps = write.state("maps", types.map_of(LONG).snapshot, "MAP")
    scope = PREFIX + types.string("a") + b"\0"
    group = write.full_group(
        (0, [(scope, long(1) + b"," + long(2))]),
        (1, [
            (scope + types.string("x"), b"\0" + long(3)),
            (scope + types.string("y"), b"\x01"),
            (scope + types.string("z"), b"\0"),
            (PREFIX + types.string("b") + b"\0" + types.string("x"), b"\0" + long(4)),
        ]),
    )  # fmt: skip
    _, entries = read(write.meta(lists, maps), {3: group}, savepoint=True)
    assert shown(entries) == [
        ("lists", 3, "a", [1, 2]),
        ("maps", 3, "a", {"x": 3, "y": None}),
        ("maps", 3, "a", b"\0"),  # of the user key z no value can be told
        ("maps", 3, "b", {"x": 4}),
    ]
    assert entries[2].raw_key == scope + types.string("z")


def test_elements_of_a_list_without_commas_are_unknown():
    lists = write.state("lists", types.list_of(LONG).snapshot, "LIST")
    written = long(1) + b";" + long(2)
    group = write.full_group((0, [(PREFIX + types.string("a") + b"\0", written)]))
    _, entries = read(write.meta(lists), {3: group}, savepoint=True)
    assert shown(entries) == [("lists", 3, "a", written)]


def test_bytes_behind_the_last_key_of_a_key_group_are_kept():
    group = write.full_group((0, [(PREFIX + types.string("a") + b"\0", long(1))]))
    state, entries = read(write.meta(TOTALS), {3: group + b"rest"}, savepoint=True)
    assert shown(entries) == [("totals", 3, "a", 1), (None, 3, "?", b"rest")]
    assert not state.notes.complete


def test_a_map_larger_than_the_limit_is_counted_and_not_held():
    maps = write.state("maps", types.map_of(LONG).snapshot, "MAP")
    scope = PREFIX + types.string("a") + b"\0"
    pairs = [(scope + types.string(f"{number:03}"), b"\0" + long(number)) for number in range(100)]
    limits = Limits(value_bytes=1_000)
    _, entries = read(
        write.meta(maps), {3: write.full_group((0, pairs))}, savepoint=True, limits=limits
    )
    (only,) = entries
    assert only.value.reason == "The map has more than 1,000 bytes."
    assert only.size == sum(len(key) + len(value) for key, value in pairs)


def test_the_states_of_the_asynchronous_api_have_the_types_of_their_parts():
    lists = write.state("lists", LONG.snapshot, "LIST", backend_type=4)
    maps = write.state(
        "maps", LONG.snapshot, "MAP", backend_type=4, USER_KEY_SERIALIZER=STRING.snapshot
    )
    scope = PREFIX + types.string("a") + b"\0"
    group = write.full_group(
        (0, [(scope, long(1) + b"," + long(2))]),
        (1, [(scope + types.string("x"), b"\0" + long(3))]),
    )
    state, entries = read(write.meta(lists, maps), {3: group}, savepoint=True)
    assert shown(entries) == [("lists", 3, "a", [1, 2]), ("maps", 3, "a", {"x": 3})]
    assert [each.value_type for each in state.states] == [
        "list<long>",
        "map<string,long>",
    ]


def test_timers_in_both_layouts():
    timer = types.timer(STRING, LONG)
    states = write.state("_timer_state/event_x", timer.snapshot, "", backend_type=3)
    written = i64(5 - 2**63) + types.string("k") + long(9)
    heap = write.heap_group(3, (0, [written]))
    full = write.full_group((0, [(PREFIX + written, b"")]))
    for group, savepoint in ((heap, False), (full, True)):
        _, entries = read(write.meta(states), {3: group}, savepoint)
        (timer,) = entries
        assert (timer.kind, timer.key, timer.namespace, timer.value) == ("TIMERS", "k", 9, 5)


@pytest.mark.parametrize("cut", [1, 5, 9, 20])
def test_a_full_layout_that_ends_too_early_keeps_the_rest_as_bytes(cut):
    pairs = [(PREFIX + types.string(name) + b"\0", long(1)) for name in "abc"]
    group = write.full_group((0, pairs))[:-cut]
    state, entries = read(write.meta(TOTALS), {3: group}, savepoint=True)
    assert not state.notes.complete
    assert not entries[-1].is_known
    assert 2 <= len(entries) <= 4


def test_the_layout_of_a_lone_key_group_0_is_the_one_that_fits():
    heap = write.heap_group(0, (0, [entry("a", long(7))]))
    state, entries = read(write.meta(TOTALS), {0: heap})
    assert (state.layout, shown(entries)) == ("heap", [("totals", 0, "a", 7)])
    full = write.full_group((0, [(b"\0" + types.string("a") + b"\0", long(7))]))
    state, entries = read(write.meta(TOTALS), {0: full})
    assert (state.layout, shown(entries)) == ("full", [("totals", 0, "a", 7)])


def test_a_key_of_another_key_group_is_not_decoded():
    group = write.full_group((0, [(b"\x04" + types.string("a") + b"\0", long(1))]))
    _, entries = read(write.meta(TOTALS), {3: group}, savepoint=True)
    assert [(entry.key_group, entry.is_known) for entry in entries] == [(4, False)]
    assert entries[0].value.reason == "The key belongs to another key group."
