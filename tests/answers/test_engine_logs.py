"""The logs of Spark's drivers and of SeaTunnel's engine are told with their lines."""

import gzip
import json
import zipfile
from pathlib import Path

import pytest

from snapshots.domain.answering.sentences import FACT, NOT_KNOWN, WATCH, WRONG
from snapshots.domain.model.defects import InputRefused
from snapshots.readers.engines import registry
from snapshots.readers.engines.base import Beginnings
from snapshots.readers.engines.log_stories import NO_END, ONLY_LOG
from tests.readers.mutated import mutated

DATA = Path(__file__).parents[1] / "data" / "logs"
QUERY = "7e70df66-c014-41ab-8150-8b03d3ec195a"
RUN = "707687a8-194e-477f-a080-9391ca1105bb"
OTHER = "11111111-c014-41ab-8150-8b03d3ec195a"
JOB = 848482948294
EPOCH = 1_760_000_660_000  # 2025-10-09 09:04:20 UTC


def driver(version: str = "4.3") -> bytes:
    with zipfile.ZipFile(DATA / f"spark-{version}-failed-and-resumed.zip") as opened:
        return opened.read("driver.log")


def spark(*messages: str, level: str = "INFO", hour: int = 17) -> bytes:
    lines = [
        f"25/10/09 {hour}:04:{20 + n:02} {level} MicroBatchExecution: {message}"
        for n, message in enumerate(messages)
    ]
    return "\n".join(lines).encode()


def started(query: str = QUERY, folder: str = "s3://b/orders", name: str = "orders") -> str:
    use = f"Use {folder} to store the query checkpoint."
    return f"Starting {name} [id = {query}, runId = {RUN}]. {use}"


def written(log: str, batch: int, folder: str = "s3://b/orders") -> str:
    return f"Renamed temp file {folder}/{log}/.{batch}.x.tmp to {folder}/{log}/{batch}"


def planned(batch: int, at: int = EPOCH) -> str:
    return f"Committed offsets for batch {batch}. Metadata OffsetSeqMetadata(0,{at},Map(a -> b))"


def engine(*messages: str, prefix: str = "", first: int = 0) -> bytes:
    lines = [
        f"{prefix}2024-08-08 03:{first + n:02}:00,500 INFO  [.s.e.s.c.CheckpointCoordinator] "
        f"[seatunnel-coordinator-service-2] - {message}"
        for n, message in enumerate(messages)
    ]
    return "\n".join(lines).encode()


INIT = f"Init JobMaster for Job orders ({JOB}) "
IN_PIPELINE = f"Job orders ({JOB}), Pipeline: [(1/1)]"
FAILING = (
    f"{IN_PIPELINE}, task: [pipeline-1 [Sink[0]-Console]-SinkTask (1/2)] end with state FAILED and "
    "Exception: java.lang.RuntimeException: sink is gone\n\tat a.B.c(B.java:1)\n"
    "Caused by: java.io.IOException: No space left on device"
)


def done(number: int, pipeline: int = 1) -> str:
    return f"pending checkpoint({number}/{pipeline}@{JOB}) notify finished!"


def read(folder: Path, files: dict[str, bytes], format: str):
    folder.mkdir(parents=True, exist_ok=True)
    for name, content in files.items():
        (folder / name).write_bytes(content)
    return registry.READERS[format].read(folder)


@pytest.mark.parametrize("version", ["4.3", "3.5"])
def test_a_real_drivers_log_tells_why_the_query_failed_and_where_it_resumed(version, answers):
    log = driver(version)
    (said,) = answers({"driver.log": log})
    assert said["state"].level == WATCH
    assert "The log has 5 batches (5 committed), 2 starts and 1 failure" in said["state"].text
    assert "“order 3 has no price” (ValueError)" in said["restarts"].text
    assert "It resumed at batch 3" in said["restarts"].text
    lines = log.decode().splitlines()
    number = int(said["restarts"].text.split("driver.log:")[1].split(")")[0])
    assert "terminated with error" in lines[number - 1]
    assert "Batch 4, the last one in the log, was committed" in said["last-batch"].text
    assert "of it in addBatch" in said["slowest"].text
    assert said["restorable"].level == NOT_KNOWN


def test_a_query_that_failed_last_is_not_well(answers):
    log = driver()
    (said,) = answers({"driver.log": log[: log.index(b"has been shutdown")]})
    assert said["state"].level == WRONG
    assert "the query had failed at the end of the log" in said["state"].text
    assert "no line that it was committed" in said["last-batch"].text


def test_rotated_and_packed_drivers_logs_are_read_in_their_order(answers):
    log = driver()
    cut = log.index(b"\n", len(log) // 2) + 1
    whole = answers({"driver.log": log})
    parts = answers({"driver.log": log[cut:], "driver.log.1.gz": gzip.compress(log[:cut])})
    assert parts[0]["state"].text == whole[0]["state"].text


def test_times_of_a_drivers_log_are_instants_by_the_line_that_has_both(tmp_path):
    log = spark(started(), written("offsets", 0), planned(0), written("commits", 0))
    upload = read(tmp_path, {"a.log": log}, "spark-streaming")
    (batch,) = upload.inventory().checkpoints
    assert batch.triggered_at == EPOCH
    assert 0 <= batch.completed_at - EPOCH < 10_000  # the clock of the log is eight hours ahead


def test_two_queries_in_one_log_have_their_own_batches(answers):
    log = spark(
        started(), started(OTHER, "file:/data/other", "other"),
        written("offsets", 7), planned(7), written("offsets", 3, "file:/data/other"), planned(3),
        written("commits", 7),
    )  # fmt: skip
    by_name = {said["last-batch"].text.partition(",")[0]: said for said in answers({"a.log": log})}
    assert set(by_name) == {"Batch 7", "Batch 3"}
    assert "no line that it was committed" in by_name["Batch 3"]["last-batch"].text
    assert by_name["Batch 7"]["last-batch"].level == FACT


def test_structured_logs_of_spark_4_are_read(answers):
    lines = [
        {"ts": "2025-10-09T09:04:20.001Z", "level": "INFO", "msg": message,
         "logger": "MicroBatchExecution"}
        for message in (started(), written("offsets", 0), planned(0), written("commits", 0))
    ]  # fmt: skip
    lines.append({
        "ts": "2025-10-09T09:05:20.001Z", "level": "ERROR", "logger": "MicroBatchExecution",
        "msg": f"Query orders [id = {QUERY}, runId = {RUN}] terminated with error",
        "exception": {"class": "java.io.IOException", "msg": "gone", "stacktrace": []},
    })  # fmt: skip
    log = "\n".join(json.dumps(line, separators=(",", ":")) for line in lines)
    (said,) = answers({"a.log": log.encode()})
    assert said["state"].level == WRONG
    assert "“gone” (IOException)" in said["restarts"].text
    assert "2025-10-09 09:05:20.001 UTC" in said["restarts"].text


@pytest.mark.parametrize("is_same", [True, False])
def test_a_log_beside_a_checkpoint_directory_adds_what_happened(is_same, shared_data, answers):
    with zipfile.ZipFile(shared_data / "spark-streaming" / "stateless-rate-to-json.zip") as opened:
        files = {name: opened.read(name) for name in opened.namelist() if not name.endswith("/")}
    (metadata,) = (data for name, data in files.items() if name.endswith("checkpoint/metadata"))
    query = json.loads(metadata)["id"] if is_same else QUERY
    both = answers(files | {"driver.log": driver().replace(QUERY.encode(), query.encode())})
    assert len(both) == 2
    assert sum("restarts" in said for said in both) == 1
    assert sum("restorable" in said for said in both) == 1  # the page answers that once


def failed_with(*trace: str) -> str:
    return "\n".join((f"Query orders [id = {QUERY}, runId = {RUN}] terminated with error", *trace))


def test_a_stack_trace_ends_with_the_next_record_and_its_lines_tell_nothing_else(tmp_path):
    quoted = f"Suppressed: Query x [id = {OTHER}, runId = {RUN}] terminated with error"
    log = spark(started(), failed_with("java.io.IOException: gone", quoted), "The end")
    log += b"\nCaused by: java.lang.Error: of another record"
    (report,) = read(tmp_path, {"a.log": log}, "spark-streaming").job_reports()
    (failure,) = report.failures
    assert (failure.name, failure.message) == ("java.io.IOException", "gone")


def test_of_many_batches_and_failures_the_newest_are_kept_and_all_are_counted(answers):
    batches = [line for n in range(700) for line in (planned(n), written("commits", n))]
    log = "\n".join(
        f"25/10/09 17:04:20 INFO MicroBatchExecution: {message}"
        for message in (started(), *batches, *[failed_with()] * 201)
    )
    (said,) = answers({"a.log": log.encode()})
    assert "700 batches, and of the newest 500 500 committed" in said["state"].text
    assert "at least 200 failures" in said["state"].text


def test_a_query_that_was_stopped_is_called_so_with_the_version_of_spark(answers, tmp_path):
    stopped = f"Query orders [id = {QUERY}, runId = {RUN}] was stopped"
    log = spark("Running Spark version 4.3.0", started(), planned(0), stopped)
    (said,) = answers({"a.log": log})
    assert "the query had been stopped at the end of the log" in said["state"].text.lower()
    (job,) = read(tmp_path / "a", {"a.log": log}, "spark-streaming").inventory().jobs
    assert ("Spark", "4.3.0") in {(fact.name, fact.value) for fact in job.facts}


def test_batches_of_folders_whose_query_no_line_names_are_apart(tmp_path):
    log = spark(written("offsets", 7, "/a"), written("offsets", 8, "/b"))
    upload = read(tmp_path, {"a.log": log}, "spark-streaming")
    assert {(one.job, one.id) for one in upload.inventory().checkpoints} == {
        ("log of a query: /a", 7), ("log of a query: /b", 8),
    }  # fmt: skip


def test_a_report_of_a_trigger_without_a_batch_adds_none(tmp_path):
    idle = {"id": QUERY, "runId": RUN, "name": "orders", "batchId": 1,
            "timestamp": "2025-10-09T09:04:21.000Z", "numInputRows": 0,
            "durationMs": {"triggerExecution": 3}, "stateOperators": [], "sources": [],
            "sink": {"description": "x"}}  # fmt: skip
    report = f"Streaming query made progress: {json.dumps(idle)}"
    log = spark(started(), planned(0), written("commits", 0), report)
    upload = read(tmp_path, {"a.log": log}, "spark-streaming")
    assert [(one.id, one.status) for one in upload.inventory().checkpoints] == [(0, "completed")]


def test_a_committed_batch_that_is_planned_once_more_stays_committed(tmp_path):
    log = spark(started(), planned(0), written("commits", 0), started(), planned(0))
    (batch,) = read(tmp_path, {"a.log": log}, "spark-streaming").inventory().checkpoints
    assert batch.status == "completed"


def test_a_log_of_spark_without_a_query_is_refused_with_what_was_read(tmp_path):
    log = b"25/10/09 17:04:20 INFO SparkContext: Running Spark version 3.5.6\n" * 3
    with pytest.raises(InputRefused, match="No line of it tells of a job"):
        read(tmp_path, {"a.log": log}, "spark-streaming")


def test_seatunnels_log_tells_what_expired_failed_and_was_restored(answers):
    log = engine(
        INIT, f"{IN_PIPELINE} turned from state DEPLOYING to RUNNING.",
        f"Job orders ({JOB}) turned from state SCHEDULED to RUNNING.",
        "wait checkpoint completed: 1", done(1),
        "wait checkpoint completed: 2", f"timeout checkpoint: {JOB}/1/2, CHECKPOINT_TYPE",
        FAILING, f"{IN_PIPELINE} turned from state RUNNING to FAILING.",
        f"Restore time 1, pipeline {IN_PIPELINE}",
        f"Restore job(1@{JOB}) with checkpoint(1), data: CompletedCheckpoint(x)",
        "wait checkpoint completed: 3",
    )  # fmt: skip
    (said,) = answers({"seatunnel-engine-master.log": log})
    assert "the job was running at the end of the log" in said["state"].text
    assert "3 checkpoints (1 completed and 1 failed), 1 start, 1 restart" in said["state"].text
    assert "“No space left on device” (IOException)" in said["restarts"].text
    assert "pipeline-1 [Sink[0]-Console]-SinkTask (1/2)" in said["restarts"].text
    assert "restored from checkpoint 1" in said["restarts"].text
    assert "2024-08-08 03:07:00,500 by its clock" in said["restarts"].text  # its zone is not known
    assert "expired before completing" in said["checkpoint-failures"].text
    assert "no line that it completed" in said["last-batch"].text
    assert "took 60 s" in said["slowest"].text or "took 1 min" in said["slowest"].text


def test_what_is_pending_when_the_coordinator_gives_up_has_failed(tmp_path):
    aborted = "start clean pending checkpoint cause CheckpointCoordinator inside have error."
    log = engine(INIT, done(1), "wait checkpoint completed: 2", aborted)
    upload = read(tmp_path, {"a.log": log}, "seatunnel")
    first, second = upload.inventory().checkpoints
    assert (first.status, second.status) == ("completed", "failed")


def test_a_failed_checkpoint_cannot_be_restored_and_of_an_open_one_that_is_not_known(tmp_path):
    expired = f"timeout checkpoint: {JOB}/1/2, CHECKPOINT_TYPE"
    log = engine(
        INIT, done(1), "wait checkpoint completed: 2", expired, "wait checkpoint completed: 3"
    )
    upload = read(tmp_path, {"a.log": log}, "seatunnel")
    answers = [one.answer for one in upload.restore_check().checks]
    assert answers == ["not-known", "not-restorable", "not-known"]
    problems = [one.problem for one in upload.inventory().checkpoints]
    assert problems == [ONLY_LOG, ONLY_LOG, NO_END]


def test_no_time_is_told_where_the_clock_of_the_log_went_back(answers):
    log = engine(INIT, "wait checkpoint completed: 1", first=9) + b"\n" + engine(done(1))
    (said,) = answers({"a.log": log})
    assert "slowest" not in said


def test_what_has_completed_or_ends_as_usual_has_not_failed(tmp_path):
    usual = "start clean pending checkpoint cause CheckpointCoordinator completed."
    expired = f"timeout checkpoint: {JOB}/1/1, CHECKPOINT_TYPE"
    log = engine(INIT, done(1), expired, "wait checkpoint completed: 2", usual)
    upload = read(tmp_path, {"a.log": log}, "seatunnel")
    assert [one.status for one in upload.inventory().checkpoints] == ["completed", "in progress"]


def test_each_failure_after_a_restart_is_counted_and_what_follows_from_one_is_not(answers):
    failing = f"{IN_PIPELINE} turned from state RUNNING to FAILING."
    restart = f"Restore time 1, pipeline {IN_PIPELINE}"
    (said,) = answers({"a.log": engine(INIT, FAILING, failing, restart, FAILING, failing)})
    assert "2 failures" in said["state"].text


def test_a_savepoint_with_which_a_job_starts_is_called_so(answers, tmp_path):
    log = engine(
        INIT, "pipeline(1) start with savePoint on checkPointId(4)",
        f"Restore job(1@{JOB}) with checkpoint(4), data: CompletedCheckpoint(x)", done(4), done(5),
    )  # fmt: skip
    (said,) = answers({"a.log": log})
    assert "restored from savepoint 4" in said["restarts"].text
    upload = read(tmp_path / "a", {"a.log": log}, "seatunnel")
    assert [one.kind for one in upload.inventory().checkpoints] == ["savepoint", "checkpoint"]


def test_a_line_at_debug_has_the_instants_of_its_checkpoint_and_shows_the_zone(tmp_path):
    ended = 1_723_057_800_500  # the clock of the log is eight hours ahead
    timed = f"pending checkpoint(1/1@{JOB}) completed! cost: 40, trigger: {ended - 40}, "
    log = engine(timed + f"completed: {ended}", done(2), first=10)
    first, second = read(tmp_path, {"a.log": log}, "seatunnel").inventory().checkpoints
    assert (first.triggered_at, first.completed_at) == (ended - 40, ended)
    assert second.completed_at == ended + 60_000


def test_nothing_is_given_up_where_the_line_could_be_of_two_pipelines(tmp_path):
    aborted = "start clean pending checkpoint cause CheckpointCoordinator inside have error."
    log = engine(INIT, done(1), done(1, 2), "wait checkpoint completed: 2", aborted)
    upload = read(tmp_path, {"a.log": log}, "seatunnel")
    assert [one.status for one in upload.inventory().checkpoints] == [
        "completed", "completed", "in progress",
    ]  # fmt: skip


def test_a_line_that_begins_with_its_job_is_of_that_job(tmp_path):
    log = engine(INIT, "wait checkpoint completed: 5") + b"\n"
    log += engine("wait checkpoint completed: 9", prefix="[77] ", first=5)
    upload = read(tmp_path, {"a.log": log}, "seatunnel")
    assert {(one.job, one.id) for one in upload.inventory().checkpoints} == {
        (f"log of {JOB}", 5), ("log of 77", 9),
    }  # fmt: skip


def test_a_log_that_begins_amid_a_job_has_one_job(tmp_path):
    log = engine("wait checkpoint completed: 5", done(5), "wait checkpoint completed: 6", done(6))
    upload = read(tmp_path, {"a.log": log}, "seatunnel")
    assert [job.key for job in upload.inventory().jobs] == [f"log of {JOB}"]


@pytest.mark.parametrize(
    ("format", "log"),
    [
        ("flink", b"2025-10-09 08:04:20,001 INFO  org.apache.flink.Task [] - a\n"),
        ("spark-streaming", b"25/10/09 08:04:20 INFO SparkContext: a\n"),
        ("spark-streaming", b"2025-10-09 08:04:20 INFO  MicroBatchExecution:60 - a\n"),
        ("seatunnel", engine("a")),
        ("seatunnel", b"2024-08-08 03:35:57,530 INFO  [o.a.s.e.s.m.JobMaster ] [x] - a\n"),
        (None, b"2025-10-09 08:04:20 INFO com.shop.Orders - SparkContext is fine\n"),
    ],
)
def test_each_log_is_recognised_as_that_of_its_engine(format, log):
    files = Beginnings(("a.log",), lambda _: log)
    found = [name for name, reader in registry.READERS.items() if reader.recognises(files)]
    assert found == ([format] if format else [])


def test_jobs_of_logs_have_a_recording_with_all_checkpoints(tmp_path):
    upload = read(tmp_path, {"driver.log": driver()}, "spark-streaming")
    header, events = upload.recording()
    assert header.extra["derived"]
    names = {one.snapshot for one in upload.inventory().checkpoints}
    assert {event.snapshot for event in events} == names


def test_mutated_logs_are_read_or_refused(tmp_path):
    kept = [line for line in driver().splitlines() if b"atch" in line or b"rror" in line]
    seatunnel = engine(INIT, done(1), "wait checkpoint completed: 2", FAILING, done(2, 2))
    seeds = [b"\n".join(kept[:60]), seatunnel, driver()[:20_000], gzip.compress(seatunnel)]
    for number, data in enumerate(mutated(seeds)):
        folder = tmp_path / str(number)
        for format in ("spark-streaming", "seatunnel"):
            try:
                upload = read(folder, {"a.log": data}, format)
                upload.inventory()
                upload.job_reports()
                upload.restore_check()
                list(upload.recording()[1])
            except InputRefused:
                continue
