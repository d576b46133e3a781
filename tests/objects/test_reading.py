"""Questions about a recording on an object store: few requests, few bytes, and the same answers."""

import socket
import subprocess
import sys
import threading
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from datetime import timedelta
from multiprocessing import get_context

import numpy as np
import pytest

from bench.synthetic_store import write_synthetic
from snapshots.store.errors import StoreDamaged, StoreMissing, StoreUnreachable
from snapshots.store.locations import Store
from snapshots.store.objects import catalogues, client, far
from snapshots.store.objects.client import traffic
from snapshots.store.objects.paths import object_root, path_of, put_tree, remove_tree, tree_bytes
from snapshots.store.publish import publish
from snapshots.store.reader import StoredRecording, open_cached
from snapshots.store.searching.words import read_query
from tests.stack import ROOT

pytestmark = pytest.mark.slow

EVENTS = 120_000  # enough for levels
CHANNELS = 800


@pytest.fixture(scope="module")
def disk(tmp_path_factory):
    """Return a recording on this machine's disk."""
    folder = tmp_path_factory.mktemp("stored")
    write_synthetic(folder, EVENTS, channels=CHANNELS)
    return folder


@pytest.fixture
def stored(disk, bucket):
    """Return the same recording on an object store, of which this process knows nothing yet."""
    folder = Store.at(f"{bucket}/store").temporary("j1-1")
    put_tree(disk, folder)
    publish(folder, folder)
    catalogues.forget_all()
    return folder


@pytest.fixture
def small_cache(monkeypatch):
    """Let the process keep a small part of what it reads."""
    most = 40 * far.BLOCK
    monkeypatch.setattr(far._blocks, "most", most)
    return most


def instants(folder, count: int) -> list[int]:
    extent = StoredRecording.open(folder).manifest.extent
    return np.random.default_rng(3).integers(extent.from_, extent.to, count).tolist()


def answer(recording: StoredRecording, instant: int) -> list[object]:
    cut = recording.cut(recording.positions_at(at=instant))
    return [cut.consistent, cut.depths.tolist(), cut.all_contents(), cut.states, cut.orphans()]


def test_a_cold_cut_takes_few_requests_and_a_part_of_the_bytes(disk, stored):
    size, [instant] = tree_bytes(stored), instants(disk, 1)
    requests, read = traffic.seen()
    recording = StoredRecording.open(stored)
    found = answer(recording, instant)
    requests, read = (
        now - then for now, then in zip(traffic.seen(), (requests, read), strict=True)
    )
    assert found == answer(StoredRecording.open(disk), instant)
    assert requests <= 50 < CHANNELS
    assert read < size

    before = traffic.seen()
    assert answer(recording, instant) == found
    assert traffic.seen() == before


def test_all_questions_have_the_answers_of_the_disk(disk, stored):
    far_away, near = StoredRecording.open(stored), StoredRecording.open(disk)
    extent = near.manifest.extent
    for axis, last in (("time", extent.to), ("order", extent.steps)):
        for share in (0.02, 1.0):
            window = [
                each.window(last * 0.3, last * (0.3 + share * 0.7), 600, axis)
                for each in (far_away, near)
            ]
            assert repr(window[0]) == repr(window[1])
    words = read_query("1234", near.manifest.time_unit)
    found = []
    for each in (far_away, near):
        search = each.search(words)
        while not search.is_complete:
            search.advance(1.0)
        found.append(search.steps(0, 50))
    assert found[0] == found[1] != []


def test_the_cache_is_bounded_and_threads_still_get_right_answers(disk, stored, small_cache):
    recording, near = StoredRecording.open(stored), StoredRecording.open(disk)
    asked = instants(disk, 24)
    expected = [answer(near, instant) for instant in asked]
    with ThreadPoolExecutor(6) as threads:
        assert list(threads.map(lambda instant: answer(recording, instant), asked)) == expected
    assert far.kept_bytes() <= small_cache


def test_of_blocks_of_one_hold_enough_are_dropped(stored, monkeypatch):
    monkeypatch.setattr(far._blocks, "most", 10 * far.BLOCK)
    part = StoredRecording.open(stored).manifest.parts_of("events")[0]
    file = far.far_file(stored / part.file)
    assert file.size > far._blocks.most
    file.fetch(np.array([0]), np.array([file.size]))
    assert far._blocks.most / 2 < far.kept_bytes() <= far._blocks.most


def test_a_block_that_is_being_read_is_not_dropped(stored, monkeypatch):
    monkeypatch.setattr(far._blocks, "most", far.BLOCK)
    part = StoredRecording.open(stored).manifest.parts_of("events")[0]
    file = far.far_file(stored / part.file)
    begin, end = np.array([0]), np.array([6])
    with file.held(begin, end):
        file.fetch(np.array([far.BLOCK]), np.array([file.size]))
        assert file.memory[:6] == b"ARROW1"
    file.fetch(np.array([far.BLOCK]), np.array([2 * far.BLOCK]))
    assert not file.present[0]
    assert file.memory[:6] == bytes(6)


class Interrupted:
    """A lock before which, if it is armed, another thread drops all blocks that nobody holds."""

    def __init__(self, lock) -> None:
        self.lock, self.is_armed = lock, False

    def __enter__(self):
        if self.is_armed:
            self.is_armed, most = False, far._blocks.most
            with self.lock:
                far._blocks.most = 0
                far._blocks.drop_oldest()
                far._blocks.most = most
        return self.lock.__enter__()

    def __exit__(self, *reasons) -> None:
        self.lock.__exit__(*reasons)


def test_a_block_in_a_gap_that_is_dropped_meanwhile_is_not_taken_for_there(bucket, monkeypatch):
    block = far.BLOCK
    content = np.random.default_rng(0).integers(1, 255, 4 * block, np.uint8).tobytes()
    path = path_of(f"{bucket}/file")
    path.write_bytes(content)
    file = far.far_file(path)
    file.fetch(np.array([block]), np.array([2 * block]))
    lock, fill = Interrupted(far._blocks.lock), far.FarFile._fill

    def filled(*piece) -> None:
        lock.is_armed = True
        fill(*piece)

    with monkeypatch.context() as other:
        other.setattr(far._blocks, "lock", lock)
        other.setattr(far.FarFile, "_fill", filled)
        file.fetch(np.array([0, 2 * block]), np.array([1, 2 * block + 1]))
    assert file.between(0, 4 * block) == content


def test_all_who_wait_for_a_store_that_says_nothing_fail_together(monkeypatch):
    asked, all_here = [], threading.Barrier(3)
    read_ranges = client.read_ranges

    def read(*place):
        asked.append(place)
        return read_ranges(*place)

    def fail(file) -> None:
        all_here.wait()
        with pytest.raises(StoreUnreachable, match="does not answer"):
            file.fetch(np.array([0]), np.array([1]))

    monkeypatch.setattr(client, "_SILENT", timedelta(seconds=1))
    monkeypatch.setattr(client, "_RETRIES", {"max_retries": 0})
    monkeypatch.setattr(client, "read_ranges", read)
    with socket.socket() as silent, ThreadPoolExecutor(3) as threads:
        silent.bind(("127.0.0.1", 0))
        silent.listen()
        monkeypatch.setenv("AWS_ENDPOINT_URL", f"http://127.0.0.1:{silent.getsockname()[1]}")
        file = far.FarFile(path_of("s3://silent/file"), client.Known(10**6))
        list(threads.map(fail, [file] * 3))
    assert len(asked) == 1


@pytest.mark.parametrize("content", [b"", b"ARROW1 and then something else"], ids=("empty", "odd"))
def test_a_damaged_catalogue_is_a_damaged_recording(stored, content):
    (stored / catalogues.CATALOGUE).write_bytes(content)
    with pytest.raises(StoreDamaged, match=r"published: It cannot be read"):
        open_cached(stored)


def test_a_key_with_signs_of_addresses_names_its_own_object(bucket):
    for name in ("a b.jsonl", "a%20b.jsonl", "d=1%3A0/x.jsonl", "a#1.jsonl"):
        (path_of(bucket) / name).write_bytes(name.encode())
        assert object_root(f"{bucket}/{name}").read_bytes() == name.encode()


def test_a_process_that_is_forked_after_a_request_says_why_it_cannot_send_one(bucket):
    path = path_of(f"{bucket}/file")
    path.write_bytes(b"1")
    with (
        ProcessPoolExecutor(1, mp_context=get_context("fork")) as child,
        pytest.raises(RuntimeError, match="forked"),
    ):
        child.submit(path.read_bytes).result(30)


def test_several_processes_with_caches_of_their_own_agree(disk, stored):
    asked = instants(disk, 3)
    expected = [repr(answer(StoredRecording.open(disk), instant)) for instant in asked]
    words = [sys.executable, "-m", "tests.objects.test_reading", str(stored), *map(str, asked)]
    running = [
        subprocess.Popen(words, cwd=ROOT, stdout=subprocess.PIPE, text=True) for _ in range(2)
    ]
    for process in running:
        told, _ = process.communicate(timeout=120)
        assert told.splitlines() == expected


def test_a_recording_is_there_only_when_it_is_published(disk, bucket):
    folder = Store.at(f"{bucket}/store").temporary("j2-1")
    with pytest.raises(StoreMissing):
        StoredRecording.open(folder)


def test_a_part_that_was_removed_is_named(stored):
    recording = StoredRecording.open(stored)
    part = recording.manifest.parts_of("events")[0]
    (stored / part.file).unlink()
    with pytest.raises(StoreDamaged, match=f"{part.file}.*missing|missing.*{part.file}"):
        recording.cut(recording.positions_at(step=EVENTS // 2)).all_contents()


def test_a_removed_recording_is_missing(stored):
    remove_tree(stored)
    with pytest.raises(StoreMissing):
        StoredRecording.open(stored)


if __name__ == "__main__":
    from snapshots.store.objects.paths import path_of

    opened = StoredRecording.open(path_of(sys.argv[1]))
    for text in sys.argv[2:]:
        print(repr(answer(opened, int(text))))
