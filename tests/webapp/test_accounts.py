import re
from datetime import timedelta

import pytest
from django.core.management import CommandError, call_command
from django.test import Client
from django.utils import timezone

from webapp.accounts import services
from webapp.accounts.auth import bearer_user
from webapp.accounts.models import ApiToken, SignInLink

pytestmark = pytest.mark.django_db


@pytest.fixture
def user():
    return services.get_or_create_user("ada@example.org")


@pytest.fixture
def ada(user, client):
    client.force_login(user)
    return client


def path_of(link: str) -> str:
    return "/sign-in/" + link.rpartition("/")[2]


def signed_in(client) -> bool:
    return client.get("/account").status_code == 200


def command(capsys, *arguments) -> str:
    call_command(*arguments)
    return capsys.readouterr().out.strip()


def test_a_link_signs_in(client, user):
    answer = client.post(path_of(services.make_sign_in_link(user)))
    assert answer.status_code == 302
    assert signed_in(client)


def test_looking_at_a_link_does_not_use_it_up(client, user):
    link = path_of(services.make_sign_in_link(user))
    for look in (client.head, client.get, client.get):
        assert look(link).status_code == 200
    page = client.get(link).text
    assert "Sign in as ada@example.org" in page
    assert not signed_in(client)
    assert client.post(link).status_code == 302
    assert signed_in(client)


def test_a_link_is_followed_by_its_own_page_alone(user):
    client = Client(enforce_csrf_checks=True)
    link = path_of(services.make_sign_in_link(user))
    assert client.post(link).status_code == 403
    token = re.search(r'name="csrfmiddlewaretoken" value="(\w+)"', client.get(link).text)[1]
    assert client.post(link, {"csrfmiddlewaretoken": token}).status_code == 302
    assert signed_in(client)


def test_a_used_link_says_so_before_the_button(client, user):
    link = path_of(services.make_sign_in_link(user))
    Client().post(link)
    answer = client.get(link)
    assert answer.status_code == 422
    assert "a link works only once" in answer.text


def test_signing_in_begins_another_session(client, user):
    client.get("/sign-in")
    session = client.session
    session["choice"] = 7
    session.save()
    client.cookies["sessionid"] = before = session.session_key
    client.post(path_of(services.make_sign_in_link(user)))
    assert client.cookies["sessionid"].value != before


def test_a_link_works_once(client, user):
    link = path_of(services.make_sign_in_link(user))
    Client().post(link)
    answer = client.post(link)
    assert answer.status_code == 422
    assert "a link works only once" in answer.text
    assert not signed_in(client)


def test_a_link_expires_after_an_hour(client, user):
    link = path_of(services.make_sign_in_link(user))
    SignInLink.objects.update(expires_at=timezone.now() - timedelta(seconds=1))
    answer = client.post(link)
    assert "links work for an hour" in answer.text
    assert not signed_in(client)


def test_a_made_up_link_is_refused_and_kept_in_the_field(client):
    answer = client.post("/sign-in", {"link": "http://127.0.0.1/sign-in/made-up"})
    assert answer.status_code == 422
    assert "is unknown" in answer.text
    assert "sign-in/made-up" in answer.text


def test_a_link_can_be_pasted(client, user):
    link = services.make_sign_in_link(user)
    answer = client.post("/sign-in", {"link": f"  {link}\n", "next": "/account"})
    assert answer.headers["Location"] == "/account"
    assert signed_in(client)


def test_signing_in_leads_to_no_other_site(client, user):
    link = services.make_sign_in_link(user)
    answer = client.post("/sign-in", {"link": link, "next": "https://evil.example/"})
    assert answer.headers["Location"] == "/"


def test_a_closed_account_cannot_sign_in(client, user):
    link = path_of(services.make_sign_in_link(user))
    user.is_active = False
    user.save()
    assert "account is closed" in client.post(link).text


def test_the_database_holds_no_link_and_no_token(user):
    link = services.make_sign_in_link(user)
    _, token = services.make_token(user, "checks")
    assert link.rpartition("/")[2] != SignInLink.objects.get().token_hash
    assert token not in ApiToken.objects.values().get().values()


def test_signing_out_needs_a_post(ada):
    assert ada.get("/sign-out").status_code == 405
    assert signed_in(ada)
    ada.post("/sign-out")
    assert not signed_in(ada)


def test_a_stranger_is_sent_to_sign_in_and_back(client):
    answer = client.get("/account?x=1")
    assert answer.status_code == 302
    assert answer.headers["Location"] == "/sign-in?next=/account%3Fx%3D1"


def test_a_stranger_gets_no_page_inside_a_page(client):
    answer = client.get("/account", headers={"HX-Request": "true"})
    assert answer.headers["HX-Redirect"] == "/sign-in"


@pytest.mark.parametrize("path", ["/sign-inx", "/healthzx", "/apix", "/statics"])
def test_only_the_listed_addresses_are_public(client, path):
    assert client.get(path).status_code == 302


def test_a_token_is_shown_once(ada):
    token = re.search(
        r"cut_[\w-]{20,}", ada.post("/account/tokens", {"name": "checks"}).text
    ).group()
    page = ada.get("/account").text
    assert "checks" in page
    assert token[:12] in page
    assert token not in page


def test_a_token_needs_a_name(ada):
    answer = ada.post("/account/tokens", {"name": " "})
    assert answer.status_code == 422
    assert "Name the token" in answer.text
    assert not ApiToken.objects.exists()


def test_a_revoked_token_opens_nothing(ada, user, rf):
    row, token = services.make_token(user, "checks")
    request = rf.get("/", headers={"Authorization": f"Bearer {token}"})
    assert bearer_user(request) == user
    ada.post(f"/account/tokens/{row.pk}/revoke")
    assert bearer_user(request) is None


def test_someone_elses_token_cannot_be_revoked(ada):
    row, _ = services.make_token(services.get_or_create_user("bob@example.org"), "bob's")
    assert ada.post(f"/account/tokens/{row.pk}/revoke").status_code == 404
    assert ApiToken.objects.filter(pk=row.pk).exists()


@pytest.mark.parametrize("header", ["", "Bearer", "Bearer cut_wrong", "Basic abc", "Bearer \x00"])
def test_other_headers_are_nobody(rf, header):
    assert bearer_user(rf.get("/", headers={"Authorization": header})) is None


def test_a_tokens_last_use_is_noted_to_the_minute(user):
    _row, token = services.make_token(user, "checks")
    services.valid_token(token)
    first = ApiToken.objects.get().last_used_at
    services.valid_token(token)
    assert ApiToken.objects.get().last_used_at == first
    ApiToken.objects.update(last_used_at=first - timedelta(minutes=2))
    services.valid_token(token)
    assert ApiToken.objects.get().last_used_at > first - timedelta(minutes=1)


def test_create_token_makes_the_user_and_prints_the_token_alone(capsys):
    token = command(capsys, "create_token", "Eve@Example.org")
    assert services.valid_token(token).user.username == "eve@example.org"


def test_the_same_address_is_the_same_user(capsys):
    first = services.valid_token(command(capsys, "create_token", "eve@example.org")).user
    assert services.valid_token(command(capsys, "create_token", "EVE@example.org")).user == first


def test_create_token_refuses_what_is_no_address():
    with pytest.raises(CommandError, match="'eve' is not an e-mail address"):
        call_command("create_token", "eve")


def test_sign_in_link_prints_a_link_that_works(capsys, client):
    link = command(capsys, "sign_in_link")
    assert link.startswith("http://127.0.0.1:8000/sign-in/")
    client.post(path_of(link))
    assert "owner@localhost" in client.get("/account").text


def test_names_are_text_not_markup(ada):
    assert "<script>alert" not in ada.post("/account/tokens", {"name": "<script>alert(1)"}).text


def test_the_command_on_the_sign_in_page_works_as_it_stands(client, capsys):
    page = client.get("/sign-in").content.decode()
    [words] = re.findall(r"<code>\.venv/bin/python manage\.py ([^<]*)</code>", page)
    client.post(path_of(command(capsys, *words.split())))
    assert signed_in(client)
