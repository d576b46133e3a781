"""Checkpoints and failures by the Spark job and by the reference: the same JSON, key by key.

The job's stages run in this process, except in the last test. DATAFLOW_EXAMPLES is the number of
generated runs of each mode.
"""

import os
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from random import Random

import pyarrow as pa
import pytest

from snapshots.domain.assembling.assembly import assemble
from snapshots.domain.dataflow_logs.checkpoints.reference import checkpoints, decisions, files
from snapshots.domain.dataflow_logs.failovers.reference import all_failovers
from snapshots.domain.dataflow_logs.failovers.rids import rid_of
from snapshots.domain.model.as_json import as_json
from snapshots.domain.model.recording import Recording
from snapshots.domain.model.values import canonical, parsed
from snapshots.domain.simulators.dataflow_samples import SAMPLES_OF_DATAFLOWS
from snapshots.domain.simulators.dataflows.lanes import Lane
from snapshots.domain.simulators.flink.samples import windowed
from snapshots.domain.simulators.flink.simulation import FAILED, run_dataflow
from snapshots.domain.simulators.protocols.flink_task import MODES, UNALIGNED
from snapshots.domain.simulators.samples import two_banks
from snapshots.domain.simulators.script import Log
from snapshots.domain.simulators.seatunnel.schema_changes import SchemaChange
from snapshots.domain.simulators.seatunnel.simulation import run_seatunnel
from snapshots.store.reader import StoredRecording
from snapshots.store.writer import write_recording
from tasks.spark import capacity
from tasks.spark.capacity import Capacity
from tasks.spark.checkpoints import json_fields
from tasks.spark.checkpoints.job import Explain, Explained, explain_checkpoints
from tasks.spark.stages import StagesHere
from tests.dataflow_damage import forgetting, garbled
from tests.dataflows import a_run_of, any_simulation, failing, with_failures, word_count
from tests.domain.simulators.seatunnel import a_job
from tests.domain.simulators.test_flink_rescaling import started
from tests.domain.simulators.test_seatunnel_regions import any_failing_job
from tests.effort import examples
from tests.spark.agreement import silent
from tests.store.folders import scatter

pytestmark = pytest.mark.slow

SEEDS = range(int(os.environ.get("DATAFLOW_EXAMPLES") or examples(4)))


def any_log(seed: int, mode: str, **options: object) -> Log:
    """Draw a log, most with failures, some cut short, some as other programs write them."""
    rng = Random(seed)
    simulation = any_simulation(rng, mode)
    end = run_dataflow(simulation).log.events[-1].at
    if seed % 4:
        simulation = with_failures(rng, simulation, end)
    log = run_dataflow(simulation).log
    if seed % 3 == 1:
        log = log._replace(events=log.events[: rng.randint(1, len(log.events))])
    return garbled(log, rng, 0.05) if seed % 3 == 2 else log


def stored(recording: Recording, folder: Path, scattered: int | None = None) -> Path:
    folder.mkdir()
    manifest = write_recording(recording, folder)
    if scattered is not None:
        scatter(folder, manifest, scattered)
    return folder


def expected(recording: Recording) -> Explained:
    return Explained(
        checkpoints(recording), files(recording), decisions(recording), all_failovers(recording)
    )


def assert_same(found: Explained, wanted: Explained, note: object) -> None:
    """Compare checkpoint by checkpoint and field by field, so that a failure names what differs."""
    for ours, theirs in zip(found.checkpoints, wanted.checkpoints, strict=True):
        for field in theirs.__slots__:
            assert getattr(ours, field) == getattr(theirs, field), (note, theirs.checkpoint, field)
    for ours, theirs in zip(found.failovers.reports, wanted.failovers.reports, strict=True):
        for field in theirs.__slots__:
            assert getattr(ours, field) == getattr(theirs, field), (note, theirs.at, field)
    assert found.failovers.sinks == wanted.failovers.sinks, note
    assert found.failovers.dropped == wanted.failovers.dropped, note
    assert found.failovers.event_time == wanted.failovers.event_time, note
    assert found.failovers.start == wanted.failovers.start, note
    assert found.files == wanted.files, note
    assert found.decisions == wanted.decisions, note


@pytest.mark.parametrize("mode", MODES)
def test_the_job_agrees_with_the_reference(mode, tmp_path, monkeypatch):
    seen: Counter[str] = Counter()
    for seed in SEEDS:
        monkeypatch.setattr(capacity, "MANY_ROWS", 60 if seed % 2 else 100_000)
        recording = assemble(*any_log(seed, mode)).recording
        folder = stored(recording, tmp_path / str(seed), seed if seed % 2 else None)
        found = Explain(folder).run(StagesHere(), silent)
        wanted = expected(recording)
        assert_same(found, wanted, seed)
        seen.update(what_was_seen(wanted))
    sometimes = {"completed", "behind", "re-read", "repeated", "files", "dropped requests"}
    assert sometimes <= set(seen), sometimes - set(seen)


EFFECTS = ("repeated", "duplicates", "rewritten", "rewound", "differing", "lost", "skipped",
           "skipped_differing")  # fmt: skip


def what_was_seen(told: Explained) -> Iterator[str]:
    for report in told.checkpoints:
        yield report.status
        if any(part.behind for part in report.critical_path):
            yield "behind"
        if any(span.held_back for task in report.tasks for span in task.blocked):
            yield "held back"
    for report in told.failovers.reports:
        if report.re_read:
            yield "re-read"
        if report.counted_twice:
            yield "counted twice"
        for sink in report.sinks:
            for name in EFFECTS:
                if getattr(sink, name):
                    yield name
    if told.files:
        yield "files"
    if told.failovers.dropped:
        yield "dropped"
    if told.failovers.event_time:
        yield "event time"
    if told.failovers.start:
        yield "start"
    if any(total.pending for total in told.failovers.sinks):
        yield "pending"
    if any(decision.dropped for decision in told.decisions):
        yield "dropped requests"


def regional_logs() -> Iterator[Log]:
    """Yield runs of SeaTunnel in which tasks go on, also damaged ones."""
    for seed in (0, 4, 5, 7, 10, 27):
        log = run_seatunnel(any_failing_job(seed)[1]).log
        yield log
        yield garbled(log, Random(seed), 0.1)


def telling_logs() -> Iterator[Log]:
    """Yield runs that together have everything that a report can contain."""
    yield from (any_log(seed, MODES[seed % 4]) for seed in range(6))
    yield from (sample.log() for sample in SAMPLES_OF_DATAFLOWS)
    yield from regional_logs()
    yield run_dataflow(started(ending=FAILED, at=20_000)).log
    yield garbled(run_dataflow(windowed()).log, Random(2), 0.1)
    expiring = a_run_of(word_count(2, records=60), tx_timeout=9_000)
    yield run_dataflow(failing(expiring, 20_000, "count[0]")).log
    twice = a_run_of(word_count(2, records=60), interval=15_000, restart_delay=1_000)
    log = run_dataflow(failing(failing(twice, 12_000, "count[0]"), 24_000, "count[1]")).log
    never = a_run_of(word_count(2, records=60), interval=None, restart_delay=1_000)
    soon = run_dataflow(failing(failing(never, 12_000, "count[0]"), 16_000, "count[1]")).log
    yield forgetting(soon, "count[0]", Random(1))
    for share in (0.4, 0.6, 0.8, 0.9):
        yield log._replace(events=log.events[: int(share * len(log.events))])
    jump = Lane._jump
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Lane, "_jump", lambda lane, item, ahead: jump(lane, item, []))
        yield any_log(57, UNALIGNED)


def test_the_compared_answers_are_not_trivial(tmp_path):
    seen: Counter[str] = Counter()
    for number, log in enumerate(telling_logs()):
        recording = assemble(*log).recording
        wanted = expected(recording)
        found = Explain(stored(recording, tmp_path / str(number))).run(StagesHere(), silent)
        assert_same(found, wanted, number)
        seen.update(what_was_seen(wanted))
    few = {"held back", "duplicates", "rewritten", "rewound", "differing", "counted twice"}
    few |= {"skipped", "skipped_differing", "lost", "dropped", "pending", "event time", "start"}
    assert few <= set(seen), few - set(seen)


def test_a_run_is_cut_into_pieces_where_it_is_large(tmp_path, monkeypatch):
    recording = assemble(*any_log(3, MODES[0])).recording
    folder = stored(recording, tmp_path / "store")
    job = Explain(folder)
    job.events = job.stored.run()
    assert len(job._tasks(Capacity(2))[0]) == 1
    monkeypatch.setattr(capacity, "MANY_ROWS", 40)
    kinds = Counter(type(task).__name__ for (task,) in job._tasks(Capacity(2))[0])
    assert min(kinds["CheckpointTask"], kinds["VertexTask"]) > 1


ODD_FIELDS = (
    None,
    '{"rid":["s[0]",1,""]}',
    '{"rid":["a \\"quoted\\" [0]",12,"0.1"],"sink":"x","tx":"t\\"1"}',
    '{"rid": ["s", 2, ""]}',
    '{"other":{"rid":["s",3,""]}}',
    '{"other":{"rid":["s",3,""]},"rid":["s",4,""]}',
    '{"note":"\\"rid\\":[\\"s\\",5,\\"\\"]"}',
    '{"rid":["s",1.5,""]}',
    '{"rid":["s",true,""]}',
    '{"rid":["s",99999999999999999999,""]}',
    '{"rid":[]}',
    '{"grid":["s",1,""],"offset":7,"split":"grid"}',
    '{"offset":"7","split":7,"tx":null}',
    '{"offset":-3,"split":"a{b","tx":""}',
)


def test_fields_are_found_as_a_parser_finds_them():
    rows = pa.array(ODD_FIELDS, pa.large_string())
    objects = [parsed(text) or {} for text in ODD_FIELDS]
    wanted = [rid_of(item) for item in objects]
    assert json_fields.rids(rows).to_pylist() == [rid and canonical(rid) for rid in wanted]
    for name in ("split", "tx"):
        wanted = [item.get(name) for item in objects]
        assert json_fields.texts(rows, name).to_pylist() == [
            canonical(item) if isinstance(item, str) else None for item in wanted
        ]
    offsets = json_fields.numbers(rows, "offset").to_pylist()
    assert [offset for offset in offsets if offset is not None] == [7, -3]


def test_the_job_agrees_on_writers_that_commit_and_on_changes_of_the_schema(tmp_path):
    changes = (SchemaChange("source[0]", 20),)
    job = a_job(failures=((8_622, "sink[0]"),), writer_commits=("sink",), schema_changes=changes)
    recording = assemble(*run_seatunnel(job).log).recording
    found = Explain(stored(recording, tmp_path / "store")).run(StagesHere(), silent)
    assert_same(found, expected(recording), job)
    assert any(report.schema_point for report in found.checkpoints)
    assert found.failovers.sinks[0].effect.forgotten


def test_recordings_without_a_dataflow_are_left_alone(tmp_path):
    folder = stored(assemble(*two_banks()).recording, tmp_path / "store")
    assert not Explain(folder).is_dataflow
    assert StoredRecording.open(folder).checkpoints() == []
    assert StoredRecording.open(folder).failovers()["items"] == []


def test_spark_finds_the_same_and_writes_it(spark, tmp_path):
    recording = assemble(*SAMPLES_OF_DATAFLOWS[-1].log()).recording
    folder = stored(recording, tmp_path / "store")
    phases = []
    wanted = expected(recording)
    assert_same(
        explain_checkpoints(folder, lambda *at: phases.append(at), spark), wanted, "counted twice"
    )
    assert phases[0][:2] == ("explaining checkpoints", 0)
    assert phases[-1][1] == phases[-1][2]
    read = StoredRecording.open(folder)
    assert read.checkpoints() == list(map(as_json, wanted.checkpoints))
    assert read.failovers() == as_json(wanted.failovers)
    assert read.checkpoint_files()["decisions"] == list(map(as_json, wanted.decisions))
