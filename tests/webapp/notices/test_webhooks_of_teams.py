"""Webhooks of teams: what they get, and who may see and change them."""

import json

import pytest
from django.core import mail as outbox

from tests.web.given import a_person, post_json, signed_in
from tests.webapp.notices.given import address, ended, happened
from webapp.accounts.models import AuditEntry
from webapp.notices import services
from webapp.notices.models import Attempt, Notice, Webhook
from webapp.teams.models import Membership

pytestmark = pytest.mark.django_db


def test_a_team_is_notified_of_its_jobs_and_verdicts(ada, team, teams_webhook, receiver, send):
    ended(team.account, {"orphan": 1})
    services.send_test(teams_webhook)
    for _ in range(2):  # a team has only so many under way at once
        send()
    came = sorted(json.loads(came.body)["type"] for came in receiver.received)
    assert came == ["job.done", "test", "verdict.not-consistent"]
    assert {row.delivery.state for row in Attempt.objects.all()} == {"delivered"}
    assert outbox.outbox == []


def test_a_persons_webhook_gets_nothing_of_a_team(ada, webhook, team):
    ended(team.account, {"orphan": 1})
    assert not Notice.objects.exists()


def test_a_team_without_an_open_owner_is_sent_nothing(ada, team, teams_webhook, receiver, send):
    happened(team.account)
    ada.is_active = False
    ada.save()
    send()
    assert receiver.received == []
    assert happened(team.account, key="2") is None


@pytest.mark.parametrize("role", ["viewer", "commenter", "editor", None])
def test_only_owners_make_see_and_change_a_webhook_of_a_team(team, teams_webhook, role):
    grace = a_person("grace@example.org")
    if role is not None:
        Membership.objects.create(team=team, person=grace, role=role)
    client, status = signed_in(grace), 404 if role is None else 403
    body = {"url": "https://hooks.example.org", "kinds": []}
    assert post_json(client, f"/api/webhooks?team={team.pk}", body).status_code == status
    form = body | {"team": str(team.pk)}
    assert client.post("/account/notifications/webhooks", form).status_code == status
    assert client.get("/api/webhooks").json() == {"items": []}
    assert 'name="team"' not in client.get("/account/notifications").text
    for path in ("", "/secret", "/test", "/delete"):
        assert client.post(address(teams_webhook) + path, {}).status_code == 404
    assert client.delete(f"/api/webhooks/{teams_webhook.pk}").status_code == 404
    assert Webhook.objects.count() == 1


def test_another_owner_changes_a_webhook_of_the_team(team, teams_webhook):
    grace = a_person("grace@example.org")
    Membership.objects.create(team=team, person=grace, role="owner")
    client = signed_in(grace)
    [item] = client.get("/api/webhooks").json()["items"]
    assert item["team"] == {"id": team.pk, "name": "payments"}
    client.post(address(teams_webhook), {"url": teams_webhook.url, "kinds": ["job.failed"]})
    teams_webhook.refresh_from_db()
    assert teams_webhook.kinds == ["job.failed"]
    entry = AuditEntry.objects.filter(action="webhook-changed").get()
    assert (entry.actor, entry.person_id) == ("grace@example.org", team.pk)


def test_the_page_offers_the_teams_that_one_owns(ada, api, team):
    client = signed_in(ada)
    assert "team payments" in client.get("/account/notifications").text
    form = {"url": "https://hooks.example.org", "kinds": ["job.done"], "team": str(team.pk)}
    assert client.post("/account/notifications/webhooks", form).status_code == 200
    body = {"url": "https://hooks.example.org", "kinds": ["job.done"]}
    assert post_json(api, f"/api/webhooks?team={team.pk}", body).status_code == 201
    assert post_json(api, "/api/webhooks", body).status_code == 201
    owners = [row.owner for row in Webhook.objects.all()]
    assert owners == [team.account, team.account, ada]
    page = client.get("/account/notifications").text
    assert page.count("It belongs to this team") == 2
    refused = client.post("/account/notifications/webhooks", form | {"url": "gopher://a"})
    assert f'value="{team.pk}" selected' in refused.text


@pytest.mark.parametrize("number", ["x", "-1", "99999", "1" * 30])
def test_a_team_that_there_is_not_gets_no_webhook(ada, team, number):
    form = {"url": "https://hooks.example.org", "kinds": [], "team": number}
    assert signed_in(ada).post("/account/notifications/webhooks", form).status_code == 404
