"""``check_data`` finds each difference between rows and files, and says what helps."""

import fcntl
import time

import pytest
from django.core.management import CommandError, call_command
from django.utils import timezone

from snapshots.domain.simulators.samples import two_banks
from snapshots.files import aside, recordings, uploads
from snapshots.jobs import running, sweeping
from snapshots.management.files import in_bytes
from snapshots.models import Installation, Job, Recording
from snapshots.services import checking
from snapshots.services.recordings import delete_recording
from tests.web.given import a_person, a_ready_recording, native, uploads_of

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("data_dir")]


@pytest.fixture
def recording() -> Recording:
    content = native(two_banks())
    row = a_ready_recording(a_person(), upload="log", size=len(content))
    uploads.path_of("log").write_bytes(content)
    return row


@pytest.fixture
def checked(capsys):
    """Return the exit code of ``check_data`` and what it printed."""

    def run() -> tuple[int, str]:
        try:
            call_command("check_data")
            code = 0
        except SystemExit as ended:
            code = ended.code
        return code, capsys.readouterr().out

    return run


def test_rows_and_files_that_agree_are_listed_with_their_sizes(recording, checked):
    code, said = checked()
    assert code == 0
    assert "Rows and files agree." in said
    assert f"uploads: 1, {in_bytes(recording.size)}" in said
    assert "stored recordings: 1, " in said


def lose_upload(recording):
    uploads.path_of("log").unlink()


def lose_store(recording):
    recordings.remove(recording.store)


def lose_both(recording):
    lose_upload(recording)
    lose_store(recording)


def move_upload_aside(recording):
    aside.put(uploads.path_of("log"), uploads.aside_folder(), aside.UPLOAD, "mistaken")


def lose_a_file(recording):
    (recordings.store().folder(recording.store) / "records.arrow").unlink()


def break_summaries(recording):
    (recordings.store().folder(recording.store) / "snapshots.json").write_text("[")


def lose_snapshot_states(recording):
    (recordings.store().folder(recording.store) / "snapshot_states.arrow").unlink()


def shorten_upload(recording):
    uploads.path_of("log").write_bytes(b"x")


def forget_store(recording):
    Recording.objects.update(store="")
    recordings.remove(recording.store)


def add_upload(recording):
    uploads.path_of("orphan").write_bytes(b"x")


def add_store(recording):
    (recordings.store().root / "j77-1-ab").mkdir()


def know_since_now(recording):
    add_upload(recording)
    time.sleep(0.05)
    Installation.objects.update(known_since=timezone.now())


WRONG = {
    lose_upload: ("The upload of recording {} “two banks” is missing", "Take it from a backup"),
    lose_store: ("The store of recording {} “two banks” is missing", "ingest_again {}"),
    lose_both: ("The store of recording {} “two banks” is missing", "is missing too"),
    move_upload_aside: ("upload of recording {} “two banks” is missing", "--bring-back log"),
    lose_a_file: ("cannot be read: records.arrow", "ingest_again {}"),
    break_summaries: ("cannot be read: snapshots.json", "ingest_again {}"),
    lose_snapshot_states: ("cannot be read: ", "ingest_again {}"),
    shorten_upload: ("has 1 bytes and had", "from a backup"),
    forget_store: ("is ready and has no store", "ingest_again {}"),
    add_upload: ("The upload orphan belongs to no recording", "sets it aside for 7 days"),
    add_store: ("The stored recording j77-1-ab belongs to no", "sets it aside"),
    know_since_now: ("is older than what the database knows", "set_aside --take orphan"),
}


@pytest.mark.parametrize("damage", WRONG, ids=lambda damage: damage.__name__)
def test_each_difference_is_listed_with_advice(recording, checked, damage):
    damage(recording)
    code, said = checked()
    sentence, advice = (text.format(recording.pk) for text in WRONG[damage])
    assert code == 1, said
    assert sentence in said
    assert advice in said


def test_files_that_a_process_is_writing_are_no_difference(recording, checked):
    with uploads.Draft() as draft:
        draft.write(b"half")
        assert checked()[0] == 0
        draft.keep()
        assert checked()[0] == 0
        draft.discard()


def test_unfinished_files_of_a_crash_are_a_note(recording, checked):
    uploads.path_of(f"{uploads.UNFINISHED}half").write_bytes(b"x")
    (recordings.store().root / "j77-1-ab.tmp-01").mkdir()
    code, said = checked()
    assert code == 0
    assert said.count("Note: ") == 2


def test_a_recording_that_is_deleted_during_the_check_is_no_difference(recording, monkeypatch):
    fault_of = checking.fault_of

    def deleted_first(folder):
        delete_recording(Recording.objects.get())
        recordings.remove(recording.store)
        return fault_of(folder)

    monkeypatch.setattr(checking, "fault_of", deleted_first)
    assert (
        checking.Check().findings().__next__().sentence.startswith("The upload log belongs to no")
    )


def test_unknown_files_can_be_set_aside_and_brought_back(recording, data_dir, capsys):
    uploads.path_of("later").write_bytes(native(two_banks()))
    call_command("set_aside", "--take", "later")
    assert [entry.was for entry in sweeping.all_aside()] == ["later"]
    call_command("set_aside", "--bring-back", "later")
    assert len(uploads_of(data_dir)) == 2
    for name in ("log", recording.store):
        with pytest.raises(CommandError, match="belongs to a recording"):
            call_command("set_aside", "--take", name)
    with pytest.raises(CommandError, match="There is no upload"):
        call_command("set_aside", "--take", "../secret_key")


def test_an_upload_that_is_being_written_cannot_be_set_aside():
    path = uploads.path_of("busy")
    with path.open("wb") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        with pytest.raises(CommandError, match="belongs to a recording"):
            call_command("set_aside", "--take", "busy")


# --- ingest_again ----------------------------------------------------------------------------


def queued_again(capsys, *arguments: str) -> str:
    call_command("ingest_again", *arguments)
    return capsys.readouterr().out


def test_all_kept_uploads_are_queued_again_and_the_others_are_listed(recording, capsys):
    without = a_ready_recording(a_person())
    gone = a_ready_recording(a_person(), upload="gone")
    said = queued_again(capsys, "--all")
    assert "1 recording queued, 2 left out." in said
    assert f"{without.pk} “two banks” is left out. The upload of this recording is no" in said
    assert f"{gone.pk} “two banks” is left out. Its upload is missing" in said
    assert [job.recording_id for job in Job.objects.all()] == [recording.pk]
    again = queued_again(capsys, "--all")
    assert "0 recordings queued, 3 left out." in again
    assert "still under way" in again


def test_failed_or_chosen_recordings_are_queued_again(recording, capsys):
    assert "0 recordings queued" in queued_again(capsys, "--failed")
    Recording.objects.update(status="failed")
    assert "1 recording queued, 0 left out." in queued_again(capsys, "--failed")
    Job.objects.all().delete()
    assert "1 recording queued, 0 left out." in queued_again(capsys, str(recording.pk))


def test_a_wrong_choice_is_explained_in_a_sentence(recording):
    for arguments in ((), ("--all", "--failed"), (str(recording.pk), "--all")):
        with pytest.raises(CommandError, match="Give the ids"):
            call_command("ingest_again", *arguments)
    with pytest.raises(CommandError, match="There is no recording 999999"):
        call_command("ingest_again", "999999")


@pytest.mark.spark
@pytest.mark.django_db(transaction=True)
def test_an_upload_that_is_ingested_again_gets_another_folder_and_keeps_its_verdict(
    recording, spark, checked
):
    before = recording.store
    Recording.objects.update(format="native")
    call_command("ingest_again", "--all", "--inline")
    recording.refresh_from_db()
    assert recording.store != before
    assert recording.snapshots.get().verdict == "consistent"
    running.remove_leftovers()
    assert checked()[0] == 0
