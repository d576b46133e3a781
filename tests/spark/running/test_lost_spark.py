"""Spark that is lost in a stage is no fault of the task, but a task that kills it is."""

import os
import signal
import threading
import time
from contextlib import suppress
from pathlib import Path

import pytest

from tasks.spark import answering
from tasks.spark import stages as stages_module
from tasks.spark.driver import descendants
from tasks.spark.errors import SparkStopped, SparkTaskFailed, SparkUnavailable
from tasks.spark.stages import SparkStages
from tests.spark.running import processes


def slow(task: int) -> int:
    time.sleep(3)
    return task


def short(task: int) -> int:
    time.sleep(0.2)
    return task


def noted(folder: str) -> int:
    """Note the run, and kill the process in the first one."""
    Path(folder, str(os.getpid())).touch()
    if len(list(Path(folder).iterdir())) == 1:
        os.kill(os.getpid(), signal.SIGKILL)
    return 7


def deadly(folder: str) -> None:
    Path(folder, str(os.getpid())).touch()
    os.kill(os.getpid(), signal.SIGKILL)


def test_a_stage_whose_python_worker_was_killed_once_is_run_again(spark, tmp_path):
    assert SparkStages(spark).run(noted, [str(tmp_path)]) == [7]


def test_a_task_that_ends_its_python_worker_each_time_fails(spark, tmp_path):
    with pytest.raises(SparkTaskFailed, match="ended with its Python worker") as caught:
        SparkStages(spark).run(deadly, [str(tmp_path)])
    assert caught.value.permanent
    assert len(list(tmp_path.iterdir())) == 3
    assert SparkStages(spark).run(abs, [-4]) == [4]


@pytest.mark.slow
@pytest.mark.spark
@pytest.mark.parametrize(
    "name",
    [
        "killed_jvm",
        pytest.param("killed_python", marks=pytest.mark.long),
        pytest.param("killed_between_stages", marks=pytest.mark.long),
        pytest.param("killed_idle_python", marks=pytest.mark.long),
        pytest.param("frozen_jvm", marks=pytest.mark.long),
    ],
)
def test_a_spark_that_is_struck_in_the_middle_of_a_stage(name, tmp_path):
    processes.run(__name__, name, DATA_DIR=tmp_path)


def killed_jvm() -> None:
    from tasks.spark import condition, session

    stages = SparkStages(session.warm())
    driver = session._driver
    strike([driver.process.pid], signal.SIGKILL)
    with pytest.raises(SparkStopped) as caught:
        stages.run(slow, range(4), advance=lambda *_: None)
    assert (caught.value.permanent, caught.value.is_death) == (False, True)
    assert driver.ends_soon()  # the kernel closes the connections of a killed process first
    session.look()
    assert condition.current().state == condition.DOWN
    assert "SIGKILL" in condition.current().reason
    assert session.warm().range(3).count() == 3
    assert (condition.current().state, condition.current().restarts) == (condition.UP, 1)


def killed_between_stages() -> None:
    """Use the session without a stage after Spark has ended."""
    from tasks.spark import session

    warm = session.warm()
    session.kill()
    with pytest.raises(SparkStopped):
        SparkStages(warm).run(slow, range(2), advance=lambda *_: None)
    with pytest.raises(Exception, match=".") as caught:
        warm.range(3).count()
    assert isinstance(session.explained(caught.value), SparkStopped)
    error = ValueError("a fault of the step")
    assert session.explained(error) is error
    assert session.get().range(3).count() == 3
    disk = OSError(28, "No space left on device")
    assert session.explained(disk) is disk


def frozen_jvm() -> None:
    """End a stage of a frozen JVM, also by cancelling it."""
    from tasks.spark import session

    answering.ANSWER_SECONDS = 5.0
    answering.PULSE_SECONDS = 1.0
    stages_module.ANSWER_SECONDS = 5.0
    stages = SparkStages(session.warm())
    frozen = session._driver.process.pid
    strike([frozen], signal.SIGSTOP)
    with pytest.raises(SparkUnavailable, match="no longer answers"):
        stages.run(slow, range(4), advance=lambda *_: None)
    stages = SparkStages(session.warm())
    assert not processes.ticks(frozen)
    answering.PULSE_SECONDS = 100.0
    cancelled = session._driver.process
    strike([cancelled.pid], signal.SIGSTOP)
    with pytest.raises(KeyError, match="cancelled"):
        stages.run(slow, range(40), advance=cancel_after(4.0))
    assert cancelled.wait(60) == -signal.SIGKILL


def cancel_after(seconds: float):
    """Return a progress callback that cancels after some seconds."""
    deadline = time.monotonic() + seconds

    def advance(done: int, words: str) -> None:
        if time.monotonic() > deadline:
            raise KeyError("cancelled")

    return advance


def killed_python() -> None:
    """Kill the daemon and its workers; Spark starts others."""
    from tasks.spark import session

    stages = SparkStages(session.warm())
    strike(descendants(session._driver.process.pid), signal.SIGKILL)
    assert stages.run(slow, range(4), advance=lambda *_: None) == [0, 1, 2, 3]


def killed_idle_python() -> None:
    """Kill idle workers; Spark notices when it uses one, and fails the stage.

    The stage is not at fault: a later run succeeds, however many workers were idle.
    """
    from tasks.spark import session

    stages = SparkStages(session.warm())
    for _ in range(3):
        assert stages.run(short, range(4)) == [0, 1, 2, 3]
        for pid in descendants(session._driver.process.pid):
            os.kill(pid, signal.SIGKILL)
        assert in_the_end(lambda: stages.run(short, range(4))) == [0, 1, 2, 3]


def in_the_end(run, most: int = 5):
    """Call ``run`` until Spark is available, and return its result."""
    for _ in range(most - 1):
        with suppress(SparkUnavailable):
            return run()
    return run()


def strike(pids: list[int], number: int) -> None:
    """Send a signal in the middle of the stage that begins now."""
    assert pids
    threading.Timer(1.5, lambda: [os.kill(pid, number) for pid in pids]).start()
