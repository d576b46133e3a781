"""A part of a snapshot has what the whole has, and counts what it leaves out."""

from dataclasses import replace

import pytest

from snapshots.domain.judging.verdicts import judge
from snapshots.domain.model.recording import Recording
from snapshots.store.excerpts import ChannelNotInSnapshot, Excerpt, _with_short_states
from snapshots.store.reader import StoredRecording
from snapshots.store.stored_snapshot import StoredSnapshot
from snapshots.store.writer import write_snapshots
from tests.builders import a_run, recorded, side_by_side, simulated
from tests.damage import lose_recorded_message
from tests.store.folders import stored
from tests.web.given import tables_of

ALL = 100


def crowded() -> Recording:
    """Return a run with much in flight, with lists that are right, wrong and missing."""
    run = a_run({"p": 1, "q": 2, "r": 3}, ("p->q", "q->p", "p->r", "r->p"))
    for number in range(9):
        run.send("p->q", f"m{number}", number).send("p->r", "same", number)
    run.send("q->p", "n1", 1).record("p", "s").record("q", "s").record("p", "t")
    run.record_channel("p->q", "s", "m1", "m0", *(f"m{number}" for number in range(2, 9)))
    return recorded(run.record_channel("q->p", "s", "n9", "n1").record("r", "s"))


RUNS = {
    "crowded": crowded(),
    "simulated": recorded(simulated()),
    "lost": recorded(lose_recorded_message(simulated()).log),
    "two scopes": recorded(side_by_side(simulated(), a_run().record("p", "s").log())),
    "derived": replace(crowded(), header_extra={"derived": True}),
}


def write_judged(opened: StoredRecording, recording: Recording) -> None:
    reports = judge(recording)
    tables = tables_of(reports, opened.manifest.snapshots, recording.topology)
    write_snapshots(opened.folder, *tables)


def filled(snapshot: StoredSnapshot) -> dict:
    return {n: item for n, item in snapshot.channels.items() if item.recorded or item.recomputed}


@pytest.mark.parametrize("recording", RUNS.values(), ids=RUNS)
def test_the_parts_of_a_snapshot_make_the_whole(recording):
    with stored(recording) as opened:
        write_judged(opened, recording)
        for name in opened.manifest.snapshots:
            whole = opened.snapshot(name)
            states, channels = {}, {}
            for first in range(0, ALL, 2):
                part = opened.excerpt(name, Excerpt(2, first_process=first, first_channel=first))
                states |= part.snapshot.states
                channels |= {
                    channel: opened.excerpt(name, Excerpt(ALL, channel=channel)).snapshot.channels[
                        channel
                    ]
                    for channel in part.snapshot.channels
                }
            assert list(states.items()) == list(whole.states.items())
            assert list(channels.items()) == list(filled(whole).items())


@pytest.mark.parametrize("recording", RUNS.values(), ids=RUNS)
def test_a_part_counts_what_it_leaves_out(recording):
    with stored(recording) as opened:
        write_judged(opened, recording)
        for name in opened.manifest.snapshots:
            whole = opened.snapshot(name)
            part = opened.excerpt(name, Excerpt(1))
            silent = [item for n, item in whole.channels.items() if n not in filled(whole)]
            assert part.processes == len(whole.states)
            assert part.filled == len(filled(whole))
            assert part.empty == sum(item.recomputed is not None for item in silent)
            assert part.unknown == sum(item.recomputed is None for item in silent)
            for channel, item in part.snapshot.channels.items():
                all_of_it = whole.channels[channel]
                assert len(item.recomputed or ()) + part.omitted.get(channel, 0) == len(
                    all_of_it.recomputed or ()
                )
                assert len(item.recorded or ()) + part.omitted_recorded.get(channel, 0) == len(
                    all_of_it.recorded or ()
                )


@pytest.mark.parametrize("recording", RUNS.values(), ids=RUNS)
def test_one_channel_is_read_in_pages(recording):
    with stored(recording) as opened:
        write_judged(opened, recording)
        for name in opened.manifest.snapshots:
            for channel, whole in opened.snapshot(name).channels.items():
                pages = [
                    opened.excerpt(name, Excerpt(2, channel=channel, first_message=first))
                    for first in range(0, 20, 2)
                ]
                found = [page.snapshot.channels[channel] for page in pages]
                assert [page.snapshot.states for page in pages] == [{}] * 10
                for side in ("recorded", "recomputed", "sent"):
                    sides = [getattr(item, side) for item in found]
                    expected = getattr(whole, side)
                    if expected is None:
                        assert sides == [None] * 10
                    else:
                        assert sum(sides, ()) == expected


def test_a_channel_of_another_scope_is_not_in_a_snapshot():
    recording = RUNS["two scopes"]
    with stored(recording) as opened:
        write_judged(opened, recording)
        with pytest.raises(ChannelNotInSnapshot, match="2 p->q"):
            opened.excerpt("1 s1", Excerpt(1, channel="2 p->q"))


def test_many_channels_share_the_messages_of_an_answer():
    assert Excerpt(10).most_messages(10) == 4
    assert Excerpt(10).most_messages(1) == 40
    assert Excerpt(10, channel="c").most_messages(1) == 10
    assert Excerpt(1).most_messages(0) == 4


def test_equal_states_stay_equal_when_only_one_side_is_too_long():
    rows = [
        {"recorded": f'"{place:03}{"x" * 4_900}"', "recomputed": f'"{place:03}{"x" * 4_900}"'}
        for place in range(101)
    ]
    rows.append({"recorded": f'"{"y" * 10_000}"', "recomputed": '"y"'})
    shown = _with_short_states(rows)
    assert all(row["recorded"] == row["recomputed"] for row in shown[:-1])
    assert shown[-1]["recorded"] != shown[-1]["recomputed"]
