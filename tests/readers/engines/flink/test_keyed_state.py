"""Keyed state of real checkpoints: every value, in every layout, beside what Flink restored."""

from collections import Counter
from dataclasses import replace
from itertools import groupby

import pytest

from snapshots.readers.engines.flink.files import Missing
from snapshots.readers.engines.flink.handles import KeyGroups
from snapshots.readers.engines.flink.keyed.entries import Limits
from snapshots.readers.engines.flink.keyed.key_groups import key_group
from snapshots.readers.engines.flink.keyed.keyed_meta import read_keyed_meta
from snapshots.readers.engines.flink.keyed.keyed_state import read_keyed
from snapshots.readers.formats.cursor import Cursor
from snapshots.readers.formats.opaque import Opaque
from tests.readers.engines.flink.cases import CASES, LEGACY, load
from tests.readers.engines.flink.keyed import agreement, noted, parts

# Values that Flink restored; it has none for changelogs and ForSt, where the notes stand in.
VALUES = {
    "aligned-hashmap-files": 216,
    "aligned-hashmap-inline": 114,
    "at-least-once": 154,
    "bank-aligned": 39,
    "bank-unaligned": 28,
    "bounded": 68,
    "changelog": 0,
    "changelog-files": 0,
    "compressed-orders": 216,
    "failures": 618,
    "file-merging": 211,
    "forst-async-state": 0,
    "rescaled": 276,
    "rocksdb-full": 155,
    "rocksdb-incremental": 333,
    "savepoint-canonical": 119,
    "savepoint-native": 119,
    "sql-group-agg": 10,
    "two-pipelines": 30,
    "types": 480,
    "types-nulls": 320,
    "unaligned-orders": 172,
    "v2-bank-fs": 24,
    "v3-orders-rocksdb": 273,
    "v4-unaligned-orders": 92,
    "v5-unaligned-bank": 24,
    "windows-timers": 49,
}
# Of these, values whose bytes are all that can be known: Kryo's, and a subclass not described.
OPAQUE = {"types": {"v_kryo": 15, "v_poly": 6}, "types-nulls": {"v_kryo": 10, "v_poly": 4}}


@pytest.mark.parametrize("name", CASES)
def test_every_value_is_as_flink_restored_it(shared_data, name):
    agreed = agreement(shared_data, name)
    assert agreed.wrong == []
    assert agreed.expected == VALUES[name]
    assert {state: count for (state, _), count in agreed.reasons.items()} == OPAQUE.get(name, {})
    assert agreed.equal + agreed.opaque == agreed.expected


@pytest.mark.parametrize("name", CASES)
def test_every_value_is_as_the_operators_of_the_job_noted_it(shared_data, name):
    agreed = noted(shared_data, name)
    assert agreed.wrong == []
    assert agreed.opaque == sum(OPAQUE.get(name, {}).values())
    without = {"forst-async-state", "sql-group-agg", "windows-timers"}
    assert (agreed.equal == 0) == (name in without)


def test_the_counts_of_forst_add_up_to_what_the_job_sent(shared_data):
    for number, (snapshot, _) in enumerate(load(shared_data, "forst-async-state").snapshots()):
        counts = [
            entry.value
            for part in parts(shared_data, "forst-async-state")
            if part.snapshot == number
            for entry in part.entries
            if entry.state == "count"
        ]
        assert sum(counts) == snapshot["job"]["to-pair"]["0"]["recordsOutSinceStart"] > 0


BANKS = (
    "bank-aligned", "bank-unaligned", "changelog", "changelog-files", "v2-bank-fs",
    "v5-unaligned-bank",
)  # fmt: skip


@pytest.mark.parametrize("name", BANKS)
def test_the_accounts_of_the_bank_hold_what_the_job_says(shared_data, name):
    for number, (snapshot, _) in enumerate(load(shared_data, name).snapshots()):
        sums = Counter()
        for part in parts(shared_data, name):
            if part.snapshot == number:
                for entry in part.entries:
                    sums[entry.state] += entry.value
                    sums["accounts"] += entry.state == "balance"
        assert 1000 * sums["accounts"] - sums["balance"] == snapshot["money"]["withdrawn"] > 0
        assert sums["credited"] == snapshot["money"]["deposited"]


def test_timers_are_those_that_the_operator_set(shared_data):
    for number, (snapshot, _) in enumerate(load(shared_data, "windows-timers").snapshots()):
        noted_timers = {
            (key, time)
            for notes in snapshot["job"]["reminder"].values()
            for key, (_, time) in notes["keyedLastAndEventTimer"].items()
        }
        timers = {
            (entry.key, entry.value)
            for part in parts(shared_data, "windows-timers")
            if part.snapshot == number
            for entry in part.entries
            if entry.state == "_timer_state/event_user-timers"
        }
        assert timers == noted_timers != set()


@pytest.mark.parametrize("name", [*CASES, *LEGACY])
def test_every_key_is_in_its_key_group_and_every_key_group_in_its_subtask(shared_data, name):
    for part in parts(shared_data, name):
        groups = [entry.key_group for entry in part.entries]
        assert groups == sorted(groups)
        assert set(groups) <= set(part.state.key_groups)
        for entry in part.entries:
            group = key_group(entry.key, part.state.key, part.operator.max_parallelism)
            assert group == entry.key_group


def test_entries_are_many(shared_data):
    counts = {name: sum(len(part.entries) for part in parts(shared_data, name)) for name in CASES}
    assert sum(counts.values()) == 4_315
    assert {name for name, count in counts.items() if not count} == set()


@pytest.mark.parametrize("name", [*CASES, *LEGACY])
def test_a_complete_upload_has_no_remarks(shared_data, name):
    for part in parts(shared_data, name):
        assert part.state.notes.complete
        remarks = [
            sentence
            for sentence in part.state.notes.sentences
            if "taken for string" not in sentence
        ]
        assert remarks == []
        assert part.state.layout is not None
        assert bool(part.state.notes.sentences) <= (part.state.layout == "changelog")


def test_the_layouts_are_recognised(shared_data):
    layouts = {
        name: {part.state.layout for part in parts(shared_data, name)} for name in CASES + LEGACY
    }
    assert layouts["aligned-hashmap-files"] == layouts["savepoint-native"] == {"heap"}
    assert layouts["savepoint-canonical"] == {"heap", "full"}
    assert layouts["rocksdb-full"] == layouts["forst-async-state"] == {"tables"}
    assert layouts["changelog"] == {"changelog"}
    assert layouts["v3-orders-rocksdb"] == {"tables", "full"}
    assert layouts["flink1.18-sql-join"] == {"full"}
    assert layouts["flink1.15-hashmap-native-savepoint"] == {"heap"}


@pytest.mark.parametrize("name", LEGACY)
def test_old_snapshots_have_the_values_that_the_research_found(shared_data, name):
    case = load(shared_data, name)
    operators = {operator["id"]: operator for operator in case.expected["reader"]["operators"]}
    for part in parts(shared_data, name):
        (subtask,) = (
            subtask
            for subtask in operators[part.operator.id]["subtasks"]
            if subtask["index"] == part.subtask.index
        )
        expected = subtask["managedKeyed"]["states"]
        assert {state.name for state in part.state.states} == set(expected)
        for state, researched in expected.items():
            entries = [entry for entry in part.entries if entry.state == state]
            in_order = sorted(researched["entries"], key=lambda entry: entry[0])
            assert [_as_researched(entry) for entry in entries] == in_order


def test_old_snapshots_hold_entries(shared_data):
    counts = {name: sum(len(part.entries) for part in parts(shared_data, name)) for name in LEGACY}
    assert counts["flink1.12-heap-timers"] == 1
    assert counts["flink1.15-hashmap-native-savepoint"] > 20
    assert counts["flink1.18-sql-join"] > 15


def _as_researched(entry):
    value = entry.value
    if entry.kind == "TIMERS":
        value = {"timestamp": value, "key": entry.key, "namespace": entry.namespace}
        return [entry.key_group, None, None, value]
    return [entry.key_group, _row_out(entry.key), entry.namespace, _row_out(value)]


def _row_out(value):
    if not isinstance(value, dict):
        return value
    if "userValue" in value:
        return {
            "ttlTimestamp": value["lastAccessTimestamp"],
            "value": _row_out(value["userValue"]),
        }
    return {"rowKind": value["rowKind"], "fields": value["fields"], "_hex": value["binaryRow"]}


@pytest.mark.parametrize("name", [*CASES, *LEGACY])
def test_every_byte_of_a_stream_with_key_groups_is_accounted_for(shared_data, name):
    for part in parts(shared_data, name):
        if not isinstance(part.handle, KeyGroups) or part.state.compressed:
            continue
        data = part.read(part.handle.stream)
        meta = read_keyed_meta(Cursor(data))
        assert meta.problem is None
        frame = _heap_frame if part.state.layout == "heap" else _full_frame
        entries = sum(entry.size for entry in part.entries)
        assert meta.end + frame(part) + entries == len(data)


def _heap_frame(part):
    """Return the bytes around the entries: a number per key group, number and count per state."""
    return part.handle.count * (4 + 6 * len(part.state.states))


def _full_frame(part):
    """Return the bytes around the entries: lengths, the first state and the changes of state."""
    frame = 0
    for group, entries in groupby(part.entries, key=lambda entry: entry.key_group):
        entries = list(entries)
        assert part.handle.offsets[group - part.handle.first] > 0
        states = len({entry.state for entry in entries})
        pairs = sum(len(entry.value) if entry.kind == "MAP" else 1 for entry in entries)
        frame += 2 + 8 * pairs + 2 * states
    return frame


def without(part, lacking):
    """Return a function that reads like the part, but has one stream missing."""
    gone = Missing("gone", lacking.size, "No.")
    return lambda stream: gone if stream == lacking else part.read(stream)


def keys_of(entries):
    return {(entry.state, entry.key_group, entry.key) for entry in entries}


def test_other_tables_are_read_if_one_is_missing(shared_data):
    tried = 0
    for part in parts(shared_data, "rocksdb-incremental"):
        tables = [file for file in part.handle.shared if file.name.endswith(".sst")]
        for table in tables:
            read = without(part, table.stream)
            state = read_keyed(part.handle, read, part.operator.max_parallelism)
            entries = list(state.entries)
            assert [missing.path for missing in state.notes.missing] == ["gone"]
            assert not state.notes.complete
            assert keys_of(entries) <= keys_of(part.entries)
            assert all(entry.is_known for entry in entries)
            assert bool(entries) == (len(tables) > 1)
            tried += 1
    assert tried > 20


def test_tables_give_names_and_bytes_without_the_description(shared_data):
    part = next(part for part in parts(shared_data, "rocksdb-full") if part.entries)

    read = without(part, part.handle.meta)
    state = read_keyed(part.handle, read, part.operator.max_parallelism)
    entries = list(state.entries)
    assert {entry.state for entry in entries} == {entry.state for entry in part.entries}
    assert {entry.key_group for entry in entries} == {e.key_group for e in part.entries}
    assert not any(entry.is_known for entry in entries)
    assert all(isinstance(entry.value, Opaque) and entry.raw_key for entry in entries)
    assert "missing: No." in entries[0].value.reason


def test_a_missing_stream_is_reported(shared_data):
    part = next(part for part in parts(shared_data, "bank-aligned"))
    state = read_keyed(part.handle, lambda stream: Missing("file", 1, "No."), 16)
    assert (state.layout, state.key, list(state.entries)) == (None, None, [])
    assert state.notes.missing == [Missing("file", 1, "No.")]
    assert not state.notes.complete


def test_keys_of_other_key_groups_are_left_out_and_reported(shared_data):
    part = max(parts(shared_data, "rocksdb-full"), key=lambda part: len(part.entries))
    groups = sorted({entry.key_group for entry in part.entries})
    handle = replace(part.handle, first=groups[0], count=groups[1] - groups[0])
    state = read_keyed(handle, part.read, part.operator.max_parallelism)
    entries = list(state.entries)
    assert entries == [entry for entry in part.entries if entry.key_group == groups[0]]
    assert any(
        "keys of other key groups are left out" in sentence for sentence in state.notes.sentences
    )
    assert state.notes.complete


def with_less(part):
    """Read entries with a limit just below the largest; return all, and those largest ones."""
    largest = max(entry.size for entry in part.entries)
    limits = Limits(value_bytes=largest - 1)
    state = read_keyed(part.handle, part.read, part.operator.max_parallelism, limits)
    return list(state.entries), [entry for entry in part.entries if entry.size == largest]


def test_a_value_larger_than_the_limit_stays_bytes(shared_data):
    case = parts(shared_data, "savepoint-canonical")
    part = max(case, key=lambda part: sum(entry.size for entry in part.entries))
    entries, too_large = with_less(part)
    opaque = [entry for entry in entries if not entry.is_known]
    assert keys_of(opaque) == keys_of(too_large) != set()
    assert {entry.size for entry in opaque} == {entry.size for entry in too_large}
    known = [entry for entry in entries if entry.is_known]
    assert known == [entry for entry in part.entries if entry not in too_large]


def test_a_too_large_value_without_a_length_hides_those_behind_it(shared_data):
    case = parts(shared_data, "aligned-hashmap-files")
    part = max(case, key=lambda part: sum(entry.size for entry in part.entries))
    entries, too_large = with_less(part)
    hidden = {(entry.state, entry.key_group) for entry in too_large}
    opaque = [entry for entry in entries if not entry.is_known]
    assert {(entry.state, entry.key_group) for entry in opaque} == hidden != set()
    assert all("The entry has more than" in entry.value.reason for entry in opaque)
    kept = [entry for entry in part.entries if (entry.state, entry.key_group) not in hidden]
    assert [entry for entry in entries if (entry.state, entry.key_group) not in hidden] == kept
