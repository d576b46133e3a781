"""How a snapshot spreads in the store equals how it spreads by the domain's rules."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from snapshots.domain.judging.channel_counts import ChannelCounts, Contents, counts
from snapshots.domain.judging.cuts import Cut, has_arrived, received_index
from snapshots.domain.judging.snapshot_log import SnapshotLog, snapshot_logs
from snapshots.domain.judging.spreading import (
    COMPLETE,
    NOT_BEGUN,
    marker_tells,
    progress_at,
    spread_at,
)
from snapshots.domain.model.recording import Recording
from snapshots.domain.model.topology import Channel
from snapshots.store.reader import StoredRecording
from tests.builders import a_run, correct_runs, recorded, runs
from tests.domain.judging.edges import EDGES
from tests.domain.judging.restored import RESTORED
from tests.effort import examples
from tests.store.folders import stored

NOT_FIFO = (
    "Not known: Markers or messages overtake others there, so a marker does not say what is noted."
)


def assert_spreads(recording: Recording, opened: StoredRecording, log: SnapshotLog, at: int):
    names = [process.id for process in opened.topology.processes]
    channels = [channel.id for channel in opened.topology.channels]
    positions = opened.positions_at(at=at)
    cut = Cut(dict(zip(names, positions.tolist(), strict=True)))
    expected = spread_at(recording, log, opened.scope(log.id), cut)
    spreading = opened.spreading(log.id)
    recorded_now, opened_now, locked_now = (
        np.flatnonzero(test(positions)).tolist()
        for test in (spreading.has_recorded, spreading.opened, spreading.locked)
    )
    assert [names[code] for code in recorded_now] == list(expected.recorded)
    assert {channels[code] for code in opened_now} == set(expected.channels)
    locked = {name for name, noted in expected.channels.items() if noted.is_locked}
    assert {channels[code] for code in locked_now} == locked
    progress = progress_at(opened.scope(log.id), log, expected)
    assert progress.phase() == expected.phase
    unlocked = spreading.opened(positions) & ~spreading.locked(positions)
    has_recorded = spreading.has_recorded(positions)
    assert spreading.progress(has_recorded, unlocked).said() == progress.said()
    done = {names[code] for code in np.flatnonzero(spreading.is_done(positions))}
    open_at = {
        opened.topology.channel_by_id[name].target for name in set(expected.channels) - locked
    }
    assert done == set(expected.recorded) - open_at
    begins, completes = spreading.bounds("time")
    assert (begins is None or at < begins) == (expected.phase == NOT_BEGUN)
    assert (completes is not None and completes <= at) == (expected.phase == COMPLETE)
    not_told = {channels[code] for code in spreading.not_told[0]} & set(expected.channels)
    assert not any(marker_tells(opened.topology.channel_by_id[name]) for name in not_told)
    codes, ordinals = spreading.noted(positions)
    noted = [(name, m.ordinal) for name in channels if name in expected.channels
             for m in expected.channels[name].messages]  # fmt: skip
    assert [
        (channels[c], n) for c, n in zip(codes.tolist(), ordinals.tolist(), strict=True)
    ] == noted


@settings(max_examples=examples(20), deadline=None)
@given(log=runs(max_processes=6), data=st.data())
def test_any_snapshot_spreads_as_by_the_rules(log, data):
    recording = recorded(log)
    with stored(recording, scattered=1) as opened:
        extent = opened.manifest.extent
        for each in snapshot_logs(recording):
            for _ in range(3):
                at = data.draw(st.integers(extent.from_, extent.to))
                assert_spreads(recording, opened, each, at)


@pytest.mark.parametrize("make", [*RESTORED, *EDGES], ids=lambda make: make.__name__)
def test_snapshots_at_the_edges_and_behind_restores_spread_as_by_the_rules(make):
    recording = recorded(make())
    with stored(recording) as opened:
        extent = opened.manifest.extent
        for each in snapshot_logs(recording):
            for at in range(extent.from_, extent.to + 1, max((extent.to - extent.from_) // 40, 1)):
                assert_spreads(recording, opened, each, at)


def test_what_overtook_another_is_noted_before_it():
    run = a_run(fifo=False).send("p->q", "m1", 1).send("p->q", "m2", 2)
    run.record("p", "s").send_marker("p->q", "s").record("q", "s").send_marker("q->p", "s")
    run.receive("p->q", "m2").receive("p->q", "m1").receive_marker("p->q", "s")
    recording = recorded(run.receive_marker("q->p", "s"))
    with stored(recording) as opened:
        positions = opened.tables.events.length
        assert opened.spreading("s").noted(positions)[1].tolist() == [1, 0]


def recorded_counts(recording: Recording, log: SnapshotLog, channel: Channel) -> ChannelCounts:
    """Count the messages of a channel of a snapshot, and compare with what it recorded."""
    messages = recording.messages.get(channel.id, ())
    source, target = log.positions[channel.source], log.positions[channel.target]
    ordinals = {message.id: message.ordinal for message in messages}
    return counts(
        channel.id,
        Contents(
            sum(message.sent_index < source for message in messages),
            sum(has_arrived(m) and received_index(m) < target for m in messages),
            [ordinals[name] for name in log.channels[channel.id].messages or ()],
        ),
    )


@settings(max_examples=examples(20), deadline=None)
@given(log=correct_runs(max_processes=6))
def test_the_counts_so_far_end_as_what_the_snapshot_recorded(log):
    recording = recorded(log)
    with stored(recording) as opened:
        positions, channels = opened.tables.events.length, opened.topology.channels
        ends = positions[opened.tables.source], positions[opened.tables.target]
        for each in snapshot_logs(recording):
            said = opened.spreading(each.id).counts(opened.tables.all_channels, *ends)
            for text, channel in zip(said, channels, strict=True):
                if not {channel.source, channel.target} <= each.positions.keys():
                    assert text.startswith("Not known: The log has no marker of ")
                    continue
                if not marker_tells(channel):
                    assert text == NOT_FIFO
                    continue
                row = recorded_counts(recording, each, channel)
                assert row.holds
                assert f"n = {row.n:,}, " in text
                assert f"m = {row.m:,}, " in text
                assert "hold so far." in text
                if row.n_of_channel is not None:
                    assert f"n' = {row.n_of_channel:,}, " in text
                    assert f"m' = {row.m_of_channel:,}:" in text


def test_a_message_between_record_and_marker_breaks_an_equation_from_then_on():
    run = a_run().record("p", "s").send("p->q", "m1", 1).send_marker("p->q", "s")
    recording = recorded(run.receive("p->q", "m1").receive_marker("p->q", "s").record("q", "s"))
    with stored(recording) as opened:
        said = [
            opened.spreading("s").counts(np.array([0]), np.array([p]), np.array([q]))[0]
            for p, q in ((1, 0), (2, 0), (3, 1))
        ]
    assert said == [
        "n = 0, n' = 0, m = 0, m' = 0: n = n', m = m', n' >= m', n >= m hold so far.",
        "n = 0, n' = 1, m = 0, m' = 0: n = n' is broken.",
        "n = 0, n' = 1, m = 1, m' = 1: n = n', n >= m are broken.",
    ]
