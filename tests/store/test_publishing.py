"""A crash leaves the old recording or the new one, and a reader never sees half."""

import os
import signal
import threading
from pathlib import Path

import pytest

from snapshots.store import reader
from snapshots.store.errors import StoreMissing
from snapshots.store.layout import MANIFEST, SIGNS
from snapshots.store.locations import REPLACED, Store, beside
from snapshots.store.publish import publish, sweep
from snapshots.store.reader import open_cached
from snapshots.store.writer import write_recording
from tests.builders import a_run, recorded


@pytest.fixture
def store(tmp_path) -> Store:
    return Store.at(tmp_path.as_uri())


def named(name: str):
    log = a_run().send("p->q", "m", value=1).log()
    return recorded(log._replace(header=log.header.__class__(name, "us", log.header.topology)))


def put(store: Store, place: str, name: str) -> None:
    folder = store.temporary(place)
    write_recording(named(name), folder)
    publish(folder, store.folder(place))


def name_at(store: Store, place: str) -> str:
    return open_cached(store.folder(place)).manifest.name


def names(store: Store) -> list[str]:
    return sorted(path.name for path in store.root.iterdir())


def test_a_published_recording_is_found_and_nothing_else_is_left(store):
    put(store, "7", "first")
    assert name_at(store, "7") == "first"
    assert names(store) == ["7"]


def test_publishing_again_replaces_the_recording_for_readers_too(store):
    put(store, "7", "first")
    before = open_cached(store.folder("7"))
    assert open_cached(store.folder("7")) is before
    put(store, "7", "second")
    assert name_at(store, "7") == "second"
    assert names(store) == ["7"]
    assert before.cut(before.tables.events.length).contents("p->q")[0].id == "m"


def test_signs_of_progress_are_not_published(store):
    folder = store.temporary("7")
    write_recording(named("first"), folder)
    (folder / f"{SIGNS}x").mkdir()
    (folder / f"{SIGNS}x" / "3").touch()
    publish(folder, store.folder("7"))
    assert not list(store.folder("7").glob(f"{SIGNS}*"))


def test_an_unfinished_recording_is_not_published(store):
    put(store, "7", "first")
    with pytest.raises(StoreMissing):
        publish(store.temporary("7"), store.folder("7"))
    assert name_at(store, "7") == "first"


def test_parts_that_the_manifest_does_not_list_are_dropped(store):
    folder = store.temporary("7")
    write_recording(named("first"), folder)
    (folder / "events" / "from-a-task-that-ran-twice.arrow").write_bytes(b"x")
    publish(folder, store.folder("7"))
    assert len(list((store.folder("7") / "events").iterdir())) == 1


def test_a_recording_that_was_being_replaced_is_put_back(store):
    put(store, "7", "first")
    store.folder("7").rename(beside(store.folder("7"), REPLACED))
    sweep(store)
    assert name_at(store, "7") == "first"
    assert names(store) == ["7"]


def test_leftovers_are_removed_unless_a_job_is_writing_them(store):
    put(store, "7", "first")
    store.temporary("7")
    busy = store.temporary("8")
    beside(store.folder("7"), REPLACED).mkdir()
    sweep(store, busy={"8"})
    assert names(store) == ["7", busy.name]
    sweep(store)
    assert names(store) == ["7"]


def test_a_sweep_of_a_store_that_does_not_exist_yet_does_nothing(tmp_path):
    assert sweep(Store(tmp_path / "not yet")) == []


def publish_and_be_killed(folder: Path, final: Path, renames: int) -> None:
    """Publish a recording, but be killed after ``renames`` renames."""
    rename, done = Path.rename, 0

    def counted(self, target):
        nonlocal done
        if done == renames:
            os.kill(os.getpid(), signal.SIGKILL)
        done += 1
        return rename(self, target)

    Path.rename = counted
    publish(folder, final)


@pytest.mark.parametrize(("renames", "survivor"), [(0, "first"), (1, "first"), (2, "second")])
def test_a_kill_at_any_moment_leaves_the_old_recording_or_the_new(store, renames, survivor):
    put(store, "7", "first")
    folder = store.temporary("7")
    write_recording(named("second"), folder)
    child = os.fork()
    if child == 0:
        try:
            publish_and_be_killed(folder, store.folder("7"), renames)
            os._exit(0)
        finally:
            os._exit(1)
    _, ended = os.waitpid(child, 0)
    assert os.waitstatus_to_exitcode(ended) == (0 if renames == 2 else -signal.SIGKILL)
    sweep(store)
    assert name_at(store, "7") == survivor
    assert names(store) == ["7"]


@pytest.mark.slow
def test_many_threads_see_whole_recordings_while_they_are_replaced(store):
    put(store, "7", "0")
    ended = threading.Event()
    wrong: list[BaseException] = []

    def read() -> None:
        while not ended.is_set():
            try:
                opened = open_cached(store.folder("7"))
                assert opened.cut(opened.tables.events.length).depths.tolist() == [1, 0]
            except StoreMissing:
                continue
            except BaseException as error:
                wrong.append(error)
                return

    threads = [threading.Thread(target=read) for _ in range(4)]
    for thread in threads:
        thread.start()
    for number in range(1, 20):
        put(store, "7", str(number))
    ended.set()
    for thread in threads:
        thread.join()
    assert wrong == []
    assert name_at(store, "7") == "19"


def test_only_the_last_few_recordings_stay_open(store):
    for number in range(12):
        put(store, str(number), "x")
    first = open_cached(store.folder("0"))
    for number in range(1, 12):
        open_cached(store.folder(str(number)))
    assert open_cached(store.folder("0")) is not first
    assert len(reader._open) <= 8


def test_a_manifest_is_written_last_of_all(store):
    folder = store.temporary("7")
    write_recording(named("first"), folder)
    manifest = (folder / MANIFEST).stat().st_mtime_ns
    assert all(path.stat().st_mtime_ns <= manifest for path in folder.rglob("*.*"))
