"""Real uploads of SeaTunnel against what their expected.json says."""

import json
from hashlib import sha256

import pytest

from snapshots.domain.dataflow_logs.checkpoints.reference import checkpoints as checkpoint_reports
from snapshots.domain.inventory.entries import NotRead
from snapshots.domain.inventory.model import COORDINATOR
from snapshots.domain.judging.verdicts import judge
from snapshots.domain.model.derived import NOT_TOLD, WHY_UNKNOWN, why_unknown
from snapshots.readers.formats.unpacking.packages import PackageLimits, unpack
from snapshots.readers.logs.native import write_lines
from snapshots.store.inventory.reading import StoredInventory
from snapshots.store.inventory.writing import write_inventory
from tests.readers import inputs
from tests.readers.engines.seatunnel.cases import as_expected
from tests.readers.engines.seatunnel.engine import NAMES, assembled, derived, facts, upload_of
from tests.readers.units import units

EVENTS = dict(zip(NAMES, (12, 80, 96), strict=True))
KINDS = {
    "CHECKPOINT_TYPE": "checkpoint",
    "SAVEPOINT_TYPE": "savepoint",
    "COMPLETED_POINT_TYPE": "completed point",
}


@pytest.fixture(params=NAMES)
def case(request, shared_data, tmp_path):
    """Give the name of a case, its expected.json and its unpacked folder."""
    target = tmp_path / "case"
    unpack(shared_data / "seatunnel" / f"{request.param}.zip", target, PackageLimits())
    [expected] = target.rglob("expected.json")
    return request.param, json.loads(expected.read_text()), expected.parent


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
