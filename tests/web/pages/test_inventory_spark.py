"""The pages of inventories of real Spark checkpoints: what is damaged, what was in flight."""

import pytest

from snapshots.files import recordings
from snapshots.models import WHOLE_STATE, Job, Recording
from snapshots.readers.engines.spark_streaming.adapter import entries
from snapshots.readers.engines.spark_streaming.adapter.reader import SparkUpload
from snapshots.store.inventory.reading import StoredInventory, as_checkpoint
from snapshots.store.inventory.writing import write_inventory
from tests.readers.engines.spark_streaming.cases import MAIN, unpack
from tests.web.engine_uploads import an_upload
from tests.web.given import a_client, a_ready_recording, signed_in
from tests.web.pages.test_inventory import words
from tests.web.sentences import blocks_of

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("data_dir")]


@pytest.fixture
def given(ada, shared_data, tmp_path):
    """Return the address of a recording beside which the inventory of a case is stored."""

    def written(name: str, without: str = "") -> str:
        folder, _ = unpack(shared_data / "spark-streaming" / f"{name}.zip", tmp_path)
        for file in list(folder.rglob(without)) if without else ():
            file.unlink()
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
    address = given("join-inner-rocksdb-vcf", without="*.zip")
    shown = words(signed_in(ada).get(f"{address}/7"))
    assert "(ts, ad, user) not known not known" in shown
    assert "The size of a state here is that of its keys and values written as JSON" in shown
    found = a_client(ada).get(f"/api{address}/7").json()
    states = [state for operator in found["operators"] for state in operator["states"]]
    assert [state["entries"] for state in states] == [None] * len(states)
    changed = words(signed_in(ada).get(f"{address}/7/difference"))
    assert "left join side 0" not in changed


def test_the_state_of_all_batches_is_read_for_whoever_asks(given, ada, monkeypatch):
    monkeypatch.setattr(entries, "MOST_ENTRIES", 30)
    address, client = given("window-agg-hdfs"), signed_in(ada)
    row = Recording.objects.get()
    assert "Read the state of all batches" not in words(client.get(address))  # nothing to read
    Recording.objects.update(upload="kept")
    assert "Read the state of all batches" in words(client.get(address))
    assert client.post(f"/recordings/{row.pk}/again", {"whole_state": "yes"}).status_code == 302
    assert (job := Job.objects.get()).kind == Job.Kind.INGEST
    assert job.recording.parameters[WHOLE_STATE] is True
    Job.objects.all().delete()
    Recording.objects.update(parameters=None)
    answer = a_client(ada).post(f"/api/recordings/{row.pk}/ingest?whole_state=true")
    assert answer.status_code == 202
    assert Recording.objects.get().parameters == {WHOLE_STATE: True}


@pytest.fixture
def of_parts(ada, shared_data, tmp_path):
    """Return the recording of only these parts of a case."""

    def written(name: str, *parts: str):
        folder, _ = unpack(shared_data / "spark-streaming" / f"{name}.zip", tmp_path)
        for part in parts:
            target = tmp_path / "upload" / part
            target.parent.mkdir(parents=True, exist_ok=True)
            (folder / part).rename(target)
        return an_upload(ada, "spark-streaming", tmp_path / "upload")

    return written


LOGS = f"{MAIN}/offsets", f"{MAIN}/commits"


@pytest.mark.parametrize("case", ["window-agg-hdfs", "stateless-rate-to-json"])
def test_without_its_folder_the_state_is_not_known(ada, of_parts, case):
    row = of_parts(case, *LOGS)
    first = a_client(ada).get(f"/api/recordings/{row.pk}/contents/0").json()
    assert (first["bytes"], first["shared"], first["operators"]) == (None, None, [])
    assert first["why_state_unknown"].startswith("The upload holds no folder state/")
    address = f"/recordings/{row.pk}/contents"
    listed, page = (words(signed_in(ada).get(at)) for at in (address, f"{address}/0"))
    assert "0 B" not in listed.split("Files of the upload")[0]
    assert "State not known" in page
    assert first["why_state_unknown"] in page
    assert "0 operators" not in page


def test_without_its_folder_nobody_says_whose_bytes_the_state_has(ada, of_parts):
    address = f"/recordings/{of_parts('window-agg-hdfs', *LOGS).pk}/contents/0/bytes"
    page = words(signed_in(ada).get(address))
    assert "It is not known how large batch 0 is." in page
    assert "How much of it is new is not known. The upload holds no folder state/" in page
    assert "0 operators" not in page
    assert "This checkpoint has no state with keys" not in page


def test_what_a_report_names_and_the_upload_lacks_is_missing(ada, of_parts):
    row = of_parts("window-agg-hdfs", *LOGS, "progress.jsonl")
    api = a_client(ada)
    first = api.get(f"/api/recordings/{row.pk}/contents/0").json()
    missing = {file["path"]: file["reason"] for file in first["missing"]}
    assert missing.keys() == {f"{MAIN}/state/", f"{MAIN}/sources/0/"}
    assert "progress reports name stateful operators" in missing[f"{MAIN}/state/"]
    contents = api.get(f"/api/recordings/{row.pk}/contents").json()
    assert {flaw["path"]: flaw["spoils"] for flaw in contents["flaws"]} == dict.fromkeys(
        missing, "batches 0 to 11"
    )
    snapshot = api.get(f"/api/recordings/{row.pk}/snapshots/0").json()
    assert [item["sentence"] for item in snapshot["verdicts"]][:2] == [
        f"{path}: {reason}" for path, reason in missing.items()
    ]


@pytest.mark.parametrize("case", ["continuous-rate-to-memory", "stateless-rate-to-json"])
def test_a_query_that_is_known_to_keep_no_state_has_none(ada, of_parts, case):
    row = of_parts(case, *LOGS, "progress.jsonl")
    first = a_client(ada).get(f"/api/recordings/{row.pk}/contents/0").json()
    assert (first["bytes"], first["why_state_unknown"], first["missing"]) == (0, None, [])


def test_without_state_nobody_says_that_the_query_keeps_none(ada, of_parts):
    row = of_parts("incident-partial-partitions", *LOGS)
    page = words(signed_in(ada).get(f"/recordings/{row.pk}/contents/2"))
    assert "The upload holds no state, so it does not tell how far the batch came." in page
    assert "keeps no state, so" not in page


def test_every_page_of_state_alone_says_what_is_not_known(ada, of_parts):
    row = of_parts("window-agg-hdfs", f"{MAIN}/state")
    client, address = signed_in(ada), f"/recordings/{row.pk}"
    pages = ("/contents", "/contents/3", "/contents/3/check", "/contents/check")
    shown = {page: words(client.get(address + page)) for page in pages}
    assert all("neither offsets/ nor commits/" in shown[page] for page in pages[:2])
    assert all("from these files? No: " in shown[page] for page in pages[2:])
    assert "commits/3" not in shown["/contents/3"]
    assert "0 B" not in shown["/contents/3"]
    for page in (
        "/contents/3/restore-plan",
        "/contents/3/difference",
        "/checkpoints",
        "/snapshots",
    ):
        assert client.get(address + page).status_code == 200, page
    plan = words(client.get(f"{address}/contents/3/restore-plan"))
    assert "Not known" in plan


def test_the_size_of_a_file_that_is_missing_is_not_known(given, ada):
    address = given("damaged-missing-delta")
    blocks = blocks_of(signed_in(ada).get(f"{address}/5"))
    size, why = blocks[blocks.index(f"{MAIN}/state/0/0/3.delta") + 1 :][:2]
    assert (size, why[:10]) == ("not known", "Without it")
