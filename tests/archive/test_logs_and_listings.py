"""What logs and listings tell of checkpoints goes into the archive, as far as it names the job."""

import pytest

from snapshots.models import EngineJob
from snapshots.readers.engines import registry
from tests.answers.test_engine_logs import INIT, JOB, done, engine, planned, spark, written
from tests.answers.test_listings import hdfs
from tests.web.given import a_person
from tests.web.stored_uploads import stored_upload

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("data_dir")]
EXPIRED = f"timeout checkpoint: {JOB}/1/2, CHECKPOINT_TYPE"


def archived(folder, format: str, content: bytes) -> list[EngineJob]:
    """Return the jobs in the archive after the upload of a file."""
    folder.mkdir()
    (folder / "a.txt").write_bytes(content)
    stored_upload(a_person(), registry.READERS[format], folder)
    return list(EngineJob.objects.all())


def test_a_checkpoint_that_a_log_calls_failed_has_the_logs_reason_in_the_archive(tmp_path):
    log = engine(INIT, done(1), "wait checkpoint completed: 2", EXPIRED)
    (job,) = archived(tmp_path / "a", "seatunnel", log)
    assert (job.key, job.name) == (f"log of {JOB}", "orders")
    failed = job.checkpoints.get(status="failed")
    assert (failed.pipeline, failed.number) == (1, 2)
    assert failed.failure == failed.cause == "Checkpoint expired before completing."


@pytest.mark.parametrize(
    ("format", "content"),
    [
        ("spark-streaming", spark(written("offsets", 7), planned(7), written("commits", 7))),
        ("spark-streaming", spark(planned(7))),
        ("spark-streaming", hdfs({"q/metadata": 45, "q/offsets/0": 9, "q/commits/0": 9})),
        ("seatunnel", engine("wait checkpoint completed: 5", "wait checkpoint completed: 6")),
    ],
)
def test_checkpoints_of_a_job_without_an_id_are_not_archived(format, content, tmp_path):
    assert archived(tmp_path / "a", format, content) == []


def test_a_listing_of_files_that_name_their_job_is_archived(tmp_path):
    (job,) = archived(tmp_path / "a", "seatunnel", hdfs({f"{JOB}/1714521600000-7-1-4.ser": 900}))
    assert (job.key, job.checkpoints.get().ended_at) == (f"listed: {JOB}", 1714521600000)
