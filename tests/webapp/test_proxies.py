"""Headers are believed only from a trusted proxy."""

import json
import os
import subprocess
import sys
from io import BytesIO
from ipaddress import ip_network

import pytest
from django.core.exceptions import ImproperlyConfigured
from django.core.handlers.asgi import ASGIRequest

from tests.stack import ROOT
from tests.webapp.asgi import get
from webapp import env
from webapp.edge.proxies import TrustedProxies

SAID = [
    (b"x-forwarded-for", b"198.51.100.9, 10.0.0.2"),
    (b"x-forwarded-proto", b"https"),
    (b"x-forwarded-host", b"evil.example"),
    (b"x-request-id", b"from-outside"),
]


async def echo(scope, receive, send) -> None:
    """Answer with what a layer behind TrustedProxies sees."""
    names = [name.decode() for name, _ in scope["headers"]]
    body = {"client": scope["client"][0], "scheme": scope["scheme"], "headers": names}
    assert ASGIRequest(scope, BytesIO()).is_secure() == (scope["scheme"] == "https")
    await send({"type": "http.response.start", "status": 200, "headers": []})
    await send({"type": "http.response.body", "body": json.dumps(body).encode()})


async def seen(settings, trusted: list[str], headers=SAID, client="10.0.0.1") -> dict:
    settings.TRUSTED_PROXIES = tuple(map(ip_network, trusted))
    return json.loads((await get("/", headers, client, TrustedProxies(echo)))["body"])


async def test_nobody_is_believed_who_is_not_a_trusted_proxy(settings):
    assert await seen(settings, []) == {"client": "10.0.0.1", "scheme": "http", "headers": ["host"]}
    assert await seen(settings, ["10.0.0.2"]) == await seen(settings, [])


async def test_a_trusted_proxy_says_who_its_client_is(settings):
    assert await seen(settings, ["10.0.0.0/24"]) == {
        "client": "198.51.100.9",
        "scheme": "https",
        "headers": ["host", "x-request-id"],
    }


async def test_a_client_cannot_put_an_address_before_its_own(settings):
    forged = [(b"x-forwarded-for", b"192.0.2.1"), (b"x-forwarded-for", b"203.0.113.7")]
    assert (await seen(settings, ["10.0.0.1"], forged))["client"] == "203.0.113.7"


@pytest.mark.parametrize("nonsense", [b"", b"unknown", b"10.0.0.999", b"a" * 5000, b"\xff"])
async def test_an_address_that_is_none_leaves_the_proxys(settings, nonsense):
    headers = [(b"x-forwarded-for", nonsense), (b"x-forwarded-proto", nonsense)]
    answer = await seen(settings, ["10.0.0.1"], headers)
    assert (answer["client"], answer["scheme"]) == ("10.0.0.1", "http")


async def test_an_ipv4_address_in_ipv6_is_the_same_address(settings):
    answer = await seen(settings, ["10.0.0.1"], client="::ffff:10.0.0.1")
    assert answer["scheme"] == "https"


def test_a_wrong_network_is_one_sentence(monkeypatch):
    monkeypatch.setattr(env, "SETTINGS", {})
    monkeypatch.setenv("X", "10.0.0.0/8,proxy.example")
    with pytest.raises(ImproperlyConfigured, match=r"^X: 'proxy.example' does not appear to be"):
        env.env_networks("X", "", "networks", shown="none")


def printed(tmp_path, url: str, code: str) -> str:
    """Return what a fresh process prints whose PUBLIC_URL is ``url``."""
    ran = subprocess.run(
        [sys.executable, "-c", f"import django; django.setup()\n{code}"],
        cwd=ROOT,
        env={
            "PATH": os.environ["PATH"],
            "DATA_DIR": str(tmp_path),
            "DJANGO_SETTINGS_MODULE": "webapp.settings",
            "PUBLIC_URL": url,
        },
        capture_output=True,
        text=True,
    )
    assert ran.returncode == 0, ran.stderr
    return ran.stdout.strip()


@pytest.mark.slow
@pytest.mark.parametrize(
    ("url", "networks"),
    [("https://cutline.example", "127.0.0.1/32 ::1/128"), ("http://127.0.0.1:8123", "")],
)
def test_this_machine_is_trusted_where_a_proxy_is_named(tmp_path, url, networks):
    code = "from django.conf import settings; print(*settings.TRUSTED_PROXIES)"
    assert printed(tmp_path, url, code) == networks


ASK_DJANGO = """
from django.test import RequestFactory
print(RequestFactory().get("/", HTTP_X_FORWARDED_PROTO="https").is_secure())
"""


@pytest.mark.slow
def test_behind_https_django_itself_believes_no_header(tmp_path):
    assert printed(tmp_path, "https://cutline.example", ASK_DJANGO) == "False"
