"""Things are made in a team, and listed with its name."""

import json

import pytest

from snapshots.models import Collector, Job, Mapping, Recording, Topology
from tests.web.given import a_client, a_file, a_person, post_json, signed_in, text_of
from tests.webapp.team_things.given import MAKE, MAPPING, a_member
from webapp.accounts.models import AuditEntry
from webapp.teams import services
from webapp.teams.models import Membership
from webapp.teams.roles import Role

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("data_dir")]
TOPOLOGY = {
    "name": "pair",
    "processes": [{"id": "A"}, {"id": "B"}],
    "channels": [["A", "B"], ["B", "A"]],
}


def test_an_upload_goes_into_a_team(client, api, ada, team):
    client.post("/", {"file": a_file(), "team": team.pk})
    fields = {"file": a_file(), "team": team.pk}
    number = api.post("/api/recordings", fields).json()["id"]
    assert [row.owner for row in Recording.objects.all()] == [team.account] * 2
    assert api.get(f"/api/recordings/{number}").json()["team"] == {
        "id": team.pk,
        "name": "payments",
    }
    entries = AuditEntry.objects.filter(action="uploaded")
    assert {(entry.actor, entry.person_id) for entry in entries} == {(ada.username, team.pk)}
    assert {job.owner for job in Job.objects.all()} == {team.account}


def test_topologies_runs_mappings_and_collectors_go_into_a_team(api, team, settings):
    settings.COLLECTOR_HOSTS = ["jobmanager:8081"]
    for path, body in [
        ("topologies", TOPOLOGY),
        ("mappings", {"name": "spans", "document": MAPPING}),
        ("collectors", {"url": "http://jobmanager:8081"}),
    ]:
        made = post_json(api, f"/api/{path}?team={team.pk}", body)
        assert (made.status_code, made.json()["team"]["id"]) == (201, team.pk)
    topology = Topology.objects.get(name="pair")
    post_json(api, f"/api/topologies/{topology.pk}/simulate?team={team.pk}", {"seed": 1})
    assert Recording.objects.get().owner == team.account


def test_the_forms_put_things_into_a_team(client, ada, team, settings):
    settings.COLLECTOR_HOSTS = ["jobmanager:8081"]
    document = json.dumps({key: TOPOLOGY[key] for key in ("processes", "channels")})
    fields = {"document": document, "name": "pair", "action": "simulate", "team": team.pk}
    client.post("/topologies/new", fields)
    fields = {"name": "spans", "action": "save", "process": "host", "kind": "e", "team": team.pk}
    client.post("/mappings/new", fields)
    client.post("/archive", {"url": "http://jobmanager:8081", "team": team.pk})
    for model in (Topology, Recording, Mapping, Collector):
        assert model.objects.get(owner__isnull=False).owner == team.account, model


@pytest.mark.parametrize("role", [Role.VIEWER, Role.COMMENTER, None])
def test_who_may_not_change_a_team_puts_nothing_into_it(team, role):
    person = a_member(team, role) if role else a_person("eve@example.org")
    status = 403 if role else 404
    fields = {"file": a_file(), "team": team.pk}
    assert a_client(person).post("/api/recordings", fields).status_code == status
    fields = {"file": a_file(), "team": team.pk}
    assert signed_in(person).post("/", fields).status_code == status
    made = post_json(a_client(person), f"/api/topologies?team={team.pk}", TOPOLOGY)
    assert made.status_code == status
    assert not Recording.objects.exists()


CHOICE = 'name="team"'


@pytest.mark.parametrize("address", ["/", "/topologies/new", "/mappings/new", "/archive"])
def test_a_form_offers_a_team_only_to_who_may_put_something_there(address):
    alone, viewer, editor = (a_person(f"{name}@example.org") for name in ("alone", "see", "edit"))
    team = services.create_team(a_person("owner@example.org"), "payments")
    Membership.objects.create(team=team, person=viewer, role=Role.VIEWER)
    Membership.objects.create(team=team, person=editor, role=Role.EDITOR)
    choice = '<label class="team-choice'
    assert CHOICE not in text_of(signed_in(alone).get(address))
    assert choice not in text_of(signed_in(viewer).get(address))
    assert choice in text_of(signed_in(editor).get(address))


LISTS = {"recordings": "/", "topologies": "/topologies", "mappings": "/mappings"}
LISTS |= {"archive": "/archive"}


def names(answer) -> list[str]:
    return [item["name"] for item in answer.json()["items"] if not item.get("sample")]


@pytest.mark.parametrize("kind", LISTS)
def test_a_list_says_whose_a_thing_is_and_is_filtered_by_team(client, api, ada, team, kind):
    other = services.create_team(a_person("eve@example.org"), "strangers")
    for owner, name in ((ada, "mine"), (team.account, "ours"), (other.account, "theirs")):
        row = MAKE[kind](owner)
        type(row).objects.filter(pk=row.pk).update(name=name)
    text = text_of(client.get(LISTS[kind]))
    assert ">mine<" in text
    assert ">ours<" in text
    assert ">theirs<" not in text
    assert text.count("It belongs to this team") == 1
    for chosen, seen in (("mine", "mine"), (team.pk, "ours"), (other.pk, ""), ("x", "")):
        text = text_of(client.get(LISTS[kind], {"team": chosen}))
        assert {name for name in ("mine", "ours", "theirs") if f">{name}<" in text} == {seen} - {""}
        assert names(api.get(f"/api/{kind}", {"team": chosen})) == [seen] * bool(seen)
