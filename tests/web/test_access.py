"""Every page and every call of the API, tried by everybody: access_rows says who gets what."""

import difflib
import json
import re
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any
from unittest.mock import patch

import pytest
from django import conf
from django.contrib.auth.models import User
from django.db import connection, transaction
from django.test import Client, override_settings
from django.urls import URLResolver, get_resolver, resolve

from snapshots.archive import columns
from snapshots.files import identity
from snapshots.models import Collector, EngineJob, Job, Recording, Topology
from snapshots.models import Mapping as LogMapping
from snapshots.reviews.models import Entry, Exhibit, Participant, Review, TimelineRow
from snapshots.web.api import api, tus
from tests.stack import ROOT
from tests.web.access_rows import (
    DONE,
    HIDDEN,
    NOT_YOURS,
    ROLE,
    ROWS,
    RULES,
    SIGN_IN,
    Row,
    filled,
)
from tests.web.access_world import MEMBERS, READER, VISITOR, WORD, World, file_named, make_world
from webapp.accounts.models import ApiToken, Session
from webapp.accounts.services import make_token
from webapp.links.models import ForbiddenTeam, PublicLink, ShortLink
from webapp.middleware import is_public
from webapp.teams.models import Invitation, Membership, Team

pytestmark = pytest.mark.django_db

SCHEMA = api.get_openapi_schema(path_prefix="/api/")
NOWHERE: Mapping[str, object] = defaultdict(lambda: 999_999_999, session="0" * 64)
CHANGE = re.compile(r'(INSERT|UPDATE|DELETE)[A-Z ]* "(\w+)"')
NOTED = {model._meta.db_table for model in (ApiToken, Session)}  # when they were last used
SHARED = {
    model._meta.db_table
    for model in (Recording, Topology, LogMapping, EngineJob, Collector, Job)
    + (Entry, Review, Participant, Exhibit, TimelineRow, Team, Membership, Invitation)
    + (ShortLink, PublicLink, ForbiddenTeam)
}
OWN_PLACE = ("leaves", "by-link")  # a viewer leaves a team, and whoever has a link joins one
OF_AN_UPLOAD = {
    "Content-Type": tus.PIECE,
    "Tus-Resumable": tus.VERSION,
    "Upload-Length": "9",
    "Upload-Offset": "0",
    "X-HTTP-Method-Override": "HEAD",
}
IN_A_FORM = re.compile("where you are an? [a-z]+, and it takes an?")
CHANGES_EACH_TIME = re.compile(r'nonce="[^"]*"|"X-CSRFToken": "\w+"|value="\w{64}"|\d+')
NO_CALLS = ("/api/", "/api/docs", "/api/openapi.json")
BRACES = r"{\1}"
PLACEHOLDER = re.compile(r"<(?:\w+:)?(\w+)>")


@pytest.fixture(scope="module")
def world(django_db_setup, django_db_blocker, shared_data, tmp_path_factory) -> Iterator[World]:
    """Provide a team with people and things, which are made once for all rows."""
    folder = tmp_path_factory.mktemp("data")
    (folder / "uploads").mkdir()
    changed = override_settings(
        DATA_DIR=folder,
        UPLOADS_DIR=folder / "uploads",
        FILE_UPLOAD_TEMP_DIR=folder / "uploads",
        STORE_URL=(folder / "store").as_uri(),
        COLLECTOR_HOSTS=["jobmanager:8081"],
        PUBLIC_LINKS=True,
    )
    # Each time that the document of the API is made takes half a second.
    made = patch.object(api, "get_openapi_schema", lambda *args, **options: SCHEMA)
    with changed, made, django_db_blocker.unblock(), transaction.atomic():
        identity.require_pair()
        columns.forget_all()  # other tests had archived jobs with the same keys
        yield make_world(shared_data, tmp_path_factory.mktemp("upload"))
        transaction.set_rollback(True)


@pytest.mark.parametrize("row", ROWS, ids=str)
def test_everybody_gets_what_the_rule_says_and_no_more(world, row):
    wrong = []
    for person, expected in RULES[row.rule].items():
        answer = asked(world.client(person, by_token=row.is_call), row, world.things)
        if answer.outcome != expected:
            wrong.append(f"{person}: {answer.outcome} instead of {expected}")
        wrong += [f"{person}: {sentence}" for sentence in excesses(world, row, person, answer)]
    assert not wrong, "\n".join(wrong)


@dataclass(frozen=True, slots=True)
class Answer:
    """What a request was answered and did.

    Attributes:
        outcome: as RULES names it, or the status with the end of the answer.
        text: the body; empty for a download.
        changed: the tables that it changed, each with the kind of change.
    """

    outcome: str
    text: str
    changed: list[tuple[str, str]]


def asked(client: Client, row: Row, things: Mapping[str, object]) -> Answer:
    """Send the request of a row, undo what it did, and return the answer."""
    body = json.loads(filled(row.body, things)) if row.body else {}
    changed: list[tuple[str, str]] = []
    with transaction.atomic(), connection.execute_wrapper(partial(noting, changed)):
        response = sent(client, row, filled(row.address, things), body)
        transaction.set_rollback(True)
    text = "" if response.streaming else response.content.decode(errors="replace")
    return Answer(outcome_of(response, text), text, changed)


def noting(changed: list[tuple[str, str]], execute, sql, params, many, context):
    """Execute a statement for Django, and note what it changes."""
    if change := CHANGE.match(sql):
        changed.append((change[1], change[2]))
    return execute(sql, params, many, context)


def sent(client: Client, row: Row, address: str, body: dict[str, Any]):
    if row.method == "GET":
        return client.get(address)
    if row.address.startswith("/api/uploads"):
        return client.generic(row.method, address, headers=OF_AN_UPLOAD)
    is_form = any(str(value).startswith("@") for value in body.values())
    fields = {name: _value(value) for name, value in body.items()}
    if is_form or not row.is_call:
        return client.post(address, fields)
    return client.generic(row.method, address, json.dumps(fields), content_type="application/json")


def _value(value: object) -> object:
    return file_named(value) if isinstance(value, str) and value.startswith("@") else value


def outcome_of(response, text: str) -> str:
    status = response.status_code
    if status == 401 or response.get("Location", "").startswith("/sign-in?next="):
        return SIGN_IN
    if status in (200, 201, 202, 204, 302):
        return DONE
    if status == 403 and ("/problems/needs-role" in text or IN_A_FORM.search(text)):
        return ROLE
    if status == 403 and "/problems/not-yours" in text:
        return NOT_YOURS
    return str(status) if status in (404, 503) else f"{status} {words(text)[-300:]}"


def words(text: str) -> str:
    return re.sub(r"(<[^>]+>|\s)+", " ", text)


def excesses(world: World, row: Row, person: str, answer: Answer) -> Iterator[str]:
    """Yield a sentence for each thing that a person learned or changed beyond the rule."""
    changed = {f"{kind} {name}" for kind, name in answer.changed if name not in NOTED}
    if answer.outcome != DONE and changed:
        yield f"was refused, and yet: {changed}"
    if person == "viewer" and row.rule not in OWN_PLACE and (shared := changes_of_others(answer)):
        yield f"may only look, and yet: {shared}"
    for secret in secrets_from(row, person):
        if (at := answer.text.lower().find(secret)) >= 0:
            yield f"reads what is the team's: {answer.text[max(at - 100, 0) : at + 50]}"
    if person == "outsider" and answer.outcome == HIDDEN and "{" in row.address:
        nothing = asked(world.client(person, by_token=row.is_call), row, NOWHERE)
        if differing := difference(kept(answer.text), kept(nothing.text)):
            yield f"can tell it from what does not exist: {differing}"


def difference(text: str, other: str) -> str:
    return "\n".join(difflib.unified_diff(text.split("\n"), other.split("\n"), lineterm="", n=0))


def secrets_from(row: Row, person: str) -> Sequence[str]:
    """Return the texts that a person may not read in this answer.

    Whoever does not belong to the team reads nothing of it. A visitor reads the recording, and a
    reader the review; neither reads names of people and teams.
    """
    if person in MEMBERS or row.rule == "by-link" or (person, row.rule) == ("operator", "operates"):
        return ()
    names = (f"@{WORD}", f"{WORD} team", f"{WORD} vendor", f"{WORD} link")
    if (person, row.rule) == (VISITOR, "shown"):
        return (*names, f"{WORD} was")  # notes and reviews
    return names if (person, row.rule) == (READER, "read") else (WORD,)


def changes_of_others(answer: Answer) -> set[str]:
    """Return the changes of rows that others share; to add a row of one's own is none."""
    return {
        f"{kind} {name}" for kind, name in answer.changed if kind != "INSERT" and name in SHARED
    }


def kept(text: str) -> str:
    """Return a text without numbers, and without what is another in each answer."""
    return CHANGES_EACH_TIME.sub("", text)


# --- what an owner may not do ---------------------------------------------------------------------


QUESTIONS = re.compile(r"/api/(\w+/\{\w+\}/(cuts|properties|bisect)|mappings/preview)$")
READING = ("GET", "HEAD", "OPTIONS")


def test_a_token_that_only_reads_changes_nothing(world):
    owner = User.objects.get(pk=world.things["owner"])
    client = Client(raise_request_exception=False)
    client.defaults["HTTP_AUTHORIZATION"] = f"Bearer {make_token(owner, 'r', scope='read')[1]}"
    wrong = []
    for row in ROWS:
        if row.is_call and RULES[row.rule]["owner"] == DONE:
            answer = asked(client, row, world.things)
            asks = row.method in READING or QUESTIONS.match(row.address)
            if (DONE if asks else "needs-writing") not in answer.outcome + answer.text:
                wrong.append(f"{row}: {answer.outcome}")
            wrong += changes_in(row, answer, may_change=bool(asks))
    assert not wrong, "\n".join(wrong)


def test_a_page_of_another_site_changes_nothing(world):
    """A browser sends the cookie of the session along, and has no CSRF token to send."""
    client = Client(raise_request_exception=False, enforce_csrf_checks=True)
    wrong = []
    for row in ROWS:
        if row.method not in READING and RULES[row.rule]["owner"] == DONE:
            client.cookies[conf.settings.SESSION_COOKIE_NAME] = world.sessions["owner"]
            answer = asked(client, row, world.things)
            wrong += [] if answer.outcome.startswith("403 ") else [f"{row}: {answer.outcome}"]
            wrong += changes_in(row, answer, may_change=False)
    assert not wrong, "\n".join(wrong)


def test_a_sample_is_changed_by_nobody(world):
    recordings = ("banks", "open", "late", "failing", "flink", "simulated")
    things = {**world.things, **dict.fromkeys(recordings, world.things["sample"])}
    wrong = []
    for row in ROWS:
        if row.address.startswith("/api/recordings/{") and row.rule in ("edits", "comments"):
            answer = asked(world.client("owner", by_token=True), row, things)
            wrong += [] if answer.outcome.startswith("403 ") else [f"{row}: {answer.outcome}"]
            wrong += changes_in(row, answer, may_change=False)
    assert not wrong, "\n".join(wrong)


def changes_in(row: Row, answer: Answer, *, may_change: bool) -> list[str]:
    """Return a sentence if a request changed what it may not."""
    changed = {f"{kind} {name}" for kind, name in answer.changed if name not in NOTED}
    return [f"{row} was refused, and yet: {changed}"] if changed and not may_change else []


# --- no address is without a row ------------------------------------------------------------------


def routes(resolver: URLResolver, prefix: str = "") -> Iterator[str]:
    """Yield the route of each URL pattern."""
    for pattern in resolver.url_patterns:
        route = prefix + str(pattern.pattern)
        yield from routes(pattern, route) if isinstance(pattern, URLResolver) else [route]


def route_of(row: Row) -> str:
    """Return the route that answers a row. Raises: Resolver404 if there is none."""
    return resolve(filled(row.address, defaultdict(lambda: 1)).partition("?")[0]).route


def test_every_address_has_a_row_and_every_row_an_address():
    rows = {route_of(row) for row in ROWS if not row.is_file}
    assert not without_a_row(rows, set(routes(get_resolver())))


def test_every_call_of_the_api_has_a_row_and_every_row_a_call():
    rows = {
        f"{row.method} /{PLACEHOLDER.sub(BRACES, route_of(row))}"
        for row in ROWS
        if row.is_call and row.address not in NO_CALLS
    }
    calls = {
        f"{method.upper()} {path}" for path, each in SCHEMA["paths"].items() for method in each
    }
    assert not without_a_row(rows, calls)


def test_every_method_of_a_page_has_a_row(world):
    pages = {route_of(row): row for row in ROWS if not (row.is_call or row.is_file)}
    rows = {f"{row.method} /{route_of(row)}" for row in ROWS if not (row.is_call or row.is_file)}
    client = world.client("operator", by_token=False)
    methods = {
        f"{method} /{route}"
        for route, row in pages.items()
        for method in taken_methods(client, filled(row.address, world.things))
    }
    assert not without_a_row(rows, methods)


def taken_methods(client: Client, address: str) -> list[str]:
    """Return the methods that a page takes, as it refuses another one; probes take every method."""
    allowed = client.generic("PROPFIND", address).get("Allow", "GET").split(", ")
    return [method for method in allowed if method != "HEAD"]


def test_the_addresses_of_single_sign_on_are_known_and_public():
    """Single sign-on has addresses only with a provider; tests/webapp/test_sso.py tries them."""
    source = (ROOT / "webapp" / "sso" / "urls.py").read_text()
    paths = {f"/{path}" for path in re.findall(r'path\("([^"]*)"', source)}
    assert not without_a_row({"/sign-in/sso", "/sign-in/sso/callback"}, paths)
    assert all(is_public(path) for path in paths)


def without_a_row(rows: set[str], there: set[str]) -> list[str]:
    """Return a sentence for each address that lacks a row, and for each row that lacks one."""
    return [
        *(f"{address!r} has no row in access_table." for address in sorted(there - rows)),
        *(f"{address!r} has a row, and does not exist." for address in sorted(rows - there)),
    ]


# --- what a body nests deeply is no failure of the server -----------------------------------------


OF_FORMS = ("view", "document", "parameters")  # fields in which pages send JSON
DEPTHS = (300, 1_000)  # orjson writes 254 levels and reads 1,024; Python has 1,000 frames


def test_json_that_is_nested_deeply_is_no_failure(world):
    failed = []
    for row in ROWS:
        if row.method in ("GET", "DELETE") or row.address.startswith("/api/uploads"):
            continue
        person = next(name for name, outcome in RULES[row.rule].items() if outcome in (DONE, "503"))
        client = world.client(person, by_token=row.is_call)
        body = json.loads(filled(row.body, world.things)) if row.body else {}
        for name in body if row.is_call else {*body, *OF_FORMS}:
            for depth in DEPTHS:
                with transaction.atomic():
                    response = sent_deep(client, row, world, body, name, depth)
                    transaction.set_rollback(True)
                if response.status_code == 500:
                    failed.append(f"{row}: {name}, {depth} levels")
    assert not failed, "\n".join(failed)


def sent_deep(client: Client, row: Row, world: World, body: dict[str, Any], name: str, depth: int):
    """Send the request of a row with a deeply nested list in one of its fields."""
    address, deep = filled(row.address, world.things), "[" * depth + "]" * depth
    if row.is_call:
        text = json.dumps(body | {name: "DEEP"}).replace('"DEEP"', deep)
        return client.generic(row.method, address, text, content_type="application/json")
    return client.post(address, {key: _value(item) for key, item in body.items()} | {name: deep})
