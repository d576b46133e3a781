"""The pages of recordings and jobs, rendered by the server."""

import html
import io
import json
import re

import pytest
from django.core.management import call_command
from django.test import Client

from snapshots.domain.model.recording import LoggedEvent
from snapshots.domain.simulators.samples import two_banks
from snapshots.models import Job, Recording
from tests.builders import simulated
from tests.damage import lose_recorded_message
from tests.web.given import a_file, a_person, a_ready_recording, text_of

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("data_dir")]

HOSTILE = """<script>alert("1")</script> / 'ü' 🏦 ?#&%2F\\"""


def names_in(page: str) -> list[str]:
    return re.findall(
        r'<td class="name">(?:<label.*?</label>)?\s*<a href="[^"]+">([^<]*)</a>', page, re.S
    )


def refused(owner, **fields) -> Recording:
    problem = {"title": "The input was refused", "detail": "Line 3: not JSON.", "line": 3}
    defects = [
        {
            "code": "not-json",
            "severity": "refused",
            "sentence": "Not JSON.",
            "line": 3,
            "field": "at",
        }
    ]
    return Recording.objects.create(
        owner=owner,
        name="broken",
        status=Recording.Status.REFUSED,
        error=problem,
        defects=defects,
        defects_total=7,
        **fields,
    )


def test_every_page_asks_strangers_to_sign_in():
    addresses = ["/", "/recordings/1", "/recordings/1/defects", "/recordings/1/snapshots/s1"]
    addresses += ["/topologies", "/topologies/new", "/topologies/1", "/jobs", "/jobs/1"]
    for address in addresses:
        answer = Client().get(address)
        assert (answer.status_code, answer.url.split("?")[0]) == (302, "/sign-in"), address


def test_an_empty_list_offers_the_next_step(client):
    page = text_of(client.get("/"))
    assert "No recording yet" in page
    assert "/topologies/new" in page


def test_the_list_says_how_many_snapshots_have_which_verdict(client, ada):
    a_ready_recording(ada)
    a_ready_recording(ada, lose_recorded_message(simulated()).log)
    page = text_of(client.get("/"))
    assert "1 consistent" in page
    assert "1 lost" in page


def test_samples_stand_in_the_gallery_with_their_description(client):
    row = a_ready_recording(None, slug="two-banks", description="A sends 1000.")
    page = text_of(client.get("/"))
    assert "A sends 1000." in page
    assert f'href="/recordings/{row.pk}"' in page
    assert names_in(page) == []


def test_the_list_is_filtered_and_sorted_by_its_address(client, ada):
    for name, events in (("alpha", 5), ("beta", 500), ("gamma", 50)):
        Recording.objects.create(owner=ada, name=name, event_count=events)
    assert names_in(text_of(client.get("/?sort=-event_count"))) == ["beta", "gamma", "alpha"]
    assert names_in(text_of(client.get("/?q=MM"))) == ["gamma"]
    assert names_in(text_of(client.get("/?sort=no_such_field"))) == ["gamma", "beta", "alpha"]
    assert "Nothing matches “nobody”" in text_of(client.get("/?q=nobody"))


def test_a_long_list_has_pages_and_every_row_is_on_one(client, ada):
    Recording.objects.bulk_create(Recording(owner=ada, name=f"r{n:03}") for n in range(230))
    seen = [names_in(text_of(client.get(f"/?sort=name&page={page}"))) for page in (1, 2, 3)]
    assert [name for page in seen for name in page] == [f"r{n:03}" for n in range(230)]


def test_htmx_gets_the_list_alone(client, ada):
    Recording.objects.create(owner=ada, name="alpha")
    page = text_of(client.get("/", headers={"HX-Request": "true"}))
    assert names_in(page) == ["alpha"]
    assert "<html" not in page


def test_htmx_gets_the_whole_page_when_it_goes_back_in_history(client):
    headers = {"HX-Request": "true", "HX-History-Restore-Request": "true"}
    assert "<html" in text_of(client.get("/", headers=headers))


def test_the_log_that_the_page_shows_is_read_and_judged_as_it_stands(client, tmp_path):
    shown = client.get("/").content.decode()
    example = re.search(r'<details class="own-log">.*?<pre[^>]*>(.*?)</pre>', shown, re.S)
    (tmp_path / "own.jsonl").write_text(html.unescape(example[1]) + "\n")
    printed = io.StringIO()
    call_command("check_snapshots", tmp_path / "own.jsonl", json=True, stdout=printed)
    [snapshot] = json.loads(printed.getvalue())["snapshots"]
    assert (snapshot["snapshot"], snapshot["verdict"]) == ("s1", "consistent")


def test_one_uploaded_file_leads_to_its_recording(client, ada):
    answer = client.post("/", {"file": a_file()})
    assert answer.status_code == 302
    assert answer.url == f"/recordings/{Recording.objects.get(owner=ada).pk}"


def test_a_refused_file_is_explained_and_does_not_stop_the_others(client, ada):
    files = [a_file(), a_file(b"{not json\n", "bad.jsonl")]
    page = text_of(client.post("/", {"file": files}), 422)
    assert "bad.jsonl" in page
    assert re.search(r"line 1\b", page)
    assert '<pre class="excerpt">{not json</pre>' in page
    assert [row.source_name for row in Recording.objects.filter(owner=ada)] == ["log.jsonl"]


def test_an_upload_without_a_file_says_so(client):
    assert "The request has no file" in text_of(client.post("/", {}), 422)


def test_a_queued_recording_shows_its_progress_and_renews_itself_without_javascript(client, ada):
    row = Recording.objects.create(owner=ada, name="big", status=Recording.Status.RUNNING)
    Job.objects.create(
        kind="ingest",
        owner=ada,
        recording=row,
        state="running",
        phase="sorting",
        done=4200,
        total=10000,
        progress=0.42,
    )
    page = text_of(client.get(f"/recordings/{row.pk}"))
    assert "sorting" in page
    assert "4,200 of 10,000" in page
    assert '<noscript><meta http-equiv="refresh"' in page


def test_a_refused_recording_says_where_and_what_to_do(client, ada):
    row = refused(ada)
    page = text_of(client.get(f"/recordings/{row.pk}"))
    assert "Line 3: not JSON." in page
    assert "7 defects, the first 1 shown" in page
    assert f"/recordings/{row.pk}/delete" in page


def test_a_ready_recording_is_the_workbench_with_its_data(client, ada):
    row = a_ready_recording(ada)
    page = text_of(client.get(f"/recordings/{row.pk}"))
    assert 'id="workbench-data"' in page
    assert '"A-\\u003EB"' in page


def test_a_topology_too_large_for_a_page_is_left_out_of_it(client, ada, monkeypatch):
    monkeypatch.setattr("snapshots.web.pages.recordings.MOST_PROCESSES_INLINE", 1)
    row = a_ready_recording(ada)
    assert '"topology": null' in text_of(client.get(f"/recordings/{row.pk}"))


def test_snapshots_too_long_for_a_page_are_left_out_of_it(client, ada):
    row = a_ready_recording(ada, lose_recorded_message(simulated()).log)
    assert '"snapshots": [{' in text_of(client.get(f"/recordings/{row.pk}"))
    snapshot = row.snapshots.first()
    snapshot.verdicts = [{"verdict": "lost", "sentence": "x" * 700}] * 100
    snapshot.save()
    page = text_of(client.get(f"/recordings/{row.pk}"))
    assert '"snapshots": null' in page
    assert len(page) < 100_000


def test_defects_are_listed_by_code(client, ada):
    log = two_banks()
    index = sum(event.process == "A" for event in log.events)
    stray = LoggedEvent(99, "A", "receive", index, 12000, channel="B->A", message="m9")
    late = LoggedEvent(100, "A", "internal", index + 5, 12001)
    row = a_ready_recording(ada, log._replace(events=(*log.events, stray, late)))
    page = text_of(client.get(f"/recordings/{row.pk}/defects"))
    assert "stray-receive" in page
    assert "events without an index" in page
    one = text_of(client.get(f"/recordings/{row.pk}/defects?code=stray-receive"))
    assert "m9" in one
    assert "events without an index" not in one


def test_someone_elses_recording_does_not_exist(client):
    row = a_ready_recording(a_person("eve@example.org"))
    for page in ("", "/defects", "/original", "/delete", "/snapshots/s1"):
        assert client.get(f"/recordings/{row.pk}{page}").status_code == 404, page
    for page in ("/rename", "/delete", "/again", "/snapshots/s1"):
        assert client.post(f"/recordings/{row.pk}{page}").status_code == 404, page
    assert Recording.objects.filter(pk=row.pk).exists()


def test_a_sample_cannot_be_renamed_or_deleted(client):
    row = a_ready_recording(None)
    assert client.post(f"/recordings/{row.pk}/rename", {"name": "mine"}).status_code == 403
    assert client.post(f"/recordings/{row.pk}/delete").status_code == 403
    row.refresh_from_db()
    assert row.name == "two banks"


def test_a_recording_is_renamed_and_deleted_after_a_question(client, ada):
    row = a_ready_recording(ada)
    client.post(f"/recordings/{row.pk}/rename", {"name": "friday"})
    assert "Delete “friday”?" in text_of(client.get(f"/recordings/{row.pk}/delete"))
    assert Recording.objects.filter(pk=row.pk, name="friday").exists()
    client.post(f"/recordings/{row.pk}/delete")
    assert not Recording.objects.filter(pk=row.pk).exists()


def test_a_name_that_cannot_be_is_refused_with_a_sentence(client, ada):
    row = Recording.objects.create(owner=ada, name="kept", status=Recording.Status.FAILED)
    page = text_of(client.post(f"/recordings/{row.pk}/rename", {"name": "x" * 201}), 422)
    assert "1 to 200 characters" in page
    assert "x" * 201 in page
    row.refresh_from_db()
    assert row.name == "kept"


def test_the_original_comes_back_as_it_was_uploaded(client, ada):
    content = a_file().read()
    client.post("/", {"file": a_file(content, "mine.jsonl")})
    row = Recording.objects.get(owner=ada)
    answer = client.get(f"/recordings/{row.pk}/original")
    assert b"".join(answer.streaming_content) == content
    assert 'filename="mine.jsonl"' in answer.headers["Content-Disposition"]


def test_hostile_names_are_text_on_every_page(client, ada):
    ready = a_ready_recording(ada)
    gone = refused(ada, source_name=HOSTILE)
    waiting = Recording.objects.create(owner=ada, source_name=HOSTILE)
    Recording.objects.update(name=HOSTILE)
    job = Job.objects.create(
        kind="restore", owner=ada, recording=ready, snapshot=HOSTILE, phase=HOSTILE[:60]
    )
    rows = (ready.pk, gone.pk, waiting.pk)
    addresses = ["/", "/jobs", f"/jobs/{job.pk}", *(f"/recordings/{pk}" for pk in rows)]
    addresses += [
        f"/recordings/{ready.pk}/{page}" for page in ("defects", "delete", "rename", "snapshots/s1")
    ]
    for address in addresses:
        page = text_of(client.get(address))
        assert "<script>alert" not in page, address
        assert "alert(" in page, address


def test_jobs_are_listed_and_a_queued_one_is_cancelled(client, ada):
    client.post("/", {"file": a_file()})
    job = Job.objects.get(owner=ada)
    assert f"ingest {job.pk}" in text_of(client.get("/jobs"))
    answer = client.post(f"/jobs/{job.pk}/cancel")
    assert answer.url == f"/jobs/{job.pk}"
    job.refresh_from_db()
    assert job.state == Job.State.CANCELLED
    assert 'data-state="cancelled"' in text_of(client.get(f"/jobs/{job.pk}"))


def test_cancelling_a_job_that_has_ended_says_so(client, ada):
    row = refused(ada)
    job = Job.objects.create(kind="ingest", owner=ada, recording=row, state="done")
    page = client.post(f"/jobs/{job.pk}/cancel", follow=True)
    assert "The job has already ended" in text_of(page)


def test_someone_elses_job_does_not_exist(client):
    eve = a_person("eve@example.org")
    job = Job.objects.create(kind="ingest", owner=eve, recording=refused(eve))
    assert client.get(f"/jobs/{job.pk}").status_code == 404
    assert client.post(f"/jobs/{job.pk}/cancel").status_code == 404


def test_a_failed_recording_whose_file_is_kept_can_be_read_again(client, ada):
    client.post("/", {"file": a_file()})
    Job.objects.update(state="failed")
    Recording.objects.update(status=Recording.Status.FAILED)
    row = Recording.objects.get(owner=ada)
    assert "Read the file again" in text_of(client.get(f"/recordings/{row.pk}"))
    client.post(f"/recordings/{row.pk}/again")
    row.refresh_from_db()
    assert row.status == Recording.Status.QUEUED


def test_a_store_that_is_gone_is_a_page_and_no_500(client, ada):
    row = a_ready_recording(ada)
    Recording.objects.filter(pk=row.pk).update(store="j999-1", upload="banks.jsonl")
    for page in ("", "/defects", "/snapshots/s1"):
        page = text_of(client.get(f"/recordings/{row.pk}{page}"), 409)
        assert "its manifest is missing" in page
        assert f'action="/recordings/{row.pk}/again"' in page


def test_snapshots_of_an_engine_are_not_judged_and_not_called_unknown(client, ada):
    a_ready_recording(ada).snapshots.update(verdict="unknown")
    shown = text_of(client.get("/"))
    assert "1 not known" in shown
    assert "1 unknown" not in shown
    assert "not judged" not in shown
    Recording.objects.update(format="flink")
    assert "1 not judged" in text_of(client.get("/"))
