"""Sessions: what is stored of them, when they end, and who is notified."""

import importlib
import urllib.parse
import urllib.request
from datetime import timedelta

import pytest
from asgiref.sync import async_to_sync
from django.apps import apps
from django.contrib.sessions.models import Session as PlainSession
from django.db import connection
from django.test import Client
from django.utils import timezone
from redis import Redis

from tests import postgres
from tests.web.given import a_file, a_person
from tests.webapp.over_http import sign_in
from webapp.accounts import closing, sessions
from webapp.accounts.models import Session
from webapp.accounts.signals import session_ended

pytestmark = pytest.mark.django_db


@pytest.fixture
def ended():
    """Collect the hashes of the sessions whose end is announced."""
    hashes = []

    def listen(key_hash, **_):
        hashes.append(key_hash)

    session_ended.connect(listen)
    yield hashes
    session_ended.disconnect(listen)


def signed_in(user) -> Client:
    client = Client()
    client.force_login(user)
    return client


def key_of(client: Client) -> str:
    return client.cookies["sessionid"].value


def is_signed_in(client: Client) -> bool:
    return client.get("/account").status_code == 200


def everything_in_the_database() -> str:
    with connection.cursor() as cursor:
        texts = []
        for table in connection.introspection.table_names(cursor):
            cursor.execute(f'SELECT * FROM "{table}"')
            texts.append(repr(cursor.fetchall()))
    return "\n".join(texts)


@pytest.mark.usefixtures("data_dir")
def test_no_table_holds_what_the_cookie_holds():
    client = signed_in(a_person())
    client.get("/account")
    client.post("/", {"file": a_file()})
    assert is_signed_in(client)
    texts = everything_in_the_database()
    assert sessions.key_hash(key_of(client)) in texts
    assert key_of(client) not in texts


def test_a_sessions_row_names_its_person():
    signed_in(a_person())
    assert Session.objects.get().user == a_person()


def test_the_hash_of_a_key_is_no_key():
    client, thief = signed_in(a_person()), Client()
    thief.cookies["sessionid"] = sessions.key_hash(key_of(client))
    assert not is_signed_in(thief)


def test_a_session_keeps_what_is_written_into_it():
    session = signed_in(a_person()).session
    session["choice"] = 7
    session.save()
    assert sessions.SessionStore(session.session_key)["choice"] == 7


def test_the_asynchronous_half_hashes_too():
    async def check() -> str:
        session = sessions.SessionStore()
        await session.aset("choice", 7)
        await session.asave()
        again = sessions.SessionStore(session.session_key)
        assert await again.aget("choice") == 7
        assert await again.aexists(session.session_key)
        return session.session_key

    key = async_to_sync(check)()
    assert Session.objects.get().pk == sessions.key_hash(key)
    async_to_sync(sessions.SessionStore(key).adelete)()
    assert not Session.objects.exists()


def test_a_session_ends_on_its_day_whatever_is_done_in_it(settings):
    client = signed_in(a_person())
    due = Session.objects.get().expire_date
    assert due - timezone.now() > timedelta(days=settings.SESSION_DAYS, minutes=-1)
    session = client.session
    session["choice"] = 7
    session.save()
    assert Session.objects.get().expire_date == due
    Session.objects.update(expire_date=timezone.now() - timedelta(seconds=1))
    assert not is_signed_in(client)


def test_sessions_that_are_over_are_cleared():
    signed_in(a_person())
    Session.objects.update(expire_date=timezone.now() - timedelta(seconds=1))
    sessions.SessionStore.clear_expired()
    assert not Session.objects.exists()


def test_the_last_use_is_noted_to_the_minute():
    client = signed_in(a_person())
    client.get("/account")
    first = Session.objects.get().last_used_at
    client.get("/account")
    assert Session.objects.get().last_used_at == first
    Session.objects.update(last_used_at=first - timedelta(minutes=2))
    client.get("/account")
    assert Session.objects.get().last_used_at >= first


def test_signing_out_is_announced(ended, django_capture_on_commit_callbacks):
    client = signed_in(a_person())
    key_hash = sessions.key_hash(key_of(client))
    with django_capture_on_commit_callbacks(execute=True):
        client.post("/sign-out")
    assert ended == [key_hash]
    assert not Session.objects.exists()


def test_all_other_sessions_of_a_person_end(ended, django_capture_on_commit_callbacks):
    this, other, bob = (signed_in(a_person(email)) for email in ("a@x.org", "a@x.org", "b@x.org"))
    other_hash = sessions.key_hash(key_of(other))
    with django_capture_on_commit_callbacks(execute=True):
        keep = sessions.key_hash(key_of(this))
        assert closing.end_sessions(a_person("a@x.org"), keep=keep) == 1
    assert ended == [other_hash]
    assert [is_signed_in(client) for client in (this, other, bob)] == [True, False, True]


def test_the_migration_takes_sessions_over():
    client = signed_in(a_person())
    key, row = key_of(client), Session.objects.get()
    fields = {"session_data": row.session_data, "expire_date": row.expire_date}
    Session.objects.all().delete()
    PlainSession.objects.create(session_key=key, **fields)
    PlainSession.objects.create(session_key="nobody", session_data="", expire_date=row.expire_date)
    assert not is_signed_in(client)
    client.cookies["sessionid"] = key
    migration = importlib.import_module("webapp.accounts.migrations.0003_sessions_hashed")
    migration.take_sessions_over(apps, None)
    assert is_signed_in(client)
    assert Session.objects.get().user == a_person()
    assert not PlainSession.objects.exists()


def test_neither_files_nor_redis_hold_a_key(server):
    """Search every file of the database, of its log, and of what Redis saved."""
    cookies = sign_in(server)
    browser = urllib.request.build_opener(urllib.request.HTTPCookieProcessor(cookies))
    key = next(cookie.value for cookie in cookies if cookie.name == "sessionid")
    assert b"owner@localhost" in browser.open(f"{server.url}/account").read()
    with Redis.from_url(server.redis_url) as redis:
        redis.config_set("rdbcompression", "no")
        redis.save()
    folders = [server.folder, *([postgres.server().data] if postgres.IS_CHOSEN else [])]
    files = [path for folder in folders for path in folder.rglob("*") if path.is_file()]
    contents = {path: path.read_bytes() for path in files}
    assert any(sessions.key_hash(key).encode() in content for content in contents.values())
    assert [path for path, content in contents.items() if key.encode() in content] == []
