"""Requests while the database is locked, or the disk full or read-only."""

import contextlib
import http.client
import os
import sqlite3
import subprocess
import time
from pathlib import Path

import pytest
from django.conf import settings
from django.db import DatabaseError, OperationalError, connection
from django.http import HttpResponse
from django.test import Client

from snapshots import passing
from snapshots.domain.simulators.samples import two_banks
from snapshots.services import jobs
from tests.web.given import a_client, a_file, a_person, a_ready_recording, native, uploads_of
from tests.webapp.over_http import Api
from tests.webapp.serving import prepared
from webapp.edge.optional_writes import Sessions

pytestmark = pytest.mark.only("sqlite", reason="These locks and files are those of SQLite.")

PAGES = ("/", "/archive", "/topologies", "/jobs", "/learn", "/account")
SIZE = 48 * 1024**2


@contextlib.contextmanager
def locked_database(*, patience: int = 50):
    """Hold SQLite's write lock in another connection. Requests wait for it `patience` ms."""
    with connection.cursor() as cursor:
        cursor.execute(f"PRAGMA busy_timeout = {patience}")
    other = sqlite3.connect(settings.DATABASES["default"]["NAME"], isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    try:
        yield
    finally:
        other.execute("ROLLBACK")
        other.close()
        connection.close()


@pytest.fixture
def ada(transactional_db, data_dir):
    return a_person()


def session_of(user) -> Client:
    client = Client(raise_request_exception=False)
    client.force_login(user)
    return client


def test_a_call_that_must_write_is_put_off_while_the_database_is_locked(ada, caplog):
    banks, api = a_ready_recording(ada), a_client(ada)
    with locked_database():
        answer = api.post(f"/api/recordings/{banks.pk}/snapshots/s1/restore")
    assert answer.status_code == 503
    assert answer.headers["Content-Type"] == "application/problem+json"
    assert int(answer.headers["Retry-After"]) > 0
    assert "database is busy" in answer.json()["detail"]
    assert "Traceback" not in caplog.text
    assert api.post(f"/api/recordings/{banks.pk}/snapshots/s1/restore").status_code == 202


def test_an_upload_that_is_put_off_leaves_nothing(ada, data_dir):
    api = a_client(ada)
    with locked_database():
        assert api.post("/api/recordings", {"file": a_file()}).status_code == 503
    assert uploads_of(data_dir) == []
    assert api.post("/api/recordings", {"file": a_file()}).status_code == 202


def test_a_page_that_must_write_says_so_while_the_database_is_locked(ada):
    banks, client = a_ready_recording(ada), session_of(ada)
    with locked_database():
        answer = client.post(f"/recordings/{banks.pk}/rename", {"name": "Ledger"})
    assert answer.status_code == 503
    assert int(answer.headers["Retry-After"]) > 0
    assert "The database is busy" in answer.text
    assert "Not available at the moment" in answer.text


def test_lists_and_pages_are_read_while_the_database_is_locked(ada):
    """Lists and pages wait for a locked database for a shorter time than a request that writes."""
    api, client = a_client(ada), session_of(ada)
    with locked_database(patience=20_000):
        began = time.monotonic()
        assert api.get("/api/recordings").status_code == 200
        assert [client.get(page).status_code for page in PAGES] == [200] * len(PAGES)
        assert time.monotonic() - began < 10


def seen(request) -> HttpResponse:
    """Write into the session, like a view that shows a message for the first time."""
    request.session["seen"] = True
    return HttpResponse("read")


def test_a_session_that_cannot_be_saved_fails_no_page(ada, rf):
    rf.cookies["sessionid"] = session_of(ada).cookies["sessionid"].value
    with locked_database():
        assert Sessions(seen)(rf.get("/")).content == b"read"
        with pytest.raises(OperationalError):
            Sessions(seen)(rf.post("/"))


def test_a_fault_is_no_passing_failure(ada, monkeypatch):
    def broken(*args, **fields):
        raise RuntimeError("a fault")

    monkeypatch.setattr(jobs, "create_job", broken)
    banks = a_ready_recording(ada)
    answer = a_client(ada).post(f"/api/recordings/{banks.pk}/snapshots/s1/restore")
    assert (answer.status_code, answer.json()["type"]) == (500, "/problems/internal")


def test_a_wrong_query_is_no_passing_failure(db):
    for query in ("SELECT * FROM nothing", "SELECT nothing", "SELEC"):
        with pytest.raises(DatabaseError) as raised, connection.cursor() as cursor:
            cursor.execute(query)
        assert passing.problem_of(raised.value) is None


@pytest.fixture(scope="module")
def mounted(tmp_path_factory):
    """Mount a small disk in memory."""
    if os.geteuid() != 0:
        pytest.skip("Only root can mount a disk.")
    folder = tmp_path_factory.mktemp("disk")
    mount = ["mount", "-t", "tmpfs", "-o", f"size={SIZE}", "tmpfs", folder]
    if subprocess.run(mount, capture_output=True).returncode:
        pytest.skip("This machine lets nobody mount a disk.")
    yield folder
    subprocess.run(["umount", "--lazy", folder], check=True)


@pytest.fixture(scope="module")
def small(live_redis, mounted, tmp_path_factory):
    """Provide a server whose data are on the small disk, with one recording and an open session."""
    stack = live_redis.beside(tmp_path_factory.mktemp("stack"), DATA_DIR=mounted, MIN_FREE_BYTES=0)
    stack.start_server()
    stack.api = Api(stack)
    stack.cookie = prepared(stack, cookie="session()")["cookie"]
    assert stack.api.upload(native(two_banks())).status == 202
    yield stack
    stack.stop()


def call(stack, method: str, path: str, cookie: str):
    connection = http.client.HTTPConnection("127.0.0.1", stack.port, timeout=60)
    connection.request(method, path, headers={"Cookie": cookie})
    answer = connection.getresponse()
    return answer.status, answer.headers, answer.read().decode()


def require_reading(stack) -> None:
    assert stack.api.get("/recordings")["total"] >= 1
    assert {page: call(stack, "GET", page, stack.cookie)[0] for page in PAGES} == dict.fromkeys(
        PAGES, 200
    )


def files_of(folder: Path) -> set[str]:
    return {path.name for path in (folder / "uploads").iterdir()}


def fill(folder: Path) -> Path:
    path = folder / "filler"
    with path.open("wb", buffering=0) as file, contextlib.suppress(OSError):
        while True:
            file.write(b"x" * 4096)
    return path


@pytest.mark.slow
def test_a_full_disk_refuses_uploads_and_shows_everything(small, mounted):
    before = files_of(mounted)
    filler = fill(mounted)
    require_reading(small)
    for padding in (0, 100_000, 5_000_000):  # in a piece, in several, spooled
        answer = small.api.upload(native(two_banks()) + b"\n" * padding)
        assert (answer.status, answer.body["type"]) == (507, "/problems/no-room"), answer
    status, _, page = call(small, "POST", "/sign-out", small.cookie)
    assert status in (403, 507), page
    assert files_of(mounted) == before
    require_reading(small)
    filler.unlink()
    assert small.api.upload(native(two_banks())).status == 202
    assert "Traceback" not in small.said("server")


@pytest.mark.slow
def test_a_disk_that_became_read_only_shows_everything(small, mounted):
    """New files fail like on a disk that the kernel has remounted read-only."""
    subprocess.run(["mount", "--bind", mounted, mounted], check=True)
    subprocess.run(["mount", "-o", "remount,bind,ro", mounted], check=True)
    try:
        require_reading(small)
        answer = small.api.upload(native(two_banks()))
        assert (answer.status, answer.body["type"]) == (503, "/problems/unavailable"), answer
        require_reading(small)
    finally:
        subprocess.run(["umount", "--lazy", mounted], check=True)
    assert small.api.upload(native(two_banks())).status == 202
    assert "Traceback" not in small.said("server")
