"""An installation that keeps its store and its uploads on an object store."""

import os
import socket
import time
from datetime import timedelta

import pytest
from django.core.management import CommandError, call_command
from django.db import transaction

from snapshots.domain.simulators.samples import two_banks
from snapshots.files import aside, identity, kept, recordings, starting, uploads
from snapshots.jobs import running, sweeping
from snapshots.models import Job, Recording
from snapshots.problems import TooMany
from snapshots.services.recordings import delete_recording, ingest_again
from snapshots.services.recordings import kept as keeping
from snapshots.store import reader
from snapshots.store.objects import catalogues
from snapshots.store.objects import client as requests
from snapshots.store.objects.paths import path_of
from tests.web.given import native, uploads_of
from webapp.operating import checks

# The heartbeat of a job sees only what is committed.
pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.slow]


@pytest.fixture
def far(data_dir, settings, bucket):
    """Return the root on the object store of an installation without recordings."""
    settings.STORE_URL, settings.UPLOADS_URL = f"{bucket}/store", f"{bucket}/uploads"
    identity.require_pair()
    return path_of(bucket)


@pytest.fixture
def recording(spark, far, tmp_path) -> Recording:
    """Return an upload that was ingested."""
    log = tmp_path / "banks.jsonl"
    log.write_bytes(native(two_banks()))
    call_command("ingest", log, inline=True)
    return Recording.objects.get()


def objects(far, folder: str) -> set[str]:
    return {path.name for path in (far / folder).iterdir()}


def test_a_recording_and_its_upload_are_on_the_object_store(
    recording, far, data_dir, tmp_path_factory, capsys
):
    assert recording.status == "ready"
    assert objects(far, "store") == {recording.store, identity.FILE}
    assert objects(far, "uploads") == {recording.upload}
    assert recording.stored_bytes > 0
    assert not (data_dir / "store").exists()
    stored = recordings.open_recording(recording)
    assert stored.cut(stored.positions_at(step=3)).positions.sum() > 0

    # Another machine has no copy, and fetches one.
    uploads.path_of(recording.upload).unlink()
    assert uploads.at_hand(recording.upload).read_bytes() == native(two_banks())
    assert uploads_of(data_dir) == [recording.upload]

    # Nothing of it is swept, and nothing is found to be wrong.
    sweeping.sweep()
    assert objects(far, "store") == {recording.store, identity.FILE}
    capsys.readouterr()
    call_command("check_data")
    told = capsys.readouterr().out
    assert "Rows and files agree." in told
    assert "uploads: 1, 0 bytes" not in told

    # A backup holds both, and what is left after the deletion is nothing.
    backup = tmp_path_factory.mktemp("elsewhere") / "backup"
    call_command("backup", backup)
    assert (backup / "store" / recording.store / "manifest.json").is_file()
    assert (backup / "uploads" / recording.upload).read_bytes() == native(two_banks())
    delete_recording(recording)
    assert objects(far, "store") == {identity.FILE}
    assert objects(far, "uploads") == set()


def test_a_folder_of_parts_on_an_object_store_is_read_from_its_place(spark, far, tmp_path):
    lines = native(two_banks()).splitlines(keepends=True)
    for number, part in enumerate((lines[:5], lines[5:])):
        (far / "logs" / f"part-{number}.jsonl").write_bytes(b"".join(part))
    call_command("ingest", f"{far}/logs", inline=True)
    recording = Recording.objects.get()
    assert (recording.status, recording.event_count) == ("ready", len(lines) - 1)
    assert recording.upload == ""
    assert recording.size == sum(map(len, lines))


def test_what_is_no_log_on_an_object_store_is_refused_with_a_sentence(far):
    (far / "job" / "chk-1" / "_metadata").write_bytes(b"engine")
    with pytest.raises(CommandError, match="no log and no folder of parts"):
        call_command("ingest", f"{far}/job", inline=True)
    assert not Recording.objects.exists()


def test_what_a_run_left_unfinished_is_removed_and_the_rest_is_set_aside(far):
    unfinished, unknown = (recordings.store().temporary(name) for name in ("j1-1", "j2-1"))
    for folder in (unfinished, unknown):
        (folder / "events" / "0.arrow").write_bytes(b"rows")
    (unknown / "published").write_bytes(b"")
    sweeping.sweep()
    # Its objects stay where they are, so that no sweep sees a part of them.
    assert objects(far, "store") == {"aside", "j2-1", identity.FILE}
    [entry] = sweeping.all_aside()
    assert (entry.was, entry.size()) == ("j2-1", len(b"rows"))
    since = entry.since
    sweeping.sweep()
    assert [entry.since for entry in sweeping.all_aside()] == [since]


def test_what_two_workers_set_aside_at_once_stays_whole(far, monkeypatch):
    folder = recordings.store().folder("j2-1")
    names = ["a.arrow", "published", "z.arrow"]
    for name in names:
        (folder / name).write_bytes(b"rows")
    write = requests.write

    def write_while_another_worker_sweeps(bucket, key, content):
        write(bucket, key, content)
        if "/aside/" in key:
            monkeypatch.setattr(requests, "write", write)
            sweeping.sweep()

    monkeypatch.setattr(requests, "write", write_while_another_worker_sweeps)
    sweeping.sweep()
    assert objects(far, "store/j2-1") == set(names)
    [entry] = sweeping.all_aside()
    assert entry.was == "j2-1"


def test_what_is_set_aside_on_an_object_store_comes_back_or_goes(
    recording, far, settings, capsys, monkeypatch
):
    was, upload = recording.store, recording.upload
    monkeypatch.setattr(kept, "_COMMIT_SECONDS", -1)
    Recording.objects.all().delete()
    sweeping.sweep()
    assert {entry.was for entry in sweeping.all_aside()} == {was, upload}
    assert "two banks" in said(capsys, "set_aside")
    assert "Rows and files agree." in said(capsys, "check_data")
    assert "is recording" in said(capsys, "set_aside", "--bring-back", was)
    sweeping.sweep()
    back = Recording.objects.get(store=was)
    assert recordings.open_recording(back).manifest.counts["events"]
    assert [entry.was for entry in sweeping.all_aside()] == [upload]
    assert "is queued as recording" in said(capsys, "set_aside", "--bring-back", upload)
    assert not sweeping.all_aside()
    settings.SET_ASIDE_DAYS = 0
    Recording.objects.all().delete()
    sweeping.sweep()
    assert objects(far, "store") == {identity.FILE}


def test_who_reads_a_recording_that_is_replaced_reads_on(recording, far, tmp_path, monkeypatch):
    old = recordings.open_recording(recording)
    ingest_again(recording)
    running.run(Job.objects.latest("pk").pk)
    recording.refresh_from_db()
    assert old.folder.name != recording.store
    sweeping.sweep()
    assert old.cut(old.positions_at(step=3)).all_contents() is not None
    [entry] = sweeping.all_aside()
    assert (entry.was, entry.lasts) == (old.folder.name, timedelta(hours=1))
    monkeypatch.setattr(aside.Entry, "is_expired", True)
    sweeping.sweep()
    assert objects(far, "store") == {recording.store, identity.FILE}


def said(capsys, *words: str) -> str:
    capsys.readouterr()
    call_command(*words)
    return capsys.readouterr().out


def test_an_upload_without_a_row_goes_after_some_days(far, settings, monkeypatch):
    settings.SET_ASIDE_DAYS = 0
    with uploads.Draft() as draft:
        draft.write(b"nobody's")
        draft.keep()
        # Its row may be committed in a moment.
        sweeping.sweep()
        assert objects(far, "uploads") == {draft.name}
    settings.SET_ASIDE_DAYS = 7
    monkeypatch.setattr(kept, "_COMMIT_SECONDS", -1)
    sweeping.sweep()
    assert objects(far, "uploads") == {draft.name, "aside"}
    settings.SET_ASIDE_DAYS = 0
    sweeping.sweep()
    assert objects(far, "uploads") == set()


def test_a_refused_upload_leaves_no_object(far, data_dir):
    def refuse() -> None:
        with uploads.Draft() as draft:
            draft.write(b"too much")
            with keeping([draft]), transaction.atomic():
                assert objects(far, "uploads") == {draft.name}
                raise TooMany("There is no room.")

    with pytest.raises(TooMany):
        refuse()
    assert objects(far, "uploads") == set()
    assert uploads_of(data_dir) == []


def test_a_copy_that_is_in_use_is_not_dropped(recording, data_dir):
    copy = uploads.path_of(recording.upload)
    two_days_ago = time.time() - 2 * 24 * 3600
    os.utime(copy, (two_days_ago, two_days_ago))
    Job.objects.update(state=Job.State.RUNNING)  # the job took it in hand two days ago
    sweeping.sweep()
    assert copy.exists()
    Job.objects.update(state=Job.State.DONE)
    assert uploads.at_hand(recording.upload) == copy
    sweeping.sweep()
    assert copy.exists()
    os.utime(copy, (two_days_ago, two_days_ago))
    sweeping.sweep()
    assert not copy.exists()
    assert uploads.at_hand(recording.upload).read_bytes() == native(two_banks())


def test_a_deletion_reaches_the_copies_of_other_machines(recording, far, data_dir, monkeypatch):
    copy = uploads.path_of(recording.upload)
    content = copy.read_bytes()
    delete_recording(recording)
    copy.write_bytes(content)  # as on a machine that did not delete it
    sweeping.sweep()
    assert uploads_of(data_dir) == []
    assert not sweeping.all_aside()


def test_a_recording_is_deleted_while_the_object_store_is_down(recording, far, client, monkeypatch):
    client.force_login(recording.owner)
    with monkeypatch.context() as down:
        down.setenv("AWS_ENDPOINT_URL", "http://127.0.0.1:9")
        requests._store.cache_clear()
        assert client.delete(f"/api/recordings/{recording.pk}").status_code == 204
    requests._store.cache_clear()
    assert not Recording.objects.exists()
    monkeypatch.setattr(kept, "_COMMIT_SECONDS", -1)
    sweeping.sweep()
    assert {entry.was for entry in sweeping.all_aside()} == {recording.store, recording.upload}


def test_a_store_that_does_not_answer_is_a_passing_failure(recording, far, client, monkeypatch):
    client.force_login(recording.owner)
    client.raise_request_exception = False
    with socket.socket() as closed:
        closed.bind(("127.0.0.1", 0))
        monkeypatch.setenv("AWS_ENDPOINT_URL", f"http://127.0.0.1:{closed.getsockname()[1]}")
        requests._store.cache_clear()
        catalogues.forget(far.bucket, f"store/{recording.store}")
        reader._open.clear()
        try:
            answer = client.get(f"/recordings/{recording.pk}/snapshots/s1")
            assert answer.status_code == 503
            answer = client.post(
                f"/api/recordings/{recording.pk}/cuts", {"step": 3}, "application/json"
            )
            assert answer.status_code == 503
            assert "does not answer" in answer.json()["detail"]
            assert "does not answer" in checks.object_store()
        finally:
            requests._store.cache_clear()


def test_a_further_machine_joins_with_a_folder_of_its_own(far, tmp_path_factory, settings):
    first = identity.require_pair()
    settings.DATA_DIR = tmp_path_factory.mktemp("second-machine")
    assert identity.require_pair().identity == first.identity
    settings.DATA_DIR = tmp_path_factory.mktemp("third-machine")
    settings.STORE_URL = f"{far}/another-store"
    with pytest.raises(identity.NotPaired):
        identity.require_pair()


def test_a_bucket_that_does_not_exist_is_named(far, settings):
    assert "object store" in {check.name for check in checks.ready()}
    settings.STORE_URL = "s3://no-such-bucket/store"
    with pytest.raises(starting.CannotStart, match="There is no such bucket"):
        starting.require_all()
    assert checks.object_store() == (
        "The object store could not be used at s3://no-such-bucket/store. "
        "There is no such bucket. Was it created?"
    )
    settings.STORE_URL, settings.UPLOADS_URL = "file:/var/nothing", ""
    assert "object store" not in {check.name for check in checks.ready()}


def test_credentials_in_an_address_are_refused_and_not_repeated(settings):
    settings.UPLOADS_URL = "s3://key:secret@bucket/uploads"
    with pytest.raises(ValueError, match="AWS_SECRET_ACCESS_KEY") as refused:
        kept.root()
    assert "key:secret" not in str(refused.value)
