"""What changed in keyed state between two checkpoints, whatever layout they are stored in."""

from itertools import chain

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from snapshots.readers.engines.flink.keyed.differences import (
    ADDED,
    CHANGED,
    REMOVED,
    SAME,
    UNKNOWN,
    compare,
    differences,
)
from snapshots.readers.engines.flink.keyed.entries import Entry, unread
from snapshots.readers.formats.opaque import Opaque
from tests.effort import examples
from tests.readers.engines.flink.keyed import parts


def entry(key, value, group=0, state="totals", kind="VALUE", raw=b"", raw_key=b""):
    return Entry(state, kind, group, None, key, value, 10, raw_key, raw)


def opaque(key, raw, **further):
    return entry(key, Opaque.of(raw, "Kryo."), raw=raw, **further)


def found(before, after, **options):
    return {one.entry.key: one.kind for one in differences(before, after, **options)}


def test_keys_are_added_removed_changed_or_the_same():
    before = [entry("a", 1), entry("b", 1), entry("gone", 1, 3)]
    after = [entry("b", 2), entry("a", 1), entry("new", 1, 1), entry("late", 1, 4)]
    kinds = found(before, after)
    assert kinds == {"a": SAME, "b": CHANGED, "gone": REMOVED, "new": ADDED, "late": ADDED}


def test_the_same_key_in_two_states_and_namespaces_is_two():
    def window(start, value):
        return Entry("sums", "VALUE", 0, {"start": start}, "a", value, 1)

    before = [window(0, 1), window(5, 1), entry("a", 1)]
    after = [window(5, 1), window(0, 2), entry("a", 1)]
    assert sorted(one.kind for one in differences(before, after)) == [CHANGED, SAME, SAME]


def test_timers_are_the_same_only_with_their_time():
    before = [entry("a", 5, kind="TIMERS"), entry("a", 7, kind="TIMERS")]
    after = [entry("a", 7, kind="TIMERS"), entry("a", 9, kind="TIMERS")]
    kinds = sorted((one.entry.value, one.kind) for one in differences(before, after))
    assert kinds == [(5, REMOVED), (7, SAME), (9, ADDED)]


def test_what_cannot_be_decoded_is_compared_by_its_bytes():
    before = [opaque("a", b"1"), opaque("b", b"1"), opaque("c", b"1"), entry("d", 1)]
    after = [opaque("a", b"1"), opaque("b", b"2"), entry("c", 1), entry("d", 1)]
    assert found(before, after) == {"a": SAME, "b": CHANGED, "c": UNKNOWN, "d": SAME}


def test_lists_that_cannot_be_decoded_may_differ_by_their_layout_alone():
    before, after = ([opaque("a", raw, kind="LIST")] for raw in (b"1", b"2"))
    assert found(before, after) == {"a": CHANGED}
    assert found(before, after, same_layout=False) == {"a": UNKNOWN}


def test_without_the_bytes_it_is_not_known_whether_a_value_changed():
    lost = [entry("a", Opaque(10, b"", "Too large."))]
    assert found(lost, lost) == {"a": UNKNOWN}


def test_stretches_of_bytes_are_compared_in_their_order():
    before = [unread(b"1", "No.", key_group=0), unread(b"2", "No.", key_group=0)]
    after = [unread(b"1", "No.", key_group=0), unread(b"3", "No.", key_group=0)]
    assert [one.kind for one in differences(before, after)] == [SAME, CHANGED]


def test_counts_bytes_and_examples_per_state():
    before = [entry("a", 1), entry("b", 1), entry("x", 1, state="other")]
    after = [entry("b", 2), entry("c", 1), entry("d", 1), entry("x", 1, state="other")]
    other, totals = compare(before, after, most_examples=2)
    assert (other.state, other.counts, other.examples) == ("other", {SAME: 1}, [])
    assert totals.counts == {CHANGED: 1, ADDED: 2, REMOVED: 1}
    assert (totals.keys_before, totals.keys_after) == (2, 3)
    assert (totals.bytes_before, totals.bytes_after) == (20, 30)
    assert [one.kind for one in totals.examples] == [CHANGED, ADDED]


sides = st.dictionaries(st.tuples(st.integers(0, 3), st.sampled_from("abcd")), st.integers(0, 2))


@settings(max_examples=examples(100))
@given(sides, sides)
def test_any_two_sides(before, after):
    def entries(side):
        return [entry(key, value, group) for (group, key), value in sorted(side.items())]

    kinds = {
        (one.entry.key_group, one.entry.key): one.kind
        for one in differences(entries(before), entries(after))
    }
    assert kinds == {
        where: ADDED if where not in before
        else REMOVED if where not in after
        else SAME if before[where] == after[where]
        else CHANGED
        for where in before | after
    }  # fmt: skip


def entries_of(shared_data, name, snapshot, uid):
    """Of all subtasks of an operator, by key group."""
    return list(
        chain.from_iterable(
            part.entries
            for part in parts(shared_data, name)
            if (part.snapshot, part.operator.uid) == (snapshot, uid)
        )
    )


def test_a_native_and_a_canonical_form_of_the_same_state_do_not_differ(shared_data):
    before, after = (entries_of(shared_data, "types", one, "zoo") for one in (1, 2))
    states = compare(before, after, same_layout=False)
    assert len(states) > 30
    for state in states:
        assert state.counts == {SAME: 5}


def test_a_rescaled_job_starts_from_what_the_savepoint_had(shared_data):
    before, after = (entries_of(shared_data, "rescaled", one, "enrich") for one in (0, 1))
    assert len({entry.key_group for entry in before}) > 5
    for state in compare(before, after):
        assert state.counts[REMOVED] == state.counts[UNKNOWN] == 0


@pytest.mark.parametrize("name", ["rocksdb-incremental", "aligned-hashmap-files"])
def test_between_two_checkpoints_of_one_job_counts_only_grow(shared_data, name):
    before, after = (entries_of(shared_data, name, one, "enrich") for one in (0, 1))
    (orders,) = (one for one in compare(before, after) if one.state == "orderCount")
    assert orders.counts[ADDED] + orders.counts[CHANGED] > 0
    assert orders.counts[REMOVED] == 0
    for one in orders.examples:
        assert one.kind == ADDED or one.before.value < one.after.value
