"""The page and the call of a restore plan: the answer first, then its variants and the plan."""

import pytest

from snapshots.files import recordings
from snapshots.readers.engines import registry
from snapshots.store.inventory.writing import write_inventory
from tests.readers.engines.spark_streaming.cases import unpack
from tests.web.given import a_client, a_person, a_ready_recording, signed_in
from tests.web.pages.test_inventory import words

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("data_dir")]


@pytest.fixture
def given(ada, shared_data, tmp_path):
    """Return the address of a recording beside which the inventory of a case is stored."""

    def written(path: str, engine: str = "flink") -> str:
        folder = shared_data / path
        if folder.suffix == ".zip":
            folder, _ = unpack(folder, tmp_path)
        recording = a_ready_recording(ada, format=engine)
        into = recordings.store().folder(recording.store)
        write_inventory(into, registry.READERS[engine].read(folder))
        return f"/recordings/{recording.pk}/contents"

    return written


SAVEPOINT = "flink-upgrade/savepoints/base/canonical"


def test_the_page_opens_with_the_answer_for_the_parallelism_that_the_job_had(given, ada):
    address = given(SAVEPOINT)
    shown = words(signed_in(ada).get(f"{address}/0/restore-plan"))
    assert shown.index("Can it be restored with 2 subtasks?") < shown.index("Side by side")
    assert "Yes: Flink restores savepoint 2 with 2 subtasks." in shown
    assert "Split 1 goes on with the number 1,152." in shown
    assert "hex" not in shown
    assert "Plain sinks" not in shown  # only sinks that the job has
    assert "out: Writer taken to be a sink" in shown
    assert "Heaviest key groups: 2 with 150 B (60 %, to subtask 0)" in shown


def test_no_says_why_in_plain_words(given, ada):
    address = given(SAVEPOINT)
    shown = words(signed_in(ada).get(f"{address}/0/restore-plan", {"parallelism": "9"}))
    assert "No: Source: numbers, count, account, rules and ring have a maximum parallelism" in shown
    assert "a key group is never divided, and so Flink refuses 9 subtasks." in shown
    assert "Why The smallest" not in shown


def test_without_an_operator_both_variants_stand_side_by_side(given, ada):
    address = given(SAVEPOINT)
    asked = {"parallelism": "4", "without": "account"}
    shown = words(signed_in(ada).get(f"{address}/0/restore-plan", asked))
    assert "Yes, with allowNonRestoredState" in shown
    assert "savepoint 2, whole yes nothing" in shown
    assert "savepoint 2 without account this plan yes The state of account of 6,461 bytes" in shown
    body = a_client(ada).get(f"/api{address}/0/restore-plan", asked).json()
    assert [item["name"] for item in body["thrown_away"]] == ["account"]
    assert [item["is_asked"] for item in body["variants"]] == [False, True]
    unknown = {"parallelism": "4", "without": "nobody"}
    refused = a_client(ada).get(f"/api{address}/0/restore-plan", unknown)
    assert (refused.status_code, refused.json()["type"]) == (422, "/problems/not-restorable")
    assert "no operator with the id, uid or name nobody" in refused.json()["detail"]


def test_older_checkpoints_lead_to_plans_of_their_own(given, ada):
    address = given("flink/bank-unaligned")
    page = signed_in(ada)
    answer = page.get(f"{address}/1/restore-plan", {"parallelism": "3"})
    assert f'href="{address}/0/restore-plan?parallelism=3"' in answer.content.decode()
    shown = words(answer)
    assert "checkpoint 1, whole yes nothing 2,483 records read before checkpoint 2" in shown
    assert "96,294 bytes in flight are on exchanges (HASH) that Flink can divide." in shown


def test_the_page_of_a_batch_of_spark(given, ada):
    address = given("spark-streaming/incident-partial-partitions.zip", "spark-streaming")
    page = signed_in(ada)
    assert "restore-plan" in page.get(f"{address}/2").content.decode()
    shown = words(page.get(f"{address}/2/restore-plan"))
    assert "Can it be restored with 3 partitions?" in shown
    assert "Yes: Spark runs batch 2 again with the 3 partitions that its state has." in shown
    assert "Batch 2 runs again with the same offsets: 7 records." in shown
    other = words(page.get(f"{address}/2/restore-plan", {"parallelism": "5"}))
    assert "No: the query is tied to 3 partitions (offsets/2 says" in other
    body = a_client(ada).get(f"/api{address}/2/restore-plan", {"parallelism": "5"}).json()
    assert (body["answer"], body["engine"]) == ("no", "spark")


def test_strangers_see_no_plan(given):
    address = given(SAVEPOINT)
    eve = a_person("eve@example.org")
    assert signed_in(eve).get(f"{address}/0/restore-plan").status_code == 404
    assert a_client(eve).get(f"/api{address}/0/restore-plan?parallelism=2").status_code == 404


def test_a_checkpoint_that_only_the_rest_api_has_is_not_known(given, ada):
    address = given("flink/rescaled")
    shown = words(signed_in(ada).get(f"{address}/0/restore-plan", {"parallelism": "3"}))
    assert "not known Not known: its files are not in the upload" in shown
    kept = signed_in(ada).get(f"{address}/2/restore-plan", {"parallelism": "many"})
    assert kept.status_code == 422
