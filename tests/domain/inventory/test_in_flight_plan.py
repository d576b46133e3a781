"""Data in flight goes to the subtasks that own its records; what cannot be divided is named."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from snapshots.domain.inventory.in_flight_plan import Width, plan_in_flight
from snapshots.domain.inventory.model import INPUT_HALF, OUTPUT_HALF, WHOLE, ChannelContents
from snapshots.domain.model.key_groups import owning_subtask
from tests.effort import examples


def channels(sizes, exchange="HASH", source="map", target="sink"):
    """Return channels of these ``sizes``: {(source subtask, target subtask): bytes}."""
    return [
        ChannelContents("c", f"{source}[{i}]", f"{target}[{j}]", WHOLE, number, 1, size,
                        exchange=exchange)
        for number, ((i, j), size) in enumerate(sizes.items())
    ]  # fmt: skip


def planned(held, before, after, sender=None):
    sender = sender or Width(before, after)
    [edge] = plan_in_flight(held, {"map": sender, "sink": Width(before, after)})
    return edge


def sources(edge):
    return {one.index: set(range(one.first, one.last + 1, one.step)) for one in edge.receivers}


@settings(max_examples=examples(200), deadline=None)
@given(
    before=st.integers(1, 16),
    after=st.integers(1, 16),
    groups=st.integers(16, 300),
    sizes=st.lists(st.integers(1, 100), min_size=16, max_size=16),
)
def test_by_key_every_record_gets_to_the_new_owner_of_its_key_group(before, after, groups, sizes):
    held = {(0, j): sizes[j] for j in range(before)}
    edge = planned(channels(held), before, after)
    found = sources(edge)
    for group in range(groups):
        old = owning_subtask(group, before, groups)
        assert old in found[owning_subtask(group, after, groups)]
    for one in edge.receivers:
        assert one.bytes == sum(sizes[j] for j in found[one.index])
    assert edge.filtered is (before != after)
    if before == after:
        assert found == {j: {j} for j in range(before)}


@settings(max_examples=examples(100), deadline=None)
@given(st.integers(1, 16), st.integers(1, 16), st.sampled_from(["REBALANCE", "SHUFFLE", "GLOBAL"]))
def test_without_keys_every_channel_goes_to_one_new_subtask(before, after, exchange):
    held = {(i, j): 10 * i + j + 1 for i in range(2) for j in range(before)}
    edge = planned(channels(held, exchange), before, after)
    found = sources(edge)
    assert sorted(old for olds in found.values() for old in olds) == list(range(before))
    assert sum(one.bytes for one in edge.receivers) == edge.bytes == sum(held.values())
    if before == after:
        assert all(olds == {new} for new, olds in found.items())
    elif exchange == "GLOBAL":
        assert set(found) == {0}
    else:
        assert all(old % after == new for new, olds in found.items() for old in olds)
    assert not edge.filtered


def test_flinks_own_example_of_ranges():
    edge = planned(channels({(0, j): 1 for j in range(3)}), 3, 2)
    assert sources(edge) == {0: {0, 1}, 1: {1, 2}}


def test_with_a_custom_partitioner_every_new_subtask_reads_all_data():
    edge = planned(channels({(0, 0): 5, (0, 1): 6}, "CUSTOM"), 2, 3)
    assert sources(edge) == {new: {0, 1} for new in range(3)}
    assert [one.bytes for one in edge.receivers] == [11] * 3
    assert edge.filtered


@pytest.mark.parametrize("exchange", ["FORWARD", "RESCALE", "BROADCAST"])
def test_edges_that_cannot_be_divided_say_so(exchange):
    edge = planned(channels({(0, 0): 5}, exchange), 2, 3)
    assert edge.problem.startswith(f"5 bytes are in flight from map to sink ({exchange}).")
    assert "refuses it" in edge.problem
    assert edge.receivers == ()
    assert planned(channels({(0, 0): 5}, exchange), 2, 2).problem is None


def test_senders_send_again_what_was_still_at_them():
    held = channels({(0, 0): 5}, "REBALANCE")
    assert "sent by the same sender" in planned(held, 2, 3, Width(4, 4)).rule
    assert "i modulo 3" in planned(held, 2, 3).rule
    assert "sent by" not in planned(held, 2, 3, Width(None, 3)).rule


@pytest.mark.parametrize(
    ("channel", "after", "words"),
    [
        (ChannelContents("c", None, "sink[0]", INPUT_HALF, 0, 1, 5), 3, "not known who gets it"),
        (ChannelContents("c", "map[0]", None, OUTPUT_HALF, 0, 1, 5), 3, "not known who gets it"),
        (ChannelContents("c", None, "sink[0]", INPUT_HALF, 0, 1, 5), 2, "its own data back"),
        (ChannelContents("c", "map[0]", "sink[0]", WHOLE, 0, 1, 5), 3, "is not known"),
    ],
)
def test_where_data_goes_is_not_known_if_the_upload_does_not_say(channel, after, words):
    edge = planned([channel], 2, after)
    assert words in edge.rule
    assert (edge.receivers, edge.problem, edge.bytes) == ((), None, 5)


def test_a_receiver_whose_old_parallelism_is_not_known():
    [edge] = plan_in_flight(channels({(0, 0): 5}), {})
    assert "had is not known" in edge.rule


def test_edges_are_planned_separately():
    held = channels({(0, 0): 5}) + channels({(0, 1): 6}) + channels({(0, 0): 7}, source="other")
    width = Width(2, 3)
    edges = plan_in_flight(held, {"map": width, "other": width, "sink": width})
    assert [(edge.source, edge.channels, edge.bytes) for edge in edges] == [
        ("map", 2, 11),
        ("other", 1, 7),
    ]
