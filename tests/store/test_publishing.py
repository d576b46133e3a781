"""A crash leaves the whole recording or nothing, and a reader never sees half."""

import gc
import os
import signal
from pathlib import Path

import pytest

from snapshots.store import reader
from snapshots.store.errors import StoreMissing
from snapshots.store.layout import MANIFEST, SIGNS
from snapshots.store.locations import Store
from snapshots.store.objects.paths import remove_tree
from snapshots.store.publish import publish
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


def test_what_was_published_is_never_replaced(store):
    put(store, "7", "first")
    with pytest.raises(OSError, match="not empty"):
        put(store, "7", "second")
    assert name_at(store, "7") == "first"


def test_a_folder_in_the_place_of_another_is_opened_again(store):
    put(store, "7", "first")
    before = open_cached(store.folder("7"))
    assert open_cached(store.folder("7")) is before
    store.folder("7").rename(store.folder("8"))
    put(store, "7", "second")
    assert name_at(store, "7") == "second"
    assert before.cut(before.tables.events.length).contents("p->q")[0].id == "m"


def test_signs_of_progress_are_not_published(store):
    folder = store.temporary("7")
    write_recording(named("first"), folder)
    (folder / f"{SIGNS}x").mkdir()
    (folder / f"{SIGNS}x" / "3").touch()
    publish(folder, store.folder("7"))
    assert not list(store.folder("7").glob(f"{SIGNS}*"))


def test_an_unfinished_recording_is_not_published(store):
    with pytest.raises(StoreMissing):
        publish(store.temporary("7"), store.folder("7"))
    assert not store.folder("7").exists()


def test_parts_that_the_manifest_does_not_list_are_dropped(store):
    folder = store.temporary("7")
    write_recording(named("first"), folder)
    (folder / "events" / "from-a-task-that-ran-twice.arrow").write_bytes(b"x")
    publish(folder, store.folder("7"))
    assert len(list((store.folder("7") / "events").iterdir())) == 1


def publish_and_be_killed(folder: Path, final: Path, *, has_renamed: bool) -> None:
    """Publish a recording, but be killed at the rename: before it, or after it."""
    rename = Path.rename

    def killed(self, target):
        if has_renamed:
            rename(self, target)
        os.kill(os.getpid(), signal.SIGKILL)

    Path.rename = killed
    publish(folder, final)


@pytest.mark.parametrize("has_renamed", [False, True])
def test_a_kill_at_any_moment_leaves_the_whole_recording_or_nothing(store, has_renamed):
    folder = store.temporary("7")
    write_recording(named("first"), folder)
    child = os.fork()
    if child == 0:
        try:
            publish_and_be_killed(folder, store.folder("7"), has_renamed=has_renamed)
        finally:
            os._exit(1)
    _, ended = os.waitpid(child, 0)
    assert os.waitstatus_to_exitcode(ended) == -signal.SIGKILL
    assert names(store) == ["7" if has_renamed else folder.name]
    if has_renamed:
        assert name_at(store, "7") == "first"


def test_only_the_last_few_recordings_stay_open(store):
    for number in range(12):
        put(store, str(number), "x")
    first = open_cached(store.folder("0"))
    for number in range(1, 12):
        open_cached(store.folder(str(number)))
    assert open_cached(store.folder("0")) is not first
    assert len(reader._open) <= 8


def test_a_recording_that_was_removed_keeps_no_space_on_the_disk(store):
    for name in ("kept", "removed"):
        put(store, name, "x")
        open_cached(store.folder(name))
    assert removed_and_open(store) == []
    remove_tree(store.folder("removed"))
    assert removed_and_open(store), "its files are mapped"
    open_cached(store.folder("kept"))
    gc.collect()
    assert removed_and_open(store) == []


def removed_and_open(store) -> list[str]:
    """Return the files in the store that have no name any more, and that this process has open."""
    maps = Path("/proc/self/maps").read_text().splitlines()
    return [line for line in maps if str(store.root) in line and line.endswith("(deleted)")]


def test_a_manifest_is_written_last_of_all(store):
    folder = store.temporary("7")
    write_recording(named("first"), folder)
    manifest = (folder / MANIFEST).stat().st_mtime_ns
    assert all(path.stat().st_mtime_ns <= manifest for path in folder.rglob("*.*"))
