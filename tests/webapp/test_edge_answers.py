"""What every answer contains, and how a request for another host is refused."""

import logging

import pytest
from django.test import Client

from tests.web.given import a_client, a_ready_recording

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("data_dir")]

PAGES = ("/", "/archive", "/topologies", "/jobs", "/learn", "/account", "/sign-in")
CALLS = ("recordings", "jobs", "topologies", "openapi.json", "docs", "nothing")


def directives(answer) -> set[str]:
    return {part.strip() for part in answer.headers["Cache-Control"].split(",")}


@pytest.mark.parametrize("call", CALLS)
def test_answers_of_the_api_are_kept_by_nobody(ada, call):
    assert {"private", "no-store"} <= directives(a_client(ada).get(f"/api/{call}"))


def test_what_belongs_to_a_recording_is_kept_by_nobody(ada):
    banks, api = a_ready_recording(ada), a_client(ada)
    for path in ("", "/window", "/snapshots/s1", "/topology"):
        answer = api.get(f"/api/recordings/{banks.pk}{path}")
        assert {"private", "no-store"} <= directives(answer)


@pytest.mark.parametrize("page", PAGES)
def test_pages_are_kept_by_nobody(ada, page):
    client = Client()
    client.force_login(ada)
    assert {"private", "no-store"} <= directives(client.get(page))


def test_static_files_are_kept():
    answer = Client().get("/static/css/base.css")
    assert answer.status_code == 200
    assert "no-store" not in directives(answer)


@pytest.mark.parametrize("host", ["evil.example", "a b", "127.0.0.1:port", "-", "x" * 5_000])
def test_a_wrong_host_is_refused_and_logs_no_traceback(host, caplog):
    with caplog.at_level(logging.DEBUG):
        answer = Client().get("/api/recordings", headers={"Host": host})
        page = Client().get("/", headers={"Host": host})
    assert (answer.status_code, answer.json()["type"]) == (400, "/problems/wrong-host")
    assert "ALLOWED_HOSTS" in answer.json()["detail"]
    assert page.status_code == 400
    assert "ALLOWED_HOSTS" in page.content.decode()
    assert not [record for record in caplog.records if record.exc_info]
    assert len(caplog.records) <= 2


def test_the_host_in_a_refusal_is_text():
    page = Client().get("/", headers={"Host": "<script>alert(1)</script>"})
    assert b"<script>alert" not in page.content
