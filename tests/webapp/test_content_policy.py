"""The content security policy of every answer, and that no page needs more than it allows."""

import asyncio
import re

import pytest
from django.test import Client

from snapshots.problems import Problem
from tests.stack import ROOT
from tests.web.given import a_person, a_ready_recording
from webapp.edge.answers import answer

SELF, NONE = ["'self'"], ["'none'"]
POLICY = {
    "default-src": NONE,
    "script-src": SELF,
    "style-src": SELF,
    "img-src": [*SELF, "data:", "blob:"],
    "connect-src": SELF,
    "object-src": NONE,
    "base-uri": NONE,
    "form-action": SELF,
    "frame-ancestors": NONE,
}
ADDRESSES = [
    *("/", "/sign-in", "/api/docs", "/learn", "/nothing/here", "/recordings/999999"),
    *("/api/openapi.json", "/api/recordings/999999", "/healthz", "/static/css/base.css"),
    *("/api/recordings?page=x", "/recordings/1/original"),
]
# What the policy stops in a page: code and styles inside of it.
INSIDE = {
    "a style attribute": re.compile(r"""\sstyle\s*=\s*["'{]"""),
    "a handler": re.compile(r"""\son[a-z]+\s*=\s*["']"""),
    "a style without the nonce": re.compile(
        r"<style(?! nonce=\"\{\{ request\.csp_nonce \}\}\"[ >])"
    ),
    "a script inside": re.compile(r"<script(?![^>]*(\ssrc=|application/json))"),
    "a javascript: address": re.compile(r"javascript:", re.IGNORECASE),
}
PARSED = re.compile(
    r"innerHTML\s*=|outerHTML|insertAdjacentHTML|document\.write|[\"']style[\"']\s*,"
)


def directives(policy: str) -> dict[str, list[str]]:
    parts = (part.split() for part in policy.split(";"))
    return {name: sources for name, *sources in parts}


def policy_of(response) -> dict[str, list[str]]:
    return directives(response.headers["Content-Security-Policy"])


@pytest.fixture
def signed_in(data_dir):
    client = Client(raise_request_exception=False)
    client.force_login(a_person())
    return client


@pytest.mark.django_db
@pytest.mark.parametrize("address", ADDRESSES)
def test_every_answer_has_the_policy(signed_in, address):
    answered = signed_in.get(address)
    assert policy_of(answered) == POLICY
    assert answered.headers["X-Content-Type-Options"] == "nosniff"


@pytest.mark.django_db
def test_an_answer_that_the_framework_refuses_has_the_policy(signed_in):
    assert policy_of(signed_in.get("/", headers={"Host": "evil.example"})) == POLICY
    strict = Client(enforce_csrf_checks=True)
    assert policy_of(strict.post("/sign-in", {"email": "ada@example.org"})) == POLICY


@pytest.mark.django_db
def test_the_page_of_a_fault_has_the_policy(signed_in, monkeypatch):
    def fails(*args, **kwargs):
        raise RuntimeError("on purpose")

    monkeypatch.setattr("snapshots.web.pages.recordings.show", fails)
    answered = signed_in.get("/")
    assert answered.status_code == 500
    assert policy_of(answered) == POLICY


def test_an_answer_before_django_allows_nothing():
    sent = []

    async def send(message):
        sent.append(message)

    asyncio.run(answer({"path": "/"}, send, Problem("The header is too large.")))
    headers = {name.decode(): value.decode() for name, value in sent[0]["headers"]}
    assert directives(headers["content-security-policy"]) == {
        "default-src": NONE,
        "frame-ancestors": NONE,
    }
    assert headers["x-content-type-options"] == "nosniff"


@pytest.mark.django_db
def test_a_style_in_a_page_carries_the_nonce_of_its_response(signed_in, ada):
    address = f"/recordings/{a_ready_recording(ada).pk}"
    nonces = set()
    for _ in range(2):
        answered = signed_in.get(address)
        (nonce,) = re.findall(r'<style nonce="([^"]+)">', answered.content.decode())
        assert policy_of(answered) == POLICY | {"style-src": [*SELF, f"'nonce-{nonce}'"]}
        nonces.add(nonce)
    assert len(nonces) == 2


@pytest.mark.parametrize("what", INSIDE)
def test_no_template_has_what_the_policy_stops(what):
    texts = {path: path.read_text() for path in (ROOT / "templates").rglob("*.html")}
    texts.pop(ROOT / "templates/snapshots/post_mortem/document.html")  # its policy has the hashes
    assert len(texts) > 50
    assert not [path for path, text in texts.items() if INSIDE[what].search(text)]


def test_no_script_parses_text_as_html():
    texts = {path: path.read_text() for path in (ROOT / "static" / "js").rglob("*.js")}
    assert not [path for path, text in texts.items() if PARSED.search(text)]
