"""A schedule of tasks is simulated as Spark runs it: the next task takes the next free core."""

import numpy as np
import pytest

from bench import schedule


@pytest.mark.parametrize(
    ("seconds", "cores", "launch", "end"),
    [
        ([], 2, 0, 0),
        ([3], 2, 0, 3),
        ([3, 1, 1, 1], 2, 0, 3),
        ([1, 1, 1, 3], 2, 0, 4),  # a long task that starts last
        ([1, 1, 1], 8, 0, 1),
        ([1, 1, 1], 8, 2, 5),  # the driver starts one every two seconds
        ([1, 1, 1], 1, 2, 5),
    ],
)
def test_the_last_task_ends(seconds, cores, launch, end):
    assert schedule.makespan(seconds, cores, launch) == end


def test_more_events_are_more_tasks_of_the_same_length():
    tasks = schedule.scaled([1.0, 3.0], 50, np.random.default_rng(1))
    assert len(tasks) == 100
    assert set(tasks.tolist()) == {1.0, 3.0}


@pytest.mark.slow
def test_an_ingest_is_timed_stage_by_stage(tmp_path, capsys):
    stages, driver = schedule.measured(tmp_path, 10_000)
    assert [stage.name for stage in stages] == ["parse_groups", "order_processes", "match_channels"]
    assert driver >= 0
    assert schedule.simulate(stages, driver, 100, 8) > 0
    assert "100 times as many events on 8 cores, simulated" in capsys.readouterr().out
