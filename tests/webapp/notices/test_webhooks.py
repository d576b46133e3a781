"""What a person does with webhooks, on the pages and over the API."""

import json

import pytest
from standardwebhooks import Webhook as Verifier

from snapshots.problems import Conflict, Invalid, TooMany
from tests.web.given import a_person, post_json, signed_in
from tests.webapp.notices.given import address, happened
from webapp.accounts.models import AuditEntry
from webapp.notices import kinds, services
from webapp.notices.models import Delivery, Webhook

pytestmark = pytest.mark.django_db


@pytest.mark.parametrize(
    ("url", "sentence"),
    [
        ("", "begins with https://"),
        ("hooks.example.org", "begins with https://"),
        ("ftp://hooks.example.org", "begins with https://"),
        ("https://", "begins with https://"),
        ("https://user:word@hooks.example.org", "has no user"),
        ("https://hooks.example.org/#a", "or fragment"),
        ("https://hooks.example.org/ä", "percent-encoded"),
        ("https://hooks.example.org/a\r\nX: y", "percent-encoded"),
        ("https://hooks.example.org:99999", "cannot be read"),
        ("https://[::1", "cannot be read"),
        ("https://hooks.example.org/" + "a" * 500, "more than 500 characters"),
        (["https://hooks.example.org"], "begins with https://"),
    ],
)
def test_an_address_that_cannot_be_posted_to_is_refused(ada, url, sentence):
    with pytest.raises(Invalid, match=sentence):
        services.create(ada, ada, url, [])


def test_http_needs_a_setting(ada, settings):
    services.create(ada, ada, "http://hooks.example.org", [])
    settings.WEBHOOK_HTTP = False
    with pytest.raises(Invalid, match="WEBHOOK_HTTP would allow http"):
        services.create(ada, ada, "http://hooks.example.org", [])


@pytest.mark.parametrize(
    "names", [None, "job.done", 7, ["job.don"], ["test"], {"job.done": 1}, [[]]]
)
def test_kinds_that_there_are_not_are_refused(ada, names):
    with pytest.raises(Invalid) as refusal:
        services.create(ada, ada, "https://hooks.example.org", names)
    assert refusal.value.members["field"] == "kinds"


def test_a_person_has_only_so_many_webhooks_and_tests(ada, webhook):
    for _ in range(services.MOST_TESTS):
        services.send_test(webhook)
    with pytest.raises(Conflict, match="10 tests"):
        services.send_test(webhook)
    for _ in range(services.MOST_WEBHOOKS - 1):
        services.create(ada, ada, "https://hooks.example.org", [])
    with pytest.raises(TooMany):
        services.create(ada, ada, "https://hooks.example.org", [])


def test_the_pages_make_test_change_and_delete_a_webhook(ada, receiver, send):
    client = signed_in(ada)
    form = {"url": receiver.url, "kinds": ["job.done", "job.failed"]}
    page = client.post("/account/notifications/webhooks", form).text
    row = Webhook.objects.get()
    assert row.secret in page
    assert row.secret not in client.get(address(row)).text
    client.post(f"{address(row)}/test")
    send()
    assert json.loads(receiver.received[0].body)["type"] == "test"
    page = client.get(address(row)).text
    assert "A test" in page
    assert "delivered" in page
    delivery = Delivery.objects.get()
    client.post(f"{address(row)}/deliveries/{delivery.pk}/again")
    send()
    assert len(receiver.received) == 2
    client.post(address(row), {"url": receiver.url, "kinds": ["job.failed"]})
    row.refresh_from_db()
    assert (row.kinds, row.is_on) == (["job.failed"], False)
    assert "Switch it on first" in client.post(f"{address(row)}/test", follow=True).text
    secret = row.secret
    client.post(f"{address(row)}/secret")
    row.refresh_from_db()
    assert row.secret != secret
    assert "cannot be undone" in client.get(f"{address(row)}/delete").text
    client.post(f"{address(row)}/delete")
    assert not Webhook.objects.exists()
    made = AuditEntry.objects.filter(action__startswith="webhook-").order_by("pk")
    assert [entry.action for entry in made] == [
        *["webhook-made", "webhook-changed", "webhook-changed", "webhook-removed"]
    ]
    assert all(secret not in f"{entry.subject}{entry.detail}" for entry in made)


def test_a_refused_address_stays_in_its_field(ada, webhook):
    client = signed_in(ada)
    for where in ("/account/notifications/webhooks", address(webhook)):
        answer = client.post(where, {"url": "gopher://a", "kinds": ["job.done"]})
        assert answer.status_code == 422
        assert 'value="gopher://a"' in answer.text
        assert "begins with https://" in answer.text


def test_the_api_can_do_what_the_pages_can(ada, api, receiver, send):
    made = post_json(api, "/api/webhooks", {"url": receiver.url, "kinds": ["job.done"]})
    assert made.status_code == 201
    number, secret = made.json()["id"], made.json()["secret"]
    where = f"/api/webhooks/{number}"
    assert secret not in api.get(where).text
    assert post_json(api, f"{where}/test", {}).status_code == 202
    send()
    Verifier(secret).verify(receiver.received[0].body, receiver.received[0].headers)
    [item] = api.get(f"{where}/deliveries").json()["items"]
    assert (item["state"], item["attempts"][0]["status"]) == ("delivered", 204)
    assert post_json(api, f"{where}/deliveries/{item['id']}/again", {}).status_code == 202
    assert post_json(api, where, {"is_on": False}, "patch").json()["is_on"] is False
    assert post_json(api, f"{where}/test", {}).status_code == 409
    assert post_json(api, where, {"is_on": "no"}, "patch").json()["field"] == "is_on"
    assert post_json(api, f"{where}/secret", {}).json()["secret"] != secret
    chosen = post_json(api, "/api/notifications/mail", {"kinds": ["job.done"]}, "put").json()
    assert chosen == {"is_configured": True, "address": "ada@example.org", "kinds": ["job.done"]}
    assert api.get("/api/notifications/mail").json() == chosen
    assert len(api.get("/api/notifications/kinds").json()["items"]) == len(kinds.KINDS)
    assert api.delete(where).status_code == 204
    assert api.get("/api/webhooks").json() == {"items": []}


def test_somebody_elses_webhook_is_not_there(webhook):
    services.send_test(webhook)
    delivery = Delivery.objects.get().pk
    stranger = signed_in(a_person("eve@example.org"))
    assert stranger.get(address(webhook)).status_code == 404
    for action in ("", "/secret", "/test", f"/deliveries/{delivery}/again", "/delete"):
        assert stranger.post(address(webhook) + action, {}).status_code == 404
    mine = services.create(
        a_person("eve@example.org"), a_person("eve@example.org"), "https://hooks.example.org", []
    )
    assert stranger.post(f"{address(mine)}/deliveries/{delivery}/again").status_code == 404


def test_a_reading_token_changes_no_webhook(ada, webhook, client):
    from webapp.accounts.services import make_token

    _, token = make_token(ada, "reads", scope="read")
    client.defaults["HTTP_AUTHORIZATION"] = f"Bearer {token}"
    assert client.get("/api/webhooks").status_code == 200
    assert client.delete(f"/api/webhooks/{webhook.pk}").status_code == 403
    assert post_json(client, f"/api/webhooks/{webhook.pk}/secret", {}).status_code == 403


def test_names_are_text_on_the_pages(ada, webhook):
    happened(ada, title="<script>alert(1)</script>")
    page = signed_in(ada).get(address(webhook)).text
    assert "<script>alert" not in page
    assert "&lt;script&gt;alert" in page
