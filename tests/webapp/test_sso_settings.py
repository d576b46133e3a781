"""The settings of single sign-on, where it is off and where it cannot work."""

import pytest
from django.core.exceptions import ImproperlyConfigured

from webapp.sso import configuration


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
