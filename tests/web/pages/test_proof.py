"""The page of Theorem 1: before the job, after it, and for a snapshot that cannot be reordered."""

import pytest
from django.utils import timezone

from snapshots.domain.assembling.assembly import assemble
from snapshots.domain.judging.verdicts import judge
from snapshots.domain.model.as_json import as_json
from snapshots.domain.replaying.reordering import reorder
from snapshots.domain.simulators.samples import a_state_that_never_occurred, two_banks
from snapshots.domain.simulators.script import Log
from snapshots.models import Job, Recording
from snapshots.web.pages import proof
from tests.builders import simulated
from tests.damage import record_late
from tests.web.given import a_person, a_ready_recording, signed_in, text_of
from tests.web.pages.test_snapshot import words

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("data_dir")]


def reordered(owner, log: Log) -> Recording:
    """Return a ready recording whose first snapshot has been reordered."""
    row = a_ready_recording(owner, log)
    recording = assemble(log.header, log.events).recording
    report = judge(recording)[0]
    Job.objects.create(
        kind=Job.Kind.REORDERING,
        owner=owner,
        recording=row,
        snapshot=report.snapshot,
        state=Job.State.DONE,
        finished_at=timezone.now(),
        result=as_json(reorder(recording, report).report()),
    )
    return row


def page_of(client, row: Recording) -> str:
    return words(text_of(client.get(f"/recordings/{row.pk}/proof?snapshot=s1")))


def test_the_papers_example_stands_in_both_orders(client, ada):
    page = page_of(client, reordered(ada, a_state_that_never_occurred()))
    assert "e0 p sends M on c postrecording 1 2" in page
    assert "e1 q sends M' on c' prerecording 2 1" in page
    assert "e2 p receives M' from c' postrecording 3 3" in page
    assert "the system never stood in it" in page
    assert "q C D D" in page, "at the start, recorded, at the end"
    assert "c' empty M' empty" in page
    assert "holds Swapping neighbours" in page
    assert "does not hold" not in page


def test_an_orphan_is_reported_as_what_prevents_the_order(client, ada):
    row = reordered(ada, record_late(simulated()).log)
    page = page_of(client, row)
    assert "No order of these events passes through what was recorded" in page
    assert "a message cannot be received before it is sent" in page


def test_before_it_is_asked_for_the_page_offers_it_and_asking_begins_a_job(client, ada):
    row = a_ready_recording(ada, two_banks())
    assert "Reorder the run" in page_of(client, row)
    answer = client.post(f"/recordings/{row.pk}/proof?snapshot=s1")
    assert answer.url == f"/recordings/{row.pk}/proof?snapshot=s1"
    job = Job.objects.get()
    assert (job.kind, job.snapshot, job.state) == ("reordering", "s1", "queued")
    assert f'data-job="{job.pk}"' in text_of(client.get(answer.url))


def test_rows_beyond_the_most_are_counted(client, ada, monkeypatch):
    monkeypatch.setattr(proof, "MOST_EVENTS", 1)
    monkeypatch.setattr(proof, "MOST_STATES", 1)
    page = page_of(client, reordered(ada, a_state_that_never_occurred()))
    assert "2 more events" in page
    assert "3 more lines" in page


def test_only_who_may_see_the_recording_may_see_its_proof(ada):
    row = reordered(ada, two_banks())
    stranger = signed_in(a_person("eve@example.org"))
    assert stranger.get(f"/recordings/{row.pk}/proof?snapshot=s1").status_code == 404
    assert signed_in(ada).get(f"/recordings/{row.pk}/proof?snapshot=x").status_code == 404
