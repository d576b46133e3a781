"""How the processes of a topology stand in its picture."""

import numpy as np
import pytest

from snapshots.domain.model.arrangement import (
    MOST_DRAWN,
    arranged,
    group_of,
    most_linked,
    places_of,
)
from snapshots.domain.model.topology import Channel, Process, Topology


def a_topology(processes: list[str], pairs: list[tuple[str, str]]) -> Topology:
    channels = tuple(Channel(f"{a}->{b}", a, b, fifo=True) for a, b in pairs)
    return Topology(tuple(map(Process, processes)), channels)


@pytest.mark.parametrize(
    ("count", "links"),
    [(1, []), (2, [(0, 1)]), (12, [(0, 1), (1, 2), (3, 4), (5, 6), (7, 7)]), (50, []), (0, [])],
)
def test_places_are_always_the_same_inside_the_unit_square_and_no_two_on_one_spot(count, links):
    places = places_of(count, links)
    assert np.array_equal(places, places_of(count, links))
    assert places.shape == (count, 2)
    assert ((places >= 0) & (places <= 1)).all()
    assert len({(round(x, 3), round(y, 3)) for x, y in places.tolist()}) == count


def test_processes_that_a_channel_joins_come_nearer_to_each_other():
    places = places_of(12, [(0, 6)])
    distances = np.hypot(*(places[:, None] - places[None]).T)
    assert distances[0, 6] < np.sort(distances[0])[5]


def test_of_too_many_processes_those_with_most_channels_are_drawn():
    drawn = most_linked(100, [(99, 98), (99, 97)])
    assert len(drawn) == MOST_DRAWN
    assert drawn[-3:] == [97, 98, 99]
    assert drawn[:3] == [0, 1, 2]
    assert most_linked(3, []) == [0, 1, 2]


@pytest.mark.parametrize(
    ("name", "group"),
    [
        ("map[0]", "map"),
        ("node-3", "node"),
        ("node3", "node"),
        ("A", "A"),
        ("12", "12"),
        ("è7", "è"),
        ("a[1][2]", "a[1]"),
    ],
)
def test_processes_are_grouped_as_the_lanes_are(name, group):
    assert group_of(name) == group


def test_operators_stand_in_layers_and_the_one_without_channels_alone():
    found = arranged(
        a_topology(["a[0]", "a[1]", "b[0]", "c"], [("a[0]", "b[0]"), ("a[1]", "b[0]")])
    )
    assert [(each.name, each.members) for each in found.operators] == [
        ("a", [0, 1]),
        ("b", [2]),
        ("c", [3]),
    ]
    assert [[[item.key for item in row] for row in band] for band in found.bands] == [
        [[" a"], [" b"]]
    ]
    assert found.alone == [" c"]
    assert not found.is_guessed


def test_members_that_send_to_each_other_are_layered_one_by_one_if_they_are_few():
    chain = a_topology(["p1", "p2", "p3"], [("p1", "p2"), ("p2", "p3")])
    assert [len(each.members) for each in arranged(chain).operators] == [1, 1, 1]


def test_a_cycle_stands_on_a_ring():
    found = arranged(a_topology(["x", "y"], [("x", "y"), ("y", "x")]))
    assert (found.operators, found.drawn, len(found.places)) == ([], [0, 1], 2)
