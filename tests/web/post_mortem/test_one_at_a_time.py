"""One document of a person is made at a time, in all server processes."""

from concurrent.futures import ThreadPoolExecutor
from threading import Event

import pytest
import redis

from snapshots.problems import TooMany
from snapshots.reviews import entries
from snapshots.web.pages import post_mortem
from snapshots.web.post_mortem import turns
from tests.web.given import a_client, a_person, a_ready_recording, signed_in, text_of

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("data_dir")]


@pytest.fixture
def notes(ada):
    """Return the address of the page of the notes of a recording."""
    banks = a_ready_recording(ada)
    entries.write(ada, banks, {"text": "B lost it"})
    return f"/recordings/{banks.pk}/notes"


@pytest.mark.usefixtures("rooms")
def test_a_second_document_waits_for_the_first_and_other_people_do_not(ada, notes):
    with turns.turn(ada):
        refused = signed_in(ada).get(f"{notes}/document")
        assert "one is made at a time" in text_of(refused, 429)
        assert refused["Retry-After"] == "10"
        call = notes.replace("/notes", "/entries/document")
        refused = a_client(ada).get(f"/api{call}")
        assert (refused.status_code, refused["Retry-After"]) == (429, "10")
        with turns.turn(a_person("bob@example.org")):
            pass
    assert signed_in(ada).get(f"{notes}/document").status_code == 200
    assert a_client(ada).get(f"/api{call}").status_code == 200


@pytest.mark.usefixtures("rooms")
def test_of_two_requests_at_once_one_is_refused(ada):
    begun, may_end = Event(), Event()

    def first():
        with turns.turn(ada):
            begun.set()
            may_end.wait(10)

    with ThreadPoolExecutor() as threads:
        running = threads.submit(first)
        assert begun.wait(10)
        with pytest.raises(TooMany), turns.turn(ada):
            pass
        may_end.set()
        running.result()


@pytest.mark.usefixtures("rooms")
def test_a_document_that_fails_ends_the_turn(ada, notes, monkeypatch):
    client = signed_in(ada)
    assert client.get(f"{notes}/document?format=pdf").status_code == 422
    with monkeypatch.context() as broken:
        broken.setattr(post_mortem, "of_notes", lambda *_: 1 / 0)
        assert client.get(f"{notes}/document").status_code == 500
    assert client.get(f"{notes}/document").status_code == 200


def test_a_turn_ends_by_itself_when_its_server_died(ada, rooms, bare_redis):
    held = turns.turn(ada)
    held.__enter__()
    with redis.Redis.from_url(bare_redis) as client:
        [key] = client.keys("cutline:document:*")
        assert 0 < client.ttl(key) <= turns.LASTS


def test_an_ended_turn_does_not_end_that_of_the_next_document(ada, rooms, bare_redis):
    with redis.Redis.from_url(bare_redis) as client, turns.turn(ada):
        client.flushall()  # as if its time was over
        with turns.turn(ada):
            pass
        other = turns.turn(ada)
        other.__enter__()
        assert client.keys("cutline:document:*")
    with redis.Redis.from_url(bare_redis) as client:
        assert client.keys("cutline:document:*"), "the turn of the other document goes on"


def test_without_redis_a_document_is_made(ada, notes, settings):
    settings.REDIS_URL = "redis://127.0.0.1:1/0"
    assert signed_in(ada).get(f"{notes}/document").status_code == 200
