"""The progress of a job: a number of events where they are counted, an estimate where it is
reliable."""

from datetime import timedelta

import pytest
from django.utils import timezone

from snapshots.jobs import leases
from snapshots.jobs.steps import Progress
from snapshots.models import Job, Recording
from snapshots.payloads.jobs import job_detail
from snapshots.services.jobs import create_job
from tests.web.given import a_person

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("data_dir")]


def progress_of(format: str, *report, seconds: float = 10) -> dict:
    """Return the progress of a job that reports after having run for so long."""
    ada = a_person()
    recording = Recording.objects.create(owner=ada, name="log", upload="file", format=format)
    job = create_job(Job.Kind.INGEST, ada, recording=recording)
    Progress(leases.claim(job.pk))(*report)
    Job.objects.update(started_at=timezone.now() - timedelta(seconds=seconds))
    return job_detail(Job.objects.get(pk=job.pk))


def test_bytes_are_not_counted_as_events():
    progress = progress_of("native", "reading", 500_000, 1_000_000)
    assert (progress["done"], progress["total"], progress["rate"]) == (0, None, None)
    assert progress["progress"] == pytest.approx(0.275)
    assert progress["remaining"] == pytest.approx(10 / 0.275 - 10, abs=0.5)


def test_events_are_counted_where_they_are_counted():
    progress = progress_of("native", "matching", 300, 600)
    assert (progress["done"], progress["total"]) == (300, 600)
    assert progress["remaining"] is not None


@pytest.mark.parametrize("report", [("reading", 0, 1_103_078), ("ordering", 0, 100)])
def test_a_phase_that_has_counted_nothing_yet_has_no_estimate(report):
    assert progress_of("native", *report)["remaining"] is None


@pytest.mark.parametrize("format", ["archive", "flink", "spark-streaming", "seatunnel"])
@pytest.mark.parametrize("report", [("reading", 500_000, 1_000_000), ("judging", 5, 10)])
def test_an_upload_of_an_engine_has_no_estimate(format, report):
    assert progress_of(format, *report)["remaining"] is None
