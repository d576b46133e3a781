"""The page with the flow charts of the aligner and the tracker."""

import json
import re
from dataclasses import replace

import pytest

from snapshots.domain.dataflow_logs.barriers import charts
from snapshots.domain.simulators.dataflow_samples import SAMPLES_OF_DATAFLOWS
from snapshots.domain.simulators.flink.samples import (
    back_pressure,
    counted_twice,
    overtaking_barriers,
)
from snapshots.domain.simulators.samples import two_banks
from snapshots.web.figures.flow_charts import PLACES, flow_chart
from tests.web.given import a_ready_recording, text_of
from tests.web.pages.test_snapshot import words

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("data_dir")]


def shown(client, row, **query) -> str:
    return text_of(client.get(f"/recordings/{row.pk}/barriers", query))


def figure_of(page: str) -> dict:
    found = re.search(r'id="chart-figure"[^>]*>(.*?)</script>', page, re.DOTALL)
    return json.loads(found[1])


def lit(page: str) -> set[str]:
    """Return the nodes that are lit."""
    nodes = {*charts.ALIGNER.nodes, *charts.TRACKER.nodes}
    found = figure_of(page)["data"]
    return {trace["name"] for trace in found if trace.get("meta") == "lit"} & nodes


def after(page: str, relation: str) -> dict[str, str]:
    """Return the query of a link to another event."""
    task, event = re.search(
        rf'href="\?task=([^&]+)&amp;event=(\d+)" rel="{relation}"', page
    ).groups()
    return {"task": task.replace("%5B", "[").replace("%5D", "]"), "event": event}


def test_the_steps_of_the_first_barrier_are_lit_and_said(client, ada):
    row = a_ready_recording(ada, back_pressure())
    raw = shown(client, row, task="count[1]")
    page = words(raw)
    assert "Event 1 of" in page
    assert re.search(r"Barrier 1 came on source\[\d\]->count\[1\]\.", page)
    assert re.search(r"1 of 2 barriers is here; source\[\d\]->count\[1\] is missing\.", page)
    new = {charts.BARRIER, charts.OLD, charts.SAME, charts.UNDER_WAY, charts.FOLLOW}
    assert lit(raw) == {*new, charts.ALL, charts.BLOCK}
    assert re.search(r"is blocked , barrier 1 is here\.", page)


def test_the_next_event_takes_the_snapshot_and_leads_back(client, ada):
    row = a_ready_recording(ada, back_pressure())
    first = shown(client, row, task="count[1]")
    raw = shown(client, row, **after(first, "next"))
    assert {charts.FORWARD, charts.SNAPSHOT, charts.UNBLOCK} <= lit(raw)
    assert "is blocked" not in words(raw).partition("Afterwards")[2].partition("A task of")[0]
    assert lit(shown(client, row, **after(raw, "prev"))) == lit(first)


def test_the_tracker_blocks_nothing_and_says_what_is_read_again(client, ada):
    row = a_ready_recording(ada, counted_twice())
    raw = shown(client, row, task="count[1]")
    page = words(raw)
    assert lit(raw) >= {charts.COUNT, charts.WAIT}
    assert "is blocked" not in page.partition("Afterwards")[2].partition("A task of")[0]
    assert re.search(
        r"\d+ records? (is|are) taken from it before the next event\. They follow "
        r"barrier 1: if that snapshot is taken, they are in it, and a restore reads",
        page,
    )


def test_the_counts_of_records_are_those_of_the_log(client, ada):
    log = back_pressure()
    row = a_ready_recording(ada, log)
    page = shown(client, row, task="count[1]")
    own = [event for event in log.events if event.process == "count[1]"]
    at = int(re.search(r"event=\d+%40|event=(\d+)", page)[1] or 0)
    begin = next(i for i, event in enumerate(own) if event.kind == "marker_receive")
    end = next(i for i in range(begin + 1, len(own)) if own[i].kind == "marker_receive")
    assert at in (begin, end)
    for channel in ("source[0]->count[1]", "source[1]->count[1]"):
        count = sum(e.kind == "receive" and e.channel == channel for e in own[begin:end])
        is_blocked = own[begin].channel == channel
        assert (count == 0) if is_blocked else (f"{count} record" in words(page))


@pytest.mark.parametrize(
    ("log", "task", "reason"),
    [
        (back_pressure, "source[0]", "No channel leads to source[0]"),
        (two_banks, "A", "this recording is of no dataflow"),
    ],
)
def test_what_is_not_known_is_said_with_the_reason(client, ada, log, task, reason):
    page = words(shown(client, a_ready_recording(ada, log()), task=task))
    assert "Not known." in page
    assert reason in page


def test_another_engine_has_other_charts(client, ada):
    log = next(each for each in SAMPLES_OF_DATAFLOWS if each.slug == "splits-change-hands").log()
    page = words(shown(client, a_ready_recording(ada, log)))
    assert "Not known. The charts are those of Flink, and this recording is of seatunnel." in page


def test_statistics_of_an_engine_do_not_tell_the_channels(client, ada):
    log = back_pressure()
    extra = {**log.header.extra, "derived": True}
    derived = log._replace(header=replace(log.header, extra=extra))
    page = words(shown(client, a_ready_recording(ada, derived), task="count[1]"))
    assert "put together from the engine’s statistics" in page


def test_barriers_that_overtake_light_no_step(client, ada):
    raw = shown(client, a_ready_recording(ada, overtaking_barriers()), task="count[1]")
    assert lit(raw) == set()
    assert "No step is lit. The barriers of checkpoint 1 overtake records" in words(raw)


def test_an_event_or_task_that_is_none_is_refused(client, ada):
    row = a_ready_recording(ada, back_pressure())
    address = f"/recordings/{row.pk}/barriers"
    assert client.get(address, {"task": "x"}).status_code == 404
    assert client.get(address, {"task": "count[1]", "event": "0"}).status_code == 404
    assert client.get(address, {"task": "count[1]", "event": "-1"}).status_code == 422


def test_the_pages_of_checkpoints_lead_to_the_steps(client, ada):
    row = a_ready_recording(ada, back_pressure())
    assert f"/recordings/{row.pk}/barriers" in text_of(
        client.get(f"/recordings/{row.pk}/checkpoints")
    )
    page = text_of(client.get(f"/recordings/{row.pk}/checkpoints?checkpoint=2"))
    link = f"/recordings/{row.pk}/barriers?task=count%5B1%5D&amp;checkpoint=2"
    assert link in page
    assert "checkpoint 2" in words(shown(client, row, task="count[1]", checkpoint="2"))


def test_the_file_has_the_steps_of_all_events(client, ada):
    row = a_ready_recording(ada, back_pressure())
    query = {"task": "count[1]", "table": "steps", "format": "json"}
    answer = client.get(f"/recordings/{row.pk}/barriers", query)
    rows = json.loads(b"".join(answer.streaming_content))["rows"]
    assert {row["checkpoint"] for row in rows} >= {"1", "2", "3"}
    assert rows[0]["step"] == "A barrier comes on a channel"
    assert rows[0]["blocked_afterwards"]


@pytest.mark.parametrize("chart", [charts.ALIGNER, charts.TRACKER])
def test_each_node_has_a_place_of_its_own(chart):
    places = PLACES[chart.title]
    assert set(places) == set(chart.nodes)
    assert len(set(places.values())) == len(places)
    lines = [trace for trace in flow_chart(chart, ())["data"] if "→" in trace["name"]]
    assert len(lines) == len(chart.ways)
    assert all(0 <= x <= 1 for trace in lines for x in trace["x"])


@pytest.mark.parametrize("chart", [charts.ALIGNER, charts.TRACKER])
def test_the_text_of_each_node_has_two_lines_so_that_it_fits(chart):
    texts = [text for trace in flow_chart(chart, ())["data"] for text in trace.get("text", ())]
    assert len(texts) == len(chart.nodes)
    assert all(text.count("<br>") <= 1 for text in texts)
