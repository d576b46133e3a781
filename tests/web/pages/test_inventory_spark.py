"""The pages of inventories of real Spark checkpoints: what is damaged, what was in flight."""

import pytest

from snapshots.files import recordings
from snapshots.readers.engines.spark_streaming.adapter.reader import SparkUpload
from snapshots.store.inventory.reading import StoredInventory, as_checkpoint
from snapshots.store.inventory.writing import write_inventory
from tests.readers.engines.spark_streaming.cases import MAIN, unpack
from tests.web.given import a_client, a_ready_recording, signed_in
from tests.web.pages.test_inventory import words

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("data_dir")]


@pytest.fixture
def given(ada, shared_data, tmp_path):
    """Return the address of a recording beside which the inventory of a case is stored."""

    def written(name: str) -> str:
        folder, _ = unpack(shared_data / "spark-streaming" / f"{name}.zip", tmp_path)
        recording = a_ready_recording(ada, format="spark-streaming")
        into = recordings.store().folder(recording.store)
        found = write_inventory(into, SparkUpload(folder))
        stored = StoredInventory(into)
        for number, checkpoint in enumerate(found.checkpoints):
            assert as_checkpoint(stored.checkpoint(number)) == checkpoint
        return f"/recordings/{recording.pk}/contents"

    return written


def test_a_batch_in_flight_says_what_was_planned_and_how_far_it_came(given, ada):
    address = given("incident-partial-partitions")
    page = signed_in(ada)
    assert "batch 2: 7 rows, 1 file" in words(page.get(address))
    shown = words(page.get(f"{address}/2"))
    for said in (
        "planned, not committed: batch 2: 7 rows, 1 file",
        "source 0 FileStreamSource[file:/data/spark-cases/incident-partial-partitions/input/clicks]"
        ' {"logOffset":1} {"logOffset":2} c02.json 7',
        "partitions 0 and 1 wrote the state of this batch; partition 2 did not .",
        "A restart runs the same batch again, with the same offsets, from the state before",
    ):
        assert said in shown
    assert shown.index("How far the batch came") < shown.index("settings of the engine")
    assert "It is not known what was in flight" not in shown
    assert "In flight" not in words(page.get(f"{address}/1")).split("Operators")[1]
    api = a_client(ada)
    assert api.get(f"/api{address}/2").json()["planned"]["written"][0]["lacking_text"] == "2"
    listed = api.get(f"/api{address}").json()
    assert [one["planned"] and one["planned"]["rows"] for one in listed["checkpoints"]] == [
        *[None, None, 7]
    ]
    assert "settings" not in listed["checkpoints"][0]


def test_rows_that_are_not_counted_are_shown_as_offsets(given, ada):
    address = given("stateless-rate-to-json")
    assert "batch 4: 6 offsets" in words(signed_in(ada).get(address))


def test_what_is_damaged_stands_above_with_what_it_spoils(given, ada):
    address = given("damaged-missing-delta")
    shown = words(signed_in(ada).get(address))
    said = (
        f"1 file is damaged or missing {MAIN}/state/0/0/3.delta : It is missing, and without it "
        "the state cannot be put together. It spoils batches 2 to 10 ."
    )
    assert said in shown
    assert shown.index(said) < shown.index("state store")
    found = a_client(ada).get(f"/api{address}").json()
    assert (found["flaws_total"], found["flaws"][0]["spoils"]) == (1, "batches 2 to 10")
    assert "damaged or missing" not in words(signed_in(ada).get(given("window-agg-hdfs")))


def test_states_that_are_not_read_have_no_known_number_of_entries(given, ada):
    address = given("join-inner-rocksdb-vcf")
    shown = words(signed_in(ada).get(f"{address}/7"))
    assert "(ts, ad, user) not known not known" in shown
    assert "The size of a state here is that of its keys and values written as JSON" in shown
    found = a_client(ada).get(f"/api{address}/7").json()
    states = [state for operator in found["operators"] for state in operator["states"]]
    assert [state["entries"] for state in states] == [None] * len(states)
    changed = words(signed_in(ada).get(f"{address}/7/difference"))
    assert "left join side 0" not in changed
