"""The results of the snapshots job are read back, beside positions from the log."""

import json
from dataclasses import replace

import pyarrow as pa
import pytest

from snapshots.domain.model.recording import RESTORE, LoggedEvent
from snapshots.domain.model.topology import ProcessId
from snapshots.domain.simulators.script import Log
from snapshots.store.errors import StoreDamaged
from snapshots.store.layout import (
    NONE,
    SNAPSHOT_CHANNEL_COLUMNS,
    SNAPSHOT_PLACES,
    SNAPSHOT_PLACES_COLUMNS,
    SNAPSHOT_STATE_COLUMNS,
    SNAPSHOTS,
)
from snapshots.store.parts import write_table
from snapshots.store.writer import write_snapshots
from tests.builders import a_run, recorded, side_by_side, simulated
from tests.store.folders import stored


def two_banks():
    """Return a run in which p records s before m2 arrives, and q never records t."""
    run = a_run()
    run.send("q->p", "m1", value=1).send("q->p", "m2", value=2)
    run.receive("q->p", "m1").record("p", "s").record("q", "s").receive("q->p", "m2")
    run.record_channel("q->p", "s", "m2").record("p", "t")
    return recorded(run)


STATES = pa.table(
    {
        "snapshot": [1, 1, 0, 0],
        "process": [1, 0, 1, 0],
        "position": [NONE, 4, 2, 1],
        "recorded_at": [None, 800, 500, 400],
        "recorded": [None, "10", "5", "10"],
        "recomputed": [None, "10", None, "10"],
    },
    SNAPSHOT_STATE_COLUMNS,
)
CHANNELS = pa.table(
    {"snapshot": [0], "channel": [1], "recorded": [["m1", "m2", "m9"]], "recomputed": [[1]]},
    SNAPSHOT_CHANNEL_COLUMNS,
)
SUMMARIES = [{"snapshot": "s", "verdict": "duplicated"}, {"snapshot": "t", "verdict": "unknown"}]


def test_before_the_snapshots_job_there_is_nothing_to_read():
    with stored(two_banks()) as opened:
        assert opened.snapshots() == []
        with pytest.raises(KeyError):
            opened.snapshot("s")


def test_a_snapshot_comes_back_with_what_was_recorded_and_what_is_recomputed():
    with stored(two_banks()) as opened:
        write_snapshots(opened.folder, SUMMARIES, STATES, CHANNELS)
        assert opened.snapshots() == SUMMARIES
        snapshot = opened.snapshot("s")
        assert snapshot.summary["verdict"] == "duplicated"
        assert snapshot.states["p"].recorded == "10"
        assert (snapshot.states["q"].position, snapshot.states["q"].recomputed) == (2, None)
        channel = snapshot.channels["q->p"]
        assert channel.recorded == ("m1", "m2", "m9")
        assert [message.id for message in channel.recomputed] == ["m2"]
        assert [message and message.value for message in channel.sent] == ["1", "2", None]


ODD = [{"snapshot": "s", "verdict": "ü, \u2028 [🙂]"}, *SUMMARIES[1:]]


@pytest.mark.parametrize("summary", ODD, ids=lambda summary: summary["snapshot"])
def test_one_snapshot_is_read_without_the_others(summary):
    with stored(two_banks()) as opened:
        write_snapshots(opened.folder, ODD, STATES, CHANNELS)
        assert opened.snapshots() == ODD
        own = json.dumps(summary, ensure_ascii=False).encode()
        before, after = (opened.folder / SNAPSHOTS).read_bytes().split(own)
        (opened.folder / SNAPSHOTS).write_bytes(b"?" * len(before) + own + b"?" * len(after))
        assert opened.snapshot(summary["snapshot"]).summary == summary


def test_an_older_store_without_places_of_summaries_is_read():
    with stored(two_banks()) as opened:
        write_snapshots(opened.folder, SUMMARIES, STATES, CHANNELS)
        (opened.folder / SNAPSHOT_PLACES).unlink()
        assert opened.snapshot("t").summary == SUMMARIES[1]


@pytest.mark.parametrize(
    "summaries",
    [
        [*SUMMARIES, {"snapshot": "u", "verdict": "orphan"}],
        SUMMARIES[::-1],
        [{"snapshot": "t", "verdict": "duplicated"}, {"snapshot": "s", "verdict": "unknown"}],
        [{"snapshot": "s"}, {"snapshot": "t"}],
    ],
    ids=["more", "in another order", "of the same lengths", "shorter"],
)
def test_summaries_that_were_replaced_are_read_as_they_are(summaries):
    with stored(two_banks()) as opened:
        write_snapshots(opened.folder, SUMMARIES, STATES, CHANNELS)
        (opened.folder / SNAPSHOTS).write_text(json.dumps(summaries))
        [own] = [summary for summary in summaries if summary["snapshot"] == "t"]
        assert opened.snapshot("t").summary == own


@pytest.mark.parametrize(("begin", "end"), [(-5, 3), (3, -5), (2**62, 2**63 - 1), (1, 2**62)])
def test_places_beyond_the_file_are_not_followed(begin, end):
    with stored(two_banks()) as opened:
        write_snapshots(opened.folder, SUMMARIES, STATES, CHANNELS)
        places = pa.table([["t"], [begin], [end]], SNAPSHOT_PLACES_COLUMNS.names)
        write_table(opened.folder / SNAPSHOT_PLACES, places, SNAPSHOT_PLACES_COLUMNS)
        assert opened.snapshot("t").summary == SUMMARIES[1]


def test_damaged_places_of_summaries_are_named():
    with stored(two_banks()) as opened:
        write_snapshots(opened.folder, SUMMARIES, STATES, CHANNELS)
        (opened.folder / SNAPSHOT_PLACES).write_bytes(b"not what it was" * 100)
        with pytest.raises(StoreDamaged) as caught:
            opened.snapshot("t")
        assert caught.value.where == SNAPSHOT_PLACES


def test_an_entry_that_is_not_in_flight_stands_for_the_first_message_with_its_id():
    run = a_run().send("p->q", "m", 1).send("p->q", "m", 2).receive("p->q", "m")
    run = (
        run.receive("p->q", "m").record("p", "s").record("q", "s").record_channel("p->q", "s", "m")
    )
    rows = {"snapshot": [0], "channel": [0], "recorded": [["m"]], "recomputed": [[]]}
    with stored(recorded(run)) as opened:
        contents = pa.table(rows, SNAPSHOT_CHANNEL_COLUMNS)
        write_snapshots(opened.folder, SUMMARIES[:1], STATES[:0], contents)
        (sent,) = opened.snapshot("s").channels["p->q"].sent
        assert sent.ordinal == 0


def test_a_snapshot_that_only_a_restore_names_belongs_to_all_scopes():
    header, events = side_by_side(a_run().record("p", "s").log(), a_run().log())
    again = LoggedEvent(len(events) + 2, ProcessId("1 p"), RESTORE, at=900, snapshot="gone")
    with stored(recorded(Log(header, (*events, again)))) as opened:
        assert len(opened.scope("1 s").processes) == 2
        assert len(opened.scope("gone").processes) == 4
        assert opened.tables.in_scope(opened.tables.snapshot_code("gone")).all()


def test_a_silent_channel_is_empty_or_unknown_where_an_end_never_recorded():
    with stored(two_banks()) as opened:
        write_snapshots(opened.folder, SUMMARIES, STATES, CHANNELS)
        silent = opened.snapshot("s").channels["p->q"]
        assert (silent.recorded, silent.recomputed) == (None, ())
        unfinished = opened.snapshot("t")
        assert unfinished.channels["p->q"].recomputed is None
        assert unfinished.states["q"].position is None
        assert unfinished.states["q"].recorded_at is None


def test_a_channel_that_a_derived_recording_does_not_record_is_not_known():
    derived = replace(two_banks(), header_extra={"derived": True})
    unsaid = CHANNELS.set_column(2, "recorded", pa.array([None], CHANNELS["recorded"].type))
    with stored(derived) as opened:
        write_snapshots(opened.folder, SUMMARIES, STATES, CHANNELS)
        assert opened.snapshot("s").channels["q->p"].recomputed is not None
        assert opened.snapshot("s").channels["p->q"].recomputed is None
        assert opened.snapshot("s", inferred=True).channels["p->q"].recomputed == ()
    with stored(derived) as opened:
        write_snapshots(opened.folder, SUMMARIES, STATES, unsaid)
        assert opened.snapshot("s").channels["q->p"].recomputed is None
        [message] = opened.snapshot("s", inferred=True).channels["q->p"].recomputed
        assert message.id == "m2"


def test_the_position_of_a_snapshot_is_its_first_record():
    run = a_run().internal("p", "think").record("p", "s").internal("p", "on").record("p", "s")
    with stored(recorded(run)) as opened:
        assert opened.snapshot_positions("s").tolist() == [1, NONE]


@pytest.mark.parametrize("step", ["send_marker", "receive_marker", "record_channel"])
def test_a_snapshot_without_states_belongs_to_the_scope_of_its_events(step):
    run = getattr(a_run(), step)("p->q", "s1")
    with stored(recorded(side_by_side(run.log(), simulated()))) as opened:
        scope = {code: opened.tables.in_scope(code).tolist() for code in (0, 1)}
        names = opened.manifest.snapshots
        assert scope[names.index("1 s1")] == [True, True, False, False, False, False]
        assert scope[names.index("2 s1")] == [False, False, True, True, True, True]


def test_snapshots_are_numbered_as_they_first_occur():
    run = a_run().record("q", "z").record("p", "a").record("p", "z")
    with stored(recorded(run)) as opened:
        assert opened.manifest.snapshots == ("z", "a")
