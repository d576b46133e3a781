"""Logs that manage.py ingest reads from where they lie: folders of parts, and without limits."""

from pathlib import Path

import pytest
from django.core.management import CommandError, call_command

from snapshots.domain.simulators.samples import two_banks
from snapshots.models import Job, Recording
from snapshots.services.recordings import delete_recording
from tests.web.given import native, uploads_of

# The heartbeat of a job sees only what is committed.
pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("data_dir")]

LINES = native(two_banks()).splitlines(keepends=True)


@pytest.fixture
def folder(tmp_path) -> Path:
    """Return a folder with the two banks in two parts."""
    folder = tmp_path / "banks"
    folder.mkdir()
    (folder / "part-0.jsonl").write_bytes(b"".join(LINES[:5]))
    (folder / "part-1.jsonl").write_bytes(b"".join(LINES[5:]))
    return folder


def ingest(path: Path, **options) -> Recording:
    call_command("ingest", path, inline=True, **options)
    return Recording.objects.get()


def test_a_folder_of_parts_is_one_recording_and_stays_where_it_is(spark, folder, data_dir):
    recording = ingest(folder)
    assert (recording.status, recording.format) == ("ready", "native")
    assert recording.event_count == len(LINES) - 1
    assert recording.size == sum(path.stat().st_size for path in folder.iterdir())
    assert uploads_of(data_dir) == []
    delete_recording(recording)
    assert len(list(folder.iterdir())) == 2


def test_the_header_is_given_beside_the_parts(spark, folder, tmp_path):
    header = tmp_path / "header.json"
    header.write_bytes(LINES[0])
    (folder / "part-0.jsonl").write_bytes(b"".join(LINES[1:5]))
    with pytest.raises(CommandError, match="first line"):
        ingest(folder)
    assert not Recording.objects.exists()
    assert ingest(folder, header=header).event_count == len(LINES) - 1


def test_without_limits_a_log_may_be_larger_than_an_upload(spark, folder, tmp_path, settings):
    single = tmp_path / "single.jsonl"
    single.write_bytes(b"".join(LINES))
    settings.MAX_RECORDING_BYTES = settings.MAX_UPLOAD_BYTES = len(b"".join(LINES)) - 1
    with pytest.raises(CommandError, match="larger than"):
        ingest(single)
    with pytest.raises(CommandError, match="did not succeed"):
        ingest(folder)
    Recording.objects.all().delete()
    assert ingest(single, no_limits=True).status == "ready"
    Recording.objects.all().delete()
    assert ingest(folder, no_limits=True).status == "ready"


def test_nobody_in_a_browser_has_it_read_again(spark, folder, ada, api):
    recording = ingest(folder, owner=ada.username)
    answer = api.post(f"/api/recordings/{recording.pk}/ingest")
    assert answer.status_code == 409
    assert "manage.py ingest" in answer.json()["detail"]
    assert Job.objects.count() == 1


def test_an_upload_names_no_place_of_the_server(api, folder):
    form = {"file": (folder / "part-0.jsonl").open("rb"), "place": f'{{"path": "{folder}"}}'}
    answer = api.post("/api/recordings", form)
    assert answer.status_code == 202, answer.content
    assert Recording.objects.get().place is None
