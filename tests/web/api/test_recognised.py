"""The format that an upload is recognised as, what its log does not say, and how a user overrules
it."""

from dataclasses import replace

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client

from snapshots.domain.simulators.samples import two_banks
from snapshots.jobs import running
from snapshots.models import Recording
from snapshots.payloads import notes as header_notes
from snapshots.readers import recognition
from snapshots.readers.engines import registry
from tests.web.given import a_ready_recording

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("data_dir")]


@pytest.fixture
def page(ada):
    client = Client()
    client.force_login(ada)
    return client


def a_log(shared_data, name: str) -> SimpleUploadedFile:
    return SimpleUploadedFile(name, (shared_data / "shiviz" / name).read_bytes())


def test_an_upload_says_what_was_recognised_and_by_what(api, shared_data):
    body = api.post("/api/recordings", {"file": a_log(shared_data, "chord.log")}).json()
    assert body["format"] == "shiviz"
    assert body["recognised"].startswith("A log with vector clocks")
    detail = api.get(f"/api/recordings/{body['id']}").json()
    assert detail["recognised"] == body["recognised"]
    assert detail["notes"] == []  # nothing is read yet


@pytest.mark.spark
@pytest.mark.django_db(transaction=True)  # the heartbeat sees only what is committed
def test_what_such_a_log_cannot_say_is_explained_on_the_page(api, page, shared_data):
    body = api.post("/api/recordings", {"file": a_log(shared_data, "chord.log")}).json()
    running.run(body["job"])
    told = api.get(f"/api/recordings/{body['id']}").json()
    assert "A message that was never received leaves no trace in the clocks." in told["notes"]
    text = page.get(f"/recordings/{body['id']}").content.decode()
    for note in (*told["notes"], told["recognised"]):
        assert note in text


def notes_of(ada, notes) -> list[str]:
    log = two_banks()
    log = log._replace(header=replace(log.header, extra={"notes": notes}))
    return header_notes.notes_of(a_ready_recording(ada, log))


def test_the_notes_of_a_header_are_texts_of_a_bounded_number(ada):
    found = notes_of(ada, ["a", 7, {"b": 1}, " ", "c" * 2000, *["d"] * 60])
    assert len(found) == header_notes.MOST_NOTES + 1
    assert found[:2] == ["a", "c" * header_notes.LONGEST + "…"]
    assert found[-1] == "12 more notes in the header of the log."
    assert notes_of(ada, {"a": 1}) == []


def test_several_executions_are_choices_of_the_refusal(api, shared_data):
    problem = api.post("/api/recordings", {"file": a_log(shared_data, "facebook-multiple.log")})
    assert problem.status_code == 422
    choices = problem.json()["choices"]
    assert [(item["format"], item["name"]) for item in choices] == [
        ("shiviz:1", "Execution #1"),
        ("shiviz:2", "Execution #2"),
    ]
    assert all(item["events"] > 0 for item in choices)


def test_the_page_without_scripts_offers_the_executions_and_takes_one(page, shared_data):
    name = "facebook-multiple.log"
    answer = page.post("/", {"file": a_log(shared_data, name)})
    assert answer.status_code == 422
    assert '<option value="shiviz:2">Execution #2</option>' in answer.content.decode()
    answer = page.post("/", {"file": a_log(shared_data, name), "format": "shiviz:2"})
    assert answer.status_code == 302
    assert Recording.objects.get().format == "shiviz:2"


def test_every_format_can_be_chosen_on_the_page(page):
    text = page.get("/").content.decode()
    for value in (*recognition.READERS, *registry.READERS):
        assert f'<option value="{value}"' in text


def test_an_execution_with_a_very_long_name_is_asked_for_by_its_number(api):
    long = "x" * 600
    log = f"(?<clock>{{.*}}) (?<host>.*)\\n(?<event>.*)\n^=== (?<trace>.*) ===$\n=== {long} ===\n"
    file = SimpleUploadedFile("a.log", f'{log}{{"a":1}} a\nbegins\n'.encode())
    answer = api.post("/api/recordings", {"file": file, "format": f"shiviz:{long}"})
    assert (answer.status_code, answer.json()["field"]) == (422, "format")
