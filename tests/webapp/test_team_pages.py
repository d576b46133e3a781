"""The pages and calls of teams: invite, join, change roles, remove, leave, rename, delete."""

import re
from urllib.parse import urlsplit

import pytest
from django.contrib.auth.models import User
from django.test import Client

from tests.web.given import a_client, a_person, post_json, signed_in, text_of
from webapp.accounts.models import AuditEntry
from webapp.accounts.services import make_sign_in_link
from webapp.teams import services
from webapp.teams.models import Invitation, Membership, Team
from webapp.teams.roles import Role

pytestmark = pytest.mark.django_db
GRACE = "grace@example.org"


@pytest.fixture
def team(ada):
    return services.create_team(ada, "payments")


@pytest.fixture
def client(ada):
    return signed_in(ada)


@pytest.fixture
def grace(team):
    person = a_person(GRACE)
    Membership.objects.create(team=team, person=person, role=Role.VIEWER)
    return person


def invited(client, team, address=GRACE, role="editor") -> str:
    """Invite somebody on the page, and return the path of the link that it shows."""
    answer = client.post(f"/teams/{team.pk}/invite", {"address": address, "role": role})
    text = text_of(answer)
    assert f"Send this link to {address}" in text
    return "/teams/join/" + text.partition("/teams/join/")[2].partition("<")[0]


def actions() -> list[str]:
    return list(AuditEntry.objects.order_by("pk").values_list("action", flat=True))


def test_a_person_makes_a_team_on_the_page(client, ada):
    assert client.post("/teams", {"name": " "}).status_code == 422
    answer = client.post("/teams", {"name": "payments"})
    team = Team.objects.get()
    assert answer.headers["Location"] == f"/teams/{team.pk}"
    text = text_of(client.get(f"/teams/{team.pk}"))
    assert "you: owner" in text
    assert "ada@example.org" in text
    assert "payments" in text_of(client.get("/teams"))


def test_a_person_owns_only_so_many_teams(client, api, ada, settings):
    settings.MAX_TEAMS = 2
    other = services.create_team(a_person(GRACE), "of another")
    Membership.objects.create(team=other, person=ada, role=Role.EDITOR)  # which does not count
    for name in ("one", "two"):
        assert client.post("/teams", {"name": name}).status_code == 302
    page = text_of(client.post("/teams", {"name": "three"}), 429)
    assert "You own 2 teams, and may own 2" in page
    assert 'value="three"' in page
    refused = post_json(api, "/api/teams", {"name": "three"})
    assert (refused.status_code, refused.json()["limit"], refused.json()["used"]) == (429, 2, 2)
    client.post(f"/teams/{Team.objects.get(name='one').pk}/delete")
    assert client.post("/teams", {"name": "three"}).status_code == 302
    settings.MAX_TEAMS = 0
    assert client.post("/teams", {"name": "four"}).status_code == 302


def test_a_person_invites_only_so_many(client, api, team, settings):
    settings.MAX_INVITATIONS = 1
    invited(client, team)
    answer = client.post(
        f"/teams/{team.pk}/invite", {"address": "eve@example.org", "role": "editor"}
    )
    page = text_of(answer, 429)
    assert "not proven yet: 1, of 1 that you may have" in page
    assert 'value="eve@example.org"' in page
    body = {"address": "eve@example.org", "role": "editor"}
    refused = post_json(api, f"/api/teams/{team.pk}/invitations", body)
    assert (refused.status_code, refused.json()["limit"]) == (429, 1)


def test_who_is_alone_sees_teams_only_on_the_account_page(client):
    assert "/teams" not in text_of(client.get("/"))
    assert 'href="/teams"' in text_of(client.get("/account"))


def test_an_invitation_makes_an_account_and_signs_it_in(client, team):
    path = invited(client, team)
    visitor = Client()
    assert "Join as grace@example.org" in text_of(visitor.get(path))
    assert not Membership.objects.filter(person__username=GRACE).exists()  # a look joins nobody
    visitor.post(path)
    text = text_of(visitor.get(f"/teams/{team.pk}"))
    assert "you: editor" in text
    assert "has been used" in text_of(visitor.get(path), 404)
    assert actions()[-3:] == ["invited", "joined", "signed-in"]


def test_an_invited_account_signs_in_first(client, team):
    a_person(GRACE)
    path = invited(client, team)
    assert Client().post(path).status_code == 409
    assert "You are signed in as ada@example.org" in text_of(client.get(path))
    own = signed_in(a_person(GRACE))
    assert own.post(path).status_code == 302
    assert Membership.objects.get(person__username=GRACE).role == "editor"


def test_the_page_of_an_invitation_does_not_say_whether_there_is_an_account(client, team):
    path = invited(client, team)
    before, as_ada = text_of(Client().get(path)), text_of(client.get(path))
    a_person(GRACE)
    for visitor, page in ((Client(), before), (client, as_ada)):
        assert without_tokens(text_of(visitor.get(path))) == without_tokens(page)


def without_tokens(page: str) -> str:
    return re.sub(r"[A-Za-z0-9]{64}", "", page)


def test_with_single_sign_on_an_invitation_makes_no_account(client, team, settings):
    path = invited(client, team)
    settings.OIDC_ISSUER, settings.OIDC_NAME = "https://login.example", "Example Login"
    page = text_of(Client().get(path))
    assert "Sign in through Example Login as grace@example.org first" in page
    assert "Join as" not in page
    for somebody in (Client(), client):
        assert "Sign in through Example Login" in text_of(somebody.post(path), 409)
    assert not User.objects.filter(username=GRACE).exists()
    assert signed_in(a_person(GRACE)).post(path).status_code == 302


def test_a_sign_in_that_was_broken_off_does_not_shorten_the_session(client, team):
    path = invited(client, team)
    links = [make_sign_in_link(a_person("bob@example.org")), path]
    for link in links:
        visitor = Client()
        session = visitor.session
        session.set_expiry(600)  # as the beginning of single sign-on does
        session.save()
        visitor.cookies["sessionid"] = session.session_key
        answer = visitor.post(urlsplit(link).path)
        assert answer.status_code == 302
        assert int(answer.cookies["sessionid"]["max-age"]) == 14 * 86_400


@pytest.mark.parametrize(
    ("end", "words"),
    [
        (lambda: Invitation.objects.all().delete(), "unknown or was withdrawn"),
        (
            lambda: Invitation.objects.update(expires_at=Invitation.objects.get().created_at),
            "has expired",
        ),
    ],
)
def test_a_link_that_ended_says_why(client, team, end, words):
    path = invited(client, team)
    end()
    assert words in text_of(Client().get(path), 404)
    assert words in text_of(Client().post(path), 404)


def test_an_owner_withdraws_an_invitation(client, team):
    path = invited(client, team)
    row = Invitation.objects.get()
    assert GRACE in text_of(client.get(f"/teams/{team.pk}"))
    client.post(f"/teams/{team.pk}/invitations/{row.pk}/withdraw")
    assert "withdrawn" in text_of(Client().get(path), 404)
    again = client.post(f"/teams/{team.pk}/invitations/{row.pk}/withdraw")
    assert again.status_code == 404


def test_a_wrong_address_stands_beside_what_was_typed(client, team):
    answer = client.post(f"/teams/{team.pk}/invite", {"address": "grace", "role": "viewer"})
    text = text_of(answer, 422)
    assert "is not an e-mail address" in text
    assert 'value="grace"' in text


def test_an_owner_changes_a_role_and_removes_a_person(client, team, grace):
    client.post(f"/teams/{team.pk}/people/{grace.pk}/role", {"role": "editor"})
    assert Membership.objects.get(person=grace).role == "editor"
    client.post(f"/teams/{team.pk}/people/{grace.pk}/remove")
    assert not Membership.objects.filter(person=grace).exists()
    assert signed_in(grace).get(f"/teams/{team.pk}").status_code == 404
    assert actions()[-4:] == ["role-changed"] * 2 + ["removed"] * 2  # the person's and the team's


def test_a_person_leaves_and_the_last_owner_does_not(client, ada, team, grace):
    answer = client.post(f"/teams/{team.pk}/people/{ada.pk}/remove", follow=True)
    assert "ada@example.org is the only owner of payments" in text_of(answer)
    answer = signed_in(grace).post(f"/teams/{team.pk}/people/{grace.pk}/remove", follow=True)
    assert "You have left payments" in text_of(answer)
    assert actions()[-1] == "left"


def test_an_owner_renames_and_deletes_a_team(client, team, grace):
    client.post(f"/teams/{team.pk}/rename", {"name": "ledger"})
    assert "ledger" in text_of(client.get(f"/teams/{team.pk}/delete"))
    answer = client.post(f"/teams/{team.pk}/rename", {"name": "x" * 101}, follow=True)
    assert "at most 100 characters" in text_of(answer)
    client.post(f"/teams/{team.pk}/delete")
    assert not Team.objects.exists()


CALLS = [
    ("get", "", None, Role.VIEWER, 200),
    ("patch", "", {"name": "ledger"}, Role.OWNER, 200),
    ("post", "/invitations", {"address": "eve@example.org", "role": "viewer"}, Role.OWNER, 201),
    ("delete", "/invitations/{invitation}", None, Role.OWNER, 204),
    ("patch", "/people/{grace}", {"role": "editor"}, Role.OWNER, 200),
    ("delete", "/people/{grace}", None, Role.OWNER, 204),
    ("delete", "", None, Role.OWNER, 204),
]


@pytest.mark.parametrize(("method", "path", "body", "least", "status"), CALLS)
@pytest.mark.parametrize("role", [*Role, None])
def test_a_call_is_answered_by_role(team, ada, grace, method, path, body, least, status, role):
    invitation, _ = services.invite(team, ada, "bob@example.org", "viewer")
    caller = a_person("caller@example.org")
    if role is not None:
        Membership.objects.create(team=team, person=caller, role=role)
    address = f"/api/teams/{team.pk}" + path.format(invitation=invitation.pk, grace=grace.pk)
    answer = post_json(a_client(caller), address, body or {}, method)
    if role is None:
        assert answer.status_code == 404
    elif role.reaches(least):
        assert answer.status_code == status
    else:
        assert answer.status_code == 403
        problem = answer.json()
        assert (problem["type"], problem["role"], problem["needs"]) == (
            "/problems/needs-role",
            role,
            least,
        )


def test_the_calls_do_what_the_pages_do(api, ada):
    team = post_json(api, "/api/teams", {"name": "payments"}).json()
    assert (team["role"], [row["email"] for row in team["people"]]) == ("owner", [ada.username])
    address = f"/api/teams/{team['id']}"
    made = post_json(api, f"{address}/invitations", {"address": GRACE, "role": "viewer"}).json()
    assert made["link"].rpartition("/")[0].endswith("/teams/join")
    assert [row["address"] for row in api.get(address).json()["invitations"]] == [GRACE]
    grace = services.accept(made["link"].rpartition("/")[2], None).person
    as_viewer = a_client(grace).get(address).json()
    assert (as_viewer["role"], as_viewer["invitations"]) == ("viewer", None)
    listed = api.get("/api/teams").json()["items"]
    assert [(row["name"], row["role"], row["members"]) for row in listed] == [
        ("payments", "owner", 2)
    ]
    assert a_client(grace).delete(f"{address}/people/{grace.pk}").status_code == 204  # leaves
    assert a_client(grace).get(address).status_code == 404
    refused = api.delete(f"{address}/people/{ada.pk}")
    assert (refused.status_code, refused.json()["type"]) == (409, "/problems/conflict")


@pytest.mark.parametrize("body", [{}, {"name": None}, {"name": 7}, {"name": " "}, {"name": []}])
def test_a_team_without_a_name_is_refused_with_the_field(api, body):
    refused = post_json(api, "/api/teams", body)
    assert (refused.status_code, refused.json()["field"]) == (422, "name")
