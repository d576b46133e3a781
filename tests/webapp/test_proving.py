"""An account that an invitation made is its person's only once the address is proven."""

from urllib.parse import urlsplit

import pytest
from django.contrib.auth.models import User
from django.test import Client

from snapshots.problems import Conflict
from tests.web.given import a_client, a_person, signed_in, text_of
from webapp.accounts import people
from webapp.accounts.models import ApiToken, AuditEntry, Session, UnprovenAccount
from webapp.accounts.services import OWNER, make_sign_in_link
from webapp.notices.models import Webhook
from webapp.notices.services import create
from webapp.sso import people as sso_people
from webapp.teams import services

pytestmark = pytest.mark.django_db
CEO = "ceo@corp.example"


def by_link(user: User, browser: Client) -> None:
    assert browser.post(urlsplit(make_sign_in_link(user)).path).status_code == 302


def by_single_sign_on(user: User, browser: Client) -> None:
    claims = {"sub": "1", "email": user.username, "email_verified": True}
    assert sso_people.person(claims) == user


WAYS = [by_link, by_single_sign_on]


@pytest.fixture
def eve() -> Client:
    """Return the browser of somebody who invited an address and opened the link herself."""
    inviter = a_person("eve@example.org")
    team = services.create_team(inviter, "a trap")
    _, link = services.invite(team, inviter, CEO, "viewer")
    browser = signed_in(inviter)
    assert browser.post(urlsplit(link).path).status_code == 302
    assert CEO in text_of(browser.get("/account"))
    return browser


@pytest.mark.parametrize("prove", WAYS)
def test_whoever_proves_the_address_ends_what_others_left_in_the_account(eve, prove, settings):
    settings.OIDC_ISSUER, settings.OIDC_NAME = "https://login.example", "Example Login"
    ceo = User.objects.get(username=CEO)
    eve.post("/account/tokens", {"name": "back door", "scope": "write"})
    with_token = a_client(ceo)
    create(ceo, ceo, "https://eve.example/hook", ["job.done"])
    assert with_token.get("/api/account").status_code == 200
    prove(ceo, Client())
    assert eve.get("/account").status_code == 302
    assert with_token.get("/api/account").status_code == 401
    assert not ApiToken.objects.filter(user=ceo).exists()
    assert not Webhook.objects.exists()
    [entry] = AuditEntry.objects.filter(action="address-proven")
    assert (entry.actor, entry.detail) == (
        CEO,
        {"invited_by": "eve@example.org", "sessions": 1, "tokens": 2, "webhooks": 1},
    )


def test_what_is_made_after_the_first_proof_stays(eve):
    ceo, browser = User.objects.get(username=CEO), Client()
    by_link(ceo, browser)
    with_token = a_client(ceo)
    by_link(ceo, Client())
    assert with_token.get("/api/account").status_code == 200
    assert text_of(browser.get("/account"))
    assert Session.objects.filter(user=ceo).count() == 2
    assert not UnprovenAccount.objects.exists()


def test_the_invited_person_stays_signed_in_where_the_link_is_used(eve):
    by_link(User.objects.get(username=CEO), eve)
    assert CEO in text_of(eve.get("/account"))


def test_operators_see_that_an_address_is_not_proven_and_give_it_no_rights(eve):
    ceo, owner = User.objects.get(username=CEO), a_person(OWNER)
    page = text_of(signed_in(owner).get(f"/operator/people/{ceo.pk}"))
    assert "Made by an invitation of eve@example.org, address not proven" in page
    address = f"/api/operator/people/{ceo.pk}"
    assert a_client(owner).get(address).json()["unproven_invited_by"] == "eve@example.org"
    for give in (
        lambda: people.make_operator(ceo, owner),
        lambda: people.hand_over(a_person("eve@example.org"), ceo, owner),
    ):
        with pytest.raises(Conflict, match="nobody has proven to have the address"):
            give()
    by_link(ceo, Client())
    assert "not proven" not in text_of(signed_in(owner).get(f"/operator/people/{ceo.pk}"))
    assert a_client(owner).get(address).json()["unproven_invited_by"] is None
    people.make_operator(ceo, owner)


def test_an_account_that_is_made_meanwhile_is_not_entered(monkeypatch):
    inviter = a_person("eve@example.org")
    team = services.create_team(inviter, "a trap")
    token = services.invite(team, inviter, CEO, "viewer")[1].rpartition("/")[2]
    a_person(CEO)
    with pytest.raises(Conflict, match="who has an account"):
        services.accept(token, None)
    assert not UnprovenAccount.objects.exists()
    assert not team.memberships.filter(person__username=CEO).exists()
