"""The reports of the judge are those of the reference, also beyond the witnesses that are kept.

The kernels run in this process, without Spark.
"""

from dataclasses import replace

import pytest

from snapshots.domain.judging.findings import MOST_WITNESSES
from snapshots.domain.judging.verdicts import judge
from snapshots.domain.model.recording import Recording
from snapshots.store.writer import write_recording
from tasks.spark.judge.job import Judge
from tasks.spark.stages import StagesHere
from tests.builders import a_run, recorded, side_by_side, simulated
from tests.damage import lose_recorded_message
from tests.spark.agreement import silent

MANY = MOST_WITNESSES + 20


def wrong_states(*, unfinished: bool = False) -> Recording:
    """Return a run of many processes of which all but one record a state other than their own."""
    names = [f"p{number}" for number in range(MANY)]
    run = a_run(dict.fromkeys(names, 1), ())
    for number, name in enumerate(names):
        run.internal(name, "count", state=number)
        run.record(name, "s", state=number + (number > 0))
        if not (unfinished and number % 3 == 0):
            run.record(name, "t", state={"balance": number})
    return recorded(run)


RUNS = {
    "wrong states": wrong_states(),
    "unfinished": wrong_states(unfinished=True),
    "derived": replace(wrong_states(), header_extra={"derived": True}),
    "fractions": recorded(
        a_run({"p": 0.5, "q": "none"}).internal("p", "on", state=2.25).record("p", "s")
    ),
    "simulated": recorded(simulated(snapshots=((8_000, ("p1",)), (9_000, ("p2",))))),
    "lost": recorded(lose_recorded_message(simulated()).log),
    "two scopes": recorded(side_by_side(simulated(), a_run().record("p", "s").log())),
}


@pytest.mark.parametrize("recording", RUNS.values(), ids=RUNS)
def test_reports_are_those_of_the_reference(recording, tmp_path):
    write_recording(recording, tmp_path)
    judged = Judge(tmp_path)
    reports = judged.reports(*judged.facts(StagesHere(), silent))
    assert reports == judge(recording)


def test_witnesses_that_are_not_kept_are_counted(tmp_path):
    write_recording(RUNS["wrong states"], tmp_path)
    judged = Judge(tmp_path)
    report, _ = judged.reports(*judged.facts(StagesHere(), silent))
    assert report.counts == {"state-mismatch": MANY - 1}
    assert [finding.process for finding in report.findings] == [
        f"p{number}" for number in range(1, MOST_WITNESSES + 1)
    ]
