"""Uploads in pieces with tus 1.0.0: offsets, checksums, ends, limits, and who may see them."""

import base64
import fcntl
import hashlib
from datetime import timedelta

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.db import connection
from django.test import Client
from django.utils import timezone

from snapshots.domain.simulators.samples import two_banks
from snapshots.files import resumable
from snapshots.jobs import sweeping
from snapshots.models import Job, Recording, ResumableUpload
from tests.web.given import a_client, a_person, native, uploads_of
from webapp.accounts.services import make_token
from webapp.teams import services as teams
from webapp.teams.models import Membership
from webapp.teams.roles import Role

pytestmark = [
    pytest.mark.django_db,
    pytest.mark.usefixtures("data_dir", "every_reply_is_documented"),
]

TUS = {"Tus-Resumable": "1.0.0"}
LOG = native(two_banks())
HALF = len(LOG) // 2


def encoded(value: bytes | str) -> str:
    return base64.b64encode(value.encode() if isinstance(value, str) else value).decode()


def begun(api: Client, length: int = len(LOG), **metadata: str):
    metadata = {"filename": "banks.jsonl", **metadata}
    pairs = ",".join(f"{name} {encoded(value)}" for name, value in metadata.items())
    headers = {**TUS, "Upload-Length": str(length), "Upload-Metadata": pairs}
    return api.post("/api/uploads", headers=headers)


def piece(api: Client, address: str, offset: int, body: bytes, **headers: str):
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    kind = {"Content-Type": "application/offset+octet-stream"}
    headers = {**TUS, **kind, "Upload-Offset": str(offset), **named}
    return api.generic("PATCH", address, body, headers=headers)


def offset_of(api: Client, address: str) -> int:
    answer = api.head(address, headers=TUS)
    assert answer.status_code == 200, answer
    return int(answer["Upload-Offset"])


def file_of(content: bytes) -> SimpleUploadedFile:
    return SimpleUploadedFile("banks.jsonl", content)


def problem(answer) -> tuple[int, str]:
    return answer.status_code, answer.json()["type"].removeprefix("/problems/")


@pytest.fixture
def address(api) -> str:
    """Return the address of a new upload of the two banks."""
    return begun(api)["Location"]


def bytes_of(address: str) -> bytes:
    upload = ResumableUpload.objects.get(pk=address.rpartition("/")[2])
    path = resumable.hidden(upload)
    return path.read_bytes() if path.exists() else b""


# --- the protocol ---------------------------------------------------------------------------------


def test_the_server_says_what_it_can(api):
    assert Client().options("/api/uploads").status_code == 401
    answer = api.options("/api/uploads")
    assert answer.status_code == 204
    assert answer["Tus-Version"] == answer["Tus-Resumable"] == "1.0.0"
    assert answer["Tus-Extension"] == "creation,checksum,termination,expiration"
    assert answer["Tus-Checksum-Algorithm"] == "sha1,sha256"


def test_a_file_in_two_pieces_is_the_recording_of_the_file(api, data_dir):
    answer = begun(api, name="in pieces")
    assert (answer.status_code, answer["Tus-Resumable"]) == (201, "1.0.0")
    address = answer["Location"]
    first = piece(api, address, 0, LOG[:HALF])
    assert (first.status_code, first["Upload-Offset"]) == (204, str(HALF))
    assert first["Upload-Expires"].endswith(" GMT")
    assert offset_of(api, address) == HALF
    last = piece(api, address, HALF, LOG[HALF:])
    assert (last.status_code, last["Upload-Offset"]) == (204, str(len(LOG)))
    state = api.get(address).json()
    recording = Recording.objects.get(pk=state["accepted"]["id"])
    assert (state["state"], recording.name, recording.source_name) == (
        *("accepted", "in pieces"),
        "banks.jsonl",
    )
    assert (data_dir / "uploads" / recording.upload).read_bytes() == LOG
    assert uploads_of(data_dir) == [recording.upload]
    assert Job.objects.get(recording=recording).pk == state["accepted"]["job"]


@pytest.mark.parametrize("name", ["", "..", "logs/", "C:\\"])
def test_a_file_without_a_name_is_taken_all_the_same(api, name):
    address = begun(api, filename=name)["Location"]
    assert piece(api, address, 0, LOG).status_code == 204
    assert Recording.objects.get().source_name == "upload"


def test_an_upload_of_which_nothing_was_told_is_taken(api):
    begun = api.post("/api/uploads", headers={**TUS, "Upload-Length": str(len(LOG))})
    assert piece(api, begun["Location"], 0, LOG).status_code == 204
    assert api.get(begun["Location"]).json()["name"] == "upload"


def test_it_is_answered_as_an_upload_in_one_piece_is(api):
    address = begun(api)["Location"]
    piece(api, address, 0, LOG)
    in_pieces = api.get(address).json()["accepted"]
    with_form = api.post("/api/recordings", {"file": file_of(LOG)}).json()
    varying = {"id", "job", "recordings", "same_file"}
    assert {k: v for k, v in in_pieces.items() if k not in varying} == {
        k: v for k, v in with_form.items() if k not in varying
    }


def test_what_was_told_of_the_file_is_given_back(api):
    address = begun(api, filename="é.jsonl", fingerprint="12")["Location"]
    answer = api.head(address, headers=TUS)
    expected = f"filename {encoded('é.jsonl')},fingerprint {encoded('12')}"
    assert (answer["Upload-Metadata"], answer["Upload-Length"]) == (expected, str(len(LOG)))
    assert answer["Cache-Control"] == "no-store"


def test_a_wrong_offset_is_refused_and_changes_nothing(api, address):
    piece(api, address, 0, LOG[:HALF])
    for offset in (0, HALF - 1, HALF + 1):
        answer = piece(api, address, offset, LOG[HALF:])
        assert problem(answer) == (409, "conflict")
        assert answer.json()["offset"] == HALF
    assert bytes_of(address) == LOG[:HALF]


@pytest.mark.parametrize("algorithm", ["sha1", "sha256"])
def test_a_piece_is_kept_only_if_its_checksum_matches(api, address, algorithm):
    right = encoded(hashlib.new(algorithm, LOG[:HALF]).digest())
    wrong = encoded(hashlib.new(algorithm, b"else").digest())
    answer = piece(api, address, 0, LOG[:HALF], Upload_Checksum=f"{algorithm} {wrong}")
    assert problem(answer) == (460, "wrong-checksum")
    assert (offset_of(api, address), bytes_of(address)) == (0, b"")
    answer = piece(api, address, 0, LOG[:HALF], Upload_Checksum=f"{algorithm} {right}")
    assert (answer.status_code, offset_of(api, address)) == (204, HALF)


def test_a_piece_beyond_the_announced_end_is_refused_whole(api, address):
    piece(api, address, 0, LOG[:HALF])
    assert problem(piece(api, address, HALF, LOG[HALF:] + b"x")) == (413, "too-large")
    assert bytes_of(address) == LOG[:HALF]
    assert not Recording.objects.exists()


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({"Upload_Offset": "-1"}, 400),
        ({"Upload_Offset": "1e3"}, 400),
        ({"Upload_Checksum": "md5 AAAA"}, 400),
        ({"Upload_Checksum": "sha1 %%"}, 400),
        ({"Tus_Resumable": "0.2.2"}, 412),
    ],
)
def test_a_header_without_meaning_is_explained(api, address, headers, status):
    answer = piece(api, address, 0, LOG, **headers)
    assert answer.status_code == status, answer.content
    assert len(answer.json()["detail"].split()) > 5
    assert answer["Tus-Resumable"] == "1.0.0"
    assert bytes_of(address) == b""


def test_another_version_is_told_which_one_is_spoken(api):
    for headers in ({}, {"Tus-Resumable": "2.0.0"}):
        answer = api.post("/api/uploads", headers={**headers, "Upload-Length": "5"})
        assert (answer.status_code, answer["Tus-Version"]) == (412, "1.0.0")


def test_a_body_of_another_kind_is_no_piece(api, address):
    answer = api.generic("PATCH", address, b"x", headers={**TUS, "Upload-Offset": "0"})
    assert problem(answer) == (415, "wrong-media-type")


@pytest.mark.parametrize(
    ("length", "metadata"),
    [("", ""), ("x", ""), ("5", "filename %"), ("5", "a YQ==,a YQ=="), ("5", "filename /w==")],
)
def test_a_beginning_without_meaning_is_refused(api, length, metadata):
    headers = {**TUS, "Upload-Length": length, "Upload-Metadata": metadata}
    assert problem(api.post("/api/uploads", headers=headers)) == (400, "bad-request")
    assert not ResumableUpload.objects.exists()


def test_a_network_that_lets_only_post_pass_is_enough(api, address):
    def posted(method: str, body: bytes = b"", **headers: str):
        return api.post(
            *(address, body, "application/offset+octet-stream"),
            headers={**TUS, "X-HTTP-Method-Override": method, **headers},
        )

    assert posted("PATCH", LOG[:HALF], **{"Upload-Offset": "0"}).status_code == 204
    assert posted("HEAD")["Upload-Offset"] == str(HALF)
    assert problem(posted("GET")) == (400, "bad-request")
    assert posted("DELETE").status_code == 204
    assert not ResumableUpload.objects.exists()


# --- the end --------------------------------------------------------------------------------------


def test_a_file_without_meaning_is_refused_as_in_one_piece(api, data_dir):
    bad = b'{"kind":"header","format":"cutline","version":1}\nnot json at all\n'
    address = begun(api, len(bad))["Location"]
    answer = piece(api, address, 0, bad)
    in_one = api.post("/api/recordings", {"file": file_of(bad)})
    assert (answer.status_code, answer.json()) == (in_one.status_code, in_one.json())
    assert answer.status_code == 422
    assert uploads_of(data_dir) == []
    assert api.get(address).json()["problem"] == answer.json()
    assert piece(api, address, 0, bad).json() == answer.json()
    assert api.head(address, headers=TUS).status_code == 422
    assert not Recording.objects.exists()


def test_the_last_piece_again_makes_no_second_recording(api, address):
    piece(api, address, 0, LOG)
    assert problem(piece(api, address, 0, LOG)) == (409, "conflict")
    assert piece(api, address, len(LOG), b"").status_code == 204
    assert Recording.objects.count() == 1


def test_without_room_the_bytes_stay_and_the_last_piece_is_sent_again(api, address, settings):
    piece(api, address, 0, LOG[:HALF])
    settings.MAX_OPEN_JOBS = 1
    api.post("/api/recordings", {"file": file_of(LOG)})
    assert problem(piece(api, address, HALF, LOG[HALF:])) == (429, "too-many")
    assert offset_of(api, address) == HALF
    Job.objects.update(state=Job.State.DONE)
    assert piece(api, address, HALF, LOG[HALF:]).status_code == 204
    assert Recording.objects.count() == 2


def test_an_upload_that_is_ended_leaves_nothing(api, address, data_dir):
    piece(api, address, 0, LOG[:HALF])
    assert api.delete(address, headers=TUS).status_code == 204
    assert uploads_of(data_dir) == []
    assert problem(piece(api, address, HALF, LOG[HALF:])) == (404, "not-found")
    assert api.delete(address, headers=TUS).status_code == 404


def test_to_end_a_finished_upload_leaves_its_recording(api, address):
    piece(api, address, 0, LOG)
    assert api.delete(address, headers=TUS).status_code == 204
    assert Recording.objects.count() == 1


def test_a_crash_while_it_was_finished_loses_no_byte(api, address):
    """The file has its final name and no recording names it, as after a kill between the two."""
    piece(api, address, 0, LOG[:HALF])
    upload = ResumableUpload.objects.get()
    hidden = resumable.hidden(upload)
    hidden.rename(hidden.with_name(upload.upload))
    sweeping.sweep()
    assert piece(api, address, HALF, LOG[HALF:]).status_code == 204
    assert Recording.objects.get().upload == upload.upload


def test_bytes_that_were_not_acknowledged_are_overwritten(api, address, data_dir):
    piece(api, address, 0, LOG[:HALF])
    with resumable.hidden(ResumableUpload.objects.get()).open("ab") as file:
        file.write(b"of a process that died")
    piece(api, address, HALF, LOG[HALF:])
    recording = Recording.objects.get()
    assert (data_dir / "uploads" / recording.upload).read_bytes() == LOG


def test_an_upload_whose_bytes_are_gone_can_be_ended(api, address):
    piece(api, address, 0, LOG[:HALF])
    resumable.hidden(ResumableUpload.objects.get()).unlink()
    assert piece(api, address, HALF, LOG[HALF:]).status_code == 404
    assert api.delete(address, headers=TUS).status_code == 204
    assert not ResumableUpload.objects.exists()


def test_a_file_is_hashed_once_and_before_the_transaction(api, address, monkeypatch):
    piece(api, address, 0, LOG[:HALF])
    resumable._hashes.clear()
    digested, inside = [], []
    digest = hashlib.file_digest

    def noting(*args):
        inside.append(connection.savepoint_ids[:])
        digested.append(digest(*args))
        return digested[-1]

    monkeypatch.setattr(hashlib, "file_digest", noting)
    before = connection.savepoint_ids[:]
    assert piece(api, address, HALF, LOG[HALF:]).status_code == 204
    assert inside == [before]
    assert Recording.objects.get().sha256 == digested[0].hexdigest()


@pytest.mark.parametrize("refused", [413, 409, 460])
def test_after_a_refused_piece_the_hash_is_still_known(api, address, monkeypatch, refused):
    piece(api, address, 0, LOG[:HALF])
    wrong = {
        413: lambda: piece(api, address, HALF, LOG),
        409: lambda: piece(api, address, 0, LOG),
        460: lambda: piece(api, address, HALF, LOG[HALF:], Upload_Checksum="sha1 AAAA"),
    }
    assert wrong[refused]().status_code == refused
    monkeypatch.delattr(hashlib, "file_digest")
    assert piece(api, address, HALF, LOG[HALF:]).status_code == 204
    assert Recording.objects.get().sha256 == hashlib.sha256(LOG).hexdigest()
    assert not resumable._hashes


# --- two at once ----------------------------------------------------------------------------------


def test_while_a_piece_is_written_another_one_waits(api, address):
    piece(api, address, 0, LOG[:HALF])
    with resumable.hidden(ResumableUpload.objects.get()).open("rb") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        answer = piece(api, address, HALF, LOG[HALF:])
        assert problem(answer) == (423, "locked")
        assert answer["Retry-After"] == "1"
        assert problem(api.delete(address, headers=TUS)) == (423, "locked")
    assert piece(api, address, HALF, LOG[HALF:]).status_code == 204


def test_a_first_piece_leaves_a_file_that_is_being_finished(api, address):
    upload = ResumableUpload.objects.get()
    ready = resumable.hidden(upload).with_name(upload.upload)
    original = resumable._path_of

    def finished_meanwhile(row):
        path = original(row)
        ready.write_bytes(LOG)
        return path

    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(resumable, "_path_of", finished_meanwhile)
        assert problem(piece(api, address, 0, LOG)) == (423, "locked")
    assert ready.read_bytes() == LOG
    assert not resumable.hidden(upload).exists()


def test_a_file_whose_row_came_after_all_stays_where_it_is(api, address):
    """The commit was reported as failed, and was none the less done."""
    piece(api, address, 0, LOG[:HALF])
    upload = ResumableUpload.objects.get()
    with resumable.Pieces(upload) as draft:
        draft.keep()
        draft.discard()
        ResumableUpload.objects.update(status=202)
    assert resumable.hidden(upload).with_name(upload.upload).exists()


def test_a_piece_puts_the_expiry_off_before_its_first_byte(address):
    upload = ResumableUpload.objects.get()
    with resumable.Pieces(upload):
        ResumableUpload.objects.filter(expires_at=upload.expires_at).get()
        assert upload.expires_at > timezone.now() + timedelta(hours=1)


# --- limits, age, and whose it is -----------------------------------------------------------------


def test_a_file_that_is_too_large_is_refused_at_the_beginning(api, settings):
    settings.MAX_RESUMABLE_BYTES = 100
    answer = begun(api, 101)
    assert problem(answer) == (413, "too-large")
    assert "MAX_RESUMABLE_BYTES" in answer.json()["detail"]
    assert begun(api, 100).status_code == 201


def test_an_empty_file_is_refused_at_the_beginning(api):
    assert problem(begun(api, 0)) == (422, "empty")


def test_a_person_has_only_so_many_unfinished_uploads(api, settings):
    settings.MAX_UNFINISHED_UPLOADS = 2
    addresses = [begun(api)["Location"] for _ in range(2)]
    answer = begun(api)
    assert problem(answer) == (429, "too-many")
    assert (answer.json()["limit"], answer.json()["used"]) == (2, 2)
    assert begun(a_client(a_person("bob@example.org"))).status_code == 201
    piece(api, addresses[0], 0, LOG)
    assert begun(api).status_code == 201


def test_unfinished_uploads_take_room_of_what_a_person_may_store(api, settings):
    settings.MAX_STORED_BYTES = 1_000
    assert begun(api, 600).status_code == 201
    assert problem(begun(api, 600)) == (429, "too-many")


def test_an_upload_takes_room_of_its_owner_alone(api, ada, settings):
    bob = a_person("bob@example.org")
    team = teams.create_team(ada, "one team")
    Membership.objects.create(team=team, person=bob, role=Role.OWNER)
    settings.MAX_STORED_BYTES = 1_000
    assert begun(api, 600, team=str(team.pk)).status_code == 201
    assert begun(api, 600).status_code == 201
    assert problem(begun(a_client(bob), 600, team=str(team.pk))) == (429, "too-many")
    ResumableUpload.objects.update(expires_at=timezone.now() - timedelta(seconds=1))
    assert begun(api, 600).status_code == 201
    assert begun(a_client(bob), 600, team=str(team.pk)).status_code == 201


@pytest.mark.parametrize(
    ("format", "status"),
    [("nonsense", 422), ("mapping:9", 422), ("native", 201), ("shiviz:1", 201), ("flink", 201)],
)
def test_a_format_is_checked_at_the_beginning(api, format, status):
    assert begun(api, format=format).status_code == status


def test_without_space_on_the_disk_no_upload_begins(api, settings):
    settings.MIN_FREE_BYTES = 2**62
    assert problem(begun(api)) == (507, "no-room")


def test_the_sweep_leaves_an_upload_until_it_expires(api, address, data_dir):
    piece(api, address, 0, LOG[:HALF])
    sweeping.sweep()
    assert offset_of(api, address) == HALF
    assert len(uploads_of(data_dir)) == 1
    ResumableUpload.objects.update(expires_at=timezone.now() - timedelta(seconds=1))
    assert api.head(address, headers=TUS).status_code == 404
    sweeping.sweep()
    assert uploads_of(data_dir) == []
    assert not ResumableUpload.objects.exists()


def test_each_piece_puts_the_expiry_off(api, address):
    soon = timezone.now() + timedelta(minutes=1)
    ResumableUpload.objects.update(expires_at=soon)
    piece(api, address, 0, LOG[:HALF])
    assert ResumableUpload.objects.get().expires_at > soon + timedelta(hours=1)


def test_nobody_else_sees_an_upload_not_even_in_the_team(api, ada):
    bob = a_person("bob@example.org")
    team = teams.create_team(ada, "one team")
    Membership.objects.create(team=team, person=bob, role=Role.OWNER)
    address = begun(api, team=str(team.pk))["Location"]
    other = a_client(bob)
    for answer in (
        other.get(address),
        other.head(address, headers=TUS),
        other.delete(address, headers=TUS),
        piece(other, address, 0, LOG),
    ):
        assert answer.status_code == 404
    assert other.get("/api/uploads").json() == {"items": [], "total": 0}
    assert [row["id"] for row in api.get("/api/uploads").json()["items"]] == [
        int(address.rpartition("/")[2])
    ]


def test_a_team_gets_its_upload_only_while_the_person_may_give_it(api, ada):
    owner = a_person("bob@example.org")
    team = teams.create_team(owner, "one team")
    assert problem(begun(api, team=str(team.pk)))[0] == 404
    Membership.objects.create(team=team, person=ada, role=Role.EDITOR)
    address = begun(api, team=str(team.pk))["Location"]
    piece(api, address, 0, LOG[:HALF])
    team.memberships.filter(person=ada).update(role=Role.VIEWER)
    assert problem(piece(api, address, HALF, LOG[HALF:])) == (403, "needs-role")
    assert not Recording.objects.exists()


def test_a_session_needs_its_csrf_token(ada):
    client = Client(enforce_csrf_checks=True)
    client.force_login(ada)
    assert begun(client).status_code == 403
    assert not ResumableUpload.objects.exists()


def test_a_token_that_only_reads_begins_nothing(ada):
    _, token = make_token(ada, "reader", scope="read")
    client = Client(headers={"Authorization": f"Bearer {token}"})
    assert problem(begun(client)) == (403, "needs-writing")
