"""The first state of a series at which a condition holds: snapshots, checkpoints, the archive."""

import json
import zipfile

import pytest

from snapshots.answers import bisect as module
from snapshots.answers.bisect_series import ARCHIVE, CHECKPOINTS, CheckpointSeries, HeldCheckpoint
from snapshots.domain.bisecting import search
from snapshots.domain.simulators.samples import SAMPLES
from snapshots.domain.simulators.script import Script
from snapshots.files import recordings
from snapshots.models import Recording
from snapshots.payloads.inventory import OF_NEWER_VERSIONS
from snapshots.readers.engines.flink.adapter.reader import FlinkReader
from snapshots.sandbox import evaluation
from snapshots.store.inventory.writing import CHECKPOINT, CONTENTS
from tests.builders import simulated
from tests.damage import record_late
from tests.web.engine_uploads import an_upload
from tests.web.given import a_client, a_person, a_ready_recording, post_json, signed_in
from tests.web.stored_uploads import parts_of, stored_upload

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("data_dir")]
BY_SLUG = {sample.slug: sample for sample in SAMPLES}
MANY = search.Limits(1_000)
SEVERAL = "synthetic-two-pipelines-idle-reader"
NEGATIVE = 'processes["withdraw"]["balance"] < 0'


def ask(api, row, **question):
    return post_json(api, f"/api/recordings/{row.pk}/bisect", question)


def found(api, row, **question) -> dict:
    answer = ask(api, row, **question)
    assert answer.status_code == 200, answer.content
    return answer.json()


def title(item) -> str | None:
    return item and item["title"]


def counter(values, *, lost_at: int | None = None, also: str = ""):
    """Return a run with a snapshot for each value that A's state takes, and that of ``also``."""
    script = Script("counter", {"A": 0, "B": 0}, ["A->B"])
    for number, value in enumerate(values):
        name = f"s{number}"
        state = None if number == lost_at else value
        for process in ("A", also) if also else ("A",):
            script = script.internal(process, f"becomes {value}", state=state)
        script = script.record("A", name).send_marker("A->B", name).receive_marker("A->B", name)
        script = script.record("B", name).record_channel("A->B", name)
    return script.log()


@pytest.mark.parametrize(
    ("slug", "name", "changed"),
    [
        ("terminates", "termination", {"p1", "p3", "p1->p3"}),
        ("deadlock", "deadlock", {"Kant", "Mill", "Zeno", "Hume->Kant", "Kant->Mill"}),
        ("token-lost", "token", {"p2->p3"}),
        ("token-copied", "token", {"p2->p3", "p3->p1"}),
    ],
)
def test_the_first_snapshot_of_a_sample_is_found(api, ada, slug, name, changed):
    row = a_ready_recording(ada, BY_SLUG[slug].log())
    answer = found(api, row, property=name)
    assert (title(answer["before"]), title(answer["first"])) == ("snapshot s3", "snapshot s4")
    by_theory = ("exact", "theory", True) if name != "token" else ("exact", "none", False)
    assert (answer["outcome"], answer["basis"], answer["searched"]) == by_theory
    assert {item["name"] for item in answer["difference"]["changes"]} == changed
    assert answer["sentences"][:2] == [
        "It holds for the first time in snapshot s4.",
        "In snapshot s3, the one before, it does not hold.",
    ]


@pytest.mark.parametrize(
    ("question", "words"),
    [
        ({"property": "token"}, "only if lost tokens are not replaced"),
        ({"property": "phase"}, "only if processes never go back to an earlier phase"),
    ],
)
def test_theory_calls_no_property_stable_that_only_some_runs_keep(api, ada, question, words):
    """Snapshot s5 alone has a token too many, so a search that skips it must not deny that."""
    row = a_ready_recording(ada, counter([0] * 5 + [1] + [0] * 34))
    answer = found(api, row, **question)
    assert (answer["basis"], answer["evaluated"], answer["searched"]) == ("none", 40, False)
    assert words in answer["why_not_stable"]
    assert not any("The property is stable:" in sentence for sentence in answer["sentences"])
    declared = found(api, row, **question, stable=True)
    assert declared["basis"] == "declared"


def test_a_declared_condition_is_found_with_few_looks(api, ada, monkeypatch):
    monkeypatch.setattr(search, "SAMPLE", 0)
    row = a_ready_recording(ada, counter(range(40)))
    scan = found(api, row, expression="A >= 31")
    few = found(api, row, expression="A >= 31", stable=True)
    assert title(scan["first"]) == title(few["first"]) == "snapshot s31"
    assert (scan["evaluated"], scan["searched"], scan["basis"]) == (40, False, "none")
    assert few["evaluated"] < 15
    assert (few["searched"], few["basis"], few["stability"]) == (True, "declared", "open")
    assert "it was not checked in the snapshots that were not evaluated" in few["sentences"][-1]
    assert [item["place"] for item in few["items"]] == sorted(i["place"] for i in few["items"])


def test_a_declaration_that_the_snapshots_contradict_is_withdrawn(api, ada):
    row = a_ready_recording(ada, counter([0, 0, 5, 0, 0, 5, 0, 0]))
    answer = found(api, row, expression="A == 5", stable=True)
    assert (title(answer["first"]), answer["stability"]) == ("snapshot s2", "refuted")
    assert (answer["evaluated"], answer["searched"]) == (8, False)
    assert answer["sentences"][-1] == (
        "You said that it stays true once it holds, but it does not: it holds in snapshot s2 and "
        "does not hold in snapshot s3."
    )


def test_a_state_that_nobody_logged_makes_the_answer_an_interval(api, ada):
    row = a_ready_recording(ada, counter([0, 1, 2, 3], lost_at=2))
    answer = found(api, row, expression="A >= 2")
    assert (answer["outcome"], answer["earliest"]) == ("between", 2)
    assert (title(answer["before"]), title(answer["first"])) == ("snapshot s1", "snapshot s3")
    assert "What it comes to in snapshot s2 is not known." in answer["sentences"]
    assert answer["items"][2]["answer"]["missing"] == ["the state of A"]


@pytest.mark.parametrize(
    ("expression", "outcome", "sentence"),
    [
        (
            "A >= 0",
            "at-start",
            "It holds already in snapshot s0, the first snapshot of the series.",
        ),
        ("A > 9", "never", "It holds in none of the 3 snapshots."),
        ("A.x > 9", "not-known", "No snapshot is known in which it holds."),
    ],
)
def test_each_outcome_is_said_in_a_sentence(api, ada, expression, outcome, sentence):
    row = a_ready_recording(ada, counter(range(3)))
    answer = found(api, row, expression=expression)
    assert answer["outcome"] == outcome
    assert answer["sentences"][0].startswith(sentence)
    assert answer["difference"] is None


def test_without_snapshots_there_is_nothing_to_search(api, ada):
    log = Script("none", {"A": 1, "B": 2}, ["A->B"]).internal("A", "opens").log()
    answer = found(api, a_ready_recording(ada, log), expression="A == 1")
    assert (answer["outcome"], answer["total"], answer["first"]) == ("empty", 0, None)
    assert answer["sentences"] == ["There is no snapshot, so there is nothing to search."]


def test_the_causal_past_is_what_the_workbench_shows_for_the_event(api, ada):
    """The token that p3 dropped: every event of its past lies before the event in the log."""
    row = a_ready_recording(ada, BY_SLUG["token-copied"].log())
    past = found(api, row, property="token")["difference"]["past"]
    expected: dict[str, int] = {}
    for cause in past["causes"]:
        cones = api.get(
            f"/api/recordings/{row.pk}/cones/{cause['process']}/{cause['index']}"
        ).json()
        for name, position in zip(("p1", "p2", "p3"), cones["past"]["positions"], strict=True):
            expected[name] = max(expected.get(name, 0), position)
    detail = api.get(f"/api/recordings/{row.pk}/snapshots/s3").json()
    counts = {name: end - detail["positions"][name] for name, end in expected.items()}
    assert {item["process"]: item["count"] for item in past["processes"]} == counts
    assert past["events"] == sum(counts.values()) == 24
    assert past["events_between"] == 26


def test_the_past_is_that_of_what_the_condition_names(api, ada):
    log = counter(range(4), also="B")
    row = a_ready_recording(ada, log)
    for expression, expected in (
        ("B == 2", ["B"]),
        ("processes.all(p, processes[p] == 2)", ["A", "B"]),
    ):
        causes = found(api, row, expression=expression)["difference"]["past"]["causes"]
        assert [cause["of"] for cause in causes] == [f"the state of {name}" for name in expected]
        for cause in causes:
            address = f"/api/recordings/{row.pk}/events/{cause['process']}/{cause['index']}"
            assert api.get(address).json()["state"] == 2


def test_theory_says_nothing_about_snapshots_that_are_not_consistent(api, ada):
    row = a_ready_recording(ada, record_late(simulated()).log)
    answer = found(api, row, property="token")
    assert answer["basis"] == "none"
    assert (
        "so the run may never have been able to reach what it recorded" in answer["why_not_stable"]
    )


def crossing():
    """Return a run in which A and B begin a snapshot each, before either hears of the other's."""
    script = Script("crossing", {"A": 0, "B": 0}, ["A->B", "B->A"])
    for name, first, second in (("s1", "A", "B"), ("s2", "B", "A")):
        script = script.record(first, name).send_marker(f"{first}->{second}", name)
    for name, first, second in (("s1", "A", "B"), ("s2", "B", "A")):
        there, back = f"{first}->{second}", f"{second}->{first}"
        script = script.receive_marker(there, name).record(second, name)
        script = script.record_channel(there, name).send_marker(back, name)
    for name, back in (("s1", "B->A"), ("s2", "A->B")):
        script = script.receive_marker(back, name).record_channel(back, name)
    return script.log()


def test_theory_says_nothing_about_snapshots_whose_cuts_cross(api, ada):
    row = a_ready_recording(ada, crossing())
    assert {item.verdict for item in row.snapshots.all()} == {"consistent"}
    answer = found(api, row, property="termination")
    assert (answer["basis"], answer["searched"]) == ("none", False)
    assert answer["why_not_stable"] == (
        "The cuts of s1 and s2 cross at B: neither state can be reached from the other."
    )
    pair = found(api, row, expression='snapshot == "s2"')
    assert pair["difference"]["notes"] == [answer["why_not_stable"]]
    assert pair["difference"]["changes"] == []
    assert pair["difference"]["past"] is None
    assert "no event between the two snapshots" in pair["difference"]["why_no_past"]


def test_the_limit_of_states_is_said(api, ada, monkeypatch):
    monkeypatch.setattr(module, "MOST_EVALUATED", 3)
    row = a_ready_recording(ada, counter(range(6)))
    answer = found(api, row, expression="A == 5")
    assert (answer["evaluated"], answer["outcome"], answer["earliest"]) == (3, "not-known", 3)
    assert answer["stopped"] == "At most 3 snapshots are evaluated at once."
    assert "3 snapshots that may be the first were not evaluated." in answer["sentences"]


def test_states_that_are_too_large_at_once_are_evaluated_in_parts(api, ada, monkeypatch):
    monkeypatch.setattr(evaluation, "LARGEST_INPUT", 200)
    row = a_ready_recording(ada, counter(range(8)))
    assert title(found(api, row, expression="A == 5")["first"]) == "snapshot s5"
    monkeypatch.setattr(evaluation, "LARGEST_INPUT", 10)
    refused = ask(api, row, expression="A == 5")
    assert (refused.status_code, refused.json()["field"]) == (422, "expression")


def test_a_search_that_has_no_time_left_says_so(api, ada, monkeypatch):
    monkeypatch.setattr(module, "SECONDS", -1.0)
    answer = found(api, a_ready_recording(ada, counter(range(3))), expression="A == 2")
    assert (answer["evaluated"], answer["outcome"]) == (0, "not-known")
    assert answer["stopped"].startswith("The search was stopped after")


@pytest.mark.parametrize(
    ("question", "field"),
    [
        ({}, "property"),
        ({"property": "deadlock", "expression": "true"}, "property"),
        ({"expression": "A +"}, "expression"),
        ({"expression": "A == 1", "stable": "yes"}, "stable"),
        ({"expression": "A == 1", "series": "events"}, "series"),
        ({"property": "phase", "phase": 0}, "phase"),
    ],
)
def test_a_question_without_meaning_is_refused_at_its_field(api, ada, question, field):
    answer = ask(api, a_ready_recording(ada), **question)
    assert (answer.status_code, answer.json()["field"]) == (422, field)


def test_a_log_has_no_series_of_checkpoints(api, ada):
    answer = ask(api, a_ready_recording(ada), series="checkpoints", expression="true")
    assert answer.status_code == 404


def test_only_who_may_see_it_may_search_it(api, ada):
    row = a_ready_recording(ada)
    stranger = a_person("bob@example.org")
    assert ask(a_client(stranger), row, property="token").status_code == 404
    assert signed_in(stranger).get(f"/recordings/{row.pk}/bisect").status_code == 404


def test_the_checkpoints_of_an_upload_are_searched_by_their_sums(api, ada, shared_data):
    row = stored_upload(ada, FlinkReader(), shared_data / "flink" / "bank-unaligned")
    answer = found(api, row, series="checkpoints", expression=NEGATIVE)
    assert (title(answer["before"]), title(answer["first"])) == ("checkpoint 1", "checkpoint 2")
    said = [item["answer"]["sentence"] for item in answer["items"]]
    assert "756 < 0" in said[0]
    assert "-6,520 < 0" in said[1]
    difference = answer["difference"]
    assert difference["past"] is None
    assert "checkpoints hold states and files, but no events" in difference["why_no_past"]
    whole = api.get(f"/api/recordings/{row.pk}/contents/0/difference/1").json()
    assert difference["checkpoints"] == whole
    by_theory = found(api, row, series="checkpoints", property="token")
    assert (by_theory["outcome"], by_theory["basis"]) == ("not-known", "none")
    assert by_theory["why_not_stable"].startswith("Checkpoints are no snapshots of a logged run")
    job = ada.enginejob_set.get()
    archived = post_json(api, f"/api/archive/{job.pk}/bisect", {"expression": NEGATIVE}).json()
    assert [item["contents"] for item in archived["items"]] == [0, 1]
    assert archived["difference"] == difference
    stranger = a_client(a_person("bob@example.org"))
    address = f"/api/archive/{job.pk}/bisect"
    assert post_json(stranger, address, {"expression": NEGATIVE}).status_code == 404


def test_inventories_of_older_versions_are_searched(api, ada, shared_data):
    row = stored_upload(ada, FlinkReader(), shared_data / "flink" / "bank-unaligned")
    folder = recordings.store().folder(row.store) / CONTENTS
    for number in (0, 1):
        path = folder / CHECKPOINT.format(number)
        body = json.loads(path.read_bytes())
        path.write_text(json.dumps({k: v for k, v in body.items() if k not in OF_NEWER_VERSIONS}))
    answer = found(api, row, series="checkpoints", expression=NEGATIVE)
    assert (title(answer["before"]), title(answer["first"])) == ("checkpoint 1", "checkpoint 2")


BANKS = {"bank-unaligned": "cf54bcdd206612bc627ec5c6be977ffa"} | {
    "bank-aligned": "7c2b78894334b4ddf9c6336e99054ea6"
}


def some_checkpoints(shared_data, case: str, numbers, target):
    """Copy the folders of some checkpoints of a job of Flink, and return where they are."""
    parts = [f"{BANKS[case]}/chk-{number}" for number in numbers]
    return parts_of(shared_data / "flink" / case / "files", parts, target)


def test_the_uploads_of_an_archived_job_form_one_series(api, ada, shared_data, tmp_path):
    uploads = [
        stored_upload(
            ada,
            FlinkReader(),
            some_checkpoints(shared_data, "bank-unaligned", [number], tmp_path / str(number)),
        )
        for number in (2, 1)
    ]
    job = ada.enginejob_set.get()
    answer = post_json(api, f"/api/archive/{job.pk}/bisect", {"expression": NEGATIVE}).json()
    assert [item["recording"] for item in answer["items"]] == [uploads[1].pk, uploads[0].pk]
    assert answer["first"]["recording"] == uploads[0].pk
    change = answer["difference"]["checkpoints"]
    assert (change["before"], change["after"], change["files"]) == (1, 2, [])
    assert "They are in different uploads, so their files are not compared." in change["notes"]
    withdraw = next(item for item in change["operators"] if item["name"] == "withdraw")
    balance = next(item for item in withdraw["states"] if item["name"] == "balance")
    assert balance["entries"] == {"before": 2, "after": 8}
    assert sum(balance["counts"].values()) == 8
    Recording.objects.filter(pk=uploads[0].pk).update(status="running")
    again = post_json(api, f"/api/archive/{job.pk}/bisect", {"expression": NEGATIVE}).json()
    assert (again["total"], again["outcome"]) == (1, "never")


def test_a_failed_checkpoint_is_not_known_and_says_why(api, ada, shared_data):
    row = stored_upload(ada, FlinkReader(), shared_data / "flink" / "failures")
    listed = api.get(f"/api/recordings/{row.pk}/contents").json()["checkpoints"]
    answer = found(api, row, series="checkpoints", expression="size(snapshot) > 0")
    assert answer["total"] == len(listed) == 15
    for item, answered in zip(listed, answer["items"], strict=True):
        is_known = item["status"] == "completed"
        assert answered["answer"]["answer"] == ("true" if is_known else "unknown")
        assert is_known or answered["answer"]["sentence"]
    assert answer["stability"] == "open"


def test_numbers_that_the_upload_lacks_are_named(api, ada, shared_data, tmp_path):
    folder = some_checkpoints(shared_data, "bank-aligned", [1, 3], tmp_path / "bank")
    row = stored_upload(ada, FlinkReader(), folder)
    answer = found(api, row, series="checkpoints", expression='snapshot == "3"')
    assert title(answer["first"]) == "checkpoint 3"
    assert "The upload lacks number 2, in which it may have held." in answer["sentences"]


@pytest.mark.parametrize(
    ("numbers", "answers", "is_stable", "sentence"),
    [
        ([1, 2, 3], [False, None, True], False, None),
        ([1, 5, 6, 7], [False, False, False, True], False, "the numbers 2 to 4: it may have held "),
        ([1, 5, 6, 7], [False, False, False, True], True, None),
        ([1, 3, 5, 8], [False, False, None, True], True, "the numbers 4 and 6 to 7: it may have "),
        ([1, 3], [False, False], False, "number 2, in which it may have held."),
        ([1, 3], [True, True], False, None),
    ],
)
def test_only_numbers_that_are_missing_and_may_be_first_are_named(
    numbers, answers, is_stable, sentence
):
    items = [HeldCheckpoint(Recording(), 0, number, "checkpoint") for number in numbers]
    for kind, where in (
        (CHECKPOINTS, "The upload lacks "),
        (ARCHIVE, "No upload that you may see"),
    ):
        result = search.bisect(
            len(items), lambda places: [answers[n] for n in places], MANY, is_stable=is_stable
        )
        series = CheckpointSeries(items, "", kind)
        said = module.sentences(series, result, "declared" if is_stable else "none")
        named = [text for text in said if text.startswith(where)]
        assert len(named) == (sentence is not None)
        assert all(sentence in text for text in named)


@pytest.mark.parametrize(
    ("engine", "case", "question", "titles"),
    [
        ("spark-streaming", "window-agg-hdfs", {}, ["batch 0", "no-data batch 1"]),
        ("seatunnel", SEVERAL, {}, ["checkpoint 2", "checkpoint 3", "checkpoint 4"]),
        ("seatunnel", SEVERAL, {"pipeline": 2}, ["checkpoint 1", "checkpoint 2"]),
    ],
)
def test_each_engine_has_its_series(
    api, ada, shared_data, tmp_path, engine, case, question, titles
):
    with zipfile.ZipFile(shared_data / engine / f"{case}.zip") as package:
        package.extractall(tmp_path / "files")
    row = an_upload(ada, engine, tmp_path / "files")
    answer = found(api, row, series="checkpoints", expression="size(snapshot) > 0", **question)
    listed = [item["title"] for item in answer["items"]]
    assert listed[: len(titles)] == titles
    assert len(listed) == answer["total"]
    refused = ask(api, row, series="checkpoints", expression="true", pipeline=7)
    assert (refused.status_code, refused.json()["field"]) == (422, "pipeline")
