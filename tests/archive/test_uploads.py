"""Uploads of real engines' files fill the archive as they are ingested."""

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile

from snapshots.archive import columns
from snapshots.domain.simulators.samples import two_banks
from snapshots.jobs import running
from snapshots.models import EngineCheckpoint, EngineJob
from tests.web.api.uploading import as_it_is, upload, zipped
from tests.web.given import a_client, a_person, native, signed_in, text_of
from tests.web.pages.test_snapshot import words

pytestmark = [
    pytest.mark.django_db(transaction=True),
    pytest.mark.usefixtures("data_dir"),
    pytest.mark.spark,
]


@pytest.fixture
def api():
    columns.forget_all()
    return a_client(a_person())


def test_a_job_grows_with_its_uploads(api, shared_data):
    folder = shared_data / "flink" / "failures"
    files = upload(api, zipped(folder, "files")).id
    job = EngineJob.objects.get()
    held = EngineCheckpoint.objects.filter(recording=files)
    assert (job.engine, held.count(), job.checkpoints.count()) == ("flink", 7, 7)
    assert set(held.values_list("status", "duration")) == {("completed", None)}

    both = upload(api, zipped(folder, "files", "rest")).id
    job.refresh_from_db()
    assert EngineJob.objects.count() == 1
    assert (job.name, job.checkpoints.count()) == ("failures", 15)
    assert EngineCheckpoint.objects.filter(recording=both).count() == 15
    failed = job.checkpoints.filter(status="failed").values_list("cause", "failure").distinct()
    assert set(failed) == {
        (each, each)
        for each in (
            "Asynchronous task checkpoint failed.",
            "Checkpoint expired before completing.",
        )
    }
    page = words(text_of(signed_in(job.owner).get(f"/recordings/{both}/contents")))
    assert "together with 1 other upload that has the same id" in page
    one = api.get(f"/api/archive/{job.pk}/checkpoints/0/4").json()
    assert (one["duration"], one["recording"], len(one["tasks"])) == (694, both, 10)
    contents = api.get(f"/api/recordings/{both}/contents").json()["checkpoints"]
    assert contents[one["contents"]]["id"] == 4

    version = job.version
    running.run(api.post(f"/api/recordings/{both}/ingest").json()["job"])
    job.refresh_from_db()
    assert EngineCheckpoint.objects.filter(recording=both).count() == 15
    assert job.checkpoints.count() == 15
    assert job.version == version + 1, "the links were put back"


def test_pipelines_of_one_job_number_their_own_checkpoints(api, shared_data):
    path = shared_data / "seatunnel" / "synthetic-two-pipelines-idle-reader.zip"
    recording = upload(api, as_it_is(path)).id
    job = EngineJob.objects.get()
    assert job.engine == "seatunnel"
    rows = job.checkpoints.values_list("pipeline", "number", "status", "duration")
    assert set(rows) == {
        (1, 2, "completed", 204),
        (1, 3, "completed", 38),
        (1, 4, "completed", 89),
        (2, 1, "completed", 317),
        (2, 2, "completed", 306),
    }
    one = api.get(f"/api/archive/{job.pk}/checkpoints/2/1").json()
    assert one["recording"] == recording
    assert one["tasks"]


def test_batches_of_a_query_are_its_checkpoints(api, shared_data):
    folder = shared_data / "spark-streaming"
    upload(api, as_it_is(min(folder.rglob("*.zip"))))
    job = EngineJob.objects.get(engine="spark")
    assert job.checkpoints.filter(status="completed").exists()
    assert api.get(f"/api/archive/{job.pk}/overview").json()["total"] == job.checkpoints.count()


def test_an_ordinary_log_leaves_the_archive_alone(api):
    upload(api, SimpleUploadedFile("log.jsonl", native(two_banks())))
    assert not EngineJob.objects.exists()
