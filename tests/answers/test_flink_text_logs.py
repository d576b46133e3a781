"""The logs of Flink's processes are understood, whatever their layout, age and number."""

import gzip
import json
import re
import zipfile
from pathlib import Path

import pytest

from snapshots.domain.answering.sentences import WRONG
from snapshots.domain.model.defects import InputRefused
from snapshots.readers.engines.base import Beginnings
from snapshots.readers.engines.flink.adapter.reader import FlinkReader
from tests.readers.mutated import mutated

DATA = Path(__file__).parents[1] / "data" / "logs"
JOB = "a3f1c27be5d24f0b9c6a1e8d7f402b15"
CLASS = "org.apache.flink.runtime.checkpoint.CheckpointCoordinator"
EPOCH = 1_760_000_660_000  # 2025-10-09 09:04:20 UTC
MESSAGES = (
    f"Triggering checkpoint 11 (type=CHECKPOINT) @ {EPOCH} for job {JOB}.",
    f"Completed checkpoint 11 for job {JOB} (8192 bytes in 1200 ms).",
    f"Triggering checkpoint 12 (type=CHECKPOINT) @ {EPOCH + 60_000} for job {JOB}.",
    f"Checkpoint 12 of job {JOB} expired before completing.",
)
CLOCK = ("17:04:20,001", "17:04:21,207", "17:05:20,002", "17:15:20,003")  # eight hours ahead of UTC


def real() -> bytes:
    with zipfile.ZipFile(DATA / "flink-2.3-expired-and-restored.zip") as opened:
        return opened.read("flink.log")


def reports(folder: Path, files: dict[str, bytes]):
    folder.mkdir(parents=True, exist_ok=True)
    for name, content in files.items():
        (folder / name).write_bytes(content)
    return FlinkReader().read(folder)


def plain(clock: str, message: str) -> str:
    return f"2025-10-09 {clock} INFO  {CLASS}    [] - {message}"


def old(clock: str, message: str) -> str:
    return f"2025-10-09 {clock} INFO  {CLASS}     - {message}"


def logback(clock: str, message: str) -> str:
    return f"2025-10-09 {clock.replace(',', '.')} [Checkpoint Timer] INFO  {CLASS} - {message}"


def kubernetes(clock: str, message: str) -> str:
    at = f"2025-10-09T{int(clock[:2]) - 8:02}{clock[2:].replace(',', '.')}000000Z"
    return f"{at} stdout F {plain(clock, message)}"


def as_json(clock: str, message: str) -> str:
    at = f"2025-10-09T{int(clock[:2]) - 8:02}{clock[2:].replace(',', '.')}Z"
    return json.dumps({"@timestamp": at, "log.level": "INFO", "log.logger": CLASS,
                       "message": message})  # fmt: skip


def docker(clock: str, message: str) -> str:
    at = f"2025-10-09T{int(clock[:2]) - 8:02}{clock[2:].replace(',', '.')}Z"
    return json.dumps({"log": plain(clock, message) + "\n", "stream": "stdout", "time": at})


def test_a_real_log_tells_what_failed_why_and_from_where_the_job_went_on(answers):
    (said,) = answers({"flink.log": real()})
    assert said["state"].level == WRONG  # the last checkpoint failed
    assert "the job had finished at the end of the log" in said["state"].text
    assert "the log has 7 failed among its 18 checkpoints" in said["state"].text
    assert "the log has 1 failure of the job" in said["state"].text
    assert "“order 120 has no price” (IllegalStateException)" in said["restarts"].text
    assert "price -> Sink: out[1] (flink.log:" in said["restarts"].text
    assert "It went on from checkpoint 6 (2026-11-28 19:27:30" in said["restarts"].text
    assert "Checkpoint expired before completing" in said["checkpoint-failures"].text


def test_the_lines_of_each_checkpoint_are_named_and_the_others_counted(tmp_path):
    log = real()
    upload = reports(tmp_path, {"flink.log": log})
    inventory = upload.inventory()
    facts = {fact.name: fact.value for fact in inventory.checkpoints[5].facts}
    lines = re.findall(r"\d+", facts["told by the lines"])
    assert b"checkpoint 6 " in log.splitlines()[int(lines[0]) - 1]
    assert inventory.notes[0].startswith("flink.log: 48 of 693 lines tell of checkpoints")
    assert [each.role for each in inventory.files] == ["log of a process"]


@pytest.mark.parametrize("layout", [plain, old, logback, kubernetes, as_json, docker])
def test_the_layout_and_the_zone_of_a_log_change_nothing_that_is_told(layout, tmp_path):
    lines = [layout(clock, message) for clock, message in zip(CLOCK, MESSAGES, strict=True)]
    (job,) = reports(tmp_path, {"a.log": "\n".join(lines).encode()}).archive_facts()
    done, failed = job.checkpoints
    assert (done.triggered_at, done.duration, done.bytes) == (EPOCH, 1200, 8192)
    assert (failed.status, failed.failure) == ("failed", "Checkpoint expired before completing.")
    assert 0 <= failed.ended_at - (EPOCH + 660_000) < 1000


def test_rotated_and_packed_logs_are_read_in_their_order(answers):
    lines = [plain(clock, message) for clock, message in zip(CLOCK, MESSAGES, strict=True)]
    first, last = ("\n".join(part).encode() for part in (lines[:2], lines[2:]))
    (said,) = answers({"jm.log": last, "jm.log.1.gz": gzip.compress(first)})
    assert said["state"].level == WRONG
    assert "the last checkpoint that ended in the log, 12, failed" in said["state"].text


def test_dumps_in_a_log_tell_who_acknowledged(tmp_path):
    dump = {"className": "failed", "id": 12, "status": "FAILED", "trigger_timestamp": EPOCH,
            "num_subtasks": 4, "num_acknowledged_subtasks": 3, "tasks": {},
            "failure_message": "Checkpoint expired before completing."}  # fmt: skip
    message = f"CheckpointStatistics (for jobID={JOB}, jobName=orders) dump = {json.dumps(dump)} "
    (report,) = reports(tmp_path, {"a.log": plain(CLOCK[0], message).encode()}).job_reports()
    (failed,) = report.checkpoints
    assert (failed.status, failed.acknowledged, failed.subtasks) == ("failed", 3, 4)


def test_a_dump_without_subtasks_tells_how_many_acknowledged(answers):
    dump = {"className": "failed", "id": 12, "status": "FAILED", "trigger_timestamp": EPOCH,
            "num_subtasks": 4, "num_acknowledged_subtasks": 3, "tasks": {}}  # fmt: skip
    message = f"CheckpointStatistics (for jobID={JOB}, jobName=orders) dump = {json.dumps(dump)} "
    (said,) = answers({"a.log": plain(CLOCK[0], message).encode()})
    assert "3 of 4 subtasks acknowledged it" in said["checkpoint-failures"].text


def test_a_failure_that_two_logs_tell_is_one(tmp_path):
    attempt = "69fb6d5e408613b0cdb304abf873bf0a_20ba_1_0"
    job = plain(CLOCK[0], f"Job orders ({JOB}) switched from state CREATED to RUNNING.")
    of_task = plain(CLOCK[1], f"price (2/2)#0 ({attempt}) switched from RUNNING to FAILED with")
    of_job = plain(CLOCK[1], f"price (2/2) ({attempt}) switched from RUNNING to FAILED on x.")
    cause = "java.lang.IllegalStateException: no price\n\tat Map.map(Map.java:1)"
    files = {
        "jobmanager.log": "\n".join((job, of_job, cause)).encode(),
        "taskmanager.log": "\n".join((of_task, cause)).encode(),
    }
    (report,) = reports(tmp_path, files).job_reports()
    (failure,) = report.failures
    assert (failure.task, failure.message) == ("price[1]", "no price")
    assert failure.place == "jobmanager.log:2"


GRAPHS = ("69fb6d5e408613b0cdb304abf873bf0a", "77fb6d5e408613b0cdb304abf873bf0a")
VERTEX = "b1b1b1b1b1b1b1b1b1b1b1b1b1b1b1b1"


def failing(task: str, graph: str, number: int = 0) -> str:
    attempt = f"{graph}_{VERTEX}_{number}_0"
    return f"{task} (1/2) ({attempt}) switched from RUNNING to FAILED on tm @ host."


def switched(job: str, old: str, new: str, name: str = "orders") -> str:
    return f"Job {name} ({job}) switched from state {old} to {new}."


@pytest.mark.parametrize("is_interleaved", [False, True])
def test_a_failure_is_of_the_job_that_breaks_next(is_interleaved, tmp_path):
    other = JOB.replace("a3", "b4")
    lines = [
        switched(JOB, "CREATED", "RUNNING"), switched(other, "CREATED", "RUNNING", "bills"),
        failing("price", GRAPHS[0]), switched(JOB, "RUNNING", "RESTARTING"),
        failing("sum", GRAPHS[1]), switched(other, "RUNNING", "FAILING", "bills"),
        switched(other, "FAILING", "FAILED", "bills"),
    ]  # fmt: skip
    if is_interleaved:
        lines[3], lines[4] = lines[4], lines[3]
    log = "\n".join(plain("17:04:20,001", line) for line in lines)
    upload = reports(tmp_path, {"a.log": log.encode()})
    tasks = {each.key: [one.task for one in each.failures] for each in upload.job_reports()}
    assert tasks == {JOB: ["price[0]"], other: ["sum[0]"]}


def test_a_failure_in_the_log_of_a_task_manager_finds_its_job_in_another_log(tmp_path):
    other = JOB.replace("a3", "b4")
    of_task = [failing("sum", GRAPHS[1], 1)]
    of_job = [
        switched(other, "CREATED", "RUNNING", "bills"), failing("sum", GRAPHS[1]),
        switched(other, "RUNNING", "RESTARTING", "bills"), switched(JOB, "CREATED", "RUNNING"),
    ]  # fmt: skip
    files = {
        name: "\n".join(plain("17:04:20,001", line) for line in lines).encode()
        for name, lines in (("z-taskmanager.log", of_task), ("jobmanager.log", of_job))
    }
    upload = reports(tmp_path, files)
    counts = {each.key: len(each.failures) for each in upload.job_reports()}
    assert counts == {JOB: 0, other: 2}


@pytest.mark.parametrize("has_restore", [True, False])
def test_a_job_that_starts_from_a_savepoint_was_restored_once(has_restore, answers):
    path = "file:/savepoints/savepoint-a3f1c2-8a5f8e0b9c6a"
    lines = [
        f"Starting job {JOB} from savepoint {path} ()",
        f"Reset the checkpoint ID of job {JOB} to 9.",
        f"Restoring job {JOB} from Savepoint 8 @ 0 for {JOB} located at {path}.",
    ][: 3 if has_restore else 2]
    log = "\n".join(plain("17:04:20,001", line) for line in (MESSAGES[0], *lines))
    (said,) = answers({"a.log": log.encode()})
    text = said["restarts"].text
    assert "It was restored from savepoint 8" in text
    assert path in text
    assert "the log has 2 restores" not in text


def test_a_retained_checkpoint_from_which_a_job_starts_is_no_savepoint(answers):
    path = f"file:///checkpoints/{JOB}/chk-8"
    log = plain("17:04:20,001", f"Starting job {JOB} from savepoint {path} ()")
    (said,) = answers({"a.log": log.encode()})
    assert "It was restored from checkpoint 8" in said["restarts"].text


def test_a_vertex_in_a_dump_is_named_as_the_log_names_it(answers):
    subtasks = [{"index": 0, "status": "pending_or_failed"}, {"index": 1, "status": "completed"}]
    task = {"id": 12, "status": "FAILED", "num_subtasks": 2, "num_acknowledged_subtasks": 1}
    dump = {"className": "failed", "id": 12, "status": "FAILED", "trigger_timestamp": EPOCH,
            "num_subtasks": 2, "num_acknowledged_subtasks": 1,
            "tasks": {VERTEX: task | {"subtasks": subtasks}}}  # fmt: skip
    message = f"CheckpointStatistics (for jobID={JOB}, jobName=orders) dump = {json.dumps(dump)} "
    attempt = f"{GRAPHS[0]}_{VERTEX}_0_0"
    name = f"price -> Sink: out (1/2) ({attempt}) switched from CREATED to SCHEDULED."
    log = "\n".join(plain(CLOCK[0], line) for line in (name, message))
    (said,) = answers({"a.log": log.encode()})
    assert "price -> Sink: out" in said["checkpoint-failures"].text
    (said,) = answers({"a.log": plain(CLOCK[0], message).encode()})
    assert "vertex b1b1b1b1[0]" in said["checkpoint-failures"].text


def test_a_log_without_failures_is_no_list_of_all_checkpoints(answers):
    log = "\n".join(plain(CLOCK[0], message) for message in MESSAGES[:2])
    (said,) = answers({"a.log": log.encode()})
    assert "the log has no failure among its 1 checkpoint" in said["state"].text
    assert "none" not in said["state"].text
    assert said["restarts"].text == "The log has no failure and no restore."


def test_of_many_statistics_the_newest_are_kept_and_all_are_counted(answers):
    lines = []
    for number in range(1, 701):
        status = "FAILED" if number % 7 == 0 else "COMPLETED"
        dump = {"id": number, "status": status, "trigger_timestamp": EPOCH + number, "tasks": {}}
        said = f"CheckpointStatistics (for jobID={JOB}, jobName=orders) dump = {json.dumps(dump)}"
        lines.append(plain(CLOCK[0], said))
    (said,) = answers({"a.log": "\n".join(lines).encode()})
    assert "the log has 100 failed among its 700 checkpoints" in said["state"].text


def test_what_is_left_out_of_a_log_is_counted_in_words(tmp_path):
    lines = [plain(clock, message) for clock, message in zip(CLOCK, MESSAGES, strict=True)]
    (job,) = reports(tmp_path, {"a.log": "\n".join(lines).encode()}).inventory().jobs
    counted = {fact.name for fact in job.facts if fact.name.startswith("checkpoints ")}
    assert counted == {
        f"checkpoints {what}" for what in ("restored", "left out", "failed left out")
    }


def test_of_many_checkpoints_the_newest_are_kept_and_all_are_counted(answers):
    lines = []
    for number in range(1, 701):
        at = EPOCH + number * 1000
        lines.append(f"Triggering checkpoint {number} (type=CHECKPOINT) @ {at} for job {JOB}.")
        end = "expired before completing." if number % 7 == 0 else None
        done = f"Completed checkpoint {number} for job {JOB} (8192 bytes in 12 ms)."
        lines.append(f"Checkpoint {number} of job {JOB} {end}" if end else done)
    (said,) = answers({"a.log": "\n".join(plain(CLOCK[0], line) for line in lines).encode()})
    assert "the log has 100 failed among its 700 checkpoints" in said["state"].text
    assert (
        "the slowest of 428 completed ones among the newest 500 in the log" in said["slowest"].text
    )
    failed = said["checkpoint-failures"].text
    assert failed.startswith("The log has 72 checkpoints that failed among the newest 500. ")


def test_beside_answers_of_flink_a_log_is_not_all_that_tells(answers):
    log = "\n".join(plain(CLOCK[0], message) for message in MESSAGES[:2])
    job = {"jid": JOB, "name": "orders", "state": "RUNNING", "now": EPOCH + 5000, "vertices": []}
    (said,) = answers({"a.log": log.encode(), f"jobs/{JOB}.json": json.dumps(job).encode()})
    assert "the log" not in said["state"].text


def test_times_without_a_zone_are_not_given_as_instants(tmp_path):
    line = plain(CLOCK[0], f"Job orders ({JOB}) switched from state RUNNING to FAILING.")
    upload = reports(tmp_path, {"a.log": f"{line}\njava.io.IOException: gone".encode()})
    (report,) = upload.job_reports()
    assert (report.failures[0].at, report.failures[0].message) == (None, "gone")
    assert "no zone" in upload.inventory().notes[0]


def test_failures_without_known_times_are_each_counted(tmp_path):
    failing = [
        plain(clock, f"Job orders ({JOB}) switched from state RUNNING to FAILING.")
        for clock in CLOCK[:3]
    ]
    (report,) = reports(tmp_path, {"a.log": "\n".join(failing).encode()}).job_reports()
    assert len(report.failures) == 3


def test_a_message_that_a_line_only_quotes_is_none(tmp_path):
    lines = [
        plain(CLOCK[0], MESSAGES[0]),
        plain(CLOCK[1], f"The user wrote “{MESSAGES[1]}”"),
    ]
    (report,) = reports(tmp_path, {"a.log": "\n".join(lines).encode()}).job_reports()
    assert [each.status for each in report.checkpoints] == ["in progress"]


def test_logs_of_others_are_not_flinks():
    for text in (b"2025-10-09 08:04:20 INFO com.shop.Orders - Completed checkpoint 7", b"hello"):
        assert FlinkReader().recognises(Beginnings(("a.log",), lambda _, text=text: text)) is None


def test_mutated_logs_are_read_or_refused(tmp_path):
    lines = real().splitlines()
    kept = [line for line in lines if b"heckpoint" in line or b"witched" in line or b"at " in line]
    seeds = [b"\n".join(kept[:80]), gzip.compress(b"\n".join(kept[-80:]))]
    for number, data in enumerate(mutated(seeds, 200)):
        folder = tmp_path / str(number)
        try:
            upload = reports(folder, {"a.log": data})
            upload.inventory()
            list(upload.recording()[1])
            upload.job_reports()
        except InputRefused:
            continue
