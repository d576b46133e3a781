"""The pages and calls that run a simulated recording again."""

from dataclasses import replace
from html import unescape
from urllib.parse import urlencode

import pytest

from snapshots.domain.simulators.basic import simulate
from snapshots.domain.simulators.script import Log
from snapshots.models import Recording
from snapshots.simulating.reruns import DEMONSTRATION, rerun_of
from snapshots.web.pages import reruns
from tests.builders import simulated
from tests.web.given import a_person, a_ready_recording, signed_in, text_of
from tests.web.pages.test_snapshot import words

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("data_dir")]
BROKEN = {"seed": 1, "channel": "A->B", "rule": "late_markers"}


def page_of(client, address: str, status: int = 200, **query) -> str:
    return words(unescape(text_of(client.get(f"{address}?{urlencode(query)}"), status)))


def a_simulated_recording(owner, **changes):
    parameters = {**DEMONSTRATION, **changes}
    return a_ready_recording(owner, rerun_of(parameters).log(), parameters=parameters)


def test_both_runs_stand_side_by_side_and_agree(client, ada):
    page = page_of(client, f"/recordings/{a_simulated_recording(ada).pk}/side-by-side")
    assert "The computation is the same with and without snapshots: all 90 events agree" in page
    assert "The snapshots add 6 markers, 3 recorded process states" in page
    assert "records its state for s1 added by a snapshot" in page
    assert page.count("added by a snapshot") == 6 + 6 + 3 + 6
    assert page.count(" the same") >= 90


def test_a_marker_that_stays_in_a_channel_changes_the_computation_and_the_page_says_where(
    client, ada
):
    row = a_simulated_recording(ada, stuck=["A->B"])
    page = page_of(client, f"/recordings/{row.pk}/side-by-side")
    assert "The computations differ. The first" in page
    answer = client.get(f"/api/recordings/{row.pk}/side-by-side").json()
    assert answer["rows"][answer["first_difference"] - answer["rows_before"]]["kind"] == "different"


def test_a_broken_rule_is_shown_with_the_verdict_and_the_witness(client, ada):
    page = page_of(client, f"/recordings/{a_simulated_recording(ada).pk}/rules", **BROKEN)
    assert "1 of 1 snapshot went wrong." in page
    assert "only the snapshots differ" in page
    assert "What goes wrong at channel A->B?" in page
    answer = client.get(f"/api/learn/broken-rule?{urlencode({**BROKEN, 'at': 'A->B'})}").json()
    (outcome,) = answer["snapshots"]
    assert (outcome["by_the_rules"], answer["wrong"]) == ("consistent", 1)
    assert f"s1 consistent {outcome['verdict']} {outcome['witnesses'][0]}" in page
    assert "Try seed 2" in page


def test_a_click_on_a_process_offers_the_rules_of_processes(client):
    page = page_of(client, "/learn/rules", process="B")
    assert "The markers go out first" in page
    assert "The process records late" in page
    assert "The marker goes out late" not in page
    html = text_of(client.get("/learn/rules"))
    assert html.count('aria-label="Channel ') == 6
    assert html.count('aria-label="Process ') == 3


def test_a_seed_with_which_nothing_goes_wrong_is_said(client):
    texts = [
        page_of(client, "/learn/rules", seed=seed, process="B", rule="late_records")
        for seed in range(6)
    ]
    fine = [text for text in texts if "this time nothing went wrong" in text]
    assert 0 < len(fine) < len(texts)
    assert "s1 consistent consistent nothing that differs" in fine[0]


@pytest.mark.parametrize(
    ("query", "sentence"),
    [
        ({"channel": "Z"}, "'Z' is not a channel of this topology."),
        ({"process": "Q"}, "'Q' is not a process of this topology."),
        ({"process": "A", "rule": "x"}, "rule is one of late_markers"),
        ({"process": "A", "rule": "late_markers"}, "'A' is not a channel of this topology."),
    ],
)
def test_what_is_not_there_is_refused_on_the_page(client, query, sentence):
    assert sentence in page_of(client, "/learn/rules", 422, **query)


@pytest.mark.parametrize("seed", ["x", "-1", "9" * 30, str(2**63)])
def test_a_wrong_seed_is_refused(client, seed):
    assert "seed is a whole number" in page_of(client, "/learn/side-by-side", 422, seed=seed)
    assert client.get(f"/api/learn/side-by-side?seed={seed}").status_code == 422


def test_a_log_of_others_cannot_be_run_again_and_the_menu_does_not_offer_it(client, ada):
    row = a_ready_recording(ada, simulated())
    for name in ("side-by-side", "rules"):
        page = page_of(client, f"/recordings/{row.pk}/{name}", 409)
        assert "Logs of others hold one run" in page
    assert "Break a rule" not in text_of(client.get(f"/recordings/{row.pk}"))
    own = a_simulated_recording(ada)
    assert "Break a rule" in text_of(client.get(f"/recordings/{own.pk}"))


def test_a_recording_of_an_older_version_is_told_from_the_run_of_today(client, ada):
    simulation = rerun_of(DEMONSTRATION)
    older = replace(simulation.parameters.simulation(simulation.topology), interferes=True)
    log = Log(older.header("older"), tuple(simulate(older)))
    row = a_ready_recording(ada, log, parameters={**DEMONSTRATION})
    today = a_simulated_recording(ada)
    for name in ("side-by-side", "rules"):
        sentence = "simulated by an older version of Cutline"
        assert sentence in page_of(client, f"/recordings/{row.pk}/{name}")
        assert sentence not in page_of(client, f"/recordings/{today.pk}/{name}")


def test_rows_beyond_the_most_are_counted(client, monkeypatch):
    monkeypatch.setattr(reruns, "MOST_ROWS", 100)
    assert "11 more rows; the API gives up to 1,000." in page_of(client, "/learn/side-by-side")


def test_a_topology_too_large_to_draw_is_a_list(client, ada, monkeypatch):
    monkeypatch.setattr("snapshots.web.pages.circle_picture.MOST_PROCESSES", 2)
    html = text_of(client.get("/learn/rules"))
    assert "<svg class" not in html
    assert "channel=A-%3EB" in html


def test_the_calls_list_the_rules_and_judge_a_recording(api, ada):
    rules = api.get("/api/marker-rules").json()["items"]
    assert {rule["broken"] for rule in rules} == {"marker-sending", "marker-receiving"}
    row = a_simulated_recording(ada)
    for rule in rules:
        query = urlencode(
            {"rule": rule["name"], "at": "A" if rule["place"] == "process" else "A->B"}
        )
        answer = api.get(f"/api/recordings/{row.pk}/broken-rule?{query}")
        assert answer.status_code == 200, answer.content
        assert answer.json()["same_computation"]


def test_a_run_with_a_broken_rule_is_kept_as_a_recording_of_its_own(client, api, ada):
    row = a_simulated_recording(ada)
    answers = [
        client.post(f"/recordings/{row.pk}/rules?{urlencode(BROKEN)}"),
        client.post(f"/learn/rules?{urlencode(BROKEN)}"),
    ]
    query = urlencode({"rule": "late_markers", "at": "A->B", "seed": 1})
    for address in (f"/api/recordings/{row.pk}/broken-rule", "/api/learn/broken-rule"):
        answers.append(api.post(f"{address}?{query}"))
    assert [answer.status_code for answer in answers] == [302, 302, 202, 202]
    kept = Recording.objects.exclude(pk=row.pk).order_by("pk")
    assert answers[0].url == f"/recordings/{kept[0].pk}"
    assert [item.name for item in kept][:2] == [
        "bank, late_markers at A->B",
        "three banks, late_markers at A->B",
    ]
    broken = rerun_of(DEMONSTRATION).with_seed(1).breaking("late_markers", "A->B").log()
    for item in kept:
        assert (item.owner, item.status) == (ada, "queued")
        assert rerun_of(item.parameters).log() == broken


def test_learn_leads_to_both(client):
    page = text_of(client.get("/learn"))
    assert 'href="/learn/rules"' in page
    assert 'href="/learn/side-by-side"' in page


def test_only_who_may_see_the_recording_may_run_it_again(ada):
    row = a_simulated_recording(ada)
    stranger = signed_in(a_person("eve@example.org"))
    for address in ("side-by-side", "rules"):
        assert stranger.get(f"/recordings/{row.pk}/{address}").status_code == 404
    assert stranger.get(f"/api/recordings/{row.pk}/side-by-side").status_code == 404


def test_the_demonstration_is_the_run_that_a_recording_of_its_parameters_holds():
    log = rerun_of(DEMONSTRATION).log()
    assert isinstance(log, Log)
    assert len(log.events) == 90 + 21
