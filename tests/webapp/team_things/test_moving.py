"""Things move into a team and out of it."""

import pytest

from snapshots.models import Collector, EngineJob, Job
from snapshots.problems import Conflict
from snapshots.services import moving
from snapshots.services.jobs import request_restore
from tests.web.given import a_person, a_ready_recording, post_json, text_of
from tests.webapp.team_things.given import KINDS, MAKE
from webapp.accounts.models import AuditEntry

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("data_dir")]


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
