"""Processes that `make run` supervises: killed, started again, and never left behind."""

import os
import re
import signal
import time

import pytest

from tests.webapp.launched import PATIENCE_SECONDS, LaunchedWith, wait_until_nothing_is_left
from webapp import launch
from webapp.operating import folder_lock

pytestmark = pytest.mark.slow

SLOW_TO_END = "worker: echo begun $$; trap '' TERM; while :; do sleep 0.1; done\n"


def most_workers_until_it_says(run: LaunchedWith, pattern: str) -> int:
    most = 0
    deadline = time.monotonic() + PATIENCE_SECONDS
    while not re.search(pattern, run.said()):
        assert time.monotonic() < deadline, run.said()
        most = max(most, len(run.workers()))
    return max(most, len(run.workers()))


@pytest.mark.long
def test_after_a_killed_launcher_the_next_waits_for_its_processes(launched_with):
    first = launched_with(SLOW_TO_END)
    first.wait_to_say(r"begun \d+")
    for keeper in first.keepers():
        keeper.suspend()  # a busy machine: they notice late that their launcher is gone
    first.process.kill()
    second = launched_with(SLOW_TO_END)
    time.sleep(4)
    for keeper in second.keepers():
        keeper.resume()
    assert most_workers_until_it_says(second, r"begun \d+") == 1


def test_processes_do_not_outlive_a_launcher_and_keepers_that_are_killed(launched_with):
    first = launched_with(SLOW_TO_END)
    first.wait_to_say(r"begun \d+")
    first.process.kill()
    for keeper in first.keepers():
        keeper.kill()
    second = launched_with(SLOW_TO_END)
    assert most_workers_until_it_says(second, r"begun \d+") == 1


def killed(launched_with) -> LaunchedWith:
    """Return a launcher that was killed, and that left a process in a session of its own."""
    first = launched_with("worker: setsid sleep 1002 & echo begun $$; wait\n")
    first.wait_to_say(r"begun \d+")
    first.process.kill()
    first.process.wait()
    return first


def test_what_make_started_ends_with_it(launched_with):
    run = launched_with("worker: echo begun $$; exec sleep 1000\n", by_make=True)
    run.wait_to_say(r"begun \d+")
    run.process.kill()
    run.process.wait()
    wait_until_nothing_is_left(run)


def test_a_start_ends_what_a_killed_launcher_left(launched_with, tmp_path, monkeypatch):
    first = killed(launched_with)
    monkeypatch.setattr(folder_lock, "WAIT_SECONDS", 1)
    launch.lock_folder(tmp_path / "var").close()
    assert first.left() == []


def test_a_start_names_what_it_may_not_end(launched_with, tmp_path, monkeypatch):
    killed(launched_with)
    monkeypatch.setattr(folder_lock, "WAIT_SECONDS", 0)
    monkeypatch.setattr(folder_lock, "DYING_SECONDS", 0.5)
    monkeypatch.setattr(os, "kill", lambda pid, number: None)
    with pytest.raises(launch.CannotStart, match=r"these processes go on \(pid \d+: "):
        launch.lock_folder(tmp_path / "var")


def test_a_keeper_that_is_killed_stops_everything(supervised):
    run = supervised("echo begun; exec sleep 1000")
    run.wait_to_say("begun")
    for process in run.descendants():
        if process.pid != run.process.pid and "Supervisor" in run.command_of(process):
            process.kill()
    assert run.process.wait(PATIENCE_SECONDS) == 1
    wait_until_nothing_is_left(run)


def test_what_is_killed_starts_again(supervised):
    run = supervised("echo begun $$; exec sleep 1000")
    pid = int(run.wait_to_say(r"begun (\d+)")[1])
    os.kill(pid, signal.SIGKILL)
    run.wait_to_say(rf"begun (?!{pid}\b)\d+")
    assert "done once" in run.said()


def test_what_a_killed_process_leaves_ends_before_it_starts_again(supervised):
    run = supervised("sleep 1001 & echo begun $$; exec sleep 1000")
    pid = int(run.wait_to_say(r"begun (\d+)")[1])
    os.kill(pid, signal.SIGKILL)
    run.wait_to_say(rf"begun (?!{pid}\b)\d+")
    assert run.left().count("sleep 1001") == 1


def test_what_started_again_stops_like_the_first(supervised):
    run = supervised("echo begun $$; exec sleep 1000")
    pid = int(run.wait_to_say(r"begun (\d+)")[1])
    os.kill(pid, signal.SIGKILL)
    run.wait_to_say(rf"begun (?!{pid}\b)\d+")
    os.killpg(run.process.pid, signal.SIGINT)
    assert run.process.wait(PATIENCE_SECONDS) == 0
    assert "SIGKILL" not in run.said()


def test_what_cannot_start_stops_everything(supervised):
    run = supervised("echo broken; exit 3")
    assert run.process.wait(PATIENCE_SECONDS) == 1
    assert run.said().count("broken") == 3
    wait_until_nothing_is_left(run)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_stop_leaves_nothing(supervised, number):
    run = supervised("sleep 1001 & echo begun; exec sleep 1000")
    run.wait_to_say("begun")
    os.killpg(run.process.pid, number)
    assert run.process.wait(PATIENCE_SECONDS) == 0
    wait_until_nothing_is_left(run)


def test_a_killed_launcher_leaves_nothing(supervised):
    run = supervised("sleep 1001 & echo begun; exec sleep 1000")
    run.wait_to_say("begun")
    run.process.kill()
    wait_until_nothing_is_left(run)
