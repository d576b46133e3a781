"""Recordings derived from answers of any job: graphs of all kinds, times that contradict."""

import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as some

from snapshots.domain.assembling.assembly import Assembly, assemble
from snapshots.domain.dataflow_logs.checkpoints.reference import checkpoints
from snapshots.domain.dataflow_logs.dataflow import Dataflow
from snapshots.domain.judging.verdicts import judge
from snapshots.domain.model.recording import MARKER_RECEIVE, MARKER_SEND
from snapshots.domain.model.values import parsed
from snapshots.readers.engines.flink.adapter.reader import FlinkReader
from snapshots.readers.logs.native import write_lines
from tests.effort import examples
from tests.readers.inputs import read as read_log

JOB = "ab" * 16
EPOCH = 1_795_192_000_000
ALL_TO_ALL = ("HASH", "REBALANCE", "BROADCAST", "CUSTOM")
SHIPS = (*ALL_TO_ALL, "FORWARD", "RESCALE", "SOMETHING NEW")


def vertex_id(number: int) -> str:
    return f"{number:032x}"


@dataclass
class Answers:
    """The answers of the REST API about one job.

    Attributes:
        wide: the parallelism of each vertex.
        edges: source, target and ship strategy.
    """

    wide: Sequence[int]
    edges: Sequence[tuple[int, int, str]] = ()
    names: Sequence[str] = ()
    config: dict = field(default_factory=dict)
    checkpoints: list[tuple[dict, dict[int, list[dict]]]] = field(default_factory=list)

    def add(self, number: int, at: int, status: str, subtasks: dict[int, list[dict]], **more):
        """Add a checkpoint triggered ``at`` ms after EPOCH; ``subtasks`` are by vertex."""
        value = {
            "id": number,
            "status": status,
            "is_savepoint": False,
            "checkpoint_type": "CHECKPOINT",
            "trigger_timestamp": EPOCH + at,
            "latest_ack_timestamp": EPOCH + at + 10,
            "end_to_end_duration": 10,
            "state_size": 1,
            "num_subtasks": sum(self.wide),
            "tasks": {},
        }
        self.checkpoints.append((value | more, subtasks))
        return self

    def write(self, folder: Path) -> Path:
        folder.mkdir(parents=True)
        for name, value in self._files().items():
            (folder / name).write_text(json.dumps(value))
        return folder

    def _files(self) -> dict[str, object]:
        nodes, gates = [], {}
        for number, wide in enumerate(self.wide):
            name = self.names[number] if self.names else f"v{number}"
            nodes.append(
                {"id": vertex_id(number), "parallelism": wide, "description": name, "inputs": []}
            )
        for source, target, ship in self.edges:
            gate = gates[target] = gates.get(target, -1) + 1
            edge = {"id": vertex_id(source), "num": gate, "ship_strategy": ship}
            nodes[target]["inputs"].append(edge)
        files: dict[str, object] = {
            "plan.json": {"plan": {"jid": JOB, "name": "made", "nodes": nodes}},
            "config.json": {"mode": "exactly_once", "interval": 1, "timeout": 2,
                            "externalization": {}} | self.config,
        }  # fmt: skip
        for value, subtasks in self.checkpoints:
            files[f"checkpoint-{value['id']}.json"] = value
            for vertex, own in subtasks.items():
                own = [one | {"index": index} for index, one in enumerate(own)]
                name = f"checkpoint-{value['id']}-subtasks-{vertex_id(vertex)}.json"
                head = {"id": value["id"], "status": value["status"], "summary": {}}
                files[name] = head | {"subtasks": own}
        return files


def done(start_delay: int, alignment: int = 0, sync: int = 0, async_: int = 0, **more) -> dict:
    """Return a subtask that acknowledged right after its upload, unless ``more`` says otherwise."""
    spent = start_delay + alignment + sync + async_
    return {
        "status": "completed",
        "end_to_end_duration": spent,
        "ack_timestamp": EPOCH,
        "state_size": 5,
        "checkpointed_size": 3,
        "start_delay": start_delay,
        "alignment": {"duration": alignment, "processed": 0, "persisted": 0},
        "checkpoint": {"sync": sync, "async": async_},
        "unaligned_checkpoint": False,
        "aborted": False,
    } | more


PENDING = {"status": "pending_or_failed"}


def derived(folder: Path) -> Assembly:
    """Return the recording after checking what holds of every derived recording."""
    upload = FlinkReader().read(folder)
    header, events = upload.recording()
    events = list(events)
    path = folder.parent / f"{folder.name}.jsonl"
    path.write_bytes(b"".join(write_lines(header, events)))
    found, read, defects = read_log(path)
    assert (found.topology, read, defects) == (header.topology, events, ())
    assembly = assemble(header, events)
    assert assembly.defects == ()
    for report in judge(assembly.recording):
        assert {finding.verdict for finding in report.findings} <= {"unknown", "incomplete"}
    list(upload.entries())
    assert len(upload.inventory().checkpoints) == len(upload.checkpoints)
    return assembly


# --- graphs ---------------------------------------------------------------------------------------


def three(folder: Path, ship: str = "HASH", **fields) -> Answers:
    return Answers((2, 2, 1), ((0, 1, ship), (1, 2, "REBALANCE")), **fields)


def test_the_graph_is_the_topology(tmp_path):
    answers = three(tmp_path).add(1, 0, "COMPLETED", {})
    recording = derived(answers.write(tmp_path / "rest")).recording
    assert [channel.id for channel in recording.topology.channels] == [
        "v0[0]->v1[0]", "v0[1]->v1[0]", "v0[0]->v1[1]", "v0[1]->v1[1]",
        "v1[0]->v2[0]", "v1[1]->v2[0]",
    ]  # fmt: skip
    dataflow = Dataflow.from_json(recording.header_extra["dataflow"])
    assert [(one.id, one.kind, one.parallelism) for one in dataflow.vertices] == [
        ("v0", "source", 2), ("v1", "operator", 2), ("v2", "sink", 1),
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("wide", "channels"),
    [
        ((2, 2), ["0-0", "1-1"]),
        ((4, 2), ["0-0", "1-0", "2-1", "3-1"]),
        ((2, 4), ["0-0", "0-1", "1-2", "1-3"]),
        ((3, 2), ["0-0", "1-1", "2-1"]),
        ((2, 3), ["0-0", "0-1", "1-2"]),
    ],
)
def test_rescaling_joins_neighbours(tmp_path, wide, channels):
    answers = Answers(wide, ((0, 1, "RESCALE"),)).add(1, 0, "COMPLETED", {})
    recording = derived(answers.write(tmp_path / "rest")).recording
    found = [channel.id for channel in recording.topology.channels]
    assert found == ["v0[{}]->v1[{}]".format(*one.split("-")) for one in channels]


def test_processes_come_in_the_order_of_the_flow(tmp_path):
    edges = ((2, 1, "HASH"), (1, 0, "HASH"), (3, 0, "HASH"))
    answers = Answers((1,) * 4, edges).add(1, 0, "COMPLETED", {})
    recording = derived(answers.write(tmp_path / "rest")).recording
    assert list(recording.events) == ["v2[0]", "v3[0]", "v1[0]", "v0[0]", "coordinator"]


def test_two_edges_between_the_same_vertices_have_channels_of_their_own(tmp_path):
    answers = Answers((1, 1), ((0, 1, "HASH"), (0, 1, "HASH"))).add(1, 0, "COMPLETED", {})
    recording = derived(answers.write(tmp_path / "rest")).recording
    found = [channel.id for channel in recording.topology.channels]
    assert found == ["v0[0]->v1[0]", "v0[0]->v1[0] (gate 1)"]


def test_names_are_unique_and_short_and_no_task_is_called_a_coordinator(tmp_path):
    names = ("map", "map", "coordinator", "x" * 500, "\x00\n")
    answers = Answers((1,) * 5, names=names).add(1, 0, "COMPLETED", {})
    recording = derived(answers.write(tmp_path / "rest")).recording
    assert list(recording.events) == [
        "map[0]", "map 2[0]", "task coordinator[0]", "x" * 59 + "…[0]", "operator 00000000[0]",
        "coordinator",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("wide", "edges"),
    [
        ((1, 1), ((0, 1, "HASH"), (1, 0, "HASH"))),
        ((1,), ((0, 0, "HASH"),)),
        ((1, 1), ((0, 1, "SOMETHING NEW"),)),
    ],
)
def test_a_graph_that_is_no_dataflow_has_no_barriers(tmp_path, wide, edges):
    subtasks = {number: [done(5, 1)] for number in range(len(wide))}
    answers = Answers(wide, edges)
    answers.add(1, 0, "COMPLETED", subtasks).add(2, 50, "COMPLETED", subtasks)
    recording = derived(answers.write(tmp_path / "rest")).recording
    assert not any(recording.markers.values())
    assert recording.header_extra["dataflow"] == {}
    tasks = {task.process: task for task in checkpoints(recording)[0].tasks}
    target = tasks[f"v{len(wide) - 1}[0]"]
    assert (target.start_delay, target.alignment) == (5, 1)


def test_an_immense_parallelism_takes_no_room(tmp_path):
    answers = Answers((2**31 - 1, 2**31 - 1), ((0, 1, "HASH"),)).add(1, 0, "COMPLETED", {})
    recording = derived(answers.write(tmp_path / "rest")).recording
    assert list(recording.events) == ["coordinator"]
    assert "There are too many subtasks to show each of them." in recording.header_extra["notes"]


# --- times ----------------------------------------------------------------------------------------


def test_the_way_of_a_barrier_is_bounded_by_what_both_ends_took(tmp_path):
    subtasks = {
        0: [done(3, sync=1, async_=1), done(7)],
        1: [done(5, 4, sync=2, async_=3), done(8)],
        2: [done(20, 6)],
    }
    answers = three(tmp_path).add(1, 100, "COMPLETED", subtasks)
    recording = derived(answers.write(tmp_path / "rest")).recording
    (report,) = checkpoints(recording)
    tasks = {task.process: task for task in report.tasks}
    assert (tasks["v1[0]"].first_barrier_at, tasks["v1[0]"].alignment) == (5, 4)
    assert (tasks["v1[0]"].sync_from, tasks["v1[0]"].sync_to, tasks["v1[0]"].async_to) == (
        9,
        11,
        14,
    )
    marks = {
        (event.kind, event.channel): event.at
        for own in recording.events.values()
        for event in own
        if event.kind in (MARKER_SEND, MARKER_RECEIVE)
    }
    assert marks[MARKER_SEND, "v0[0]->v1[0]"] == 3
    assert marks[MARKER_RECEIVE, "v0[0]->v1[0]"] == 5
    assert marks[MARKER_RECEIVE, "v0[1]->v1[0]"] == 9  # its sender recorded last
    assert (marks[MARKER_SEND, "v1[0]->v2[0]"], marks[MARKER_RECEIVE, "v1[0]->v2[0]"]) == (9, 26)


def test_a_clock_that_is_behind_moves_only_the_sending(tmp_path):
    subtasks = {0: [done(9), done(9)], 1: [done(5, 1), done(5)], 2: [done(4)]}
    answers = three(tmp_path).add(1, 0, "COMPLETED", subtasks)
    (report,) = checkpoints(derived(answers.write(tmp_path / "rest")).recording)
    delays = {task.process: task.start_delay for task in report.tasks}
    assert delays == {"v0[0]": 9, "v0[1]": 9, "v1[0]": 5, "v1[1]": 5, "v2[0]": 4}


def test_phases_longer_than_the_whole_went_on_at_once(tmp_path):
    """Unaligned, the copy begins with the first barrier."""
    one = done(5, 30, 2, 20) | {"end_to_end_duration": 40}
    subtasks = {0: [done(1), done(1)], 1: [one, done(5)], 2: [done(6)]}
    answers = three(tmp_path).add(1, 0, "COMPLETED", subtasks, end_to_end_duration=40)
    (report,) = checkpoints(derived(answers.write(tmp_path / "rest")).recording)
    (task,) = (task for task in report.tasks if task.process == "v1[0]")
    assert (task.first_barrier_at, task.alignment) == (5, 30)
    assert (task.sync_from, task.sync_to, task.async_to, task.acked_at) == (5, 7, 27, 40)


def test_without_a_start_delay_the_latest_instant_is_taken_as_inferred(tmp_path):
    one = done(0, 0, 2, 3) | {"end_to_end_duration": 40, "start_delay": -1}
    subtasks = {0: [one, one], 1: [one, one], 2: [one]}
    answers = three(tmp_path).add(1, 0, "COMPLETED", subtasks)
    recording = derived(answers.write(tmp_path / "rest")).recording
    records = [event for event in recording.events["v1[0]"] if event.kind == "record_state"]
    assert [(event.at, parsed(event.extra)["inferred"]) for event in records] == [(35, True)]
    assert not any(recording.markers.values())


def test_nothing_is_claimed_of_a_subtask_that_has_not_acknowledged(tmp_path):
    subtasks = {0: [done(1), done(1)], 1: [done(2), PENDING], 2: [PENDING]}
    answers = three(tmp_path).add(
        1, 0, "FAILED", subtasks, failure_message="The job has failed.", end_to_end_duration=9
    )
    answers.add(2, 30, "COMPLETED", {0: [done(1)] * 2, 1: [done(2)] * 2, 2: [done(3)]})
    recording = derived(answers.write(tmp_path / "rest")).recording
    first, _ = checkpoints(recording)
    tasks = {task.process: task for task in first.tasks}
    assert (first.status, first.reason, first.duration) == ("aborted", "The job has failed", 9)
    assert (tasks["v1[1]"].start_delay, tasks["v1[1]"].acked_at) == (None, None)
    assert first.critical_path == ()
    report, _ = judge(recording)
    missing = {one.process for one in report.findings if one.verdict == "incomplete"}
    assert missing == {"v1[1]", "v2[0]"}
    discarded = [(event.channel, event.at) for event in recording.events["v2[0]"] if event.label]
    assert discarded == [("v1[0]->v2[0]", 9)]


def test_missing_acknowledgements_are_named_only_where_the_count_is_complete(tmp_path):
    subtasks = {0: [done(1)] * 2, 1: [done(2), PENDING], 2: [PENDING]}
    told = {"failure_message": "It broke.", "end_to_end_duration": 9}
    for name, count, said in (
        ("all", 3, "It was given up after 9 ms: It broke. v1[1] and v2[0] had not acknowledged."),
        ("fewer", 4, "It was given up after 9 ms: It broke."),
    ):
        answers = three(tmp_path).add(
            1, 0, "FAILED", subtasks, num_acknowledged_subtasks=count, **told
        )
        (report,) = checkpoints(derived(answers.write(tmp_path / name)).recording)
        assert report.sentence == said


def path_of(report) -> list[tuple]:
    return [(one.process, one.phase, one.from_, one.to) for one in report.critical_path]


def test_what_held_a_barrier_back_is_an_earlier_copy_or_not_known(tmp_path):
    """The copy of v2[0] for checkpoint 1 lasts until 103 and blocks it until then.

    After that its barriers may still have been on their way.
    """
    late = done(3, sync=100, aborted=True)
    answers = three(tmp_path).add(
        1, 0, "FAILED", {0: [done(1)] * 2, 1: [done(2)] * 2, 2: [late]},
        failure_message="Checkpoint expired before completing.", end_to_end_duration=50,
    )  # fmt: skip
    subtasks = {0: [done(1)] * 2, 1: [done(2)] * 2, 2: [done(60)]}
    answers.add(2, 50, "COMPLETED", subtasks, end_to_end_duration=60)
    subtasks = {0: [done(1)] * 2, 1: [done(2), done(30)], 2: [done(40)]}
    answers.add(3, 200, "COMPLETED", subtasks, end_to_end_duration=40)
    first, second, third = checkpoints(derived(answers.write(tmp_path / "rest")).recording)
    assert "v2[0] was still copying its state" in first.sentence
    assert path_of(second) == [("v2[0]", "busy", 50, 103), ("v2[0]", "travel", 103, 110)]
    assert second.critical_path[1].is_inferred
    assert second.sentence == (
        "It took 60 ms; for 53 ms of these v2[0] was still copying its state for checkpoint 1."
    )
    assert not any(one.phase == "busy" for one in third.critical_path)
    assert third.sentence.startswith("It took 40 ms; for 29 ms of these v1[1] waited for its first")


def test_a_subtask_that_never_came_to_a_checkpoint_may_have_been_at_an_earlier_one(tmp_path):
    expired = "Checkpoint expired before completing."
    answers = three(tmp_path).add(
        1, 0, "FAILED", {0: [done(1)] * 2, 1: [done(2)] * 2, 2: [done(3, sync=500, aborted=True)]},
        failure_message=expired, end_to_end_duration=50,
    )  # fmt: skip
    subtasks = {0: [done(1)] * 2, 1: [done(2)] * 2, 2: [PENDING]}
    for number, at in ((2, 60), (3, 480)):
        answers.add(
            number, at, "FAILED", subtasks, failure_message=expired, end_to_end_duration=50,
            num_acknowledged_subtasks=4,
        )  # fmt: skip
    _, second, third = checkpoints(derived(answers.write(tmp_path / "rest")).recording)
    assert path_of(second) == [("v2[0]", "busy", 60, 110)]
    assert second.sentence.endswith(": v2[0] was still copying its state for checkpoint 1.")
    assert third.critical_path == ()
    assert third.sentence.endswith("because its time was over. v2[0] had not acknowledged.")


def test_a_source_begins_when_its_earlier_copy_is_done(tmp_path):
    late = done(0, sync=80, aborted=True)
    answers = Answers((1, 1), ((0, 1, "HASH"),)).add(
        1, 0, "FAILED", {0: [late], 1: [PENDING]}, end_to_end_duration=50
    )
    answers.add(2, 50, "COMPLETED", {0: [done(35)], 1: [done(36)]}, end_to_end_duration=36)
    _, second = checkpoints(derived(answers.write(tmp_path / "rest")).recording)
    assert path_of(second)[:2] == [("v0[0]", "busy", 50, 80), ("v0[0]", "trigger", 80, 85)]


def test_a_barrier_of_which_nothing_is_known_is_not_overtaken_by_the_next(tmp_path):
    late = done(0) | {"start_delay": -1, "end_to_end_duration": 5}
    subtasks = {0: [done(1)] * 2, 1: [late, late], 2: [PENDING]}
    answers = three(tmp_path).add(1, 0, "FAILED", subtasks, end_to_end_duration=9)
    answers.add(2, 30, "COMPLETED", {0: [done(1)] * 2, 1: [done(2)] * 2, 2: [done(3)]})
    recording = derived(answers.write(tmp_path / "rest")).recording
    assert all(len(markers) == 2 for markers in recording.markers.values())


@pytest.mark.parametrize("status", ["COMPLETED", "FAILED"])
def test_a_checkpoint_without_a_trigger_has_no_times(tmp_path, status):
    subtasks = {0: [done(1)] * 2, 1: [done(2)] * 2, 2: [PENDING]}
    answers = three(tmp_path).add(1, 0, status, subtasks, trigger_timestamp=-1)
    answers.add(2, 30, "COMPLETED", {0: [done(1)] * 2, 1: [done(2)] * 2, 2: [done(3)]})
    recording = derived(answers.write(tmp_path / "rest")).recording
    assert [(one.checkpoint, one.duration) for one in checkpoints(recording)] == [("2", 10)]
    assert [report.snapshot for report in judge(recording)] == ["1", "2"]


UNALIGNED = {"unaligned_checkpoints": True}
some_time = some.integers(0, 30)
some_subtask = some.one_of(
    some.just(PENDING),
    some.builds(done, some_time, some_time, some_time, some_time),
    some.builds(
        done,
        some.integers(-1, 30),
        some_time,
        some_time,
        some_time,
        end_to_end_duration=some_time,
        unaligned_checkpoint=some.booleans(),
        aborted=some.booleans(),
    ),
)


@some.composite
def some_answers(draw) -> Answers:
    wide = draw(some.lists(some.integers(1, 3), min_size=1, max_size=4))
    places = [(a, b) for a in range(len(wide)) for b in range(a)]
    chosen = draw(some.lists(some.sampled_from(places), max_size=4)) if places else []
    edges = [(source, target, draw(some.sampled_from(SHIPS))) for target, source in chosen]
    answers = Answers(wide, edges, config=draw(some.sampled_from([{}, UNALIGNED])))
    at = 0
    for number in range(1, draw(some.integers(1, 4)) + 1):
        at = max(0, at + draw(some.integers(-20, 60)))
        told = draw(some.booleans()) or draw(some.booleans())
        subtasks = {
            vertex: [draw(some_subtask) for _ in range(draw(some.integers(count - 1, count)))]
            for vertex, count in enumerate(wide)
            if told
        }
        status = draw(some.sampled_from(("COMPLETED", "COMPLETED", "FAILED", "IN_PROGRESS", "?")))
        kind = draw(some.sampled_from(("CHECKPOINT", "UNALIGNED_CHECKPOINT", "SAVEPOINT")))
        answers.add(
            number,
            at,
            status,
            subtasks,
            checkpoint_type=kind,
            persisted_data=draw(some.integers(0, 1)),
            end_to_end_duration=draw(some.integers(-1, 60)),
            **({"trigger_timestamp": -1} if draw(some.integers(0, 9)) == 9 else {}),
        )
    return answers


@settings(max_examples=examples(80), deadline=None)
@given(answers=some_answers())
def test_any_answers_give_a_recording_without_a_defect_or_a_false_verdict(
    tmp_path_factory, answers
):
    assembly = derived(answers.write(tmp_path_factory.mktemp("made") / "rest"))
    reports = {one.checkpoint: one for one in checkpoints(assembly.recording)}
    judged = {report.snapshot: report for report in judge(assembly.recording)}
    for value, _ in answers.checkpoints:
        snapshot = str(value["id"])
        snapshot = snapshot if snapshot in reports else f"{snapshot} (run 2)"
        if value["status"] == "COMPLETED" and snapshot in judged:
            verdicts = {finding.verdict for finding in judged[snapshot].findings}
            assert verdicts == {"unknown"}
        known = value["end_to_end_duration"] >= 0 and value["trigger_timestamp"] >= 0
        if snapshot in reports and known:
            ended = value["status"] in ("COMPLETED", "FAILED")
            assert reports[snapshot].duration == (value["end_to_end_duration"] if ended else None)
