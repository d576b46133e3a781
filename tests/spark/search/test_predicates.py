"""The Spark job and the reference give the same answers about predicates, key by key.

The job's stages run in this process and evaluate without the sandbox, except in the last tests.
AGREEMENT_EXAMPLES is the number of generated recordings.
"""

import json
import os
import pickle
import tempfile
from collections import Counter
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, reject, settings
from hypothesis import strategies as st

from snapshots.domain.conditions.conjunctions import NotLocal, conjunction, plainly, states_of
from snapshots.domain.conditions.expressions import LONGEST, Question
from snapshots.domain.conditions.predicates import detect
from snapshots.domain.model import shapes
from snapshots.domain.model.as_json import as_json
from snapshots.domain.model.defects import InputRefused
from snapshots.domain.model.recording import Recording
from snapshots.domain.simulators.samples import SAMPLES
from snapshots.domain.simulators.script import Log
from snapshots.sandbox import evaluation
from snapshots.sandbox.evaluation import TooMuch
from snapshots.store.reader import StoredRecording
from snapshots.store.writer import write_recording
from tasks.spark.capacity import Capacity
from tasks.spark.search import job
from tasks.spark.search.job import Search, search_predicate
from tasks.spark.search.kernels import stored_states
from tasks.spark.stages import StagesHere
from tests.builders import a_run, recorded, runs, simulated
from tests.domain.conditions.test_predicates import small_runs
from tests.effort import examples
from tests.spark.agreement import assembled, silent
from tests.spark.ingest import disorder
from tests.spark.test_cos418 import CASES, RANDOM, log_of

pytestmark = pytest.mark.slow

ABOVE = "p1 > 1000 && p2 > 1000"  # see swaying
FEW = {
    "max_examples": int(os.environ.get("AGREEMENT_EXAMPLES") or examples(15)),
    "deadline": None,
    "database": None,
    "suppress_health_check": list(HealthCheck),
}


@pytest.fixture
def pieces(monkeypatch):
    """Make parts of some rows."""
    monkeypatch.setattr(job, "ROWS_PER_TASK", 8)


def stored(recording: Recording, folder: Path) -> Path:
    folder.mkdir()
    write_recording(recording, folder)
    return folder


def agree(recording: Recording, folder: Path, *texts: str) -> list[dict]:
    """Return the JSON of each answer, after a comparison of both ways."""
    answers = []
    for text in texts:
        expected = detect(recording, text)
        found = Search(folder, text, plainly).answer(StagesHere(), silent)
        assert found == expected, text
        assert as_json(found) == as_json(expected)
        answers.append(json.loads(json.dumps(as_json(found))))
    return answers


def condition(process: str, state: str, sign: str = "==") -> str:
    """Return a condition; one with the sign ".x ==" is unknown of states without an x."""
    return f"processes[{json.dumps(process)}]{'' if sign[0] == '.' else ' '}{sign} {state}"


def questions(recording: Recording, most: int = 3) -> list[str]:
    """Yield conjunctions about the states in the recording, of one process and of several."""
    found = []
    for sign in ("==", "!="):
        asked = [
            condition(process.id, texts[len(texts) // 2], sign)
            for process in recording.topology.processes
            if (texts := [t for t in states_of(recording, process.id).texts if len(t) < 100])
        ]
        found += [asked[:1], asked[:most], asked[-most:]]
    texts = [" && ".join(parts) for parts in found if parts]
    return [text for text in dict.fromkeys(texts) if len(text) <= LONGEST]


@st.composite
def asked(draw, recording: Recording) -> str:
    """Draw a conjunction about some of the recording's states."""
    names = [process.id for process in recording.topology.processes]
    parts = []
    for name in draw(st.lists(st.sampled_from(names), min_size=1, max_size=4)):
        state = draw(st.sampled_from([*states_of(recording, name).texts, "0"]))
        sign = draw(st.sampled_from(("==", "!=", ".x ==", ".left !=")))
        parts.append(condition(name, state, sign))
    return " && ".join(parts)


@settings(**FEW)
@given(st.one_of(small_runs(), small_runs(with_unknown=True)), st.data())
def test_both_agree_on_small_recordings(pieces, recording, data):
    names = [process.id for process in recording.topology.processes]
    chosen = data.draw(st.lists(st.sampled_from(names), min_size=1, max_size=3))
    with tempfile.TemporaryDirectory() as folder:
        store = stored(recording, Path(folder, "store"))
        agree(recording, store, " && ".join(f"{name} == 1" for name in chosen))


@settings(**FEW)
@given(st.one_of(runs(max_processes=12), disorder.logs(max_processes=9)), st.data())
def test_both_agree_on_generated_recordings(pieces, log, data):
    try:
        recording = recorded(log)
    except InputRefused:
        reject()
    texts = [data.draw(asked(recording)) for _ in range(2)]
    with tempfile.TemporaryDirectory() as folder:
        agree(recording, stored(recording, Path(folder, "store")), *texts)


@pytest.mark.parametrize("sample", SAMPLES, ids=lambda sample: sample.slug)
def test_both_agree_on_every_sample(tmp_path, sample):
    recording = recorded(sample.log())
    agree(recording, stored(recording, tmp_path / "store"), *questions(recording))


@pytest.mark.parametrize("case", [*CASES[:-1], pytest.param(RANDOM, marks=pytest.mark.slow)])
def test_both_agree_on_the_cos418_cases(shared_data, tmp_path, case):
    recording = assembled(log_of(shared_data, case)).recording
    agree(recording, stored(recording, tmp_path / "store"), *questions(recording))


def meeting() -> Log:
    """Build a run in which A and B are open until each has received the other's message."""
    return (
        a_run({"A": 0, "B": 0, "C": None}, ["A->B", "B->A"])
        .send("A->B", "m1", state=1)
        .send("B->A", "m2", state=1)
        .receive("A->B", "m1", state=1)
        .receive("B->A", "m2", state=1)
        .record("A", "s1", state=9)
        .internal("A", "leaves", state=0)
        .internal("B", "leaves", state=0)
        .internal("C", "works")
        .log()
    )


def swaying() -> Log:
    """Simulate a run in which ABOVE holds at times, but not in every order of it."""
    return simulated(seed=8)


def telling() -> list[tuple[Log, str]]:
    """Return questions that together have every kind of answer."""
    return [
        (meeting(), "A == 1 && B == 1"),
        (meeting(), "A == 1 && C == 1"),
        (meeting(), "A == 9"),
        (swaying(), ABOVE),
        (simulated(), "p1 == 4000 && p2 == 4000"),
    ]


def test_the_compared_answers_are_not_trivial(tmp_path):
    seen = Counter()
    for number, (log, text) in enumerate(telling()):
        recording = recorded(log)
        (found,) = agree(recording, stored(recording, tmp_path / str(number)), text)
        seen.update((name, found[name]) for name in ("possibly", "definitely"))
        seen.update(name for name in ("first", "intervals", "avoiding", "missing") if found[name])
        seen["several legs"] += found["avoiding_total"] > 1
    answers = ("true", "false", "unknown")
    expected = {
        *(("possibly", answer) for answer in answers),
        *(("definitely", answer) for answer in answers),
        *("first", "intervals", "avoiding", "missing", "several legs"),
    }
    assert expected <= set(+seen), expected - set(+seen)


@settings(**FEW)
@given(st.one_of(runs(max_processes=6), disorder.logs(max_processes=6)))
def test_states_are_read_as_the_log_has_them(log):
    try:
        recording = recorded(log)
    except InputRefused:
        reject()
    with tempfile.TemporaryDirectory() as folder:
        opened = StoredRecording.open(stored(recording, Path(folder, "store")))
        for code, process in enumerate(recording.topology.processes):
            found, expected = stored_states(opened, code), states_of(recording, process.id)
            assert found.texts == expected.texts
            assert np.array_equal(found.codes, expected.codes)


def test_only_processes_that_are_asked_for_are_looked_at(pieces, tmp_path):
    folder = stored(recorded(simulated()), tmp_path / "store")
    one = Search(folder, "p2 == 1", plainly)._tasks(Capacity(2))
    several = Search(folder, "p2 == 1 && p4 == 1 && p2 < 9", plainly)._tasks(Capacity(2))
    assert [(task.first, task.end) for task in one] == [(0, 2)]
    assert [(task.first, task.end) for task in several] == [(0, 2), (2, 4)]


def test_a_small_recording_is_one_task(tmp_path):
    folder = stored(recorded(simulated()), tmp_path / "store")
    assert len(Search(folder, "p1 == 1 && p2 == 1 && p3 == 1 && p4 == 1")._tasks(Capacity(2))) == 1


def test_other_than_a_conjunction_is_refused_before_anything_runs(tmp_path):
    folder = stored(recorded(simulated()), tmp_path / "store")
    with pytest.raises(NotLocal, match="p1 and p2 at once"):
        Search(folder, "p1 < p2")


def test_the_search_reports_its_progress(monkeypatch, tmp_path):
    monkeypatch.setattr("snapshots.domain.conditions.predicates._BETWEEN_REPORTS", 1)
    folder = stored(recorded(swaying()), tmp_path / "store")
    told = []
    search = Search(folder, ABOVE, plainly)
    search.answer(StagesHere(), lambda *at: told.append(at))
    phases = [phase for phase, _, _ in told]
    assert phases == sorted(phases), "one after the other"
    assert {"evaluating states", "searching cuts"} == set(phases)
    assert all(done <= total for _, done, total in told)
    assert told[-1][1] > 0


def test_a_long_search_can_be_stopped(monkeypatch, tmp_path):
    monkeypatch.setattr("snapshots.domain.conditions.predicates._BETWEEN_REPORTS", 1)
    folder = stored(recorded(swaying()), tmp_path / "store")

    def stop(phase: str, done: int, total: int) -> None:
        if phase == job.SEARCHING and done:
            raise InterruptedError

    with pytest.raises(InterruptedError):
        Search(folder, ABOVE, plainly).answer(StagesHere(), stop)


def test_spark_finds_the_same_through_the_sandbox(spark, monkeypatch, tmp_path):
    monkeypatch.setattr(job, "ROWS_PER_TASK", 80)
    recording = recorded(simulated(shapes.ring(5), events=200))
    folder = stored(recording, tmp_path / "store")
    told = []
    text = "p1 <= 1000 && p3 <= 1000 && p5 > 10"
    found = search_predicate(folder, text, lambda *at: told.append(at), spark)
    assert found == detect(recording, text)
    assert found.possibly
    assert told[0][:2] == ("evaluating states", 0)


def test_an_expression_that_takes_too_long_comes_back_from_spark_as_it_is(spark, tmp_path):
    folder = stored(recorded(simulated()), tmp_path / "store")
    ten = "[0,1,2,3,4,5,6,7,8,9]"
    loops = "".join(f"{ten}.all(x{n}, " for n in range(4))
    text = f"p1 != 0 && {loops}p2 != 0{')' * 4}"
    found = Search(folder, text, _hurried)
    with pytest.raises(TooMuch, match="longer than 0.01 seconds after 0 of"):
        found.answer(job.SparkStages(spark), silent)


def _hurried(questions: list[Question]):
    return evaluation.evaluate(questions, seconds=0.01)


def test_an_error_in_an_expression_can_be_sent():
    with pytest.raises(NotLocal) as refused:
        conjunction("A < B", frozenset("AB"))
    again = pickle.loads(pickle.dumps(refused.value))
    assert (type(again), str(again)) == (NotLocal, str(refused.value))
    assert again.to_json() == refused.value.to_json()
    late = TooMuch("Too long.", "A\n<B", 3)
    assert pickle.loads(pickle.dumps(late)).to_json() == late.to_json()
