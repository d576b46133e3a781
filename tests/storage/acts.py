"""What users, workers and operators do on a disk that fails, and what is there afterwards.

Each act is done by a process of its own, which says what was acknowledged and what was refused. It
goes on from what an earlier, disturbed attempt has said, as a client does that tries again.
"""

import base64
import hashlib
import json
import sqlite3
from collections.abc import Callable
from io import StringIO
from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.files.uploadedfile import SimpleUploadedFile
from django.core.management import CommandError, call_command
from django.db import OperationalError, connection
from django.http import HttpResponse
from django.test import Client
from django.urls import resolve

from snapshots.domain.simulators.samples import two_banks
from snapshots.files import backup as backups
from snapshots.files import kept, recordings, restoring, starting, uploads
from snapshots.growing.canonical import canonical_log
from snapshots.growing.journal import Journal
from snapshots.jobs import leases, postponing, running, sweeping
from snapshots.models import Job, Recording, ResumableUpload
from snapshots.services.checking import Check
from snapshots.store.objects.paths import remove_tree
from snapshots.store.reader import StoredRecording
from snapshots.store.whole_log import read_log
from tests.web.given import a_person, native
from webapp.accounts.services import make_token

Say = Callable[..., None]
Said = list[list[Any]]

LOG = native(two_banks())
TUS = {"Tus-Resumable": "1.0.0"}
PIECES = 3
MOST_RUNS = 6
READY, STILL_OPEN = 1, 2  # the recordings of an installation that holds some
OPEN_HEADER = {
    "kind": "header",
    "format": "cutline",
    "version": 1,
    "name": "two processes",
    "processes": [{"id": "A", "state": 10}, {"id": "B", "state": 0}],
    "channels": [{"id": "A->B", "source": "A", "target": "B"}],
}
BODIES = [
    [{"kind": "send", "process": "A", "index": 0, "at": 1, "channel": "A->B", "message": "m"}],
    [{"kind": "internal", "process": "A", "index": 1, "at": 4, "state": "x" * 900}],
    [{"kind": "receive", "process": "B", "index": 0, "at": 3, "channel": "A->B", "message": "m"}],
]


def load() -> None:
    """Load what every act needs, and let jobs run their Spark tasks in this process.

    A JVM cannot be forked. The tasks write the same files as under Spark.
    """
    from tasks.spark import session
    from tasks.spark.checkpoints import job as checkpoints
    from tasks.spark.ingest import job as ingest
    from tasks.spark.judge import job as judge
    from tasks.spark.stages import StagesHere

    resolve("/api/recordings")
    session.get = lambda: None
    for module in (checkpoints, ingest, judge):
        module.SparkStages = lambda session, folder=None: StagesHere()
    leases.HEARTBEAT_SECONDS = 3600.0  # what is written depends on no clock
    leases.SECONDS_BETWEEN_REPORTS = 0.0
    postponing.SECONDS_BETWEEN_WRITES = 0.05
    postponing.LONGEST_BETWEEN_WRITES = 0.2


def do_everything_once() -> None:
    """Do each act in this process, so that those that are forked from it have nothing to load."""
    said: Said = []

    def say(*words: Any) -> None:
        said.append(list(words))

    prepare(say, holding=True)
    given = {"token": said[0][1], "so_far": []}
    for act in (journal, pieces, rows):
        act(say, **given)
    finish(say, act="ingest", **given)


# --- preparing ------------------------------------------------------------------------------------


def prepare(say: Say, *, holding: bool) -> None:
    """Make an installation with a person; if ``holding``, with recordings, one of them open."""
    call_command("migrate", verbosity=0)
    starting.require_all(patience=0)
    _, token = make_token(a_person(), "test")
    say("token", token)
    if holding:
        person = _Person(token, lambda *words: None, [])
        person.upload()
        _work()
        person.open()
        person.send(0)
    connection.close()


# --- acts -----------------------------------------------------------------------------------------


class _Person:
    """Somebody who calls the API, and says which call was acknowledged and which refused."""

    def __init__(self, token: str, say: Say, so_far: Said) -> None:
        headers = {"Authorization": f"Bearer {token}"}
        self._client = Client(headers=headers, raise_request_exception=False)
        self._say = say
        self._done = {step: told for word, step, *told in so_far if word == "accepted"}

    def call(self, step: str, method: str, path: str, body: bytes = b"", **more: Any) -> Any:
        """Return what the step was answered, now or in an earlier attempt; None if refused."""
        if step in self._done:
            return self._done[step][0]
        answer = self._client.generic(method, f"/api{path}", body, **more)
        return self._noted(step, answer)

    def _noted(self, step: str, answer: HttpResponse) -> Any:
        connection.close()  # as each request has one of its own
        if answer.status_code >= 400:
            self._say("refused", step, answer.status_code, answer.content.decode())
            return None
        told = json.loads(answer.content or b"{}") | {"location": answer.get("Location", "")}
        self._done[step] = [told]
        self._say("accepted", step, told)
        return told

    def upload(self) -> None:
        if "upload" not in self._done:
            given = {"file": SimpleUploadedFile("banks.jsonl", LOG)}
            self._noted("upload", self._client.post("/api/recordings", given))

    def open(self) -> None:
        body = json.dumps({"open": True, "header": OPEN_HEADER}).encode()
        self.call("open", "POST", "/recordings", body, content_type="application/json")

    def send(self, number: int) -> None:
        if "open" in self._done:
            lines = b"".join(json.dumps(event).encode() + b"\n" for event in BODIES[number])
            path = f"/recordings/{self._done['open'][0]['id']}/events"
            kind = "application/x-ndjson"
            self.call(f"body {number}", "POST", path, lines, content_type=kind)

    def close(self) -> None:
        if all(f"body {number}" in self._done for number in range(len(BODIES))):
            self.call("close", "POST", f"/recordings/{self._done['open'][0]['id']}/close")

    def begin_pieces(self) -> str | None:
        name = base64.b64encode(b"banks.jsonl").decode()
        headers = {**TUS, "Upload-Length": str(len(LOG)), "Upload-Metadata": f"filename {name}"}
        told = self.call("begin", "POST", "/uploads", headers=headers)
        return told and told["location"].removeprefix("/api")

    def offset(self, address: str) -> int | None:
        """Return how many bytes of an upload in pieces the server has; None if it does not say."""
        answer = self._client.head(f"/api{address}", headers=TUS)
        connection.close()
        return int(answer["Upload-Offset"]) if answer.status_code == 200 else None

    def piece(self, address: str, offset: int) -> bool:
        end = min(len(LOG), offset + -(-len(LOG) // PIECES))
        kind = {"Content-Type": "application/offset+octet-stream"}
        headers = {**TUS, **kind, "Upload-Offset": str(offset)}
        step = f"piece to {end}"
        told = self.call(step, "PATCH", address, LOG[offset:end], headers=headers)
        return told is not None


def ingest(say: Say, *, token: str, so_far: Said) -> None:
    """Upload a log, and do the job."""
    _Person(token, say, so_far).upload()
    _work(say)


def journal(say: Say, *, token: str, so_far: Said) -> None:
    """Open a recording, send it three bodies, close it, and do the job."""
    person = _Person(token, say, so_far)
    person.open()
    for number in range(len(BODIES)):
        person.send(number)
    person.close()
    _work(say)


def pieces(say: Say, *, token: str, so_far: Said) -> None:
    """Upload a log in three pieces, and do the job."""
    person = _Person(token, say, so_far)
    address = person.begin_pieces()
    while address and (offset := person.offset(address)) is not None and offset < len(LOG):
        if not person.piece(address, offset):
            break
    _work(say)


def rows(say: Say, *, token: str, so_far: Said) -> None:
    """Rename a recording, write two notes at it, and delete the open one."""
    person = _Person(token, say, so_far)
    kind = {"content_type": "application/json"}
    named = json.dumps({"name": "renamed"}).encode()
    person.call("rename", "PATCH", f"/recordings/{READY}", named, **kind)
    for number in range(2):
        note = json.dumps({"text": f"note {number}", "place": "event:B:2"}).encode()
        person.call(f"note {number}", "POST", f"/recordings/{READY}/entries", note, **kind)
    if Recording.objects.filter(pk=STILL_OPEN).exists():
        person.call("delete", "DELETE", f"/recordings/{STILL_OPEN}")


def backup(say: Say, *, token: str, so_far: Said) -> None:
    """Make a backup, in a new folder each time."""
    if not _was_accepted("backup", so_far):
        number = len(_backups())
        _command(say, "backup", _beside() / f"backup-{number}")


def restore(say: Say, *, token: str, so_far: Said) -> None:
    """Restore the backup; empty the folders first if they are left over from an earlier try."""
    if so_far and Recording.objects.exists():
        return
    for place in (Path(settings.UPLOADS_DIR), recordings.store().root) if so_far else ():
        if place.exists():
            remove_tree(place)
            place.mkdir()
    _command(say, "restore_backup", _beside() / "backup-0")


def _was_accepted(step: str, so_far: Said) -> bool:
    return any(words[:2] == ["accepted", step] for words in so_far)


def _command(say: Say, name: str, folder: Path) -> None:
    try:
        call_command(name, str(folder), stdout=StringIO(), stderr=StringIO())
    except CommandError as error:
        say("refused", name, 0, str(error))
    else:
        say("accepted", name, {})
    connection.close()


def _beside() -> Path:
    """Return the folder beside the data, on the same disk."""
    return Path(settings.DATA_DIR).parent


def _backups() -> list[Path]:
    return sorted(_beside().glob("backup-*"))


def _work(say: Say = lambda *words: None) -> None:
    """Run the jobs whose turn it is, and say what the others wait for."""
    try:
        while running.run_next():
            pass
        for job in Job.objects.exclude(error=None):
            say("waits", job.state, job.error)
    except OperationalError as error:  # the queue's task logs it; the next sweep sends another
        say("task failed", str(error))
    connection.close()


# --- what is there --------------------------------------------------------------------------------


def finish(say: Say, *, act: str, **given: Any) -> None:
    """Start again on a sound disk, let the client try again, and say what is there.

    ``act`` and ``given`` are those of the disturbed attempt.
    """
    if starting.missing_migrations():
        call_command("migrate", verbosity=0)
    try:
        starting.require_all(patience=0)
        sweeping.sweep()
    except starting.CannotStart as reason:
        say("cannot start", str(reason))
    ACTS[act](say, **given)
    starting.require_all(patience=0)
    for _ in range(MOST_RUNS):
        for job in Job.objects.filter(state__in=Job.OPEN):
            running.run(job.pk)
    sweeping.sweep()
    wrong = [finding.sentence for finding in Check().findings() if finding.is_wrong]
    say("there", {**state(), "wrong": wrong, "database": _database()})
    connection.close()


def state() -> dict[str, Any]:
    """Return all that was accepted, without what differs between two runs."""
    found = [_recording(row) for row in Recording.objects.order_by("pk")]
    unfinished = ResumableUpload.objects.filter(status=None)
    return {
        "recordings": found,
        "unfinished": [[row.pk, row.offset] for row in unfinished],
        "jobs": [[job.state, (job.error or {}).get("detail")] for job in Job.objects.all()],
        "left over": _left_over(),
        "aside": len(sweeping.all_aside()),
        "backups": [held for folder in _backups() if (held := _held(folder))],
    }


def _held(folder: Path) -> Any:
    """Return what a backup holds; None if it is not one that would be restored."""
    try:
        told = restoring.verified(folder)
    except restoring.CannotRestore:
        return None
    files = [path for path in backups.files_of(folder) if path.parent != folder]
    return [told["rows"], told["missing"], sorted(_digest(path.read_bytes()) for path in files)]


def _recording(row: Recording) -> dict[str, Any]:
    from snapshots.reviews.models import Entry

    path = kept.path_of(row.upload) if row.upload else None
    there = {
        "id": row.pk,
        "name": row.name,
        "status": row.status,
        "error": row.error,
        "upload": path and (_digest(path.read_bytes()) if path.exists() else "missing"),
        "snapshots": list(row.snapshots.order_by("code").values_list("snapshot", "verdict")),
        "notes": list(Entry.objects.filter(recording=row).order_by("text").values_list("text")),
    }
    if row.journal:
        lines = b"".join(canonical_log(Journal(uploads.path_of(row.journal))))
        there["journal"] = [lines.count(b"\n"), _digest(lines)]
    if row.status == "ready":
        log = read_log(StoredRecording.open(recordings.store().folder(row.store)), row.name)
        there["log"] = _digest(repr(log).encode())
    return there


def _digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()[:16]


def _left_over() -> list[str]:
    """Return the files of uploads and stores that no row names, after a sweep."""
    named_uploads, named_stores = recordings.named()
    unfinished = {f".{row.upload}" for row in ResumableUpload.objects.filter(status=None)}
    known = named_uploads | named_stores | unfinished | {"aside", "installation.json"}
    folders = (Path(settings.UPLOADS_DIR), recordings.store().root)
    paths = [path for folder in folders if folder.is_dir() for path in folder.iterdir()]
    return sorted(path.name for path in paths if path.name not in known)


def _database() -> str:
    with sqlite3.connect(settings.DATABASES["default"]["NAME"]) as database:
        return str(database.execute("PRAGMA integrity_check").fetchone()[0])


OF_USERS = ("ingest", "journal", "pieces", "rows")
"""The acts of a web process, which keeps the database open."""

ACTS: dict[str, Callable[..., None]] = {
    act.__name__: act
    for act in (
        *(prepare, finish),
        *(ingest, journal, pieces, rows, backup, restore),
    )
}
