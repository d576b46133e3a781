"""The page of the plan of a SeaTunnel job."""

import json
import re

import pytest

from snapshots.domain.simulators.dataflow_samples import SAMPLES_OF_DATAFLOWS
from snapshots.domain.simulators.samples import two_banks
from tests.web.given import a_ready_recording, text_of
from tests.web.pages.test_snapshot import words

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("data_dir")]
SAMPLE = next(each for each in SAMPLES_OF_DATAFLOWS if each.slug == "splits-change-hands")


@pytest.fixture
def job(ada):
    return a_ready_recording(ada, SAMPLE.log())


def test_the_page_has_starting_points_vertices_state_and_the_steps_of_the_last_start(client, job):
    raw = text_of(client.get(f"/recordings/{job.pk}/plan"))
    page = words(raw)
    assert "Starting points: orders.enumerator" in page
    assert "Start 2 of pipeline 1 from checkpoint 3" in page
    assert "files[0] and files[1]" in page
    assert "not known. A log has no event for it." in page
    assert "the last was files.committer" in page
    figure = json.loads(re.search(r'id="plan-1"[^>]*>(.*?)</script>', raw, re.S)[1])
    names = [trace["name"] for trace in figure["data"]]
    assert "RUNNING" in names
    assert "ready to close" not in names
    waits = next(trace for trace in figure["data"] if trace["name"] == "waits")
    assert waits["x"][0] == 35.0


def test_another_start_is_chosen_and_a_number_that_is_none_is_refused(client, job):
    page = words(text_of(client.get(f"/recordings/{job.pk}/plan?start=1")))
    assert "Start 1 of pipeline 1 from checkpoint 2" in page
    assert client.get(f"/recordings/{job.pk}/plan?start=x").status_code == 422


def test_both_tables_are_files(client, job):
    address = f"/recordings/{job.pk}/plan?format=json&table="
    vertices = client.get(f"{address}vertices")
    assert b"orders.enumerator" in b"".join(vertices.streaming_content)
    steps = client.get(f"{address}start")
    assert b"WAITING_RESTORE" in b"".join(steps.streaming_content)


def test_the_workbench_and_the_answer_lead_to_the_plan(client, job):
    address = f"/recordings/{job.pk}/plan"
    for page in (f"/recordings/{job.pk}", f"/recordings/{job.pk}/answer"):
        assert address in text_of(client.get(page))


def test_a_recording_of_another_engine_has_no_plan_and_says_why(client, ada):
    row = a_ready_recording(ada, two_banks())
    assert "Only a recording of SeaTunnel" in text_of(client.get(f"/recordings/{row.pk}/plan"))
    assert "/plan" not in text_of(client.get(f"/recordings/{row.pk}"))
