"""A database and its data folder are paired: nothing starts and no sweep runs on another pair."""

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from datetime import timedelta
from pathlib import Path

import pytest
from django.core.management import CommandError, call_command
from django.db import connection
from django.db.migrations.recorder import MigrationRecorder

from snapshots.domain.simulators.samples import two_banks
from snapshots.files import identity, recordings, starting, uploads
from snapshots.files.identity import NotPaired
from snapshots.jobs import running, sweeping
from snapshots.models import Installation, Job, Recording
from snapshots.services.recordings import accept_file
from tasks.queue import sweeping as workers_sweep
from tests.stack import ROOT, clean_environment, migrated_database
from tests.web.given import a_person, a_ready_recording, native, uploads_of
from webapp import embedded_redis

pytestmark = pytest.mark.django_db


def mark() -> dict:
    return json.loads(identity.mark_path().read_text())


def another_database() -> None:
    """Make the database like a new one with empty tables."""
    Recording.objects.all().delete()
    Installation.objects.all().delete()


def write_mark(**members) -> None:
    identity.mark_path().write_text(json.dumps(mark() | members))


@pytest.fixture(autouse=True)
def beats_at_each_sweep(monkeypatch):
    monkeypatch.setattr(sweeping, "BEAT_SECONDS", 0.0)


def test_a_new_database_and_a_new_folder_are_paired(data_dir):
    assert mark() == {"identity": Installation.objects.get().identity, "beats": 0}
    assert identity.require_pair().identity == mark()["identity"]


def test_a_new_database_with_a_used_folder_is_refused_and_its_sweep_touches_nothing(data_dir):
    kept = a_ready_recording(a_person(), upload="kept")
    uploads.path_of("kept").write_bytes(b"x")
    another_database()
    with pytest.raises(NotPaired, match=r"is in use with another database.*pair_data"):
        identity.require_pair()
    with pytest.raises(NotPaired):
        running.remove_leftovers()
    assert uploads_of(data_dir) == ["kept"]
    assert recordings.store().folder(kept.store).is_dir()


def test_a_running_worker_whose_database_was_exchanged_stops(data_dir, monkeypatch):
    kept = a_ready_recording(a_person(), upload="kept")
    uploads.path_of("kept").write_bytes(b"x")
    another_database()
    signals = []
    monkeypatch.setattr(os, "kill", lambda pid, number: signals.append((pid, number)))
    monkeypatch.setattr(workers_sweep, "PARTS", (running.remove_leftovers,))
    workers_sweep.sweep()
    assert signals == [(os.getppid(), signal.SIGTERM)]  # the worker
    assert uploads_of(data_dir) == ["kept"]
    assert recordings.store().folder(kept.store).is_dir()


def test_a_database_from_just_before_an_upload_notices_that_it_is_older(
    data_dir, django_capture_on_commit_callbacks
):
    """The folder is ahead although no sweep ran between the database's backup and the upload."""
    before = Installation.objects.values("beats").get()
    log = data_dir / "log.jsonl"
    log.write_bytes(native(two_banks()))
    with django_capture_on_commit_callbacks(execute=True):
        job = accept_file(a_person(), log)
    Recording.objects.all().delete()
    Installation.objects.update(**before)
    running.remove_leftovers()
    assert uploads_of(data_dir) == [job.recording.upload]


def test_a_used_database_with_another_folder_is_refused(data_dir, settings, tmp_path):
    a_ready_recording(a_person())
    settings.DATA_DIR = tmp_path / "mistyped"
    settings.UPLOADS_DIR = settings.DATA_DIR / "uploads"
    settings.UPLOADS_DIR.mkdir(parents=True)
    settings.STORE_URL = (settings.DATA_DIR / "store").as_uri()
    with pytest.raises(NotPaired, match="belongs to another data folder"):
        identity.require_pair()


def test_a_used_database_with_another_used_folder_is_refused(data_dir):
    a_ready_recording(a_person())
    write_mark(identity="another")
    with pytest.raises(NotPaired, match="belong to different installations"):
        identity.require_pair()
    with pytest.raises(NotPaired):
        running.remove_leftovers()
    assert len(list((data_dir / "store").iterdir())) == 1


def test_a_mark_that_cannot_be_parsed_is_explained_in_one_sentence(data_dir):
    for text in ("", "[]", "{}", "7"):
        identity.mark_path().write_text(text)
        with pytest.raises(NotPaired, match="cannot be understood"):
            identity.require_pair()


def test_an_older_installation_is_paired_where_the_database_knows_its_files(data_dir):
    recording = a_ready_recording(a_person())
    Installation.objects.all().delete()
    identity.mark_path().unlink()
    uploads.path_of("unknown").write_bytes(b"x")
    running.remove_leftovers()
    assert mark()["identity"] == Installation.objects.get().identity
    assert recordings.store().folder(recording.store).is_dir()
    assert uploads_of(data_dir) == ["unknown"]  # from before the database knew its folder


def test_an_older_installation_is_not_paired_with_files_that_it_does_not_know(data_dir):
    identity.mark_path().unlink()
    uploads.path_of("theirs").write_bytes(b"x")
    another_database()
    with pytest.raises(NotPaired, match="is in use with another database"):
        identity.require_pair()
    Recording.objects.create(owner=a_person(), name="log", upload="elsewhere")
    with pytest.raises(NotPaired, match="none of them is in"):
        identity.require_pair()


def test_a_store_elsewhere_carries_the_identity_too(data_dir, settings, tmp_path):
    settings.STORE_URL = (tmp_path.parent / f"{tmp_path.name}-store").as_uri()
    own = identity.require_pair().identity
    path = identity.store_mark_path()
    assert json.loads(path.read_text())["identity"] == own
    path.write_text(json.dumps({"identity": "another", "beats": 0}))
    with pytest.raises(NotPaired, match="STORE_URL"):
        identity.require_pair()


def test_another_store_elsewhere_is_refused(data_dir, settings, tmp_path):
    a_ready_recording(a_person())
    elsewhere = tmp_path.parent / f"{tmp_path.name}-other"
    (elsewhere / "j1-1").mkdir(parents=True)
    settings.STORE_URL = elsewhere.as_uri()
    with pytest.raises(NotPaired, match="STORE_URL"):
        identity.require_pair()


def test_beats_stand_in_the_row_and_in_the_folder(data_dir):
    for count in (1, 2, 3):
        running.remove_leftovers()
        assert Installation.objects.get().beats == mark()["beats"] == count


def test_the_highest_beat_of_several_workers_stays(data_dir):
    identity.beat()
    identity.beat()
    identity._advance(identity.Mark(mark()["identity"], 1))
    assert mark()["beats"] == 2


def test_beats_are_some_seconds_apart(data_dir, monkeypatch):
    monkeypatch.setattr(sweeping, "BEAT_SECONDS", 1000.0)
    monkeypatch.setattr(sweeping, "_last_beat", float("-inf"))
    running.remove_leftovers()
    running.remove_leftovers()
    assert mark()["beats"] == 1


def test_an_older_database_is_noticed_and_files_that_it_does_not_name_stay(data_dir, caplog):
    before = Installation.objects.get().known_since
    write_mark(beats=7)
    uploads.path_of("later").write_bytes(b"x")
    (data_dir / "store" / "j5-1-abcdef01").mkdir(parents=True)
    time.sleep(0.05)  # the clock of the file system is coarse
    for _ in range(2):
        running.remove_leftovers()
    row = Installation.objects.get()
    assert (row.beats, mark()["beats"]) == (9, 9)
    assert row.known_since > before
    assert caplog.text.count("it was restored from a backup") == 1
    assert uploads_of(data_dir) == ["later"]
    assert (data_dir / "store" / "j5-1-abcdef01").is_dir()
    uploads.path_of("new").write_bytes(b"x")
    os.utime(uploads.path_of("new"), (time.time() + 1, time.time() + 1))
    running.remove_leftovers()
    assert uploads_of(data_dir) == ["later"]


def test_two_runs_of_one_attempt_never_share_a_folder(data_dir):
    """After an older database is restored, ids of jobs are used again."""
    from snapshots.jobs import leases, sweeping

    recording = Recording.objects.create(owner=a_person(), name="log", upload="u")
    names = set()
    for _ in range(2):
        Job.objects.all().delete()
        job = Job.objects.create(pk=77, kind="ingest", recording=recording)
        lease = leases.claim(job.pk)
        names.add(recordings.name_of(lease.job.pk, lease.job.attempt, lease.nonce))
    assert len(names) == 2
    for name in names:
        (data_dir / "store" / name).mkdir(parents=True)
        assert not recordings.sweep(sweeping.is_being_written)  # a living worker has this attempt
        assert recordings.store().folder(name)


def test_a_late_heartbeat_costs_a_run_none_of_its_files(data_dir):
    """While the database was locked no heartbeat was written; the worker lives all the same."""
    from snapshots.jobs import leases

    recording = Recording.objects.create(owner=a_person(), name="log", upload="u")
    job = Job.objects.create(kind="ingest", recording=recording)
    lease = leases.claim(job.pk)
    name = recordings.name_of(job.pk, lease.job.attempt, lease.nonce)
    folder = recordings.store().temporary(name)
    lease.row.update(heartbeat_at=lease.job.heartbeat_at - timedelta(hours=1))
    assert recordings.sweep(sweeping.is_being_written) == []
    lease.row.update(state="queued")
    assert recordings.sweep(sweeping.is_being_written) == [folder.name]


def test_pairing_on_purpose_says_what_it_does(data_dir, capsys):
    a_ready_recording(a_person(), upload="gone")
    uploads.path_of("theirs").write_bytes(b"x")
    write_mark(identity="another")
    call_command("pair_data")
    said = capsys.readouterr().out
    assert "1 files, 1 of them unknown" in said
    assert "names 1 files that are missing" in said
    with pytest.raises(NotPaired):
        identity.require_pair()
    time.sleep(0.05)
    call_command("pair_data", "--yes")
    identity.require_pair()
    running.remove_leftovers()
    assert uploads_of(data_dir) == ["theirs"]


def test_commands_that_touch_files_refuse_another_folder(data_dir, tmp_path):
    write_mark(identity="another")
    (tmp_path / "log.jsonl").write_text("x")
    for command in (
        ("ingest", str(tmp_path / "log.jsonl")),
        ("load_samples",),
        ("simulate", "ring-of-five"),
    ):
        with pytest.raises(CommandError, match="belong to different installations"):
            call_command(*command)


def test_a_store_url_without_a_folder_is_explained_in_one_sentence(data_dir, settings):
    settings.STORE_URL = "ftp://bucket/store"
    with pytest.raises(starting.CannotStart, match="only file: and s3: are known"):
        starting.require_all()


def test_a_database_of_a_newer_version_is_refused(data_dir):
    MigrationRecorder(connection).record_applied("snapshots", "9999_from_the_future")
    with pytest.raises(starting.CannotStart, match=r"newer version.*snapshots\.9999"):
        starting.require_all()


def test_a_database_that_lacks_a_change_is_refused(data_dir):
    MigrationRecorder(connection).record_unapplied("snapshots", "0008_fair_turns_and_identity")
    with pytest.raises(starting.CannotStart, match=r"lacks 1 change.*manage\.py migrate"):
        starting.require_all()


def test_a_database_whose_table_lacks_a_column_is_refused(data_dir):
    """Its migration was changed afterwards, so that the database lacks what code expects."""
    with connection.cursor() as cursor:
        cursor.execute("ALTER TABLE snapshots_topology RENAME COLUMN name TO title")
    lacks = r"lacks snapshots_topology\.name, although.*Restore a backup"
    with pytest.raises(starting.CannotStart, match=lacks):
        starting.require_all()


# --- real processes --------------------------------------------------------------------------


class Installed:
    """A migrated installation in its own folders, started by the lines of the Procfile."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.environment = clean_environment() | {"DATA_DIR": str(folder)}
        self.port = embedded_redis.free_port()

    def ran(self, *command: object, seconds: float = 90, **variables: str):
        words = [sys.executable, *(str(word) for word in command)]
        return subprocess.run(
            words,
            cwd=ROOT,
            env=self.environment | variables,
            capture_output=True,
            text=True,
            timeout=seconds,
        )

    def starts(self, **variables: str) -> list[subprocess.CompletedProcess]:
        """Return what each kind of process but the launcher prints; all must end by themselves."""
        web = ["-m", "uvicorn", "webapp.asgi:application", "--port", self.port, "--lifespan", "off"]
        worker = ["-m", "celery", "--quiet", "--app", "webapp", "worker", "--without-mingle"]
        variables["REDIS_URL"] = "redis://127.0.0.1:1/0"
        return [
            self.ran(*command, **variables)
            for command in (web, worker, ["manage.py", "load_samples"])
        ]

    def launches(self, **variables: str) -> subprocess.CompletedProcess:
        return self.ran("-m", "webapp.launch", PORT=str(self.port), **variables)


def assert_one_sentence(ran: subprocess.CompletedProcess, text: str) -> None:
    assert ran.returncode == 1, ran
    said = (ran.stdout + ran.stderr).strip()
    assert text in said, said
    assert "Traceback" not in said, said
    assert len(said.splitlines()) == 1, said


@pytest.fixture
def installed(tmp_path):
    """Return an installation whose database has its tables and nothing else."""
    return Installed(shutil.copytree(migrated_database().parent, tmp_path / "var"))


@pytest.mark.slow
@pytest.mark.long
def test_nothing_starts_on_a_folder_of_another_database(installed, tmp_path):
    (installed.folder / "uploads" / "theirs").write_bytes(b"x")
    (installed.folder / "store" / "j1-1").mkdir(parents=True)
    shutil.copy(installed.folder / "cutline.sqlite3", tmp_path / "new.sqlite3")
    other = f"sqlite:///{tmp_path}/new.sqlite3"
    fresh = f"sqlite:///{tmp_path}/fresh.sqlite3"
    started = installed.starts(DATABASE_URL=other)
    started += [installed.launches(DATABASE_URL=database) for database in (other, fresh)]
    for ran in started:
        assert_one_sentence(ran, "is in use with another database")
    asked = installed.ran("manage.py", "showmigrations", "snapshots", DATABASE_URL=fresh)
    assert "[X]" not in asked.stdout  # not even its tables were made
    assert (installed.folder / "uploads" / "theirs").exists()
    assert (installed.folder / "store" / "j1-1").is_dir()


@pytest.mark.long
def test_nothing_starts_on_a_database_without_tables_or_of_a_newer_version(installed, tmp_path):
    empty = f"sqlite:///{tmp_path}/empty.sqlite3"
    for ran in installed.starts(DATABASE_URL=empty):
        assert_one_sentence(ran, "has no tables yet")
    apply = (
        "from django.db import connection as c; from django.db.migrations.recorder import "
        "MigrationRecorder as M; M(c).record_applied('snapshots', '9999_from_the_future')"
    )
    assert installed.ran("manage.py", "shell", "-c", apply).returncode == 0
    for ran in [*installed.starts(), installed.launches()]:
        assert_one_sentence(ran, "changed by a newer version of Cutline")


@pytest.mark.slow
def test_a_server_started_by_hand_pairs_what_is_new(installed):
    server = subprocess.Popen(
        [sys.executable, "-m", "uvicorn", "webapp.asgi:application", "--port", str(installed.port)],
        cwd=ROOT,
        env=installed.environment,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        deadline = time.monotonic() + 60
        while not (installed.folder / identity.FILE).exists():
            assert server.poll() is None, server.stderr.read()
            assert time.monotonic() < deadline
            time.sleep(0.1)
    finally:
        server.send_signal(signal.SIGTERM)
        server.communicate(timeout=30)
