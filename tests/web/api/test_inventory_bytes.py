"""Whose the bytes of real checkpoints are, against what the engines say and what lies on disk."""

import json
from collections import Counter
from pathlib import Path

import pytest

from snapshots.answers import inventory_bytes
from snapshots.domain.inventory.byte_shares import COLLECTIONS, NOT_SAID, OLDER_RELEASE
from snapshots.domain.inventory.model import UNDIVIDED
from snapshots.readers.engines.flink.adapter.reader import FlinkReader
from snapshots.readers.engines.seatunnel.adapter.reader import SeaTunnelReader
from snapshots.readers.engines.spark_streaming.adapter.reader import SparkUpload
from snapshots.readers.formats.unpacking.packages import PackageLimits
from snapshots.readers.formats.unpacking.packages import unpack as unpack_package
from snapshots.store.inventory.layout import WEIGHTS
from snapshots.store.inventory.reading import StoredInventory
from snapshots.store.inventory.writing import write_inventory
from tests.readers.engines.flink.cases import CASES
from tests.readers.engines.flink.engine import expected_snapshots
from tests.readers.engines.spark_streaming.cases import MAIN, unpack

SILENT = ("v3-orders-rocksdb",)  # versions of `_metadata` that do not say what was uploaded


@pytest.fixture(scope="module")
def spark(shared_data, tmp_path_factory):
    def of(case: str, without: str = "") -> tuple[StoredInventory, Path]:
        folder, _ = unpack(
            shared_data / "spark-streaming" / f"{case}.zip", tmp_path_factory.mktemp(case)
        )
        for file in list(folder.rglob(without)) if without else ():
            file.unlink()
        into = tmp_path_factory.mktemp(f"{case}-store")
        write_inventory(into, SparkUpload(folder))
        return StoredInventory(into), folder

    return of


@pytest.fixture(scope="module")
def seatunnel(shared_data, tmp_path_factory):
    def of(case: str) -> StoredInventory:
        target = tmp_path_factory.mktemp("case") / "files"
        unpack_package(shared_data / "seatunnel" / f"{case}.zip", target, PackageLimits())
        into = tmp_path_factory.mktemp(f"{case}-store")
        write_inventory(into, SeaTunnelReader().read(target))
        return StoredInventory(into)

    return of


def expected_of(shared_data, case):
    """Return what Flink read of each checkpoint, by its path."""
    expected = json.loads((shared_data / "flink" / case / "expected.json").read_text())
    return {one["path"]: one["flink"] for one in expected_snapshots(expected)}


def numbered(opened, shared_data, case):
    """Yield the number of each checkpoint that Flink read, with what Flink read."""
    by_path = expected_of(shared_data, case)
    for number, item in enumerate(opened.upload["checkpoints"]):
        if (path := f"{item['path']}/_metadata") in by_path:
            yield number, by_path[path]


@pytest.mark.parametrize("case", CASES)
def test_stored_and_new_bytes_of_each_operator_are_those_of_flink(stored, shared_data, case):
    opened = stored(case)
    compared = 0
    for number, expected in numbered(opened, shared_data, case):
        shares = inventory_bytes.bytes_of(opened, number)
        assert shares.bytes.after == expected["stateSize"]
        ours = {one.operator: one for one in shares.operators}
        assert ours.keys() == {one["id"] for one in expected["operators"]}
        for theirs in expected["operators"]:
            operator = ours[theirs["id"]]
            compared += 1
            assert operator.bytes.after == theirs["stateSize"]
            assert sum(part.bytes for part in operator.parts) == theirs["stateSize"]
            if case in SILENT and operator.new is None:
                continue
            assert operator.new == theirs["checkpointedSize"]
            assert sum(part.new for part in operator.parts) == theirs["checkpointedSize"]
    assert compared


def test_what_an_incremental_checkpoint_took_over_is_not_new(stored, shared_data):
    shares = inventory_bytes.bytes_of(stored("rocksdb-incremental"), 3)
    coordinators = 32  # which the REST API does not count
    rest = json.loads(
        (shared_data / "flink/rocksdb-incremental/rest/checkpoint-4.json").read_text()
    )
    assert shares.bytes.after == rest["state_size"] + coordinators == 216_661
    assert shares.new == rest["checkpointed_size"] + coordinators == 194_776
    assert (shares.since, shares.bytes.before) == (3, 224_966)


def test_what_an_old_metadata_does_not_say_is_not_known_with_the_reason(stored):
    shares = inventory_bytes.bytes_of(stored("v3-orders-rocksdb"), 1)
    assert (shares.new, shares.why_new_unknown) == (None, NOT_SAID)
    assert None in [part.new for one in shares.operators for part in one.parts]


@pytest.mark.parametrize("case", CASES)
def test_entries_lie_in_the_key_groups_that_flink_says(stored, shared_data, case):
    opened = stored(case)
    for number, expected in numbered(opened, shared_data, case):
        theirs = Counter()
        for operator in expected["operators"]:
            for name, value in keyed_values(operator):
                theirs[operator["id"], name, value["keyGroup"]] += 1
        shares = inventory_bytes.bytes_of(opened, number)
        ours = Counter()
        for operator in shares.operators:
            for state in operator.states:
                for item in state.places:
                    if item.key_group is not None and item.entries:
                        ours[operator.operator, state.name, item.key_group] += item.entries
        if theirs:
            assert {key: ours[key] for key in theirs} == theirs


def keyed_values(operator):
    """Yield the name of the state and each value of an operator's keyed state."""
    for subtask in operator["subtasks"]:
        for handle in subtask.get("managedKeyedState", ()):
            for name, state in handle.get("states", {}).items():
                for value in state["values"]:
                    yield name, value


@pytest.mark.parametrize("case", ["windows-timers", "rocksdb-incremental", "types", "rescaled"])
def test_the_keys_with_most_entries_are_those_that_flink_holds(stored, shared_data, case):
    opened = stored(case)
    for number, expected in numbered(opened, shared_data, case):
        shares = inventory_bytes.bytes_of(opened, number)
        kinds = {
            (operator.operator, state.name): state.kind
            for operator in shares.operators
            for state in operator.states
        }
        theirs = Counter()
        for operator in expected["operators"]:
            for name, value in keyed_values(operator):
                is_collection = kinds.get((operator["id"], name)) in COLLECTIONS
                size = len(value["value"]) if is_collection else 1
                theirs[operator["id"], name, json.dumps(value["key"])] += size
        most = shares.heaviest.by_entries
        ours = {(one.operator, one.state, as_json_text(one.key)): one.entries for one in most}
        assert ours
        assert {key: theirs[key] for key in ours} == ours
        assert sorted(ours.values(), reverse=True) == sorted(theirs.values(), reverse=True)[:50]


def as_json_text(text):
    return json.dumps(json.loads(text))


def test_a_window_of_many_elements_is_the_heaviest_key(stored):
    heaviest = inventory_bytes.bytes_of(stored("windows-timers"), 1).heaviest
    first = heaviest.by_entries[0]
    assert (first.state, first.entries) == ("window-contents", 10)
    assert heaviest.by_bytes[0].bytes == 133
    assert heaviest.looked_at == heaviest.entries
    assert any("have no keys" in note for note in heaviest.notes)


def require_that_maps_add_up(opened):
    """Require that each sector is at least what lies in it, and tables hold the same sums."""
    for number, item in enumerate(opened.upload["checkpoints"]):
        checkpoint = opened.checkpoint(number)
        shares = inventory_bytes.bytes_of(opened, number)
        maps = inventory_bytes.sectors(shares, 4_000, "flink")
        for name in ("stored", "entries"):
            sectors = maps[name]
            own = dict(zip(sectors["ids"], sectors["values"], strict=True))
            inside = Counter()
            for parent, size in zip(sectors["parents"], sectors["values"], strict=True):
                inside[parent] += size
            for id_, size in own.items():
                assert inside[id_] in (0, size), (name, id_)
        sizes = {one["id"]: one["bytes"] for one in checkpoint["operators"] if one["bytes"]}
        stored = dict(zip(maps["stored"]["ids"], maps["stored"]["values"], strict=True))
        assert {id_: size for id_, size in stored.items() if id_ in sizes} == sizes
        if item["bytes"] is not None and not checkpoint["problem"]:
            assert sum(sizes.values()) == item["bytes"]
        states = [one for each in checkpoint["operators"] for one in each["states"]]
        entry_bytes = sum(one["bytes"] or 0 for one in states)
        assert (shares.entry_bytes or 0) == entry_bytes
        rows = list(inventory_bytes.table(shares))
        assert sum(row[6] or 0 for row in rows if row[0] == "entries") == entry_bytes
        assert sum(row[6] or 0 for row in rows if row[0] == "stored") == sum(sizes.values())


@pytest.mark.parametrize("case", CASES)
def test_the_maps_of_flink_add_up_to_the_inventory(stored, case):
    require_that_maps_add_up(stored(case))


@pytest.mark.parametrize("case", ["window-agg-hdfs", "purged-history", "tws-value-list-map-timers"])
def test_the_maps_of_spark_add_up_to_the_inventory(spark, case):
    require_that_maps_add_up(spark(case)[0])


@pytest.mark.parametrize("case", ["synthetic-fake-to-localfile", "real-wire-vectors"])
def test_the_maps_of_seatunnel_add_up_and_all_of_it_is_new(seatunnel, case):
    opened = seatunnel(case)
    require_that_maps_add_up(opened)
    for number in range(len(opened.upload["checkpoints"])):
        shares = inventory_bytes.bytes_of(opened, number)
        for operator in shares.operators:
            assert operator.new == operator.bytes.after
            assert {part.name for part in operator.parts} <= {UNDIVIDED}


def test_of_a_spark_batch_only_its_own_delta_is_new(spark):
    opened, folder = spark("window-agg-hdfs")
    checked = 0
    for number, item in enumerate(opened.upload["checkpoints"]):
        shares = inventory_bytes.bytes_of(opened, number)
        state = folder / MAIN / "state" / "0"
        deltas = [
            path for path in state.rglob(f"{item['id'] + 1}.delta") if path.parent.name != "_"
        ]
        snapshots = list(state.rglob(f"{item['id'] + 1}.snapshot"))
        if snapshots or not deltas:
            continue
        checked += 1
        assert shares.new == sum(path.stat().st_size for path in deltas)
    assert checked > 3


def test_of_a_rocksdb_snapshot_the_tables_that_an_earlier_one_names_are_taken_over(spark):
    opened, folder = spark("window-agg-rocksdb-full")
    state = folder / MAIN / "state" / "0"
    first, second, third = (inventory_bytes.bytes_of(opened, number) for number in range(3))
    for shares, version in ((first, 1), (second, 2), (third, 3)):
        zips = sum(path.stat().st_size for path in state.rglob(f"{version}.zip"))
        assert zips
        tables = sum(path.stat().st_size for path in state.rglob("*.sst"))
        assert zips <= shares.new <= zips + tables
    assert first.new == first.bytes.after
    added = [second.new, third.new]
    assert second.new < second.bytes.after or third.new < third.bytes.after, added
    everything = sum(path.stat().st_size for path in state.rglob("*.sst"))
    zips = sum(path.stat().st_size for path in state.rglob("*.zip"))
    assert first.new + second.new + third.new == everything + zips  # each file is new once


def test_states_of_spark_that_are_not_decoded_have_no_size(spark):
    opened, _ = spark("join-inner-rocksdb-vcf", without="*.zip")
    shares = inventory_bytes.bytes_of(opened, 7)
    states = [state for operator in shares.operators for state in operator.states]
    assert [(state.bytes.after, state.entries) for state in states] == [(None, None)] * len(states)
    assert states
    assert all(state.reason for state in states)
    assert shares.entry_bytes is None
    assert (shares.heaviest.by_bytes, shares.heaviest.entries) == ((), None)
    assert shares.unknown_states == len(states)


def test_growth_is_that_of_the_previous_checkpoint_and_unknown_of_the_first(stored, shared_data):
    opened = stored("rocksdb-incremental")
    first = inventory_bytes.bytes_of(opened, 0)
    assert (first.since, first.bytes.before) == (None, None)
    assert "no earlier checkpoint" in first.why_growth_unknown
    expected = list(expected_of(shared_data, "rocksdb-incremental").values())
    before = {one["id"]: one["stateSize"] for one in expected[2]["operators"]}
    last = inventory_bytes.bytes_of(opened, 3)
    assert {one.operator: one.bytes.before for one in last.operators} == before


def test_no_entry_is_read_to_tell_whose_the_bytes_are(stored, monkeypatch):
    def refuse(*_):
        raise AssertionError("entries were read")

    monkeypatch.setattr(StoredInventory, "_rows", refuse)
    assert inventory_bytes.bytes_of(stored("types"), 1).heaviest.keys


def test_growth_is_that_within_one_job_and_one_pipeline(seatunnel, stored):
    opened = seatunnel("synthetic-two-pipelines-idle-reader")
    numbers = {}
    for number in range(len(opened.upload["checkpoints"])):
        checkpoint = opened.checkpoint(number)
        pipeline = next(fact["value"] for fact in checkpoint["facts"] if fact["name"] == "pipeline")
        earlier = numbers.setdefault(pipeline, [])
        shares = inventory_bytes.bytes_of(opened, number)
        assert shares.since == (earlier[-1] if earlier else None)
        assert (shares.why_growth_unknown is None) == bool(earlier)
        earlier.append(checkpoint["id"])
    assert len(numbers) == 2
    second_job = inventory_bytes.bytes_of(stored("rescaled"), 3)
    assert (second_job.since, second_job.bytes.before) == (None, None)


def test_an_inventory_of_an_older_release_says_that_it_did_not_weigh(shared_data, tmp_path):
    write_inventory(tmp_path, FlinkReader().read(shared_data / "flink" / "bank-aligned"))
    opened = StoredInventory(tmp_path)
    for number in range(len(opened.upload["checkpoints"])):
        (opened.folder / WEIGHTS.format(number)).unlink()
    shares = inventory_bytes.bytes_of(opened, 1)
    assert shares.heaviest.notes[0] == OLDER_RELEASE
    assert not any(state.places for one in shares.operators for state in one.states)
    assert shares.entry_bytes


def test_entries_beyond_what_is_kept_are_weighed_by_key_group_and_said_of_keys(
    shared_data, tmp_path, stored
):
    write_inventory(tmp_path, FlinkReader().read(shared_data / "flink" / "types"), most=20)
    cut, whole = (
        inventory_bytes.bytes_of(opened, 0)
        for opened in (StoredInventory(tmp_path), stored("types"))
    )
    assert cut.operators == whole.operators
    assert cut.heaviest.looked_at < cut.heaviest.entries == whole.heaviest.looked_at
