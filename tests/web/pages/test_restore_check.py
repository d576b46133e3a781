"""The pages and the calls that answer whether everything is there that a restore reads."""

import io
import zipfile

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile

from snapshots.files import recordings
from snapshots.jobs import running
from snapshots.models import Recording
from tests.web.given import a_client, a_person, text_of

pytestmark = [
    pytest.mark.django_db(transaction=True),
    pytest.mark.usefixtures("data_dir"),
    pytest.mark.spark,
]


def uploaded(api, files: dict[str, bytes]) -> Recording:
    """Upload files as one package, and read it."""
    package = io.BytesIO()
    with zipfile.ZipFile(package, "w") as packed:
        for name, content in files.items():
            packed.writestr(name, content)
    file = SimpleUploadedFile("upload.zip", package.getvalue())
    answer = api.post("/api/recordings", {"file": file})
    running.run(answer.json()["job"])
    return Recording.objects.get(pk=answer.json()["id"], status="ready")


def contents(root) -> dict[str, bytes]:
    files = (path for path in root.rglob("*") if path.is_file())
    return {path.relative_to(root).as_posix(): path.read_bytes() for path in files}


@pytest.fixture
def flink(shared_data) -> dict[str, bytes]:
    """A job's folder without one shared file, and with the last byte of one _metadata cut."""
    files = contents(shared_data / "flink" / "rocksdb-incremental" / "files")
    del files[min(path for path in files if "/shared/" in path)]
    cut = next(path for path in files if path.endswith("chk-1/_metadata"))
    files[cut] = files[cut][:-1]
    files[f"{cut.split('/')[0]}/shared/left-over"] = b"123"
    return files


def test_an_upload_of_flink_is_checked(flink, api, client):
    recording = uploaded(api, flink)
    call = f"/api/recordings/{recording.pk}/contents"
    body = api.get(f"{call}/check").json()
    assert body["answer"] == "not-restorable"
    by_path = {one["path"].rpartition("/")[2]: one for one in body["checks"]}
    assert by_path["chk-1"]["answer"] == "not-restorable"
    assert by_path["chk-1"]["witnesses"][0].count("_metadata") > 0
    lacking = [one for one in body["checks"] if one["answer"] != "restorable"]
    assert len(lacking) < len(body["checks"])
    assert body["absent_total"] == 1
    [absent] = body["absent"]
    assert absent["bytes"] > 0
    assert (body["unneeded_total"], body["unneeded_bytes"]) == (1, 3)

    number = next(one["number"] for one in lacking if one["id"] in absent["checkpoints"])
    detail = api.get(f"{call}/{number}/check").json()
    problems = [file["problem"] is not None for file in detail["files"]]
    assert problems == sorted(problems, reverse=True)  # those with a problem come first
    assert absent["path"] in [one["path"] for one in detail["files"] if one["uploaded"] is None]
    assert detail["files_total"] == len(detail["files"])
    assert api.get(f"{call}/999/check").status_code == 404
    assert a_client(a_person("eve@example.org")).get(f"{call}/check").status_code == 404

    shown = text_of(client.get(f"/recordings/{recording.pk}/contents/check"))
    assert absent["path"] in shown
    assert "left-over" in shown
    one = text_of(client.get(f"/recordings/{recording.pk}/contents/{number}/check"))
    assert detail["headline"].split(": ")[0] in one
    assert absent["path"] in one
    listed = text_of(client.get(f"/recordings/{recording.pk}/contents"))
    assert f"/recordings/{recording.pk}/contents/{number}/check" in listed
    link = f"/recordings/{recording.pk}/contents/{number}/check"
    assert link in text_of(client.get(f"/recordings/{recording.pk}/contents/{number}"))


def test_a_query_of_spark_is_checked_by_the_page_as_by_the_files(shared_data, api, client):
    with zipfile.ZipFile(shared_data / "spark-streaming" / "damaged-missing-delta.zip") as case:
        files = {name: case.read(name) for name in case.namelist() if "/checkpoint/" in name}
    recording = uploaded(api, {name: data for name, data in files.items() if data})
    body = api.get(f"/api/recordings/{recording.pk}/contents/check").json()
    assert body["answer"] == "restorable"
    assert [one["answer"] for one in body["checks"]].count("not-restorable") == 9
    assert [one["id"] for one in body["checks"] if one["decides"]] == [11]
    page = text_of(client.get(f"/recordings/{recording.pk}/contents/5/check"))
    assert "A query starts again after the newest batch" in page
    assert "state/0/0/3.delta" in page
    assert "does not decide" in text_of(client.get(f"/recordings/{recording.pk}/contents/check"))


def test_an_upload_that_an_older_release_read_is_to_be_read_again(flink, api, client):
    recording = uploaded(api, flink)
    (recordings.store().folder(recording.store) / "contents" / "check.json").unlink()
    answer = api.get(f"/api/recordings/{recording.pk}/contents/check")
    assert answer.status_code == 409
    problem = answer.json()
    assert problem["title"] == "Stored by another version"
    assert "did not check whether everything is there" in problem["detail"]
    assert "must be read again from its upload" in problem["detail"]
    assert client.get(f"/recordings/{recording.pk}/contents/0/check").status_code == 409
    assert client.get(f"/recordings/{recording.pk}/contents").status_code == 200
