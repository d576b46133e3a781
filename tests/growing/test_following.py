"""What has come so far is shown as a closed recording would be shown, however it came."""

import itertools
import random

import numpy as np
import pytest
from orjson import loads

from snapshots.domain.assembling.assembly import assemble
from snapshots.domain.judging.verdicts import judge
from snapshots.domain.model import shapes
from snapshots.domain.model.defects import Defects
from snapshots.domain.simulators.basic import simulate
from snapshots.domain.simulators.simulation import Simulation, SnapshotStart
from snapshots.domain.simulators.workloads import Bank
from snapshots.growing.canonical import canonical_log
from snapshots.growing.journal import Journal, first_frame
from snapshots.growing.recording import OpenRecording
from snapshots.readers.formats.limits import Limits
from snapshots.readers.logs.columns import logged_events
from snapshots.readers.logs.native import NativeReader, write_lines
from snapshots.store.reader import StoredRecording
from snapshots.store.searching.words import read_query
from snapshots.store.whole_log import read_log
from snapshots.store.writer import write_recording
from tests.domain.judging import restored

PLENTY = 2**40


def simulated(seed):
    """Return header and events; odd seeds do not keep order, and some messages stay under way."""
    topology = shapes.random_connected(4, 2, seed=seed)
    simulation = Simulation(
        topology,
        Bank(),
        events=400,
        seed=seed,
        drain=seed % 4 > 1,
        reorder=frozenset(channel.id for channel in topology.channels if seed % 2),
        snapshots=(SnapshotStart(50_000, ("p1",)),),
    )
    header = simulation.header("banks")
    lines = list(write_lines(header, simulate(simulation)))
    return header, numbered(lines[1:])


def numbered(lines):
    """Give each event its index, as those that come to an open recording have it."""
    counts, events = {}, []
    for line in lines:
        event = loads(line)
        event["index"] = counts.get(event["process"], 0)
        counts[event["process"]] = event["index"] + 1
        events.append(event)
    return events


def opened(folder, header):
    (folder / "journal").write_bytes(first_frame(header))
    return Journal(folder / "journal")


def body(events):
    from tests.growing.test_journal import body as body_of

    return body_of(*events)


def closed(journal, folder):
    """Return what is stored of the same recording once it is closed."""
    log = folder / "log.jsonl"
    log.write_bytes(b"".join(canonical_log(journal)))
    reader, defects = NativeReader(), Defects()
    header = reader.header(log, Limits())
    events = logged_events(reader.batches(log, header, Limits(), defects), header)
    recording = assemble(header, events).recording
    stored = folder / "stored"
    stored.mkdir()
    write_recording(recording, stored)
    return StoredRecording.open(stored)


def require_same(live, stored):
    assert live.manifest.counts == stored.manifest.counts
    assert live.manifest.extent == stored.manifest.extent
    assert live.tables.events.length.tolist() == stored.tables.events.length.tolist()
    for code, process in enumerate(stored.topology.processes):
        for index in range(int(stored.tables.events.length[code])):
            one, other = live.event(process.id, index), stored.event(process.id, index)
            for field in one.keys() - {"step", "line"}:
                assert one[field] == other[field], (process.id, index, field)
    draw = random.Random(1)
    lengths = stored.tables.events.length.tolist()
    for query in ("s1", "send p1", "p2"):
        words = read_query(query, "us")
        one, other = live.search(words), stored.search(words)
        one.advance(9)
        other.advance(9)
        assert (one.total, one.bins_of_time.tolist()) == (other.total, other.bins_of_time.tolist())
    at = (live.manifest.extent.from_ + live.manifest.extent.to) // 2
    assert live.positions_at(at=at).tolist() == stored.positions_at(at=at).tolist()
    for width in (4, 1000):
        for axis in ("time",):
            one, other = (each.window(0, at, width, axis) for each in (live, stored))
            assert str(one) == str(other)
    for _ in range(30):
        positions = np.array([draw.randrange(length + 1) for length in lengths])
        require_same_cut(live.cut(positions), stored.cut(positions))


def require_same_cut(one, other):
    assert one.consistent == other.consistent
    assert one.all_contents() == other.all_contents()
    assert one.orphans() == other.orphans()
    assert one.states == other.states
    assert one.nearest.tolist() == other.nearest.tolist()
    assert one.total() == other.total()


@pytest.mark.parametrize("seed", range(8))
def test_what_came_in_any_order_is_shown_as_the_closed_recording(tmp_path, seed):
    header, events = simulated(seed)
    journal = opened(tmp_path, header)
    open_one = OpenRecording(tmp_path / "journal", tmp_path)
    draw = random.Random(seed)
    bodies = [events[first : first + 37] for first in range(0, len(events), 37)]
    draw.shuffle(bodies)
    for some in bodies:
        journal.take(body(some), PLENTY)
        if draw.random() < 0.5:
            open_one._looked_at = float("-inf")
            open_one.so_far("banks")
    open_one._looked_at = float("-inf")
    require_same(open_one.so_far("banks"), closed(journal, tmp_path))


@pytest.mark.parametrize("seed", range(6))
def test_a_snapshot_is_judged_as_soon_as_all_of_it_is_there(tmp_path, seed):
    """Each process sends a few events at a time; damaged runs have other verdicts."""
    topology = shapes.random_connected(4, 2, seed=seed)
    simulation = Simulation(
        topology,
        Bank(),
        events=400,
        seed=seed,
        snapshots=tuple(SnapshotStart(20_000 * n, ("p1",)) for n in (1, 2, 3)),
        late_markers=frozenset(channel.id for channel in topology.channels[: seed % 3]),
        empty_channels=frozenset(channel.id for channel in topology.channels[: seed % 2]),
    )
    header = simulation.header("banks")
    events = numbered(list(write_lines(header, simulate(simulation)))[1:])
    journal = opened(tmp_path, header)
    open_one = OpenRecording(tmp_path / "journal", tmp_path)
    for first in range(0, len(events), 25):
        journal.take(body(events[first : first + 25]), PLENTY)
        open_one._looked_at = float("-inf")
        open_one.so_far("banks")
    live = open_one.so_far("banks")
    whole = judge(read_log(closed(journal, tmp_path), "banks"))
    assert {each["snapshot"]: each for each in live.snapshots()} == {
        report.snapshot: report.summary() for report in whole
    }
    for report in whole:
        one = live.snapshot(report.snapshot)
        assert {
            name: state.recorded for name, state in one.states.items() if state.recorded is not None
        } == report.recorded_states


_IN_ORDER = [make for make in restored.RESTORED if make is not restored.epochs_that_fall]
_ACROSS = restored.recorded_across_a_restore  # whose s2 may still go on in the later epoch


@pytest.mark.parametrize("make", _IN_ORDER, ids=lambda make: make.__name__)
def test_what_goes_on_after_a_restore_is_shown_as_the_closed_recording(tmp_path, make):
    """A receive without a send, and what depends on it, is shown only when it is closed."""
    header, events = make()
    journal = opened(tmp_path, header)
    journal.take(body(numbered(list(write_lines(header, events))[1:])), PLENTY)
    live = OpenRecording(tmp_path / "journal", tmp_path).so_far("a run")
    stored = closed(journal, tmp_path)
    lengths = live.tables.events.length.tolist()
    if not stored.tables.strays.batch.num_rows:
        assert lengths == stored.tables.events.length.tolist()
    cuts = list(itertools.product(*(range(length + 1) for length in lengths)))
    for positions in random.Random(1).sample(cuts, min(len(cuts), 30)):
        require_same_cut(live.cut(np.array(positions)), stored.cut(np.array(positions)))
    whole = {report.snapshot: report.summary() for report in judge(read_log(stored, "a run"))}
    judged = {summary["snapshot"]: summary for summary in live.snapshots()}
    for name, summary in judged.items():
        assert summary["verdict"] == whole[name]["verdict"]
    if not stored.tables.strays.batch.num_rows:
        assert judged == {name: whole[name] for name in judged}
        assert whole.keys() - judged.keys() <= {"s2" if make is _ACROSS else None}


@pytest.mark.parametrize("make", _IN_ORDER, ids=lambda make: make.__name__)
def test_a_verdict_behind_a_restore_changes_with_what_comes(tmp_path, make):
    """Looked at after every event, the verdicts are in the end those of the closed recording."""
    header, events = make()
    journal = opened(tmp_path, header)
    open_one = OpenRecording(tmp_path / "journal", tmp_path)
    for event in numbered(list(write_lines(header, events))[1:]):
        journal.take(body([event]), PLENTY)
        open_one._looked_at = float("-inf")
        live = open_one.so_far("a run")
    assert live.fresh == {summary["snapshot"]: summary for summary in live.snapshots()}
    whole = {report.snapshot: report for report in judge(read_log(closed(journal, tmp_path), ""))}
    for summary in live.snapshots():
        assert summary["verdict"] == whole[summary["snapshot"]].verdict
    at_once = OpenRecording(tmp_path / "journal", tmp_path).so_far("a run")
    assert [each for each in at_once.snapshots() if each not in live.snapshots()] == []
