"""Checkpoints of SeaTunnel made by hand: tasks, parallelism, copies and pipelines."""

import pytest

from snapshots.domain.judging.verdicts import judge
from tests.readers.engines.seatunnel.engine import (
    SOURCE,
    a_file,
    a_vertex,
    assembled,
    derived,
    facts,
    named,
    two_actions,
    upload_of,
)
from tests.readers.engines.seatunnel.test_seatunnel import a_name, a_state, an_action, save


def test_acknowledgements_are_assigned_where_only_one_answer_is_possible(tmp_path):
    vertices = [a_vertex(1, 10), a_vertex(2, 80), a_vertex(3, 20, 30)]
    save(tmp_path, {named(7): a_file(actions=two_actions(), vertices=vertices)})
    acks = {e.process: e.at for e in derived(upload_of(tmp_path))[1] if e.kind == "cp_ack"}
    assert acks == {
        "Source[0]-Fake.enumerator": 10_000,
        "Sink[0]-File.committer": 80_000,
        "Source[0]-Fake[0]": 20_000,
        "Source[0]-Fake[1]": 30_000,
        "Sink[0]-File[0]": 20_000,
        "Sink[0]-File[1]": 30_000,
    }


@pytest.mark.parametrize(
    "vertices",
    [
        [a_vertex(1, 10), a_vertex(3, 20, 30)],
        [a_vertex(1, 10), a_vertex(2, 80), a_vertex(3, 5), a_vertex(4, 20, 30)],
        [a_vertex(1, 10), a_vertex(2, 80), a_vertex(3, 20, 30), a_vertex(4, 1, 1)],
        [a_vertex(1, 10), a_vertex(2, 80), a_vertex(3, 20)],
        [a_vertex(1, 10), a_vertex(2, 80), a_vertex(3, 20, None)],
        [a_vertex(1, 10, 11), a_vertex(2, 80), a_vertex(3, 20, 30)],
    ],
)
def test_a_task_whose_actions_are_not_known_is_drawn_by_itself(tmp_path, vertices):
    save(tmp_path, {named(7): a_file(actions=two_actions(), vertices=vertices)})
    upload = upload_of(tmp_path)
    header, events = derived(upload)
    acks = [event.process for event in events if event.kind == "cp_ack"]
    assert acks
    assert all(process.startswith("task ") for process in acks)
    assert any("drawn by itself" in note for note in header.extra["notes"])
    [report] = judge(assembled(upload).recording)
    assert report.verdict == "unknown"


@pytest.mark.parametrize("action", ["Shuffle [Source[0]-Fake]", "something new"])
def test_tasks_behind_a_shuffle_are_drawn_by_themselves(tmp_path, action):
    key = a_name(f"ActionStateKey - pipeline-1 [{action}]")
    shuffle = an_action(key, [a_state(0), a_state(1)])
    vertices = [a_vertex(1, 10), a_vertex(2, 80), a_vertex(3, 20, 30)]
    save(tmp_path, {named(7): a_file(actions=[*two_actions(), shuffle], vertices=vertices)})
    acks = [e.process for e in derived(upload_of(tmp_path))[1] if e.kind == "cp_ack"]
    assert all(process.startswith("task ") for process in acks)


def test_entries_of_two_checkpoints_are_the_same_place(tmp_path):
    states = [a_state(0, b"a", b"b"), a_state(1, b"c")]
    actions = [an_action(a_name(SOURCE), states, a_state(-1, b"d"))]
    upload = upload_of(save(tmp_path, {named(n): a_file(n, actions=actions) for n in (1, 2)}))
    first, second = (
        [(e.subtask, e.key, e.identity, e.digest) for e in upload.entries() if e.checkpoint == n]
        for n in (0, 1)
    )
    assert first == second
    assert len({identity for _, _, identity, _ in first}) == 4


def test_a_changed_parallelism_and_a_missing_action_leave_the_snapshot_whole(tmp_path):
    files = {
        named(1): a_file(1, actions=two_actions(2)),
        named(2): a_file(2, at=2000, actions=two_actions(3)),
        named(4): a_file(4, at=4000, actions=two_actions(3)[:1]),
    }
    upload = upload_of(save(tmp_path, files))
    assert {report.verdict for report in judge(assembled(upload).recording)} == {"unknown"}
    labels = [event.label for event in derived(upload)[1] if event.snapshot == "1" and event.label]
    assert labels == ["not part of this checkpoint"] * 2
    found = upload.inventory()
    assert facts(found.checkpoints[1].operators[0])["parallelism changed"] == 2
    assert any("no file of checkpoint 3" in note for note in found.notes)


def test_two_files_of_one_id_are_two_checkpoints_and_a_copy_is_one_snapshot(tmp_path):
    files = {
        "a/" + named(7): a_file(7, actions=two_actions()),
        "b/" + named(7): a_file(7, actions=two_actions()),
        "c/" + named(7): a_file(7, at=9000, actions=two_actions()),
    }
    upload = upload_of(save(tmp_path, files))
    told = [(item.id, item.snapshot) for item in upload.inventory().checkpoints]
    assert told == [(7, "7"), (7, "7"), (7, "7 (file 2)")]
    assert [r.snapshot for r in judge(assembled(upload).recording)] == ["7", "7 (file 2)"]


def test_actions_of_one_name_in_two_pipelines_have_names_of_their_own(tmp_path):
    files = {named(1, pipeline=p): a_file(1, pipeline=p, actions=two_actions()) for p in (1, 2)}
    processes = [p.id for p in derived(upload_of(save(tmp_path, files)))[0].topology.processes]
    assert "pipeline 1: Source[0]-Fake[0]" in processes
    assert "pipeline 2: Source[0]-Fake[0]" in processes
