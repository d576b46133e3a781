"""Flink's REST answers and a History Server's archive: the job, its graph, its checkpoints."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from snapshots.readers.engines.flink.rest import answers as rest_answers
from snapshots.readers.engines.flink.rest.answers import read_answers
from snapshots.readers.engines.flink.rest.beginnings import begins_as_answer, looks_like_json
from snapshots.readers.engines.flink.rest.job import RestJob, jobs_of
from tests.readers.engines.flink.cases import CASES
from tests.readers.mutated import mutated

JOB = "ab" * 16
VERTEX = "cd" * 16


def _answers(**values: object) -> list[tuple[str, bytes]]:
    """Return files in one folder; "__" in a name stands for "-"."""
    return [
        (f"rest/{name.replace('__', '-')}.json", json.dumps(value).encode())
        for name, value in values.items()
    ]


def _read(files) -> dict[str, RestJob]:
    return jobs_of(read_answers(files))


def _files(case_folder: Path) -> list[tuple[str, bytes]]:
    paths = sorted(case_folder.glob("rest*/*.json"))
    return [(path.relative_to(case_folder).as_posix(), path.read_bytes()) for path in paths]


def _checkpoint(number: int, **fields: object) -> dict:
    return {"id": number, "status": "COMPLETED", "trigger_timestamp": 1, "tasks": {}, **fields}


# Real answers


def _subtask_answers(case_folder: Path) -> Iterator[tuple[int, str, dict]]:
    for path in sorted(case_folder.glob("rest*/checkpoint-*-subtasks-*.json")):
        _, number, _, vertex = path.stem.split("-")
        yield int(number), vertex, json.loads(path.read_text())


@pytest.mark.parametrize("name", CASES)
def test_the_times_of_each_subtask_are_those_of_its_answer(shared_data, name):
    folder = shared_data / "flink" / name
    jobs = _read(_files(folder)).values()
    compared = 0
    for number, vertex, answer in _subtask_answers(folder):
        (checkpoint,) = filter(None, (job.checkpoint_by_id.get(number) for job in jobs))
        (times,) = (each for each in checkpoint.vertices if each.vertex == vertex)
        assert times.totals.persisted == answer["persisted_data"]
        assert len(times.subtasks) == len(answer["subtasks"])
        for ours, theirs in zip(times.subtasks, answer["subtasks"], strict=True):
            assert (ours.index, ours.status) == (theirs["index"], theirs["status"])
            if ours.status == "completed":
                assert [
                    ours.ack_at, ours.duration, ours.state_size, ours.sync, ours.async_,
                    ours.alignment, ours.persisted, ours.start_delay, ours.unaligned, ours.aborted,
                ] == [
                    theirs["ack_timestamp"], theirs["end_to_end_duration"], theirs["state_size"],
                    theirs["checkpoint"]["sync"], theirs["checkpoint"]["async"],
                    theirs["alignment"]["duration"], theirs["alignment"]["persisted"],
                    theirs["start_delay"], theirs["unaligned_checkpoint"], theirs["aborted"],
                ]  # fmt: skip
                compared += 1
    assert compared > 0 or name == "v2-bank-fs"


@pytest.mark.parametrize("name", CASES)
def test_every_answer_is_recognised(shared_data, name):
    answers = read_answers(_files(shared_data / "flink" / name))
    assert answers.unread == {}
    for job_id, job in jobs_of(answers).items():
        case = json.loads((shared_data / "flink" / name / "case.json").read_text())
        assert job_id in {each["jobId"] for each in case["jobs"]}
        assert job.flink_version == case["flinkVersion"]
        assert job.started_at > 1_700_000_000_000
        assert (job.ended_at, job.state) == (None, "RUNNING")


def test_failures_say_when_and_why(shared_data):
    (job,) = _read(_files(shared_data / "flink" / "failures")).values()
    assert job.counts == {"restored": 0, "total": 15, "in_progress": 1, "completed": 7, "failed": 7}
    failed = [each for each in job.checkpoints if each.status == "FAILED"]
    assert [each.id for each in failed] == [2, 3, 6, 7, 10, 11, 14]
    assert {each.failure for each in failed} == {
        "Asynchronous task checkpoint failed.", "Checkpoint expired before completing.",
    }  # fmt: skip
    assert all(each.failed_at >= each.triggered_at and each.path is None for each in failed)
    (pending,) = (each for each in job.checkpoints if each.status == "IN_PROGRESS")
    assert (pending.id, pending.totals.acknowledged, pending.totals.subtasks) == (15, 9, 10)
    lacking = [each for vertex in failed[0].vertices for each in vertex.subtasks if not each.ack_at]
    assert [each.status for each in lacking] == ["pending_or_failed"]


def test_the_graph_has_gates_in_order_and_chains_with_their_members(shared_data):
    (job,) = _read(_files(shared_data / "flink" / "bounded")).values()
    by_name = {vertex.members[0]: vertex for vertex in job.graph.vertices}
    count = by_name["count"]
    gates = [(edge.gate, edge.ship) for edge in count.inputs]
    assert gates == [(0, "HASH"), (1, "HASH"), (2, "HASH")]
    assert [job.graph.vertex_by_id[edge.source].members[0] for edge in count.inputs] == [
        "Source: bounded-source", "Source: half-bounded", "Source: endless-source",
    ]  # fmt: skip
    assert by_name["Source: bounded-source"].members[1:] == ("bounded-map",)
    assert count.name == "count"


def test_two_jobs_in_two_folders_stay_apart(shared_data):
    jobs = _read(_files(shared_data / "flink" / "rescaled"))
    ids = {tuple(checkpoint.id for checkpoint in job.checkpoints) for job in jobs.values()}
    assert ids == {(1, 2), (4, 5)}
    assert {job.graph.vertices[0].parallelism for job in jobs.values()} == {2, 3}


@pytest.mark.parametrize("name", ["unaligned-orders", "failures", "v3-orders-rocksdb"])
def test_the_archive_of_a_history_server_gives_the_same_job(shared_data, name):
    files = _files(shared_data / "flink" / name)
    (job,) = _read(files).values()
    index = json.loads(next(data for path, data in files if path.endswith("index.json")))
    archive = [
        {"path": item["path"], "json": (shared_data / "flink" / name / "rest" / file).read_text()}
        for file, item in index.items()
        if "/config" not in item["path"] or "/checkpoints/" in item["path"]
    ]
    (archived,) = _read([(job.id, json.dumps({"archive": archive}).encode())]).values()
    assert archived.graph == job.graph
    assert archived.checkpoints == job.checkpoints
    assert (archived.name, archived.config) == (job.name, job.config)


@pytest.mark.parametrize("name", ["unaligned-orders", "v4-unaligned-orders"])
def test_answers_without_an_index_are_recognised_by_content_and_file_name(shared_data, name):
    files = _files(shared_data / "flink" / name)
    (job,) = _read(files).values()
    bare = [(path, data) for path, data in files if not path.endswith("index.json")]
    assert list(_read(bare).values()) == [job]


def test_answers_named_like_their_path_need_no_index(shared_data):
    folder = shared_data / "flink" / "failures"
    (job,) = _read(_files(folder)).values()
    index = json.loads((folder / "rest" / "index.json").read_text())
    files = [
        (f"history{item['path']}.json", (folder / "rest" / name).read_bytes())
        for name, item in index.items()
    ]
    (unpacked,) = _read(files).values()
    assert (unpacked.checkpoints, unpacked.graph) == (job.checkpoints, job.graph)


# Answers made by hand


def test_the_later_answer_about_a_checkpoint_is_taken():
    running = _checkpoint(3, status="IN_PROGRESS", num_acknowledged_subtasks=1)
    ended = _checkpoint(3, num_acknowledged_subtasks=2, tasks={VERTEX: {"status": "COMPLETED"}})
    history = {"counts": {}, "summary": {}, "latest": {"completed": ended}, "history": [running]}
    job = {"jid": JOB, "name": "n", "state": "RUNNING", "vertices": []}
    for files in (
        _answers(job=job, checkpoints=history, a=running),
        _answers(a=ended, checkpoints=history | {"latest": {}}, job=job),
    ):
        (checkpoint,) = _read(files)[JOB].checkpoints
        assert (checkpoint.status, checkpoint.totals.acknowledged) == ("COMPLETED", 2)
        assert [vertex.vertex for vertex in checkpoint.vertices] == [VERTEX]


def test_vertices_that_only_the_earlier_answer_has_are_kept():
    tasks = {VERTEX: {"status": "IN_PROGRESS", "num_acknowledged_subtasks": 1}}
    running = _checkpoint(3, status="IN_PROGRESS", tasks=tasks)
    history = {"counts": {}, "summary": {}, "latest": {}, "history": [_checkpoint(3)]}
    subtasks = [
        {"id": 3, "status": "COMPLETED", "summary": {}, "num_acknowledged_subtasks": count,
         "subtasks": [{"index": index, "status": "completed"} for index in range(count)]}
        for count in (2, 1)
    ]  # fmt: skip
    name = f"subtasks__{VERTEX}"
    early = {"jid": JOB, "name": "n", "state": "CREATED", "vertices": [], "now": 1}
    late = early | {"state": "RUNNING", "now": 2}
    for first, second in ((0, 1), (1, 0)):
        of_vertex = {f"x__{name}": subtasks[first], f"y__{name}": subtasks[second]}
        jobs = {"one": [early, late][first], "two": [early, late][second]}
        files = _answers(a=running, b=history, **jobs, **of_vertex)
        job = _read(files)[JOB]
        (checkpoint,) = job.checkpoints
        (vertex,) = checkpoint.vertices
        assert (job.state, checkpoint.status, len(vertex.subtasks)) == ("RUNNING", "COMPLETED", 2)
    (checkpoint,) = _read(_answers(a=running, b=history, job=late))[JOB].checkpoints
    assert [vertex.vertex for vertex in checkpoint.vertices] == [VERTEX]


def test_values_of_wrong_types_are_unknown():
    odd = _checkpoint(1, state_size=-1, trigger_timestamp="x", end_to_end_duration=1.5,
                      checkpointed_size=True, external_path=7, is_savepoint="no")  # fmt: skip
    job = {"jid": JOB, "name": 4, "state": None, "vertices": [1], "start-time": "NaN"}
    (only,) = _read(_answers(job=job, a=odd)).values()
    (checkpoint,) = only.checkpoints
    totals = checkpoint.totals
    assert (totals.state_size, totals.uploaded_size, totals.duration) == (None, None, None)
    assert (checkpoint.triggered_at, checkpoint.path, checkpoint.is_savepoint) == (
        None,
        None,
        False,
    )
    assert (only.name, only.state, only.started_at, only.graph) == (None, None, None, None)


def test_exceptions_of_old_and_of_new_answers():
    old = {"root-exception": "r", "all-exceptions": [{"exception": "old", "task": "t",
           "location": "h:1", "timestamp": 5}]}  # fmt: skip
    new = {"exceptionHistory": {"entries": [{"exceptionName": "E", "stacktrace": "new",
           "timestamp": 3, "taskName": "u"}]}}  # fmt: skip
    job = {"jid": JOB, "name": "n", "state": "FAILED", "vertices": []}
    (only,) = _read(_answers(job=job, exceptions=old, more=new)).values()
    assert [(e.at, e.name, e.task, e.location, e.text) for e in only.exceptions] == [
        (3, "E", "u", None, "new"), (5, None, "t", "h:1", "old"),
    ]  # fmt: skip


def test_an_answer_without_a_certain_job_belongs_to_none():
    first = {"jid": JOB, "name": "a", "state": "RUNNING", "vertices": []}
    second = first | {"jid": "ef" * 16}
    answers = read_answers(_answers(one=first, two=second, a=_checkpoint(1)))
    assert "2 may be meant" in answers.unread["rest/a.json"]
    answers = read_answers(
        [
            ("one/a", b'{"root-exception": null, "all-exceptions": []}'),
            ("two/b", json.dumps(_checkpoint(1)).encode()),
        ]
    )
    assert not answers.jobs
    assert "2 may be meant" in answers.unread["one/a"]


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (b"{", "not JSON"),
        (b'{"some": "thing"}', "not a known answer"),
        (b"[1]", "not a known answer"),
        (b"3", "not a known answer"),
        (b'{"archive": [{"json": "{}"}]}', "has no path"),
        (b'{"archive": [{"path": "/jobs", "json": "{"}]}', "not JSON"),
        (b"[" * 100_000, "not JSON"),
    ],
)
def test_a_file_without_an_answer_has_a_reason(data, reason):
    assert reason in read_answers([("x", data)]).unread["x"]


def test_files_that_are_too_large_are_not_read(monkeypatch):
    monkeypatch.setattr(rest_answers, "LARGEST", 20)
    monkeypatch.setattr(rest_answers, "LARGEST_TOTAL", 45)
    files = [(name, b"[]" + b" " * size) for name, size in (("a", 30), ("b", 8), ("c", 8))]
    unread = read_answers(files).unread
    assert "larger than" in unread["a"]
    assert "Only" in unread["c"]
    assert "b" not in unread


def test_json_is_recognised_by_its_first_character():
    assert looks_like_json(b'\xef\xbb\xbf \n{"')
    assert looks_like_json(b"[")
    assert not looks_like_json(b"\x00{")
    assert not looks_like_json(b"")


def test_damaged_answers_give_jobs_or_reasons(shared_data):
    files = _files(shared_data / "flink" / "bank-unaligned")
    seeds = [data for path, data in files if "vertex" not in path]
    (job_answer,) = (data for path, data in files if path.endswith("/job.json"))
    for data in mutated(seeds):
        for job in _read([("rest/job.json", job_answer), ("rest/x", data)]).values():
            assert all(checkpoint.id >= 0 for checkpoint in job.checkpoints)
            json.dumps([job.name, job.counts, job.config])


def test_an_answer_that_names_no_job_does_not_show_that_a_file_is_flinks():
    vertex = b'{"id": "x", "name": "a node", "parallelism": 2, "subtasks": []}'
    assert not begins_as_answer(vertex, is_whole=True)
    assert not begins_as_answer(vertex[:50], is_whole=False)
    shares = b'{"status": "ok", "subtasks": [], "backpressure-level": "ok"}'
    assert not begins_as_answer(shares, is_whole=True)
