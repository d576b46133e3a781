"""Banks that are killed at random moments and go back, and what Cutline's judge says of the log."""

import contextlib
import json
import random
import time

import pytest

from snapshots.banks.server import Server
from snapshots.banks.system import KILLED, RUNNING, System
from snapshots.recorder import last_complete
from snapshots.recorder.pieces import SnapshotName, read_piece
from tests.recorder.judged import assembly_of, reports_of
from tests.recorder.open_recordings import OpenRecording

MOMENTS = ("before", "during", "after", "restoring")


class Banks:
    """Three banks that send their events to a server of open recordings."""

    def __init__(self, folder, recording, seed, **options):
        self.random = random.Random(seed)
        self.recording = recording
        self.system = System(3, folder, rate=30, **options)
        self.said = []
        self.system.begin(Server(f"http://127.0.0.1:{recording.port}", "secret"), 12)

    def until(self, holds):
        limit = time.monotonic() + 60
        while not holds():
            assert time.monotonic() < limit, self.said[-5:]
            self.hear(0.05)

    def hear(self, seconds):
        limit = time.monotonic() + seconds
        while time.monotonic() < limit:
            if self.system.said.empty():
                time.sleep(0.005)
            elif sentence := self.system.hear(*self.system.said.get()):
                self.said.append(sentence)
                assert "FAULT" not in sentence

    def all_run(self):
        self.until(lambda: len(self.system.running) == 3)

    def snapshot(self):
        before = self.system.snapshots
        self.system.snapshot(self.random.choice(self.system.names))
        self.until(lambda: self.system.snapshots != before)

    def kill(self, moment):
        """Kill a bank before, during or after a snapshot, or while all go back."""
        if moment != "restoring":
            self.all_run()
            self.hear(self.random.uniform(0, 0.3))
        if moment == "after":
            self.snapshot()
        elif moment == "during":
            self.system.snapshot(self.random.choice(self.system.names))
            time.sleep(self.random.uniform(0, 0.01))
        else:
            time.sleep(self.random.uniform(0, 0.3))
        victim = self.random.choice(self.system.names)
        self.system.kill(victim)
        self.until(lambda: self.system.places[victim].state == KILLED)

    def total(self):
        """Return the money in the last complete snapshot, in the banks and the channels."""
        folders = [self.system.folder / name for name in self.system.names]
        if (name := last_complete(folders)) is None:
            return self.system.total
        pieces = [read_piece(folder, SnapshotName.parse(name)) for folder in folders]
        waiting = [m[1] for piece in pieces for each in piece["channels"].values() for m in each]
        return sum(piece["state"] for piece in pieces) + sum(waiting)

    def ended(self):
        """Let the banks end and send what is left; return what the server has, as one log."""
        self.system.leave()
        assert self.system.send_rest() == []
        events = self.recording.events
        lines = [self.system.header, *(events[place] for place in sorted(events))]
        return b"".join(json.dumps(line).encode() + b"\n" for line in lines)


@contextlib.contextmanager
def running(folder, seed, **options):
    """Run banks beside a server of open recordings, and kill those that are left."""
    with OpenRecording() as recording:
        banks = Banks(folder, recording, seed, **options)
        try:
            yield banks
        finally:
            banks.system.kill_all()


@pytest.mark.parametrize(
    ("kills", "delay_ms"),
    [
        pytest.param(8, 50, marks=pytest.mark.slow),
        pytest.param(100, 0, marks=pytest.mark.long),
        pytest.param(100, 50, marks=pytest.mark.long),
    ],
)
def test_the_money_is_the_same_after_every_kill_and_the_log_has_no_defect(
    tmp_path, kills, delay_ms
):
    with running(tmp_path, kills, delay_ms=delay_ms) as banks:
        for number in range(kills):
            banks.kill(MOMENTS[number % len(MOMENTS)])
            banks.system.restore()
            assert banks.total() == banks.system.total
        banks.all_run()
        banks.snapshot()
        text = banks.ended()
    assert kills / 2 < banks.system.epoch <= kills  # one that nobody had begun is used again
    assert assembly_of(text).defects == ()
    verdicts = {name: report.verdict for name, report in reports_of(text).items()}
    assert set(verdicts.values()) <= {"consistent", "incomplete"}
    consistent = [r for r in reports_of(text).values() if r.verdict == "consistent"]
    assert len(consistent) > kills / 4
    assert {report.totals.total for report in consistent} == {banks.system.total}
    assert verdicts[banks.system.snapshots[0]["name"]] == "consistent"


@pytest.mark.slow
def test_on_a_slow_network_snapshots_find_money_in_the_channels(tmp_path):
    with running(tmp_path, 1, delay_ms=100) as banks:
        banks.all_run()
        banks.snapshot()
        banks.kill("during")
        banks.system.restore()
        banks.all_run()
        banks.snapshot()
        text = banks.ended()
    assert assembly_of(text).defects == ()
    shown = banks.system.snapshots
    assert all(each["channels"] > 0 for each in shown)
    assert {each["states"] + each["channels"] for each in shown} == {banks.system.total}
    reports = reports_of(text)
    assert {reports[each["name"]].verdict for each in shown} == {"consistent"}


@pytest.mark.slow
def test_states_read_by_clocks_that_are_wrong_are_no_snapshot(tmp_path):
    """A snapshot by markers of the same run is consistent, and has all the money."""
    with running(tmp_path, 1, skew_ms=200) as banks:
        banks.all_run()
        banks.snapshot()
        banks.until(lambda: len(banks.system.snapshots) == 2)
        banks.hear(0.5)
        reports = reports_of(banks.ended())
    naive = reports.pop("by-clock-1")
    (by_markers,) = reports.values()
    assert by_markers.verdict == "consistent"
    assert by_markers.totals.total == banks.system.total
    assert naive.verdict == "orphan"
    assert naive.findings[0].message
    (told,) = [each for each in banks.system.snapshots if each["initiator"] is None]
    assert told["channels"] is None


@pytest.mark.slow
def test_a_bank_that_waits_for_another_ends_with_the_process_that_started_it(tmp_path):
    with running(tmp_path, 3) as banks:
        banks.system.kill("C")  # which cannot be connected so soon
        waiting = [banks.system.places[name].process for name in "AB"]
        for process in waiting:
            process.stdin.close()
        assert [process.wait(60) for process in waiting] == [0, 0]


@pytest.mark.slow
def test_what_cannot_be_asked_for_is_said_and_changes_nothing(tmp_path):
    with running(tmp_path, 2) as banks:
        banks.all_run()
        assert banks.system.kill("Z") == "There is no bank Z. There are A, B, C."
        assert banks.system.snapshot("Z").startswith("There is no bank Z.")
        assert banks.system.kill("B").startswith("B is killed.")
        banks.until(lambda: not banks.system.running)
        assert banks.system.kill("B") == "B does not run."
        assert "Restore them first" in banks.system.snapshot("A")
        states = [place.state for place in banks.system.places.values()]
        assert states == ["stopped", KILLED, "stopped"]
        assert banks.system.restore() == "All banks go back to the start, in epoch 1."
        banks.all_run()
        assert [place.state for place in banks.system.places.values()] == [RUNNING] * 3
        banks.system.places["C"].process.kill()  # as somebody in a shell does
        banks.until(lambda: "C has ended by signal 9." in banks.said)
