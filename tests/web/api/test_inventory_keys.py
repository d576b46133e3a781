"""Differences of real checkpoints lead down to keys, values and channels, older before newer."""

import json

import orjson
import pytest

from snapshots.answers import inventory_difference
from snapshots.domain.inventory.model import TIMERS
from snapshots.problems import Refused
from snapshots.store.inventory import differences
from snapshots.store.inventory.differences import Wanted
from tests.web.api.test_inventory_difference import CASES, OF_OPERATOR, keys_by_flink, pairs

PAGE = 3  # keys; so small that every case has several pages


def all_keys(opened, before, after, operator, state, kind):
    """Return the items of all pages, and the total that each page says."""
    items, offset = [], 0
    while True:
        wanted = Wanted(kind, offset, PAGE)
        page = inventory_difference.keys(opened, before, after, operator, state, wanted)
        assert page["total"] == page["counts"][kind]
        items += page["items"]
        offset += PAGE
        if offset >= page["total"]:
            return items


def loaded(fragment):
    return None if fragment is None else orjson.loads(orjson.dumps(fragment))


def name_of(item):
    """Return the key and the namespace of an item as Flink's expected answer has them."""
    entry = item["after"] or item["before"]
    return json.dumps([loaded(entry["key"]), loaded(entry["namespace"])])


def value_of(entry):
    return None if entry is None else json.dumps(loaded(entry["value"]), sort_keys=True)


@pytest.mark.parametrize("case", CASES)
def test_every_count_leads_to_its_keys_with_the_values_that_flink_read(stored, shared_data, case):
    opened, compared = stored(case), 0
    listed = opened.upload["checkpoints"]
    for before, after in pairs(opened):
        change = inventory_difference.difference(opened, before, after)
        one, other = (keys_by_flink(shared_data, case, listed[n]["id"]) for n in (before, after))
        for operator in change["operators"]:
            for state in operator["states"]:
                place = operator["operator"], state["name"]
                if state["kind"] in (*OF_OPERATOR, TIMERS):
                    continue
                old, new = one.get(place, {}), other.get(place, {})
                expected = {
                    "added": new.keys() - old.keys(),
                    "removed": old.keys() - new.keys(),
                    "changed": {key for key in old.keys() & new.keys() if old[key] != new[key]},
                }
                for kind, keys in expected.items():
                    items = all_keys(opened, before, after, *place, kind)
                    assert {name_of(item) for item in items} == keys
                    for item in items:
                        key = name_of(item)
                        assert value_of(item["before"]) == old.get(key)
                        assert value_of(item["after"]) == new.get(key)
                        compared += 1
    assert compared > 10


def test_the_older_checkpoint_comes_first_whatever_the_order(stored):
    opened = stored("rocksdb-incremental")
    change = inventory_difference.difference(opened, 2, 0)
    assert change == inventory_difference.difference(opened, 0, 2)
    assert (change["before"], change["after"]) == (1, 3)
    operator = next(one for one in change["operators"] if one["name"] == "enrich")
    place = (operator["operator"], "orderCount", Wanted("changed"))
    page = inventory_difference.keys(opened, 2, 0, *place)
    assert (page["before"], page["after"]) == (0, 2)
    for item in page["items"]:
        assert int(value_of(item["before"])) < int(value_of(item["after"]))


def test_checkpoints_of_two_jobs_are_in_the_order_of_their_times(stored):
    opened = stored("rescaled")
    listed = opened.upload["checkpoints"]
    changed = [
        {**one, "job": str(number), "triggered_at": 100 - number}
        for number, one in enumerate(listed)
    ]
    assert inventory_difference.older_first(changed, 0, 1) == (1, 0)
    assert inventory_difference.older_first(listed, 3, 2) == (2, 3)


def test_a_text_finds_keys_and_the_counts_are_of_these(stored):
    opened = stored("rocksdb-incremental")
    change = inventory_difference.difference(opened, 2, 3)
    operator = next(one for one in change["operators"] if one["name"] == "enrich")["operator"]
    wanted = Wanted("changed", containing='"c1')
    page = inventory_difference.keys(opened, 2, 3, operator, "amountByProduct", wanted)
    keys = {loaded(item["after"]["key"]) for item in page["items"]}
    assert keys == {"c10", "c11"}
    assert sum(page["counts"].values()) == page["total"] == 2


def test_of_too_many_entries_only_the_first_key_groups_are_compared(
    stored, shared_data, monkeypatch
):
    opened = stored("rocksdb-incremental")
    change = inventory_difference.difference(opened, 2, 3)
    operator = next(one for one in change["operators"] if one["name"] == "enrich")["operator"]
    monkeypatch.setattr(differences, "MOST_COMPARED", 10)
    page = inventory_difference.keys(opened, 2, 3, operator, "orderCount", Wanted("changed"))
    looked_at = sum(page["counts"].values())
    assert 0 < looked_at <= 5
    [note] = page["notes"]
    assert f": {2 * looked_at} of 24 in both." in note
    groups = {item["after"]["key_group"] for item in page["items"]}
    last = int(note.split(" are compared")[0].rpartition(" ")[2])
    expected = json.loads((shared_data / "flink/rocksdb-incremental/expected.json").read_text())[
        "snapshots"
    ][3]
    theirs = [
        value["keyGroup"]
        for one in expected["flink"]["operators"]
        if one["id"] == operator
        for subtask in one["subtasks"]
        for handle in subtask["managedKeyedState"]
        for value in handle["states"]["orderCount"]["values"]
    ]
    assert groups == {group for group in theirs if group <= last}
    assert looked_at == sum(group <= last for group in theirs)


def test_too_many_entries_without_key_groups_are_refused(stored, monkeypatch):
    opened = stored("bank-aligned")
    operator = next(
        one for one in opened.checkpoint(0)["operators"] if "requests" in (one["name"] or "")
    )
    monkeypatch.setattr(differences, "MOST_COMPARED", 1)
    with pytest.raises(Refused, match="too many to compare"):
        inventory_difference.compare(opened, 0, 1, operator["id"], "SourceReaderState")


@pytest.mark.parametrize("case", ["bank-unaligned", "unaligned-orders"])
def test_data_in_flight_by_channel_is_what_flink_recorded(stored, shared_data, case):
    expected = json.loads((shared_data / "flink" / case / "expected.json").read_text())
    sides = [by_channel(snapshot["flink"]) for snapshot in expected["snapshots"]]
    change = inventory_difference.difference(stored(case), 0, 1)
    ours = {}
    for channel in change["in_channels"]:
        ends = (channel["source"], channel["target"])
        assert channel["part"] == "whole"
        for side, name in enumerate(("before", "after")):
            sizes = (channel["bytes"][name], channel["elements"][name])
            ours.setdefault(side, []).append((ends_of(*ends), sizes))
            assert channel["number"][name] is not None or sizes == (0, 0)
    for side, theirs in enumerate(sides):
        assert sorted(one for one in ours[side] if one[1][0]) == theirs
    kinds = {channel["change"] for channel in change["in_channels"]}
    assert kinds <= {"added", "removed", "changed", "same"}
    totals = [snapshot["inFlight"]["bytes"] for snapshot in expected["snapshots"]]
    assert [change["in_flight"][name] for name in ("before", "after")] == totals


def ends_of(source, target):
    return f"{source.rpartition('[')[2][:-1]}->{target.rpartition('[')[2][:-1]}"


def by_channel(flink):
    """Return the channel, bytes and elements wherever there is data, in order."""
    found = []
    for edge in flink["inFlightRecords"]:
        for channel in edge["channels"]:
            size = channel["inputBytes"] + channel["outputBytes"]
            if size:
                found.append((channel["channel"], (size, channel["elements"])))
    return sorted(found)


def test_what_was_in_flight_is_not_known_of_a_failed_checkpoint(stored):
    change = inventory_difference.difference(stored("failures"), 2, 3)
    assert change["in_flight"]["before"] is None
    assert change["channels"]["before"] is None
