"""A missing file makes the state of its operator incomplete, whichever subtask needs it."""

import shutil

import pytest

from snapshots.domain.inventory.model import LISTED
from snapshots.readers.engines.flink.adapter.reader import FlinkReader
from snapshots.readers.engines.flink.handles import streams
from snapshots.readers.engines.flink.metadata import read_metadata

CASE = "aligned-hashmap-files"


@pytest.fixture
def folder(shared_data, tmp_path):
    [job] = (shared_data / "flink" / CASE / "files").glob("*/chk-2")
    shutil.copytree(job, tmp_path / "chk-2")
    return tmp_path


def operator_of(folder, name):
    metadata = read_metadata((folder / "chk-2" / "_metadata").read_bytes())
    return next(operator for operator in metadata.operators if operator.name == name)


def remove(folder, handle):
    [stream] = streams(handle)
    (folder / "chk-2" / stream.path.rpartition("/")[2]).unlink()


def states_of(folder, name):
    upload = FlinkReader().read(folder)
    entries = list(upload.entries())
    [checkpoint] = upload.inventory().checkpoints
    [operator] = [each for each in checkpoint.operators if each.name == name]
    return operator, [entry for entry in entries if entry.operator == operator.id]


@pytest.mark.parametrize("subtask", [0, 1])
def test_every_keyed_state_may_have_had_entries_in_the_file(folder, subtask):
    whole, _ = states_of(folder, "enrich")
    assert all(state.complete for state in whole.states)
    remove(folder, operator_of(folder, "enrich").subtasks[subtask].managed_keyed)
    operator, entries = states_of(folder, "enrich")
    assert {entry.subtask for entry in entries} == {1 - subtask}
    assert len(operator.states) == len(whole.states)
    assert not any(state.complete for state in operator.states)


def test_elements_of_a_list_are_counted_without_their_file(folder):
    _, before = states_of(folder, "slow-sink")
    remove(folder, operator_of(folder, "slow-sink").subtasks[0].managed_operator)
    operator, after = states_of(folder, "slow-sink")
    sizes = [
        [(entry.state, entry.subtask, entry.bytes) for entry in entries]
        for entries in (before, after)
    ]
    assert sizes[0] == sizes[1]
    lost = [entry for entry in after if entry.subtask == 0]
    assert all(
        "is not" in entry.value.reason or "No such file" in entry.value.reason for entry in lost
    )
    assert all(entry.digest is None for entry in lost)
    assert {state.kind for state in operator.states} >= {LISTED}
