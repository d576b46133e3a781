"""The pages of a dataflow's checkpoints: the list, one as a Gantt chart, failures, strategies."""

import re
from dataclasses import replace

import pytest

from snapshots.domain.assembling.assembly import assemble
from snapshots.domain.dataflow_logs.checkpoints.reference import checkpoints, decisions, files
from snapshots.domain.dataflow_logs.dataflow import Dataflow, Edge
from snapshots.domain.dataflow_logs.failovers.reference import all_failovers
from snapshots.domain.simulators.dataflow_samples import SAMPLES_OF_DATAFLOWS
from snapshots.domain.simulators.flink.samples import pressed, smallest
from snapshots.domain.simulators.flink.simulation import FAILED, run_dataflow
from snapshots.domain.simulators.protocols.flink_task import TIMEOUT, UNALIGNED
from snapshots.domain.simulators.script import Log
from snapshots.domain.simulators.seatunnel.schema_changes import SchemaChange
from snapshots.domain.simulators.seatunnel.simulation import run_seatunnel
from snapshots.files.recordings import open_recording
from snapshots.models import Job, Recording
from snapshots.store.writer import write_checkpoints
from tests.dataflows import a_sink, a_source
from tests.domain.simulators.seatunnel import a_job
from tests.domain.simulators.test_flink_rescaling import started
from tests.web.given import a_person, a_ready_recording, signed_in, text_of
from tests.web.pages.test_snapshot import words

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("data_dir"), pytest.mark.slow]
BY_SLUG = {sample.slug: sample for sample in SAMPLES_OF_DATAFLOWS}


def explained(owner, of: str | Log, **fields) -> Recording:
    """Return a ready recording with the report of a checkpoints job. `of`: a sample, or a log."""
    log = of if isinstance(of, Log) else BY_SLUG[of].log()
    row = a_ready_recording(owner, log, **fields)
    found = assemble(log.header, log.events).recording
    write_checkpoints(
        open_recording(row).folder,
        checkpoints(found),
        files(found),
        decisions(found),
        all_failovers(found),
    )
    return row


def test_the_list_says_of_each_checkpoint_how_long_and_why(client, ada):
    row = explained(ada, "back-pressure")
    page = words(text_of(client.get(f"/recordings/{row.pk}/checkpoints")))
    assert "4 checkpoints" in page
    assert "28.8 ms" in page
    assert "count[1] waited for the barrier on source[1]->count[1], behind 12 records" in page


def test_a_checkpoint_takes_notes_and_joins_the_trail(client, ada):
    row = explained(ada, "back-pressure")
    address = f"/recordings/{row.pk}/checkpoints?checkpoint=1"
    form = {"text": "who blocks?", "place": "checkpoint:1:0", "next": address}
    page = text_of(client.post(f"/recordings/{row.pk}/notes", form, follow=True))
    assert "who blocks?" in page
    assert 'id="tasks"' in page, "the writer stays on the page"
    [item] = ada.trail.all()
    assert item.place == "checkpoint:1:0"


def test_one_checkpoint_shows_its_tasks_and_its_critical_path(client, ada):
    row = explained(ada, "back-pressure")
    address = f"/recordings/{row.pk}/checkpoints?checkpoint=1"
    raw = text_of(client.get(address))
    page = words(raw)
    assert "source[0]->count[1] blocked 4.58 ms, 12 records held back" in page
    assert "had other inputs’ barriers, and waited for the barrier on source[1]->count[1]" in page
    assert re.search(r'id="checkpoint-figure"', raw)
    assert f"/recordings/{row.pk}?snapshot=1" in raw
    assert "checkpoint=2" in raw


def test_the_workbench_and_the_snapshot_lead_there(client, ada):
    row = explained(ada, "back-pressure")
    assert f"/recordings/{row.pk}/checkpoints" in text_of(client.get(f"/recordings/{row.pk}"))
    page = text_of(client.get(f"/recordings/{row.pk}/snapshots/1"))
    assert f"/recordings/{row.pk}/checkpoints?checkpoint=1" in page
    other = a_ready_recording(ada)
    assert "/checkpoints" not in text_of(client.get(f"/recordings/{other.pk}"))
    assert "Where its time went" not in text_of(client.get(f"/recordings/{other.pk}/snapshots/s1"))


def test_overtaken_records_are_reported(client, ada):
    row = explained(ada, "overtaking-barriers")
    page = words(text_of(client.get(f"/recordings/{row.pk}/checkpoints?checkpoint=1")))
    assert "records overtaken" in page
    assert "kept as channel state" in page


def test_a_failure_has_what_was_repeated_at_each_sink(client, ada):
    row = explained(ada, "counted-twice")
    page = words(text_of(client.get(f"/recordings/{row.pk}/checkpoints")))
    assert "count[0] failed" in page
    assert "Restarted 6 tasks (full)" in page
    assert "Counted twice 24 records" in page
    assert "sink two-phase 51 24" in page, "written again, visible twice"
    assert "Results at each sink" in page


def a_job_with_three_sinks(**options) -> Log:
    """Return the log of a job whose sinks have a committer, a writer that commits, and neither."""
    sinks = (
        a_sink("files"),
        a_sink("table"),
        a_sink("log", sink="plain"),
    )
    edges = tuple(Edge("orders", sink.id) for sink in sinks)
    flow = Dataflow((a_source("orders", rate=1_000, records=60, cost=100), *sinks), edges)
    return run_seatunnel(a_job(flow, writer_commits=("table",), **options)).log


def test_a_failure_says_in_words_what_it_did_at_each_kind_of_sink(client, ada):
    calm = a_job_with_three_sinks(interval=20_000)
    completed = next(event.at for event in calm.events if event.kind == "cp_complete")
    failures = ((completed + 100, "log[0]"),)
    row = explained(ada, a_job_with_three_sinks(interval=20_000, failures=failures))
    page = words(text_of(client.get(f"/recordings/{row.pk}/checkpoints")))
    assert "files shows what its committer has committed" in page
    assert "The restart committed 1 transaction that the checkpoint lists" in page
    assert "table shows what each writer has committed by itself" in page
    assert "although its checkpoint had completed: the restart did not commit it" in page
    assert "log shows every write" in page


def test_a_schema_change_point_says_who_stood_still(client, ada, api):
    changes = (SchemaChange("orders[0]", 20),)
    row = explained(ada, a_job_with_three_sinks(interval=9_000, schema_changes=changes))
    items = {
        item["kind"]: item
        for item in api.get(f"/api/recordings/{row.pk}/checkpoints").json()["items"]
    }
    before, after = items["schema-change-before point"], items["schema-change-after point"]
    changed = after["schema_point"]["change"]["changed"]
    assert sorted(changed) == ["files[0]", "log[0]", "table[0]"]
    assert items["checkpoint"]["schema_point"] is None
    pages = [f"checkpoints?checkpoint={before['checkpoint']}", "checkpoints"]
    for page in pages:
        shown = words(text_of(client.get(f"/recordings/{row.pk}/{page}")))
        assert before["schema_point"]["sentence"] in shown
        assert "orders[0] had stopped for it at offset 21 of orders[0]" in shown


def test_a_failure_leads_to_what_it_went_back_to(client, ada):
    row = explained(ada, "counted-twice")
    page = text_of(client.get(f"/recordings/{row.pk}/checkpoints"))
    assert f'<a href="/recordings/{row.pk}/checkpoints?checkpoint=1">checkpoint 1</a>' in page
    batches = explained(ada, "uncommitted-batch")
    address = f"/recordings/{batches.pk}/snapshots/1"
    page = text_of(client.get(f"/recordings/{batches.pk}/checkpoints"))
    assert f'<a href="{address}">batch 1</a>' in page
    assert client.get(address).status_code == 200
    epochs = explained(ada, "uncommitted-epoch")
    page = text_of(client.get(f"/recordings/{epochs.pk}/checkpoints"))
    assert f'<a href="/recordings/{epochs.pk}/checkpoints?checkpoint=1">epoch 1</a>' in page


def test_a_failure_after_which_nothing_was_restored_goes_back_nowhere(client, ada):
    row = explained(ada, run_dataflow(replace(smallest(), most_restarts=0)).log)
    page = words(text_of(client.get(f"/recordings/{row.pk}/checkpoints")))
    assert "Back to nothing was restored" in page
    assert "the beginning" not in page


def test_an_alignment_that_was_broken_off_names_no_channel(client, ada):
    row = explained(ada, run_dataflow(pressed(TIMEOUT)).log)
    page = words(text_of(client.get(f"/recordings/{row.pk}/checkpoints?checkpoint=4")))
    assert "had some inputs’ barriers, and no longer waited for the others" in page


def test_incremental_files_are_listed_with_who_still_needs_them(client, ada):
    row = explained(ada, "back-pressure")
    page = words(text_of(client.get(f"/recordings/{row.pk}/checkpoints")))
    shown = open_recording(row).checkpoint_files()["files"]
    assert f"{len(shown)} files" in page
    needed = next(file for file in shown if file["needed_by"])
    assert needed["file"] in page


def test_a_checkpoint_that_is_not_there_is_not_found(client, ada):
    row = explained(ada, "smallest-dataflow")
    assert client.get(f"/recordings/{row.pk}/checkpoints?checkpoint=99").status_code == 404


def test_a_recording_that_is_no_dataflow_says_so(client, ada):
    row = a_ready_recording(ada)
    page = words(text_of(client.get(f"/recordings/{row.pk}/checkpoints")))
    assert "holds no checkpoint of a dataflow" in page


def test_other_peoples_checkpoints_do_not_exist(ada):
    row = explained(ada, "smallest-dataflow")
    stranger = signed_in(a_person("eve@example.org"))
    assert stranger.get(f"/recordings/{row.pk}/checkpoints").status_code == 404
    assert stranger.post(f"/recordings/{row.pk}/compare-failovers").status_code == 404
    assert stranger.get(f"/compare?recordings={row.pk}").status_code == 404


def test_the_same_run_is_asked_for_with_each_strategy(client, ada):
    failures = [{"at": 70_000, "process": "count[0]"}]
    asked = {"protocol": "flink", "failover": "full", "failures": failures, "seed": 5}
    row = explained(ada, "counted-twice", parameters=asked)
    answer = client.post(f"/recordings/{row.pk}/compare-failovers")
    begun = Recording.objects.filter(parameters__failures__isnull=False).exclude(pk=row.pk)
    strategies = [again.parameters.pop("failover") for again in begun.order_by("pk")]
    assert strategies == ["full", "region", "pipeline"]
    assert all(again.parameters["seed"] == 5 for again in begun)
    assert Job.objects.filter(kind=Job.Kind.SIMULATE).count() == 3
    page = words(text_of(client.get(answer.url)))
    assert "3 runs not ready yet" in page


def test_runs_without_a_failure_cannot_be_compared(client, ada):
    row = a_ready_recording(ada)
    answer = client.post(f"/recordings/{row.pk}/compare-failovers", follow=True)
    assert "in which a task fails" in words(text_of(answer))
    assert not Job.objects.filter(kind=Job.Kind.SIMULATE).exists()


def test_ready_runs_stand_side_by_side(client, ada):
    rows = [explained(ada, slug) for slug in ("counted-twice", "smallest-dataflow")]
    address = f"/compare?recordings={rows[0].pk},{rows[1].pk}"
    page = words(text_of(client.get(address)))
    assert "6 full 76 24 51 24 0 38.5 ms" in page
    assert "2 full 20 0 0 0 0 11.9 ms" in page


@pytest.mark.parametrize("asked", ["", "x", "1,2,x", ",".join("1" * 11)])
def test_what_is_to_be_compared_must_be_recordings(client, asked):
    assert client.get(f"/compare?recordings={asked}").status_code == 422


def test_the_page_says_what_a_failure_did_to_event_time(client, ada):
    row = explained(ada, "late-records")
    page = words(text_of(client.get(f"/recordings/{row.pk}/checkpoints")))
    assert "6 tasks began again without a watermark, which is not part of their state." in page
    assert "windows sent 8 results once more." in page
    assert "Event time at the end of the log" in page
    assert re.search(r"window\[0\] the end of time \d+ 2 ", page)
    api = client.get(f"/api/recordings/{row.pk}/failovers").json()["event_time"]
    assert sum(task["late"] for task in api["tasks"]) == 4
    one = words(text_of(client.get(f"/recordings/{row.pk}/checkpoints?checkpoint=2")))
    assert re.search(r"window\[0\] .{0,80}watermark at \d", one)


def test_the_page_says_who_got_which_part_of_an_earlier_run(client, ada):
    row = explained(ada, run_dataflow(started(2, mode=UNALIGNED, ending=FAILED, at=20_000)).log)
    page = words(text_of(client.get(f"/recordings/{row.pk}/checkpoints")))
    assert "Started from an earlier run which had failed" in page
    assert "count with 2 subtasks in place of 3" in page
    assert re.search(r"source\[0\] source\[0\], source\[1\] no keys source\[0\] at \d+", page)
    shares = client.get(f"/api/recordings/{row.pk}/failovers").json()["start"]["shares"]
    assert sum(share["in_flight"] for share in shares) > 0


def test_a_run_without_watermarks_has_no_event_time_on_its_page(client, ada):
    row = explained(ada, "counted-twice")
    assert "Event time" not in text_of(client.get(f"/recordings/{row.pk}/checkpoints"))
    assert client.get(f"/api/recordings/{row.pk}/failovers").json()["event_time"] is None


def test_a_cut_says_where_the_watermark_of_each_task_stands(client, ada):
    row = explained(ada, "late-records")
    address = f"/api/recordings/{row.pk}/cuts"

    def watermarks(at):
        question = {"at": at}
        return client.post(address, question, content_type="application/json").json()["watermarks"]

    log = BY_SLUG["late-records"].log()
    restored = next(event.at for event in log.events if event.kind == "restore")
    assert watermarks(0) == {}
    assert watermarks(restored - 1)["window[0]"].startswith("watermark ")
    assert watermarks(restored) == {}
    assert watermarks(log.events[-1].at)["window[0]"] == "watermark: the end of time"
    window = client.get(f"/api/recordings/{row.pk}/window?from={restored - 1}&to={restored}")
    assert sum(words is not None for words in window.json()["watermarks"]) == 6
