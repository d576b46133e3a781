"""What is said when an object store refuses, fails, or has lost a part of what it kept."""

import io
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from itertools import product

import pytest

from bench.synthetic_store import write_synthetic
from snapshots.services.checking import fault_of
from snapshots.store.errors import StoreDamaged, StoreUnreachable
from snapshots.store.objects import catalogues, client, files
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
PAGE = b"<!DOCTYPE html><html><head><title>Sign in to the network</title></head></html>"
READS = {
    "list": CALLS["list"],
    "children": lambda: client.children("bucket", "folder"),
    "answer": lambda: client.require_answer("bucket", "folder"),
    "read": CALLS["read"],
    "range": lambda: client.read_range("bucket", "key", 0, 5),
    "open": lambda: files.reading("bucket", "key").read(5),
    "size": lambda: client.look("bucket", "key"),
}
FIRST_PAGE = (
    "<ListBucketResult><IsTruncated>true</IsTruncated><NextContinuationToken>1000"
    "</NextContinuationToken>{}</ListBucketResult>"
).format(
    "".join(
        f"<Contents><Key>folder/{number}</Key><Size>1</Size>"
        "<LastModified>2026-01-01T00:00:00.000Z</LastModified></Contents>"
        for number in range(1000)
    )
)


class Refusing(ThreadingHTTPServer):
    """A server that answers each request as S3 refuses one, with this status and code."""

    status, code = 500, "InternalError"
    headers: Mapping[str, str] = {}  # further ones of a page
    first = ""  # what is answered instead of a page to a list that is not continued

    def __init__(self, handler: type[BaseHTTPRequestHandler]) -> None:
        super().__init__(("127.0.0.1", 0), handler)


class _Answer(BaseHTTPRequestHandler):
    server: Refusing

    def _refuse(self) -> None:
        self.rfile.read(int(self.headers.get("Content-Length") or 0))
        error = f"<Error><Code>{self.server.code}</Code><Message>{SECRET}</Message></Error>"
        self.send_response(self.server.status)
        self.send_header("Content-Length", str(len(error)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(error.encode())

    do_GET = do_PUT = do_POST = do_HEAD = _refuse  # noqa: N815 - http.server asks for these names

    def log_message(self, *_: object) -> None:
        """Print nothing."""


class _Page(_Answer):
    """What a proxy or the sign-in page of a network answers, whatever it is asked."""

    def _refuse(self) -> None:
        self.rfile.read(int(self.headers.get("Content-Length") or 0))
        is_first = "list-type" in self.path and "continuation" not in self.path
        content = self.server.first.encode() if self.server.first and is_first else PAGE
        self.send_response(self.server.status)
        kind = "application/xml" if content != PAGE else "text/html; charset=utf-8"
        for name, value in {"Content-Type": kind, **self.server.headers}.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(content)

    do_GET = do_PUT = do_POST = do_HEAD = do_DELETE = _refuse  # noqa: N815


@contextmanager
def in_place_of_the_store(handler: type[_Answer], monkeypatch) -> Iterator[Refusing]:
    with Refusing(handler) as made:
        threading.Thread(target=made.serve_forever, args=(0.05,), daemon=True).start()
        monkeypatch.setenv("AWS_ENDPOINT_URL", f"http://127.0.0.1:{made.server_port}")
        monkeypatch.setattr(client, "_RETRIES", {"max_retries": 0})
        client._store.cache_clear()
        yield made
        client._store.cache_clear()
        made.shutdown()


@pytest.fixture
def refusing(monkeypatch) -> Iterator[Refusing]:
    """Let a server that refuses everything stand where the object store is."""
    with in_place_of_the_store(_Answer, monkeypatch) as made:
        yield made


@pytest.fixture
def page(monkeypatch) -> Iterator[Refusing]:
    """Let a server that has nothing but a web page stand where the object store is."""
    with in_place_of_the_store(_Page, monkeypatch) as made:
        yield made


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


@pytest.mark.parametrize(
    ("call", "status"),
    # HEAD is answered without a body, so nothing tells a missing object from a missing page.
    [case for case in product(READS, [200, 404]) if case not in {("size", 404), ("open", 404)}],
)
@pytest.mark.parametrize(
    "headers", [{}, {"ETag": '"1"', "Last-Modified": "Tue, 24 Nov 2026 10:00:00 GMT"}]
)
def test_a_web_page_in_place_of_the_store_is_a_fault(page, call, status, headers):
    page.status, page.headers = status, headers
    with pytest.raises(StoreUnreachable, match="no store of S3, but probably a web page"):
        READS[call]()


def test_a_web_page_that_answers_a_write_is_a_fault(page):
    """A PUT is answered by its status and a tag, which any page has."""
    page.status, page.headers = 200, {"ETag": '"1"'}
    for given in (b"bytes", io.BytesIO(b"bytes")):
        with pytest.raises(StoreUnreachable, match="no store of S3, but probably a web page"):
            client.write("bucket", "key", given)


def test_a_web_page_in_place_of_the_rest_of_a_list_is_a_fault(page):
    page.status, page.first = 200, FIRST_PAGE
    with pytest.raises(StoreUnreachable, match="no store of S3, but probably a web page"):
        CALLS["list"]()


def test_an_empty_bucket_and_a_full_page_are_lists(bucket):
    root = path_of(bucket)
    assert (list(root.rglob("*")), list(root.iterdir()), root.is_dir()) == ([], [], False)
    (root / "folder" / "only").write_bytes(b"1")
    assert [path.name for path in (root / "folder").iterdir()] == ["only"]


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
