"""The API's answers about checkpoints and failures of a dataflow."""

import pytest

from snapshots.domain.simulators.flink.samples import counted_twice
from snapshots.jobs import running
from snapshots.payloads import checkpoints
from tests.web.api.test_api import fits, problem_of
from tests.web.given import a_client, a_file, a_person, a_ready_recording, native

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("data_dir")]


@pytest.fixture
def address(ada):
    return f"/api/recordings/{a_ready_recording(ada, counted_twice()).pk}"


def test_checkpoints_are_listed_without_their_tasks(api, address):
    found = fits(checkpoints.CheckpointList, api.get(f"{address}/checkpoints"))
    assert found["total"] == len(found["items"])
    assert [item["checkpoint"] for item in found["items"]] == ["1", "2", "3", "4", "5"]
    assert [item["status"] for item in found["items"]].count("completed") == 4
    assert all("tasks" not in item for item in found["items"])


def test_a_checkpoint_has_the_phases_of_every_task(api, address):
    found = fits(checkpoints.CheckpointDetail, api.get(f"{address}/checkpoints/1"))
    assert {task["process"] for task in found["tasks"]} >= {"source[0]", "count[1]", "sink[0]"}
    assert found["tasks"][0]["process"] == "count[1]"
    assert found["critical_path"][0]["from"] == found["triggered_at"]
    assert "count[1] waited for the barrier on source[1]->count[1]" in found["sentence"]


def test_a_checkpoint_that_is_not_there(api, address):
    problem = problem_of(api.get(f"{address}/checkpoints/17"), 404, "not-found")
    assert "There is no checkpoint “17”" in problem["detail"]


def test_failures_say_what_they_repeated_and_lost(api, address):
    found = fits(checkpoints.FailoverList, api.get(f"{address}/failovers"))
    (failure,) = found["items"]
    assert failure["process"] == "count[0]"
    assert failure["restored"] == "1"
    assert failure["guarantee"] == "at-least-once"
    assert failure["records_re_read"] == sum(item["records"] for item in failure["re_read"])
    (sink,) = found["sinks"]
    assert sink["duplicates"] == failure["sinks"][0]["duplicates"] > 0
    assert sink["lost"] == 0


def test_files_and_requests_come_in_pages(api, address):
    files = fits(checkpoints.CheckpointFiles, api.get(f"{address}/checkpoint-files?limit=2"))
    assert len(files["items"]) == 2 < files["total"]
    requests = fits(checkpoints.CheckpointRequests, api.get(f"{address}/checkpoint-requests"))
    assert any(item["dropped"] for item in requests["items"])


def test_a_recording_that_is_no_dataflow_has_none(api, ada):
    address = f"/api/recordings/{a_ready_recording(ada).pk}"
    assert api.get(f"{address}/checkpoints").json() == {
        "items": [],
        "total": 0,
        "untimed": [],
    }
    assert api.get(f"{address}/failovers").json()["items"] == []


def test_someone_elses_checkpoints_are_not_there(address):
    other = a_client(a_person("eve@example.org"))
    for end in ("checkpoints", "checkpoints/1", "failovers", "checkpoint-files"):
        problem_of(other.get(f"{address}/{end}"), 404, "not-found")


@pytest.mark.django_db(transaction=True)
def test_an_uploaded_log_is_reported_at_ingest(api, address, spark):
    answer = api.post("/api/recordings", {"file": a_file(native(counted_twice()))}).json()
    running.run(answer["job"])
    uploaded = f"/api/recordings/{answer['id']}"
    for end in ("checkpoints", "checkpoints/3", "failovers", "checkpoint-files"):
        found = api.get(f"{uploaded}/{end}")
        assert found.status_code == 200, found.content
        assert found.json() == api.get(f"{address}/{end}").json()
