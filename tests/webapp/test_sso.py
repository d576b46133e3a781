"""Single sign-on: a real server, and an OpenID provider that is a real HTTP server, too."""

import itertools
import json
import re
import subprocess
import sys
import time
from urllib.parse import parse_qsl, urlsplit

import pytest
import requests

from tests.stack import ROOT
from tests.webapp.openid_provider import CLIENT, OTHER_KEY, SECRET, Answers, OpenIdProvider
from tests.webapp.serving import prepared

pytestmark = pytest.mark.slow

ADA, BOB, CLOSED, OWNER = "ada@example.org", "bob@example.org", "eve@example.org", "owner@localhost"
addresses = (f"10.1.0.{number}" for number in itertools.count(1))


class Browser(requests.Session):
    """A browser at an address of its own, which follows the way through the provider."""

    def __init__(self, site) -> None:
        super().__init__()
        self.site = site
        self.headers["X-Forwarded-For"] = self.address = next(addresses)

    def open(self, path: str, **options) -> requests.Response:
        return self.get(self.site.url + path, allow_redirects=False, **options)

    def submit(self, path: str, **fields: str) -> requests.Response:
        """Post a form of the sign-in page or the account page, with its CSRF token."""
        page = self.open("/sign-in") if path != "/sign-out" else self.open("/account")
        [token] = set(re.findall(r'name="csrfmiddlewaretoken" value="(\w+)"', page.text)[:1])
        data = {"csrfmiddlewaretoken": token, **fields}
        return self.post(self.site.url + path, data=data, allow_redirects=False)

    def way_out(self, **fields: str) -> str:
        """Begin a sign-in, and return the provider's address to which the page leads."""
        page = self.submit("/sign-in/sso", **fields)
        assert page.status_code == 200, page.text
        [address] = re.findall(r'http-equiv="refresh" content="0; url=([^"]+)"', page.text)
        return address.replace("&amp;", "&")

    def way_back(self, **fields: str) -> str:
        """Return the address to which the provider sends the browser back."""
        return self.get(self.way_out(**fields), allow_redirects=False).headers["Location"]

    def sign_in(self, **fields: str) -> requests.Response:
        return self.get(self.way_back(**fields), allow_redirects=False)

    @property
    def is_signed_in(self) -> bool:
        return self.open("/account").status_code == 200


@pytest.fixture(scope="module")
def provider():
    provider = OpenIdProvider()
    yield provider
    provider.stop()


@pytest.fixture(scope="module")
def site(live_redis, provider, tmp_path_factory):
    stack = live_redis.beside(
        tmp_path_factory.mktemp("sso"),
        OIDC_ISSUER=provider.url,
        OIDC_CLIENT_ID=CLIENT,
        OIDC_CLIENT_SECRET=SECRET,
        OIDC_NAME="Example Login",
        OIDC_NEW_PEOPLE="new.example",
        TRUSTED_PROXIES="127.0.0.1",
    )
    stack.manage("migrate", "--verbosity", "0")  # the tables that only this setting needs
    made = prepared(
        stack,
        people=f"[a_person(email).pk for email in {[ADA, BOB, CLOSED]}]",
        token=f"make_token(a_person({OWNER!r}), 'test')[1]",
    )
    stack.operator = {"Authorization": f"Bearer {made['token']}"}
    stack.start_server()
    close_account(stack, CLOSED)
    yield stack
    stack.stop()


@pytest.fixture
def answers(provider) -> Answers:
    provider.answers = Answers()
    return provider.answers


@pytest.fixture
def browser(site, answers):
    return Browser(site)


def audit(site, **query: str) -> list[dict]:
    answer = requests.get(
        f"{site.url}/api/operator/audit", query, headers=site.operator, timeout=10
    )
    return answer.json()["items"]


def people(site) -> dict[str, dict]:
    answer = requests.get(f"{site.url}/api/operator/people", headers=site.operator, timeout=10)
    return {item["email"]: item for item in answer.json()["items"]}


def close_account(site, email: str) -> str:
    """Close a person's account, and return its address in the API."""
    address = f"{site.url}/api/operator/people/{people(site)[email]['id']}"
    body = {"is_active": False}
    assert requests.patch(address, json=body, headers=site.operator, timeout=10).status_code == 200
    return address


def test_a_person_signs_in_by_their_verified_address(browser, site):
    answer = browser.sign_in(next="/account?x=1")
    assert (answer.status_code, answer.headers["Location"]) == (302, "/account?x=1")
    assert ADA in browser.open("/account").text
    signed_in = audit(site, action="signed-in")[0]
    assert (signed_in["actor"], signed_in["subject"]) == (ADA, "through Example Login")
    assert signed_in["address"] == browser.address
    assert browser.address in browser.open("/account").text


def test_the_session_is_a_new_one_and_lasts_as_long_as_any(browser):
    way_back = browser.way_back()
    before = browser.cookies["sessionid"]
    answer = browser.get(way_back, allow_redirects=False)
    assert browser.cookies["sessionid"] != before
    age = int(re.search(r"sessionid=.*?Max-Age=(\d+)", answer.headers["Set-Cookie"])[1])
    assert age == 14 * 86_400


def test_signing_out_ends_the_session(browser):
    browser.sign_in()
    assert browser.submit("/sign-out").headers["Location"] == "/sign-in"
    assert not browser.is_signed_in


def test_signing_out_leads_to_the_end_of_the_providers_session(browser, answers, provider, site):
    browser.sign_in()
    answers.document = {"end_session_endpoint": f"{provider.url}/logout?realm=a"}
    page = browser.submit("/sign-out")
    [address] = re.findall(r'http-equiv="refresh" content="0; url=([^"]+)"', page.text)
    parts = urlsplit(address.replace("&amp;", "&"))
    assert f"{parts.scheme}://{parts.netloc}{parts.path}" == f"{provider.url}/logout"
    expected = {"realm": "a", "client_id": CLIENT}
    assert dict(parse_qsl(parts.query)) == expected | {
        "post_logout_redirect_uri": f"{site.url}/sign-in"
    }
    assert not browser.is_signed_in


@pytest.mark.parametrize("endpoint", ["http://evil.example/out", 5, "javascript:alert(1)"])
def test_signing_out_follows_no_unsafe_address(browser, answers, endpoint):
    browser.sign_in()
    answers.document = {"end_session_endpoint": endpoint}
    page = browser.submit("/sign-out")
    assert "you may still be signed in there" in page.text
    assert "evil.example" not in page.text
    assert not browser.is_signed_in


def test_whoever_came_by_a_link_is_not_sent_to_the_provider(browser, answers, provider, site):
    answers.document = {"end_session_endpoint": f"{provider.url}/logout"}
    browser.submit("/sign-in", link=site.manage("sign_in_link"))
    assert browser.submit("/sign-out").headers["Location"] == "/sign-in"


def test_signing_in_leads_to_no_other_site(browser):
    assert browser.sign_in(next="https://evil.example/").headers["Location"] == "/"


def test_the_request_carries_pkce_and_a_nonce_and_no_secret(browser, site):
    address = browser.way_out()
    for parameter in ("code_challenge=", "code_challenge_method=S256", "nonce=", "state="):
        assert parameter in address
    assert "secret" not in address
    assert f"redirect_uri={site.url}/sign-in/sso/callback".replace(":", "%3A").replace(
        "/", "%2F"
    ) in address.replace(":", "%3A").replace("/", "%2F")


def test_an_address_that_the_provider_tells_apart_is_read_there(browser, answers):
    answers.claims = {"email": None, "email_verified": None, "sub": "told apart"}
    answers.userinfo = {"sub": "told apart", "email": "Cleo@New.Example", "email_verified": "true"}
    assert browser.sign_in().status_code == 302
    assert "cleo@new.example" in browser.open("/account").text


def test_a_new_person_of_an_allowed_domain_gets_an_account(browser, answers, site):
    answers.claims = {"sub": "subject of dan", "email": "dan@new.example"}
    assert browser.sign_in().status_code == 302
    assert people(site)["dan@new.example"]["is_operator"] is False


def test_a_subject_stays_the_same_person_when_its_address_changes(browser, answers, site):
    answers.claims = {"sub": "moved", "email": "fay@new.example"}
    assert browser.sign_in().status_code == 302
    answers.claims = {"sub": "moved", "email": "fay.smith@new.example"}
    later = Browser(site)
    assert later.sign_in().status_code == 302
    assert "fay@new.example" in later.open("/account").text
    assert "fay.smith@new.example" not in people(site)


def past(seconds: int) -> int:
    return int(time.time()) - seconds


@pytest.mark.parametrize(
    ("changes", "status", "sentence"),
    [
        ({"claims": {"email_verified": False}}, 422, "has not verified your e-mail address"),
        ({"claims": {"email_verified": "false"}}, 422, "has not verified your e-mail address"),
        ({"claims": {"email_verified": None}}, 422, "has not verified your e-mail address"),
        ({"claims": {"email": None}}, 422, "did not say which e-mail address"),
        ({"claims": {"email": ["ada@example.org"]}}, 422, "did not say which e-mail address"),
        ({"claims": {"email": "zoe@else.example"}}, 422, "Nobody here has the address zoe@else"),
        ({"claims": {"email": "x@evil.example@new.example"}}, 422, "is not an e-mail address"),
        ({"claims": {"email": CLOSED}}, 422, "This account is closed"),
        ({"claims": {"nonce": "another"}}, 422, "answers another sign-in"),
        ({"claims": {"nonce": None}}, 422, "answers another sign-in"),
        ({"claims": {"aud": "another"}}, 503, "ID token is not valid"),
        ({"claims": {"aud": [CLIENT, "b"], "azp": "b"}}, 503, "issued to another client"),
        ({"claims": {"aud": [CLIENT, "b"]}}, 503, "issued to another client"),
        ({"claims": {"iss": "https://evil.example"}}, 503, "ID token is not valid"),
        ({"claims": {"exp": past(120)}}, 503, "ID token is not valid"),
        ({"claims": {"exp": None}}, 503, "ID token is not valid"),
        ({"claims": {"sub": ""}}, 503, "subject has not 1 to 191 characters"),
        ({"claims": {"sub": "s" * 192}}, 503, "subject has not 1 to 191 characters"),
        ({"key": OTHER_KEY}, 503, "ID token is not valid"),
        ({"key": OTHER_KEY, "headers": {"kid": "2"}}, 503, "a key that the provider does not list"),
        ({"key": None}, 503, "ID token is not valid"),
        ({"code_error": "access_denied"}, 422, "cancelled at Example Login"),
        ({"code_error": "<b>no</b>"}, 422, "&lt;b&gt;no&lt;/b&gt;"),
        ({"token_answer": b"[]"}, 503, "cannot sign you in at the moment"),
        ({"token_answer": b'{"access_token": "a"}'}, 503, "no ID token"),
        ({"token_answer": b'{"access_token": "a", "id_token": 7}'}, 503, "no ID token"),
        (
            {"claims": {"email": None}, "userinfo": {"sub": "other", "email": ADA}},
            503,
            "another subject",
        ),
    ],
)
def test_what_cannot_be_trusted_signs_nobody_in(browser, answers, changes, status, sentence):
    answers.claims = {"sub": f"a stranger {next(addresses)}"}
    for name, value in changes.items():
        value = answers.claims | value if name == "claims" else value
        setattr(answers, name, value)
    answer = browser.sign_in()
    assert answer.status_code == status, answer.text
    assert sentence in answer.text
    assert "Traceback" not in answer.text
    assert not browser.is_signed_in


def test_an_address_that_changed_hands_is_no_key_to_the_account(browser, answers, site):
    browser.sign_in()
    answers.claims = {"sub": "the next owner of the address"}
    taker = Browser(site)
    answer = taker.sign_in()
    assert answer.status_code == 422
    assert "ada@example.org is linked to another account of Example Login" in answer.text
    assert not taker.is_signed_in


def test_a_closed_account_stays_closed_to_its_subject(browser, answers, site):
    answers.claims = {"sub": "bob", "email": BOB}
    assert browser.sign_in().status_code == 302
    close_account(site, BOB)
    assert not browser.is_signed_in
    assert "This account is closed" in Browser(site).sign_in().text


def test_a_sign_in_ends_only_where_it_was_begun(browser, site):
    way_back = browser.way_back()
    other = Browser(site)
    answer = other.get(way_back, allow_redirects=False)
    assert answer.status_code == 422
    assert "was not begun in this browser" in answer.text
    assert not other.is_signed_in
    assert audit(site, action="sign-in-refused")[0]["address"] == other.address


@pytest.mark.parametrize("change", [("state=", "state=x"), ("code=", "code=x")])
def test_a_changed_state_or_code_signs_nobody_in(browser, change):
    answer = browser.get(browser.way_back().replace(*change), allow_redirects=False)
    assert answer.status_code in (422, 503)
    assert not browser.is_signed_in


def test_a_way_back_works_once(browser):
    way_back = browser.way_back()
    assert browser.get(way_back, allow_redirects=False).status_code == 302
    browser.submit("/sign-out")
    assert "was not begun in this browser" in browser.get(way_back, allow_redirects=False).text


def test_no_other_site_can_begin_a_sign_in(browser, site):
    answer = browser.post(f"{site.url}/sign-in/sso", allow_redirects=False)
    assert answer.status_code == 403
    assert browser.open("/sign-in/sso").status_code == 405


def test_a_provider_that_is_down_leaves_the_link(browser, answers, site):
    answers.is_down = True
    answer = browser.submit("/sign-in/sso")
    assert answer.status_code == 503
    assert "cannot sign you in at the moment" in answer.text
    browser.submit("/sign-in", link=site.manage("sign_in_link"))
    assert OWNER in browser.open("/account").text


@pytest.mark.parametrize(
    "document",
    [
        {"issuer": "https://evil.example"},
        {"issuer": None},
        {"token_endpoint": "http://evil.example/token"},
        {"jwks_uri": None},
    ],
)
def test_a_provider_that_describes_another_is_not_followed(browser, answers, document):
    answers.document = document
    answer = browser.submit("/sign-in/sso")
    assert answer.status_code == 503
    assert "cannot be trusted" in answer.text


def test_a_stranger_begins_only_so_many_sign_ins(browser):
    statuses = {browser.submit("/sign-in/sso").status_code for _ in range(21)}
    assert statuses == {200, 429}


def test_no_page_of_allauth_can_be_reached(browser):
    browser.sign_in()
    for path in ("/accounts/", "/accounts/login/", "/login/", "/signup/", "/oidc/sso/login/"):
        assert browser.open(path).status_code == 404, path


def test_the_sign_in_page_offers_both_ways(browser):
    page = browser.open("/sign-in").text
    assert "Sign in with" in page
    assert "Or with a link" in page


def test_a_person_who_signed_in_can_be_deleted(browser, answers, site):
    answers.claims = {"sub": "leaver", "email": "leaver@new.example"}
    browser.sign_in()
    address = close_account(site, "leaver@new.example")
    assert requests.delete(address, headers=site.operator, timeout=10).status_code == 204


WITHOUT = """
import json, sys
from django.conf import settings
from django.urls import resolve
from snapshots.files import starting
starting.require_all()
print(json.dumps([
    sorted({name.partition(".")[0] for name in sys.modules} & {"allauth", "requests", "jwt"}),
    resolve("/sign-in/sso").url_name,
    [name for name in settings.MIDDLEWARE if "allauth" in name],
]))
"""


def test_without_the_setting_nothing_of_it_is_loaded_and_its_tables_are_no_hindrance(site):
    """The tables of allauth stay when the setting goes. They are no reason to refuse the start."""
    left = {name: text for name, text in site.environment.items() if not name.startswith("OIDC_")}
    ran = subprocess.run(
        [sys.executable, "manage.py", "shell", "--no-imports", "-c", WITHOUT],
        cwd=ROOT,
        env=left,
        capture_output=True,
        text=True,
    )
    assert ran.stdout, ran.stderr
    assert json.loads(ran.stdout) == [[], "follow-link", []]
