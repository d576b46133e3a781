"""Old recordings are removed a week after that was announced."""

from datetime import datetime, timedelta

import pytest
from django.test import Client
from django.utils import timezone

from snapshots.models import Job, Recording
from snapshots.services import retention
from tests.web.given import a_client, a_person, a_ready_recording
from webapp.accounts import people
from webapp.accounts.models import AuditEntry

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("data_dir")]


@pytest.fixture
def later(monkeypatch):
    """Move the clock of retention forward by a number of days."""
    begin = timezone.now()

    def move(days: float):
        monkeypatch.setattr(retention.timezone, "now", lambda: begin + timedelta(days=days))

    return move


def aged(owner, days: float) -> Recording:
    row = a_ready_recording(owner)
    Recording.objects.filter(pk=row.pk).update(created_at=timezone.now() - timedelta(days=days))
    row.refresh_from_db()
    return row


def names() -> set[int]:
    return set(Recording.objects.values_list("pk", flat=True))


def test_without_a_retention_everything_stays(ada, later):
    aged(ada, 9000)
    retention.sweep()
    later(9000)
    retention.sweep()
    assert Recording.objects.count() == 1
    assert not AuditEntry.objects.filter(action="retention-changed").exists()


def test_old_recordings_are_removed_after_a_week_of_announcement(
    ada, settings, later, data_dir, django_capture_on_commit_callbacks
):
    old, young = aged(ada, 100), aged(ada, 1)
    sample = a_ready_recording(None)
    Recording.objects.filter(pk=sample.pk).update(created_at=old.created_at)
    settings.RETENTION_DAYS = 30
    retention.sweep()
    later(6.9)
    retention.sweep()
    assert names() == {old.pk, young.pk, sample.pk}
    later(7.1)
    with django_capture_on_commit_callbacks(execute=True):
        retention.sweep()
    assert names() == {young.pk, sample.pk}
    assert not (data_dir / "store" / old.store).exists()
    entry = AuditEntry.objects.get(action="deleted")
    assert (entry.person_id, entry.actor) == (ada.pk, "")
    assert "older" in entry.detail["reason"]


def test_a_shorter_time_begins_a_week_of_its_own(ada, settings, later):
    settings.RETENTION_DAYS = 300
    retention.sweep()
    aged(ada, 100)
    later(50)
    settings.RETENTION_DAYS = 30
    retention.sweep()
    assert Recording.objects.count() == 1


def test_a_persons_own_retention_overrides_the_servers(ada, settings, later):
    bob = a_person("bob@example.org")
    rows = {aged(user, 100).pk: user for user in (ada, bob)}
    settings.RETENTION_DAYS = 30
    retention.sweep()
    people.allow(bob, None, {"retention_days": 0})
    later(8)
    retention.sweep()
    assert {rows[pk] for pk in names()} == {bob}


def test_a_recording_with_a_running_job_is_removed_later(ada, settings, later):
    row = aged(ada, 100)
    job = Job.objects.create(kind="restore", owner=ada, recording=row)
    settings.RETENTION_DAYS = 30
    retention.sweep()
    later(8)
    retention.sweep()
    assert names() == {row.pk}
    Job.objects.filter(pk=job.pk).update(state=Job.State.DONE)
    retention.sweep()
    assert not names()


def test_the_removal_of_a_handed_over_recording_is_announced_to_its_new_owner(ada, settings, later):
    bob = a_person("bob@example.org")
    people.allow(ada, None, {"retention_days": 0})
    aged(ada, 100)
    settings.RETENTION_DAYS = 30
    retention.sweep()
    later(8)
    people.hand_over(ada, bob, None)
    assert not retention.expired(timezone.now())


def test_the_list_says_when_a_recording_will_be_removed(ada, settings):
    settings.RETENTION_DAYS = 30
    retention.sweep()
    rows = {aged(ada, days).pk: days for days in (10, 24)}
    client = Client()
    client.force_login(ada)
    due = timezone.now() + timedelta(days=7)
    page = client.get("/").text
    assert page.count("goes on") == 1
    assert f"{due.day} {due:%B %Y}" in page
    items = a_client(ada).get("/api/recordings").json()["items"]
    left = {rows[item["id"]]: datetime.fromisoformat(item["goes_at"]) for item in items}
    assert [(left[days] - timezone.now()).days + 1 for days in (10, 24)] == [20, 7]
    settings.RETENTION_DAYS = 0
    assert "goes on" not in client.get("/").text
