"""The restored run of a large recording, from the job's report, is that of the reference."""

import pytest

from snapshots.answers.restored_excerpt import course_from
from snapshots.domain.model.as_json import as_json
from snapshots.domain.model.recording import SnapshotId
from snapshots.domain.replaying.following import follow
from snapshots.domain.replaying.restore import restoring
from snapshots.domain.replaying.restored_course import course_of
from snapshots.store.reader import StoredRecording
from snapshots.store.writer import write_recording
from tasks.spark.restore.job import restore_snapshot
from tests import damage
from tests.builders import recorded, simulated
from tests.spark.agreement import silent


@pytest.mark.parametrize(
    "damaged",
    [None, damage.lose_recorded_message, damage.wrong_state, damage.record_late],
    ids=["right", "lost", "wrong state", "orphan"],
)
def test_the_job_and_the_reference_lead_to_the_same_run(spark, tmp_path, damaged):
    log = simulated(seed=5)
    recording = recorded(log if damaged is None else damaged(log).log)
    folder = tmp_path / "store"
    folder.mkdir()
    write_recording(recording, folder)
    report = as_json(restore_snapshot(folder, SnapshotId("s1"), silent, spark, work=folder))
    under_way = restoring(recording, SnapshotId("s1"))
    assert report == as_json(under_way.report())
    course = course_from(StoredRecording.open(folder), SnapshotId("s1"), report)
    run, expected = follow(course), follow(course_of(under_way))
    assert run.course.events == expected.course.events
    assert run.original == expected.original
    assert [f.place for f in run.faults] == [f.place for f in expected.faults]
    assert {name: run.restored.state(name, run.end) for name in run.restored.states} == {
        name: expected.restored.state(name, run.end) for name in expected.restored.states
    }
    for place in range(run.end + 1):
        held = run.restored.held(place), expected.restored.held(place)
        assert [f.message.id for f in held[0]] == [f.message.id for f in held[1]]
