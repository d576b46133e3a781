"""A web process keeps the journals of open recordings open, and none waits for another's."""

import threading
from collections import Counter
from types import SimpleNamespace

import pytest

from snapshots.files import journals, uploads
from tests.growing.test_journal import new_journal


@pytest.fixture
def named(tmp_path, settings):
    """Return a recording whose journal lies in UPLOADS_DIR, by the journal's name."""
    settings.UPLOADS_DIR = tmp_path

    def make(name):
        new_journal(tmp_path, name).close()
        return SimpleNamespace(journal=name)

    yield make
    for path in tmp_path.iterdir():
        journals.forget(path.name)


def test_a_hundred_open_recordings_are_read_once_each(named, monkeypatch):
    read = Counter()
    opened = journals.Journal

    def counted(path):
        read[path.name] += 1
        return opened(path)

    monkeypatch.setattr(journals, "Journal", counted)
    rows = [named(f"journal{number}") for number in range(100)]
    for _ in range(3):
        for row in rows:
            journals.journal_of(row)
    assert set(read.values()) == {1}


def test_a_journal_that_is_read_holds_up_no_other(named, monkeypatch):
    long, short = named("long"), named("short")
    opened, may_go_on = journals.Journal, threading.Event()

    def slow(path):
        if path.name == "long":
            assert may_go_on.wait(timeout=60)
        return opened(path)

    monkeypatch.setattr(journals, "Journal", slow)
    found = []
    first = threading.Thread(target=lambda: found.append(journals.journal_of(long)))
    other = threading.Thread(target=lambda: found.append(journals.journal_of(short)))
    first.start()
    other.start()
    other.join(timeout=10)
    seen = len(found)
    may_go_on.set()
    first.join()
    other.join()
    assert (seen, len(found)) == (1, 2)


def test_what_was_made_of_a_journal_goes_with_its_file(named):
    gone, kept = named("gone"), named("kept")
    gone.name = kept.name = "banks"
    journals.so_far(gone)
    journals.so_far(kept)
    assert set(journals._looked_at) == {"gone", "kept"}
    uploads.path_of("gone").unlink()  # another process has written its log
    journals.journal_of(kept)
    assert set(journals._looked_at) == {"kept"}
