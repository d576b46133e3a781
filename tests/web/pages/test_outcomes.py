"""Lists and exports say what became of each snapshot, and the four answers."""

import csv
import io
import json

import pytest

from snapshots.answers.outcomes import sentence_of
from tests import damage
from tests.builders import a_run, simulated
from tests.domain.judging.edges import sums_beyond_63_bits
from tests.readers.engines.spark_streaming.cases import unpack
from tests.web.engine_uploads import an_upload
from tests.web.given import a_client, a_ready_recording, text_of
from tests.web.pages.test_inventory import words

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("data_dir")]


@pytest.fixture
def upload(ada, shared_data, tmp_path):
    """Return the recording of a case of Spark."""

    def written(name: str):
        folder, _ = unpack(shared_data / "spark-streaming" / f"{name}.zip", tmp_path)
        return an_upload(ada, "spark-streaming", folder)

    return written


def without_states():
    """Return a consistent snapshot of states that nobody logged."""
    run = a_run().internal("p", "works", state=None).record("p", "s1", state=4).record("q", "s1")
    return run.record_channel("p->q", "s1").record_channel("q->p", "s1").log()


def listed(ada) -> dict:
    (item,) = a_client(ada).get("/api/recordings").json()["items"]
    return item


@pytest.mark.parametrize(
    ("case", "outcomes"),
    [
        ("window-agg-hdfs", {"not judged": 12}),
        ("incident-partial-partitions", {"in progress": 1, "not judged": 2}),
        ("damaged-missing-delta", {"damaged": 9, "not judged": 3}),
    ],
)
def test_lists_tell_damaged_in_progress_and_not_judged_apart(client, ada, upload, case, outcomes):
    row = upload(case)
    assert listed(ada)["outcomes"] == outcomes
    home, snapshots = (words(client.get(at)) for at in ("/", f"/recordings/{row.pk}/snapshots"))
    for word, count in outcomes.items():
        assert f"{count} {word}" in home
        assert snapshots.count(f" {word} ") == count
    assert "unknown" not in home
    assert "unknown" not in snapshots
    workbench = text_of(client.get(f"/recordings/{row.pk}?snapshot=0"))
    assert json.dumps({"outcome": "not judged"})[1:-1] in workbench


def test_the_list_of_recordings_sums_up_the_four_answers(client, ada):
    a_ready_recording(ada, without_states())
    item = listed(ada)
    assert item["outcomes"] == {"consistent": 1}
    assert item["answers"]["states"] == {"not-known": 1}
    assert "holds: cut and channels; not known: states and rule" in words(client.get("/"))


def test_an_answer_that_fails_somewhere_says_in_how_many():
    two = {"holds": 2}
    answers = {"cut": {"holds": 1, "does-not-hold": 1}, "channels": two, "states": two, "rule": two}
    assert sentence_of(answers) == "does not hold in 1 of 2: cut; holds: channels, states and rule"
    assert sentence_of({question: {"not-known": 2} for question in answers}) == ""


def test_the_list_of_snapshots_has_a_column_for_each_answer(client, ada):
    row = a_ready_recording(ada, damage.record_late(simulated(seed=2)).log)
    page = text_of(client.get(f"/recordings/{row.pk}/snapshots"))
    snapshot = row.snapshots.first()
    for item in snapshot.answers:
        assert f'data-answer="{item["answer"]}"' in page
    assert snapshot.verdict in page
    assert f'href="/recordings/{row.pk}/snapshots/{snapshot.snapshot}"' in page


def test_the_csv_has_the_answers_with_their_reasons(client, ada):
    row = a_ready_recording(ada, without_states())
    answer = client.get(f"/recordings/{row.pk}/snapshots?format=csv")
    assert answer["Content-Type"].startswith("text/csv")
    (line,) = csv.DictReader(io.StringIO(answer.getvalue().decode()))
    assert (line["outcome"], line["verdict"], line["states"]) == (
        *("consistent", "consistent"),
        "not known",
    )
    assert (line["cut"], line["channels"], line["rule"]) == ("holds", "holds", "not known")
    by_question = {item["question"]: item for item in row.snapshots.get().answers}
    assert line["states_why"] == by_question["states"]["sentence"]
    assert line["rule_why"] == by_question["rule"]["sentence"]


def test_the_csv_of_a_derived_recording_claims_nothing(client, upload):
    row = upload("window-agg-hdfs")
    text = client.get(f"/recordings/{row.pk}/snapshots?format=csv").getvalue().decode()
    lines = list(csv.DictReader(io.StringIO(text)))
    assert len(lines) == 12
    for line in lines:
        assert {line[question] for question in ("cut", "channels", "states", "rule")} == {
            "not known"
        }
        assert "derived" in line["cut_why"]


@pytest.mark.parametrize("name", ["=1+1", "＝1+1", "＠sum"])
def test_a_name_that_a_spreadsheet_would_compute_is_text_in_the_csv(client, ada, name):
    row = a_ready_recording(ada, a_run().record("p", name).log())
    text = client.get(f"/recordings/{row.pk}/snapshots?format=csv").getvalue().decode()
    assert text.splitlines()[1].startswith(f'"\'{name}",')


def test_the_page_that_compares_recordings_has_their_answers(client, ada):
    row = a_ready_recording(ada, without_states())
    page = words(client.get(f"/compare?recordings={row.pk}"))
    assert "1 consistent" in page
    assert "holds: cut and channels; not known: states and rule" in page


def test_a_batch_whose_times_no_file_tells_did_not_take_0(client, ada, upload):
    row = upload("damaged-missing-delta")
    items = a_client(ada).get(f"/api/recordings/{row.pk}/snapshots").json()["items"]
    assert {item["duration"] for item in items} == {None}
    page = words(client.get(f"/recordings/{row.pk}/snapshots/3"))
    assert "Took not known" in page
    assert "0 µs" not in page


def test_a_sum_beyond_63_bits_is_answered_exactly(client, ada):
    row = a_ready_recording(ada, sums_beyond_63_bits())
    (item,) = a_client(ada).get(f"/api/recordings/{row.pk}/snapshots").json()["items"]
    assert item["totals"]["total"] == 2**64 + 4
    assert "13,835,058,055,282,163,715 in channels" in words(
        client.get(f"/recordings/{row.pk}/snapshots/s1")
    )
    cut = {"step": 3}
    answer = a_client(ada).post(f"/api/recordings/{row.pk}/cuts", cut, "application/json")
    assert answer.json()["total"] == 2**64 + 4
    assert text_of(client.get(f"/recordings/{row.pk}?snapshot=s1"))
