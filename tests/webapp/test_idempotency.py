"""A request that is repeated with its key is carried out once."""

import threading
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.db import connection
from django.utils import timezone

from snapshots.domain.simulators.samples import two_banks
from snapshots.files import dump
from snapshots.models import IdempotentRequest, Job, Mapping, Recording, Topology
from snapshots.services import recordings
from tests.web.given import (
    a_client,
    a_file,
    a_person,
    a_ready_recording,
    native,
    post_json,
    uploads_of,
)
from webapp.edge import idempotency
from webapp.teams.services import create_team

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("data_dir")]

KEY = {"Idempotency-Key": "0c7a"}
REPLAYED = "Idempotency-Replayed"


def upload(api, content: bytes = b"", key: str = "0c7a", name: str = "log.jsonl", **fields):
    body = {"file": a_file(content, name), **fields}
    return api.post("/api/recordings", body, headers={"Idempotency-Key": key})


def test_a_repeated_upload_gets_the_first_answer_and_makes_nothing(api, data_dir):
    first, second = upload(api), upload(api)
    assert (first.status_code, REPLAYED in first.headers) == (202, False)
    assert (second.status_code, second.headers[REPLAYED]) == (202, "true")
    assert second.content == first.content
    assert second.headers["Content-Type"] == first.headers["Content-Type"]
    assert Recording.objects.count() == Job.objects.count() == 1
    assert len(uploads_of(data_dir)) == 1


def test_files_that_are_uploaded_together_are_one_recording(api, data_dir):
    answers = [
        api.post(
            "/api/recordings",
            {"file": [a_file(), a_file(name="b.jsonl")], "together": True},
            headers=KEY,
        )
        for _ in range(2)
    ]
    assert answers[0].content == answers[1].content
    assert Recording.objects.count() == len(uploads_of(data_dir)) == 1


def test_without_a_key_every_upload_is_one_of_its_own(api):
    for _ in range(2):
        api.post("/api/recordings", {"file": a_file()})
    assert Recording.objects.count() == 2
    assert not IdempotentRequest.objects.exists()


def test_another_key_is_another_request(api):
    upload(api, key="a")
    upload(api, key="b")
    assert Recording.objects.count() == 2


@pytest.mark.parametrize(
    "other",
    [
        {"content": native(two_banks()) + b"\n"},
        {"name": "another.jsonl"},
        {"format": "native"},
        {"format": "native", "name": "another.jsonl"},
    ],
)
def test_a_key_stands_for_one_request(api, other):
    upload(api)
    answer = upload(api, **other)
    assert answer.status_code == 422
    assert answer.json()["type"] == "/problems/idempotency-key-used"
    assert Recording.objects.count() == 1


def test_fields_do_not_run_into_each_other(rf):
    def fingerprint(**fields) -> str:
        return idempotency.fingerprint_of(rf.post("/", fields))

    assert fingerprint(a="b", c="d") != fingerprint(a="bc", d="")
    assert fingerprint(a=["b", "c"]) != fingerprint(a=["bc"])
    assert fingerprint(a="b") == fingerprint(a="b")
    files = [SimpleUploadedFile("f", b"1"), SimpleUploadedFile("f", b"2")]
    assert fingerprint(file=files[0]) != fingerprint(file=files[1])


def test_keys_are_a_persons_own(api):
    upload(api)
    assert REPLAYED not in upload(a_client(a_person("bob@example.org"))).headers
    assert Recording.objects.count() == 2


def test_a_key_lasts_a_day(api):
    upload(api)
    a_day_ago = timezone.now() - idempotency.KEPT - timedelta(seconds=1)
    IdempotentRequest.objects.update(created_at=a_day_ago)
    assert REPLAYED not in upload(api).headers
    assert Recording.objects.count() == 2
    IdempotentRequest.objects.update(created_at=a_day_ago)
    upload(api, key="younger")
    assert idempotency.forget_old() == 1
    assert [row.key for row in IdempotentRequest.objects.all()] == ["younger"]


def test_a_refused_request_gives_its_key_back(api):
    assert upload(api, b"{}\n").status_code == 422
    assert not IdempotentRequest.objects.exists()
    assert upload(api).status_code == 202


@pytest.mark.parametrize("key", ["", " ", "x" * 201, "é", "a\tb"])
def test_a_key_without_meaning_is_refused(api, key):
    answer = upload(api, key=key)
    assert (answer.status_code, answer.json()["field"]) == (422, "Idempotency-Key")
    assert not Recording.objects.exists()


def test_what_creates_takes_a_key(api, ada):
    banks = a_ready_recording(ada)
    topology = Topology.objects.create(
        owner=ada,
        name="pair",
        definition={
            "processes": [{"id": "p"}, {"id": "q"}],
            "channels": [{"id": "p->q", "source": "p", "target": "q", "fifo": True}],
        },
    )
    document = {"name": "ring", **topology.definition}
    mapping = {"name": "m", "document": {"process": "p", "kind": "k", "at": "t"}}
    asked = {
        f"/api/recordings/{banks.pk}/snapshots/s1/restore": {},
        f"/api/recordings/{banks.pk}/snapshots/s1/reordering": {},
        f"/api/topologies/{topology.pk}/simulate": {"workload": "idle"},
        "/api/topologies": document,
        "/api/mappings": mapping,
    }
    for number, (path, body) in enumerate(asked.items()):
        key = {"Idempotency-Key": str(number)}
        first, second = (
            api.post(path, body, content_type="application/json", headers=key) for _ in range(2)
        )
        assert first.status_code in (201, 202), (path, first.content)
        assert (second.content, second.headers[REPLAYED]) == (first.content, "true"), path
    assert Job.objects.count() == 3
    assert Topology.objects.count() == 2
    assert Mapping.objects.count() == 1


def test_a_secret_is_in_the_first_answer_and_kept_nowhere(api, ada):
    team = create_team(ada, "payments")
    asked = {
        f"/api/teams/{team.pk}/invitations": {"address": "g@example.org", "role": "viewer"},
        "/api/webhooks": {"url": "https://hooks.example.org", "kinds": []},
    }
    for (path, body), name in zip(asked.items(), ["link", "secret"], strict=True):
        first, second = (
            api.post(path, body, content_type="application/json", headers={"Idempotency-Key": name})
            for _ in range(2)
        )
        assert (first.status_code, second.status_code) == (201, 201)
        assert len(first.json()[name]) > 20
        assert second.headers[REPLAYED] == "true"
        assert second.json() == first.json() | {name: ""}
        assert first.json()[name] not in IdempotentRequest.objects.get(key=name).body
    assert (team.invitations.count(), ada.webhooks.count()) == (1, 1)
    assert IdempotentRequest not in dump.kept_models()


def test_the_same_key_at_another_address_is_another_request(api, ada):
    banks = a_ready_recording(ada)
    base = f"/api/recordings/{banks.pk}/snapshots/s1"
    assert api.post(f"{base}/restore", headers=KEY).status_code == 202
    assert api.post(f"{base}/reordering", headers=KEY).status_code == 422


def in_the_middle(monkeypatch, then) -> None:
    """Call something while a recording is being made, inside its transaction."""
    create = recordings.create_job

    def create_job(*args, **fields):
        then()
        return create(*args, **fields)

    monkeypatch.setattr(recordings, "create_job", create_job)


def test_while_the_first_is_under_way_the_second_is_put_off(api, monkeypatch):
    """The refusal comes from where the first one works, before the database is locked."""
    seen = []
    check = recordings._checked_head

    def checked_head(*args):
        if not seen:
            seen.append(None)
            seen[0] = upload(api)
        return check(*args)

    monkeypatch.setattr(recordings, "_checked_head", checked_head)
    assert upload(api).status_code == 202
    assert (seen[0].status_code, seen[0].json()["type"]) == (409, "/problems/request-under-way")
    assert int(seen[0].headers["Retry-After"]) > 0
    assert Recording.objects.count() == 1


def test_of_many_at_once_one_is_carried_out(ada):
    together = threading.Barrier(6)

    def send(_):
        try:
            client = a_client(ada)
            together.wait(30)
            return upload(client)
        finally:
            connection.close()

    with ThreadPoolExecutor(6) as pool:
        answers = list(pool.map(send, range(6)))
    assert {answer.status_code for answer in answers} <= {202, 409}
    assert len({answer.content for answer in answers if answer.status_code == 202}) == 1
    assert Recording.objects.count() == 1


def test_what_fails_in_the_middle_leaves_neither_row_nor_file(api, monkeypatch, data_dir):
    def fail():
        raise RuntimeError("a fault")

    with monkeypatch.context() as patch:
        in_the_middle(patch, fail)
        assert upload(api).status_code == 500
    assert not Recording.objects.exists()
    assert not IdempotentRequest.objects.exists()
    assert uploads_of(data_dir) == []
    assert upload(api).status_code == 202


def test_a_request_that_a_crash_left_is_taken_over(api, ada):
    """A request whose process ended before it committed anything frees its key in time."""
    upload(api)
    Recording.objects.all().delete()
    IdempotentRequest.objects.update(status=None, body=None)
    assert upload(api).status_code == 409
    long_ago = timezone.now() - idempotency.ABANDONED - timedelta(seconds=1)
    IdempotentRequest.objects.update(created_at=long_ago)
    assert upload(api).status_code == 202
    assert Recording.objects.count() == 1


def test_a_request_that_was_taken_over_makes_nothing(api, monkeypatch, data_dir):
    """A request that was considered abandoned, but still runs, makes nothing any more."""
    in_the_middle(monkeypatch, IdempotentRequest.objects.all().delete)
    answer = upload(api)
    assert answer.status_code == 409
    assert not Recording.objects.exists()
    assert uploads_of(data_dir) == []


def test_the_documentation_lists_the_header(api):
    paths = api.get("/api/openapi.json").json()["paths"]
    for path in ("/api/recordings", "/api/topologies/{id}/simulate", "/api/collectors"):
        names = [item["name"] for item in paths[path]["post"]["parameters"]]
        assert "Idempotency-Key" in names, path
    answer = post_json(api, "/api/topologies", {"name": "x"})
    assert answer.status_code == 422
