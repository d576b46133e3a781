"""The first answer, the restore plan and the check of the files do not contradict each other."""

import shutil

import pytest

from snapshots.answers.first_answer import of_inventory
from snapshots.answers.restore import Question, flow_of
from snapshots.domain.inventory.restore_check import RESTORABLE
from snapshots.domain.inventory.spark_plan import fixed_partitions
from snapshots.readers.engines import registry
from snapshots.store.inventory.reading import StoredInventory, as_checkpoint
from snapshots.store.inventory.writing import write_inventory
from tests.answers.first_answers import SUITES, cases, named, unpack

OTHER_REASONS = ("which operators this checkpoint has", "continuous processing")


@pytest.fixture
def read(tmp_path):
    """Return a function that reads the files of a case into a store."""

    def read(files, name="store"):
        store = tmp_path / name
        store.mkdir()
        names = sorted(p.relative_to(files).as_posix() for p in files.rglob("*") if p.is_file())
        upload = registry.recognise(files, tuple(names), registry.PACKAGE).reader.read(files)
        write_inventory(store, upload)
        return upload, StoredInventory(store)

    return read


def plan(upload, inventory, number):
    """Return a restore plan that asks for a parallelism that fits."""
    held, flow = (
        as_checkpoint(inventory.checkpoint(number)),
        flow_of(upload.recording()[0].topology.channels),
    )
    width = fixed_partitions(held) if inventory.upload["engine"] == "spark" else 1
    return Question(inventory, flow, width or 1).answer(number)


def require_agreement(upload, inventory):
    for number, whole in inventory.completeness.items():
        planned = plan(upload, inventory, number)
        if planned["answer"] == "yes":
            assert whole.answer == RESTORABLE, planned["headline"]
        elif whole.answer == RESTORABLE:
            assert any(reason in planned["headline"] for reason in OTHER_REASONS), planned
    require_newest(inventory)


def require_newest(inventory):
    """Require that a checkpoint that is called restorable is whole, and that no newer one is."""
    if inventory.upload["engine"] != "flink":
        return
    for subject in of_inventory(inventory).subjects:
        (item,) = [item for item in subject.sentences if item.code == "restorable"]
        if not item.text.startswith("The newest point"):
            continue
        named_one = item.evidence[0].number
        assert inventory.completeness[named_one].answer == RESTORABLE
        points = inventory.summary.of_job(subject.key)
        newer = [p for p in points if p.number > named_one and p.item.status == "completed"]
        assert all(p.completeness.answer != RESTORABLE for p in newer)


@pytest.mark.parametrize("suite", SUITES)
def test_of_each_real_checkpoint_the_plan_says_yes_only_if_all_is_there(
    shared_data, tmp_path, read, suite
):
    for place, case in enumerate(cases(shared_data, suite)):
        files = tmp_path / f"files{place}"
        unpack(case, files)
        require_agreement(*read(files, f"store{place}"))


def test_a_query_whose_folder_of_state_is_absent_cannot_go_on(shared_data, tmp_path, read):
    (case,) = [
        item for item in cases(shared_data, "spark-streaming") if named(item) == "window-agg-hdfs"
    ]
    files = tmp_path / "files"
    unpack(case, files)
    (state,) = files.rglob("state")
    shutil.rmtree(state)
    upload, inventory = read(files)
    require_agreement(upload, inventory)
    (subject,) = of_inventory(inventory).subjects
    restart = next(item for item in subject.sentences if item.code == "restart")
    assert (restart.level, "state/: It is absent" in restart.text) == ("wrong", True)
    for path in files.rglob("*progress*"):
        if path.is_file():
            path.unlink()
    upload, inventory = read(files, "again")
    require_agreement(upload, inventory)
    assert plan(upload, inventory, 0)["answer"] == "not-known"


def test_two_savepoints_with_one_number_are_both_named(shared_data, tmp_path, read):
    for case in ("savepoint-canonical", "savepoint-native"):
        (savepoint,) = (shared_data / "flink" / case / "files").glob("savepoint-*")
        shutil.copytree(savepoint, tmp_path / "files" / savepoint.name)
    _, inventory = read(tmp_path / "files")
    (subject,) = of_inventory(inventory).subjects
    (text,) = [item.text for item in subject.sentences if item.code == "restorable"]
    assert text == (
        "The savepoint in savepoint-71d07d-afb3d0199bff and the savepoint in savepoint-d2d1e2-"
        "22144505517e have all their files in the upload. Both have number 2, so that nothing "
        "tells which is the newest, or whether they are of one job."
    )


def test_of_two_checkpoints_with_one_number_each_tells_what_was_in_flight(
    shared_data, tmp_path, read
):
    for name, case in {"a": "bank-unaligned", "b": "bank-aligned"}.items():
        (checkpoint,) = (shared_data / "flink" / case / "files").rglob("chk-1")
        shutil.copytree(checkpoint, tmp_path / "files" / name / "chk-1")
    _, inventory = read(tmp_path / "files")
    (subject,) = of_inventory(inventory).subjects
    one, other = sorted(item.text for item in subject.sentences if item.code == "in-flight")
    assert "were in flight at the checkpoint in a/chk-1, in" in one
    assert other.startswith("Nothing was in flight at the checkpoint in b/chk-1. ")
