"""Timers, and keys and values that cannot be decoded, are found again in another checkpoint."""

from snapshots.domain.inventory.model import CheckpointInventory, OperatorInventory
from snapshots.readers.engines.flink.adapter.entries import OperatorSeen, entries_of
from snapshots.readers.engines.flink.metadata import Metadata, Operator, Subtask
from snapshots.readers.engines.flink.upload import StoredCheckpoint
from snapshots.readers.formats.budget import Room
from snapshots.store.inventory.differences import ADDED, CHANGED, REMOVED, SAME, UNKNOWN
from snapshots.store.inventory.reading import StoredInventory
from snapshots.store.inventory.writing import write_inventory
from tests.readers.engines.flink import keyed_writing as write
from tests.readers.engines.flink import types
from tests.readers.engines.flink.keyed_writing import KRYO, LONG, STRING, long
from tests.readers.engines.flink.writing import i64
from tests.store.test_inventory import Upload

OPERATOR = "ab" * 16
GROUP = b"\x03"


class Files:
    """The files of an upload whose streams lie in its metadata."""

    room = Room("bytes of state", 2**20)

    def read(self, stream, folder):
        return stream.data


class FlinkFiles:
    files = Files()


def entries(number, description, pairs):
    """Return the entries of a checkpoint with one state, whose keys and values are `pairs`."""
    handle = write.handle(description, {3: write.full_group((0, pairs))}, savepoint=True)
    subtask = Subtask(0, managed_keyed=handle)
    operator = Operator(OPERATOR, "count", None, 1, 16, None, False, (subtask,))
    stored = StoredCheckpoint("chk", Metadata(4, number, (), (operator,), None, 0))
    return list(entries_of(FlinkFiles(), number, stored, operator, OperatorSeen()))


def counts(tmp_path, description, before, after):
    """Return how many keys of the only state differ in each way between two checkpoints."""
    every = entries(0, description, before) + entries(1, description, after)
    [state] = {entry.state for entry in every}
    operators = (OperatorInventory(OPERATOR, "count", 1, 16),)
    checkpoints = tuple(
        CheckpointInventory("job", id_, "checkpoint", "completed", operators=operators)
        for id_ in (1, 2)
    )
    write_inventory(tmp_path, Upload(checkpoints, every, []))
    inventory = StoredInventory(tmp_path)
    both = inventory.checkpoint(0), inventory.checkpoint(1)
    found = inventory.compare(*both, OPERATOR, state).counts
    return {kind: count for kind, count in found.items() if count}


def timers(*all_timers):
    """Return timers (time, key, namespace) as pairs of the full layout."""
    return [
        (GROUP + i64(time - 2**63) + types.string(key) + long(namespace), b"")
        for time, key, namespace in all_timers
    ]


def test_a_timer_is_the_same_by_key_namespace_and_time(tmp_path):
    timer = types.timer(STRING, LONG)
    description = write.meta(
        write.state("_timer_state/event_x", timer.snapshot, "", backend_type=3)
    )
    before = timers((5, "a", 1), (6, "a", 1), (5, "b", 1), (5, "c", 1))
    after = timers((5, "a", 1), (7, "a", 1), (5, "b", 2), (5, "c", 1))
    assert counts(tmp_path, description, before, after) == {SAME: 2, ADDED: 2, REMOVED: 2}


def test_a_key_that_cannot_be_decoded_is_found_again_by_its_bytes(tmp_path):
    description = write.meta(write.state("totals", LONG.snapshot), key=KRYO)
    before = [
        (GROUP + b"stays\0", long(1)),
        (GROUP + b"grows\0", long(1)),
        (GROUP + b"goes\0", long(1)),
    ]
    after = [
        (GROUP + b"comes\0", long(1)),
        (GROUP + b"grows\0", long(2)),
        (GROUP + b"stays\0", long(1)),
    ]
    found = counts(tmp_path, description, before, after)
    assert found == {SAME: 1, CHANGED: 1, ADDED: 1, REMOVED: 1}


def test_a_value_that_cannot_be_decoded_is_compared_by_its_bytes(tmp_path):
    description = write.meta(write.state("odds", KRYO))
    key = [GROUP + types.string(name) + b"\0" for name in "abcd"]
    before = [(key[0], b"one"), (key[1], b"one"), (key[2], b"one")]
    after = [(key[0], b"one"), (key[1], b"two"), (key[3], b"one")]
    found = counts(tmp_path, description, before, after)
    assert found == {SAME: 1, CHANGED: 1, ADDED: 1, REMOVED: 1}


def test_whether_the_bytes_of_a_list_mean_another_value_is_unknown(tmp_path):
    description = write.meta(write.state("lists", KRYO, "LIST"))
    key = GROUP + types.string("a") + b"\0"
    assert counts(tmp_path, description, [(key, b"one")], [(key, b"one")]) == {UNKNOWN: 1}
