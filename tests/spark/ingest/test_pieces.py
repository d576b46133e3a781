"""The store and the verdicts do not depend on the number of pieces into which a log is cut.

The stages run in this process: Spark adds only where they run.
"""

import gzip
import json
import tempfile
from dataclasses import replace
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, given, settings

from snapshots.domain.judging.verdicts import judge
from snapshots.domain.model import shapes
from snapshots.domain.model.defects import MOST_LISTED, InputRefused
from snapshots.domain.replaying.restore import NotRestorable, restore
from snapshots.readers import recognition
from snapshots.readers.logs.native_parquet import RowGroup
from snapshots.store.layout import OUTLINES
from tasks.spark import capacity
from tasks.spark.capacity import Capacity
from tasks.spark.ingest import sources
from tasks.spark.ingest.job import Ingest
from tasks.spark.ingest.sources import IngestTask
from tasks.spark.judge.job import Judge
from tasks.spark.restore.job import Restore
from tasks.spark.stages import StagesHere
from tests.builders import a_run, simulated
from tests.spark.agreement import (
    LIMITS,
    assembled,
    assert_same_refusal,
    assert_same_reports,
    assert_same_store,
    silent,
    written,
)
from tests.spark.ingest import disorder

pytestmark = pytest.mark.slow

TWO_CORES = Capacity(2)


@pytest.fixture
def pieces(monkeypatch):
    """Let a few lines fill a piece, and a few rows a part, so that small logs have many of both."""
    monkeypatch.setattr(capacity, "MANY_ROWS", 20)
    monkeypatch.setattr(sources, "_CHUNK_BYTES", 2_000)
    monkeypatch.setattr(sources, "_MOST_ROWS", 100)


def ingested_here(source: Path, folder: Path, capacity: Capacity = TWO_CORES):
    folder.mkdir()
    reader = recognition.sniff(source, LIMITS).reader
    task = IngestTask(source, reader.name, reader.header(source, LIMITS), folder, LIMITS)
    return Ingest(task, StagesHere(capacity), silent).run()


def agree_here(log, folder: Path) -> None:
    sources_agree_here(written(log, folder / "log.jsonl"), folder)


def sources_agree_here(source: Path, folder: Path) -> None:
    try:
        assembly = assembled(source)
    except InputRefused as expected:
        with pytest.raises(InputRefused) as found:
            ingested_here(source, folder / "store")
        assert_same_refusal(found.value, expected)
        return
    result = ingested_here(source, folder / "store")
    assert_same_store(folder / "store", result, assembly, folder / "reference")
    found = Judge(folder / "store")
    reports = found.reports(*found.facts(StagesHere(), silent))
    assert_same_reports(reports, judge(assembly.recording))
    for snapshot in result.manifest.snapshots:
        try:
            expected = restore(assembly.recording, snapshot)
        except NotRestorable:
            with pytest.raises(NotRestorable):
                Restore(folder / "store", snapshot)
        else:
            restored = Restore(folder / "store", snapshot).report(StagesHere(), silent)
            assert restored == expected


@settings(max_examples=15, deadline=None, database=None, suppress_health_check=list(HealthCheck))
@given(log=disorder.logs(max_processes=8))
def test_pieces_make_no_difference(pieces, log):
    with tempfile.TemporaryDirectory() as folder:
        agree_here(log, Path(folder))


def test_a_log_is_really_cut_into_pieces(pieces, tmp_path):
    source = written(simulated(), tmp_path / "log.jsonl")
    result = ingested_here(source, tmp_path / "store")
    assert len(result.manifest.parts_of("events")) > 1
    assert len(result.manifest.parts_of("messages")) > 1
    assert len(Judge(tmp_path / "store")._tasks(Capacity(2))) > 2


@pytest.mark.parametrize("capacity", [Capacity(1), Capacity(5), Capacity(1, most_rows=15)], ids=str)
def test_a_store_does_not_depend_on_the_capacity_of_spark(pieces, tmp_path, capacity):
    source = written(simulated(), tmp_path / "log.jsonl")
    result = ingested_here(source, tmp_path / "store", capacity)
    assert_same_store(tmp_path / "store", result, assembled(source), tmp_path / "reference")


def test_more_cores_and_less_memory_make_more_parts(pieces, tmp_path):
    source = written(simulated(shapes.complete(12)), tmp_path / "log.jsonl")

    def parts(name: str, capacity: Capacity) -> int:
        return len(ingested_here(source, tmp_path / name, capacity).manifest.parts_of("events"))

    few = parts("few", Capacity(1))
    assert parts("cores", Capacity(5)) > few
    assert parts("memory", Capacity(1, most_rows=15)) > few


def test_working_files_are_gone_when_an_ingest_ends(tmp_path):
    source = written(simulated(), tmp_path / "log.jsonl")
    result = ingested_here(source, tmp_path / "store")
    listed = {part.file for part in result.manifest.parts}
    kept = {
        str(path.relative_to(tmp_path / "store")) for path in (tmp_path / "store").glob("*/*.arrow")
    }
    assert kept == listed
    assert [path.name for path in (tmp_path / "store").glob(".*")] == [OUTLINES]


def test_a_compressed_log_is_cut_like_any_other(pieces, tmp_path):
    plain = written(simulated(seed=4), tmp_path / "plain")
    packed = tmp_path / "log.jsonl.gz"
    packed.write_bytes(gzip.compress(plain.read_bytes()))
    sources_agree_here(packed, tmp_path)


def test_row_groups_of_parquet_are_pieces(pieces, tmp_path):
    lines = written(simulated(seed=5), tmp_path / "log.jsonl").read_bytes().splitlines()
    events = [json.loads(line) for line in lines[1:]]
    for event in events:
        event |= {name: json.dumps(event[name]) for name in ("state", "value") if name in event}
    table = pa.Table.from_pylist(events).replace_schema_metadata({"cutline": lines[0]})
    path = tmp_path / "log.parquet"
    pq.write_table(table, path, row_group_size=50)
    assert pq.ParquetFile(path).num_row_groups > 5
    sources_agree_here(path, tmp_path)


def test_a_refused_line_in_a_late_piece_is_reported_with_its_number(pieces, tmp_path):
    lines = written(simulated(), tmp_path / "log.jsonl").read_bytes().splitlines()
    lines[200] = b'{"kind":"send","process":"nobody"}'
    (tmp_path / "log.jsonl").write_bytes(b"\n".join(lines))
    with pytest.raises(InputRefused) as refused:
        ingested_here(tmp_path / "log.jsonl", tmp_path / "store")
    assert [(item.code, item.line) for item in refused.value.defects] == [("unknown-process", 201)]


def test_of_two_records_the_first_counts(tmp_path):
    run = a_run().send("p->q", "m", 1, state=9).record("p", "s").record("q", "s")
    run.record_channel("p->q", "s", "m").receive("p->q", "m", state=6)
    run.send("p->q", "n", 2, state=7).record("p", "s").record("q", "s").record_channel("p->q", "s")
    agree_here(run.log(), tmp_path)
    judged = Judge(tmp_path / "store")
    [report] = judged.reports(*judged.facts(StagesHere(), silent))
    assert report.positions == {"p": 1, "q": 0}
    assert report.recorded_channels == {"p->q": ("m",)}


def test_of_many_unknown_messages_the_first_by_process_are_listed(tmp_path):
    run = a_run()
    for number in range(MOST_LISTED + 10):
        run.record_channel("p->q", f"s{number}", "nobody sent it")
        run.record_channel("q->p", f"s{number}", "nobody sent it")
    source = written(run.log(), tmp_path / "log.jsonl")
    assert ingested_here(source, tmp_path / "store").defects == assembled(source).defects


def a_run_with_more_faults_than_are_kept():
    """Build a run with 150 orphans, 150 messages lost from a record, and 150 overtakings."""
    run = a_run()
    run.record("p", "s")
    for number in range(150):
        run.send("p->q", f"orphan {number}", 0)
    for number in range(150):
        run.receive("p->q", f"orphan {number}")
    for number in range(150):
        run.send("q->p", f"lost {number}", 0)
    run.record("q", "s").record_channel("q->p", "s")
    for number in reversed(range(150)):
        run.receive("q->p", f"lost {number}")
    return run.log()


def test_witnesses_that_are_not_kept_are_counted(tmp_path):
    log = a_run_with_more_faults_than_are_kept()
    agree_here(log, tmp_path)
    judged = Judge(tmp_path / "store")
    [report] = judged.reports(*judged.facts(StagesHere(), silent))
    assert report.counts["orphan"] == report.counts["lost"] == 150
    assert report.counts["fifo-violation"] >= 150
    kept = [finding.verdict for finding in report.findings]
    assert kept.count("orphan") == kept.count("lost") == kept.count("fifo-violation") == 100


def test_ids_that_look_like_numbers_in_some_pieces_only(pieces, tmp_path):
    log = simulated(seed=5)
    forms = ["{}", "{:05}", "m{}", "m-{}", "{}e3", "-{}", "9{:019}", "ü{}"]
    ids = sorted({event.message for event in log.events if event.message is not None})
    new = {old: forms[n * len(forms) // len(ids)].format(n + 1) for n, old in enumerate(ids)}
    events = tuple(
        replace(
            event,
            message=new.get(event.message),
            messages=event.messages and tuple(new[item] for item in event.messages),
        )
        for event in log.events
    )
    agree_here(log._replace(events=events), tmp_path)


def test_a_task_takes_more_rows_of_a_larger_source_but_no_more_than_its_memory_holds():
    groups = [RowGroup(Path("part"), n, 1 + n * 50_000, 50_000) for n in range(100)]
    for rows, own in (
        (625_000, Capacity(2)),
        (800_000, Capacity(1)),
        (200_000, Capacity(40)),
        (120_000, Capacity(2, most_rows=120_000)),
    ):
        assert sources._rows_of_a_task(groups, own) == rows
        together = list(sources._together(groups, rows))
        assert [group for item in together for group in item] == groups
        assert max(sum(group.rows for group in item) for item in together) <= rows
