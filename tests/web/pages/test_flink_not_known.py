"""What an upload of Flink's does not hold is said to be not known, on the pages and by the API.

Each upload is a real case of which something was removed, cut off, or told in the words of an older
Flink.
"""

import json
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from snapshots.archive import columns
from snapshots.models import Recording
from snapshots.readers.engines.flink.adapter.reader import FlinkReader
from tests.web.given import a_client, signed_in
from tests.web.pages.test_inventory import words
from tests.web.stored_uploads import parts_of, stored_upload

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("data_dir")]


@pytest.fixture(autouse=True)
def the_archive_is_read_anew():
    """Drop what is kept of jobs, for those of another test may have the same keys."""
    columns.forget_all()


REST = ("rest",)
FILES = ("files",)
BOTH = ("files", "rest")
CONFIG = "rest/checkpoints-config.json"


class Given:
    """A stored upload, with the text of its pages and the answers of its API."""

    def __init__(self, recording: Recording) -> None:
        self.recording = recording
        self._page = signed_in(recording.owner)
        self._api = a_client(recording.owner)

    def page(self, path: str, **query: str | int) -> str:
        return words(self._page.get(f"/recordings/{self.recording.pk}{path}", query))

    def api(self, path: str) -> dict:
        return self._api.get(f"/api/recordings/{self.recording.pk}{path}").json()

    def archived(self, number: int) -> str:
        (job,) = self.recording.engine_jobs.all()
        return words(self._page.get(f"/archive/{job.pk}/checkpoints/0/{number}"))


@pytest.fixture
def given(ada, shared_data, tmp_path) -> Callable[..., Given]:
    """Return a function that stores parts of a case, after a change of the copied files."""

    def store(name: str, parts=BOTH, change: Callable[[Path], object] | None = None) -> Given:
        folder = parts_of(shared_data / "flink" / name, parts, tmp_path / "upload")
        if change is not None:
            change(folder)
        return Given(stored_upload(ada, FlinkReader(), folder))

    return store


def checkpoint_folder(folder: Path, name: str = "chk-1") -> Path:
    (found,) = (path for path in folder.rglob(name) if path.is_dir())
    return found


def rewrite(path: Path, change: Callable[[dict], object]) -> None:
    content = json.loads(path.read_text())
    change(content)
    path.write_text(json.dumps(content))


# --- aligned, unaligned, or not known ------------------------------------------------------------


def in_the_words_of_1_14(folder: Path) -> None:
    """Call the checkpoints what Flink 1.14 calls them, and drop what it does not report."""
    for path in (folder / "rest").glob("checkpoint*.json"):
        text = path.read_text().replace('"UNALIGNED_CHECKPOINT"', '"CHECKPOINT"')
        path.write_text(text.replace('"checkpointed_size"', '"checkpointed_sizes"'))


def without_configuration(folder: Path) -> None:
    (folder / CONFIG).unlink()


def without_subtasks(folder: Path) -> None:
    for path in (folder / "rest").glob("checkpoint-*-subtasks-*.json"):
        path.unlink()


def test_an_old_answer_about_an_unaligned_checkpoint_does_not_make_it_aligned(given):
    upload = given("v4-unaligned-orders", REST, in_the_words_of_1_14)
    one = upload.api("/contents/0")
    assert (one["in_flight_stated"], one["channels"]) == (84_744, [])
    assert upload.api("/contents")["checkpoints"][0]["in_flight"] is None
    shown = upload.page("/contents/0")
    assert "In flight not known; 84.7 kB according to the REST API" in shown
    assert "The checkpoint was unaligned, and its files are not in the upload." in shown
    assert "Nothing was in flight" not in shown
    assert "Mode unaligned" in upload.page("/checkpoints", checkpoint="1")
    assert upload.api("/checkpoints")["items"][0]["mode"] == "unaligned"
    silent = upload.page("/snapshots/1")
    assert "The checkpoint was aligned" not in silent


def test_the_persisted_data_alone_tell_that_a_checkpoint_was_unaligned(given):
    def change(folder: Path) -> None:
        in_the_words_of_1_14(folder)
        without_configuration(folder)
        without_subtasks(folder)

    upload = given("v4-unaligned-orders", REST, change)
    assert upload.api("/checkpoints")["items"][0]["mode"] == "unaligned"


def test_the_configuration_alone_tells_the_mode_where_nothing_was_persisted(given):
    def change(folder: Path) -> None:
        without_subtasks(folder)
        rewrite(folder / CONFIG, lambda config: config.update(unaligned_checkpoints=True))

    upload = given("v3-orders-rocksdb", REST, change)
    assert {one["mode"] for one in upload.api("/checkpoints")["items"]} == {"unaligned"}
    shown = upload.page("/contents/0")
    assert "Nothing was in flight. Flink says that no data in flight was stored." in shown


def test_the_configuration_of_an_aligned_job_is_believed(given):
    upload = given("v3-orders-rocksdb", REST, without_subtasks)
    assert {one["mode"] for one in upload.api("/checkpoints")["items"]} == {"aligned"}
    assert "Nothing was in flight. The checkpoint was aligned" in upload.page("/contents/0")


def test_without_persisted_data_and_configuration_the_mode_is_not_known(given):
    upload = given("v3-orders-rocksdb", REST, without_configuration)
    for one in upload.api("/checkpoints")["items"]:
        assert one["mode"] is None
        assert "/checkpoints/config" in one["why_no_mode"]
    assert "Mode not known No data in flight is known to be stored" in upload.page(
        "/checkpoints", checkpoint="1"
    )
    assert "mode not known" in upload.page("/checkpoints")
    inventory = upload.page("/contents/0")
    assert "aligned" not in inventory.replace("during alignment", "").replace("longest al", "")


@pytest.mark.parametrize("command", ["docs/formats/flink.md", "docs/real-flink.md"])
def test_the_documents_ask_for_the_configuration(command):
    text = (Path(__file__).parents[3] / command).read_text()
    assert "/checkpoints/config" in text


# --- data that a file names and the upload lacks -------------------------------------------------


def only_metadata(folder: Path) -> None:
    for path in folder.rglob("*"):
        if path.is_file() and path.name != "_metadata":
            path.unlink()


def test_a_lone_metadata_tells_the_size_of_what_was_in_flight_and_not_that_it_is_empty(given):
    upload = given("v4-unaligned-orders", FILES, only_metadata)
    one = upload.api("/contents/0")
    assert one["channels"]
    assert {channel["bytes"] for channel in one["channels"]} == {None}
    assert (
        sum(channel["stated"] for channel in one["channels"]) == one["in_flight_stated"] == 84_744
    )
    assert upload.api("/contents")["checkpoints"][0]["in_flight"] is None
    count = len(one["channels"])
    assert upload.api("/contents")["checkpoints"][0]["halves"] == count
    channels = f"{count} channels or halves of channels"
    said = f"not known; 84.7 kB in {channels} according to the metadata"
    shown = upload.page("/contents/0")
    assert f"In flight {said}" in shown
    assert "No such file lies beside the _metadata, where Flink looks for it." in shown
    assert said in upload.page("/contents")
    assert f"What was in flight in {channels} is read back before anything else, 84,744" in (
        upload.page("/contents/0/restore-plan", parallelism=2)
    )


def cut_in_half(path: Path) -> int:
    size = path.stat().st_size
    with path.open("r+b") as file:
        file.truncate(size // 2)
    return size


def test_half_a_file_of_data_in_flight_is_damaged_and_its_size_not_known(given):
    sizes = {}

    def change(folder: Path) -> None:
        data = max(checkpoint_folder(folder).iterdir(), key=lambda path: path.stat().st_size)
        sizes[data.relative_to(folder).as_posix()] = cut_in_half(data)

    upload = given("v4-unaligned-orders", BOTH, change)
    ((path, size),) = sizes.items()
    one = upload.api("/contents/0")
    broken = [channel for channel in one["channels"] if channel["bytes"] is None]
    assert broken
    assert all(channel["stated"] and "needed are" in channel["reason"] for channel in broken)
    assert upload.api("/contents")["checkpoints"][0]["in_flight"] is None
    files = {file["path"]: file for file in upload.api("/contents/files?limit=500")["items"]}
    assert (files[path]["role"], files[path]["checkpoints"]) == ("data in flight", [0])
    assert f"has {size // 2:,} bytes; needed are {size:,} bytes" in files[path]["reason"]
    listed = upload.page("/contents")
    assert f"needed are {size:,} bytes" in listed
    assert "No checkpoint in the upload needs it" not in listed
    shown = upload.page("/contents/0")
    assert "In flight not known" in shown
    assert "Files that are missing or damaged" in shown


def test_half_a_file_of_state_is_damaged_and_what_it_held_not_known(given):
    cut = {}

    def change(folder: Path) -> None:
        for data in checkpoint_folder(folder, "chk-2").iterdir():
            if data.name != "_metadata":
                cut[data.relative_to(folder).as_posix()] = cut_in_half(data)

    upload = given("aligned-hashmap-files", BOTH, change)
    number = next(
        place
        for place, one in enumerate(upload.api("/contents")["checkpoints"])
        if (one["path"] or "").endswith("chk-2")
    )
    one = upload.api(f"/contents/{number}")
    assert len(one["missing"]) == len(cut)
    states = [state for operator in one["operators"] for state in operator["states"]]
    assert all(state["entries"] is None for state in states if not state["complete"])
    lacking = sum(cut.values())
    shown = upload.page(f"/contents/{number}")
    assert f"according to the metadata; {len(cut)} files with" in shown
    assert f"{lacking / 1000:.3g} kB of it are missing or damaged" in shown
    files = upload.api("/contents/files?limit=500")["items"]
    assert {file["path"] for file in files if number in file["checkpoints"]} >= cut.keys()


# --- checkpoints that cannot be read --------------------------------------------------------------


def without_metadata(folder: Path) -> None:
    (checkpoint_folder(folder, "chk-2") / "_metadata").unlink()


def emptied(folder: Path) -> None:
    for path in checkpoint_folder(folder, "chk-2").iterdir():
        path.unlink()


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (without_metadata, "Its folder holds 12 files"),
        (emptied, "Its folder holds nothing and no _metadata, which Flink writes last."),
    ],
)
def test_a_checkpoint_without_its_metadata_was_there(given, change, says):
    upload = given("aligned-hashmap-files", FILES, change)
    items = upload.api("/contents")["checkpoints"]
    (one,) = (item for item in items if item["id"] == 2)
    assert (one["status"], one["in_flight"], one["bytes"]) == ("unknown", None, None)
    assert (one["operators"], one["missing"]) == (None, None)
    assert one["problem"].startswith(f"It was there, but it cannot be read. {says}")
    assert one["path"].endswith("chk-2")
    number = items.index(one)
    for shown in (upload.page("/contents"), upload.page(f"/contents/{number}")):
        assert f"It was there, but it cannot be read. {says}" in shown
    page = upload.page(f"/contents/{number}")
    assert "It is not known what was in flight." in page
    assert "Open in the workbench" not in page
    left = [
        file
        for file in upload.api("/contents/files?limit=500")["items"]
        if number in file["checkpoints"]
    ]
    assert all("a checkpoint that cannot be read" in file["reason"] for file in left)


def test_the_list_of_checkpoints_names_one_that_cannot_be_read(given):
    def change(folder: Path) -> None:
        without_metadata(folder)
        for path in (folder / "rest").glob("checkpoint-2*"):
            path.unlink()
        rewrite(folder / "rest/checkpoints.json", forget_the_second)

    upload = given("aligned-hashmap-files", BOTH, change)
    shown = upload.page("/checkpoints")
    assert "2 checkpoints with times, 1 without" in shown
    assert "checkpoint 2 , unknown: It was there, but it cannot be read." in shown
    (untimed,) = upload.api("/checkpoints")["untimed"]
    assert (untimed["id"], untimed["status"]) == (2, "unknown")
    assert untimed["reason"].startswith("It was there, but it cannot be read.")


def forget_the_second(answer: dict) -> None:
    answer["history"] = [one for one in answer["history"] if one["id"] != 2]
    answer["latest"] = {}


def without_savepoint_metadata(folder: Path) -> None:
    (metadata,) = folder.rglob("savepoint-*/_metadata")
    metadata.unlink()


def test_the_number_of_a_savepoint_without_its_metadata_is_the_one_that_flink_tells(given):
    upload = given("savepoint-native", BOTH, without_savepoint_metadata)
    items = upload.api("/contents")["checkpoints"]
    assert [(one["id"], one["kind"], one["status"]) for one in items] == [
        (1, "checkpoint", "completed"),
        (2, "savepoint", "completed"),
    ]
    assert items[1]["problem"].startswith("It was there, but it cannot be read.")


def test_a_number_that_nothing_tells_is_not_known_and_not_archived(given):
    upload = given("savepoint-native", FILES, without_savepoint_metadata)
    assert "number not known savepoint" in upload.page("/contents")
    number = next(
        place
        for place, one in enumerate(upload.api("/contents")["checkpoints"])
        if one["kind"] == "savepoint"
    )
    assert "It was there, but it cannot be read." in upload.page(f"/contents/{number}")
    for address in ("", "/bytes", "/restore-plan", "/upgrade", "/check", "/difference"):
        shown = upload.page(f"/contents/{number}{address}")
        assert "savepoint of unknown number" in shown, address
        assert "savepoint 0" not in shown.lower(), address
    (job,) = upload.recording.engine_jobs.all()
    assert {one.number for one in job.checkpoints.all()} == {1}


@pytest.mark.parametrize("case", ["aligned-hashmap-files", "v2-bank-fs", "v3-orders-rocksdb"])
def test_wherever_metadata_are_cut_off_the_checkpoint_is_there_with_a_word(
    shared_data, tmp_path, case
):
    folder = parts_of(shared_data / "flink" / case, FILES, tmp_path / "upload")
    metadata = min(folder.rglob("_metadata"))
    shutil.copytree(metadata.parent, folder / "kept")
    whole = metadata.read_bytes()
    for left in {0, 1, 7, 8, len(whole) // 2, len(whole) - 100, len(whole) - 9, len(whole) - 1}:
        metadata.write_bytes(whole[:left])
        inventory = FlinkReader().read(folder).inventory()
        path = metadata.parent.relative_to(folder).as_posix()
        (one,) = (item for item in inventory.checkpoints if item.path == path)
        said = f"{one.problem} {' '.join(one.notes)}"
        assert "its _metadata cannot be read" in said or "bytes of _metadata" in said, left


# --- zeros, and times ----------------------------------------------------------------------------


def test_what_was_in_flight_at_a_failed_checkpoint_is_no_zero(given):
    upload = given("failures")
    for number, one in enumerate(upload.api("/contents")["checkpoints"]):
        is_known = one["status"] == "completed"
        assert (one["in_flight"] is not None) == is_known, one["id"]
        difference = upload.api(f"/contents/{number}/difference/{0 if number else 1}")
        side = "after" if number else "before"  # the older one comes first
        assert (difference["in_flight"][side] is not None) == is_known
        said = "In flight none" if is_known else "In flight not known"
        assert said in upload.page(f"/contents/{number}")
        assert said in upload.archived(one["id"])


def test_a_checkpoint_under_way_is_not_said_to_have_failed(given):
    upload = given("failures")
    assert "Took it was still under way" in upload.page("/checkpoints", checkpoint="15")
    (last,) = (one for one in upload.api("/contents")["checkpoints"] if one["id"] == 15)
    assert last["why_unknown"] == ("The checkpoint was still under way when the engine was asked.")


def test_the_times_of_a_savepoint_without_answers_are_not_known(given):
    upload = given("v3-orders-rocksdb")
    shown = upload.page("/snapshots/3")
    assert "Began not known Took not known" in shown
    assert " ms" not in shown.partition("Process states")[2].partition("Channel contents")[0]
    snapshot = upload.api("/snapshots/3")
    assert (snapshot["began_at"], snapshot["ended_at"], snapshot["duration"]) == (None,) * 3
    assert snapshot["recorded_at"] == {}
    other = upload.api("/snapshots/2")
    assert other["began_at"] is not None
    assert other["recorded_at"]


# --- one definition of each duration and each count ----------------------------------------------


def test_every_page_says_from_when_to_when_a_duration_counts(given):
    upload = given("v4-unaligned-orders")
    definition = "from the trigger to the last acknowledgement"
    assert f"duration, {definition} 5.8 s" in upload.page("/contents/0")
    assert f"Took 5.8 s {definition}" in upload.page("/checkpoints", checkpoint="1")
    assert f"Took: {definition}, or until it was given up." in upload.page("/checkpoints")
    assert f"Took 5.8 s {definition}" in upload.archived(1)
    assert "Took 5.79 s from its first event to its last" in upload.page("/snapshots/1")


def test_the_pages_count_the_same_checkpoints(given):
    upload = given("v3-orders-rocksdb")
    assert "3 checkpoints" in upload.page("/contents")
    assert "2 checkpoints with times, 1 without" in upload.page("/checkpoints")
    assert "savepoint 3 , completed: No answer of the engine says" in upload.page("/checkpoints")
    listed = upload.api("/checkpoints")
    assert (listed["total"], [one["id"] for one in listed["untimed"]]) == (2, [3])


def test_the_critical_path_has_the_times_of_the_table_below_it(given):
    upload = given("bank-aligned")
    for item in upload.api("/checkpoints")["items"]:
        report = upload.api(f"/checkpoints/{item['checkpoint']}")
        tasks = {task["process"]: task for task in report["tasks"]}
        path = report["critical_path"]
        assert sum(part["to"] - part["from"] for part in path) == report["duration"]
        for part in path:
            task, length = tasks[part["process"]], part["to"] - part["from"]
            if part["phase"] == "async":
                assert length == task["async_to"] - task["sync_to"]
            if part["phase"] == "sync":
                assert length == task["sync_to"] - task["sync_from"]
