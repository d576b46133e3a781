"""Jobs about what a team owns: who sees them, and for whom they count."""

import pytest

from snapshots.models import Allowance, Job
from snapshots.services.jobs import request_restore
from tests.web.given import a_client, a_ready_recording, post_json, text_of
from tests.webapp.team_things.given import a_member
from webapp.notices import events
from webapp.notices.models import Notice
from webapp.teams import services
from webapp.teams.roles import Role

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("data_dir")]


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


def test_a_job_says_for_which_team_it_counts(api, ada, team):
    for owner, expected in ((ada, None), (team.account, {"id": team.pk, "name": "payments"})):
        recording = a_ready_recording(owner)
        job = request_restore(ada, recording, recording.snapshots.first())
        assert api.get(f"/api/jobs/{job.pk}").json()["team"] == expected
