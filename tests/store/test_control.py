"""What tasks do in a stored recording equals what the domain says, which reads all events."""

import base64
from random import Random

import numpy as np
import pytest

from snapshots.answers import frames, replay
from snapshots.domain.assembling.assembly import assemble
from snapshots.domain.dataflow_logs.control.activity import DOINGS
from snapshots.domain.dataflow_logs.control.progress import Progresses
from snapshots.domain.dataflow_logs.control.signals import SIGNALS, signals
from snapshots.domain.model.recording import Recording
from snapshots.domain.simulators.dataflow_samples import SAMPLES_OF_DATAFLOWS
from snapshots.domain.simulators.flink.simulation import run_dataflow
from snapshots.domain.simulators.protocols.flink_task import MODES
from snapshots.domain.simulators.samples import two_banks
from snapshots.store import control
from snapshots.store.layout import IN_FLIGHT
from snapshots.store.reader import StoredRecording
from tests.dataflows import any_simulation, with_failures
from tests.domain.dataflow_logs.control_rules import Rules
from tests.domain.dataflow_logs.test_control import a_crash, found_in
from tests.effort import examples
from tests.store.folders import stored


def unpacked(column: dict) -> list:

    return np.frombuffer(base64.b64decode(column["bdata"]), f"<{column['dtype']}").tolist()


def assert_agrees(recording: Recording, opened: StoredRecording) -> None:
    rules = Rules(recording)
    names = [process.id for process in opened.topology.processes]
    rows = opened.control.doings
    at = zip(rows.since.at.tolist(), rows.until.at.tolist(), strict=True)
    whose = zip(rows.process.tolist(), rows.what.tolist(), strict=True)
    assert sorted((names[p], DOINGS[w], *edge) for (p, w), edge in zip(whose, at, strict=True)) == (
        sorted(
            (d.process, d.what, d.since.at, IN_FLIGHT if d.until is None else d.until.at)
            for d in found_in(recording)
        )
    )
    assert (rows.since.step <= rows.until.step).all()
    told = opened.control.signals
    expected = signals(rules.telling, rules.plan)
    assert [SIGNALS[kind] for kind in told.kind.tolist()] == [each.kind for each in expected]
    assert told.sent.step.tolist() == [each.sent.step + 1 for each in expected]
    assert told.arrived.at.tolist() == [
        IN_FLIGHT if each.arrived is None else each.arrived.at for each in expected
    ]
    said = Progresses(rules.telling, rules.plan).said
    assert opened.control.said.words == tuple(each.words for each in said)


@pytest.mark.parametrize("sample", SAMPLES_OF_DATAFLOWS, ids=lambda sample: sample.slug)
def test_tasks_of_each_sample_do_the_same_when_it_is_stored(sample):
    recording = assemble(*sample.log()).recording
    with stored(recording, scattered=1) as opened:
        assert_agrees(recording, opened)


@pytest.mark.slow
def test_tasks_of_any_run_do_the_same_when_it_is_stored():
    for seed in range(examples(12)):
        rng = Random(seed)
        simulation = any_simulation(rng, MODES[seed % 4])
        end = run_dataflow(simulation).log.events[-1].at
        run = run_dataflow(with_failures(rng, simulation, end))
        recording = assemble(*run.log).recording
        with stored(recording, scattered=seed) as opened:
            assert_agrees(recording, opened)


@pytest.mark.parametrize("axis", ["time", "order"])
def test_a_window_has_what_is_done_in_it_and_no_more(axis):
    with stored(a_crash()) as opened:
        whole = replay.window(opened, {"axis": axis})["control"]
        assert whole["doings_hidden"] == 0
        since, until = (unpacked(whole["doings"][name]) for name in ("since", "until"))
        end = opened.manifest.extent.to if axis == "time" else opened.manifest.extent.steps + 1
        assert all(a <= b <= end for a, b in zip(since, until, strict=True))
        middle = (since[len(since) // 2], since[len(since) // 2] + 1)
        part = replay.window(opened, {"axis": axis, "from": middle[0], "to": middle[1]})["control"]
        inside = [a <= middle[1] and b >= middle[0] for a, b in zip(since, until, strict=True)]
        assert len(unpacked(part["doings"]["what"])) == sum(inside) < len(since)
        downs = [w for w in unpacked(part["doings"]["what"]) if DOINGS[w] == "down"]
        assert len(downs) <= len(opened.topology.processes)


@pytest.mark.parametrize("axis", ["time", "order"])
def test_frames_and_the_end_of_the_log_say_the_same_of_each_checkpoint(axis):
    with stored(a_crash()) as opened:
        what = frames.Watched(axis, None)
        first = float(opened.manifest.extent.from_ - 1) if axis == "time" else 0.0
        end = frames.end_of(opened, axis)
        key = frames.key_frame(opened, what, first)["said"]
        assert key["words"] == []
        told = frames.frame_after(opened, what, first, end)
        said = told["said"]["words"] if told["exact"] else []
        newest = frames.key_frame(opened, what, end)["said"]["words"]
        finals = {each.sentence for each in opened.control.progress.values()}
        assert set(newest) <= finals
        if said:
            assert said[-1] == newest[-1]
            assert finals <= set(said)


def test_a_log_with_too_many_events_of_checkpoints_is_not_told_and_says_why(monkeypatch):
    monkeypatch.setattr(control, "MOST_TELLING", 20)
    with stored(a_crash()) as opened:
        told = replay.window(opened, {})["control"]
        assert told["why_not"].startswith("The log has ")
        assert unpacked(told["doings"]["what"]) == []
        assert frames.key_frame(opened, frames.Watched("time", None), 1e6)["said"]["words"] == []


def test_a_log_of_banks_has_no_tasks_and_no_reason():
    with stored(assemble(*two_banks()).recording) as opened:
        told = replay.window(opened, {})["control"]
        assert (told["coordinators"], told["why_not"]) == ([], None)
