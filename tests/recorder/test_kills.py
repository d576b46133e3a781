"""Banks as processes of the operating system, killed at random moments and all restored."""

import contextlib
import io
import os
import random
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

import pytest

from snapshots.recorder import last_complete, next_epoch
from snapshots.recorder.joining import join
from snapshots.recorder.pieces import SnapshotName, read_piece
from tests.recorder.bank import LOST_A_PEER, STALE, START
from tests.recorder.judged import reports_of
from tests.stack import ROOT

NAMES = "ABC"


def free_ports(count):
    with contextlib.ExitStack() as stack:
        sockets = [stack.enter_context(socket.socket()) for _ in range(count)]
        for one in sockets:
            one.bind(("127.0.0.1", 0))
        return [one.getsockname()[1] for one in sockets]


def bank(name, folder, ports, epoch, snapshot=None, *rounds, **environment):
    command = [sys.executable, "-m", "tests.recorder.bank", name, folder, ports, epoch]
    return subprocess.Popen(
        [*command, snapshot or "-", *rounds],
        cwd=ROOT,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        env={**os.environ, **environment},
    )


class Supervisor:
    """Starts the banks, kills one, lets the others notice, and starts all again."""

    def __init__(self, folder, seed):
        self.folder = folder
        self.folders = [folder / name for name in NAMES]
        self.ports = ",".join(map(str, free_ports(len(NAMES))))
        self.random = random.Random(seed)
        self.processes = {}
        self.in_flight = 0

    def start(self, *rounds):
        snapshot = last_complete(self.folders)
        self.check_total(snapshot)
        epoch = str(next_epoch(self.folders))
        for name in NAMES:
            self.processes[name] = bank(name, self.folder, self.ports, epoch, snapshot, *rounds)
        return snapshot

    def kill_one(self, when):
        """Kill a process ``starting``, during its restore, or ``running``, among snapshots."""
        if when == "running":
            for process in self.processes.values():
                assert process.stdout.readline() == b"ready\n"
        time.sleep(self.random.uniform(0, 0.4))
        victim = self.random.choice(NAMES)
        self.processes[victim].kill()
        assert self.processes[victim].wait(60) == -signal.SIGKILL
        for name, process in self.processes.items():
            if name != victim and when == "running":
                said = process.communicate(timeout=60)[0]
                assert process.returncode == LOST_A_PEER, said  # and not OLD_MESSAGE
        self.end()

    def finish(self):
        """Let all processes come to their end, none before the last has paid what it pays."""
        for process in self.processes.values():
            assert process.stdout.readline() == b"ready\n"
            assert process.stdout.readline() == b"finished\n"
        for process in self.processes.values():
            process.communicate(b"go\n", timeout=60)
        assert [process.wait(60) for process in self.processes.values()] == [0] * len(NAMES)

    def end(self):
        for process in self.processes.values():
            if process.poll() is None:
                process.kill()  # also one that is stopped
            process.wait(60)
            process.stdin.close()
            process.stdout.close()

    def check_total(self, snapshot):
        """All the money is in the last complete snapshot: in the banks and in their channels."""
        if snapshot is None:
            return
        pieces = [self.piece(folder, snapshot) for folder in self.folders]
        waiting = [
            value
            for piece in pieces
            for messages in piece["channels"].values()
            for _, value in messages
        ]
        self.in_flight += len(waiting)
        assert sum(piece["state"] for piece in pieces) + sum(waiting) == len(NAMES) * START

    def piece(self, folder, snapshot):
        return read_piece(folder, SnapshotName.parse(snapshot))


@pytest.mark.parametrize(
    "kills",
    [
        pytest.param(12, marks=pytest.mark.slow),
        pytest.param(100, marks=pytest.mark.long),
    ],
)
def test_the_money_is_the_same_after_every_kill(tmp_path, kills):
    supervisor = Supervisor(tmp_path, kills)
    restored = []
    try:
        for number in range(kills):
            restored.append(supervisor.start())
            supervisor.kill_one("starting" if number % 3 == 2 else "running")
        restored.append(supervisor.start("3"))
        supervisor.finish()
    finally:
        supervisor.end()
    supervisor.check_total(last_complete(supervisor.folders))
    print(f"{kills} kills, {len(set(restored))} restore points, {supervisor.in_flight} in channels")
    assert len(set(restored)) > kills / 3
    assert supervisor.in_flight > 0
    assert restored == sorted(restored, key=lambda name: (name and SnapshotName.parse(name)) or ())


@pytest.mark.slow
def test_a_process_that_slept_through_the_restore_is_refused_with_all_that_it_wanted_to_say(
    tmp_path,
):
    """A has paid and is stopped before it is connected; the others go on without it.

    It is on a machine of its own, whose folders and address the new A does not have.
    """
    supervisor = Supervisor(tmp_path, 1)
    ports = supervisor.ports.split(",")
    elsewhere = tmp_path / "of the old machine"
    elsewhere.mkdir()
    old = bank("A", elsewhere, supervisor.ports, "0", PAYS_FIRST="yes")
    supervisor.processes["old"] = old
    try:
        assert old.stdout.readline() == b"paid\n"
        old.send_signal(signal.SIGSTOP)
        addresses = ",".join([str(free_ports(1)[0]), *ports[1:]])
        for name in NAMES:
            supervisor.processes[name] = bank(name, tmp_path, addresses, "1", None, "40")
        for name in NAMES:
            assert supervisor.processes[name].stdout.readline() == b"ready\n"
        old.send_signal(signal.SIGCONT)
        assert old.wait(60) == STALE
        assert b"in epoch 1, this node in epoch 0" in old.stdout.read()
        del supervisor.processes["old"]
        for process in supervisor.processes.values():
            assert process.stdout.readline() == b"finished\n"
        for process in supervisor.processes.values():
            process.communicate(b"go\n", timeout=60)
        assert [process.wait(60) for process in supervisor.processes.values()] == [0, 0, 0]
    finally:
        supervisor.end()
    supervisor.check_total(last_complete(supervisor.folders))


@pytest.mark.slow
def test_the_logs_of_undisturbed_banks_are_judged_consistent(tmp_path):
    supervisor = Supervisor(tmp_path, 1)
    try:
        supervisor.start("40")
        supervisor.finish()
    finally:
        supervisor.end()
    whole = io.BytesIO()
    join([Path(tmp_path, f"{name}.jsonl") for name in NAMES], whole)
    reports = reports_of(whole.getvalue())
    assert len(reports) > 3
    for report in reports.values():
        assert report.verdict == "consistent"
        assert report.totals.total == len(NAMES) * START
    assert any(any(report.in_flight.values()) for report in reports.values())
