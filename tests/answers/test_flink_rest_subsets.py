"""Answers of Flink's REST API are understood alone, in any order, and under any name."""

import contextlib
import json
import random
import zipfile
from pathlib import Path

import pytest

from snapshots.domain.answering.sentences import FACT, NOT_KNOWN, WATCH, WELL, WRONG
from snapshots.domain.model.defects import InputRefused
from snapshots.readers.engines.base import Beginnings
from snapshots.readers.engines.flink.adapter.reader import FlinkReader
from snapshots.readers.engines.flink.rest.answers import read_answers
from tests.readers.mutated import mutated

DATA = Path(__file__).parents[1] / "data" / "flink-rest"
JOB = "0a" * 16
GONE = "0123456789abcdef0123456789abcdef"


def real(package: str) -> dict[str, bytes]:
    """Return the files of a package by name."""
    with zipfile.ZipFile(DATA / f"{package}.zip") as opened:
        return {name: opened.read(name) for name in opened.namelist()}


def refused(answers, files: dict[str, bytes]) -> str:
    with pytest.raises(InputRefused) as refusal:
        answers(files)
    (defect,) = refusal.value.defects
    return defect.sentence


def checkpoint(number: int, status: str = "COMPLETED", **fields: object) -> dict:
    """Return an answer about a checkpoint as the JobManager's log prints it."""
    return {"className": status.lower(), "id": number, "status": status, "is_savepoint": False,
            "trigger_timestamp": 1_760_000_000_000, "latest_ack_timestamp": 1_760_000_001_200,
            "state_size": 8192, "end_to_end_duration": 1200, "num_subtasks": 4,
            "num_acknowledged_subtasks": 4, "checkpoint_type": "CHECKPOINT", "tasks": {},
            **fields}  # fmt: skip


def encoded(value: object) -> bytes:
    return json.dumps(value).encode()


# --- as people brought them -----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("case", "level", "says", "point"),
    [
        (
            "checkpointing-off",
            WATCH,
            "Flink says that checkpointing is not enabled; the job was running",
            "There is no point to restore from: checkpointing is not enabled.",
        ),
        (
            "debug-dump-json",
            NOT_KNOWN,
            "Checkpoint 11 completed after 1.2 s with 4 of 4 subtasks",
            "checkpoint 11, at s3://bucket/checkpoints/",
        ),
        (
            "job-only",
            WRONG,
            "the job had failed when Flink answered (2025-10-09 09:53:20.000 UTC)",
            "Whether there is a point to restore from is not known",
        ),
        (
            "lone-checkpoints-1.14",
            NOT_KNOWN,
            "The last checkpoint that ended, 1914, completed after 89 ms; none of 1,914",
            "checkpoint 1914, at oss:///apps/prod/checkpoints/",
        ),
    ],
)
def test_what_people_brought_gets_the_right_answer(answers, case, level, says, point):
    (found,) = answers(reported(case))
    assert found["state"].level == level
    assert says in found["state"].text
    assert point in found["restorable"].text


def test_a_job_that_is_gone_is_refused_as_flinks_answer(answers):
    assert "not found”. Is the id right, and is it a job of this cluster?" in (
        refused(answers, reported("job-not-found"))
    )


def reported(case: str) -> dict[str, bytes]:
    return {n: data for n, data in real("reports").items() if n.startswith(f"{case}/")}


@pytest.mark.parametrize(
    "pasted",
    [
        lambda data: b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n\r\n" + data,
        lambda data: b"$ curl -s http://jm:8081/jobs/x/checkpoints\n" + data + b"\n$ ",
        lambda data: b"```\n" + data + b"\n```\n",
        lambda data: data.decode().encode("utf-16"),
        lambda data: repr(json.loads(data)).encode(),
        lambda data: json.dumps(json.loads(data), indent=1).replace("\n", ",\n").encode()
        .replace(b"{,", b"{").replace(b"[,", b"[").replace(b",,", b","),
    ],
    ids=["headers", "prompt", "fence", "UTF-16", "Python", "commas"],
)  # fmt: skip
def test_an_answer_is_read_as_it_was_pasted(answers, pasted):
    data = real("running")["checkpoints.json"]
    (plain,) = answers({"checkpoints.json": data})
    (found,) = answers({"out.txt": pasted(data)})
    assert {one.text for one in found.values()} == {one.text for one in plain.values()}
    assert "7, completed after 9 ms" in found["state"].text


def test_where_a_savepoint_lies_is_said_though_nothing_else_is_in_the_answer(answers):
    done = {"status": {"id": "COMPLETED"}, "operation": {"location": "s3://b/savepoint-a3f1c2-1"}}
    sentence = refused(answers, {"status.json": encoded(done)})
    assert "the savepoint is complete, and that it lies at s3://b/savepoint-a3f1c2-1." in sentence


def test_metadata_that_ends_too_early_is_refused_with_the_likely_cause(answers, shared_data):
    whole = next((shared_data / "flink/savepoint-canonical").rglob("savepoint-*/_metadata"))
    sentence = refused(answers, {"savepoint-1/_metadata": whole.read_bytes()[:9000]})
    assert "the metadata of a Flink checkpoint, cannot be read: " in sentence
    assert sentence.endswith("Was it cut short when it was copied?")


TASKS = {"b1" * 16: (2, 2), "c2" * 16: (2, 1)}


@pytest.mark.parametrize(
    ("failure", "why"),
    [
        ("Checkpoint expired before completing.", "Flink's reason: “Checkpoint expired before"),
        (None, "Flink gives no reason."),
    ],
)
def test_the_task_that_lacks_an_acknowledgement_is_named_as_far_as_it_is_told(
    answers, failure, why
):
    tasks = {
        vertex: {
            "id": 12,
            "status": "FAILED",
            "num_subtasks": all,
            "num_acknowledged_subtasks": own,
        }
        for vertex, (all, own) in TASKS.items()
    }
    failed = checkpoint(
        12, "FAILED", num_acknowledged_subtasks=3, tasks=tasks, failure_message=failure,
        failure_timestamp=1_760_000_600_000,
    )  # fmt: skip
    (found,) = answers({"dump.json": encoded(failed)})
    text = found["checkpoint-failures"].text
    assert "3 of 4 subtasks acknowledged it. Not acknowledged by 1 subtask of " in text
    assert why in text
    assert "“not known”" not in text


# --- one answer alone -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("package", "level", "begins"),
    [
        ("off", NOT_KNOWN, "The job was running"),
        ("running", NOT_KNOWN, "The job was running"),
        ("failed-before-first", WRONG, "Not well: the job had failed"),
        ("finished-off", NOT_KNOWN, "The job had finished"),
    ],
)
def test_the_answer_about_a_job_alone_tells_its_state_and_nothing_of_checkpoints(
    answers, package, level, begins
):
    (found,) = answers({"x": real(package)["job.json"]})
    assert found["state"].level == level
    assert found["state"].text.startswith(begins)
    assert "how its checkpoints went is not known" in found["state"].text
    assert found["restorable"].level == NOT_KNOWN
    assert found["restorable"].upload[0].endswith("/checkpoints > checkpoints.json")


@pytest.mark.parametrize("package", ["running", "restored-no-checkpoint", "finished-empty"])
def test_the_list_of_checkpoints_alone_names_its_job_by_their_paths(answers, package):
    files = real(package)
    job = json.loads(files["job.json"])["jid"]
    for name in ("checkpoints.json", "a", "Antwort (1).txt"):
        (found,) = answers({name: files["checkpoints.json"]})
        assert found["state"].text.startswith("The last checkpoint that ended,")
        assert job in found["state"].upload[0]


@pytest.mark.parametrize(
    ("fields", "says"),
    [
        ({}, "Checkpoint 11 completed after 1.2 s with 4 of 4 subtasks"),
        (
            {"external_path": f"oss:///apps/{JOB}/chk-11", "@class": "completed"},
            "Checkpoint 11 completed after 1.2 s with 4 of 4 subtasks",
        ),
        (
            {"status": "FAILED", "num_acknowledged_subtasks": 3, "failure_message": "declined"},
            "Not well: checkpoint 11 failed",
        ),
        ({"checkpoint_type": "SAVEPOINT", "is_savepoint": True}, "Savepoint 11 completed after"),
    ],
)
def test_the_statistics_of_one_checkpoint_alone_tell_how_it_went(answers, fields, says):
    (found,) = answers({"dump-11.json": encoded(checkpoint(11, **fields))})
    assert found["state"].text.startswith(says)


def test_of_details_alone_nothing_is_said_about_the_last_checkpoint(answers):
    (found,) = answers({"d": real("running")["details-7.json"]})
    assert "the last checkpoint" not in found["state"].text
    assert found["restorable"].text.startswith(
        "The newest point that Flink tells of is checkpoint 7, at file:/flink/chk/"
    )


@pytest.mark.parametrize("package", ["failed-before-first", "restored-failed"])
def test_exceptions_alone_tell_why_the_job_failed(answers, package):
    (found,) = answers({"e": real(package)["exceptions.json"]})
    assert "cannot be parsed" in found["restarts"].text


# --- what the job never had -----------------------------------------------------------------------


@pytest.mark.parametrize("package", ["off", "finished-off"])
def test_flink_2_3_marks_a_job_without_checkpointing_by_its_interval(answers, package):
    (found,) = answers(real(package))
    assert found["state"].level == WATCH
    assert "the job triggers no checkpoints by itself" in found["state"].text
    assert found["restorable"].text.startswith("There is no point to restore from")


@pytest.mark.parametrize(
    "files",
    [
        {"c": {"errors": ["Checkpointing has not been enabled."]}},
        {"c": {"errors": [f"Checkpointing is not enabled for this job ({JOB})."]}},
        {"x/c": {"errors": ["org.apache.flink.runtime.rest.handler.RestHandlerException: "
                            "Checkpointing has not been enabled.\n\tat a.b.C(D.java:1)"]}},
    ],
)  # fmt: skip
def test_that_checkpointing_is_not_enabled_is_an_answer(answers, files):
    (found,) = answers({name: encoded(value) for name, value in files.items()})
    assert "Flink says that checkpointing is not enabled" in found["state"].text
    assert found["restorable"].level == WATCH


def test_a_job_that_failed_before_its_first_checkpoint_has_no_point_to_restore_from(answers):
    (found,) = answers(real("failed-before-first"))
    assert found["restorable"].level == WRONG
    assert found["restorable"].text == (
        "There is no point to restore from: no checkpoint completed."
    )


def test_what_the_job_was_restored_from_is_the_point_if_no_checkpoint_completed(answers):
    (found,) = answers(real("restored-failed"))
    assert "still savepoint 8, file:/flink/sp/savepoint-91ab63-2b00e56af5e7." in (
        found["restorable"].text
    )


def test_checkpoints_that_flink_removed_are_no_points_to_restore_from(answers):
    (found,) = answers(real("finished-empty"))
    assert found["restorable"].level == WATCH
    assert "has removed the files of all completed checkpoints" in found["restorable"].text


def test_a_history_without_checkpoints_is_not_taken_for_none(answers):
    value = json.loads(real("finished-empty")["checkpoints.json"])
    value["history"], value["latest"]["completed"] = [], None
    files = {"job": real("finished-empty")["job.json"], "list": encoded(value)}
    (found,) = answers(files)
    assert "Flink counts 3 checkpoints and no longer lists them" in found["state"].text
    assert found["restorable"].level == NOT_KNOWN


# --- errors ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "says"),
    [
        ("job.json", f"“Job {GONE} not found”. Is the id right"),
        ("checkpoints.json", f"“Job {GONE} not found”. Is the id right"),
        ("exceptions.json", f"“Job {GONE} not found”. Is the id right"),
        ("bad-id.json", "The path needs the id of the job"),
        ("bad-path.json", "The cluster has no such path"),
        ("savepoint.json", "There is no savepoint operation"),
    ],
)
def test_an_error_alone_is_refused_as_flinks_answer_with_its_likely_cause(answers, name, says):
    sentence = refused(answers, {name: real("not-found")[name]})
    assert sentence.startswith("Flink's REST API answered with an error in")
    assert says in sentence
    assert "\\tat " not in sentence


def test_an_error_beside_other_answers_is_told_and_hides_nothing(answers):
    (found,) = answers(real("running"))
    assert found["state"].level == WELL
    assert found["errors"].level == FACT
    assert "Could not find checkpointing statistics for checkpoint 9999." in found["errors"].text


@pytest.mark.parametrize("value", [{"errors": [{"message": "x"}]}, {"errors": ["no such user"]}])
def test_errors_of_others_are_not_flinks(answers, value):
    head = encoded(value)
    assert FlinkReader().recognises(Beginnings(("a.json",), lambda _: head)) is None


@pytest.mark.parametrize(
    ("message", "says"),
    [
        (f"org.apache.flink.runtime.messages.FlinkJobNotFoundException: Could not find Flink job "
         f"({GONE})", "Is the id right"),
        ("Service temporarily unavailable due to an ongoing leader election. Please refresh.",
         "ask again in a while"),
        ("File not found.", "has no such path"),
        ("Not found: /jobs/x", "has no such path"),
    ],
)  # fmt: skip
def test_other_errors_of_flink_are_told_too(answers, message, says):
    assert says in refused(answers, {"a": encoded({"errors": [message]})})


def test_a_savepoint_that_failed_is_told_with_its_innermost_cause(answers):
    trace = "java.util.concurrent.CompletionException: x\n\tat a.B\nCaused by: org.apache.flink."
    trace += "runtime.checkpoint.CheckpointException: Not all required tasks are currently running."
    cause = {"class": "java.util.concurrent.CompletionException", "stack-trace": trace}
    value = {"status": {"id": "COMPLETED"}, "operation": {"failure-cause": cause}}
    sentence = refused(answers, {"s": encoded(value)})
    assert "“Not all required tasks are currently running.”" in sentence


def test_a_checkpoint_without_a_path_is_no_point_for_another_run(answers):
    where = "<checkpoint-not-externally-addressable>"
    value = {"counts": {"total": 1, "completed": 1}, "summary": {}, "latest": {},
             "history": [checkpoint(1, external_path=where)]}  # fmt: skip
    (found,) = answers({"c": encoded(value)})
    assert found["restorable"].level == WATCH
    assert "no other run can" in found["restorable"].text


# --- any order, any name, several in a file -------------------------------------------------------


@pytest.mark.parametrize("form", ["joined", "lines", "listed", "pretty", "marked", "renamed"])
def test_the_form_and_the_names_of_the_files_change_no_sentence(answers, form):
    files = real("restored-no-checkpoint")
    (expected,) = answers(files)
    shuffled = list(files.items())
    random.Random(7).shuffle(shuffled)
    shuffled = [item for item in shuffled if "subtasks" not in item[0]]
    contents = [content for _, content in shuffled]
    given = {
        "joined": {"all": b"".join(contents)},
        "lines": {"all.txt": b"\r\n".join(contents)},
        "listed": {"all.json": b"[" + b",".join(contents) + b"]"},
        "pretty": {
            f"{n}": json.dumps(json.loads(content), indent=2).encode()
            for n, content in enumerate(contents)
        },
        "marked": {f"{n}": b"\xef\xbb\xbf" + content for n, content in enumerate(contents)},
        "renamed": {f"a{n}/b": content for n, content in enumerate(contents)},
    }[form]
    (found,) = answers(given)
    assert found["state"].text == expected["state"].text
    assert found["restarts"].text == expected["restarts"].text
    assert found["restorable"].text == expected["restorable"].text


# --- applications and archives --------------------------------------------------------------------


def test_an_overview_alone_tells_the_state_of_each_job(answers):
    found = answers({"jobs": real("cluster")["jobs-overview.json"]})
    assert len(found) == 8
    assert sum("the job had failed" in one["state"].text for one in found) == 3


def test_the_answers_about_applications_tell_of_their_jobs(answers):
    found = answers(real("applications"))
    assert len(found) == 8
    failed = [one for one in found if "failed at least 1 time" in one["state"].text]
    assert len(failed) == 3


def test_the_archives_of_a_history_server_are_read_with_those_of_their_applications(answers):
    found = answers(real("archives"))
    assert len(found) == 3
    assert {one["restorable"].level for one in found} == {WRONG, WATCH, NOT_KNOWN}


def test_the_archive_of_an_application_alone_tells_of_its_jobs(answers):
    summaries = {name: content for name, content in real("archives").items() if "summary" in name}
    assert len(answers(summaries)) == 3


@pytest.mark.parametrize("name", ["overview.json", "applications.json"])
def test_answers_about_no_job_are_refused_as_what_they_are(answers, name):
    sentence = refused(answers, {name: real("cluster")[name]})
    assert "neither" not in sentence
    assert "Flink's REST API" in sentence


# --- damaged --------------------------------------------------------------------------------------


def test_mutated_answers_are_read_or_refused():
    seeds = [
        content
        for package in ("off", "running", "not-found", "cluster", "applications", "archives")
        for content in real(package).values()
        if len(content) < 8_000
    ]
    job = real("off")["job.json"]
    for number, data in enumerate(mutated(seeds)):
        found = read_answers([(f"{number}", data), ("job", job)])
        assert found.jobs or found.unread


@pytest.mark.parametrize(
    "data",
    [
        b'{"exceptionHistory": {"entries": [{"jobId": [1]}, {"jobId": {}}]}}',
        b'{"jobs": [{"jid": []}, 3, null], "applications": 1}',
        b'{"name": "\\ud800", "plan": {}}{"jid": "x"}',
        b'{"errors": [3, "Job not found"]}',
        b'{"status": {"id": 1}, "operation": {"failure-cause": {"stack-trace": 7}}}',
        b'{"jid": 5, "name": {}, "state": [], "vertices": 3}',
    ],
)
def test_answers_with_fields_of_other_types_are_read_or_refused(answers, data):
    with contextlib.suppress(InputRefused):
        assert answers({"a": data, "b": real("off")["job.json"]})


def test_deep_and_endless_documents_take_bounded_time():
    for data in (
        b"[" * 200_000,
        b'{"a":' * 100_000,
        b"1 " * 100_000,
        b"{}" * 100_000,
        b"9" * 90_000,
    ):
        assert read_answers([("x", data)]).unread
