"""Binary searches over many runs at once find what a search of each run finds."""

from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from snapshots.domain.assembling.matching import overtaken
from snapshots.store import parts
from snapshots.store.flights import reach_and_disorder
from snapshots.store.layout import (
    CHANNEL_COLUMNS,
    CHANNELS,
    IN_FLIGHT,
    MESSAGE_COLUMNS,
    NONE,
    PROCESS_COLUMNS,
    PROCESSES,
)
from snapshots.store.manifest import Extent, Manifest
from snapshots.store.mapped import ragged
from snapshots.store.outlines import FENCE
from snapshots.store.tables import Tables
from snapshots.store.writer import finish
from tests.effort import examples

if TYPE_CHECKING:
    from pathlib import Path

ARRIVALS = st.lists(
    st.permutations(range(12)).flatmap(
        lambda p: st.integers(0, 12).map(
            lambda lost: [NONE if index < lost // 2 else index for index in p]
        )
    ),
    max_size=4,
)


def columns(arrivals: list[list[int]]) -> tuple[np.ndarray, np.ndarray]:
    channel = np.repeat(np.arange(len(arrivals), dtype=np.int32), [len(a) for a in arrivals])
    return channel, np.array([index for run in arrivals for index in run], np.int64)


@settings(max_examples=examples(50), deadline=None)
@given(ARRIVALS)
def test_reach_and_disorder_follow_from_the_arrivals_of_every_channel(arrivals):
    channel, received = columns(arrivals)
    reach, disorder = reach_and_disorder(channel, received)
    for code, run in enumerate(arrivals):
        arrived = [index for index in run if index != NONE]
        last = max((n for n, index in enumerate(run) if index != NONE), default=-1)
        expected = [IN_FLIGHT if n > last else max([NONE, *run[: n + 1]]) for n in range(len(run))]
        assert reach[channel == code].tolist() == expected
        in_order = arrived == sorted(arrived) and NONE not in run[: last + 1]
        rows = disorder.channel == code
        assert rows.sum() == (0 if in_order else len(run))
        if not in_order:
            pads = [IN_FLIGHT] * (len(run) - len(arrived))
            assert disorder.received_sorted[rows].tolist() == sorted(arrived) + pads
            lost = [n for n, index in enumerate(run) if index == NONE]
            assert disorder.lost[rows].tolist() == lost + [IN_FLIGHT] * len(arrived)
            late = [IN_FLIGHT if index == NONE else index for index in run]
            floor = [min(late[n:]) for n in range(len(run))]
            assert disorder.received_floor[rows].tolist() == floor


@settings(max_examples=examples(50), deadline=None)
@given(ARRIVALS)
def test_a_channel_is_in_disorder_iff_something_on_it_was_overtaken(arrivals):
    channel, received = columns(arrivals)
    _, disorder = reach_and_disorder(channel, received)
    for code, run in enumerate(arrivals):
        indices = np.array([IN_FLIGHT if index == NONE else index for index in run])
        assert (code in disorder.channel) == overtaken(indices).any()


def test_a_store_without_messages_has_no_reach():
    reach, disorder = reach_and_disorder(np.zeros(0, np.int32), np.zeros(0, np.int64))
    assert len(reach) == len(disorder.lost) == 0


@pytest.fixture(scope="module")
def long_runs(tmp_path_factory) -> tuple[Tables, list[np.ndarray]]:
    """Channels of 0 to 1,000 messages around the size of a block, in two parts."""
    folder: Path = tmp_path_factory.mktemp("long")
    chance = np.random.default_rng(5)
    lengths = [0, 1, FENCE - 1, FENCE, FENCE + 1, 3 * FENCE, 1_000, 0, 700]
    sent = [np.sort(chance.choice(5_000, length, replace=False)) for length in lengths]
    written = []
    for codes in ((1, 3, 6), (2, 4, 5, 8)):
        written += parts.write_messages(folder, _messages({code: sent[code] for code in codes}))
    states = pa.table(
        {name: [None, None] for name in PROCESS_COLUMNS.names} | {"id": ["p", "q"]}, PROCESS_COLUMNS
    )
    count = len(lengths)
    channels = {
        "id": [f"c{code}" for code in range(count)],
        "source": [0] * count,
        "target": [1] * count,
        "fifo": [True] * count,
        "overtaking": [False] * count,
    }
    parts.write_table(folder / PROCESSES, states, PROCESS_COLUMNS)
    parts.write_table(folder / CHANNELS, pa.table(channels, CHANNEL_COLUMNS), CHANNEL_COLUMNS)
    counts = dict.fromkeys(
        ("events", "messages", "markers", "processes", "channels", "snapshots", "defects"), 0
    )
    manifest = Manifest("long", "us", "cutline", (), (), counts, Extent(0, 0, 0), tuple(written))
    return Tables(folder, finish(folder, manifest)), sent


def _messages(sent: dict[int, np.ndarray]) -> pa.Table:
    codes = np.repeat(list(sent), [len(run) for run in sent.values()])
    indices = np.concatenate(list(sent.values()))
    nothing = pa.nulls(len(codes), pa.int64())
    return pa.table(
        {
            "channel": pa.array(codes, pa.int32()),
            "sent_index": indices,
            "received_index": nothing,
            "sent_at": indices,
            "received_at": nothing,
            "message": pa.array(map(str, indices), pa.large_string()),
            "value": pa.nulls(len(codes), pa.large_string()),
        }
    ).select([name for name in MESSAGE_COLUMNS.names if name != "received_reach"])


def test_a_search_of_all_runs_finds_what_a_search_of_each_run_finds(long_runs):
    tables, sent = long_runs
    chance = np.random.default_rng(6)
    for _ in range(200):
        targets = chance.integers(-10, 5_010, len(sent))
        expected = [np.searchsorted(run, target) for run, target in zip(sent, targets, strict=True)]
        assert tables.messages.table.bisect("sent_index", targets).tolist() == expected


def test_chosen_runs_may_be_searched_in_any_order_and_twice(long_runs):
    tables, sent = long_runs
    codes = np.array([6, 0, 8, 6, 2])
    targets = np.array([4_000, 1, 2_500, 10, 2_500])
    expected = [np.searchsorted(sent[code], at) for code, at in zip(codes, targets, strict=True)]
    assert tables.messages.table.bisect_in("sent_index", codes, targets).tolist() == expected


def test_values_and_texts_have_the_order_of_the_chosen_rows(long_runs):
    tables, sent = long_runs
    codes, offsets = np.array([8, 1, 6, 8]), np.array([699, 0, 500, 3])
    picked = tables.messages.table.pick(codes, offsets)
    expected = [int(sent[code][offset]) for code, offset in zip(codes, offsets, strict=True)]
    assert picked.values("sent_index").tolist() == expected
    assert picked.texts("message") == [str(index) for index in expected]
    assert picked.values("received_index").tolist() == [NONE] * 4


def test_ragged_ranges_leave_out_empty_ones():
    codes, offsets = ragged(np.array([4, 5, 6, 7]), np.array([2, 9, 3, 0]), np.array([4, 9, 1, 1]))
    assert codes.tolist() == [4, 4, 7]
    assert offsets.tolist() == [2, 3, 0]
