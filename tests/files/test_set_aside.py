"""Files that a sweep sets aside are kept for some days and can be brought back."""

import json
from datetime import timedelta

import pytest
from django.core.management import CommandError, call_command
from django.utils import timezone

from snapshots.domain.simulators.samples import two_banks
from snapshots.files import aside, recordings, uploads
from snapshots.jobs import running, sweeping
from snapshots.models import Job, Recording
from tests.web.given import a_client, a_person, a_ready_recording, native, uploads_of

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("data_dir")]


@pytest.fixture
def lost_upload() -> str:
    uploads.path_of("lost").write_bytes(native(two_banks()))
    running.remove_leftovers()
    return "lost"


@pytest.fixture
def lost_store() -> str:
    """Return the store of a ready recording whose row is no longer in the database."""
    row = a_ready_recording(a_person())
    Recording.objects.all().delete()
    running.remove_leftovers()
    return row.store


def said(capsys, *arguments: str) -> str:
    call_command("set_aside", *arguments)
    return capsys.readouterr().out


def grow_older(days: int) -> None:
    for entry in sweeping.all_aside():
        note = json.loads(entry.note.read_text())
        note["since"] = (timezone.now() - timedelta(days=days)).isoformat()
        entry.note.write_text(json.dumps(note))


def test_the_list_says_what_is_set_aside_and_why(lost_upload, lost_store, capsys):
    listed = said(capsys)
    assert lost_upload in listed
    assert lost_store in listed
    assert listed.count("two banks") == 2
    assert listed.count("No recording in the database names it.") == 2
    assert f"since {timezone.now():%Y-%m-%d}" in listed


def test_an_empty_list_says_so(capsys):
    assert said(capsys) == "Nothing is set aside.\n"


def test_an_upload_comes_back_as_a_queued_recording(lost_upload, capsys, data_dir):
    assert "is queued as recording" in said(
        capsys, "--bring-back", lost_upload, "--owner", "bob@example.org"
    )
    recording = Recording.objects.get()
    assert (recording.owner.username, recording.status) == ("bob@example.org", "queued")
    assert recording.name == two_banks().header.name
    assert Job.objects.get().recording == recording
    running.remove_leftovers()
    assert uploads_of(data_dir) == [recording.upload]
    assert uploads.path_of(recording.upload).read_bytes() == native(two_banks())
    assert not sweeping.all_aside()


def test_a_stored_recording_comes_back_with_its_verdicts(lost_store, capsys):
    assert "again, without its upload" in said(capsys, "--bring-back", lost_store)
    running.remove_leftovers()
    recording = Recording.objects.get()
    assert (recording.store, recording.status) == (lost_store, "ready")
    api = a_client(recording.owner)
    [snapshot] = api.get(f"/api/recordings/{recording.pk}/snapshots").json()["items"]
    assert snapshot["verdict"] == "consistent"
    assert api.post(f"/api/recordings/{recording.pk}/cuts", {"step": 1}, "application/json").json()
    assert not sweeping.all_aside()


def test_files_that_the_wrong_database_set_aside_go_back_to_their_recording(data_dir):
    row = a_ready_recording(a_person(), upload="kept")
    uploads.path_of("kept").write_bytes(b"log")
    aside.put(uploads.path_of("kept"), uploads.aside_folder(), aside.UPLOAD, "mistaken")
    folder = recordings.store().folder(row.store)
    aside.put(folder, recordings.aside_folder(), aside.STORE, "mistaken")
    call_command("set_aside", "--bring-back", "kept")
    call_command("set_aside", "--bring-back", row.store)
    assert uploads.path_of("kept").read_bytes() == b"log"
    assert recordings.open_recording(row).manifest.counts["events"]


def test_a_sweep_puts_back_files_that_a_row_names():
    row = a_ready_recording(a_person())
    aside.put(
        recordings.store().folder(row.store), recordings.aside_folder(), aside.STORE, "mistaken"
    )
    grow_older(days=100)
    running.remove_leftovers()
    assert recordings.open_recording(row).manifest.counts["events"]


def test_an_entry_is_removed_for_good_after_the_days(lost_upload, lost_store, settings):
    grow_older(settings.SET_ASIDE_DAYS - 1)
    running.remove_leftovers()
    assert len(sweeping.all_aside()) == 2
    grow_older(settings.SET_ASIDE_DAYS)
    running.remove_leftovers()
    assert not sweeping.all_aside()
    assert not list(uploads.aside_folder().iterdir())


def test_one_entry_or_all_can_be_removed_at_once(lost_upload, lost_store, capsys):
    said(capsys, "--remove", lost_upload)
    assert [entry.was for entry in sweeping.all_aside()] == [lost_store]
    said(capsys, "--remove", "--all")
    assert not sweeping.all_aside()


def test_an_unknown_name_is_explained_in_a_sentence():
    for option in ("--bring-back", "--remove"):
        with pytest.raises(CommandError, match="Nothing called 'x' is set aside"):
            call_command("set_aside", option, "x")
    with pytest.raises(CommandError, match="--all can only go with --remove"):
        call_command("set_aside", "--all")


def test_an_entry_that_cannot_be_read_stays_aside_with_the_reason(capsys):
    uploads.path_of("odd").write_bytes(b"no log at all\n")
    (recordings.store().root / "j9-1-00").mkdir(parents=True)
    running.remove_leftovers()
    assert said(capsys).count("cannot be read: ") == 2
    for name in ("odd", "j9-1-00"):
        with pytest.raises(CommandError, match="stays set aside"):
            call_command("set_aside", "--bring-back", name)
    assert len(sweeping.all_aside()) == 2
    assert not Recording.objects.exists()


def test_an_entry_without_its_note_is_listed_too(lost_upload, capsys):
    [entry] = sweeping.all_aside()
    entry.note.unlink()
    assert "It has no readable note." in said(capsys)
    assert "two banks" in said(capsys)


def test_an_entry_may_have_a_name_that_is_already_set_aside(lost_upload):
    uploads.path_of("lost").write_bytes(b"another")
    running.remove_leftovers()
    assert [entry.was for entry in sweeping.all_aside()] == ["lost", "lost"]


def test_a_file_that_cannot_be_moved_does_not_stop_the_sweep(lost_upload, monkeypatch, caplog):
    uploads.path_of("a").write_bytes(b"x")
    uploads.path_of("b").write_bytes(b"x")
    put = aside.put

    def stubborn(path, *rest):
        if path.name == "a":
            raise PermissionError(13, "Permission denied", str(path))
        return put(path, *rest)

    monkeypatch.setattr(aside, "put", stubborn)
    running.remove_leftovers()
    assert {entry.was for entry in sweeping.all_aside()} == {"lost", "b"}
    assert "cannot change a now" in caplog.text


def test_a_beat_that_cannot_be_written_does_not_stop_the_sweep(monkeypatch, caplog):
    def full():
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(sweeping, "_beat_at_times", full)
    uploads.path_of(f"{uploads.UNFINISHED}half").write_bytes(b"x")
    running.remove_leftovers()
    assert not list(uploads.path_of("").iterdir())
    assert "No space left" in caplog.text


def test_deleting_a_recording_leaves_nothing_aside(django_capture_on_commit_callbacks):
    from snapshots.services.recordings import delete_recording

    row = a_ready_recording(a_person(), upload="own")
    uploads.path_of("own").write_bytes(b"x")
    with django_capture_on_commit_callbacks(execute=True):
        delete_recording(row)
    running.remove_leftovers()
    assert not uploads.path_of("own").exists()
    assert not sweeping.all_aside()
