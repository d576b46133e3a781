"""The Spark job and the reference give the same reports on Theorem 1, key by key.

The job's stages run in this process, except in the last tests. AGREEMENT_EXAMPLES is the number of
generated recordings.
"""

import os
import re
import tempfile
from collections import Counter
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, reject, settings
from hypothesis import strategies as st

from snapshots.domain.assembling.assembly import assemble
from snapshots.domain.judging.report import SnapshotReport
from snapshots.domain.judging.verdicts import judge
from snapshots.domain.model import shapes
from snapshots.domain.model.as_json import as_json
from snapshots.domain.model.defects import InputRefused
from snapshots.domain.model.recording import RECORD_CHANNEL, Recording
from snapshots.domain.replaying.reordering import reorder
from snapshots.domain.replaying.reordering_report import NotReorderable
from snapshots.domain.simulators.samples import SAMPLES
from snapshots.domain.simulators.script import Log
from snapshots.domain.simulators.workloads import WORKLOADS, Tokens
from snapshots.store.errors import StoreDamaged
from snapshots.store.writer import write_recording, write_snapshots
from tasks.spark import capacity
from tasks.spark.capacity import Capacity
from tasks.spark.judge.job import Judge
from tasks.spark.reorder import job
from tasks.spark.reorder.job import Reorder, reorder_snapshot
from tasks.spark.stages import StagesHere
from tests import damage
from tests.builders import a_run, random_damage, recorded, side_by_side, simulated, some_topologies
from tests.effort import examples
from tests.spark.agreement import assembled, silent
from tests.spark.ingest import disorder
from tests.spark.test_cos418 import CASES, RANDOM, log_of

pytestmark = pytest.mark.slow

EXAMPLES = int(os.environ.get("AGREEMENT_EXAMPLES") or examples(15))


@pytest.fixture
def pieces(monkeypatch):
    """Make parts of some rows."""
    monkeypatch.setattr(capacity, "MANY_ROWS", 40)


def stored(recording: Recording, folder: Path) -> Path:
    """Write the recording into a new folder and judge it."""
    folder.mkdir()
    write_recording(recording, folder)
    judged = Judge(folder)
    reports = judged.reports(*judged.facts(StagesHere(), silent))
    summaries = [report.summary() for report in reports]
    write_snapshots(folder, summaries, judged.state_rows(), judged.contents)
    return folder


def agree(recording: Recording, folder: Path, most_shown: int = 30, most_swaps: int = 300) -> list:
    """Return the JSON of each snapshot that can be reordered, after a comparison of both ways."""
    stored(recording, folder)
    most = {"most_shown": most_shown, "most_swaps": most_swaps}
    return [
        found
        for report in judge(recording)
        if (found := agree_on(recording, report, folder, **most)) is not None
    ]


def agree_on(
    recording: Recording, report: SnapshotReport, folder: Path, *, most_shown: int, most_swaps: int
) -> dict | None:
    most = {"most_shown": most_shown, "most_swaps": most_swaps}
    try:
        expected = as_json(reorder(recording, report, most_swaps=most_swaps).report(most_shown))
    except NotReorderable as refusal:
        with pytest.raises(NotReorderable, match=f"^{re.escape(str(refusal))}$"):
            Reorder(folder, report.snapshot, **most)
        return None
    found = as_json(Reorder(folder, report.snapshot, **most).report(StagesHere(), silent))
    assert_same(found, expected)
    return found


def assert_same(found: dict, expected: dict) -> None:
    """Compare key by key, so that a failure names the one that differs."""
    assert found.keys() == expected.keys()
    for name, value in expected.items():
        assert found[name] == value, f"{expected['snapshot']}: {name}"


def orderless(log: Log) -> Log:
    """Declare channels FIFO that deliver out of order."""
    fifo = tuple(replace(channel, fifo=True) for channel in log.header.topology.channels)
    topology = replace(log.header.topology, channels=fifo)
    return log._replace(header=replace(log.header, topology=topology))


@st.composite
def busy_runs(draw) -> Log:
    """Draw runs with many events during the snapshots; some are damaged or disordered."""
    topology = draw(some_topologies(draw(st.integers(2, 6))))
    order = draw(st.sampled_from(("fifo", "any", "broken")))
    log = simulated(
        topology if order == "fifo" else shapes.without_order(topology),
        WORKLOADS[draw(st.sampled_from(sorted(WORKLOADS)))](),
        snapshots=[
            (at, (process.id,))
            for at, process in zip(
                draw(st.lists(st.integers(200, 20_000), min_size=1, max_size=3)),
                topology.processes,
                strict=False,
            )
        ],
        seed=draw(st.integers(0, 2**32)),
        events=draw(st.integers(100, 250)),
        mean_delay=draw(st.sampled_from((1_000, 10_000))),
        mean_pause=300,
    )
    log = orderless(log) if order == "broken" else log
    return draw(random_damage(log)) if draw(st.booleans()) else log


@settings(
    max_examples=EXAMPLES,
    deadline=None,
    database=None,
    suppress_health_check=list(HealthCheck),
)
@given(
    log=st.one_of(
        busy_runs(),
        busy_runs(),
        st.builds(side_by_side, busy_runs(), busy_runs()),
        disorder.logs(max_processes=9),
    ),
    many=st.booleans(),
)
def test_both_agree_on_generated_recordings(pieces, log, many):
    try:
        recording = recorded(log)
    except InputRefused:
        reject()
    with tempfile.TemporaryDirectory() as folder:
        most = 10_000 if many else 12
        agree(recording, Path(folder, "store"), most, most)


@pytest.mark.parametrize("sample", SAMPLES, ids=lambda sample: sample.slug)
def test_both_agree_on_every_sample(tmp_path, sample):
    agree(recorded(sample.log()), tmp_path / "store")


@pytest.mark.parametrize("spoil", damage.DAMAGES.values(), ids=damage.DAMAGES)
def test_both_agree_on_every_damage(pieces, tmp_path, spoil):
    log = simulated(shapes.complete(3), mean_delay=20_000)
    agree(recorded(spoil(log).log), tmp_path / "store", most_swaps=200_000)


@pytest.mark.parametrize("case", [*CASES[:-1], pytest.param(RANDOM, marks=pytest.mark.slow)])
def test_both_agree_on_the_cos418_cases(shared_data, tmp_path, case):
    assert agree(assembled(log_of(shared_data, case)).recording, tmp_path / "store")


def quiet_runs():
    """Yield runs in which states hardly change, so that channels decide whether, and after how many
    events, the recorded state occurred."""
    three = {"p": "X", "q": "Q", "r": "R"}
    yield (
        a_run(three, ["p->q"])
        .send("p->q", "m", state="X")
        .record("r", "s")
        .receive("p->q", "m", state="Q")
        .record("p", "s")
        .record("q", "s"),
        1,
    )
    yield (
        a_run(three, ["p->q"])
        .record("r", "s")
        .send("p->q", "m", state="X")
        .record("p", "s")
        .record("q", "s"),
        1,
    )
    yield (
        a_run(three | {"p": "Y"}, ["p->q"])
        .record("r", "s")
        .send("p->q", "m", state="X")
        .receive("p->q", "m", state="Q")
        .record("p", "s")
        .record("q", "s"),
        2,
    )
    yield (
        a_run(three | {"p": "Y"}, ["p->q"])
        .record("r", "s")
        .internal("p", "rest", state="X")
        .internal("q", "rest", state="Q")
        .record("p", "s")
        .record("q", "s"),
        1,
    )


@pytest.mark.parametrize(
    ("run", "after"), [*quiet_runs()], ids=["held", "empty", "both at once", "more follows"]
)
def test_channels_that_differ_keep_the_recorded_state_from_occurring(
    monkeypatch, tmp_path, run, after
):
    monkeypatch.setattr(job, "ROWS_PER_TASK", 1)
    (found,) = agree(recorded(run), tmp_path / "store")
    assert found["occurred_after"] == after


def test_of_receives_without_a_send_the_first_in_the_new_order_is_named(tmp_path):
    run = a_run().record("p", "s").receive("q->p", "n").receive("p->q", "m").record("q", "s")
    (found,) = agree(recorded(run), tmp_path / "store")
    assert found["checks"][1]["reason"].startswith("event 0 of q receives m, but the log")


def test_a_marker_without_a_send_is_no_message_without_a_send(tmp_path):
    run = a_run().record("p", "s").receive_marker("p->q", "other").record("q", "s")
    (found,) = agree(recorded(run), tmp_path / "store")
    assert found["checks"][1]["holds"]


def telling_runs():
    """Yield runs that together have everything that a report can contain."""
    for seed in range(2):
        yield simulated(seed=seed)
        yield damage.without(simulated(seed=seed), RECORD_CHANNEL)
        yield simulated(shapes.ring(5), Tokens(), seed=seed, mean_delay=300)
        anyhow = shapes.without_order(shapes.complete(4))
        yield simulated(anyhow, seed=seed, mean_delay=9_000)
        yield orderless(simulated(anyhow, seed=seed, mean_delay=9_000))
    yield simulated(shapes.ring(5))  # takes thousands of swaps, more than `agree` tries
    yield from (each.log() for each in SAMPLES if each.slug in ("two-banks", "one-token"))
    yield damage.record_late(simulated(shapes.complete(3), mean_delay=20_000)).log
    yield damage.wrong_state(simulated()).log
    yield a_run().receive("p->q", "m").record("p", "s").receive("q->p", "n").record("q", "s").log()


def test_the_compared_answers_are_not_trivial(pieces, tmp_path):
    seen = Counter()
    for number, log in enumerate(telling_runs()):
        for found in agree(recorded(log), tmp_path / str(number)):
            seen.update((check["name"], check["holds"]) for check in found["checks"])
            seen["occurred", found["occurred"]] += 1
            seen["occurred later", bool(found["occurred_after"])] += 1
            seen["obstacles", bool(found["obstacles"])] += 1
            seen["more than shown", found["events_total"] > len(found["events"])] += 1
    answers = (True, False, None)
    expected = {
        *(("middle", answer) for answer in answers),
        *(("swaps", answer) for answer in answers),
        *(("sends-first", answer) for answer in answers),
        *(("occurred", answer) for answer in answers),
        *(("to-end", answer) for answer in answers),
        ("fifo", True),
        ("fifo", False),
        ("from-start", False),
        ("occurred later", True),
        ("obstacles", True),
        ("more than shown", True),
    }
    assert expected <= set(seen), expected - set(seen)


def test_a_run_is_really_cut_into_pieces(pieces, tmp_path):
    folder = stored(recorded(simulated()), tmp_path / "store")
    kinds = Counter(type(task).__name__ for (task,) in Reorder(folder, "s1")._tasks(Capacity(2)))
    assert min(kinds[name] for name in ("StepTask", "ProcessTask", "ChannelTask")) > 1


def test_a_small_recording_is_one_task(tmp_path):
    folder = stored(recorded(simulated()), tmp_path / "store")
    assert len(Reorder(folder, "s1")._tasks(Capacity(2))) == 1


def test_a_snapshot_that_the_log_does_not_name_is_refused(tmp_path):
    folder = stored(recorded(simulated()), tmp_path / "store")
    with pytest.raises(NotReorderable, match="no snapshot s2"):
        Reorder(folder, "s2")


def test_steps_that_do_not_rise_are_a_damaged_store(tmp_path):
    recording = recorded(simulated())
    own = list(recording.events["p1"])
    place = judge(recording)[0].positions["p1"] + 1
    one, next_ = own[place : place + 2]
    own[place : place + 2] = replace(one, step=next_.step), replace(next_, step=one.step)
    events = {**recording.events, "p1": tuple(own)}
    folder = stored(replace(recording, events=events), tmp_path / "store")
    with pytest.raises(StoreDamaged, match="steps of p1 do not rise"):
        Reorder(folder, "s1").report(StagesHere(), silent)


@pytest.mark.parametrize("log", [simulated(seed=7), SAMPLES[0].log()], ids=["simulated", "sample"])
def test_spark_finds_the_same(spark, tmp_path, log):
    recording = assemble(*log).recording
    folder = stored(recording, tmp_path / "store")
    phases = []
    for report in judge(recording):
        found = reorder_snapshot(folder, report.snapshot, lambda *at: phases.append(at), spark)
        assert_same(as_json(found), as_json(reorder(recording, report).report()))
    assert phases[0][:2] == ("reordering", 0)
    assert phases[-1][1] == phases[-1][2]
