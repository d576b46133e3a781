"""SeaTunnel's files through the API: uploaded, ingested by Spark, and asked for what is in them."""

import json
import zipfile

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile

from snapshots import runs, stores
from snapshots.models import Recording
from tests.web.given import a_client, a_person

pytestmark = [
    pytest.mark.django_db,
    pytest.mark.usefixtures("data_dir"),
    pytest.mark.spark,
]
CASE = "synthetic-two-pipelines-idle-reader"


@pytest.fixture
def api():
    return a_client(a_person())


def test_an_archive_of_two_pipelines_through_the_api(api, shared_data):
    archive = shared_data / "seatunnel" / f"{CASE}.zip"
    with zipfile.ZipFile(archive) as opened:
        [name] = [name for name in opened.namelist() if name.endswith("expected.json")]
        expected = {item["path"]: item for item in json.loads(opened.read(name))["files"]}
    answer = api.post(
        "/api/recordings", {"file": SimpleUploadedFile(archive.name, archive.read_bytes())}
    )
    assert answer.status_code == 202, answer.content
    runs.run(answer.json()["job"])
    recording = Recording.objects.get()
    assert (recording.status, recording.format, recording.error) == ("ready", "seatunnel", None)
    assert recording.defects_total == 0
    assert (recording.process_count, recording.event_count) == (17, 96)
    assert not list(stores.store().root.glob("*.tmp*"))

    address = f"/api/recordings/{recording.pk}"
    contents = api.get(f"{address}/contents").json()
    assert contents["engine"] == "seatunnel"
    assert len(contents["checkpoints"]) == len(expected) == 5
    for number, listed in enumerate(contents["checkpoints"]):
        known = expected[listed["path"].removeprefix(f"{CASE}/")]["decoded"]
        assert listed["id"] == known["checkpoint_id"]
        found = api.get(f"{address}/contents/{number}").json()
        assert len(found["operators"]) == len(known["actions"])
        for operator, action in zip(found["operators"], known["actions"], strict=True):
            elements = elements_of(action)
            assert sum(state["entries"] for state in operator["states"]) == len(elements)
            for state in operator["states"]:
                query = {"operator": operator["id"], "state": state["name"]}
                page = api.get(f"{address}/contents/{number}/entries", query).json()
                for entry in page["items"]:
                    assert entry["bytes"] == elements[entry["subtask"], entry["key"]]["bytes"]

    snapshots = api.get(f"{address}/snapshots").json()["items"]
    assert {item["verdict"] for item in snapshots} == {"unknown"}
    named = {item["snapshot"] for item in contents["checkpoints"]}
    assert named == {item["snapshot"] for item in snapshots}
    checkpoints = api.get(f"{address}/checkpoints").json()["items"]
    assert {(item["checkpoint"], item["duration"]) for item in checkpoints} == {
        ("2 (pipeline 1)", 204_000),
        ("3 (pipeline 1)", 38_000),
        ("4 (pipeline 1)", 89_000),
        ("1 (pipeline 2)", 317_000),
        ("2 (pipeline 2)", 306_000),
    }
    for page in ("contents", "contents/0", "checkpoints"):
        assert api.get(f"/recordings/{recording.pk}/{page}").status_code in (200, 302)


def elements_of(action):
    """By subtask and place."""
    states = [state for state in (*action["subtasks"], action["coordinator"]) if state]
    return {
        (state["index"], place): element
        for state in states
        for place, element in enumerate(state["state"])
    }
