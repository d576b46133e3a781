"""Wrong entries that earlier versions wrote into the archive are corrected in place."""

from importlib import import_module

import pytest
from django.apps import apps

from snapshots.archive import filling
from snapshots.domain.archive.model import CheckpointFacts, JobFacts, SubtaskFacts, VertexFacts
from tests.web.given import a_person, a_ready_recording

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("data_dir")]

OURS = "It failed, so that there are no files of it: "
LATE = SubtaskFacts(0, True, duration=213)
GONE = SubtaskFacts(1, acknowledged=False)


def a_reported_job() -> JobFacts:
    vertices = (VertexFacts("a", "sink", 2, (LATE, GONE)),)
    checkpoints = (
        CheckpointFacts(1, status="completed", duration=9),
        CheckpointFacts(
            2, status="failed", duration=211, failure=f"{OURS}Disk full.", vertices=vertices
        ),
        CheckpointFacts(3, status="failed", failure=f"{OURS}The REST API does not say why."),
        CheckpointFacts(4, status="in progress", duration=213, vertices=vertices),
    )
    return JobFacts("flink", "k", checkpoints=checkpoints, contents={(0, 1): 0})


def test_old_rows_are_mended_where_they_lie():
    ada = a_person()
    recording = a_ready_recording(ada)
    job = filling.take(ada, a_reported_job(), recording=recording)
    job.uploads.clear()
    job.checkpoints.filter(number__in=(2, 4)).update(slowest="sink[0]")
    import_module("snapshots.migrations.0007_archive_uploads").mend(apps, None)
    rows = job.checkpoints.order_by("number").values_list("failure", "cause", "phase", "slowest")
    assert list(rows) == [
        ("", "", "", ""),
        ("Disk full.", "Disk full.", "not known", "sink[1] and sink[0]"),
        ("", "not known", "not known", ""),
        ("", "", "", ""),
    ]
    assert list(job.uploads.all()) == [recording]
    before = job.version
    job.refresh_from_db()
    assert job.version == before + 1
    assert list(job.checkpoints.order_by("number").values_list("version", flat=True)) == [
        before,
        *[before + 1] * 3,
    ]


def test_old_rows_of_failures_name_all_that_were_not_in_time():
    job = filling.take(a_person(), a_reported_job())
    job.checkpoints.filter(number=2).update(slowest="sink[1]")
    import_module("snapshots.migrations.0014_who_was_not_in_time").name_all(apps, None)
    rows = job.checkpoints.order_by("number").values_list("slowest", "version")
    before = job.version
    job.refresh_from_db()
    assert job.version == before + 1
    assert list(rows) == [
        ("", before),
        ("sink[1] and sink[0]", before + 1),
        ("", before),
        ("", before),
    ]
