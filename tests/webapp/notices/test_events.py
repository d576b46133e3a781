"""What is an event, and what is none."""

import pytest

from snapshots.jobs import leases
from snapshots.models import Job
from tests.webapp.notices.given import a_job, ended
from webapp.notices import events, kinds
from webapp.notices.models import Delivery, Notice

pytestmark = pytest.mark.django_db


@pytest.mark.parametrize(
    ("state", "error", "kind", "sentence"),
    [
        ("done", None, "job.done", "ingest of “two banks”, is done."),
        ("failed", {"detail": "The disk is full."}, "job.failed", "failed. The disk is full."),
        ("refused", {"detail": "Line 3: no."}, "job.failed", "was refused. Line 3: no."),
    ],
)
def test_the_end_of_a_job_is_an_event(ada, webhook, state, error, kind, sentence):
    a_job(ada).write(state=state, error=error)
    notice = Notice.objects.get()
    assert notice.kind == kind
    assert sentence in notice.sentence
    assert notice.data["recording_name"] == "two banks"


@pytest.mark.parametrize("state", ["cancelled", "queued"])
def test_a_cancelled_job_and_one_that_is_put_back_are_none(ada, webhook, state):
    a_job(ada).write(state=state)
    assert not Notice.objects.exists()


def test_a_job_that_was_not_ended_notifies_nobody(ada, webhook):
    lease = a_job(ada)
    lease.job.attempt += 1
    with pytest.raises(leases.LeaseLost):
        lease.write(state="done")
    assert not Notice.objects.exists()


def test_a_verdict_that_is_not_consistent_is_an_event_once_for_each_recording(ada, webhook):
    lease = ended(ada, {"consistent": 3, "orphan": 1, "lost": 1, "unknown": 2})
    notice = Notice.objects.get(kind=kinds.NOT_CONSISTENT)
    assert notice.sentence == (
        "2 of 7 snapshots of “two banks” are not consistent: 1 orphan, 1 lost."
    )
    again = Job.objects.create(kind="ingest", owner=ada, recording=lease.job.recording)
    leases.claim(again.pk).write(state="done", result={"verdicts": {"orphan": 1}})
    assert Delivery.objects.filter(notice__kind=kinds.NOT_CONSISTENT).count() == 1


@pytest.mark.parametrize("verdicts", [{}, {"consistent": 4}, {"unknown": 2, "incomplete": 1}])
def test_what_is_not_known_is_not_called_inconsistent(ada, webhook, verdicts):
    ended(ada, verdicts)
    assert not Notice.objects.filter(kind=kinds.NOT_CONSISTENT).exists()


def test_a_follow_up_that_is_due_is_an_event_for_each_day(ada, webhook):
    for due in ("2026-11-23", "2026-11-23", "2026-11-24"):
        events.follow_up_due(ada, key=f"f1 {due}", title="add a disk", due=due, path="/r/1")
    assert [row.sentence for row in Notice.objects.order_by("pk")] == [
        "The follow-up “add a disk” is due on 2026-11-23.",
        "The follow-up “add a disk” is due on 2026-11-24.",
    ]
    assert Delivery.objects.filter(webhook=webhook).count() == 2


def test_mentioning_oneself_is_no_event(ada, webhook):
    events.mentioned(ada, ada, key="e1", where="recording 7", path="/r/7")
    assert not Notice.objects.exists()
