"""Single sign-on where it is off or cannot work, and what operators undo."""

import pytest
from django.core.exceptions import ImproperlyConfigured
from django.core.management import CommandError, call_command

from webapp.accounts.models import AuditEntry
from webapp.sso import configuration
from webapp.sso.models import Identity


@pytest.mark.parametrize(
    ("issuer", "client", "sentence"),
    [
        ("login.example.org", "cutline", "is not an https address"),
        ("http://login.example.org", "cutline", "is not an https address"),
        ("https://[", "cutline", "is not an https address"),
        ("https://a.example/.well-known/openid-configuration", "cutline", "address of a document"),
        ("https://login.example.org", "", "OIDC_CLIENT_ID is not"),
    ],
)
def test_wrong_settings_are_one_sentence(issuer, client, sentence):
    with pytest.raises(ImproperlyConfigured, match=sentence):
        configuration.require_complete(issuer, client)


@pytest.mark.parametrize("issuer", ["https://login.example.org/realms/a", "http://127.0.0.1:8080"])
def test_a_provider_may_have_a_path_and_be_on_this_machine(issuer):
    configuration.require_complete(issuer, "cutline")


def test_the_sign_in_page_without_a_provider_offers_none(client):
    page = client.get("/sign-in").text
    assert "sso" not in page
    assert "Or with a link" not in page


@pytest.mark.django_db
def test_an_operator_unlinks_a_person(ada, capsys):
    Identity.objects.create(user=ada, issuer="https://login.example.org", subject="1")
    call_command("unlink_sso", "Ada@example.org")
    assert "no longer linked" in capsys.readouterr().out
    assert not Identity.objects.exists()
    entry = AuditEntry.objects.get(action="identity-unlinked")
    assert (entry.person_id, entry.subject) == (ada.pk, "ada@example.org")
    for email, sentence in (("ada@example.org", "is not linked"), ("x@y.example", "no person")):
        with pytest.raises(CommandError, match=sentence):
            call_command("unlink_sso", email)
