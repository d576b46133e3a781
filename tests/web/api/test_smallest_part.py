"""The smallest part of a recording with one finding: in the API, as a file, and on its pages."""

import html
import json
from dataclasses import replace

import pytest
from django.core.management import call_command

from snapshots.domain.judging.verdicts import judge
from snapshots.domain.model.as_json import as_json
from snapshots.domain.model.defects import Defects
from snapshots.domain.simulators.samples import two_banks
from snapshots.domain.simulators.script import Log
from snapshots.limits import recording_limits
from snapshots.models import Recording
from snapshots.readers import recognition
from snapshots.readers.logs.native import NativeReader
from snapshots.web.pages import links
from tests.builders import a_run, recorded, simulated
from tests.damage import DAMAGES, lose_recorded_message
from tests.web.given import a_client, a_person, a_ready_recording, post_json, signed_in, text_of

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("data_dir")]


def part_of(api, row, **query):
    answer = api.get(f"/api/recordings/{row.pk}/smallest-part", {"snapshot": "s1", **query})
    assert answer.status_code == 200, answer.content
    return answer.json()


def file_of(client, row, **query) -> bytes:
    address = f"/api/recordings/{row.pk}/smallest-part/file"
    answer = client.get(address, {"snapshot": "s1", **query})
    assert answer.status_code == 200, answer.content
    assert answer["Content-Disposition"].startswith("attachment;")
    return answer.content


def checked(path, capsys, expect="consistent") -> tuple[int, dict]:
    """Return the exit code and the only snapshot of ``check_snapshots`` on a file."""
    code = 0
    try:
        call_command("check_snapshots", path, json=True, expect=expect)
    except SystemExit as ended:
        code = ended.code
    [snapshot] = json.loads(capsys.readouterr().out)["snapshots"]
    return code, snapshot


@pytest.mark.parametrize("verdict", DAMAGES)
def test_the_file_has_the_verdict_with_the_same_sentence(api, ada, tmp_path, capsys, verdict):
    log = DAMAGES[verdict](simulated()).log
    row = a_ready_recording(ada, log)
    part = part_of(api, row)
    path = tmp_path / "part.jsonl"
    path.write_bytes(file_of(api, row))
    code, snapshot = checked(path, capsys)
    [report] = judge(recorded(log))
    assert (code, snapshot["verdict"]) == (1, report.verdict)
    assert snapshot["verdicts"][0]["sentence"] == report.findings[0].sentence
    assert part["witness"] == as_json(report.findings[0])
    assert checked(path, capsys, expect=report.verdict)[0] == 0
    assert checked(path, capsys, expect="incomplete")[0] == 1
    assert part["kept"]["events"] == len(path.read_text().splitlines()) - 1 < 10
    assert part["whole"]["events"] == len(log.events)
    assert part["minimal"]


def test_each_event_of_the_file_names_its_place_in_the_whole(api, ada):
    row = a_ready_recording(ada, lose_recorded_message(simulated()).log)
    header, *events = map(json.loads, file_of(api, row).splitlines())
    for event in events:
        address = f"/api/recordings/{row.pk}/events/{event['process']}/{event['original']['index']}"
        whole = api.get(address).json()
        for field in ("kind", "at", "channel", "snapshot"):
            assert event.get(field) == whole[field]
    assert header["part_of"]["witness"] == part_of(api, row)["witness"]
    assert header["part_of"]["events"] == part_of(api, row)["whole"]["events"]


def test_a_recorded_list_says_how_many_messages_were_left_out_of_it(api, ada):
    run = a_run()
    for name in ("m1", "m2", "m3", "m4"):
        run.send("p->q", name, value=1)
    run.record("p", "s1").record("q", "s1")
    for name in ("m1", "m2", "m3", "m4"):
        run.receive("p->q", name)
    run.record_channel("p->q", "s1", "m1", "m2", "m4").record_channel("q->p", "s1")
    row = a_ready_recording(ada, run.log())
    events = [json.loads(line) for line in file_of(api, row).splitlines()]
    [record] = [event for event in events if event["kind"] == "record_channel"]
    assert record["messages"] == []
    assert record["original"]["messages_left_out"] == 3
    assert {event.get("message") for event in events} == {None, "m3"}


def test_a_consistent_snapshot_keeps_one_message_that_was_in_flight(api, ada, tmp_path, capsys):
    row = a_ready_recording(ada)
    part = part_of(api, row)
    kinds = [event["kind"] for event in part["events"]]
    assert sorted(kinds) == ["receive", "record_channel", "record_state", "record_state", "send"]
    assert "It proves nothing about the whole recording." in " ".join(part["sentences"])
    path = tmp_path / "part.jsonl"
    path.write_bytes(file_of(api, row))
    assert checked(path, capsys)[1]["verdict"] == "consistent"


def test_a_consistent_snapshot_with_empty_channels_keeps_one_recorded_state(api, ada):
    run = a_run().record("p", "s1").record("q", "s1")
    part = part_of(api, a_ready_recording(ada, run.log()))
    assert [event["kind"] for event in part["events"]] == ["record_state"]


def test_the_part_opens_as_a_recording_of_the_reader_with_their_own_quota(api, ada, settings):
    sample = a_ready_recording(None, lose_recorded_message(simulated()).log)
    address = f"/api/recordings/{sample.pk}/smallest-part"
    answer = post_json(api, address, {"snapshot": "s1"})
    assert answer.status_code == 202, answer.content
    opened = Recording.objects.get(pk=answer.json()["id"])
    assert (opened.owner, opened.format) == (ada, "native")
    assert opened.name == "a simulated run, lost of s1.jsonl"
    settings.MAX_STORED_BYTES = 100
    refused = post_json(api, address, {"snapshot": "s1"})
    assert refused.status_code == 429, refused.content
    assert Recording.objects.filter(owner=ada).count() == 1


@pytest.mark.parametrize("tail", ["", "/file"])
def test_a_stranger_a_wrong_snapshot_and_a_wrong_finding_are_refused(api, ada, tail):
    row = a_ready_recording(ada)
    address = f"/api/recordings/{row.pk}/smallest-part{tail}"
    stranger = a_client(a_person("eve@example.org"))
    assert stranger.get(address, {"snapshot": "s1"}).status_code == 404
    assert api.get(address, {"snapshot": "s9"}).status_code == 404
    refused = api.get(address, {"snapshot": "s1", "finding": 7})
    assert (refused.status_code, refused.json()["field"]) == (422, "finding")


def test_the_snapshot_page_leads_to_the_part_which_can_be_downloaded_and_opened(ada):
    row = a_ready_recording(ada, lose_recorded_message(simulated()).log)
    client = signed_in(ada)
    address = links.to_smallest_part(row.pk, "s1", 0)
    assert address in html.unescape(text_of(client.get(links.to_snapshot(row.pk, "s1"))))
    page = html.unescape(text_of(client.get(address)))
    assert part_of(a_client(ada), row)["witness"]["sentence"] in page
    file = links.to_file_of_smallest_part(row.pk, "s1", 0)
    assert file in page
    assert client.get(file).content == file_of(a_client(ada), row)
    opened = client.post(address)
    made = Recording.objects.exclude(pk=row.pk).get()
    assert opened.url == f"/recordings/{made.pk}"


def log_of(content: bytes, path) -> Log:
    """Read a file of the native format back."""
    path.write_bytes(content)
    reader, limits, defects = NativeReader(), recording_limits(), Defects()
    header = reader.header(path, limits)
    log = Log(header, tuple(recognition.events(reader, path, header, limits, defects)))
    assert not defects.total
    return log


def test_the_page_of_an_opened_part_says_what_it_proves_nothing_about(api, ada, tmp_path):
    part = file_of(api, a_ready_recording(ada, two_banks()))
    row = a_ready_recording(ada, log_of(part, tmp_path / "part.jsonl"))
    page = html.unescape(text_of(signed_in(ada).get(links.to_snapshot(row.pk, "s1"))))
    assert "It proves nothing about the whole recording." in page


def test_a_part_of_a_part_is_the_same_part_and_names_both(api, ada, tmp_path):
    row = a_ready_recording(ada, lose_recorded_message(simulated()).log)
    first = log_of(file_of(api, row), tmp_path / "first.jsonl")
    again = a_ready_recording(ada, first)
    second = log_of(file_of(api, again), tmp_path / "second.jsonl")
    assert second.header.extra["part_of"]["part_of"] == first.header.extra["part_of"]
    assert [event.kind for event in second.events] == [event.kind for event in first.events]
    originals = [json.loads(event.extra)["original"] for event in second.events]
    assert [item["original"] for item in originals] == [
        json.loads(event.extra)["original"] for event in first.events
    ]


def test_a_finding_without_an_event_offers_no_part(api, ada):
    run = a_run().record("p", "s1").record("q", "s1").log()
    derived = Log(replace(run.header, extra={"derived": True}), run.events)
    row = a_ready_recording(ada, derived)
    page = text_of(signed_in(ada).get(links.to_snapshot(row.pk, "s1")))
    assert "smallest-part" not in page
    answer = api.get(f"/api/recordings/{row.pk}/smallest-part", {"snapshot": "s1"})
    assert answer.status_code == 409
    assert "not on events" in answer.json()["detail"]
