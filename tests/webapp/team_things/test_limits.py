"""The limits and the retention of a team hold for what the team owns."""

from datetime import timedelta

import pytest
from django.utils import timezone

from snapshots.models import Recording
from snapshots.problems import TooMany
from snapshots.services import moving, retention
from snapshots.services.jobs import request_restore
from tests.web.given import a_file, a_ready_recording, text_of
from webapp.accounts import people
from webapp.accounts.models import AuditEntry

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("data_dir")]


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
