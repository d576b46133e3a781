"""Compare what Spark writes and judges with what the reference does with the same log."""

import re
from collections import Counter
from dataclasses import asdict
from pathlib import Path

import pyarrow as pa
import pytest

from snapshots.domain.assembling.assembly import Assembly, assemble
from snapshots.domain.judging.report import SnapshotReport
from snapshots.domain.judging.verdicts import judge
from snapshots.domain.model.defects import Defects, InputRefused
from snapshots.domain.model.recording import Recording
from snapshots.domain.replaying.restore import NotRestorable, restore
from snapshots.domain.simulators.script import Log
from snapshots.readers import recognition
from snapshots.readers.formats.limits import Limits
from snapshots.readers.logs.native import write_lines
from snapshots.store.decoding import open_part
from snapshots.store.layout import (
    CHANNELS,
    FOLLOWING,
    MESSAGES,
    PARTED,
    PROCESSES,
    RECORDS,
    RESTORES,
    STRAYS,
)
from snapshots.store.manifest import Manifest
from snapshots.store.parts import map_batch
from snapshots.store.writer import write_recording
from tasks.spark.ingest.job import IngestResult, ingest
from tasks.spark.judge.job import judge_snapshots
from tasks.spark.restore.job import restore_snapshot

LIMITS = Limits()


def silent(phase: str, done: int, total: int) -> None:
    """Take reports of progress and drop them."""


def written(log: Log, path: Path) -> Path:
    """Write the log as a native file."""
    path.write_bytes(b"".join(write_lines(*log)))
    return path


def assembled(source: Path) -> Assembly:
    """Return what the reference makes of a file, with the defects of the reader."""
    reader = recognition.sniff(source, LIMITS).reader
    header, found = reader.header(source, LIMITS), Defects()
    assembly = assemble(header, list(recognition.events(reader, source, header, LIMITS, found)))
    found.extend(assembly.defects)
    return Assembly(assembly.recording, found.listed, found.total)


def ingested(source: Path, folder: Path, spark=None) -> IngestResult:
    folder.mkdir(parents=True)
    return ingest(source, folder, limits=LIMITS, progress=silent, spark=spark)


def table(folder: Path, manifest: Manifest, name: str) -> pa.Table:
    """Read all parts of a table as one, without what follows from another table."""
    schema, _ = PARTED[name]
    if name == MESSAGES:
        schema = pa.schema([field for field in schema if field.name not in FOLLOWING])
    parts = manifest.parts_of(name)
    tables = [open_part(folder / part.file, name).table(schema) for part in parts]
    return pa.concat_tables([schema.empty_table(), *tables])


def assert_same_store(folder: Path, result: IngestResult, assembly: Assembly, other: Path) -> None:
    """Compare stores table by table, and their manifests without the parts; ``other`` is empty."""
    other.mkdir()
    source_format = result.manifest.source_format
    expected = write_recording(assembly.recording, other, assembly.defects, source_format)
    for name in PARTED:
        assert_same_rows(name, table(folder, result.manifest, name), table(other, expected, name))
    for name in (PROCESSES, CHANNELS, RECORDS, STRAYS, RESTORES):
        assert (folder / name).exists() == (other / name).exists()
        if (folder / name).exists():
            assert_same_rows(name, map_batch(folder / name), map_batch(other / name))
    ours, theirs = asdict(result.manifest), asdict(expected)
    del ours["parts"], theirs["parts"]
    assert ours == theirs
    assert result.defects == assembly.defects
    assert result.defects_total == assembly.defects_total


def assert_same_rows(name: str, found, expected) -> None:
    assert found.num_rows == expected.num_rows, name
    for column in expected.schema.names:
        assert found.column(column).to_pylist() == expected.column(column).to_pylist(), (
            f"{name}.{column}"
        )


def assert_same_reports(found: tuple[SnapshotReport, ...], expected) -> None:
    """Compare reports field by field, so that a failure names the one that differs."""
    assert [report.snapshot for report in found] == [report.snapshot for report in expected]
    for ours, theirs in zip(found, expected, strict=True):
        for field in theirs.__dataclass_fields__:
            assert getattr(ours, field) == getattr(theirs, field), f"{theirs.snapshot}: {field}"


def assert_same_refusal(found: InputRefused, expected: InputRefused) -> None:
    """Check that the same defects refuse it; kept ones may differ, as the job stops early."""
    assert refused(found) == refused(expected)


def refused(error: InputRefused) -> Counter:
    return Counter(item for item in error.defects if item.severity == "refused")


def agree(source: Path, folder: Path, spark) -> None:
    """Ingest, judge and restore with Spark and with the reference, and compare everything.

    folder: a new one, for both. An input that the reference refuses must be refused by Spark.
    """
    try:
        assembly = assembled(source)
    except InputRefused as expected:
        with pytest.raises(InputRefused) as found:
            ingested(source, folder / "spark", spark)
        assert_same_refusal(found.value, expected)
        return
    result = ingested(source, folder / "spark", spark)
    assert_same_store(folder / "spark", result, assembly, folder / "reference")
    reports = judge_snapshots(folder / "spark", silent, spark)
    assert_same_reports(reports, judge(assembly.recording))
    for snapshot in result.manifest.snapshots[:2]:
        agree_on_restore(assembly.recording, folder / "spark", snapshot, spark)


def agree_on_restore(recording: Recording, folder: Path, snapshot: str, spark) -> None:
    try:
        expected = restore(recording, snapshot)
    except NotRestorable as refusal:
        with pytest.raises(NotRestorable, match=f"^{re.escape(str(refusal))}$"):
            restore_snapshot(folder, snapshot, silent, spark, work=folder)
        return
    found = restore_snapshot(folder, snapshot, silent, spark, work=folder)
    for field in expected.__dataclass_fields__:
        assert getattr(found, field) == getattr(expected, field), f"{snapshot}: {field}"
