"""Changelogs: whole values are replayed; what other operations leave is not known."""

import pyarrow as pa
import pytest

from snapshots.readers.engines.flink.files import Missing
from snapshots.readers.engines.flink.handles import (
    Change,
    Changelog,
    ChangesInFiles,
    ChangesInMemory,
    File,
    Inline,
    LogPart,
)
from snapshots.readers.engines.flink.keyed.entries import Limits
from snapshots.readers.engines.flink.keyed.key_groups import key_group
from snapshots.readers.engines.flink.keyed.keyed_state import read_keyed
from snapshots.readers.engines.flink.types.values import SIMPLE
from snapshots.readers.formats.opaque import Opaque
from tests.readers.engines.flink import keyed_writing as write
from tests.readers.engines.flink import types
from tests.readers.engines.flink.keyed_writing import LONG, STRING, i16, long
from tests.readers.engines.flink.writing import i32

CLEAR, SET, SET_INTERNAL, ADD, MERGE, ADD_ELEMENT, PUT_ELEMENT, REMOVE_ELEMENT = range(8)
MOST = 16  # key groups


def group_of(key: str) -> int:
    return key_group(key, SIMPLE["string"], MOST)


def described(state: bytes, number: int) -> Change:
    """Return a change with a state's description, without time-to-live and default value."""
    return Change(-1, b"\x08" + i32(7) + state + b"\0\0" + i16(number) + b"\0")


def change(operation: int, key: str, value: bytes = b"", state: int = 0) -> Change:
    written = bytes([operation]) + i16(state) + types.string(key) + b"\0" + value
    return Change(group_of(key), written)


TOTALS = described(write.state("totals", LONG.snapshot), 0)


def materialised(**totals: int):
    """Return a heap stream with the key groups 0 to 15 and one state."""
    entries = [[] for _ in range(MOST)]
    for key, total in totals.items():
        entries[group_of(key)].append(write.entry(key, long(total)))
    groups = {number: write.heap_group(number, (0, of)) for number, of in enumerate(entries)}
    return write.handle(write.meta(write.state("totals", LONG.snapshot)), groups)


def read(*changes: Change, before=(), limits=None):
    log = ChangesInMemory(0, MOST, 0, len(changes), changes, "log")
    handle = Changelog(0, MOST, 0, tuple(before), (log,), 0)
    state = read_keyed(handle, write.inline, MOST, limits)
    return state, list(state.entries)


def values(entries):
    return {
        (entry.state, entry.key if not isinstance(entry.key, Opaque) else "?"): (
            entry.value.reason if isinstance(entry.value, Opaque) else entry.value
        )
        for entry in entries
    }


def test_values_set_and_cleared_since():
    state, entries = read(
        TOTALS, change(SET, "a", long(2)), change(CLEAR, "b"), change(SET_INTERNAL, "new", long(9)),
        change(SET, "a", long(3)), change(SET, "gone", long(1)), change(CLEAR, "gone"),
        before=[materialised(a=1, b=1, c=1)],
    )  # fmt: skip
    assert values(entries) == {("totals", "a"): 3, ("totals", "c"): 1, ("totals", "new"): 9}
    assert [entry.key_group for entry in entries] == sorted(map(group_of, ["a", "c", "new"]))
    assert state.notes.complete
    assert (state.layout, state.key.name) == ("changelog", "string")


@pytest.mark.parametrize("operation", [ADD, MERGE, ADD_ELEMENT, PUT_ELEMENT, REMOVE_ELEMENT])
def test_after_another_operation_a_value_is_unknown_until_it_is_set_again(operation):
    changes = [TOTALS, change(operation, "a", long(2)), change(operation, "b", long(2))]
    _, entries = read(*changes, change(SET, "b", long(5)), before=[materialised(a=1, b=1, c=1)])
    by_key = values(entries)
    assert "was logged since, which is not replayed" in by_key["totals", "a"]
    assert (by_key["totals", "b"], by_key["totals", "c"]) == (5, 1)


def test_a_change_with_an_unreadable_key_makes_all_values_of_its_key_group_unknown():
    other = next(key for key in "bcdefghijklmnop" if group_of(key) != group_of("a"))
    broken = Change(group_of("a"), bytes([SET]) + i16(0) + b"\xff\xff")
    changes = [TOTALS, change(SET, "a", long(2)), broken]
    state, entries = read(*changes, before=[materialised(a=1, **{other: 1})])
    by_key = values(entries)
    assert by_key.pop(("totals", other)) == 1
    assert set(by_key) == {("totals", "a"), ("totals", "?")}
    assert all("cannot be replayed" in reason for reason in by_key.values())
    assert not state.notes.complete
    _, entries = read(*changes, change(SET, "a", long(4)), before=[materialised(a=1)])
    assert values(entries)["totals", "a"] == 4


def test_a_state_that_the_changelog_does_not_describe():
    state, entries = read(change(SET, "a", long(2), state=5), before=[materialised(a=1)])
    assert "does not describe state 5" in values(entries)["totals", "a"]
    assert len(entries) == 2
    assert not state.notes.complete


def test_timers_in_a_changelog_are_not_replayed():
    timer = types.timer(STRING, LONG)
    timers = described(write.state("timers", timer.snapshot, "", backend_type=3), 0)
    state, entries = read(timers, Change(1, bytes([ADD]) + i16(0) + bytes(17)))
    assert [(entry.state, entry.is_known) for entry in entries] == [("timers", False)]
    assert not state.notes.complete


def test_more_changed_keys_than_the_limit_are_reported():
    changes = [TOTALS, *(change(SET, str(index), long(1)) for index in range(10))]
    state, entries = read(*changes, before=[materialised(a=1)], limits=Limits(changed_keys=4))
    assert sum(entry.is_known for entry in entries) < 10
    assert "more changed keys than the limit" in state.notes.sentences[0]
    assert not state.notes.complete


def test_the_type_of_keys_is_inferred_if_all_changes_agree():
    changes = [TOTALS, *(change(SET, key, long(1)) for key in ("a", "b", "c"))]
    state, entries = read(*changes)
    assert values(entries) == {("totals", key): 1 for key in "abc"}
    assert "taken for string" in state.notes.sentences[0]
    assert state.notes.complete


def test_the_type_of_keys_is_inferred_if_values_cannot_be_decoded():
    odds = described(write.state("odds", write.KRYO), 0)
    state, entries = read(odds, *(change(SET, key, b"\x01\x02") for key in ("a", "b", "c")))
    assert state.key.name == "string"
    assert {entry.key for entry in entries} == {"a", "b", "c"}
    assert {bytes(entry.raw_value) for entry in entries} == {b"\x01\x02"}


def test_the_type_of_keys_is_unknown_if_key_groups_disagree():
    wrong = Change((group_of("a") + 1) % MOST, change(SET, "a", long(1)).data)
    state, entries = read(TOTALS, wrong, change(SET, "b", long(1)))
    assert state.key is None
    assert not any(entry.is_known for entry in entries)


def in_file(*changes: Change) -> bytes:
    """Write a log file with each change in a set of its own."""
    written = (i32(1, change.key_group, len(change.data)) + change.data for change in changes)
    return i32(len(changes)) + b"".join(written)


@pytest.mark.parametrize("compressed", [False, True])
def test_changes_in_files(compressed):
    first, second = in_file(TOTALS, change(SET, "a", long(1))), in_file(change(SET, "b", long(2)))
    content = first + second
    if compressed:
        frame = bytes(4) + pa.Codec("snappy").compress(content, asbytes=True)
        content = b"\0" + len(frame).to_bytes(3, "little") + frame
    stream = Inline("log", bytes([compressed]) + content)
    handle = ChangesInFiles(0, MOST, (LogPart(0, stream), LogPart(len(first), stream)), 0, 0, "log")
    state = read_keyed(handle, write.inline, MOST)
    assert values(state.entries) == {("totals", "a"): 1, ("totals", "b"): 2}
    assert state.notes.complete


def test_a_missing_log_is_reported_and_the_rest_is_read():
    gone = File("dstl/gone", 9)
    handle = Changelog(
        0, MOST, 0, (materialised(a=1),),
        (ChangesInFiles(0, MOST, (LogPart(0, gone),), 9, 9, "log"),), 0,
    )  # fmt: skip

    def read_stream(stream):
        return Missing(stream.path, 9, "No.") if stream == gone else stream.data

    state = read_keyed(handle, read_stream, MOST)
    assert values(state.entries) == {("totals", "a"): 1}
    assert [missing.path for missing in state.notes.missing] == ["dstl/gone"]
    assert not state.notes.complete


def test_many_handles_of_one_log_are_bounded():
    stream = Inline("log", b"\0" + in_file(TOTALS, change(SET, "a", bytes(8_000))))
    handle = ChangesInFiles(0, MOST, (LogPart(0, stream),) * 100, 0, 0, "log")
    state = read_keyed(handle, write.inline, MOST, Limits(inflated_bytes=50_000))
    list(state.entries)
    assert "files of changes hold more than the limit" in " ".join(state.notes.sentences)
