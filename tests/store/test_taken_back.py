"""What restores took back is told apart from what was received, without reading whole channels."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from snapshots.growing.tables import ViewedPart, ViewedTable
from snapshots.store import in_flight
from snapshots.store.flights import reach_and_disorder
from snapshots.store.in_flight import Flights
from snapshots.store.layout import IN_FLIGHT, NONE
from snapshots.store.restores import TakenBack
from tests.effort import examples


class CountedPart(ViewedPart):
    """A part that counts the rows that are read."""

    rows_read = 0

    def numbers(self, name, rows):
        values = super().numbers(name, rows)
        self.rows_read += len(values)
        return values


def flights_of(channels: list[list[int]], restores: list[int]) -> tuple[Flights, CountedPart]:
    """Return flights on channels to one process, from where each ends, or NONE."""
    lengths = np.array([len(ends) for ends in channels])
    codes = np.repeat(np.arange(len(channels)), lengths).astype(np.int32)
    ends = np.array([end for own in channels for end in own], np.int64)
    reach, disorder = reach_and_disorder(codes, ends)
    begins = np.cumsum(lengths) - lengths
    columns = {"received_index": ends, "received_reach": reach}
    part = CountedPart(list(columns), columns, begins, lengths)
    counts = np.bincount(disorder.channel, minlength=len(channels))
    others = {name: getattr(disorder, name) for name in ("received_sorted", "received_floor")}
    unordered = CountedPart(list(others), others, np.cumsum(counts) - counts, counts)
    taken_back = TakenBack(np.zeros(len(channels), np.int64), {0: np.array(restores)})
    tables = ViewedTable("messages", part), ViewedTable("disorder", unordered)
    return Flights(*tables, taken_back), part


def received(ends: list[int], restores: list[int]) -> list[int]:
    """Return where each flight is received, and IN_FLIGHT if it is not."""
    return [IN_FLIGHT if end == NONE or end in restores else end for end in ends]


@st.composite
def histories(draw) -> tuple[list[list[int]], list[int]]:
    """Draw where the flights of some channels end: each at an event of its own, or at a restore."""
    restores = sorted(draw(st.sets(st.integers(0, 40), min_size=1, max_size=4)))
    receives = [index for index in range(41) if index not in restores]
    channels: list[list[int]] = []
    for _ in range(draw(st.integers(1, 3))):
        own = draw(st.lists(st.sampled_from(receives), unique=True, max_size=14))
        taken = draw(st.lists(st.sampled_from([*restores, NONE]), max_size=8))
        ends = draw(st.permutations([*own, *taken]))
        is_ordered = draw(st.booleans())
        channels.append(sorted(ends, key=lambda end: (end == NONE, end)) if is_ordered else ends)
    return channels, restores


@pytest.mark.parametrize("most", [1, 3, 2**18])
@settings(max_examples=examples(60), deadline=None)
@given(history=histories(), position=st.integers(0, 41))
def test_the_first_and_the_last_receives_are_those_that_a_look_at_all_finds(
    history, position, most
):
    channels, restores = history
    flights, _ = flights_of(channels, restores)
    lengths = [len(own) for own in channels]
    codes, ordinals = (
        np.repeat(np.arange(len(channels)), lengths),
        np.concatenate([np.arange(length) for length in lengths]),
    )
    whole = [received(ends, restores) for ends in channels]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(in_flight, "_MOST_ROWS", most)
        first = flights.first_received(codes, ordinals)
        ends = flights.end_of_received(np.arange(len(channels)), np.full(len(channels), position))
    assert first.tolist() == [min(own[o:]) for own in whole for o in range(len(own))]
    assert ends.tolist() == [
        max((o + 1 for o, end in enumerate(own) if end < position), default=0) for own in whole
    ]


@pytest.mark.parametrize("is_ordered", [True, False])
def test_a_long_channel_is_read_only_where_a_restore_took_something_back(is_ordered):
    count, restore = 200_000, 150_000
    ends = list(range(restore)) + [restore] * 300 + list(range(restore + 1, count))
    if not is_ordered:
        ends[10], ends[11] = ends[11], ends[10]
        ends[restore + 5], ends[restore + 310] = ends[restore + 310], ends[restore + 5]
    flights, part = flights_of([ends], [restore])
    code, around = np.array([0]), [restore - 1, restore, restore + 1, restore + 2, count - 1]
    for position in around:
        whole = received(ends, [restore])
        found = flights.end_of_received(code, np.array([position]))
        assert found[0] == max(o + 1 for o, end in enumerate(whole) if end < position)
        assert flights.first_received(code, np.array([position]))[0] == min(whole[position:])
    assert part.rows_read < 10 * 300 * len(around)
