"""The log to an open recording: every event arrives, whatever the server does."""

import json
import signal
import subprocess
import sys
import threading
import time

import pytest

from snapshots.recorder import Log, header
from snapshots.recorder.files import InUse
from snapshots.recorder.spool import Spool
from tests.recorder.open_recordings import CUT, IDLE, LATE, LONG, OpenRecording
from tests.stack import ROOT

BANKS = header("two banks", {"A": 10, "B": 0}, ["A->B", "B->A"])
QUICK = {"timeout": 0.3, "pauses": (0.01, 0.05)}


def a_log(server, folder, **options):
    sending = {"token": "secret", **QUICK, **options}
    return Log.to_server("A", server.address, BANKS, spool=folder / "spool", **sending)


def wait_until(holds):
    limit = time.monotonic() + 60
    while not holds():
        assert time.monotonic() < limit, "this never happened"
        time.sleep(0.01)


def indices(server):
    return sorted(index for _, index in server.events)


@pytest.mark.parametrize(
    "plan", [(), (500, 503), (CUT, CUT), (LATE,), (429, 401, 404), (500, CUT, LATE, 502)]
)
def test_every_event_arrives_once_whatever_the_server_does(tmp_path, plan):
    with OpenRecording(plan) as server:
        log = a_log(server, tmp_path)
        for number in range(200):
            log.sent("A->B", number, state=-number)
            if number % 50 == 0:
                log.flush()
        log.close(timeout=30)
        assert indices(server) == list(range(200))
        assert server.events["A", 7]["value"] == 7
        assert server.tokens == {"Bearer secret"}
        assert server.bodies > len(plan)


def test_events_can_gather_before_they_are_sent(tmp_path):
    with OpenRecording() as server:
        log = a_log(server, tmp_path, at_once=True, gather=0.3)
        for number in range(30):
            log.state(number)
            time.sleep(0.01)
        log.close(timeout=30)
        assert log.waiting_bytes == 0
        assert indices(server) == list(range(30))
        assert server.bodies <= 3


def test_events_gather_also_while_more_come_with_each_answer(tmp_path):
    with OpenRecording() as server:
        log = a_log(server, tmp_path, at_once=True, gather=0.3)
        take, is_over = server.take, threading.Event()

        def and_log_another(body):
            take(body)
            if not is_over.is_set():
                log.state(1)

        server.take = and_log_another
        log.state(0)
        time.sleep(1)
        is_over.set()
        log.close(timeout=30)
        assert log.waiting_bytes == 0
        assert 1 <= server.bodies <= 6


def test_while_the_server_is_away_events_wait_and_are_sent_at_the_next_start(tmp_path, caplog):
    with OpenRecording() as server:
        pass
    log = a_log(server, tmp_path)
    log.state(1)
    wait_until(lambda: log.problem)
    log.close(timeout=0)
    assert "The server does not answer" in caplog.text
    assert "secret" not in caplog.text
    with OpenRecording(port=server.port) as server:
        log = a_log(server, tmp_path)
        log.state(2)
        log.close(timeout=30)
        assert indices(server) == [0, 1]
    assert log.problem is None


KILLED = """
import os, signal, sys
from snapshots.recorder import Log, header
banks = header("two banks", {"A": 10, "B": 0}, ["A->B", "B->A"])
log = Log.to_server("A", sys.argv[1], banks, token="secret", spool=sys.argv[2])
for number in range(1000):
    log.state(number)
    if number == 989:
        log.flush()
        log._write_lock.acquire()  # the disk hangs
os.kill(os.getpid(), signal.SIGKILL)
"""


def test_what_waits_outlives_kill_9_and_a_gap_says_what_was_in_memory(tmp_path):
    with OpenRecording() as server:
        pass
    command = [sys.executable, "-c", KILLED, server.address, tmp_path / "spool"]
    assert subprocess.run(command, cwd=ROOT).returncode == -signal.SIGKILL
    with OpenRecording(port=server.port) as server:
        log = a_log(server, tmp_path)
        log.state(0)
        log.close(timeout=30)
        assert indices(server) == [*range(990), 1000]


def test_a_full_spool_leaves_a_gap_and_counts_it(tmp_path, caplog):
    with OpenRecording() as server:
        pass
    log = a_log(server, tmp_path, most_bytes=20_000)
    for number in range(1000):
        log.state(number)
        log.flush()
    lost = log.lost
    log.close(timeout=0)
    assert 0 < lost < 1000
    assert caplog.text.count("Events of A are lost, for the spool is full") == 1
    with OpenRecording(port=server.port) as server:
        log = a_log(server, tmp_path, most_bytes=20_000)
        wait_until(lambda: len(server.events) == 1000 - lost)
        log.state("again")
        log.close(timeout=30)
        assert indices(server) == [*range(1000 - lost), 1000]


def test_a_body_that_is_too_large_is_sent_in_parts_and_one_event_left_out(tmp_path, caplog):
    with OpenRecording(most_bytes=2_000) as server:
        log = a_log(server, tmp_path)
        for number in range(300):
            log.state("x" * 3_000 if number == 100 else number)
        log.close(timeout=30)
        assert indices(server) == [*range(100), *range(101, 300)]
    assert log.lost == 1
    assert "too large" in caplog.text


@pytest.mark.parametrize("plan", [(LONG, LONG), (IDLE, IDLE)])
def test_after_a_long_answer_or_an_idle_connection_nothing_is_sent_twice(tmp_path, caplog, plan):
    with OpenRecording(plan) as server:
        log = a_log(server, tmp_path)
        for number in range(3):
            log.state(number)
            wait_until(lambda number=number: len(server.events) > number)
            time.sleep(0.1)
        log.close(timeout=30)
        assert server.bodies == 3
    assert caplog.text == ""


def test_a_server_that_takes_no_event_at_all_does_not_lose_them_all(tmp_path, caplog):
    with OpenRecording([413] * 1000) as server:
        log = a_log(server, tmp_path)
        for number in range(50):
            log.state(number)
        wait_until(lambda: log.problem)
        log.close(timeout=30)
        assert "refuses the events with 413" in caplog.text
        assert log.lost == 3
        server.plan.clear()
        a_log(server, tmp_path).close(timeout=30)
        assert indices(server) == list(range(3, 50))


def test_a_refusal_stops_the_sending_and_keeps_the_events(tmp_path, caplog):
    with OpenRecording([409]) as server:
        log = a_log(server, tmp_path)
        log.state(1)
        wait_until(lambda: log.problem)
        log.state(2)
        log.close(timeout=30)
        assert server.bodies == 1
        assert "409: Not now. They stay in the spool" in caplog.text
        log = a_log(server, tmp_path)
        log.close(timeout=30)
        assert indices(server) == [0, 1]


def test_a_spool_belongs_to_one_process_and_one_recording(tmp_path):
    with OpenRecording() as server:
        log = a_log(server, tmp_path)
        with pytest.raises(InUse):
            a_log(server, tmp_path)
        log.state(1)
        log.close()
    with OpenRecording([409]) as server:
        log = a_log(server, tmp_path / "full")
        log.state(1)
        log.close()
        with pytest.raises(ValueError, match="of the process A for"):
            Log.to_server("B", server.address, BANKS, token="x", spool=tmp_path / "full/spool")
        with pytest.raises(ValueError, match="not the http or https address"):
            Log.to_server("A", "ftp://x", BANKS, token="x", spool=tmp_path / "other")
    assert not (tmp_path / "other").exists()


@pytest.mark.parametrize("owner", [b"", b"nonsense", b"[]", b'{"process": 1}', b'{"process": "A"}'])
def test_a_damaged_note_of_whose_the_spool_is_is_a_sentence_and_loses_nothing(tmp_path, owner):
    with OpenRecording([409]) as server:
        log = a_log(server, tmp_path)
        log.state(1)
        log.close()
        (tmp_path / "spool/owner").write_bytes(owner)
        with pytest.raises(ValueError, match="owner does not say whose events are in the spool"):
            a_log(server, tmp_path)
    assert b'"index":0' in (tmp_path / "spool/00000001.jsonl").read_bytes()


def test_an_empty_spool_can_be_used_for_another_recording(tmp_path):
    for _ in range(2):  # each server has another address
        with OpenRecording() as server:
            log = a_log(server, tmp_path)
            for number in range(3):
                log.state(number)
            log.close(timeout=30)
            assert indices(server) == [0, 1, 2]


def test_times_go_on_from_the_first_origin_after_a_restart(tmp_path):
    with OpenRecording() as server:
        for index, origin in enumerate((10**18, 10**18 + 10**15)):
            banks = header("two banks", {"A": 10, "B": 0}, ["A->B"], origin=origin)
            log = Log.to_server("A", server.address, banks, token="x", spool=tmp_path / "spool")
            before = time.time_ns()
            log.state(1)
            log.close(timeout=30)
            assert before - 10**18 <= server.events["A", index]["at"] <= time.time_ns() - 10**18


def test_a_token_that_cannot_be_sent_is_refused_and_not_quoted(tmp_path):
    with pytest.raises(ValueError, match="token") as refused:
        Log.to_server("A", "http://x/1", BANKS, token="hid\nden", spool=tmp_path / "spool")
    assert "hid" not in str(refused.value)
    assert not (tmp_path / "spool").exists()


def test_a_spool_gives_back_all_lines_in_order_and_frees_what_was_taken(tmp_path):
    spool = Spool(tmp_path, 8_000)
    read = []
    for number in range(1000):
        assert spool.append(b"%d\n" % number * 3)
        if number % 7 == 0:
            data, behind = spool.read(50)
            read.append(data)
            spool.take(behind)
        if number % 100 == 99:
            spool.close()
            spool = Spool(tmp_path, 8_000)
            while data := (step := spool.read(500))[0]:
                read.append(data)
                spool.take(step[1])
    assert b"".join(read) == b"".join(b"%d\n" % number * 3 for number in range(1000))
    assert spool.waiting_bytes == 0
    assert sum(path.stat().st_size for path in tmp_path.glob("*.jsonl")) <= 2_000
    spool.close()


def test_where_nothing_can_be_noted_the_spool_still_goes_on_and_frees_what_was_taken(tmp_path):
    (tmp_path / "taken.new").mkdir()  # no file can be written there
    spool = Spool(tmp_path, 80)
    for number in range(100):
        assert spool.append(b"%05d\n" % number)
        data, behind = spool.read(100)
        assert data == b"%05d\n" % number
        spool.take(behind)
    spool.close()
    spool = Spool(tmp_path, 80)
    assert spool.read(100)[0] in (b"", b"00099\n")
    spool.close()


def test_a_part_that_was_not_noted_as_taken_is_read_again(tmp_path):
    spool = Spool(tmp_path, 1_000)
    spool.append(b"1\n2\n")
    _, behind = spool.read(2)
    spool.close()
    spool = Spool(tmp_path, 1_000)
    assert spool.read(2) == (b"1\n", behind)
    spool.take(behind)
    assert json.loads((tmp_path / "taken").read_bytes()) == [1, 2]
    assert spool.read(1)[0] == b"2\n"
    spool.close()


@pytest.mark.parametrize(
    "taken", [b"", b"nonsense", b"{}", b"[1]", b"[1, -1]", b"[0, 5]", b"[9, 0]"]
)
def test_a_damaged_note_of_what_was_taken_is_a_sentence_and_loses_nothing(tmp_path, taken):
    spool = Spool(tmp_path, 1_000)
    spool.append(b"one\n")
    spool.close()
    (tmp_path / "taken").write_bytes(taken)
    with pytest.raises(ValueError, match="taken does not say .* Remove it: "):
        Spool(tmp_path, 1_000)
    (tmp_path / "taken").unlink()
    assert Spool(tmp_path, 1_000).read(100)[0] == b"one\n"


def test_a_power_cut_that_took_lines_which_the_server_has_hides_no_later_line(tmp_path):
    spool = Spool(tmp_path, 1_000)
    spool.append(b"one\ntwo\n")
    spool.take(spool.read(100)[1])
    spool.close()
    (tmp_path / "00000001.jsonl").write_bytes(b"one\n")
    spool = Spool(tmp_path, 1_000)
    assert spool.waiting_bytes == 0
    spool.append(b"three\n")
    assert spool.read(100)[0] == b"three\n"
