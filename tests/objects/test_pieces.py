"""Uploads whose pieces become objects, so that any machine goes on where another one stopped."""

import time
from datetime import timedelta

import pytest
from django.db import OperationalError
from django.utils import timezone

from snapshots.files import far_pieces, identity, kept
from snapshots.jobs import sweeping
from snapshots.models import Recording, ResumableUpload
from snapshots.store.objects import client as requests
from snapshots.store.objects.paths import path_of
from tests.web.api.test_uploads_in_pieces import LOG, TUS, begun, offset_of, piece, problem

pytestmark = [pytest.mark.django_db, pytest.mark.slow]

THIRD = len(LOG) // 3


@pytest.fixture
def far(data_dir, settings, bucket):
    """Return where uploads are kept, of an installation without recordings."""
    settings.STORE_URL, settings.UPLOADS_URL = f"{bucket}/store", f"{bucket}/uploads"
    identity.require_pair()
    return path_of(settings.UPLOADS_URL)


@pytest.fixture
def machines(far, settings, tmp_path_factory):
    """Return a function that goes on on another machine, which has a folder of its own."""
    folders = [tmp_path_factory.mktemp("machine") for _ in range(2)]

    def go_to(number: int) -> None:
        settings.DATA_DIR = settings.UPLOADS_DIR = folders[number]

    go_to(0)
    go_to.folders = folders
    return go_to


@pytest.fixture
def address(machines, api) -> str:
    return begun(api)["Location"]


def objects(far) -> list[str]:
    return sorted(path.key.removeprefix(f"{far.key}/") for path in far.rglob("*"))


@pytest.mark.parametrize("smallest", [1, 100, 2**20], ids=("each", "some", "joined"))
def test_machines_that_share_no_folder_go_on_where_the_other_stopped(
    api, address, machines, far, monkeypatch, smallest
):
    monkeypatch.setattr(far_pieces, "SMALLEST", smallest)
    size = 61
    for number, begin in enumerate(range(0, len(LOG), size)):
        machines(number % 2)
        assert offset_of(api, address) == begin
        answer = piece(api, address, begin, LOG[begin : begin + size])
        assert answer.status_code == 204, answer.content
        sizes = [path.stat().st_size for path in far.rglob("*") if kept.PIECES in path.parts]
        assert all(size < smallest + 61 for size in sizes)
        assert sum(size < smallest for size in sizes) <= 1
    recording = Recording.objects.get()
    assert objects(far) == [recording.upload]
    assert (far / recording.upload).read_bytes() == LOG
    assert api.get(address).json()["state"] == "accepted"
    # The hash is that of the whole file: the same file once more is recognised.
    again = begun(api)["Location"]
    piece(api, again, 0, LOG)
    assert api.get(again).json()["accepted"]["same_file"] is not None
    kept_here = {path.name for folder in machines.folders for path in folder.iterdir()}
    assert kept_here == set(Recording.objects.values_list("upload", flat=True))


def test_a_piece_that_is_refused_leaves_no_object(api, address, far):
    piece(api, address, 0, LOG[:THIRD])
    [first] = objects(far)
    assert problem(piece(api, address, THIRD, LOG)) == (413, "too-large")
    wrong = piece(api, address, THIRD, LOG[THIRD:-1], Upload_Checksum="sha1 AAAA")
    assert problem(wrong) == (460, "wrong-checksum")
    assert problem(piece(api, address, 0, LOG[:THIRD])) == (409, "conflict")
    assert piece(api, address, THIRD, b"").status_code == 204
    assert (offset_of(api, address), objects(far)) == (THIRD, [first])
    assert piece(api, address, THIRD, LOG[THIRD:]).status_code == 204
    assert (far / Recording.objects.get().upload).read_bytes() == LOG


@pytest.mark.parametrize("end", [2 * THIRD, len(LOG)], ids=("a piece", "the last piece"))
def test_of_two_machines_that_receive_the_same_piece_one_is_refused(
    api, address, far, machines, monkeypatch, end
):
    piece(api, address, 0, LOG[:THIRD])
    appended = far_pieces.FarPieces.append

    def append_while_another_machine_is_quicker(self, blocks) -> None:
        appended(self, blocks)
        monkeypatch.setattr(far_pieces.FarPieces, "append", appended)
        machines(1)
        assert piece(api, address, THIRD, LOG[THIRD:end]).status_code == 204
        machines(0)

    monkeypatch.setattr(far_pieces.FarPieces, "append", append_while_another_machine_is_quicker)
    assert piece(api, address, THIRD, LOG[THIRD:end]).status_code in (404, 423)
    assert offset_of(api, address) == end
    if end < len(LOG):
        assert piece(api, address, end, LOG[end:]).status_code == 204
    recording = Recording.objects.get()
    assert objects(far) == [recording.upload]
    assert (far / recording.upload).read_bytes() == LOG


def test_of_two_machines_that_join_the_same_upload_one_makes_the_recording(
    api, address, far, machines, monkeypatch
):
    piece(api, address, 0, LOG[:THIRD])
    put = kept.put

    def put_while_another_machine_is_quicker(path, name) -> None:
        put(path, name)
        monkeypatch.setattr(kept, "put", put)
        machines(1)
        assert piece(api, address, THIRD, LOG[THIRD:]).status_code == 204
        machines(0)

    monkeypatch.setattr(kept, "put", put_while_another_machine_is_quicker)
    assert problem(piece(api, address, THIRD, LOG[THIRD:])) == (404, "not-found")
    recording = Recording.objects.get()
    assert objects(far) == [recording.upload]
    assert (far / recording.upload).read_bytes() == LOG


@pytest.mark.parametrize("content", [None, b"short"], ids=("missing", "short"))
def test_an_upload_of_which_a_piece_is_lost_says_so_and_can_be_discarded(
    api, address, far, content
):
    piece(api, address, 0, LOG[:THIRD])
    [only] = far.rglob("*")
    only.unlink() if content is None else only.write_bytes(content)
    answer = piece(api, address, THIRD, LOG[THIRD:])
    assert problem(answer) == (404, "not-found")
    assert "missing on the object store or is cut short" in answer.json()["detail"]
    assert not Recording.objects.exists()
    assert api.delete(address, headers=TUS).status_code == 204
    assert objects(far) == []


def test_while_the_object_store_is_down_nothing_of_a_piece_counts(api, address, far, monkeypatch):
    piece(api, address, 0, LOG[:THIRD])
    api.raise_request_exception = False
    with monkeypatch.context() as down:
        down.setenv("AWS_ENDPOINT_URL", "http://127.0.0.1:9")
        requests._store.cache_clear()
        for end in (2 * THIRD, len(LOG)):
            answer = piece(api, address, THIRD, LOG[THIRD:end])
            assert answer.status_code == 503
            assert "The object store could not be used" in answer.json()["detail"]
    requests._store.cache_clear()
    assert offset_of(api, address) == THIRD
    assert piece(api, address, THIRD, LOG[THIRD:]).status_code == 204
    assert (far / Recording.objects.get().upload).read_bytes() == LOG


def test_while_the_object_store_is_frozen_a_piece_is_refused_in_a_bounded_time(
    api, address, far, object_store, monkeypatch
):
    piece(api, address, 0, LOG[:THIRD])
    api.raise_request_exception = False
    monkeypatch.setattr(far_pieces, "SMALLEST", 1)  # so that nothing is read before
    with monkeypatch.context() as short:
        short.setattr(requests, "_WRITE_SECONDS", 2)
        short.setattr(requests, "_SILENT", timedelta(seconds=1))
        short.setattr(requests, "_RETRIES", {"max_retries": 0})
        requests._store.cache_clear()
        with object_store.frozen():
            for end in (2 * THIRD, len(LOG)):
                began = time.monotonic()
                answer = piece(api, address, THIRD, LOG[THIRD:end])
                assert problem(answer) == (503, "unavailable")
                assert "It does not answer in time" in answer.json()["detail"]
                assert time.monotonic() - began < 2 + 1 + 2
    requests._store.cache_clear()
    assert offset_of(api, address) == THIRD
    assert piece(api, address, THIRD, LOG[THIRD:]).status_code == 204
    recording = Recording.objects.get()
    assert (far / recording.upload).read_bytes() == LOG
    assert [name for name in objects(far) if kept.PIECES in name] == []


def test_what_browsers_send_is_put_with_one_request(bucket, object_store):
    """S3 keeps the parts of an object that came before a failure, and lists none of them."""
    path = path_of(f"{bucket}/piece")
    path.write_bytes(bytes(12 * 2**20))  # 8 MiB, and what was below 8 MiB before
    head = object_store.client.head_object(Bucket=path.bucket, Key=path.key)
    assert "-" not in head["ETag"]  # S3 has it in the tags of objects in parts


def test_a_piece_that_the_row_lists_stays_though_its_write_was_reported_as_failed(
    api, address, far, monkeypatch
):
    def fail(pieces) -> None:
        raise OperationalError("the connection was lost after the commit")

    piece(api, address, 0, LOG[:THIRD])
    api.raise_request_exception = False
    with monkeypatch.context() as patch:
        patch.setattr(far_pieces.FarPieces, "acknowledged", fail)
        assert piece(api, address, THIRD, LOG[THIRD : 2 * THIRD]).status_code == 503
    assert offset_of(api, address) == 2 * THIRD
    assert piece(api, address, 2 * THIRD, LOG[2 * THIRD :]).status_code == 204
    assert (far / Recording.objects.get().upload).read_bytes() == LOG


def test_the_sweep_removes_the_pieces_of_uploads_that_have_ended(api, address, far):
    piece(api, address, 0, LOG[:THIRD])
    upload = ResumableUpload.objects.get()
    left = kept.pieces_folder("of-an-upload-that-was-killed-when-it-ended") / "piece"
    left.write_bytes(b"bytes")
    sweeping.sweep()
    [name] = objects(far)
    assert upload.upload in name
    ResumableUpload.objects.update(expires_at=timezone.now() - timedelta(seconds=1))
    sweeping.sweep()
    assert objects(far) == []


def test_what_a_killed_process_has_put_goes_when_the_upload_ends(api, address, far):
    (kept.pieces_folder(ResumableUpload.objects.get().upload) / "unlisted").write_bytes(b"bytes")
    piece(api, address, 0, LOG)
    assert objects(far) == [Recording.objects.get().upload]
