"""Requests of one question travel at the same time, and nothing is done twice without need."""

import threading
import time

import numpy as np
import pytest

from bench.objects import Rounds
from bench.synthetic_store import write_synthetic
from snapshots.store.errors import StoreDamaged
from snapshots.store.objects import catalogues, client
from snapshots.store.objects.far import far_file
from snapshots.store.objects.paths import path_of, put_tree
from snapshots.store.objects.together import Missing, together
from snapshots.store.publish import publish
from snapshots.store.reader import StoredRecording

pytestmark = pytest.mark.slow

DELAY = 0.05  # seconds of each request, so that those of one round overlap


@pytest.fixture
def stored(bucket, tmp_path):
    """Return a recording of which each table has four parts, on an object store."""
    write_synthetic(tmp_path, 120_000)
    folder = path_of(f"{bucket}/store/j1-1")
    put_tree(tmp_path, folder)
    publish(folder, folder)
    catalogues.forget_all()
    return folder


@pytest.fixture
def rounds(monkeypatch) -> Rounds:
    """Return what counts how often this process waits for the object store, which is slow."""
    counter = Rounds()

    def slowly(read):
        def read_later(*place: object) -> bytes:
            time.sleep(DELAY)
            return read(*place)

        return counter.counting(read_later)

    for name in ("read", "read_range"):
        monkeypatch.setattr(client, name, slowly(getattr(client, name)))
    return counter


def test_a_recording_opens_with_one_request_and_a_cold_cut_waits_six_times(stored, rounds):
    before, _ = client.traffic.seen()
    recording = StoredRecording.open(stored)
    assert (client.traffic.seen()[0] - before, rounds.count) == (1, 1)
    for table in ("events", "messages"):
        assert len(recording.manifest.parts_of(table)) == 4
    cut = recording.cut(recording.positions_at(step=60_000))
    assert cut.consistent
    assert len(cut.all_contents()) == 800
    assert len(cut.states) == 50
    assert rounds.count - 1 <= 6


def test_a_part_that_is_missing_is_named_also_when_all_are_read_at_once(stored):
    recording = StoredRecording.open(stored)
    for part in recording.manifest.parts_of("messages"):
        (stored / part.file).unlink()
    with pytest.raises(StoreDamaged, match=r"messages/.*: It is missing"):
        _ = recording.cut(recording.positions_at(step=60_000)).consistent


def test_what_is_in_memory_is_read_in_the_own_thread_and_once():
    made = []

    def call(number: int) -> int:
        made.append((number, threading.get_ident()))
        return number

    assert together([lambda: call(1), lambda: call(2)]) == [1, 2]
    assert made == [(1, threading.get_ident()), (2, threading.get_ident())]


def test_calls_that_must_wait_wait_together_and_keep_their_places(bucket):
    files = []
    for number in range(3):
        path = path_of(f"{bucket}/{number}")
        path.write_bytes(bytes([number]) * 10)
        files.append(far_file(path))
    files[1].fetch(np.array([0]), np.array([10]))
    all_here = threading.Barrier(2, timeout=30)
    threads = set()

    def read(number: int) -> bytes:
        content = files[number].between(0, 1)
        if number != 1:
            all_here.wait()
            threads.add(threading.get_ident())
        return content

    found = together([lambda number=number: read(number) for number in range(3)])
    assert found == [b"\0", b"\1", b"\2"]
    assert len(threads) == 2


def test_within_a_call_that_is_tried_nothing_waits(bucket):
    path = path_of(f"{bucket}/file")
    path.write_bytes(b"content")
    file = far_file(path)
    tried = []

    def inner() -> bytes:
        return file.between(0, 7)

    def outer() -> list[bytes]:
        try:
            return together([inner])
        except Missing:
            tried.append(threading.get_ident())
            raise

    assert together([outer, inner]) == [[b"content"], b"content"]
    assert tried == [threading.get_ident()]
    assert together([outer]) == [[b"content"]]


def test_a_published_recording_says_without_a_request_what_it_does_not_have(stored):
    StoredRecording.open(stored)
    before = client.traffic.seen()
    assert not (stored / "restores.arrow").exists()
    assert not (stored / "events" / "nothing.arrow").exists()
    assert client.traffic.seen() == before
    assert (stored / "events").exists()
    assert (stored / "published").is_file()
