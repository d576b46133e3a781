"""The programs of docs/recorder.md do what the page says."""

import ast
import contextlib
import os
import re
import signal
import subprocess
import sys

import pytest

import snapshots.recorder
from snapshots.recorder import last_complete, next_epoch
from snapshots.recorder.pieces import SnapshotName, read_piece
from tests.recorder.judged import assembly_of, reports_of
from tests.recorder.test_kills import free_ports
from tests.stack import ROOT
from webapp.recorder_wheel import wheel

LOG, SERVER, RULES, BANK, START = re.findall(
    r"```python\n(.*?)```", (ROOT / "docs" / "recorder.md").read_text(), re.DOTALL
)


@pytest.fixture
def environment(tmp_path):
    """Return the variables with which Python finds the wheel under its own name."""
    (tmp_path / "recorder.whl").write_bytes(wheel())
    return {**os.environ, "PYTHONPATH": str(tmp_path / "recorder.whl")}


def test_the_log_is_consistent_with_one_message_in_the_channel(tmp_path, environment):
    options = {"cwd": tmp_path, "env": environment, "check": True}
    subprocess.run([sys.executable, "-c", LOG], **options)
    command = ["-m", "cutline_recorder", "join", "a.jsonl", "b.jsonl", "--into", "whole.jsonl"]
    subprocess.run([sys.executable, *command], **options)
    whole = (tmp_path / "whole.jsonl").read_bytes()
    assert assembly_of(whole).defects == ()
    (report,) = reports_of(whole).values()
    assert report.verdict == "consistent"
    assert list(map(len, report.in_flight.values())) == [1, 0]


@pytest.mark.parametrize("program", [SERVER, RULES, BANK, START])
def test_every_name_that_a_program_imports_is_there(program):
    imports = [node for node in ast.parse(program).body if isinstance(node, ast.ImportFrom)]
    names = {
        name.name for node in imports if node.module == "cutline_recorder" for name in node.names
    }
    assert names <= set(snapshots.recorder.__all__)


@pytest.mark.slow
def test_the_banks_go_on_from_the_last_snapshot_after_a_kill(tmp_path, environment):
    ports = free_ports(2)
    bank = BANK.replace("7001", str(ports[0])).replace("7002", str(ports[1]))
    (tmp_path / "bank.py").write_text(bank)
    (tmp_path / "start.py").write_text(START)
    folders = [tmp_path / "A", tmp_path / "B"]
    for epoch in range(3):
        said = run_until_a_snapshot(tmp_path, environment)
        assert next_epoch(folders) == epoch + 1
        assert last_complete(folders).startswith(f"e{epoch}-")
        assert count(said, r"\w begins with") == 2
        assert money_in(folders) == 2000


def money_in(folders):
    name = SnapshotName.parse(last_complete(folders))
    pieces = [read_piece(folder, name) for folder in folders]
    channels = [messages for piece in pieces for messages in piece["channels"].values()]
    waiting = [value for messages in channels for _, value in messages]
    return sum(piece["state"] for piece in pieces) + sum(waiting)


def count(lines, beginning):
    return sum(re.match(beginning, line) is not None for line in lines)


def run_until_a_snapshot(folder, environment):
    """Start the banks, kill one after two snapshots, and return what they said.

    Each line has to be written at once, as Python does without PYTHONUNBUFFERED, so that the lines
    of two banks do not mix.
    """
    started = subprocess.Popen(
        [sys.executable, "start.py"],
        cwd=folder,
        env={name: value for name, value in environment.items() if name != "PYTHONUNBUFFERED"},
        text=True,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
    try:
        said = []
        while count(said, r"e\d") < 2 or count(said, r"\w begins with") < 2:
            said.append(started.stdout.readline())
            assert said[-1], said
        (victim, *_) = children_of(started.pid)
        os.kill(victim, signal.SIGKILL)
        started.communicate(timeout=60)  # the other one has noticed
        return said
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(started.pid, signal.SIGKILL)
        started.wait()


def children_of(pid):
    with open(f"/proc/{pid}/task/{pid}/children") as file:  # noqa: PTH123
        return [int(child) for child in file.read().split()]
