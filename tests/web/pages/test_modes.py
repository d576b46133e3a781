"""The page that compares the ways to take checkpoints."""

import json
import re
from html import unescape

import pytest

from snapshots.domain.simulators.script import Log
from snapshots.simulating.compared_modes import DEMONSTRATION, MODES
from snapshots.simulating.dataflows import run
from tests.web.given import a_ready_recording, text_of

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("data_dir")]


def a_recording(owner, parameters=DEMONSTRATION):
    header, events, _ = run("three", parameters | {"protocol": "flink"})
    return a_ready_recording(owner, Log(header, tuple(events)), parameters=parameters)


def figure_of(page: str) -> dict:
    found = re.search(r'<script id="modes-figure"[^>]*>(.*?)</script>', page, re.DOTALL)
    return json.loads(found[1])


def test_the_three_runs_stand_in_one_figure_with_one_time_axis(client, ada):
    page = text_of(client.get(f"/recordings/{a_recording(ada).pk}/modes"))
    figure = figure_of(page)
    assert [trace["name"] for trace in figure["data"]] == list(MODES) * 4
    assert {trace["xaxis"] for trace in figure["data"]} == {"x"}
    assert {trace["yaxis"] for trace in figure["data"]} == {"y", "y2", "y3", "y4"}
    assert (figure["layout"]["hovermode"], figure["layout"]["hoversubplots"]) == (
        "x unified",
        "axis",
    )
    assert "after the failure 24 records were counted twice" in unescape(page)
    assert page.count("modes-best") > 5


def test_learn_shows_the_demonstration_with_the_seed_that_is_asked_for(client, ada):
    page = text_of(client.get("/learn/modes?seed=6"))
    assert 'value="6"' in page
    assert figure_of(page) != figure_of(text_of(client.get("/learn/modes")))
    assert 'href="/learn/modes"' in text_of(client.get("/learn"))


@pytest.mark.parametrize("seed", ["-1", "one", "9" * 19])
def test_a_seed_that_is_none_is_refused(client, ada, seed):
    text_of(client.get(f"/learn/modes?seed={seed}"), 422)


def test_a_run_that_is_too_large_or_of_another_engine_is_refused_with_the_reason(client, ada):
    source, *others = DEMONSTRATION["topology"]["dataflow"]["vertices"]
    dataflow = DEMONSTRATION["topology"]["dataflow"] | {
        "vertices": [source | {"records": 9_000}, *others]
    }
    row = a_recording(ada)
    for change, words in (
        ({"topology": {"dataflow": dataflow}}, "at most 5,000 are run again"),
        ({"protocol": "spark"}, "under Flink’s protocol"),
    ):
        row.parameters = {**DEMONSTRATION, **change}
        row.save()
        page = unescape(text_of(client.get(f"/recordings/{row.pk}/modes"), 409))
        assert words.replace("’", "'") in page


def test_pages_of_a_run_of_flink_lead_there(client, ada):
    pk = a_recording(ada).pk
    for address in (f"/recordings/{pk}", f"/recordings/{pk}/checkpoints"):
        assert f"/recordings/{pk}/modes" in text_of(client.get(address))
