"""What is said when an object store refuses, fails, or has lost a part of what it kept."""

import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from bench.synthetic_store import write_synthetic
from snapshots.services.checking import fault_of
from snapshots.store.errors import StoreDamaged, StoreUnreachable
from snapshots.store.objects import catalogues, client
from snapshots.store.objects.paths import path_of, put_tree
from snapshots.store.publish import publish
from snapshots.store.reader import StoredRecording

pytestmark = pytest.mark.slow

SECRET = "what-nobody-may-read"
CALLS = {
    "read": lambda: client.read("bucket", "key"),
    "list": lambda: list(client.listed("bucket", "folder")),
    "write": lambda: client.write("bucket", "key", b"bytes"),
}


class Refusing(ThreadingHTTPServer):
    """A server that answers each request as S3 refuses one, with this status and code."""

    status, code = 500, "InternalError"

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Answer)


class _Answer(BaseHTTPRequestHandler):
    server: Refusing

    def _refuse(self) -> None:
        self.rfile.read(int(self.headers.get("Content-Length") or 0))
        error = f"<Error><Code>{self.server.code}</Code><Message>{SECRET}</Message></Error>"
        self.send_response(self.server.status)
        self.send_header("Content-Length", str(len(error)))
        self.end_headers()
        self.wfile.write(error.encode())

    do_GET = do_PUT = do_POST = _refuse  # noqa: N815 - http.server asks for these names

    def log_message(self, *_: object) -> None:
        """Print nothing."""


@pytest.fixture(scope="module")
def server() -> Iterator[Refusing]:
    with Refusing() as made:
        threading.Thread(target=made.serve_forever, daemon=True).start()
        yield made
        made.shutdown()


@pytest.fixture
def refusing(server, monkeypatch) -> Iterator[Refusing]:
    """Let a server that refuses everything stand where the object store is."""
    monkeypatch.setenv("AWS_ENDPOINT_URL", f"http://127.0.0.1:{server.server_port}")
    monkeypatch.setattr(client, "_RETRIES", {"max_retries": 0})
    client._store.cache_clear()
    yield server
    client._store.cache_clear()


@pytest.mark.parametrize(
    ("status", "code", "cause"),
    [
        (403, "AccessDenied", "may this key list the bucket, and read, write and delete"),
        (403, "InvalidAccessKeyId", "It does not know these credentials"),
        (403, "SignatureDoesNotMatch", "It does not know these credentials"),
        (400, "ExpiredToken", "The credentials have expired"),
        (403, "ExpiredToken", "The credentials have expired"),
        (403, "RequestTimeTooSkewed", "clock"),
        (401, "", "It refuses the request"),
        (404, "NoSuchBucket", "There is no such bucket"),
        (503, "SlowDown", "It is overloaded or being restarted (503)"),
        (500, "InternalError", "It failed by itself (500 InternalError)"),
        (507, "", "It has no room (507)"),
        (400, "InvalidRequest", "It refuses the request (400 InvalidRequest)"),
    ],
)
def test_the_cause_of_a_refusal_is_said_and_no_secret(refusing, status, code, cause):
    refusing.status, refusing.code = status, code
    for call in CALLS.values():
        with pytest.raises(StoreUnreachable) as failed:
            call()
        assert str(failed.value).startswith("The object store could not be used at s3://bucket/")
        assert cause in str(failed.value)
        assert SECRET not in str(failed.value)


def test_a_new_object_that_finds_no_place_names_the_bucket(refusing):
    refusing.status, refusing.code = 404, "NoSuchKey"
    with pytest.raises(StoreUnreachable, match="There is no such bucket"):
        CALLS["write"]()
    with pytest.raises(FileNotFoundError):
        CALLS["read"]()


@pytest.fixture
def stored(bucket, tmp_path):
    """Return a recording on an object store, of which this process knows nothing yet."""
    write_synthetic(tmp_path, 20_000)
    folder = path_of(f"{bucket}/store/j1-1")
    put_tree(tmp_path, folder)
    publish(folder, folder)
    catalogues.forget_all()
    return folder


@pytest.mark.parametrize("share", [0.0, 0.5, 0.999])
def test_a_part_that_was_cut_short_is_damaged_and_named(stored, share):
    whole = StoredRecording.open(stored)
    parts = [part.file for part in whole.manifest.parts_of("events")]
    for name in parts:
        content = (stored / name).read_bytes()
        (stored / name).write_bytes(content[: int(len(content) * share)])

    def ask() -> None:
        for step in range(0, 20_000, 500):
            whole.cut(whole.positions_at(step=step)).all_contents()

    with pytest.raises(StoreDamaged, match=r"events/.*: It is shorter than it was"):
        ask()


def test_the_check_of_files_finds_each_object_that_is_gone_or_has_another_size(stored):
    StoredRecording.open(stored)  # what a process knows already is not believed
    assert fault_of(stored) is None
    part = StoredRecording.open(stored).manifest.parts_of("events")[0].file
    for name in ("manifest.json", part):
        content = (stored / name).read_bytes()
        (stored / name).unlink()
        assert fault_of(stored) == f"{name}: It is missing. Was it deleted?"
        (stored / name).write_bytes(content[:-1])
        assert f"{name}: It has {len(content) - 1:,} bytes and had" in fault_of(stored)
        (stored / name).write_bytes(content)
    (stored / "published").unlink()
    assert "published: It is missing" in fault_of(stored)
