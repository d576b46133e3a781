"""What goes with a deleted account is said before, and what others wrote does not go."""

import pytest
from django.core.management import call_command

from snapshots.models import Collector, EngineJob, Job
from snapshots.reviews.models import Entry, Review
from tests.web.given import a_client, a_person, a_ready_recording, signed_in
from webapp.accounts import deleting, people
from webapp.accounts.models import AuditEntry

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("data_dir")]


@pytest.fixture
def owner():
    return a_person("owner@localhost")


@pytest.fixture
def bob():
    return a_person("bob@example.org")


@pytest.fixture
def ada(owner):
    """Return a closed account with an archived job, a collector and a job of somebody's."""
    ada = a_person()
    EngineJob.objects.create(owner=ada, engine="flink", key="a" * 32)
    Collector.objects.create(owner=ada, engine="flink", url="http://a:1")
    Job.objects.create(kind="restore", owner=ada, recording=a_ready_recording(owner))
    people.close(ada, owner)
    return ada


def a_note(person) -> Entry:
    return Entry.objects.create(
        engine_job=EngineJob.objects.get(), author=person, number=1, text="It stalls here."
    )


def test_the_question_says_what_goes(owner, ada):
    a_note(ada)
    page = signed_in(owner).get(f"/operator/people/{ada.pk}/delete").content.decode()
    given = a_client(owner).get(f"/api/operator/people/{ada.pk}").json()["goes_with_account"]
    assert given == [
        "These go with the account: 1 archived job, 1 collector, 1 job with its result.",
        "The archived jobs have 1 note of 1 person.",
    ]
    for sentence in given:
        assert sentence in page


def test_the_shell_and_the_log_say_what_went(owner, ada, capsys):
    call_command("people", "--delete", str(ada))
    assert "1 archived job, 1 collector" in capsys.readouterr().out
    entry = AuditEntry.objects.get(action="account-deleted")
    assert "1 archived job" in str(entry.detail)


def test_an_archived_job_with_notes_of_others_is_kept(owner, ada, bob):
    note = a_note(bob)
    page = signed_in(owner).post(f"/operator/people/{ada.pk}/delete", follow=True)
    assert "notes that others wrote (1 note of 1 person): hand over first" in page.content.decode()
    assert a_client(owner).delete(f"/api/operator/people/{ada.pk}").status_code == 409
    people.hand_over(ada, bob, owner)
    deleting.delete(ada, owner)
    assert Entry.objects.get(pk=note.pk).engine_job.owner == bob


def test_reviews_are_handed_over_before(owner, ada, bob):
    review = Review.objects.create(owner=ada, title="The stall of Monday")
    answer = a_client(owner).delete(f"/api/operator/people/{ada.pk}")
    assert answer.status_code == 409
    assert "still has 1 review: hand over first" in answer.json()["detail"]
    assert people.hand_over(ada, bob, owner).moved["review"] == 1
    deleting.delete(ada, owner)
    assert Review.objects.get(pk=review.pk).owner == bob


def test_notes_on_what_belongs_to_others_stay_without_a_name(owner, ada, bob):
    EngineJob.objects.update(owner=bob)
    note = a_note(ada)
    deleting.delete(ada, owner)
    assert Entry.objects.get(pk=note.pk).author is None
