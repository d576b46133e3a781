"""What the inventory of Flink's uploads holds, against Flink and its REST API."""

import shutil
from collections import Counter
from hashlib import sha256

import pytest

from snapshots.domain.assembling.assembly import assemble
from snapshots.domain.inventory.model import COMPLETED, FAILED, IN_PROGRESS, WHOLE
from snapshots.domain.judging.verdicts import judge
from snapshots.domain.model.derived import NO_FILES, WHY_EMPTY, WHY_UNKNOWN, why_empty, why_unknown
from snapshots.readers.engines.flink.adapter.reader import FlinkReader
from snapshots.readers.engines.flink.checkpoint_state import state_types, types_described
from tests.readers.engines.flink import engine as given
from tests.readers.engines.flink.cases import CASES, LEGACY, UNALIGNED
from tests.readers.units import units

NOT_DECODED = {"types": 6, "types-nulls": 4}  # states with values of Kryo, or of other classes


@pytest.mark.parametrize("name", [*CASES, *LEGACY])
def test_the_inventory_agrees_with_flink_and_its_rest_api(shared_data, name):
    found = given.inventory(shared_data, name)
    upload, entries = given.read(shared_data, name), given.entries(shared_data, name)
    compared, differing = 0, []
    for snapshot in given.expected_snapshots(given.expected_of(shared_data, name)):
        number, checkpoint = given.stored(upload, found, snapshot["path"])
        own = [entry for entry in entries if entry.checkpoint == number]
        wanted = given.expected_facts(snapshot)
        facts = given.found_facts(checkpoint, own, wanted)
        compared += len(wanted)
        differing += [where for where in wanted if (where, wanted[where]) not in facts.items()]
    assert compared > 50
    assert {where[-1] for where in differing} <= {"v_kryo", "v_poly"}
    assert len(differing) == NOT_DECODED.get(name, 0)


@pytest.mark.parametrize("name", [*CASES, *LEGACY])
def test_every_file_is_listed_once_and_every_entry_has_its_state(shared_data, name):
    found = given.inventory(shared_data, name)
    folder = given.folder_of(shared_data, name)
    files = [path for path in folder.rglob("*") if path.is_file()]
    paths = [str(path.relative_to(folder)) for path in files]
    assert [one.path for one in found.files] == sorted(paths)
    assert sum(one.bytes for one in found.files) == sum(path.stat().st_size for path in files)
    for one in found.files:
        assert all(number < len(found.checkpoints) for number in one.checkpoints)
        assert one.checkpoints or one.reason or one.role == "answer of the REST API"
    described = {
        (number, operator.id, state.name)
        for number, checkpoint in enumerate(found.checkpoints)
        for operator in checkpoint.operators
        for state in operator.states
    }
    entries = given.entries(shared_data, name)
    assert {(one.checkpoint, one.operator, one.state) for one in entries} <= described
    order = list(dict.fromkeys((one.checkpoint, one.operator) for one in entries))
    assert len(order) == len(set(order))
    assert [number for number, _ in order] == sorted(number for number, _ in order)


def test_sizes_times_and_counts_of_every_case_have_a_unit(shared_data):
    found = set().union(*(units(given.inventory(shared_data, name)) for name in CASES))
    assert {
        ("started at", "epoch ms"),
        ("interval", "ms"),
        ("duration, from the trigger to the last acknowledgement", "ms"),
        ("size of _metadata", "bytes"),
        ("persisted in flight, with the length of each buffer", "bytes"),
        ("checkpoints completed", "count"),
    } <= found


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("failures", {"aligned", "not-completed", "under-way"}),
        ("at-least-once", {"at-least-once"}),
        ("bank-unaligned", {"no-buffers"}),
    ],
)
def test_the_inventory_says_why_channels_are_empty_or_not_known(shared_data, name, words):
    told = given.derived(shared_data, name).recording.header_extra
    by_name = {sentence: word for word, sentence in (WHY_EMPTY | WHY_UNKNOWN).items()}
    said = set()
    for checkpoint in given.inventory(shared_data, name).checkpoints:
        snapshot = str(checkpoint.id)
        if checkpoint.why_unknown is None:
            assert why_empty(told, snapshot) == checkpoint.why_empty
        else:
            assert (checkpoint.why_empty, checkpoint.channels) == (None, ())
            assert why_unknown(told, snapshot) == checkpoint.why_unknown
        said.add(by_name[checkpoint.why_unknown or checkpoint.why_empty])
    assert said == words


def test_an_unaligned_checkpoint_without_its_files_is_not_known_to_have_been_empty(
    shared_data, tmp_path
):
    shutil.copytree(given.folder_of(shared_data, "bank-unaligned") / "rest", tmp_path / "rest")
    upload = FlinkReader().read(tmp_path)
    assert {one.why_unknown for one in upload.inventory().checkpoints} == {WHY_UNKNOWN[NO_FILES]}
    found = assemble(*upload.recording()).recording
    assert {why_unknown(found.header_extra, one) for one in ("1", "2")} == {WHY_UNKNOWN[NO_FILES]}
    assert all(not report.recorded_channels for report in judge(found))


@pytest.mark.parametrize("name", UNALIGNED)
def test_the_types_of_states_are_described_as_in_the_files(shared_data, name):
    upload = given.read(shared_data, name)
    described: dict[int, list[bytes]] = {}
    for one in upload.state_types():
        described.setdefault(one.checkpoint, []).append(one.data)
    assert described
    for checkpoint in upload.checkpoints:
        if checkpoint.number in described:
            own = described[checkpoint.number]
            assert types_described(own) == state_types(upload.upload, checkpoint.stored)
            assert len(set(own)) == len(own)
            assert sum(map(len, own)) < 20_000


@pytest.mark.parametrize("name", UNALIGNED)
def test_channels_hold_the_bytes_and_elements_that_flink_found(shared_data, name):
    upload, found = given.read(shared_data, name), given.inventory(shared_data, name)
    bytes_of = {(one.checkpoint, one.number): one.data for one in upload.channel_bytes()}
    for snapshot in given.expected_snapshots(given.expected_of(shared_data, name)):
        number, checkpoint = given.stored(upload, found, snapshot["path"])
        assert [one.number for one in checkpoint.channels] == list(range(len(checkpoint.channels)))
        own = Counter()
        for one in checkpoint.channels:
            data = bytes_of[number, one.number]
            assert (one.part, one.reason, len(data)) == (WHOLE, None, one.bytes)
            own[one.elements, one.bytes, sha256(data).hexdigest()] += 1
        assert own == Counter(
            (one["elements"], one["inputBytes"] + one["outputBytes"], one["sha256"])
            for edge in snapshot["flink"]["inFlightRecords"]
            for one in edge["channels"]
        )


def test_operator_state_is_compared_by_its_elements(shared_data):
    offsets = {
        (entry.checkpoint, entry.subtask): entry
        for entry in given.entries(shared_data, "bank-aligned")
        if entry.state == "SourceReaderState"
    }
    first, *later = (offsets[number, 0] for number in range(3))
    assert {entry.identity for entry in later} == {first.identity}
    assert len({entry.digest for entry in offsets.values()} - {None}) == len(
        {str(entry.value) for entry in offsets.values()}
    ) > 1  # fmt: skip


def test_a_failed_checkpoint_is_listed_without_files(shared_data):
    found = {one.id: one for one in given.inventory(shared_data, "failures").checkpoints}
    assert Counter(one.status for one in found.values()) == {
        COMPLETED: 7,
        FAILED: 7,
        IN_PROGRESS: 1,
    }
    assert found[3].problem.endswith("Checkpoint expired before completing.")
    assert [operator.name for operator in found[3].operators if operator.subtasks]
    assert found[3].completed_at is None
    assert found[4].completed_at - found[4].triggered_at == 694


def test_absent_files_are_missing_and_what_is_there_is_read(shared_data, tmp_path):
    case = given.folder_of(shared_data, "forst-async-state") / "files"
    (last,) = case.glob("*/chk-2")
    shutil.copytree(last, tmp_path / "chk-2")
    upload = FlinkReader().read(tmp_path)
    entries = list(upload.entries())
    (checkpoint,) = upload.inventory().checkpoints
    (count,) = (one for one in checkpoint.operators if one.name == "async-count")
    assert checkpoint.missing
    assert all(one.bytes for one in checkpoint.missing)
    assert not any(state.complete for state in count.states)
    assert any("No file of that name" in note for note in count.notes)
    coordinators = [one for one in entries if one.subtask == -1]
    assert [one.value["waiting"] for one in coordinators] == [[]] * len(coordinators) != []


def test_keys_are_found_again_in_another_layout_and_parallelism(shared_data):
    """The job was stopped with a canonical savepoint and went on in three subtasks."""
    entries = given.entries(shared_data, "rescaled")
    numbers = sorted({one.checkpoint for one in entries})
    before, after = (
        {
            (one.operator, one.state, one.identity): one
            for one in entries
            if one.checkpoint == number and one.key_group is not None
        }
        for number in numbers[:2]
    )
    both = before.keys() & after.keys()
    assert len(both) == len(before) > 10
    assert {before[key].key == after[key].key for key in both} == {True}
    same = [before[key].value == after[key].value for key in both]
    assert same == [before[key].digest == after[key].digest for key in both]
    assert any(same), "no value is the same in both"
    assert {one.subtask for one in before.values()} != {one.subtask for one in after.values()}
