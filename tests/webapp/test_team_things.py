"""What a team owns: made there, listed, changed by role, moved in and out, opened by a link."""

import json
from datetime import timedelta

import pytest
from django.test import Client
from django.utils import timezone

from snapshots.models import Allowance, Collector, EngineJob, Job, Mapping, Recording, Topology
from snapshots.problems import Conflict, TooMany
from snapshots.services import moving, retention
from snapshots.services.jobs import request_restore
from tests.web.given import (
    a_client,
    a_file,
    a_person,
    a_ready_recording,
    post_json,
    signed_in,
    text_of,
)
from webapp.accounts import deleting, people
from webapp.accounts.models import AuditEntry
from webapp.notices import events
from webapp.notices.models import Notice
from webapp.teams import services
from webapp.teams.models import Membership
from webapp.teams.roles import Role

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("data_dir")]

TOPOLOGY = {
    "name": "pair",
    "processes": [{"id": "A"}, {"id": "B"}],
    "channels": [["A", "B"], ["B", "A"]],
}
MAPPING = {"process": "host", "kind": "event"}
DEFINITION = {"processes": [{"id": "A"}], "channels": [], "layout": {}}
MAKE = {
    "recordings": lambda owner: Recording.objects.create(owner=owner, name="thing"),
    "topologies": lambda owner: Topology.objects.create(
        owner=owner, name="thing", definition=DEFINITION
    ),
    "mappings": lambda owner: Mapping.objects.create(owner=owner, name="thing", document=MAPPING),
    "archive": lambda owner: EngineJob.objects.create(
        owner=owner, engine="flink", key="k", name="thing"
    ),
    "collectors": lambda owner: Collector.objects.create(
        owner=owner, engine="flink", url="http://thing:8081"
    ),
}
KINDS = list(MAKE)


@pytest.fixture
def team(ada):
    return services.create_team(ada, "payments")


@pytest.fixture
def client(ada):
    return signed_in(ada)


def a_member(team, role, email="grace@example.org"):
    person = a_person(email)
    Membership.objects.create(team=team, person=person, role=role)
    return person


def names(answer) -> list[str]:
    return [item["name"] for item in answer.json()["items"] if not item.get("sample")]


# --- made in a team -------------------------------------------------------------------------------


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


# --- listed ---------------------------------------------------------------------------------------

LISTS = {"recordings": "/", "topologies": "/topologies", "mappings": "/mappings"}
LISTS |= {"archive": "/archive"}


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


def test_the_jobs_of_a_team_are_listed_with_its_name(client, api, ada, team):
    for owner in (ada, team.account):
        recording = a_ready_recording(owner)
        request_restore(ada, recording, recording.snapshots.first())
    ours = Job.objects.get(owner=team.account)
    assert "It belongs to this team" in text_of(client.get("/jobs"))
    assert api.get("/api/jobs").json()["total"] == 2
    listed = api.get("/api/jobs", {"team": team.pk}).json()["items"]
    assert [row["id"] for row in listed] == [ours.pk]


def test_the_people_of_a_team_share_the_answers_about_its_recording(ada, team):
    grace = a_member(team, Role.VIEWER)
    recording = a_ready_recording(team.account)
    snapshot = recording.snapshots.first()
    job = request_restore(ada, recording, snapshot)
    assert (job.owner, job.asker) == (team.account, ada)
    assert request_restore(grace, recording, snapshot) == job
    assert a_client(grace).post(f"/api/jobs/{job.pk}/cancel").status_code == 403


REQUESTS = {
    "restore": "/api/recordings/{}/snapshots/s1/restore",
    "reordering": "/api/recordings/{}/snapshots/s1/reordering",
    "predicate": "/api/recordings/{}/predicates",
}


@pytest.mark.parametrize("kind", REQUESTS)
@pytest.mark.parametrize("role", Role)
def test_whoever_may_not_change_a_recording_pays_for_jobs_on_it(team, kind, role):
    person = a_member(team, role)
    recording = a_ready_recording(team.account)
    api = a_client(person)
    answer = post_json(api, REQUESTS[kind].format(recording.pk), {"expression": "A == 9000"})
    job = Job.objects.get(pk=answer.json()["job"])
    pays = team.account if role.reaches(Role.EDITOR) else person
    assert (job.owner, job.asker) == (pays, person)
    assert api.get(f"/api/jobs/{job.pk}").status_code == 200
    assert api.post(f"/api/jobs/{job.pk}/cancel").status_code == 202


def test_the_limit_of_open_jobs_of_a_viewer_counts_for_the_viewer(team):
    grace = a_member(team, Role.VIEWER)
    recording = a_ready_recording(team.account)
    Allowance.objects.create(owner=grace, open_jobs=1)
    api = a_client(grace)
    statuses = [api.post(REQUESTS[kind].format(recording.pk)).status_code for kind in REQUESTS]
    assert statuses[:2] == [202, 429]


def test_who_is_removed_sees_no_job_about_what_the_team_owns(team):
    grace = a_member(team, Role.VIEWER)
    recording = a_ready_recording(team.account)
    job = request_restore(grace, recording, recording.snapshots.first())
    services.remove(team.memberships.get(person=grace), grace)
    assert a_client(grace).get(f"/api/jobs/{job.pk}").status_code == 404
    assert a_client(grace).get("/api/jobs").json()["total"] == 0
    job.state = Job.State.FAILED
    events.job_ended(job)
    assert not Notice.objects.filter(owner=grace).exists()


# --- changed by role ------------------------------------------------------------------------------


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


# --- moved ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", KINDS)
def test_a_thing_moves_into_a_team_and_back_on_its_page(client, ada, team, kind):
    row = MAKE[kind](ada)
    address = f"/{kind}/{row.pk}"
    text = text_of(client.get(f"{address}/sharing"))
    assert "Only you" in text
    assert "payments, 1 person" in text
    assert kind == "recordings" or "stay where they are" in text
    client.post(f"{address}/move", {"team": team.pk})
    row.refresh_from_db()
    assert row.owner == team.account
    text = text_of(client.get(f"{address}/sharing"))
    assert "the one person" in text
    assert "ada@example.org" in text
    client.post(f"{address}/move", {"team": ""})
    row.refresh_from_db()
    assert row.owner == ada
    entries = AuditEntry.objects.filter(action="moved", person_id=team.pk)
    assert [entry.actor for entry in entries] == [ada.username] * 2


@pytest.mark.parametrize("kind", KINDS)
def test_a_thing_moves_by_the_call(api, ada, team, kind):
    row = MAKE[kind](ada)
    address = f"/api/{kind}/{row.pk}/move"
    assert post_json(api, address, {"team": team.pk}).json()["team"]["name"] == "payments"
    assert post_json(api, address, {"team": None}).json()["team"] is None
    assert post_json(api, address, {"team": 987654}).status_code == 404
    assert post_json(api, address, {"team": "x"}).status_code == 422


def test_a_move_into_a_new_team_makes_the_team(client, ada):
    row = MAKE["recordings"](ada)
    answer = client.post(f"/recordings/{row.pk}/move", {"team": "new", "new_team": ""}, follow=True)
    assert "A team needs a name" in text_of(answer)
    fields = {"team": "new", "new_team": "ledger"}
    text = text_of(client.post(f"/recordings/{row.pk}/move", fields, follow=True))
    assert "belongs to ledger now" in text
    assert "Invite somebody to ledger" in text


def test_nobody_moves_a_sample_or_a_stranger_s(api, team):
    sample, theirs = MAKE["recordings"](None), MAKE["recordings"](a_person("eve@example.org"))
    body = {"team": team.pk}
    assert post_json(api, f"/api/recordings/{sample.pk}/move", body).status_code == 403
    assert post_json(api, f"/api/recordings/{theirs.pk}/move", body).status_code == 404
    assert api.get(f"/api/recordings/{sample.pk}/sharing").json()["everybody"] is True


def test_jobs_move_with_their_recording_unless_one_is_open(ada, team):
    recording = a_ready_recording(ada)
    job = request_restore(ada, recording, recording.snapshots.first())
    with pytest.raises(Conflict, match="still under way"):
        moving.move(recording, team.account, ada)
    Job.objects.update(state="done")
    moving.move(recording, team.account, ada)
    job.refresh_from_db()
    assert job.owner == team.account
    assert "1 job" in moving.consequences(recording)[0]


def test_archived_jobs_move_with_the_collector_that_fills_them(ada, team):
    collector = MAKE["collectors"](ada)
    job = EngineJob.objects.create(owner=ada, engine="flink", key="k", collector=collector)
    with pytest.raises(Conflict, match="Move the collector"):
        moving.move(job, team.account, ada)
    moving.move(collector, team.account, ada)
    job.refresh_from_db()
    assert (job.owner, job.collector) == (team.account, collector)
    Collector.objects.update(is_collecting=False)
    job.collector.refresh_from_db()
    moving.move(job, ada, ada)
    job.refresh_from_db()
    assert (job.owner, job.collector) == (ada, None)


def test_a_thing_that_is_there_already_stays(ada, team):
    MAKE["collectors"](team.account)
    mine = MAKE["collectors"](ada)
    with pytest.raises(Conflict, match="An equal one"):
        moving.move(mine, team.account, ada)
    mine.refresh_from_db()
    assert mine.owner == ada


# --- by team --------------------------------------------------------------------------------------


def test_the_limit_of_the_team_holds_and_not_the_person_s(api, ada, team, settings):
    settings.MAX_STORED_BYTES = 10**9
    people.allow(team.account, None, {"stored_bytes": 10})
    refused = api.post("/api/recordings", {"file": a_file(), "team": team.pk})
    assert refused.status_code == 429
    assert "The recordings of payments take" in refused.json()["detail"]
    people.allow(team.account, None, {"stored_bytes": None})
    people.allow(ada, None, {"stored_bytes": 10})
    assert api.post("/api/recordings", {"file": a_file(), "team": team.pk}).status_code == 202
    people.allow(team.account, None, {"open_jobs": 1})
    recording = a_ready_recording(team.account)
    with pytest.raises(TooMany, match="The team payments has 1 open job"):
        request_restore(ada, recording, recording.snapshots.first())


# --- opened by a link -----------------------------------------------------------------------------


def test_who_opens_a_link_without_the_right_reads_what_to_do(team):
    eve = signed_in(a_person("eve@example.org"))
    row = MAKE["recordings"](team.account)
    texts = [text_of(eve.get(f"/recordings/{pk}"), 404) for pk in (row.pk, 987654)]
    for text in texts:
        assert "Ask them to share it with you" in text
        assert "You are signed in as <strong>eve@example.org</strong>" in text
    first, second = (text.partition("<main")[2] for text in texts)
    assert first.replace(f"recording {row.pk},", "") == second.replace("recording 987654,", "")
    assert Client().get(f"/recordings/{row.pk}").headers["Location"].startswith("/sign-in?next=")


@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind != "collectors"])
def test_a_page_has_a_button_that_says_who_can_open_it(client, ada, kind):
    row = MAKE[kind](ada)
    Recording.objects.update(status="refused")
    assert f'href="/{kind}/{row.pk}/sharing"' in text_of(client.get(f"/{kind}/{row.pk}"))


def test_the_dialog_gets_the_part_without_the_frame(client, ada):
    row = MAKE["recordings"](ada)
    part = client.get(f"/recordings/{row.pk}/sharing", headers={"HX-Request": "true"})
    assert "<html" not in text_of(part)
    assert "Only you" in text_of(part)


def test_who_is_no_owner_reads_whom_to_ask_for_an_invitation(ada, team):
    grace = a_member(team, Role.EDITOR)
    row = MAKE["recordings"](team.account)
    text = text_of(signed_in(grace).get(f"/recordings/{row.pk}/sharing"))
    assert "ask an owner of the team to invite them: ada@example.org" in text
    assert "2 people" in text


# --- operators ------------------------------------------------------------------------------------


@pytest.fixture
def owner():
    person = a_person("owner@localhost")
    person.is_staff = True
    person.save()
    return person


def test_an_operator_sees_and_limits_what_a_team_uses(owner, ada, team):
    Recording.objects.create(owner=team.account, name="run", size=4096, upload="kept")
    client, address = signed_in(owner), f"/operator/teams/{team.pk}"
    assert f'href="{address}">payments</a>' in text_of(client.get("/operator/people"))
    assert "4.1 kB" in text_of(client.get(address))
    assert "payments are changed" in text_of(
        client.post(f"{address}/limits", {"stored_bytes": "2 GB"}, follow=True)
    )
    refused = text_of(client.post(f"{address}/limits", {"stored_bytes": "much"}), 422)
    assert 'value="much"' in refused
    api = a_client(owner)
    limited = post_json(api, f"/api{address}/limits", {"retention_days": 30}, "patch").json()
    own = {"stored_bytes": 2 * 10**9, "retention_days": 30}
    assert limited["own_limits"] == own
    usage = {"open_jobs": 0, "collectors": 0, "recordings": 1, "stored_bytes": 4096}
    item = {"id": team.pk, "name": "payments", "owners": ["ada@example.org"], "members": 1}
    listed = api.get("/api/operator/teams").json()
    assert (listed["total"], listed["items"]) == (
        1,
        [{**item, "usage": usage, "own_limits": own, "limits": limited["limits"]}],
    )
    assert api.get(f"/api{address}").json() == listed["items"][0]
    assert "of 2 GB" in text_of(signed_in(ada).get(f"/teams/{team.pk}"))
    words = [entry.subject for entry in AuditEntry.objects.filter(action="allowance-changed")]
    assert words == [team.title] * 2


def test_only_operators_see_what_all_teams_use(ada, team):
    for address in (f"/operator/teams/{team.pk}", f"/operator/teams/{team.pk}/limits"):
        assert signed_in(ada).get(address).status_code in (404, 405)
        assert a_client(ada).get(f"/api{address}").status_code in (404, 405)
    assert a_client(ada).get("/api/operator/teams").status_code == 404


def test_a_team_is_no_person_to_an_operator(owner, team):
    for path in ("", "/close", "/hand-over"):
        assert signed_in(owner).get(f"/operator/people/{team.pk}{path}").status_code == 404
    assert a_client(owner).get(f"/api/operator/people/{team.pk}").status_code == 404


def test_a_team_never_loses_its_last_owner_to_an_operator(owner, ada, team):
    grace = a_person("grace@example.org")
    people.close(ada, owner)
    with pytest.raises(Conflict, match="the only owner of payments: hand over first"):
        deleting.delete(ada, owner)
    assert people.hand_over(ada, grace, owner).moved["team"] == 1
    deleting.delete(ada, owner)
    assert [(row.person, row.role) for row in team.memberships.all()] == [(grace, "owner")]


# --- retention ------------------------------------------------------------------------------------


def in_days(days):
    return timezone.now() + timedelta(days=days)


def test_the_retention_of_a_team_removes_what_the_team_owns(ada, team):
    people.allow(team.account, None, {"retention_days": 30})
    ours, mine = (Recording.objects.create(owner=who, name="old") for who in (team.account, ada))
    new = Recording.objects.create(owner=team.account, name="new")
    Recording.objects.exclude(pk=new.pk).update(created_at=in_days(-31))
    assert retention.expired(timezone.now()) == []  # a week is announced
    assert retention.expired(in_days(7.1)) == [ours]
    retention.delete_recording(ours, reason="tested")
    entry = AuditEntry.objects.get(action="deleted")
    assert (entry.actor, entry.person_id) == ("", team.pk)
    assert set(Recording.objects.all()) == {mine, new}


def test_what_moves_into_a_team_with_retention_is_announced_for_a_week(client, ada, team):
    people.allow(team.account, None, {"retention_days": 1})
    first, second = (Recording.objects.create(owner=ada, name=name) for name in ("one", "two"))
    Recording.objects.update(created_at=in_days(-31))
    moving.move(first, team.account, ada)
    moved_at = AuditEntry.objects.filter(action="moved").first().at
    kept = retention.Retention(1, in_days(-60), {first.pk: moved_at})
    for row in (first, second):
        row.refresh_from_db()
    assert retention.retention_of(team.account).moved == {first.pk: moved_at}
    assert kept.goes_at(first) == moved_at + timedelta(days=7)
    second.owner = team.account
    assert kept.goes_at(second) == second.created_at + timedelta(days=1)
    assert "goes on" in text_of(client.get("/"))
    assert retention.expired(in_days(6.9)) == []
    assert retention.expired(in_days(7.1)) == [first]


def test_a_job_says_for_which_team_it_counts(api, ada, team):
    for owner, expected in ((ada, None), (team.account, {"id": team.pk, "name": "payments"})):
        recording = a_ready_recording(owner)
        job = request_restore(ada, recording, recording.snapshots.first())
        assert api.get(f"/api/jobs/{job.pk}").json()["team"] == expected
