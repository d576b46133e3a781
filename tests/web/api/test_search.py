"""Search over the API and over a recording's websocket."""

import pytest
from channels.db import database_sync_to_async

from snapshots.answers import search as searching
from tests.web.api.test_consumers import asked, connected
from tests.web.given import a_person, a_ready_recording

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("data_dir")]


@pytest.fixture
def banks(ada):
    return a_ready_recording(ada)


def test_a_search_answers_with_hits_in_the_order_of_steps(api, banks):
    answer = api.get(f"/api/recordings/{banks.pk}/search", {"query": "value:1000"}).json()
    assert (answer["total"], answer["complete"], answer["searched"]) == (4, True, 1.0)
    shown = [(hit["process"], hit["kind"], hit["value"]) for hit in answer["hits"]]
    assert shown == [
        ("A", "send", 1000),
        ("B", "send", 1000),
        ("B", "receive", 1000),
        ("A", "receive", 1000),
    ]
    steps = [hit["step"] for hit in answer["hits"]]
    assert steps == sorted(steps)
    assert sum(answer["bins_of_time"]) == sum(answer["bins_of_order"]) == 4


def test_pages_begin_at_an_offset_or_at_a_step(api, banks):
    address = f"/api/recordings/{banks.pk}/search"
    everything = api.get(address, {"query": "value:1000"}).json()["hits"]
    page = api.get(address, {"query": "value:1000", "offset": 1, "limit": 2}).json()
    assert (page["offset"], page["hits"]) == (1, everything[1:3])
    page = api.get(address, {"query": "value:1000", "from_step": everything[2]["step"]}).json()
    assert (page["offset"], page["hits"]) == (2, everything[2:])


def test_a_search_that_is_not_complete_says_at_least(api, banks, monkeypatch):
    monkeypatch.setattr(searching, "SECONDS", 0)
    address = f"/api/recordings/{banks.pk}/search"
    answer = api.get(address, {"query": "value:1000"}).json()
    assert not answer["complete"]
    assert answer["searched"] < 1
    answer = api.get(address, {"query": "value:1000"}).json()
    assert (answer["complete"], answer["total"]) == (True, 4)


@pytest.mark.parametrize(
    ("question", "field", "words"),
    [
        ({"query": ""}, "query", "needs a word"),
        ({"query": "time:noon"}, "query", "no instant"),
        ({"query": "x", "limit": 101}, "limit", "0 to 100"),
        ({"query": "x", "offset": -1}, "offset", "whole number"),
        ({"query": "x", "offset": 1, "from_step": 1}, "from_step", "not both"),
        ({}, "query", ""),
    ],
)
def test_a_question_without_meaning_is_refused_with_its_field(api, banks, question, field, words):
    answer = api.get(f"/api/recordings/{banks.pk}/search", question)
    assert answer.status_code == 422
    assert answer["Content-Type"] == "application/problem+json"
    assert (answer.json()["field"], words in answer.json()["detail"]) == (field, True)


def test_nobody_searches_the_recording_of_another_person(banks, client):
    assert client.get(f"/api/recordings/{banks.pk}/search", {"query": "A"}).status_code == 401
    client.force_login(a_person("bob@example.org"))
    assert client.get(f"/api/recordings/{banks.pk}/search", {"query": "A"}).status_code == 404


async def test_the_websocket_answers_as_the_api_does(ada, banks, api):
    over_http = await database_sync_to_async(api.get)(
        f"/api/recordings/{banks.pk}/search", {"query": "kind:send"}
    )
    socket = await connected(ada, f"ws/recordings/{banks.pk}")
    answer = await asked(socket, {"type": "search", "request": 5, "query": "kind:send"})
    assert answer == {"type": "search", "request": 5, **over_http.json()}
    for wrong in ({}, {"query": 7}, {"query": "x", "limit": "all"}, {"query": "x", "offset": 1e9}):
        refusal = await asked(socket, {"type": "search", "request": 6, **wrong})
        assert (refusal["type"], refusal["request"]) == ("refused", 6)
    await socket.disconnect()
