"""The audit log: what is written into it, who may read it, and that nothing deletes it."""

import csv
import io
from datetime import timedelta

import pytest
from django.core.management import call_command
from django.test import Client
from django.utils import timezone

from snapshots.models import Topology
from tests.web.given import a_client, a_file, a_person, a_ready_recording, text_of
from webapp.accounts import audit, people, services
from webapp.accounts.models import AuditEntry

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("data_dir")]


@pytest.fixture
def owner():
    return a_person("owner@localhost")


def signed_in(user) -> Client:
    client = Client(raise_request_exception=False, REMOTE_ADDR="192.0.2.7")
    client.force_login(user)
    return client


def noted() -> list[tuple[str, str, str]]:
    """Return action, actor and address of every entry, in order."""
    entries = AuditEntry.objects.order_by("pk")
    return [(entry.action, entry.actor, entry.address) for entry in entries]


def test_signing_in_and_out_is_noted_with_the_address(ada):
    client = Client(REMOTE_ADDR="192.0.2.7")
    link = "/sign-in/" + services.make_sign_in_link(ada).rpartition("/")[2]
    client.get(link)
    client.post(link)
    client.post("/sign-out")
    client.post(link)
    assert noted() == [
        ("signed-in", "ada@example.org", "192.0.2.7"),
        ("signed-out", "ada@example.org", "192.0.2.7"),
        ("sign-in-refused", "", "192.0.2.7"),
    ]


def test_strangers_cannot_fill_the_log(client, monkeypatch):
    monkeypatch.setattr(audit, "REFUSALS_AN_HOUR", 3)
    for _ in range(5):
        assert client.post("/sign-in", {"link": "made-up"}).status_code == 422
    entries = list(AuditEntry.objects.order_by("pk"))
    assert [entry.detail for entry in entries] == [{}, {}, {"last_of_hour": True}]


def test_uploads_downloads_and_deletions_are_noted(ada):
    client = signed_in(ada)
    client.post("/", {"file": a_file(name="night.jsonl")})
    entry = AuditEntry.objects.get()
    pk = int(entry.subject.split()[1])
    assert entry.subject == f"recording {pk} “night.jsonl”"
    client.get(f"/recordings/{pk}/original")
    client.post(f"/recordings/{pk}/delete")
    topology = Topology.objects.create(owner=ada, name="ring", definition={})
    client.post(f"/topologies/{topology.pk}/delete")
    by_ada = ("ada@example.org", "192.0.2.7")
    actions = ["uploaded", "downloaded", "deleted", "deleted"]
    assert noted() == [(action, *by_ada) for action in actions]


def test_a_deletion_by_token_is_noted(ada):
    row = a_ready_recording(ada)
    a_client(ada).delete(f"/api/recordings/{row.pk}", REMOTE_ADDR="192.0.2.9")
    assert noted() == [("deleted", "ada@example.org", "192.0.2.9")]


def test_tokens_and_links_are_noted_without_themselves(ada, capsys):
    client = signed_in(ada)
    client.post("/account/tokens", {"name": "nightly", "scope": "read"})
    row = ada.api_tokens.get()
    client.post(f"/account/tokens/{row.pk}/revoke")
    call_command("sign_in_link", "ada@example.org")
    call_command("create_token", "ada@example.org")
    secrets = capsys.readouterr().out.split()
    assert [action for action, *_ in noted()] == [
        *["token-made", "token-revoked", "link-made", "token-made"]
    ]
    texts = repr(list(AuditEntry.objects.values()))
    assert not any(secret.rpartition("/")[2] in texts for secret in secrets)


def test_what_operators_do_is_noted_with_whom_it_concerns(ada, owner):
    people.allow(ada, owner, {"open_jobs": 3})
    people.make_operator(ada, owner)
    people.unmake_operator(ada, owner)
    people.end_sessions(ada, owner)
    people.close(ada, owner)
    people.open_again(ada, owner)
    people.hand_over(ada, owner, owner)
    entries = AuditEntry.objects.filter(person_id=ada.pk).order_by("pk")
    assert [entry.action for entry in entries] == [
        *["allowance-changed", "operator-made", "operator-unmade", "sessions-ended"],
        *["account-closed", "account-opened", "handed-over"],
    ]
    assert {entry.actor for entry in entries} == {"owner@localhost"}
    assert entries[0].detail == {"open_jobs": 3}
    assert {entry.action for entry in entries} <= set(audit.ACTIONS)


def test_entries_are_neither_changed_nor_removed(ada):
    entry = audit.note(audit.SIGNED_IN, ada)
    entry.action = "signed-out"
    entries = AuditEntry.objects.all()
    for attempt in (
        entry.save,
        entry.delete,
        entries.delete,
        lambda: entries.update(action="x"),
        lambda: entries.bulk_update([entry], ["action"]),
        lambda: AuditEntry(pk=entry.pk, action="x").save(),
    ):
        with pytest.raises(PermissionError, match="neither changed nor removed"):
            attempt()
    ada.delete()
    assert [(row.action, row.actor) for row in AuditEntry.objects.all()] == [
        ("signed-in", "ada@example.org")
    ]


def test_a_person_sees_their_own_entries_and_no_operators_address(ada, owner):
    audit.note(audit.SIGNED_IN, a_person("bob@example.org"), "bob’s")
    signed_in(owner).post(f"/operator/people/{ada.pk}/end-sessions")
    client = signed_in(ada)
    client.post("/account/tokens", {"name": "nightly"})
    for page in (text_of(client.get("/account")), text_of(client.get("/account/activity"))):
        assert "token made" in page
        assert "owner@localhost" in page
        assert "bob’s" not in page
        assert page.count("from 192.0.2.7") == 1
    listed = a_client(ada).get("/api/account/activity").json()
    assert [(item["action"], item["address"]) for item in listed["items"]] == [
        ("token-made", "192.0.2.7"),
        ("sessions-ended", ""),
    ]


def test_the_account_page_shows_the_last_twenty_and_another_all(ada):
    for number in range(130):
        audit.note(audit.UPLOADED, ada, f"recording {number}.")
    client = signed_in(ada)
    assert client.get("/account").text.count("recording ") == 20
    pages = [client.get(f"/account/activity?page={page}").text for page in (1, 2)]
    assert [page.count("recording ") for page in pages] == [100, 30]


def seen(client, query: str = "") -> list[str]:
    listed = client.get(f"/api/operator/audit?{query}").json()["items"]
    return [item["subject"] for item in listed]


def test_the_log_is_filtered(ada, owner):
    bob = a_person("bob@example.org")
    audit.note(audit.UPLOADED, ada, "ada uploaded")
    audit.note(audit.DELETED, bob, "bob deleted")
    audit.note(audit.ACCOUNT_CLOSED, owner, "ada closed", person=ada)
    old = AuditEntry.objects.create(action=audit.DELETED, actor="bob@example.org", subject="old")
    assert old.at > timezone.now() - timedelta(minutes=1)
    client = a_client(owner)
    assert seen(client, "person=ada@") == ["ada closed", "ada uploaded"]
    assert seen(client, "action=deleted") == ["old", "bob deleted"]
    assert seen(client, "person=bob&action=uploaded") == []
    today, tomorrow = (timezone.now() + timedelta(days=days) for days in (0, 1))
    assert len(seen(client, f"since={today:%Y-%m-%d}&until={today:%Y-%m-%d}")) == 4
    assert seen(client, f"since={tomorrow:%Y-%m-%d}") == []
    assert seen(client, f"until={today - timedelta(days=1):%Y-%m-%d}") == []
    for wrong in ("action=nonsense", "since=yesterday", "until=9999-12-31", "since=2026-13-01"):
        answer = client.get(f"/api/operator/audit?{wrong}")
        assert answer.status_code == 422, wrong
        page = signed_in(owner).get(f"/operator/audit?{wrong}")
        assert page.status_code == 422, wrong


def test_the_page_shows_who_did_what(ada, owner):
    audit.note(audit.DELETED, ada, "recording 7 “<b>two banks”", reason="old")
    page = signed_in(owner).get("/operator/audit").text
    assert "&lt;b&gt;two banks" in page
    assert "reason: old" in page


def test_the_csv_has_every_entry_and_no_formula(ada, owner):
    mallory = a_person("=cmd@example.org")
    audit.note(audit.UPLOADED, mallory, "recording 1, “x”")
    audit.note(audit.DELETED, ada, "＝1+1")
    audit.note(audit.DELETED, ada, "@SUM(A1)")
    answer = signed_in(owner).get("/operator/audit?format=csv")
    assert answer.headers["Content-Type"].startswith("text/csv")
    head, *rows = csv.reader(io.StringIO(answer.getvalue().decode()))
    assert head == ["at", "actor", "action", "subject", "address", "detail"]
    assert [(row[1], row[3]) for row in rows] == [
        ("ada@example.org", "'@SUM(A1)"),
        ("ada@example.org", "'＝1+1"),
        ("'=cmd@example.org", "recording 1, “x”"),
    ]
