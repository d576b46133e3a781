"""The page and the call that answer first what an upload tells."""

import json
import re

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile

from snapshots.domain.simulators.samples import a_lost_token, two_banks
from tests.damage import lose_recorded_message
from tests.stack import ROOT
from tests.web.api.evidence import require_evidence
from tests.web.api.uploading import Uploaded, upload, zipped
from tests.web.given import a_client, a_person, a_ready_recording, signed_in, text_of

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("data_dir")]


def test_a_log_says_its_worst_verdict_first(ada, api, client):
    damaged = lose_recorded_message(two_banks())
    recording = a_ready_recording(ada, damaged.log)
    answer = api.get(f"/api/recordings/{recording.pk}/answer").json()
    assert answer["engine"] is None
    (subject,) = answer["subjects"]
    first = subject["sentences"][0]
    assert (first["code"], first["level"]) == ("verdict", "wrong")
    assert "Lost: " in first["text"]
    page = text_of(client.get(f"/recordings/{recording.pk}/answer"))
    assert page.index("Lost: ") < page.index("this does not hold. Channels: ")
    for one in first["evidence"]:
        assert text_of(client.get(one["address"]))
    assert f"/recordings/{recording.pk}/answer" in text_of(
        client.get(f"/recordings/{recording.pk}")
    )


def test_a_consistent_log_is_well(ada, api):
    recording = a_ready_recording(ada)
    (subject,) = api.get(f"/api/recordings/{recording.pk}/answer").json()["subjects"]
    assert subject["sentences"][0]["level"] == "well"


def test_only_who_may_see_a_recording_gets_its_answer(ada):
    recording = a_ready_recording(ada)
    eve = a_person("eve@example.org")
    assert a_client(eve).get(f"/api/recordings/{recording.pk}/answer").status_code == 404
    assert signed_in(eve).get(f"/recordings/{recording.pk}/answer").status_code == 404


@pytest.fixture
def failures(api, shared_data) -> Uploaded:
    return upload(api, zipped(shared_data / "flink/failures", "files", "rest"))


@pytest.mark.spark
def test_one_lands_on_the_answer_and_every_page_blames_the_same_subtask(failures, ada, client):
    pk = failures.id
    assert client.get(f"/recordings/{pk}").url == f"/recordings/{pk}/answer"
    require_evidence(failures, ada)
    page = text_of(client.get(f"/recordings/{pk}/answer"))
    assert "Not acknowledged: slow-sink[0] in 7; apply-rules[0] in 1." in page
    assert "Restore plan" in page
    assert "Load of the subtasks" in page

    archived = re.search(r'href="(/archive/\d+)"', page)
    assert archived is not None
    for number, blamed in _blamed(failures).items():
        times = text_of(client.get(f"/recordings/{pk}/checkpoints?checkpoint={number}"))
        kept = text_of(client.get(f"{archived[1]}/checkpoints/0/{number}"))
        word = "Not acknowledged in time" if blamed[1] else "Last to acknowledge"
        assert f"<dt>{word}</dt> <dd>{blamed[0]}" in times, number
        assert f"<dt>{word}</dt> <dd>{blamed[0]}" in kept, number
    walk = " ".join((ROOT / "docs/reviews.md").read_text().split())
    places = {n: failures.get("/place", place=f"checkpoint:{n}:0") for n in (8, 10, 11)}
    assert places[11]["at"] == 12_626, "when it was given up, not when a task last recorded"
    assert all(f"*{place['sentence']}*" in walk for place in places.values())


def _blamed(failures: Uploaded) -> dict[int, tuple[str, bool]]:
    """Return whom Flink's own answers name: read by a person from the case."""
    assert len(failures.get("/checkpoints")["items"]) == 15
    return {
        2: ("slow-sink[0]", True),
        3: ("slow-sink[0]", True),
        5: (
            "apply-rules[0], apply-rules[1], Source: rates-numbers -&gt; to-rate[0] and 2 more",
            False,
        ),
        8: ("slow-sink[0]", False),
        14: (
            "slow-sink[0] and apply-rules[0] "
            '<span class="soft small">too late: apply-rules[0]</span>',
            True,
        ),
    }


@pytest.mark.spark
def test_an_upload_of_an_older_release_says_that_it_must_be_read_again(failures, client):
    from snapshots.files import recordings
    from snapshots.models import Recording

    store = Recording.objects.get(pk=failures.id).store
    (recordings.store().folder(store) / "contents/reports.json").unlink()
    page = text_of(client.get(f"/recordings/{failures.id}/answer"))
    assert "This upload was read before Cutline kept what Flink said of the job" in page


def test_the_workbench_opens_at_the_worst_snapshot(ada, client):
    recording = a_ready_recording(ada, a_lost_token())
    names = list(recording.snapshots.values_list("snapshot", flat=True))
    assert len(names) > 1
    assert opened_at(client, recording) == names[0], "all are consistent"
    recording.snapshots.filter(snapshot=names[-1]).update(verdict="lost")
    assert opened_at(client, recording) == names[-1]


def opened_at(client, recording) -> str:
    page = client.get(f"/recordings/{recording.pk}").content.decode()
    data = re.search(r'<script id="workbench-data"[^>]*>(.*?)</script>', page, re.DOTALL)
    return json.loads(data[1])["recording"]["worst"]


@pytest.mark.spark
def test_alike_failures_are_one_line_and_a_table_without_a_value_is_left_out(api, client):
    package = ROOT / "tests/data/flink-rest/failed-before-first.zip"
    found = upload(api, SimpleUploadedFile("rest.zip", package.read_bytes()))
    (subject,) = found.get("/answer")["subjects"]
    assert len(subject["failures"]) == 3
    page = text_of(client.get(f"/recordings/{found.id}/answer"))
    assert page.count("3 times the same:") == 1
    assert "Load of the subtasks" not in page
