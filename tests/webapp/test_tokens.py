"""What a token allows, and for how long."""

import re
from datetime import timedelta

import pytest
from django.core.management import CommandError, call_command
from django.test import Client
from django.utils import timezone

from snapshots.models import Recording
from snapshots.web.api import api, scopes
from tests.web.given import a_file, a_person, a_ready_recording, post_json
from webapp.accounts.models import ApiToken
from webapp.accounts.services import make_token, valid_token

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("data_dir")]
CHANGING = ("post", "put", "patch", "delete")


def a_client(**token) -> Client:
    _, text = make_token(a_person(), "checks", **token)
    return Client(headers={"Authorization": f"Bearer {text}"}, raise_request_exception=False)


@pytest.fixture
def reader() -> Client:
    return a_client(scope="read")


def changing_calls() -> list[tuple[str, str]]:
    """Return every call of the API that changes something, as (method, path)."""
    return [
        (method, re.sub(r"\{\w+\}", "1", path.replace("{kind}", "recordings")))
        for path, calls in api.get_openapi_schema(path_prefix="/api/")["paths"].items()
        for method in calls
        if method in CHANGING
    ]


def test_a_read_token_reads(reader):
    row = a_ready_recording(a_person())
    assert reader.get("/api/recordings").json()["total"] == 1
    assert reader.head("/api/recordings").status_code != 403
    assert post_json(reader, f"/api/recordings/{row.pk}/cuts", {"step": 3}).status_code == 200
    question = {"property": "termination"}
    assert post_json(reader, f"/api/recordings/{row.pk}/properties", question).status_code == 200
    assert post_json(reader, f"/api/recordings/{row.pk}/bisect", question).status_code == 200


def test_a_read_token_uploads_nothing_and_learns_why(reader):
    answer = reader.post("/api/recordings", {"file": a_file()})
    assert answer.status_code == 403
    assert answer.json()["type"] == "/problems/needs-writing"
    assert "needs the scope write" in answer.json()["detail"]
    assert not Recording.objects.exists()


def test_a_read_token_changes_nothing_anywhere(reader):
    calls = changing_calls()
    assert len(calls) > 20
    answers = {call: getattr(reader, call[0])(call[1]).status_code for call in calls}
    open_to_it = {path for (_, path), status in answers.items() if status != 403}
    routes = {re.sub(r"<[^>]+>", "1", f"/{route}") for route in scopes.READING_POSTS}
    assert open_to_it == routes


def test_a_token_without_scope_and_end_writes_for_ever():
    client = a_client()
    assert client.post("/api/recordings", {"file": a_file()}).status_code == 202
    assert ApiToken.objects.get().expires_at is None


def test_an_expired_token_says_so():
    client = a_client(days=30)
    assert client.get("/api/recordings").status_code == 200
    ApiToken.objects.update(expires_at=timezone.now() - timedelta(seconds=1))
    answer = client.get("/api/recordings")
    assert answer.status_code == 401
    assert "The token “checks” expired on" in answer.json()["detail"]
    assert answer.headers["WWW-Authenticate"].startswith("Bearer")


def test_the_command_takes_scope_and_end(capsys):
    call_command("create_token", "eve@example.org", "--scope", "read", "--days", "30")
    row = ApiToken.objects.get()
    assert row.only_reads
    assert timedelta(days=29) < row.expires_at - timezone.now() <= timedelta(days=30)
    assert valid_token(capsys.readouterr().out.strip()).user == row.user
    with pytest.raises(CommandError, match="--days must be from 1 to 3,650"):
        call_command("create_token", "eve@example.org", "--days", "0")


def test_the_page_takes_scope_and_end():
    client = Client()
    client.force_login(a_person())
    made = client.post("/account/tokens", {"name": "nightly", "scope": "read", "days": "7"})
    assert made.status_code == 200
    row = ApiToken.objects.get()
    assert row.only_reads
    page = client.get("/account").text
    assert row.expires_at.strftime("%Y-%m-%d") in page
    for wrong in ({"scope": "all"}, {"days": "0"}, {"days": "soon"}, {"days": "999999999999"}):
        answer = client.post("/account/tokens", {"name": "x", **wrong})
        assert answer.status_code == 422, wrong
    assert ApiToken.objects.count() == 1


def test_the_api_lists_and_revokes_own_tokens(reader):
    listed = reader.get("/api/account/tokens").json()["items"]
    assert [(row["name"], row["scope"]) for row in listed] == [("checks", "read")]
    make_token(a_person("bob@example.org"), "bob's")
    foreign = ApiToken.objects.get(name="bob's")
    client = a_client()
    assert client.delete(f"/api/account/tokens/{foreign.pk}").status_code == 404
    assert client.delete(f"/api/account/tokens/{listed[0]['id']}").status_code == 204
    assert reader.get("/api/recordings").status_code == 401


def test_sessions_are_listed_and_ended_on_the_page_and_in_the_api():
    here, there, api_client = Client(), Client(), a_client()
    for client in (here, there):
        client.force_login(a_person())
    page = here.get("/account").text
    assert page.count("this browser") == 1
    other = re.search(r"/account/sessions/([0-9a-f]{64})/end", page)[1]
    assert here.post(f"/account/sessions/{other}/end").status_code == 302
    assert there.get("/account").status_code == 302
    (left,) = api_client.get("/api/account/sessions").json()["items"]
    assert left["id"] not in (None, here.cookies["sessionid"].value)
    foreign = Client()
    foreign.force_login(a_person("bob@example.org"))
    assert foreign.post(f"/account/sessions/{left['id']}/end").status_code == 404
    assert api_client.delete(f"/api/account/sessions/{left['id']}").status_code == 204
    assert here.get("/account").status_code == 302
