"""The files of real Spark checkpoints say what their expected answers say."""

import pytest

from snapshots.domain.model.defects import InputRefused
from snapshots.readers.engines.spark_streaming.files import DamagedFile, Files
from snapshots.readers.engines.spark_streaming.incidents import (
    EPOCH_ENDED,
    PARTIAL,
    PLANNED_ONLY,
    STATE_AHEAD,
    UNKNOWN,
)
from snapshots.readers.engines.spark_streaming.logs.offsets import KAFKA, kind_of, span
from snapshots.readers.engines.spark_streaming.upload import read_checkpoint, read_upload
from tests.readers.engines.spark_streaming.cases import (
    MAIN,
    WRONG_ANSWERS,
    agreement,
    case_paths,
    state_by_files,
    unpack,
)


@pytest.fixture
def read(shared_data, tmp_path):
    """Return a function that reads a case: its folder, its upload, its expected answers."""

    def read_case(name: str):
        case = shared_data / "spark-streaming" / f"{name}.zip"
        folder, expected = unpack(case, tmp_path)
        return folder, read_upload(folder), expected

    return read_case


def test_every_recorded_checkpoint_is_read_as_expected(shared_data):
    cases = case_paths(shared_data)
    assert len(cases) == 30
    results = [agreement(case) for case in cases]
    different = {(result["case"], name) for result in results for name in result["differences"]}
    assert different == WRONG_ANSWERS
    assert sum(result["compared"] for result in results) > 500


@pytest.mark.parametrize("batches", [1, 2])
def test_a_named_source_has_the_description_of_its_own_folder(read, batches):
    """After one batch the offsets of both sources are the same."""
    folder, _, _ = read("offset-log-v2-named-sources")
    if batches == 1:
        (folder / MAIN / "offsets" / "1").unlink()
        (folder / MAIN / "commits" / "1").unlink()
    checkpoint = read_checkpoint(folder)
    for source in checkpoint.topology.sources:
        (file, *_) = checkpoint.source_logs[source.id].files[0]
        assert file.path.rsplit("/", 1)[0] + "]" in source.description


@pytest.mark.parametrize(
    ("case", "folder", "kind"),
    [
        ("incident-planned-only", MAIN, PLANNED_ONLY),
        ("incident-partial-partitions", MAIN, PARTIAL),
        ("incident-state-ahead", MAIN, STATE_AHEAD),
        ("incident-recovered", "checkpoint-before-restart", STATE_AHEAD),
        ("stateless-rate-to-json", MAIN, UNKNOWN),
    ],
)
def test_incidents_are_derived_from_the_state_on_disk(read, case, folder, kind):
    _, upload, _ = read(case)
    (incident,) = upload.checkpoints[folder].in_flight
    assert incident.kind == kind


def test_nothing_is_in_flight_after_a_clean_stop(read):
    _, upload, _ = read("incident-recovered")
    assert upload.checkpoints[MAIN].in_flight == ()


def test_an_epoch_in_flight_had_ended(read):
    folder, _, _ = read("continuous-rate-to-memory")
    (folder / MAIN / "commits" / "3").unlink()
    (incident,) = read_checkpoint(folder).in_flight
    assert (incident.batch.batch, incident.kind) == (3, EPOCH_ENDED)


def test_a_batch_without_data_is_recognised(read):
    _, upload, _ = read("window-agg-hdfs")
    batches = upload.checkpoints[MAIN].batches
    assert [batch.has_no_data for batch in batches[:4]] == [False, True, False, True]


def test_a_batch_with_data_of_one_source_alone_has_data(read):
    _, upload, _ = read("union-three-sources")
    last = upload.checkpoints[MAIN].batches[-1]
    assert [source.is_empty for source in last.sources] == [True, True, False]
    assert last.has_no_data is False


def test_rows_of_a_rate_source_follow_from_its_offsets(read):
    _, upload, _ = read("union-three-sources")
    batches = upload.checkpoints[MAIN].batches
    assert [batch.sources[2].offset_span for batch in batches] == [3, 3, 3, 3]


def test_offsets_of_kafka_are_counted_over_all_partitions():
    start, end = {"clicks": {"0": 5, "1": 7}}, {"clicks": {"0": 9, "1": 7}}
    assert (kind_of(end), span(start, end)) == (KAFKA, 4)
    assert span(start, {"clicks": {"0": 9, "1": 7, "2": 1}}) is None  # where 2 began is not told


def test_the_range_after_purged_history_has_no_start(read):
    _, upload, _ = read("purged-history")
    first, second, *_ = upload.checkpoints[MAIN].batches
    assert (first.batch, first.sources[0].start_known, first.has_no_data) == (10, False, None)
    assert second.sources[0].start_known


def test_rows_are_late_before_the_watermark_of_the_batch_before(read):
    _, upload, _ = read("window-agg-hdfs")
    batches = upload.checkpoints[MAIN].batches
    assert batches[3].late_before_ms == batches[2].watermark_ms < batches[3].watermark_ms


def test_a_batch_ends_when_its_report_says(read):
    _, upload, _ = read("window-agg-hdfs")
    report, last = upload.reports[-1], upload.checkpoints[MAIN].batches[-1]
    assert report.batch == last.batch
    assert last.committed_at_ms == report.triggered_at_ms + report.durations_ms["triggerExecution"]
    assert last.committed_at_ms > last.planned_at_ms


def test_the_delay_of_a_watermark_is_in_the_schema(read):
    _, upload, _ = read("join-inner-hdfs")
    schemas = upload.checkpoints[MAIN].schemas
    assert schemas[0, "left-keyWithIndexToValue"].watermark_delays_ms == {"ts": 10_000}
    assert schemas[0, "right-keyWithIndexToValue"].watermark_delays_ms == {"cts": 20_000}


def test_delays_are_found_in_every_column_family(read):
    _, upload, _ = read("join-inner-rocksdb-vcf")
    schema = upload.checkpoints[MAIN].schemas[0, "default"]
    assert schema.watermark_delays_ms == {"ts": 10_000, "cts": 20_000}


def test_left_overs_of_a_failed_attempt_are_named(read):
    _, upload, _ = read("plain-agg-rocksdb-v2")
    checkpoint = upload.checkpoints[MAIN]
    assert checkpoint.state_format == 2
    assert [file.path.rsplit("_", 1)[0] for file in checkpoint.left_overs] == [
        "state/0/0/5",
        "state/0/1/5",
    ]
    valid = {ids[0] for ids in checkpoint.logs.committed[4].state_ids[0]}
    assert not valid & {file.unique_id for file in checkpoint.left_overs}


def test_a_missing_partition_is_reported(read):
    folder, upload, _expected = read("incident-partial-partitions")
    assert upload.checkpoints[MAIN].missing_partitions == {}
    for file in (folder / MAIN / "state/0/1").iterdir():
        file.unlink()
    (folder / MAIN / "state/0/1").rmdir()
    assert read_checkpoint(folder).missing_partitions == {0: (1,)}


@pytest.mark.parametrize(
    ("case", "file", "line"),
    [
        ("damaged-empty-commit", "commits/1", None),
        ("damaged-truncated-offset", "offsets/11", 2),
    ],
)
def test_a_damaged_log_is_named_with_its_line(read, case, file, line):
    _, upload, _ = read(case)
    (damaged,) = upload.checkpoints[MAIN].damaged
    assert (damaged.file, damaged.line) == (file, line)


def test_a_batch_with_a_damaged_commit_is_neither_committed_nor_not(read):
    _, upload, _ = read("damaged-empty-commit")
    batch = upload.checkpoints[MAIN].batches[1]
    assert batch.committed is None
    assert "commits/1" in batch.problem


def test_a_damaged_delta_matters_only_until_the_next_snapshot(read, shared_data, tmp_path):
    _, upload, _ = read("damaged-missing-delta")
    _, expected = unpack(shared_data / "spark-streaming" / "window-agg-hdfs.zip", tmp_path)
    checkpoint = upload.checkpoints[MAIN]
    readable = [
        read["batch"] for read in expected["state"] if state_by_files(checkpoint, read) is not None
    ]
    assert readable == [0, 1, 11]


def test_sink_files_outside_of_its_log_are_left_overs(read):
    folder, _, _ = read("stateless-file-to-parquet")
    (folder / "sink" / "part-99999-stray.parquet").write_bytes(b"PAR1")
    upload = read_upload(folder)
    roles = [role for path, role in upload.roles.items() if path.endswith(".parquet")]
    assert roles.count("sink left-over") == 1
    assert roles.count("sink output") == 13


def test_edges_are_assumed_only_where_there_are_several_ways_to_draw_them(read):
    for case, assumed in [("window-agg-hdfs", False), ("union-three-sources", True)]:
        _, upload, _ = read(case)
        assert upload.checkpoints[MAIN].topology.assumed is assumed


def test_a_link_is_never_followed(read, tmp_path):
    folder, _, _ = read("window-agg-hdfs")
    secret = tmp_path / "secret"
    secret.write_text('v1\n{"nextBatchWatermarkMs":1}')
    (folder / MAIN / "commits" / "12").symlink_to(secret)
    upload = read_upload(folder)
    assert upload.left_out == (f"{MAIN}/commits/12",)
    assert 12 not in upload.checkpoints[MAIN].logs.committed


def test_a_linked_folder_is_not_read(read, tmp_path):
    folder, _, _ = read("window-agg-hdfs")
    (folder / "more").symlink_to(tmp_path)
    assert read_upload(folder).left_out == ("more",)


def test_a_file_that_turns_into_a_link_is_not_read(tmp_path):
    (tmp_path / "secret").write_text("x")
    (tmp_path / "0").symlink_to(tmp_path / "secret")
    with pytest.raises(DamagedFile, match="cannot be read"):
        Files(tmp_path, {}).read("0", 10)


def test_a_folder_without_a_checkpoint_is_refused(tmp_path):
    (tmp_path / "notes.txt").write_text("nothing here")
    with pytest.raises(InputRefused, match="checkpointLocation"):
        read_upload(tmp_path)
