"""Each engine has its own words for what a task did not do; only the paper's processes send
markers."""

from dataclasses import replace

import pytest

from snapshots.domain.judging.answers import QUESTIONS, RULE
from snapshots.domain.judging.report import SnapshotReport
from snapshots.domain.judging.verdicts import judge
from snapshots.domain.model.engine_words import WORDS, why_not_recorded, words_of
from snapshots.domain.simulators.script import Log
from tests.builders import a_run, recorded


def judged(log: Log, **header: object) -> SnapshotReport:
    extra = {"derived": True, **header}
    (report,) = judge(recorded(Log(replace(log.header, extra=extra), log.events)))
    return report


def incomplete(log: Log, **header: object) -> list[str]:
    findings = judged(log, **header).findings
    return [finding.sentence for finding in findings if finding.verdict == "incomplete"]


def half() -> Log:
    """Return a log in which only ``p`` recorded."""
    return a_run().record("p", "7").log()


@pytest.mark.parametrize(
    ("engine", "sentence"),
    [
        ("spark", "Batch 7 is not committed, so no state of q counts for it."),
        ("flink", "The upload holds no acknowledgement of checkpoint 7 by q."),
        ("seatunnel", "The upload holds no acknowledgement of checkpoint 7 by q."),
        ("another", "The recording holds no state of q for 7."),
        (["odd"], "The recording holds no state of q for 7."),
    ],
)
def test_a_task_without_a_record_is_told_in_the_words_of_its_engine(engine, sentence):
    assert incomplete(half(), engine=engine) == [sentence]


@pytest.mark.parametrize("engine", [*WORDS, "another"])
def test_no_derived_recording_speaks_of_markers_that_cannot_reach_a_task(engine):
    report = judged(half(), engine=engine)
    answer = report.answers[QUESTIONS.index(RULE)]
    said = " ".join([answer.sentence, *(finding.sentence for finding in report.findings)])
    assert "marker" not in said
    assert "path" not in said
    assert "1 of 2 processes" in answer.sentence
    assert all(finding.path is None for finding in report.findings)


@pytest.mark.parametrize(
    ("word", "sentence"),
    [
        ("wrote", "q wrote its state of batch 7, but the batch is not committed, so a restart"),
        ("wrote-nothing", "q wrote no state of batch 7, which is not committed."),
        ("epoch", "Epoch 7 is not committed, so no state of q counts for it."),
        ("unheard of", "Batch 7 is not committed, so no state of q counts for it."),
    ],
)
def test_the_header_says_how_far_a_task_of_a_batch_came(word, sentence):
    (said,) = incomplete(half(), engine="spark", how_far={"7": {"q": word}})
    assert said.startswith(sentence)


@pytest.mark.parametrize("odd", [5, "words", ["q"], {"7": 5}, {"7": {"q": ["wrote"]}}])
def test_an_odd_header_says_nothing(odd):
    (said,) = incomplete(half(), engine="spark", how_far=odd)
    assert said == "Batch 7 is not committed, so no state of q counts for it."


def test_a_barrier_that_is_not_known_to_have_arrived_is_no_marker():
    run = a_run().record("p", "7").send_marker("p->q", "7").record("q", "7")
    assert incomplete(run.log(), engine="flink") == [
        "The upload does not show that the barrier of checkpoint 7 arrived at q on p->q.",
        "The upload does not show that q sent the barrier of checkpoint 7 on q->p.",
    ]
    (answer,) = [
        item for item in judged(run.log(), engine="flink").answers if item.question == RULE
    ]
    assert answer.sentence == "The upload does not show that 2 of the barriers arrived."


def test_other_logs_keep_the_words_of_the_paper():
    (report,) = judge(recorded(half()))
    assert "The shortest way there from a process that began it is p->q." in [
        finding.sentence.partition("7. ")[2] for finding in report.findings
    ]
    assert words_of({"engine": "spark"}) is None
    assert why_not_recorded({"engine": "spark"}, "7", "q") is None
