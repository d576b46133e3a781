"""Whoever deletes or moves a thing learns of its notes, and no rule removes notes by itself."""

from datetime import timedelta

import pytest
from django.utils import timezone

from snapshots.archive import filling
from snapshots.domain.archive.model import CheckpointFacts, JobFacts
from snapshots.models import Collector, EngineJob, Recording
from snapshots.problems import Conflict
from snapshots.reviews import entries
from snapshots.services import moving, retention
from tests.web.given import a_client, a_person, a_ready_recording, signed_in, text_of
from webapp.teams import services
from webapp.teams.models import Membership

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("data_dir")]

FACTS = JobFacts("flink", "0" * 32, checkpoints=(CheckpointFacts(7, status="completed"),))
NOTED = "2 notes and 1 answer of 2 people"


@pytest.fixture
def team(ada):
    return services.create_team(ada, "payments")


def noted(ada, team, subject):
    """Return a thing of a team with notes of two people."""
    eve = a_person("eve@example.org")
    Membership.objects.create(team=team, person=eve, role="editor")
    first = entries.write(ada, subject, {"text": "one"})
    entries.write(eve, subject, {"text": "two"})
    entries.answer(eve, first, "three")
    return subject


MAKE = {
    "recordings": a_ready_recording,
    "archive": lambda account: filling.take(account, FACTS),
}


@pytest.mark.parametrize("kind", MAKE)
def test_the_question_before_a_deletion_counts_the_notes(ada, team, kind):
    row = MAKE[kind](team.account)
    question = f"/{kind}/{row.pk}/delete"
    assert " note" not in text_of(signed_in(ada).get(question))
    noted(ada, team, row)
    assert f"It takes {NOTED} with it." in text_of(signed_in(ada).get(question))


@pytest.mark.parametrize("kind", MAKE)
def test_the_question_before_a_move_names_the_notes(ada, team, kind):
    row = noted(ada, team, MAKE[kind](team.account))
    shared = a_client(ada).get(f"/api/{kind}/{row.pk}/sharing").json()
    [sentence] = [words for words in shared["consequences"] if "notes" in words]
    assert sentence.endswith(f"the addresses of their authors and all earlier versions: {NOTED}.")


def test_a_collector_moves_with_the_notes_of_its_jobs(ada, team):
    collector = Collector.objects.create(owner=team.account, engine="flink", url="http://a:1")
    assert "notes" not in " ".join(moving.consequences(collector))
    job = noted(ada, team, filling.take(team.account, FACTS, collector=collector))
    assert job.collector == collector
    assert NOTED in " ".join(moving.consequences(collector))


def test_notes_of_deleted_accounts_are_counted(ada, team):
    row = noted(ada, team, a_ready_recording(team.account))
    a_person("eve@example.org").delete()
    page = text_of(signed_in(ada).get(f"/recordings/{row.pk}/delete"))
    assert "2 notes and 1 answer of 1 person and deleted accounts" in page


def test_retention_keeps_a_recording_with_notes(ada, settings, monkeypatch):
    rows = [a_ready_recording(ada), a_ready_recording(ada)]
    Recording.objects.update(created_at=timezone.now() - timedelta(days=100))
    settings.RETENTION_DAYS = 30
    retention.sweep()
    assert signed_in(ada).get("/").text.count("a note keeps it") == 2
    entries.write(ada, rows[0], {"text": "kept"})
    assert signed_in(ada).get("/").text.count("a note keeps it") == 1
    items = a_client(ada).get("/api/recordings").json()["items"]
    assert {item["id"] for item in items if item["goes_at"] is None} == {rows[0].pk}
    later = timezone.now() + timedelta(days=8)
    monkeypatch.setattr(retention.timezone, "now", lambda: later)
    retention.sweep()
    assert list(Recording.objects.all()) == [rows[0]]


def test_a_team_with_archived_jobs_is_not_deleted(ada, team):
    job = filling.take(team.account, FACTS)
    with pytest.raises(Conflict, match="still has 1 archived job"):
        services.delete_team(team, ada)
    assert EngineJob.objects.filter(pk=job.pk).exists()
    job.delete()
    services.delete_team(team, ada)


def test_an_archived_checkpoint_hides_an_upload_that_the_person_may_not_see(ada, team):
    upload = a_ready_recording(a_person("eve@example.org"))
    facts = JobFacts("flink", "0" * 32, checkpoints=FACTS.checkpoints, contents={(0, 7): 3})
    job = filling.take(team.account, facts, recording=upload)
    job.checkpoints.update(recording=upload, contents=3)
    addresses = (f"/archive/{job.pk}", f"/archive/{job.pk}/checkpoints/0/7")
    api = f"/api/archive/{job.pk}/checkpoints"
    for is_visible in (False, True):
        if is_visible:
            Recording.objects.update(owner=ada)
        for address in addresses:
            shown = f"/recordings/{upload.pk}" in signed_in(ada).get(address).text
            assert shown == is_visible
        [item] = a_client(ada).get(api).json()["items"]
        detail = a_client(ada).get(f"{api}/0/7").json()
        expected = (upload.pk, 3) if is_visible else (None, None)
        for told in (item, detail):
            assert (told["recording"], told["contents"]) == expected
