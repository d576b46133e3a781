"""The page that says whose the bytes of a checkpoint are, and its table."""

import csv
import io
import re

import pytest

from snapshots.files import recordings
from snapshots.readers.engines.flink.adapter.reader import FlinkReader
from snapshots.readers.engines.spark_streaming.adapter.reader import SparkUpload
from snapshots.store.inventory.writing import write_inventory
from tests.readers.engines.spark_streaming.cases import unpack
from tests.web.given import a_client, a_person, a_ready_recording, signed_in
from tests.web.pages.test_inventory import words

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("data_dir")]


@pytest.fixture
def flink(ada, shared_data):
    def written(name: str) -> str:
        recording = a_ready_recording(ada, format="flink")
        upload = FlinkReader().read(shared_data / "flink" / name)
        write_inventory(recordings.store().folder(recording.store), upload)
        return f"/recordings/{recording.pk}/contents"

    return written


@pytest.fixture
def spark(ada, shared_data, tmp_path):
    def written(name: str, without: str = "") -> str:
        folder, _ = unpack(shared_data / "spark-streaming" / f"{name}.zip", tmp_path)
        for file in list(folder.rglob(without)) if without else ():
            file.unlink()
        recording = a_ready_recording(ada, format="spark-streaming")
        write_inventory(recordings.store().folder(recording.store), SparkUpload(folder))
        return f"/recordings/{recording.pk}/contents"

    return written


def test_the_page_opens_with_the_answer_and_is_reached_from_the_inventory(flink, ada):
    address, client = flink("rocksdb-incremental"), signed_in(ada)
    assert f'href="{address}/3/bytes"' in client.get(f"{address}/3").content.decode()
    shown = words(client.get(f"{address}/3/bytes"))
    for sentence in (
        "Checkpoint 4 takes 217 kB.",
        "enrich takes most: 144 kB, 66 % of it.",
        "195 kB are new, 21.9 kB taken over from earlier.",
        "It shrank by 8.3 kB since number 3.",
        "8 key groups, most in key group 13: 328 B",
    ):
        assert sentence in shown
    first = words(client.get(f"{address}/0/bytes"))
    assert "All of it is new." in first
    assert "How much it grew is not known. The upload has no earlier checkpoint" in first


def test_shared_and_taken_over_are_explained_together(flink, spark, ada):
    client, batch = signed_in(ada), f"{spark('window-agg-hdfs')}/7"
    for address, others in (
        (f"{flink('rocksdb-incremental')}/3/bytes", "checkpoints"),
        (batch, "batches"),
        (f"{batch}/bytes", "batches"),
    ):
        shown = words(client.get(address))
        assert f"Shared are the bytes that other {others} of this upload need, too" in shown
        assert "Taken over are the bytes that an older one stored" in shown
    assert "Shared are" not in words(client.get(f"{flink('failures')}/2"))


def test_what_is_not_known_is_said_with_the_reason_and_never_zero(flink, spark, ada):
    client = signed_in(ada)
    old = words(client.get(f"{flink('v3-orders-rocksdb')}/1/bytes"))
    assert "How much of it is new is not known. The files do not say" in old
    unread = words(client.get(f"{spark('join-inner-rocksdb-vcf', without='*.zip')}/7/bytes"))
    states = unread[unread.index("Operators and states") : unread.index("Heaviest keys")]
    assert "left join side not known not known" in states
    assert " 0 B" not in states.partition("State Kind")[2]
    failed = words(client.get(f"{flink('failures')}/2/bytes"))
    assert "It failed, so that there are no files of it" in failed
    assert re.search(r"checkpoint \d+ the upload has a report of [\d.]+ kB, but no files", failed)
    assert "How much it grew is not known. It did not complete" in failed


def test_growth_is_not_measured_from_a_checkpoint_that_failed(flink, ada):
    address, client = flink("failures"), a_client(ada)
    listed = client.get(f"/api{address}").json()["checkpoints"]
    after_failure = [
        number
        for number, item in enumerate(listed)
        if number and item["status"] == "completed" and listed[number - 1]["status"] == "failed"
    ]
    assert after_failure
    for number in after_failure:
        since = client.get(f"/api{address}/{number}/bytes").json()["since"]
        [earlier] = [item for item in listed if item["id"] == since]
        assert (earlier["status"], earlier["problem"]) == ("completed", None)


def test_a_batch_without_state_has_nothing_new_and_nothing_of_it_is_unknown(spark, ada):
    shown = words(signed_in(ada).get(f"{spark('stateless-rate-to-json')}/0/bytes"))
    assert "Batch 0 takes 0 B." in shown
    assert "new is not known" not in shown


def test_the_table_has_the_numbers_of_the_page_and_runs_no_formula(flink, ada):
    address = flink("bank-unaligned")
    answer = a_client(ada).get(f"/api{address}/1/bytes.csv")
    assert answer["Content-Type"] == "text/csv; charset=utf-8"
    assert 'filename="bytes-2.csv"' in answer["Content-Disposition"]
    rows = list(csv.DictReader(io.StringIO(answer.content.decode())))
    stored = sum(int(row["bytes"]) for row in rows if row["counts"] == "stored")
    checkpoint = a_client(ada).get(f"/api{address}/1").json()
    assert stored == checkpoint["bytes"] == 102_589
    in_flight = [row for row in rows if row["part or state"].startswith("in flight")]
    assert sum(int(row["bytes"]) for row in in_flight) == 96_418  # as Flink's REST API says
    coordinators = [row for row in rows if row["subtask"] == "-1"]
    assert coordinators  # a number stays a number


def test_others_do_not_see_the_bytes(flink, ada):
    address, eve = flink("bank-aligned"), a_person("eve@example.org")
    for path in (f"{address}/0/bytes", f"/api{address}/0/bytes", f"/api{address}/0/bytes.csv"):
        client = a_client(eve) if path.startswith("/api") else signed_in(eve)
        assert client.get(path).status_code == 404
    assert a_client(ada).get(f"/api{address}/9/bytes").status_code == 404
