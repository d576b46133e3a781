"""Pages of derived recordings use the words of the engine, and two pages never contradict."""

import pytest

from tests.readers.engines.spark_streaming.cases import unpack
from tests.web.engine_uploads import an_upload
from tests.web.given import a_client, text_of
from tests.web.pages.test_inventory import words

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("data_dir")]


@pytest.fixture
def upload(ada, shared_data, tmp_path):
    """Return the recording of a case of Spark."""

    def written(name: str):
        folder, _ = unpack(shared_data / "spark-streaming" / f"{name}.zip", tmp_path)
        return an_upload(ada, "spark-streaming", folder)

    return written


def test_a_batch_in_flight_says_of_each_partition_whether_it_wrote(client, upload):
    row = upload("incident-partial-partitions")
    page = words(client.get(f"/recordings/{row.pk}/snapshots/2"))
    for partition in (0, 1):
        assert f"stateStoreSave[{partition}] wrote its state of batch 2, but the batch" in page
    assert "stateStoreSave[2] wrote no state of batch 2, which is not committed." in page
    assert "no state of 5 of 6 processes counts for it" in page
    assert "Markers none: Spark works without markers" in page
    assert "marker of theirs" not in page
    assert "never recorded" not in page
    assert " never " not in page


def test_when_every_partition_wrote_none_is_said_to_have_written_nothing(client, upload):
    row = upload("incident-state-ahead")
    page = words(client.get(f"/recordings/{row.pk}/snapshots/2"))
    assert "Every partition wrote the state of the batch" in page
    assert page.count("wrote its state of batch 2") == 2
    assert "wrote no state" not in page


@pytest.mark.parametrize(
    ("case", "number"), [("continuous-rate-to-memory", 0), ("incident-planned-only", 3)]
)
def test_the_snapshot_and_its_checkpoint_give_one_reason(ada, client, upload, case, number):
    row = upload(case)
    api = a_client(ada)
    held = api.get(f"/api/recordings/{row.pk}/contents/{number}").json()
    snapshot = api.get(f"/api/recordings/{row.pk}/snapshots/{held['id']}").json()
    assert held["why_unknown"] == snapshot["why_unknown"] is not None
    assert held["why_empty"] is None
    assert set(snapshot["channels"].values()) == {None}
    page = words(client.get(f"/recordings/{row.pk}/snapshots/{held['id']}"))
    assert held["why_unknown"] in page
    assert "known to be empty" not in page


def test_a_cut_of_a_derived_recording_is_not_called_consistent(ada, upload):
    row = upload("window-agg-hdfs")
    body = {"at": row.ended_at}
    answer = a_client(ada).post(f"/api/recordings/{row.pk}/cuts", body, "application/json")
    cut = answer.json()
    assert (cut["consistent"], cut["total"], cut["channels"]) == (None, None, {})
    assert cut["orphans_total"] == 0


def test_the_workbench_knows_that_the_recording_is_derived(client, upload):
    row = upload("window-agg-hdfs")
    assert '"is_derived": true' in text_of(client.get(f"/recordings/{row.pk}?snapshot=0"))


@pytest.mark.parametrize("case", ["damaged-missing-delta", "window-agg-hdfs"])
def test_a_damaged_upload_is_not_said_to_be_without_defects(client, upload, case):
    row = upload(case)
    page = words(client.get(f"/recordings/{row.pk}/defects"))
    assert "What is damaged or missing in the upload itself is in its inventory" in page
    assert "Every line of this log was understood" not in page


def test_a_restore_of_a_derived_snapshot_promises_no_comparison(client, upload):
    row = upload("window-agg-hdfs")
    page = words(client.get(f"/recordings/{row.pk}/snapshots/0"))
    assert "Whether the engine's own run would end so cannot be told." in page
    assert "whether it ends as the original did" not in page
