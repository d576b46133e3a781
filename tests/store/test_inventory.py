"""An inventory comes back as it was written: entries, counts, data in flight, differences."""

from collections import Counter
from dataclasses import dataclass, replace

import orjson
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from snapshots.domain.inventory.entries import ChannelBytes, NotRead, StateEntry, StateTypes
from snapshots.domain.inventory.model import (
    BROADCAST,
    LISTED,
    UNION,
    ChannelContents,
    CheckpointInventory,
    Fact,
    FileUse,
    JobInventory,
    MissingFile,
    OperatorInventory,
    StateInventory,
    SubtaskInventory,
    UploadInventory,
)
from snapshots.domain.inventory.operator_plan import StoredKey, StoredSizes
from snapshots.domain.inventory.restore_check import check_upload
from snapshots.store.errors import OfAnotherVersion, StoreDamaged
from snapshots.store.inventory.differences import ADDED, CHANGED, REMOVED, SAME, UNKNOWN, Wanted
from snapshots.store.inventory.layout import CONTENTS, ENTRIES, UPLOAD, VERSION
from snapshots.store.inventory.reading import StoredInventory, as_checkpoint
from snapshots.store.inventory.writing import LONGEST_VALUE, write_inventory
from tests.effort import examples


@dataclass
class Upload:
    """An upload with the given inventory."""

    checkpoints: tuple
    state: list
    channels: list
    types: tuple = ()

    def inventory(self):
        return UploadInventory(
            "flink",
            (JobInventory("job", "a job", (Fact("version", 6),)),),
            self.checkpoints,
            (FileUse("chk-1/_metadata", 10, "metadata", (0,)),),
            ("a note",),
        )

    def restore_check(self):
        return check_upload("flink", (), ())

    def entries(self):
        return iter(self.state)

    def channel_bytes(self):
        return iter(self.channels)

    def state_types(self):
        return iter(self.types)


def a_checkpoint(id_=1, states=("counts",), channels=()):
    operator = OperatorInventory(
        "op",
        "count",
        2,
        8,
        subtasks=(SubtaskInventory(0, 10, (0, 3), {"keyed state": 10}), SubtaskInventory(1)),
        states=tuple(StateInventory(name, "value", "long → long") for name in states),
        facts=(Fact("backend", "heap", "by its handles"),),
        notes=("one",),
    )
    missing = (MissingFile("shared/x", 5, "It is not part of the upload."),)
    return CheckpointInventory(
        "job", id_, "checkpoint", "completed", operators=(operator,), channels=channels,
        missing=missing,
    )  # fmt: skip


def an_entry(key, value, checkpoint=0, state="counts", subtask=0, **fields):
    fields = {
        "key_group": 1,
        "identity": repr(key).encode(),
        "digest": repr(value).encode(),
    } | fields
    return StateEntry(checkpoint, "op", subtask, state, key, value, 7, **fields)


def stored(tmp_path, checkpoints, entries=(), channels=(), **options):
    write_inventory(tmp_path, Upload(tuple(checkpoints), list(entries), list(channels)), **options)
    return StoredInventory(tmp_path)


def rows(inventory, number=0, state="counts", **options):
    return inventory.entries(inventory.checkpoint(number), "op", state, **options)


def test_a_checkpoint_comes_back_as_it_was(tmp_path):
    channel = ChannelContents("c", "a[0]", "op[1]", "whole", 0, 2, 3, 1)
    checkpoint = a_checkpoint(channels=(channel,))
    inventory = stored(tmp_path, [checkpoint], [an_entry("k", 1)], [ChannelBytes(0, 0, b"abc")])
    restored = as_checkpoint(inventory.checkpoint(0))
    counted = replace(
        checkpoint.operators[0].states[0], entries=1, bytes=7, stored=1, undecoded=0, sum=1
    )
    expected = replace(checkpoint, operators=(replace(checkpoint.operators[0], states=(counted,)),))
    assert restored == expected
    assert inventory.channel(0, 0) == b"abc"
    listed = inventory.upload["checkpoints"][0]
    assert (listed["operators"], listed["channels"], listed["in_flight"]) == (1, 1, 3)
    assert inventory.upload["files"][0]["path"] == "chk-1/_metadata"


json_values = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53), 2**53) | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner),
    max_leaves=6,
)


@settings(max_examples=examples(40), deadline=None)
@given(
    pairs=st.lists(st.tuples(json_values, json_values), max_size=30),
    most=st.integers(0, 40),
)
def test_entries_come_back_in_order_up_to_the_limit_and_all_are_counted(
    tmp_path_factory, pairs, most
):
    entries = [an_entry(*pair) for pair in pairs]
    folder = tmp_path_factory.mktemp("store")
    inventory = stored(folder, [a_checkpoint()], entries, most=most)
    page = rows(inventory, limit=100)
    kept = pairs[:most]
    assert page.total == len(kept)
    assert [(orjson.loads(row["key"]), orjson.loads(row["value"])) for row in page.rows] == [
        (orjson.loads(orjson.dumps(key)), orjson.loads(orjson.dumps(value))) for key, value in kept
    ]
    [state] = inventory.checkpoint(0)["operators"][0]["states"]
    assert (state["entries"], state["stored"]) == (len(pairs), len(kept))
    assert state["bytes"] == (7 * len(pairs) if pairs else None)


def test_pages_and_search(tmp_path):
    entries = [an_entry(f"key {n}", {"total": n * 100}, namespace=[n]) for n in range(30)]
    inventory = stored(tmp_path, [a_checkpoint()], entries)
    page = rows(inventory, offset=10, limit=5)
    assert [orjson.loads(row["key"]) for row in page.rows] == [f"key {n}" for n in range(10, 15)]
    assert page.total == 30
    assert rows(inventory, containing="KEY 2").total == 11
    assert rows(inventory, containing="2900").total == 1
    assert rows(inventory, containing=".*").total == 0
    assert rows(inventory, offset=100).rows == []


def test_states_of_several_operators_and_checkpoints_stay_apart(tmp_path):
    entries = [
        an_entry("a", 1),
        an_entry("b", 2, state="other"),
        an_entry("a", 3),
        an_entry("a", 4, checkpoint=1),
    ]
    inventory = stored(tmp_path, [a_checkpoint(), a_checkpoint(2)], entries)
    assert [row["value"] for row in rows(inventory).rows] == ["1", "3"]
    assert [row["value"] for row in rows(inventory, state="other").rows] == ["2"]
    assert [row["value"] for row in rows(inventory, 1).rows] == ["4"]
    assert [state["kind"] for state in inventory.checkpoint(0)["operators"][0]["states"]] == [
        "value",
        "unknown",
    ]


def test_values_that_cannot_be_read_keep_the_reason_and_their_first_bytes(tmp_path):
    entries = [
        an_entry("k", NotRead(900, b"\x01\x02", "Kryo wrote it.")),
        an_entry(NotRead(4, b"\xff", "unknown"), 5),
        an_entry("long", "x" * (LONGEST_VALUE + 1)),
    ]
    inventory = stored(tmp_path, [a_checkpoint()], entries)
    first, second, third = rows(inventory).rows
    assert (first["value"], first["reason"], first["head"]) == (None, "Kryo wrote it.", b"\x01\x02")
    assert (second["key"], second["value"]) == (None, "5")
    assert third["value"] is None
    assert "65,539 bytes as JSON" in third["reason"]
    [state] = inventory.checkpoint(0)["operators"][0]["states"]
    assert (state["undecoded"], state["reason"]) == (2, "Kryo wrote it.")


def test_two_checkpoints_are_compared_key_by_key(tmp_path):
    before = [an_entry("same", 1), an_entry("changed", 1), an_entry("gone", 1), an_entry("x", 1)]
    after = [
        an_entry("new", 1, checkpoint=1),
        an_entry("changed", 2, checkpoint=1),
        an_entry("same", 1, checkpoint=1),
        an_entry("x", 1, checkpoint=1, digest=None),
    ]
    inventory = stored(tmp_path, [a_checkpoint(), a_checkpoint(2)], [*before, *after])
    earlier, later = inventory.checkpoint(0), inventory.checkpoint(1)
    comparison = inventory.compare(earlier, later, "op", "counts")
    assert comparison.counts == {ADDED: 1, REMOVED: 1, CHANGED: 1, UNKNOWN: 1, SAME: 1}
    keys = {
        kind: (first and first["key"], second and second["key"])
        for kind, first, second in comparison.examples
    }
    assert keys == {
        ADDED: (None, '"new"'),
        REMOVED: ('"gone"', None),
        CHANGED: ('"changed"', '"changed"'),
        UNKNOWN: ('"x"', '"x"'),
    }
    assert len(inventory.compare(earlier, later, "op", "counts", Wanted(limit=0)).examples) == 0


@settings(max_examples=examples(40), deadline=None)
@given(
    earlier=st.lists(st.tuples(st.integers(0, 4), st.integers(0, 2)), max_size=12),
    later=st.lists(st.tuples(st.integers(0, 4), st.integers(0, 2)), max_size=12),
)
def test_differences_add_up(tmp_path_factory, earlier, later):
    entries = [an_entry(*pair) for pair in earlier] + [
        an_entry(*pair, checkpoint=1) for pair in later
    ]
    inventory = stored(tmp_path_factory.mktemp("store"), [a_checkpoint(), a_checkpoint(2)], entries)
    pair = inventory.checkpoint(0), inventory.checkpoint(1)
    counts = inventory.compare(*pair, "op", "counts").counts
    keys = Counter(key for key, _ in earlier), Counter(key for key, _ in later)
    assert counts[ADDED] == (keys[1] - keys[0]).total()
    assert counts[REMOVED] == (keys[0] - keys[1]).total()
    assert counts[SAME] + counts[CHANGED] == (keys[0] & keys[1]).total()
    assert inventory.compare(pair[0], pair[0], "op", "counts").counts[SAME] == len(earlier)


def with_states(checkpoint, *states, parallelism=2):
    [operator] = checkpoint.operators
    changed = replace(operator, states=states, parallelism=parallelism)
    return replace(checkpoint, operators=(changed,))


def compared(tmp_path, checkpoints, entries, **options):
    inventory = stored(tmp_path, checkpoints, entries, **options)
    pair = inventory.checkpoint(0), inventory.checkpoint(1)
    return inventory.compare(*pair, "op", "counts")


def test_a_key_that_a_partial_state_lacks_is_unknown(tmp_path):
    known, part = (
        StateInventory("counts", "value"),
        StateInventory("counts", "value", complete=False),
    )
    earlier, later = with_states(a_checkpoint(), part), with_states(a_checkpoint(2), known)
    entries = [an_entry("gone", 1), an_entry("new", 1, checkpoint=1)]
    comparison = compared(tmp_path, [earlier, later], entries)
    assert comparison.counts == {ADDED: 0, REMOVED: 1, CHANGED: 0, UNKNOWN: 1, SAME: 0}
    assert comparison.notes == (
        "Not all of the state in checkpoint 1 is known: files are missing or damaged.",
    )


def test_entries_that_are_not_kept_are_unknown(tmp_path):
    entries = [an_entry("a", 1), an_entry("b", 1), an_entry("a", 1, checkpoint=1)]
    entries += [an_entry("b", 1, checkpoint=1)]
    comparison = compared(tmp_path, [a_checkpoint(), a_checkpoint(2)], entries, most=3)
    assert comparison.counts == {ADDED: 0, REMOVED: 0, CHANGED: 0, UNKNOWN: 1, SAME: 1}
    assert comparison.notes == ("Only 1 of 2 entries of checkpoint 2 are kept.",)


def test_a_state_whose_files_may_be_missing_is_unknown(tmp_path):
    later = with_states(a_checkpoint(2))  # lists a missing file
    comparison = compared(tmp_path, [a_checkpoint(), later], [an_entry("a", 1)])
    assert (comparison.counts[UNKNOWN], comparison.counts[REMOVED]) == (1, 0)
    whole = replace(later, missing=())
    (tmp_path / "whole").mkdir()
    comparison = compared(tmp_path / "whole", [a_checkpoint(), whole], [an_entry("a", 1)])
    assert (comparison.counts[UNKNOWN], comparison.counts[REMOVED]) == (0, 1)


def test_every_key_of_a_checkpoint_without_files_is_unknown(tmp_path):
    bare = replace(a_checkpoint(2), operators=(), problem="There are none.")
    comparison = compared(tmp_path, [a_checkpoint(), bare], [an_entry("a", 1)])
    assert comparison.counts[UNKNOWN] == 1
    assert comparison.notes == ("No state of checkpoint 2 is known: There are none.",)


def test_elements_that_were_distributed_anew_are_compared_by_value(tmp_path):
    state = StateInventory("counts", LISTED)
    earlier = with_states(a_checkpoint(), state)
    later = with_states(a_checkpoint(2), state, parallelism=3)
    before = [an_entry(0, "x"), an_entry(1, "y"), an_entry(0, "z", subtask=1)]
    after = [an_entry(0, value, checkpoint=1, subtask=n) for n, value in enumerate("zyq")]
    comparison = compared(tmp_path, [earlier, later], before + after)
    assert comparison.counts == {ADDED: 1, REMOVED: 1, CHANGED: 0, UNKNOWN: 0, SAME: 2}
    (tmp_path / "same").mkdir()
    again = with_states(a_checkpoint(2), state)
    comparison = compared(tmp_path / "same", [earlier, again], before + after)
    assert comparison.counts[CHANGED] > 0


def test_one_copy_of_a_broadcast_state_is_compared(tmp_path):
    state = StateInventory("counts", BROADCAST)
    earlier = with_states(a_checkpoint(), state)
    later = with_states(a_checkpoint(2), state, parallelism=3)
    before = [an_entry(n, "map", subtask=n) for n in range(2)]
    after = [an_entry(n, "map", checkpoint=1, subtask=n) for n in range(3)]
    assert compared(tmp_path, [earlier, later], before + after).counts[SAME] == 1


def test_bytes_by_key_group(tmp_path):
    entries = [an_entry(n, n, key_group=n % 2) for n in range(5)]
    inventory = stored(tmp_path, [a_checkpoint()], entries)
    sizes = inventory.sizes(inventory.checkpoint(0))["op"]
    assert replace(sizes, keys=()) == StoredSizes({0: 21, 1: 14})


def test_the_heaviest_keys_have_all_their_entries(tmp_path):
    keys = ["a", "b", "b", "c", "d", "e", "f"]
    entries = [an_entry(key, n, key_group=ord(key) % 2) for n, key in enumerate(keys)]
    inventory = stored(tmp_path, [a_checkpoint()], entries)
    heaviest = inventory.sizes(inventory.checkpoint(0))["op"].keys
    assert heaviest[0] == StoredKey('"b"', 0, 14, 2)
    assert [item.key for item in heaviest[1:]] == ['"d"', '"f"', '"a"', '"c"']


def test_an_undecoded_key_leaves_the_heaviest_unknown(tmp_path):
    entries = [an_entry("a", 1, key_group=0), an_entry(NotRead(3, b"xyz", "So."), 2, key_group=0)]
    inventory = stored(tmp_path, [a_checkpoint()], entries)
    assert inventory.sizes(inventory.checkpoint(0))["op"].keys == ()


def test_bytes_by_key_group_are_not_known_if_only_a_part_is_kept(tmp_path):
    entries = [an_entry(n, n, key_group=n % 2) for n in range(5)]
    inventory = stored(tmp_path, [a_checkpoint()], entries, most=4)
    assert inventory.sizes(inventory.checkpoint(0))["op"].key_groups is None


def test_bytes_by_key_group_are_not_known_if_an_entry_has_no_key_group(tmp_path):
    entries = [an_entry(1, 1, key_group=1), an_entry(2, 2, key_group=None)]
    inventory = stored(tmp_path, [a_checkpoint()], entries)
    assert inventory.sizes(inventory.checkpoint(0))["op"].key_groups is None


def test_elements_of_operator_state_have_their_subtasks(tmp_path):
    states = (StateInventory("counts", LISTED), StateInventory("part", UNION, complete=False))
    operator = OperatorInventory("op", "count", 2, states=states)
    entries = [an_entry(n, n, subtask=n // 2) for n in range(3)]
    inventory = stored(tmp_path, [replace(a_checkpoint(), operators=(operator,))], entries)
    sizes = inventory.sizes(inventory.checkpoint(0))["op"]
    assert sizes == StoredSizes(None, {"counts": [(0, 7), (0, 7), (1, 7)]})


def test_a_missing_item_is_a_key_error(tmp_path):
    inventory = stored(tmp_path, [a_checkpoint()])
    for ask in (
        lambda: inventory.checkpoint(1),
        lambda: inventory.checkpoint(-1),
        lambda: rows(inventory, state="none"),
        lambda: inventory.channel(0, 0),
    ):
        with pytest.raises(KeyError):
            ask()
    assert rows(inventory).rows == []


def test_a_damaged_file_is_an_error(tmp_path):
    inventory = stored(tmp_path, [a_checkpoint()], [an_entry("a", 1)])
    path = tmp_path / CONTENTS / ENTRIES
    path.write_bytes(path.read_bytes()[:40])
    with pytest.raises(StoreDamaged, match="entries"):
        rows(inventory)
    assert not StoredInventory(tmp_path / "nothing").exists


def test_descriptions_of_types_come_back_by_checkpoint(tmp_path):
    types = (StateTypes(0, b"one"), StateTypes(1, b"two"), StateTypes(1, b"three"))
    write_inventory(tmp_path, Upload((a_checkpoint(), a_checkpoint(2)), [], [], types))
    inventory = StoredInventory(tmp_path)
    assert [inventory.state_types(number) for number in range(3)] == [
        [b"one"], [b"two", b"three"], [],
    ]  # fmt: skip


@pytest.mark.parametrize("version", [None, 1, "2"])
def test_an_inventory_of_another_release_is_refused(tmp_path, version):
    inventory = stored(tmp_path, [a_checkpoint()])
    assert "version" not in inventory.upload
    path = tmp_path / CONTENTS / UPLOAD
    document = orjson.loads(path.read_bytes())
    assert document["version"] == VERSION
    if version is None:
        del document["version"]
    else:
        document["version"] = version
    path.write_bytes(orjson.dumps(document))
    with pytest.raises(OfAnotherVersion, match="another version of Cutline"):
        StoredInventory(tmp_path).checkpoint(0)


@pytest.mark.parametrize(
    ("values", "total"),
    [((1, 2.5), 3.5), ((), None), ((1, "2"), None), ((True,), None), ((2**52, 2**52), None)],
)
def test_values_are_summed_if_all_are_numbers(tmp_path, values, total):
    entries = [an_entry(place, value) for place, value in enumerate(values)]
    inventory = stored(tmp_path, [a_checkpoint()], entries)
    assert inventory.checkpoint(0)["operators"][0]["states"][0]["sum"] == total
