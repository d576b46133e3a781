"""Backups are complete, verified, and give the same answers when they are restored elsewhere."""

import filecmp
import json
import re
import shutil
import stat
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from django.core.management import CommandError, call_command
from django.db import connection

from snapshots.domain.simulators.samples import SAMPLES, two_banks
from snapshots.files import backup, dump, recordings, uploads
from snapshots.models import EngineCheckpoint, EngineJob, Recording
from snapshots.services.recordings import delete_recording
from tests.stack import ROOT, Stack, clean_environment, migrated_database
from tests.web.given import a_person, a_ready_recording, native
from tests.webapp.over_http import Api
from webapp import embedded_redis

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def recording(data_dir) -> Recording:
    row = a_ready_recording(a_person(), upload="log")
    uploads.path_of("log").write_bytes(native(two_banks()))
    return row


@pytest.fixture
def folder(tmp_path_factory) -> Path:
    """Return a folder on the disk of the data, but outside of their folder."""
    return tmp_path_factory.mktemp("backups") / "today"


@pytest.fixture
def made(recording, folder) -> Path:
    call_command("backup", str(folder))
    return folder


def another_installation(folder: Path, **variables: str) -> dict[str, str]:
    return clean_environment() | {"DATA_DIR": str(folder)} | variables


def managed(environment: dict[str, str], *arguments: str) -> subprocess.CompletedProcess:
    return subprocess.run(
        [sys.executable, "manage.py", *arguments],
        cwd=ROOT,
        env=environment,
        capture_output=True,
        text=True,
    )


def same_tree(one: Path, other: Path) -> bool:
    compared = filecmp.dircmp(one, other)
    files = filecmp.cmpfiles(one, other, compared.common_files, shallow=False)
    return not (compared.left_only or compared.right_only or files[1] or files[2]) and all(
        same_tree(one / name, other / name) for name in compared.common_dirs
    )


def test_a_backup_holds_what_rows_name_and_nothing_else(recording, folder, capsys):
    uploads.path_of("unnamed").write_bytes(b"x")
    call_command("backup", str(folder))
    assert "1 upload, 1 stored recording" in capsys.readouterr().out
    assert (folder / "uploads" / "log").read_bytes() == native(two_banks())
    assert same_tree(folder / "store" / recording.store, recordings.store().folder(recording.store))
    assert [path.name for path in (folder / "uploads").iterdir()] == ["log"]
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700


def test_files_of_a_backup_on_the_same_disk_are_links(made):
    assert (made / "uploads" / "log").stat().st_ino == uploads.path_of("log").stat().st_ino


def test_the_sums_are_those_of_sha256sum(made):
    ran = subprocess.run(
        ["sha256sum", "--check", "--quiet", "SHA256SUMS"], cwd=made, capture_output=True, text=True
    )
    assert (ran.returncode, ran.stdout) == (0, ""), ran.stderr


def test_missing_files_that_rows_name_are_listed(recording, folder, capsys):
    uploads.path_of("log").unlink()
    call_command("backup", str(folder))
    assert "uploads/log is missing" in capsys.readouterr().err
    assert json.loads((folder / "manifest.json").read_text())["missing"] == ["uploads/log"]


def test_a_backup_needs_a_new_folder_outside_of_the_data(made, data_dir):
    with pytest.raises(CommandError, match="is not empty"):
        call_command("backup", str(made))
    with pytest.raises(CommandError, match="would be lost together with it"):
        call_command("backup", str(data_dir / "backup"))


def test_uploads_and_deletions_during_a_backup_leave_no_gap(recording, folder, monkeypatch):
    """Between copy and rows, one recording is deleted, one is added, one is ingested again."""
    deleted = a_ready_recording(a_person(), upload="deleted")
    again = a_ready_recording(a_person(), upload="again")
    for name in ("deleted", "again"):
        uploads.path_of(name).write_bytes(b"x")
    moment, changes = dump.one_moment, []

    def after_changes():
        if not changes:
            changes.append(replace(again))
            delete_recording(deleted)
            a_ready_recording(a_person(), upload="new")
            uploads.path_of("new").write_bytes(b"x")
        return moment()

    monkeypatch.setattr(dump, "one_moment", after_changes)
    report = backup.back_up(folder)
    assert changes
    assert report.missing == []
    assert {path.name for path in (folder / "uploads").iterdir()} == {"log", "again", "new"}
    named = set(Recording.objects.values_list("store", flat=True))
    assert {path.name for path in (folder / "store").iterdir()} == named
    rows = [json.loads(line) for line in (folder / "rows.jsonl").read_text().splitlines()]
    stored = {row["fields"]["store"] for row in rows if row["model"] == "snapshots.recording"}
    assert stored == named


def replace(recording: Recording) -> str:
    """Replace the recording's folder by another one, as the end of an ingest does."""
    old = recordings.store().folder(recording.store)
    shutil.copytree(old, recordings.store().folder("j900-1-ab"))
    Recording.objects.filter(pk=recording.pk).update(store="j900-1-ab")
    shutil.rmtree(old)
    return "j900-1-ab"


def rename_all(name: str) -> None:
    """Write a row over this thread's own connection."""
    try:
        Recording.objects.update(name=name)
    finally:
        connection.close()


def test_writers_do_not_wait_for_a_backup_that_reads(recording):
    with dump.one_moment():
        names = set(Recording.objects.values_list("name", flat=True))
        with ThreadPoolExecutor(1) as somebody:
            somebody.submit(rename_all, "changed").result()
        assert set(Recording.objects.values_list("name", flat=True)) == names
    assert Recording.objects.get().name == "changed"


@pytest.fixture
def elsewhere(tmp_path_factory) -> dict[str, str]:
    """Return the environment of an installation whose database has its tables and nothing else."""
    folder = tmp_path_factory.mktemp("elsewhere")
    shutil.copy(migrated_database(), folder)
    return another_installation(folder)


TELL = """
import json, sys
from django.core import serializers
from snapshots.files import dump, identity, starting
starting.require_all()
rows = {}
for model in dump.kept_models():
    rows[model._meta.label_lower] = [
        (row.pk, {f.attname: repr(getattr(row, f.attname)) for f in model._meta.concrete_fields})
        for row in model._base_manager.order_by("pk")
    ]
json.dump(rows, sys.stdout)
"""


def all_rows(environment: dict[str, str]) -> dict:
    ran = managed(environment, "shell", "--no-imports", "-c", TELL)
    assert ran.returncode == 0, ran.stderr
    return json.loads(ran.stdout)


def rows_here() -> dict:
    return {
        model._meta.label_lower: [
            [
                row.pk,
                {f.attname: repr(getattr(row, f.attname)) for f in model._meta.concrete_fields},
            ]
            for row in model._base_manager.order_by("pk")
        ]
        for model in dump.kept_models()
    }


def test_every_row_comes_back_as_it_was(recording, folder, elsewhere):
    job = EngineJob.objects.create(owner=a_person(), engine="flink", key="k")
    job.uploads.add(recording)
    EngineCheckpoint.objects.create(job=job, number=2**62, status="completed", version=1)
    Recording.objects.update(error={"detail": "odd \ud800 and \x7f", "nested": [1.5, None]})
    rows = rows_here()  # the backup is noted after it was made, so it does not hold the note
    call_command("backup", str(folder))
    restored = managed(elsewhere, "restore_backup", str(folder))
    assert restored.returncode == 0, restored.stderr
    assert "1 recording among them" in restored.stdout
    assert all_rows(elsewhere) == rows
    data_dir = Path(elsewhere["DATA_DIR"])
    assert (data_dir / "uploads" / "log").read_bytes() == native(two_banks())
    assert same_tree(data_dir / "store", folder / "store")
    again = managed(elsewhere, "restore_backup", str(folder))
    assert again.returncode == 1
    assert "empty installation" in again.stderr


DAMAGES = {
    "a byte of a row": lambda folder: change(folder / "rows.jsonl"),
    "a byte of an upload": lambda folder: change(folder / "uploads" / "log"),
    "a file of a store": lambda folder: next((folder / "store").rglob("*.json")).unlink(),
    "a further file": lambda folder: (folder / "uploads" / "further").write_text("x"),
    "no sums": lambda folder: (folder / "SHA256SUMS").unlink(),
    "the manifest": lambda folder: change(folder / "manifest.json"),
}


def change(path: Path) -> None:
    """Write to a new file, because the present one may be a link to the data."""
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 1
    path.unlink()
    path.write_bytes(content)


@pytest.mark.parametrize("damage", DAMAGES)
def test_a_damaged_backup_is_refused_before_anything_changes(
    made, damage, settings, tmp_path_factory, django_assert_num_queries
):
    DAMAGES[damage](made)
    settings.DATA_DIR = tmp_path_factory.mktemp("target")
    with (
        django_assert_num_queries(0),
        pytest.raises(CommandError, match=r"^Nothing was restored\. .*(backup|belong)"),
    ):
        call_command("restore_backup", str(made))
    assert not list(settings.DATA_DIR.iterdir())


def test_a_used_installation_is_refused_and_stays_as_it_is(made, recording, settings, data_dir):
    with pytest.raises(CommandError, match="already holds uploads or stored recordings"):
        call_command("restore_backup", str(made))
    assert Recording.objects.get() == recording
    settings.UPLOADS_DIR = data_dir / "no-uploads"
    settings.UPLOADS_DIR.mkdir()
    settings.STORE_URL = (data_dir / "no-store").as_uri()
    with pytest.raises(CommandError, match=r"database already has users"):
        call_command("restore_backup", str(made))


def test_files_without_rows_are_not_overwritten(made, elsewhere):
    upload = Path(elsewhere["DATA_DIR"]) / "uploads" / "log"
    upload.parent.mkdir(parents=True, exist_ok=True)
    upload.write_bytes(b"somebody's")
    ran = managed(elsewhere, "restore_backup", str(made))
    assert ran.returncode == 1
    assert "already holds uploads or stored recordings" in ran.stderr
    assert upload.read_bytes() == b"somebody's"


def test_a_backup_of_another_version_is_refused(made, elsewhere):
    manifest = json.loads((made / "manifest.json").read_text())
    manifest["migrations"].append("snapshots.9999_from_the_future")
    (made / "manifest.json").write_text(json.dumps(manifest))
    (made / "SHA256SUMS").unlink()
    backup._write_sums(made)
    ran = managed(elsewhere, "restore_backup", str(made))
    assert ran.returncode == 1
    assert "made by another version of Cutline" in ran.stderr
    assert not list((Path(elsewhere["DATA_DIR"]) / "uploads").iterdir())


def test_rows_that_cannot_be_loaded_leave_no_file(made, elsewhere):
    rows = re.sub(r'"pk": \d+', '"pk": "one"', (made / "rows.jsonl").read_text(), count=1)
    (made / "rows.jsonl").write_text(rows)
    (made / "SHA256SUMS").unlink()
    backup._write_sums(made)
    ran = managed(elsewhere, "restore_backup", str(made))
    assert ran.returncode == 1
    assert "Nothing was restored. The rows cannot be loaded" in ran.stderr
    assert "Traceback" not in ran.stderr
    data_dir = Path(elsewhere["DATA_DIR"])
    assert not list((data_dir / "uploads").iterdir())
    assert not list((data_dir / "store").iterdir())


# --- the whole of Cutline, at work -----------------------------------------------------------

LOGS = [native(sample.log()) for sample in SAMPLES[:4]]


class Work(threading.Thread):
    """A person who uploads, ingests again and deletes until stopped."""

    def __init__(self, stack: Stack) -> None:
        super().__init__(daemon=True)
        self.api = Api(stack, "ada@example.org")
        self.over = threading.Event()
        self.uploaded = 0

    def run(self) -> None:
        while not self.over.is_set():
            recording = self.api.upload(LOGS[self.uploaded % len(LOGS)]).body["id"]
            self.uploaded += 1
            if self.uploaded % 3 == 0:
                self.api.call("DELETE", f"/recordings/{recording}")
            if self.uploaded % 4 == 0:
                self.api.call("POST", f"/recordings/{recording - 1}/ingest")
            time.sleep(0.4)


def answers(api: Api, recording: int) -> dict[str, object]:
    """Return everything that the API answers about a ready recording."""
    own = f"/recordings/{recording}"
    told = {path: api.get(own + path) for path in ("", "/snapshots", "/topology", "/defects")}
    for item in told["/snapshots"]["items"]:
        path = f"/snapshots/{item['snapshot']}"
        told[path] = api.get(own + path)
    extent = told[""]["extent"]
    told["window"] = api.get(f"{own}/window?from={extent['from']}&to={extent['to']}&width=800")
    told["cut"] = api.post(f"{own}/cuts", {"step": extent["steps"] // 2}).body
    return told


@pytest.mark.spark
@pytest.mark.long
def test_a_backup_under_load_is_restored_elsewhere_into_the_same_answers(
    tmp_path_factory, stack, folder
):
    first = [Api(stack, "ada@example.org").ingested(log) for log in LOGS]
    work = Work(stack)
    work.start()
    try:
        time.sleep(3)
        made = managed(stack.environment, "backup", str(folder))
    finally:
        work.over.set()
        work.join()
    assert made.returncode == 0, made.stderr
    assert work.uploaded > 3, "nothing was going on"

    other = Stack(tmp_path_factory.mktemp("other") / "var")
    other.folder.mkdir()
    other.redis = embedded_redis.prepare(other.folder / "redis")
    other.environment = clean_environment() | {
        "DATA_DIR": str(other.folder),
        "REDIS_URL": other.redis.url,
        "PORT": str(other.port),
    }
    other.manage("restore_backup", str(folder))
    other.run_redis()
    try:
        other.start_server()
        other.start_worker()
        compare(stack, other, folder, first)
    finally:
        other.stop()


def compare(stack: Stack, other: Stack, folder: Path, first: list[int]) -> None:
    """Check that every recording of the backup is there, and unchanged if it was not deleted."""
    rows = [json.loads(line) for line in (folder / "rows.jsonl").read_text().splitlines()]
    kept = {row["pk"]: row["fields"] for row in rows if row["model"] == "snapshots.recording"}
    here, there = Api(stack, "ada@example.org"), Api(other, "ada@example.org")
    for job in there.get("/jobs?limit=500")["items"]:
        there.ended(job["id"])  # what was under way goes on
    same = 0
    for number, fields in kept.items():
        if fields["store"]:
            restored = other.folder / "store" / fields["store"]
            assert same_tree(restored, folder / "store" / fields["store"])
            original = stack.folder / "store" / fields["store"]
            if original.exists():
                assert same_tree(restored, original)
                assert answers(there, number) == answers(here, number)
                same += 1
        assert there.get(f"/recordings/{number}")["status"] == "ready"
    assert same >= len(first)
    assert set(first) <= set(kept)
    checked = managed(other.environment, "check_data")
    assert checked.returncode == 0, checked.stdout
