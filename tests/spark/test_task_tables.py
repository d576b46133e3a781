"""Tasks of one process make the topology of a recording once."""

from snapshots.domain.model import shapes
from snapshots.store.manifest import Manifest
from snapshots.store.writer import write_recording
from tasks.spark.task_tables import TaskTables
from tests.builders import recorded, simulated


def opened(folder) -> TaskTables:
    return TaskTables(folder, Manifest.read(folder))


def test_the_next_task_has_the_topology_of_the_one_before(tmp_path):
    recording = recorded(simulated())
    write_recording(recording, tmp_path)
    topology = opened(tmp_path).topology
    assert topology == recording.topology
    assert opened(tmp_path).topology is topology


def test_another_recording_at_the_same_place_has_its_own_topology(tmp_path):
    write_recording(recorded(simulated()), tmp_path)
    before = opened(tmp_path).topology
    other = recorded(simulated(shapes.complete(5)))
    write_recording(other, tmp_path)
    assert opened(tmp_path).topology == other.topology != before
