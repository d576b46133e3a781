"""The comparison in the archive leads down to values where an upload holds both checkpoints."""

import re

import pytest

from snapshots.archive import columns
from snapshots.archive.uploads import reported_by, take_upload
from snapshots.files import recordings
from snapshots.models import EngineJob
from snapshots.readers.engines.flink.adapter.reader import FlinkReader
from snapshots.store.inventory.writing import write_inventory
from tests.web.given import a_person, a_ready_recording, signed_in, text_of
from tests.web.pages.test_snapshot import words

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("data_dir")]


@pytest.fixture
def job(shared_data) -> EngineJob:
    columns.forget_all()
    recording = a_ready_recording(a_person(), format="flink")
    upload = FlinkReader().read(shared_data / "flink" / "rocksdb-incremental")
    folder = recordings.store().folder(recording.store)
    write_inventory(folder, upload)
    take_upload(recording, folder, reported_by(upload))
    return EngineJob.objects.get()


def test_two_checkpoints_of_one_upload_lead_to_their_values(job):
    client = signed_in(job.owner)
    page = text_of(client.get(f"/archive/{job.pk}/compare?slow=2&healthy=4"))
    [address] = re.findall(r'href="([^"]*/difference\?since=\d+)"', page)
    shown = words(text_of(client.get(address)))
    assert "checkpoint 4 since checkpoint 2" in shown
    assert "12 changed" in shown


def test_without_the_files_of_both_it_says_why_there_are_no_values(job):
    client = signed_in(job.owner)
    address = f"/archive/{job.pk}/compare?slow=2&healthy=4"
    job.checkpoints.filter(number=4).update(recording=None, contents=None)
    shown = words(text_of(client.get(address)))
    assert "No upload holds the files of 4, so values are not known." in shown
    other = a_ready_recording(job.owner)
    job.checkpoints.filter(number=4).update(recording=other, contents=0)
    assert "in different uploads" in words(text_of(client.get(address)))
