"""What a killed Spark leaves in DATA_DIR/tmp/spark is removed; what is in use stays."""

import os
import signal
import subprocess
import sys
import time

import pytest

from tasks.spark import scratch
from tests.spark.running import processes
from tests.stack import ROOT, clean_environment


@pytest.fixture
def base(tmp_path, settings):
    settings.DATA_DIR = tmp_path
    return tmp_path / "tmp" / "spark"


def test_a_folder_is_its_owner_s_alone_and_goes_with_its_session(base):
    folder = scratch.Scratch()
    assert folder.path.parent == base
    assert [path.stat().st_mode & 0o777 for path in (folder.path, base)] == [0o700, 0o700]
    assert scratch.sweep() == []
    folder.remove()
    assert list(base.iterdir()) == []


def test_the_folder_of_a_killed_process_goes_and_that_of_a_living_one_stays(base, tmp_path):
    living = scratch.Scratch()
    killed = a_process_with_a_folder(tmp_path)
    [left] = set(base.iterdir()) - {living.path}
    (left / "blockmgr-1").mkdir()
    assert scratch.sweep() == []
    killed.kill()
    killed.wait()
    assert scratch.sweep() == [left]
    assert list(base.iterdir()) == [living.path]
    living.remove()


def test_folders_of_earlier_versions_go_after_a_day(base):
    scratch.Scratch().remove()
    old, new = base / "blockmgr-1", base / "blockmgr-2"
    for folder in (old, new):
        (folder / "0a").mkdir(parents=True)
    yesterday = time.time() - 25 * 3600
    os.utime(old, (yesterday, yesterday))
    assert scratch.sweep() == [old]
    assert list(base.iterdir()) == [new]


def a_process_with_a_folder(data) -> subprocess.Popen:
    code = (
        "from tasks.spark.scratch import Scratch; s = Scratch(); print('made', flush=True); input()"
    )
    process = subprocess.Popen(
        [sys.executable, "-c", code],
        cwd=ROOT,
        env=clean_environment() | {"DATA_DIR": str(data)},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    )
    assert process.stdout.readline() == b"made\n"
    return process


@pytest.mark.spark
@pytest.mark.slow
@pytest.mark.long
def test_leftovers_of_killed_jvms_and_worker_processes_are_removed(tmp_path, settings):
    processes.run(__name__, "jvm_is_killed", DATA_DIR=tmp_path)
    with pytest.raises(AssertionError):
        processes.run(__name__, "process_is_killed", DATA_DIR=tmp_path)
    settings.DATA_DIR = tmp_path
    base = tmp_path / "tmp" / "spark"
    assert len(list(base.glob("session-*/blockmgr-*"))) <= 1
    [_left] = scratch.sweep()
    assert list(base.iterdir()) == []


def jvm_is_killed() -> None:
    """Kill the JVM; the next start finds nothing of the last one."""
    from tasks.spark import session

    session.get()
    before = session._driver.scratch.path
    assert list(before.glob("blockmgr-*"))
    os.kill(session._driver.process.pid, signal.SIGKILL)
    session.get()
    assert list(before.parent.iterdir()) == [session._driver.scratch.path]


def process_is_killed() -> None:
    from tasks.spark import session

    session.get()
    os.kill(os.getpid(), signal.SIGKILL)
