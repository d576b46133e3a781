"""A stage returns the results in order, reports its progress, and can be cancelled."""

import tempfile
import time
from pathlib import Path

import pytest

from snapshots.domain.model.defects import InputRefused, refuse
from tasks.spark.errors import SparkTaskFailed
from tasks.spark.stages import SparkStages, StagesHere


class CalledOff(Exception):
    """The error that a caller's progress raises to cancel."""


def doubled(task: int) -> int:
    return 2 * task


def slow(task: int) -> int:
    time.sleep(0.3)
    return task


def noting(folder: str) -> None:
    Path(tempfile.mkdtemp(dir=folder))
    time.sleep(0.3)


def refusing(task: int) -> int:
    raise refuse("not-json", "The line is not JSON.", line=task)


def failing(task: int) -> int:
    raise ZeroDivisionError(f"task {task} divides by zero")


def writing(task: str) -> None:
    Path(task).write_text("x")


@pytest.fixture(params=["here", pytest.param("spark", marks=pytest.mark.spark)])
def stages(request):
    if request.param == "here":
        return StagesHere()
    return SparkStages(request.getfixturevalue("spark"))


def test_results_come_in_the_order_of_the_tasks(stages):
    assert stages.run(doubled, range(7)) == [0, 2, 4, 6, 8, 10, 12]


def test_a_stage_without_tasks_has_no_results(stages):
    assert stages.run(doubled, []) == []


def test_progress_ends_with_the_weight_of_all_tasks(stages):
    told = []
    stages.run(doubled, [1, 2, 3], weights=[10, 20, 30], advance=lambda done, _: told.append(done))
    assert told == sorted(told)
    assert told[-1] == 60


def test_an_error_without_a_remedy_arrives_as_it_was_raised(stages):
    with pytest.raises(InputRefused) as caught:
        stages.run(refusing, [17])
    assert caught.value.defects[0].line == 17


def test_a_missing_folder_is_named(stages, tmp_path):
    with pytest.raises(FileNotFoundError, match="nowhere"):
        stages.run(writing, [str(tmp_path / "nowhere" / "file")])


def test_any_other_error_becomes_one_sentence(spark):
    with pytest.raises(SparkTaskFailed, match="failing failed: .*task 3 divides by zero") as caught:
        SparkStages(spark).run(failing, [3])
    assert "\n" not in str(caught.value)


def test_progress_that_raises_ends_the_stage(spark, tmp_path):
    def call_off(done: int, words: str) -> None:
        raise CalledOff

    with pytest.raises(CalledOff):
        SparkStages(spark, tmp_path).run(slow, range(100), advance=call_off)
    assert not list(tmp_path.iterdir())
    assert SparkStages(spark).run(doubled, [4]) == [8]


def test_a_stage_that_is_called_off_runs_no_further_tasks(spark, tmp_path):
    def call_off(done: int, words: str) -> None:
        if any(tmp_path.iterdir()):
            raise CalledOff

    with pytest.raises(CalledOff):
        SparkStages(spark).run(noting, [str(tmp_path)] * 200, advance=call_off)
    assert 0 < len(list(tmp_path.iterdir())) < 100
