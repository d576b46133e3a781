"""The log to a file: what Cutline reads of it, also after kill -9, and what it refuses."""

import asyncio
import io
import json
import signal
import subprocess
import sys
import threading

import pytest

from snapshots.recorder import Log, header
from snapshots.recorder.counter import Counter
from snapshots.recorder.files import InUse
from snapshots.recorder.joining import join
from tests.recorder.judged import assembly_of, reports_of
from tests.stack import ROOT

BANKS = header("two banks", {"A": 10, "B": 0}, ["A->B", "B->A"])


def events_of(path):
    return [json.loads(line) for line in path.read_bytes().splitlines()[1:]]


def joined(*paths):
    whole = io.BytesIO()
    join(paths, whole)
    return whole.getvalue()


def test_two_logs_of_a_transfer_with_a_snapshot_are_one_consistent_recording(tmp_path):
    a, b = tmp_path / "a.jsonl", tmp_path / "b.jsonl"
    with Log.to_file("A", a, BANKS) as log_a, Log.to_file("B", b, BANKS) as log_b:
        message = log_a.sent("A->B", 4, state=6)
        log_a.recorded("s1", 6)
        log_a.marker_sent("A->B", "s1")
        log_b.recorded("s1", 0)
        log_b.marker_sent("B->A", "s1")
        log_b.received("A->B", message, 4, state=4)
        log_b.marker_received("A->B", "s1")
        log_b.recorded_channel("s1", "A->B", [message])
        log_a.marker_received("B->A", "s1")
        log_a.recorded_channel("s1", "B->A", [])
    text = joined(a, b)
    assert assembly_of(text).defects == ()
    (report,) = reports_of(text).values()
    assert report.counts.keys() == {"consistent"}
    assert report.totals.total == 10
    assert [len(messages) for messages in report.in_flight.values()] == [1, 0]


def test_every_kind_of_event_is_read_without_a_defect(tmp_path):
    path = tmp_path / "a.jsonl"
    values = [0, -1, 2.5, "“”\n", None, True, {"balance": [1, {"x": None}]}, 2**63 - 1]
    with Log.to_file("A", path, BANKS) as log:
        for value in values:
            log.state(value)
            log.sent("A->B", value, state=value)
        log.internal("pause")
        log.restored("s0")
        log.sent("A->B", 1, message="mine")
    assert [event.get("state") for event in events_of(path)[1:16:2]] == values
    recording = assembly_of(path.read_bytes())
    assert recording.defects == ()
    assert [event["index"] for event in events_of(path)] == list(range(19))


@pytest.mark.parametrize(
    ("value", "error"),
    [
        (float("nan"), ValueError),
        (2**63, ValueError),
        ({"x": [10**30]}, ValueError),
        ("\ud800", ValueError),
        (object(), TypeError),
    ],
)
def test_what_a_reader_would_refuse_is_refused_at_the_call_and_leaves_nothing(
    tmp_path, value, error
):
    with Log.to_file("A", tmp_path / "a.jsonl", BANKS) as log:
        with pytest.raises(error):
            log.state(value)
        with pytest.raises(ValueError, match="B->A.* is not an outgoing channel .* It has A->B"):
            log.sent("B->A")
        log.state(1)
    (event,) = events_of(tmp_path / "a.jsonl")
    assert (event["index"], event["state"]) == (0, 1)


def test_a_value_is_logged_as_it_was_at_the_call(tmp_path):
    state = {"balance": 1}
    with Log.to_file("A", tmp_path / "a.jsonl", BANKS) as log:
        log.state(state)
        state["balance"] = 2
    assert events_of(tmp_path / "a.jsonl")[0]["state"] == {"balance": 1}


def test_threads_and_coroutines_share_a_log_whose_times_never_fall(tmp_path, monkeypatch):
    path = tmp_path / "a.jsonl"
    clock = iter(range(10**9, 0, -1))
    monkeypatch.setattr("time.time_ns", lambda: next(clock))
    with Log.to_file("A", path, {**BANKS, "origin": 0}) as log:

        async def logged(count):
            for number in range(count):
                log.sent("A->B", number)
                await asyncio.sleep(0)

        async def together():
            await asyncio.gather(*(logged(50) for _ in range(4)))

        threads = [threading.Thread(target=lambda: asyncio.run(together())) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    events = events_of(path)
    assert [event["index"] for event in events] == list(range(800))
    assert {event["at"] for event in events} == {10**9}


def test_a_log_goes_on_behind_what_is_there_and_a_cut_off_line_goes(tmp_path):
    path = tmp_path / "a.jsonl"
    with Log.to_file("A", path, BANKS) as log:
        log.state(1)
    with path.open("ab") as file:
        file.write(b'{"kind":"internal","proc')
    with Log.to_file("A", path, {**BANKS, "origin": 0}) as log:
        log.state(2)
    assert [(e["index"], e["state"]) for e in events_of(path)] == [(0, 1), (1, 2)]
    assert events_of(path)[0]["at"] <= events_of(path)[1]["at"]


def test_a_file_of_another_process_or_system_or_in_use_is_refused(tmp_path):
    path = tmp_path / "a.jsonl"
    with Log.to_file("A", path, BANKS) as log:
        log.state(1)
        with pytest.raises(InUse, match="in use"):
            Log.to_file("A", path, BANKS)
    with pytest.raises(ValueError, match="log of the process A, not of B"):
        Log.to_file("B", path, BANKS)
    with pytest.raises(ValueError, match="another system"):
        Log.to_file("A", path, header("other", {"A": 1}, []))
    with pytest.raises(ValueError, match="does not name the process 'C'"):
        Log.to_file("C", tmp_path / "c.jsonl", BANKS)
    with pytest.raises(ValueError, match="Write it as 'A->B'"):
        header("h", {"A": 1}, ["A-B"])


@pytest.mark.parametrize("text", [b"notes\nof a person", b'{"kind": "header"}\nx', b"{}"])
def test_a_file_that_is_no_log_is_refused_and_stays_as_it_was(tmp_path, text):
    path = tmp_path / "notes.txt"
    path.write_bytes(text)
    with pytest.raises(ValueError, match="no log of the recorder"):
        Log.to_file("A", path, BANKS)
    assert path.read_bytes() == text


def test_a_header_that_was_cut_off_is_written_again(tmp_path):
    path = tmp_path / "a.jsonl"
    path.write_bytes(json.dumps(BANKS).encode()[:40])
    with Log.to_file("A", path, BANKS) as log:
        log.state(1)
    assert assembly_of(path.read_bytes()).defects == ()


KILLED = """
import os, signal, sys
from snapshots.recorder import Log, header, log
banks = header("two banks", {"A": 10, "B": 0}, ["A->B", "B->A"])
a = Log.to_file("A", sys.argv[1], banks)
for number in range(100):
    a.state(number)
a.flush()
a._write_lock.acquire()  # the disk hangs
for number in range(7):
    a.state(number)
os.kill(os.getpid(), signal.SIGKILL)
"""


def test_after_kill_9_a_gap_says_how_many_events_are_missing(tmp_path, caplog):
    path = tmp_path / "a.jsonl"
    killed = subprocess.run([sys.executable, "-c", KILLED, path], cwd=ROOT)
    assert killed.returncode == -signal.SIGKILL
    with Log.to_file("A", path, BANKS) as log:
        log.state(1)
    assert [event["index"] for event in events_of(path)] == [*range(100), 107]
    assert "7 events of A before this start are missing" in caplog.text
    (gap,) = assembly_of(path.read_bytes()).defects
    assert gap.code == "index-gap"


AT_ONCE = """
import os, signal, sys
from snapshots.recorder import Log, header
banks = header("two banks", {"A": 10, "B": 0}, ["A->B", "B->A"])
a = Log.to_file("A", sys.argv[1], banks, at_once=True)
for number in range(100):
    a.state(number)
os.kill(os.getpid(), signal.SIGKILL)
"""


def test_kill_9_takes_nothing_from_a_log_that_writes_at_once(tmp_path):
    path = tmp_path / "a.jsonl"
    killed = subprocess.run([sys.executable, "-c", AT_ONCE, path], cwd=ROOT)
    assert killed.returncode == -signal.SIGKILL
    with Log.to_file("A", path, BANKS) as log:
        log.state(1)
    assert [event["index"] for event in events_of(path)] == list(range(101))


def test_a_kill_before_the_first_event_is_written_leaves_a_gap_too(tmp_path, caplog):
    path = tmp_path / "a.jsonl"
    Log.to_file("A", path, BANKS).close()
    counted = Counter(tmp_path / "a.jsonl.count")
    counted.write(3, 5)
    counted.close()
    with Log.to_file("A", path, BANKS) as log:
        log.state(1)
    assert "3 events of A before this start are missing" in caplog.text
    assert [event["index"] for event in events_of(path)] == [3]


def test_a_log_that_goes_on_after_a_restore_is_judged_right(tmp_path):
    """2 are under way at the crash, and 4 were, at the snapshot: these come again."""
    with (
        Log.to_file("A", tmp_path / "a.jsonl", BANKS) as a,
        Log.to_file("B", tmp_path / "b.jsonl", BANKS) as b,
    ):
        first = a.sent("A->B", 4, state=6)
        take(a, b, "s1", (6, 0), [first])
        b.received("A->B", first, 4, state=4)
        a.sent("A->B", 2, state=4)
        for log, state in ((a, 6), (b, 0)):
            log.restored("s1", epoch=1)
            log.state(state)
        b.received("A->B", first, 4, state=4)
        second = a.sent("A->B", 1, state=5)
        take(a, b, "s2", (5, 4), [second])
        for log, state in ((a, 10), (b, 0)):
            log.restored(None, epoch=2)
            log.state(state)
        take(a, b, "s3", (10, 0), [])
    text = joined(tmp_path / "a.jsonl", tmp_path / "b.jsonl")
    assert assembly_of(text).defects == ()
    found = reports_of(text)
    assert [report.verdict for report in found.values()] == ["consistent"] * 3
    assert [report.totals.total for report in found.values()] == [10, 10, 10]


def take(a, b, name, states, waiting):
    for log, state in zip((a, b), states, strict=True):
        log.recorded(name, state)
    b.recorded_channel(name, "A->B", waiting)
    a.recorded_channel(name, "B->A", [])


def test_when_the_disk_is_full_a_gap_says_what_is_missing(tmp_path, caplog):
    path = tmp_path / "a.jsonl"
    log = Log.to_file("A", path, BANKS)
    log.state(1)
    log.flush()
    whole = log._target._lines._file
    with open("/dev/full", "wb", buffering=0) as full:  # noqa: PTH123
        log._target._lines._file = Full(whole, full)
        log.state(2)
        log.state(3)
        log.flush()
    log._target._lines._file = whole
    log.state(4)
    assert log.lost == 2
    log.close()
    assert "Events of A are lost" in caplog.text
    assert [(e["index"], e["state"]) for e in events_of(path)] == [(0, 1), (3, 4)]


class Full:
    """A file whose disk is full after the first bytes of a write."""

    def __init__(self, file, full):
        self.fileno, self.file, self.full = file.fileno, file, full

    def write(self, data):
        if len(data) > 20:
            return self.file.write(data[:20])
        return self.full.write(data)


def test_a_log_that_is_closed_takes_no_events(tmp_path):
    log = Log.to_file("A", tmp_path / "a.jsonl", BANKS)
    log.close()
    log.close()
    with pytest.raises(ValueError, match="closed"):
        log.state(1)


def test_the_command_joins_logs_and_refuses_those_of_other_systems(tmp_path):
    paths = [tmp_path / f"{name}.jsonl" for name in "AB"]
    for name, path in zip("AB", paths, strict=True):
        with Log.to_file(name, path, {**BANKS, "origin": 5 if name == "A" else 8}) as log:
            log.state(1)
    whole, other = tmp_path / "whole.jsonl", tmp_path / "other.jsonl"
    command = [sys.executable, "-m", "snapshots.recorder", "join"]
    subprocess.run([*command, *paths, "--into", whole], cwd=ROOT, check=True)
    assert json.loads(whole.read_bytes().splitlines()[0])["origin"] == 5
    assert assembly_of(whole.read_bytes()).defects == ()
    other.write_text("{}\n")
    refused = subprocess.run(
        [*command, paths[0], other, "--into", tmp_path / "none.jsonl"],
        cwd=ROOT,
        capture_output=True,
        text=True,
    )
    assert refused.returncode == 1
    assert "no header with an origin" in refused.stderr
    assert not list(tmp_path.glob("none*"))


FORKED = """
import os, sys
from snapshots.recorder import Log, header
log = Log.to_file("A", sys.argv[1], header("two banks", {"A": 10, "B": 0}, ["A->B", "B->A"]))
log._write_lock.acquire()  # what is logged waits in memory, so the child has it too
log.state(1)
if (child := os.fork()) == 0:
    log._write_lock.release()
    try:
        log.state(2)
    except ValueError as error:
        print(error)
    log.flush()
    log.close()
    sys.exit()
os.waitpid(child, 0)
log._write_lock.release()
log.state(3)
log.close()
"""


def test_a_child_of_a_fork_writes_nothing_into_the_log_of_its_parent(tmp_path):
    path = tmp_path / "a.jsonl"
    command = [sys.executable, "-c", FORKED, path]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, timeout=60, check=True)
    assert [event["state"] for event in events_of(path)] == [1, 3]
    assert b"opened before this process was forked" in done.stdout
