"""SeaTunnel's uploads as every engine gives them: inventory, entries, derived recording."""

import contextlib
import json
import zipfile
from hashlib import sha256

import pytest

from snapshots.domain.assembling.assembly import assemble
from snapshots.domain.dataflow_logs.checkpoints.reference import checkpoints as checkpoint_reports
from snapshots.domain.inventory.entries import NotRead
from snapshots.domain.inventory.model import COORDINATOR
from snapshots.domain.judging.verdicts import judge
from snapshots.domain.model.defects import InputRefused
from snapshots.domain.model.derived import NOT_TOLD, WHY_UNKNOWN, why_unknown
from snapshots.readers.engines.registry import recognise
from snapshots.readers.engines.seatunnel.adapter import checkpoints as engine_checkpoints
from snapshots.readers.engines.seatunnel.adapter import graph as engine_graph
from snapshots.readers.engines.seatunnel.adapter import inventory as engine_inventory
from snapshots.readers.engines.seatunnel.adapter.reader import SeaTunnelReader
from snapshots.readers.formats.unpacking.packages import PackageLimits, unpack
from snapshots.readers.logs.native import write_lines
from snapshots.store.inventory.reading import StoredInventory
from snapshots.store.inventory.writing import write_inventory
from tests.readers import inputs
from tests.readers.engines.seatunnel.cases import as_expected
from tests.readers.engines.seatunnel.test_seatunnel import a_name, a_state, an_action, encoded, save
from tests.readers.mutated import mutated
from tests.readers.units import units

NAMES = ["real-wire-vectors", "synthetic-fake-to-localfile", "synthetic-two-pipelines-idle-reader"]
EVENTS = dict(zip(NAMES, (12, 80, 96), strict=True))
KINDS = {
    "CHECKPOINT_TYPE": "checkpoint",
    "SAVEPOINT_TYPE": "savepoint",
    "COMPLETED_POINT_TYPE": "completed point",
}
SOURCE = "ActionStateKey - pipeline-1 [Source[0]-Fake]"
SINK = "ActionStateKey - pipeline-1 [Sink[0]-File]"


@pytest.fixture(params=NAMES)
def case(request, shared_data, tmp_path):
    """Give the name of a case, its expected.json and its unpacked folder."""
    target = tmp_path / "case"
    unpack(shared_data / "seatunnel" / f"{request.param}.zip", target, PackageLimits())
    [expected] = target.rglob("expected.json")
    return request.param, json.loads(expected.read_text()), expected.parent


def upload_of(folder):
    return SeaTunnelReader().read(folder)


def derived(upload):
    """Return header and events of the derived recording."""
    header, events = upload.recording()
    return header, list(events)


def assembled(upload):
    return assemble(*derived(upload))


def facts(item):
    return {fact.name: fact.value for fact in item.facts}


# --- the real cases -----------------------------------------------------------------------------


def test_every_checkpoint_is_described_as_expected(case):
    _, expected, folder = case
    found = {item.path: item for item in upload_of(folder).inventory().checkpoints}
    assert sorted(found) == sorted(item["path"] for item in expected["files"])
    for item in expected["files"]:
        known, checkpoint = item["decoded"], found[item["path"]]
        assert (checkpoint.job, checkpoint.id) == (str(known["job_id"]), known["checkpoint_id"])
        assert (checkpoint.kind, checkpoint.status) == (KINDS[known["type"]], "completed")
        assert checkpoint.triggered_at == known["trigger_ms"]
        assert checkpoint.completed_at == known["completed_ms"]
        assert facts(checkpoint)["pipeline"] == known["pipeline_id"]
        assert [operator_told(operator) for operator in checkpoint.operators] == [
            operator_expected(action) for action in known["actions"]
        ]


def operator_told(operator):
    subtasks = [(item.index, item.bytes, item.finished) for item in operator.subtasks]
    return operator.id, operator.parallelism, operator.bytes, subtasks


def operator_expected(action):
    subtasks = [
        (place, None, True) if state is None else (place, size_of(state), False)
        for place, state in enumerate(action["subtasks"])
    ]
    if action["coordinator"]:
        subtasks.append((COORDINATOR, size_of(action["coordinator"]), False))
    return (
        action["key"],
        action["parallelism"],
        sum(size or 0 for _, size, _ in subtasks),
        subtasks,
    )


def size_of(state):
    return sum(element["bytes"] for element in state["state"])


def test_times_and_counts_have_a_unit_and_channels_are_not_known(case):
    _, _, folder = case
    upload = upload_of(folder)
    assert {unit for _, unit in units(upload.inventory())} <= {"ms", "count"}
    assert {one.why_empty for one in upload.inventory().checkpoints} == {None}
    assert {one.why_unknown for one in upload.inventory().checkpoints} == {WHY_UNKNOWN[NOT_TOLD]}
    header, _ = upload.recording()
    assert why_unknown(header.extra, "1") == WHY_UNKNOWN[NOT_TOLD]


def test_every_element_is_an_entry_as_expected(case):
    _, expected, folder = case
    upload = upload_of(folder)
    entries, paths = list(upload.entries()), [c.path for c in upload.inventory().checkpoints]
    told = {(paths[e.checkpoint], e.operator, e.subtask, e.key): e for e in entries}
    assert len(told) == len(entries)
    for item in expected["files"]:
        for action in item["decoded"]["actions"]:
            for state in filter(None, (*action["subtasks"], action["coordinator"])):
                for place, element in enumerate(state["state"]):
                    where = item["path"], action["key"], state["index"], place
                    assert_is_entry(told.pop(where), element)
    assert not told


def assert_is_entry(entry, element):
    assert (entry.bytes, entry.digest.hex()) == (element["bytes"], element["sha256"])
    if not element["java_serialized"]:
        assert isinstance(entry.value, NotRead)
        assert sha256(entry.value.head).hexdigest() == element["sha256"]
        return
    assert as_expected(entry.value, element["content"]) == element["content"]


def test_every_file_is_listed_once_with_its_size(case):
    _, _, folder = case
    files = upload_of(folder).inventory().files
    sizes = {p.relative_to(folder).as_posix(): p.stat().st_size for p in folder.rglob("*.*")}
    assert {file.path: file.bytes for file in files} == sizes
    assert [file.path for file in files if file.reason] == ["expected.json"]
    assert all(file.checkpoints for file in files if file.role == "checkpoint")


def test_the_derived_recording_has_no_defect_and_claims_nothing(case):
    name, _expected, folder = case
    upload = upload_of(folder)
    found = assembled(upload)
    assert len(derived(upload)[1]) == EVENTS[name]
    assert found.defects == ()
    reports = judge(found.recording)
    assert reports
    assert {report.verdict for report in reports} == {"unknown"}
    assert not any(report.recomputed_states or report.in_flight for report in reports)
    events = [event for own in found.recording.events.values() for event in own]
    assert all(json.loads(event.extra)["derived"] for event in events)


def test_the_derived_log_is_read_back_as_it_was_written(case, tmp_path):
    _, _, folder = case
    header, events = derived(upload_of(folder))
    log = inputs.source(tmp_path, b"".join(write_lines(header, events)))
    again, read, defects = inputs.read(log)
    assert (again.topology, again.extra["dataflow"]) == (
        header.topology,
        header.extra["dataflow"],
    )
    assert [(e.kind, e.at, e.state) for e in read] == [(e.kind, e.at, e.state) for e in events]
    assert not defects


def test_times_are_those_of_the_files(case):
    """Compare trigger, completion and the acknowledgements that are known."""
    name, expected, folder = case
    header, events = derived(upload_of(folder))
    began = header.extra["epoch"]
    known = [item["decoded"] for item in expected["files"]]
    if name == "real-wire-vectors":  # the same checkpoint is in two of its files
        known = known[:2]
    for kind, field in (("cp_trigger", "trigger_ms"), ("cp_complete", "completed_ms")):
        told = sorted(event.at // 1000 + began for event in events if event.kind == kind)
        assert told == sorted(item[field] for item in known)
    acks = {event.at // 1000 + began for event in events if event.kind == "cp_ack"}
    noted = {
        task["ack"]
        for item in known
        for vertex in item["task_statistics"]
        for task in vertex["subtasks"]
        if task and item["trigger_ms"] <= task["ack"] <= item["completed_ms"]
    }
    assert acks == noted


def test_the_inventory_is_kept_beside_a_recording(case, tmp_path):
    _, _expected, folder = case
    into = tmp_path / "store"
    into.mkdir()
    write_inventory(into, upload_of(folder))
    stored = StoredInventory(into)
    for number, listed in enumerate(stored.upload["checkpoints"]):
        found = stored.checkpoint(number)
        assert len(found["operators"]) == listed["operators"]
        for operator in found["operators"]:
            for state in operator["states"]:
                page = stored.entries(found, operator["id"], state["name"])
                assert page.total == state["entries"] == state["stored"]


def test_each_pipeline_is_a_scope_with_a_coordinator(shared_data, tmp_path):
    unpack(shared_data / "seatunnel" / f"{NAMES[2]}.zip", tmp_path / "case", PackageLimits())
    upload = upload_of(tmp_path / "case")
    header, _ = derived(upload)
    scopes = {process.id: process.scope for process in header.topology.processes}
    assert scopes["coordinator 1"] == scopes["Source[0]-FakeSource.enumerator"] == "coordinator 1"
    assert scopes["Sink[1]-LocalFile-MultiTableSink.committer"] == "coordinator 2"
    assert len(scopes) == 17
    reports = {
        report.checkpoint: report for report in checkpoint_reports(assembled(upload).recording)
    }
    assert sorted(reports) == [
        "1 (pipeline 2)", "2 (pipeline 1)", "2 (pipeline 2)", "3 (pipeline 1)", "4 (pipeline 1)",
    ]  # fmt: skip
    closed = "Source[0]-FakeSource[2]"
    assert closed in {task.process for task in reports["2 (pipeline 1)"].tasks}
    assert closed not in {task.process for task in reports["3 (pipeline 1)"].tasks}
    first = reports["2 (pipeline 1)"]
    assert (first.pipeline, first.kind, first.status, first.duration) == (
        "1", "checkpoint", "completed", 204_000,
    )  # fmt: skip
    task = next(t for t in first.tasks if t.process == "Source[0]-FakeSource.enumerator")
    assert (task.vertex, task.acked_at) == (task.process, 48_000)
    assert (task.sync_from, task.start_delay) == (None, None)


def test_what_is_inferred_says_so(shared_data, tmp_path):
    unpack(shared_data / "seatunnel" / f"{NAMES[2]}.zip", tmp_path / "case", PackageLimits())
    found = upload_of(tmp_path / "case").inventory()
    for checkpoint in found.checkpoints:
        told = {fact.name: fact.inferred for fact in checkpoint.facts}
        assert told["committed"]
        assert told["pipeline"] is None
    closed = found.checkpoints[1].operators[0]
    assert (closed.subtasks[2].finished, closed.finished) == (True, False)
    assert facts(closed)["closed subtasks"] == "2"
    assert all(fact.inferred for fact in closed.facts)
    header, events = derived(upload_of(tmp_path / "case"))
    acks = [json.loads(event.extra) for event in events if event.kind == "cp_ack"]
    assert all(ack["inferred"] == ["acknowledged by"] for ack in acks)
    assert any("is inferred" in note for note in header.extra["notes"])


# --- made by hand -------------------------------------------------------------------------------


def a_vertex(number, *acks):
    """Return a task vertex whose subtasks acknowledge so many ms after the trigger (at 1000)."""
    listed = [
        (2, 1) if at is None else (1, [(1, place), (2, 1000 + at), (3, 1), (4, 0)])
        for place, at in enumerate(acks)
    ]
    flags = [(1, 0)]
    return [(1, number), (2, [(1, number), (2, listed), (3, flags), (4, len(acks))])]


def a_file(id=7, pipeline=1, job=5, at=1000, actions=(), vertices=(), took=90):
    inner = encoded(
        (1, job), (2, pipeline), (3, id), (4, at), (5, 0), (6, at + took),
        (7, [(1, action) for action in actions]), (8, [(1, vertex) for vertex in vertices]), (9, 0),
    )  # fmt: skip
    return encoded((1, str(job).encode()), (2, pipeline), (3, id), (4, inner))


def named(id, job=5, pipeline=1, at=1100):
    return f"{job}/{at}-1-{pipeline}-{id}.ser"


def two_actions(readers=2):
    states = [a_state(place, b'{"split": 1}') for place in range(readers)]
    return [
        an_action(a_name(SOURCE), states, a_state(-1, b"[]"), readers),
        an_action(a_name(SINK), states, a_state(-1, b"[]"), readers),
    ]


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


# --- REST answers -------------------------------------------------------------------------------

GRAPH = {
    "jobId": "5",
    "jobName": "orders to files",
    "jobStatus": "RUNNING",
    "createTime": "2026-01-01 10:00:00",
    "isStartWithSavePoint": False,
    "jobDag": {
        "vertexInfoMap": [
            {"vertexId": 1, "type": "source", "vertexName": "pipeline-1 [Source[0]-Fake]"},
            {"vertexId": 2, "type": "sink", "vertexName": "pipeline-1 [Sink[0]-File]"},
        ],
        "pipelineEdges": {"1": [{"inputVertexId": "1", "targetVertexId": "2"}]},
    },
}


def listed(id, status, at=5000, **fields):
    return {
        "checkpointId": id, "checkpointType": "checkpoint", "status": status,
        "triggerTimestamp": at, "stateSize": 3, **fields,
    }  # fmt: skip


def an_answer(*history, in_progress=(), pipeline=1):
    entries = [{"pipelineId": pipeline, "checkpoint": item} for item in history]
    pipelines = [{"pipelineId": pipeline, "counts": {}, "inProgress": list(in_progress),
                  "latestCompleted": {}, "history": entries}]  # fmt: skip
    return json.dumps({"jobId": "5", "updatedAt": 20_000, "pipelines": pipelines}).encode()


def test_edges_come_from_the_graph_of_the_job_alone(tmp_path):
    files = {named(7): a_file(actions=two_actions())}
    header, _ = derived(upload_of(save(tmp_path, files)))
    assert not header.topology.channels
    assert any("no channel is drawn" in note for note in header.extra["notes"])
    save(tmp_path, {"job-info.json": json.dumps(GRAPH).encode()})
    upload = upload_of(tmp_path)
    header, _ = derived(upload)
    assert [channel.id for channel in header.topology.channels] == [
        "Source[0]-Fake[0]->Sink[0]-File[0]",
        "Source[0]-Fake[1]->Sink[0]-File[1]",
    ]
    assert all(header.extra["channels"][c.id]["inferred"] for c in header.topology.channels)
    assert header.extra["dataflow"]["edges"] == [
        {"source": "Source[0]-Fake", "target": "Sink[0]-File", "exchange": "forward"}
    ]
    assert header.name == "orders to files"
    [job] = upload.inventory().jobs
    assert (job.key, job.name, facts(job)["status"]) == ("5", "orders to files", "RUNNING")
    found = assembled(upload)
    assert (found.defects, judge(found.recording)[0].verdict) == ((), "unknown")


def test_failed_and_running_checkpoints_come_from_rest(tmp_path):
    answer = an_answer(
        listed(7, "COMPLETED", 1000, completedTimestamp=1090),
        listed(8, "FAILED", 6000, completedTimestamp=9000, failureReason="it expired"),
        listed(9, "CANCELED", 10_000),
        listed(10, "COMPLETED", 11_000, completedTimestamp=11_500),
        in_progress=[{"checkpointId": 11, "checkpointType": "savepoint", "triggerTimestamp": 12_000,
                      "acknowledged": 1, "total": 4}],
    )  # fmt: skip
    files = {named(7): a_file(actions=two_actions()), "checkpoints.json": answer}
    upload = upload_of(save(tmp_path, files))
    found = {item.id: item for item in upload.inventory().checkpoints}
    assert [found[id].status for id in range(7, 12)] == [
        "completed", "failed", "failed", "completed", "in progress",
    ]  # fmt: skip
    assert "it expired" in found[8].notes[0]
    assert found[8].problem
    assert facts(found[11])["tasks acknowledged"] == "1 of 4"
    recording = assembled(upload)
    assert recording.defects == ()
    assert [report.snapshot for report in judge(recording.recording)] == ["7"]
    reports = {r.checkpoint: r for r in checkpoint_reports(recording.recording)}
    assert [(reports[str(id)].status, reports[str(id)].reason) for id in range(7, 12)] == [
        ("completed", None), ("aborted", "it expired"), ("aborted", "CANCELED"),
        ("completed", None), ("pending", None),
    ]  # fmt: skip
    assert reports["8"].duration == 3_000_000


def test_the_newest_final_status_of_several_answers_counts(tmp_path):
    early = json.loads(an_answer(listed(8, "FAILED", failureReason="first")))
    files = {
        "b.json": json.dumps(early | {"updatedAt": 10}).encode(),
        "a.json": an_answer(listed(8, "FAILED", failureReason="second")),
        "c.json": an_answer(in_progress=[{"checkpointId": 8, "triggerTimestamp": 5000}]),
    }
    [checkpoint] = upload_of(save(tmp_path, files)).inventory().checkpoints
    assert checkpoint.status == "failed"
    assert "second" in checkpoint.notes[0]


def test_a_file_of_a_checkpoint_that_failed_afterwards_says_both(tmp_path):
    answer = an_answer(listed(7, "FAILED", 1000, completedTimestamp=2000, failureReason="commit"))
    files = {named(7): a_file(actions=two_actions()), "checkpoints.json": answer}
    upload = upload_of(save(tmp_path, files))
    [checkpoint] = upload.inventory().checkpoints
    assert (checkpoint.status, len(checkpoint.operators)) == ("failed", 2)
    assert "every task had acknowledged it" in checkpoint.notes[1]
    kinds = [event.kind for event in derived(upload)[1] if event.process == "coordinator"]
    assert kinds == ["cp_trigger", "record_state", "cp_stored", "cp_abort"]


def test_answers_without_files_are_coordinators(tmp_path):
    save(tmp_path, {"checkpoints.json": an_answer(listed(8, "FAILED", completedTimestamp=9000))})
    upload = upload_of(tmp_path)
    header, events = derived(upload)
    assert [process.id for process in header.topology.processes] == ["coordinator"]
    assert [event.kind for event in events] == ["cp_trigger", "cp_abort"]
    assert assembled(upload).defects == ()


def test_a_graph_alone_is_a_recording_without_events(tmp_path):
    upload = upload_of(save(tmp_path, {"job-info.json": json.dumps(GRAPH).encode()}))
    header, events = derived(upload)
    assert (len(header.topology.processes), events) == (1, [])
    assert upload.inventory().checkpoints == ()


# --- recognised, bounded, hostile ---------------------------------------------------------------


@pytest.mark.parametrize(
    ("names", "start", "known"),
    [
        (["5/1714521610157-807-1-1.ser"], b"", True),
        (["vectors/completed.ser", "readme"], b"", True),
        (["object.ser"], b"\xac\xed\x00\x05sr", False),
        (["state/job-info-5.json"], b"", True),
        (["answer.json"], b'{"jobId":"5","updatedAt":17,"pipelines":[', True),
        (["answer"], json.dumps(GRAPH).encode()[:512], True),
        (["answer"], b'[{"pipelineId":1,"checkpoint":{', True),
        (["answer"], b'{"jid":"ab","name":"x","vertices":[', False),
        (["chk-1/_metadata"], b"", False),
        (["log.jsonl"], b'{"kind":"header","format":"cutline"', False),
    ],
)
def test_what_is_recognised(names, start, known):
    assert (SeaTunnelReader().recognises(names, start) is not None) is known


def test_an_archive_of_a_case_is_recognised(shared_data, tmp_path):
    archive = shared_data / "seatunnel" / f"{NAMES[1]}.zip"
    found = unpack(archive, tmp_path / "case", PackageLimits())
    recognised = recognise(tmp_path / "case", found.files, "archive")
    assert isinstance(recognised.reader, SeaTunnelReader)
    assert "named as SeaTunnel names" in recognised.reason


def test_too_many_subtasks_are_drawn_as_one_and_listed_up_to_a_bound(tmp_path, monkeypatch):
    monkeypatch.setattr(engine_graph, "MOST_TASKS", 20)
    monkeypatch.setattr(engine_inventory, "MOST_SUBTASKS", 2000)
    many = [an_action(a_name(SOURCE), [a_state(0, b"x"), 900], a_state(-1, b"y"), 901)]
    upload = upload_of(save(tmp_path, {named(n): a_file(n, actions=many) for n in range(5)}))
    header, events = derived(upload)
    assert [process.id for process in header.topology.processes] == [
        "Source[0]-Fake.enumerator", "Source[0]-Fake[0]", "coordinator",
    ]  # fmt: skip
    assert len(events) < 60
    operators = [item.operators[0] for item in upload.inventory().checkpoints]
    assert sum(len(operator.subtasks) for operator in operators) == 2000
    assert "not listed" in operators[-1].notes[0]
    assert assembled(upload).defects == ()


def test_a_long_list_of_checkpoints_is_cut_with_a_note(tmp_path, monkeypatch):
    monkeypatch.setattr(engine_checkpoints, "MOST_LISTED", 2)
    answer = an_answer(*(listed(id, "FAILED", id) for id in range(5)))
    found = upload_of(save(tmp_path, {"checkpoints.json": answer})).inventory()
    assert len(found.checkpoints) == 2
    assert "3 more checkpoints" in found.notes[0]


def test_odd_names_and_times_leave_a_recording_that_can_be_stored(tmp_path):
    odd = an_action(a_name("coordinator\x00" + "x" * 2000), [a_state(0, b"x")])
    twice = [an_action(12, [a_state(0, b"x")]), an_action(12, [a_state(0, b"y")])]
    files = {
        named(1): a_file(1, at=-(2**62), actions=[odd, *twice]),
        named(2): a_file(2, at=2**62, actions=[odd], vertices=[a_vertex(-4, 5)]),
    }
    header, events = derived(upload_of(save(tmp_path, files)))
    log = inputs.source(tmp_path, b"".join(write_lines(header, events)))
    again, read, _ = inputs.read(log)
    assert len(read) == len(events)
    assemble(again, read)
    write_inventory(tmp_path, upload_of(tmp_path))


def test_damaged_files_are_described_or_refused(shared_data, tmp_path):
    seeds = [json.dumps(GRAPH).encode(), an_answer(listed(8, "FAILED"), listed(9, "COMPLETED"))]
    for name in NAMES:
        with zipfile.ZipFile(shared_data / "seatunnel" / f"{name}.zip") as opened:
            seeds += [opened.read(n) for n in opened.namelist() if n.endswith(".ser")]
    read = 0
    for number, data in enumerate(mutated(seeds)):
        suffix = "json" if number % len(seeds) < 2 else "ser"
        with contextlib.suppress(InputRefused):
            folder = save(tmp_path / str(number), {f"file.{suffix}": data})
            upload = upload_of(folder)
            assert all(entry.bytes >= 0 for entry in upload.entries())
            header, events = derived(upload)
            again, logged, _ = inputs.read(
                inputs.source(tmp_path, b"".join(write_lines(header, events))),
                inputs.Limits(),
            )
            assemble(again, logged)
            write_inventory(folder, upload)
            read += 1
    assert read > 20
