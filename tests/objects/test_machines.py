"""Machines that share a database and an object store, and no folder."""

import os
import sys
import threading
import time
from contextlib import contextmanager

import pytest
from django.core.management import CommandError, call_command

from bench.synthetic_store import write_synthetic
from snapshots.files import backup, identity, journals, kept, restoring, uploads
from snapshots.jobs import sweeping
from snapshots.models import Recording
from snapshots.store.objects import catalogues
from snapshots.store.objects import client as requests
from snapshots.store.objects.paths import path_of
from snapshots.store.reader import StoredRecording
from tests.web.api.test_open_recordings import EVENTS, lines, opened, send
from tests.web.given import a_client, a_person
from webapp.edge import own_files

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.slow]


@pytest.fixture
def far(data_dir, settings, bucket):
    settings.STORE_URL, settings.UPLOADS_URL = f"{bucket}/store", f"{bucket}/uploads"
    identity.require_pair()
    return path_of(bucket)


@pytest.fixture
def machines(far, settings, tmp_path_factory):
    """Return a function that goes on on another machine, which has a folder of its own."""
    folders = [tmp_path_factory.mktemp("machine") for _ in range(2)]

    def go_to(number: int) -> None:
        settings.DATA_DIR, settings.UPLOADS_DIR = folders[number], folders[number] / "uploads"
        settings.UPLOADS_DIR.mkdir(exist_ok=True)
        identity.require_pair()
        journals._open.clear()
        journals._looked_at.clear()

    go_to(0)
    return go_to


@pytest.fixture
def api():
    client = a_client(a_person())
    client.raise_request_exception = False
    return client


@contextmanager
def down(monkeypatch):
    """Let nothing answer where the object store was."""
    with monkeypatch.context() as patch:
        patch.setenv("AWS_ENDPOINT_URL", "http://127.0.0.1:9")
        requests._store.cache_clear()
        yield
    requests._store.cache_clear()


def of_journal() -> str:
    return Recording.objects.get().journal


# --- open recordings ------------------------------------------------------------------------------


def test_an_open_recording_is_on_one_machine_until_it_is_closed(api, far, machines):
    pk = opened(api).json()["id"]
    assert send(api, pk, lines(*EVENTS[:2])).status_code == 200
    machines(1)
    calls = (
        send(api, pk, lines(EVENTS[2])),
        api.get(f"/api/recordings/{pk}/received"),
        api.post(f"/api/recordings/{pk}/close"),
        api.post(f"/api/recordings/{pk}/cuts", {"step": 1}, "application/json"),
    )
    for answer in calls:
        assert answer.status_code == 503, answer.content
        assert "lies on the machine that opened it" in answer.json()["detail"]
    machines(0)
    assert send(api, pk, lines(EVENTS[2])).status_code == 200
    assert not (far / "uploads" / of_journal()).exists()
    assert api.post(f"/api/recordings/{pk}/close").status_code == 202
    own = uploads.path_of(of_journal()).read_bytes()
    machines(1)
    assert uploads.at_hand(of_journal()).read_bytes() == own
    sweeping.sweep()
    assert (far / "uploads" / of_journal()).exists()


def test_a_recording_stays_open_while_the_object_store_is_down(api, far, monkeypatch):
    pk = opened(api).json()["id"]
    send(api, pk, lines(*EVENTS))
    with down(monkeypatch):
        assert api.post(f"/api/recordings/{pk}/close").status_code == 503
        assert Recording.objects.get().is_open
    assert api.post(f"/api/recordings/{pk}/close").status_code == 202
    assert (far / "uploads" / of_journal()).stat().st_size > 0


def test_a_deleted_recording_leaves_no_journal_anywhere(api, far):
    pk = opened(api).json()["id"]
    api.post(f"/api/recordings/{pk}/close")
    name = of_journal()
    Recording.objects.update(status="failed")
    assert api.delete(f"/api/recordings/{pk}").status_code == 204
    assert not (far / "uploads" / name).exists()
    assert not uploads.path_of(name).exists()


def test_a_backup_has_what_came_to_an_open_recording_and_brings_it_back(
    api, far, machines, tmp_path_factory
):
    pk = opened(api).json()["id"]
    send(api, pk, lines(*EVENTS))
    folder = tmp_path_factory.mktemp("elsewhere") / "backup"
    assert backup.back_up(folder).missing == []
    own = uploads.path_of(of_journal())
    content = own.read_bytes()
    assert (folder / "uploads" / own.name).read_bytes() == content
    own.unlink()
    restoring._place_journals(folder)
    assert own.read_bytes() == content


# --- copies ---------------------------------------------------------------------------------------


@pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning")  # SystemExit
def test_a_web_process_removes_copies_that_nobody_needs(api, far, monkeypatch):
    two_days_ago = time.time() - 2 * 24 * 3600
    pk = opened(api).json()["id"]
    journal = uploads.path_of(of_journal())
    old, nobodys = kept.path_of("f" * 32), uploads.path_of("e" * 32)
    copy = uploads.path_of(old.name)
    for path in (old, copy, nobodys):
        path.write_bytes(b"bytes")
    Recording.objects.create(name="old", upload=old.name, status="ready")
    for path in (copy, journal):
        os.utime(path, (two_days_ago, two_days_ago))
    monkeypatch.setattr(own_files, "SECONDS", 0.05)
    own_files.sweep_while_this_process_runs()
    deadline = time.monotonic() + 60
    while (copy.exists() or nobodys.exists()) and time.monotonic() < deadline:
        time.sleep(0.05)
    end_threads_that_sweep(monkeypatch)
    assert [path.exists() for path in (copy, nobodys, journal, old)] == [False, False, True, True]
    assert pk


def end_threads_that_sweep(monkeypatch) -> None:
    """Let them end, since they would make rows while the next test begins."""
    monkeypatch.setattr(sweeping, "sweep_own_files", sys.exit)
    for thread in threading.enumerate():
        if thread.name == "own files":
            thread.join(60)
            assert not thread.is_alive()


# --- commands -------------------------------------------------------------------------------------


def test_what_the_bucket_holds_for_no_recording_is_listed(far, capsys, monkeypatch):
    kept.path_of("d" * 32).write_bytes(b"bytes")
    (kept.pieces_folder("c" * 32) / "piece").write_bytes(b"bytes")
    call_command("check_data")  # its row may be committed in a moment
    assert "Rows and files agree." in capsys.readouterr().out
    monkeypatch.setattr(kept, "_COMMIT_SECONDS", -1)
    with pytest.raises(SystemExit):
        call_command("check_data")
    told = capsys.readouterr().out
    assert f"The upload {'d' * 32} belongs to no recording" in told
    assert "c" * 32 not in told


@pytest.mark.parametrize("words", [["check_data"], ["set_aside"], ["backup", "NEW"]])
def test_a_command_says_that_the_object_store_does_not_answer(far, monkeypatch, tmp_path, words):
    words = [str(tmp_path / "backup") if word == "NEW" else word for word in words]
    with down(monkeypatch), pytest.raises(CommandError, match="It does not answer"):
        call_command(*words)


def test_a_recording_that_comes_from_a_disk_is_published_on_the_object_store(far, tmp_path):
    folder = tmp_path / "backup"
    for name in (backup.UPLOADS, f"{backup.STORE}/j1-1"):
        (folder / name).mkdir(parents=True)
    write_synthetic(folder / backup.STORE / "j1-1", 1_000)
    restoring._place(folder, [])
    catalogues.forget_all()
    before, _ = requests.traffic.seen()
    stored = StoredRecording.open(far / "store" / "j1-1")
    assert stored.cut(stored.positions_at(step=500)).positions.sum() == 500
    assert requests.traffic.seen()[0] - before < 12
