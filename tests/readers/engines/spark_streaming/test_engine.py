"""Spark's uploads as every engine gives them, against the recorded answers."""

import json
from itertools import count

import pytest

from snapshots.domain.assembling.assembly import assemble
from snapshots.domain.dataflow_logs.dataflow import Dataflow
from snapshots.domain.inventory.model import COMPLETED, IN_PROGRESS
from snapshots.domain.judging.verdicts import judge
from snapshots.readers.engines.base import Beginnings
from snapshots.readers.engines.registry import PACKAGE, recognise
from snapshots.readers.engines.spark_streaming.adapter import entries as entries_module
from snapshots.readers.engines.spark_streaming.adapter.jobs import fate_of
from snapshots.readers.engines.spark_streaming.adapter.reader import (
    SparkStreamingReader,
    SparkUpload,
)
from snapshots.readers.logs.native import write_lines
from tests.readers.engines.spark_streaming.cases import DAMAGED, MAIN, case_paths, in_order, unpack
from tests.readers.engines.spark_streaming.inventory import (
    batches_of,
    facts_of,
    name_of,
    told_by_entries,
    told_by_events,
    with_tables,
)
from tests.readers.inputs import read as read_log
from tests.readers.inputs import source
from tests.readers.units import units

BEFORE = "checkpoint-before-restart"


@pytest.fixture
def cases(shared_data, tmp_path):
    """Give the folder and the expected answers of every case."""
    paths = case_paths(shared_data)
    assert len(paths) == 30
    return [unpack(path, tmp_path) for path in paths]


def timelines(expected: dict) -> dict[str, dict]:
    """Return the recorded answers by folder of the checkpoint; none for damaged cases."""
    if expected["schema"] == DAMAGED:
        return {}
    before = expected.get("before_restart")
    return {MAIN: expected} | ({before["dir"]: before} if before else {})


def test_every_case_is_recognised_by_its_folders(cases):
    for folder, _ in cases:
        files = [path for path in folder.rglob("*") if path.is_file()]
        names = [path.relative_to(folder).as_posix() for path in files]
        found = recognise(folder, tuple(names), PACKAGE)
        assert isinstance(found.reader, SparkStreamingReader), folder.name
        assert f'"{MAIN}" holds commits and metadata and offsets' in found.reason


@pytest.mark.parametrize(
    ("names", "known"),
    [
        (["offsets/0", "metadata"], True),
        (["a/b/offsets/10", "a/b/commits/10"], True),
        (["offsets/0", "other/commits/0"], False),
        (["offsets/readme", "commits/readme", "metadata"], False),
        (["chk-1/_metadata", "metadata"], False),
    ],
)
def test_one_folder_must_hold_two_of_the_three(names, known):
    assert (
        SparkStreamingReader().recognises(Beginnings(tuple(names), lambda _: b"")) is not None
    ) is known


def test_every_file_of_every_case_is_listed_once_with_its_size(cases):
    for folder, _ in cases:
        uses = SparkUpload(folder).inventory().files
        sizes = {
            path.relative_to(folder).as_posix(): path.stat().st_size
            for path in folder.rglob("*")
            if path.is_file()
        }
        assert len(uses) == len(sizes)
        assert {use.path: use.bytes for use in uses} == sizes
        assert [use.path for use in uses if use.role == "unknown"] == ["expected.json"]


def test_batches_of_every_case_are_described_as_recorded(cases):
    compared = 0
    for folder, expected in cases:
        inventory = SparkUpload(folder).inventory()
        for name, answers in timelines(expected).items():
            told = batches_of(inventory, name)
            assert [one.id for one in told] == [one["batch"] for one in answers["timeline"]]
            for ours, theirs in zip(told, answers["timeline"], strict=True):
                facts = facts_of(ours)
                assert ours.status == (COMPLETED if theirs["committed"] else IN_PROGRESS)
                assert ours.triggered_at == theirs["planned_at_ms"]
                key = "watermark: older state is evicted"
                assert facts[key] == theirs["watermark_ms"]
                assert facts["watermark after"] == theirs["next_watermark_ms"]
                for one in theirs["sources"]:
                    range_ = facts[f"source {one['source']}: offsets"]
                    end = json.dumps(one["end"], separators=(",", ":"))
                    assert range_.endswith("no offset yet" if end == "null" else end)
                    assert facts.get(f"source {one['source']}: rows") == one.get("rows")
                compared += 1
    assert compared == 166


def test_times_durations_and_counts_of_every_case_have_a_unit(cases):
    found = set()
    for folder, _ in cases:
        upload = SparkUpload(folder).inventory()
        found |= units(upload)
        assert all(one.why_empty or one.why_unknown for one in upload.checkpoints)
    assert {
        ("watermark: older state is evicted", "epoch ms"),
        ("rows planned", "count"),
        ("rows of state", "count"),
        ("addBatch", "ms"),
    } <= found
    assert any(unit == "ms" and name.startswith("watermark delay of") for name, unit in found)


def test_batches_in_flight_are_described_as_recorded(cases):
    kinds = {}
    for folder, expected in cases:
        inventory = SparkUpload(folder).inventory()
        for name, answers in timelines(expected).items():
            told = [one for one in batches_of(inventory, name) if one.status == IN_PROGRESS]
            assert [one.id for one in told] == [one["batch"] for one in answers["in_flight"]]
            for ours, theirs in zip(told, answers["in_flight"], strict=True):
                kinds[folder.name, name] = ours.planned.kind
                assert ours.planned.rows == theirs["rows"]
                named = [file for source in ours.planned.sources for file in source.files]
                assert ours.planned.files in (None, len(named))
                assert not {"in flight", "rows in flight"} & facts_of(ours).keys()
                wrote = {
                    operator.id: [subtask.index for subtask in operator.subtasks]
                    for operator in ours.operators
                }
                stores = theirs["partitions_that_wrote_it"].items()
                assert wrote == {id: found["default"] for id, found in stores}
                assert not ours.missing
    assert kinds == {
        ("incident-partial-partitions", MAIN): "partial-partitions",
        ("incident-planned-only", MAIN): "planned-only",
        ("incident-recovered", BEFORE): "state-ahead",
        ("incident-state-ahead", MAIN): "state-ahead",
        ("stateless-rate-to-json", MAIN): "unknown",
        ("tws-pandas-ttl", MAIN): "planned-only",
    }


def test_operators_of_every_case_are_described_as_recorded(cases):
    for folder, expected in cases:
        inventory = SparkUpload(folder).inventory()
        for checkpoint in batches_of(inventory, MAIN) if timelines(expected) else ():
            theirs = expected["operators"]
            single = folder.name == "global-agg-no-key"  # whatever its metadata say
            wide = [(str(one["id"]), 1 if single else one["num_partitions"]) for one in theirs]
            assert [(one.id, one.parallelism) for one in checkpoint.operators] == wide
            for operator, one in zip(checkpoint.operators, theirs, strict=True):
                assert one["name"] in (operator.name, None)


def test_sizes_are_those_of_the_files_that_each_version_takes(cases):
    """Compare with the chain of files of one version at a time, and count what is shared."""
    compared = 0
    for folder, _ in cases:
        upload = SparkUpload(folder)
        inventory = upload.inventory()
        for job in upload.jobs:
            chains = with_tables(job, upload)
            users = [path for paths in chains.values() for path in paths]
            told = zip(job.batches, batches_of(inventory, job.folder), strict=True)
            for checkpoint in (one for batch, one in told if fate_of(job, batch).is_over):
                paths = chains[checkpoint.id]
                sizes = job.checkpoint.files.entries
                assert checkpoint.bytes == sum(sizes[path].size for path in paths)
                shared = [path for path in paths if users.count(path) > 1]
                assert checkpoint.shared == sum(sizes[path].size for path in shared)
                compared += 1
    assert compared > 150


def test_files_of_state_name_the_batches_that_need_them(cases):
    for folder, _ in cases:
        upload = SparkUpload(folder)
        uses = {use.path: use.checkpoints for use in upload.inventory().files}
        for job in upload.jobs:
            chains = with_tables(job, upload)
            places = {one.batch: job.first + n for n, one in enumerate(job.batches)}
            for path in {path for paths in chains.values() for path in paths}:
                takers = [places[batch] for batch, paths in chains.items() if path in paths]
                assert uses[job.path(path)] == tuple(takers), path


def test_input_files_name_the_batch_that_read_them(case):
    folder = case("incident-planned-only")
    inventory = SparkUpload(folder).inventory()
    uses = {use.path: use for use in inventory.files}
    for number in range(4):
        use = uses[f"input/clicks/c0{number}.json"]
        assert (use.role, use.checkpoints) == ("input", (number,))
    assert inventory.checkpoints[3].status == IN_PROGRESS


def test_logs_name_the_batches_that_need_them(case):
    inventory = SparkUpload(case("incident-planned-only")).inventory()
    uses = {use.path: use.checkpoints for use in inventory.files}
    assert uses[f"{MAIN}/metadata"] == (0, 1, 2, 3)
    assert uses[f"{MAIN}/offsets/2"] == uses[f"{MAIN}/commits/2"] == (2,)
    logs = [uses[f"{MAIN}/sources/0/{number}"] for number in range(4)]
    assert logs == [(0, 1, 2, 3), (1, 2, 3), (2, 3), (3,)]


def test_entries_by_the_files_are_those_that_were_recorded(cases):
    compared = 0
    for folder, expected in cases:
        upload = SparkUpload(folder)
        entries = list(upload.entries())
        inventory = upload.inventory()
        found = told_by_entries(inventory, entries)
        for read in expected.get("state", []):
            place = (MAIN, read["batch"], str(read["operator"]), name_of(read["read"]))
            if place in found:
                assert in_order(found[place]) == in_order(read["partitions"]), place
                compared += 1
        for checkpoint in inventory.checkpoints:
            for operator in checkpoint.operators:
                for state in operator.states:
                    place = (checkpoint.job, checkpoint.id, operator.id, state.name)
                    assert state.complete == (state.reason is None), place
    assert compared > 80


def test_an_entry_is_identified_by_its_key_unless_that_can_have_several_values(case):
    entries = list(SparkUpload(case("join-inner-hdfs")).entries())
    stored = [one for one in entries if one.state == "left-keyWithIndexToValue"]
    side = [one for one in entries if one.state == "left"]
    assert len(stored) == len(side) > 0
    assert {json.dumps(one.key) for one in stored} == {
        json.dumps(json.loads(one.identity)) for one in stored
    }
    assert all(one.identity.endswith(b" " + one.digest) for one in side)


def test_every_batch_that_has_state_is_read(case):
    upload = SparkUpload(case("window-agg-hdfs"))
    list(upload.entries())
    with_states = [
        one.id for one in upload.inventory().checkpoints if any(op.states for op in one.operators)
    ]
    assert with_states == list(range(12))


def test_batches_beyond_the_limit_of_entries_are_named(case, monkeypatch):
    monkeypatch.setattr(entries_module, "MOST_ENTRIES", 30)
    upload = SparkUpload(case("window-agg-hdfs"))
    found = list(upload.entries())
    inventory = upload.inventory()
    read = {entry.checkpoint for entry in found}
    assert read == set(range(6, 12))
    assert inventory.notes[0].startswith("The entries of 6 batches are not read (0 to 5): at most")
    said = [checkpoint.operators[0].notes for checkpoint in inventory.checkpoints]
    assert ["not read" in " ".join(notes) for notes in said] == [True] * 6 + [False] * 6
    assert [bool(one.operators[0].states) for one in inventory.checkpoints] == [False] * 6 + [
        *[True] * 6
    ]


def test_some_batches_of_every_job_are_read_however_long_it_takes(case):
    upload = SparkUpload(case("incident-recovered"))
    ticks = count(step=1000)
    upload.reads.clock = lambda: next(ticks)
    assert {entry.checkpoint for entry in upload.entries()} == set(range(8))
    upload = SparkUpload(case("window-agg-hdfs"))
    upload.reads.clock = lambda: next(ticks)
    assert {entry.checkpoint for entry in upload.entries()} == set(range(7, 12))


def test_whoever_asks_for_all_batches_gets_them(case, monkeypatch):
    monkeypatch.setattr(entries_module, "MOST_ENTRIES", 30)
    upload = SparkUpload(case("window-agg-hdfs"))
    ticks = count(step=1000)
    upload.reads.clock, upload.reads.is_whole = lambda: next(ticks), True
    assert {entry.checkpoint for entry in upload.entries()} == set(range(12))
    assert not any("not read" in note for note in upload.inventory().notes)


def test_state_that_the_files_do_not_show_is_incomplete_and_never_empty(case):
    folder = case("tws-value-list-map-timers")
    for snapshot in folder.glob("checkpoint/state/0/*/*.zip"):
        snapshot.unlink()
    upload = SparkUpload(folder)
    assert list(upload.entries()) == []
    (operator,) = upload.inventory().checkpoints[-1].operators
    assert [state.name for state in operator.states] == [
        *["hits_by_page", "total", "recent_pages", "timers"]
    ]
    assert {state.complete for state in operator.states} == {False}
    assert "No snapshot names the id" in operator.notes[0]


def test_every_derived_recording_is_without_defects_and_reads_back(cases, tmp_path):
    for folder, _ in cases:
        header, events = SparkUpload(folder).recording()
        events = list(events)
        found = assemble(header, events)
        assert found.defects == (), folder.name
        assert all('"derived":true' in event.extra for event in events)
        path = source(tmp_path, b"".join(write_lines(header, events)), "derived.jsonl")
        assert read_log(path) == (header, events, ())
        assert Dataflow.from_json(header.extra["dataflow"]).vertices


def test_committed_batches_are_snapshots_and_one_in_flight_is_incomplete(cases):
    for folder, expected in cases:
        upload = SparkUpload(folder)
        header, events = upload.recording()
        reports = {one.snapshot: one for one in judge(assemble(header, events).recording)}
        for name, answers in timelines(expected).items():
            for theirs in answers["timeline"]:
                batch = theirs["batch"]
                label = str(batch) if name == MAIN else f"{batch} ({name})"
                report = reports.pop(label)
                if theirs["committed"]:
                    assert report.verdict == "unknown", (folder.name, label)
                    continue
                recorded = set(report.positions)
                assert report.verdict == "incomplete"
                assert len(recorded) == 1
                assert recorded.pop().startswith("coordinator")
        assert not reports or expected["schema"] == DAMAGED


def test_plans_commits_and_versions_are_those_that_were_recorded(cases):
    for folder, expected in cases:
        upload = SparkUpload(folder)
        told = told_by_events(upload)
        for name, answers in timelines(expected).items():
            continuous = answers["timeline"][0]["planned_at_ms"] is None
            planned = {
                one["batch"]: {s["source"]: [s["start"], s["end"]] for s in one["sources"]}
                for one in answers["timeline"]
            }
            assert told[name]["planned"] == ({} if continuous else planned), folder.name
            committed = [one["batch"] for one in answers["timeline"] if one["committed"]]
            assert told[name]["committed"] == committed
            for one in answers["in_flight"]:
                wrote = [
                    (int(operator), partition)
                    for operator, stores in one["partitions_that_wrote_it"].items()
                    for partition in stores["default"]
                ]
                assert told[name]["wrote"].get(one["batch"], []) == wrote


def test_times_are_those_of_the_plan_and_the_report(case):
    upload = SparkUpload(case("window-agg-hdfs"))
    header, events = upload.recording()
    origin = header.extra["epoch"]
    events = list(events)
    job = upload.jobs[0]
    for kind, field in (("batch_plan", "planned_at_ms"), ("batch_commit", "committed_at_ms")):
        at = [origin + event.at // 1000 for event in events if event.kind == kind]
        assert at == [getattr(batch, field) for batch in job.batches]
    inferred = {event.kind for event in events if '"inferred":["at"]' in event.extra}
    assert inferred == {"task_end", "internal"}


@pytest.mark.parametrize(("names", "title"), [(["old", "clicks"], "clicks"), ([None], MAIN)])
def test_a_query_has_the_name_that_its_newest_report_gives_it(case, names, title):
    folder = case("window-agg-hdfs")
    reports = [json.loads(line) for line in (folder / "progress.jsonl").open()]
    named = [report | {"name": name} for name, report in zip(names, reports, strict=False)]
    (folder / "progress.jsonl").write_text("\n".join(map(json.dumps, named)))
    [job] = SparkUpload(folder).inventory().jobs
    assert job.name == title
    assert MAIN in [fact.value for fact in job.facts if fact.name == "folder"]
