"""What a team owns is changed by role."""

import json

import pytest

from snapshots.models import Recording, Topology
from tests.web.given import a_client, a_person, post_json, signed_in, text_of
from tests.webapp.team_things.given import DEFINITION, KINDS, MAKE, a_member
from webapp.teams.roles import Role

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("data_dir")]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("role", [*Role, None])
def test_what_a_team_owns_is_seen_and_changed_by_role(team, kind, role):
    person = a_member(team, role) if role else a_person("eve@example.org")
    row = MAKE[kind](team.account)
    api = a_client(person)
    assert api.get(f"/api/{kind}/{row.pk}").status_code == (200 if role else 404)
    shared = api.get(f"/api/{kind}/{row.pk}/sharing")
    assert shared.status_code == (200 if role else 404)
    may_change = role in (Role.EDITOR, Role.OWNER)
    if role:
        assert shared.json()["may_move"] == may_change
        assert bool(shared.json()["consequences"]) == (may_change and kind != "recordings")
    moved = post_json(api, f"/api/{kind}/{row.pk}/move", {"team": team.pk})
    assert moved.status_code == (409 if may_change else 403 if role else 404)  # it is there already
    gone = api.delete(f"/api/{kind}/{row.pk}")
    assert gone.status_code == (204 if may_change else 403 if role else 404)
    if role and not may_change:
        assert (gone.json()["type"], gone.json()["needs"]) == ("/problems/needs-role", "editor")
        assert "where you are a" in gone.json()["detail"]


BUTTONS = {
    "recordings": ("/recordings/{}", ["/rename", "/delete", "/again"]),
    "topologies": ("/topologies/{}", ["/delete"]),
    "mappings": ("/mappings/{}", ["/delete", 'value="save"', 'value="upload"']),
    "archive": ("/archive/{}", ["/delete"]),
    "collectors": ("/archive", ["/change"]),
}


@pytest.mark.parametrize("kind", BUTTONS)
def test_buttons_that_the_role_does_not_allow_are_not_shown(team, kind):
    row = MAKE[kind](team.account)
    if kind == "recordings":
        Recording.objects.update(status="refused", upload="kept")
    address, buttons = BUTTONS[kind]
    pages = {
        role: text_of(signed_in(a_member(team, role, f"{role}@e.org")).get(address.format(row.pk)))
        for role in Role
    }
    for button in buttons:
        shown = {role for role, text in pages.items() if button in text}
        assert shown == {Role.EDITOR, Role.OWNER}, button


def test_a_viewer_saves_a_copy_of_a_topology(team):
    grace = a_member(team, Role.VIEWER)
    row = Topology.objects.create(owner=team.account, name="pair", definition=DEFINITION)
    client = signed_in(grace)
    assert "Save a copy" in text_of(client.get(f"/topologies/{row.pk}"))
    document = json.dumps({"processes": [{"id": "B"}], "channels": []})
    client.post(f"/topologies/{row.pk}", {"document": document, "name": "x", "action": "save"})
    assert Topology.objects.get(name="x").owner == grace
    assert Topology.objects.get(pk=row.pk).definition == DEFINITION
