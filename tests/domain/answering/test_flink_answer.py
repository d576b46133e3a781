"""The first answer to REST answers of Flink that no real case has: read as an upload's are."""

import json
from dataclasses import replace
from itertools import starmap

import pytest

from snapshots.domain.answering import flink
from snapshots.domain.answering.flink_job import FlinkJob
from snapshots.domain.answering.sentences import (
    NOT_KNOWN,
    WATCH,
    WELL,
    WRONG,
    Sentence,
    Subject,
)
from snapshots.domain.answering.upload_summary import CheckpointSummary, Point
from snapshots.domain.inventory.model import CheckpointInventory
from snapshots.readers.engines.flink.rest.answers import read_answers
from snapshots.readers.engines.flink.rest.job import jobs_of
from snapshots.readers.engines.flink.rest.report import report_of
from snapshots.readers.formats.stack_traces import LONGEST_TRACE, first_cause

JOB = "ab" * 16
SOURCE, MAP, SINK = (letter * 32 for letter in "123")
NAMES = {SOURCE: "source", MAP: "map", SINK: "sink"}
NOON = 1_795_190_400_000  # 2026-11-20 16:00:00 UTC


def job(state: str = "RUNNING") -> dict:
    vertices = [{"id": id, "name": name, "maxParallelism": 8} for id, name in NAMES.items()]
    nodes = [
        {"id": SOURCE, "description": "source", "parallelism": 1, "inputs": []},
        {"id": MAP, "description": "map", "parallelism": 2, "inputs": [_edge(SOURCE)]},
        {"id": SINK, "description": "sink", "parallelism": 2, "inputs": [_edge(MAP)]},
    ]
    plan = {"jid": JOB, "name": "orders", "nodes": nodes}
    return {"jid": JOB, "name": "orders", "state": state, "vertices": vertices, "plan": plan,
            "now": NOON}  # fmt: skip


def _edge(source: str) -> dict:
    return {"num": 0, "id": source, "ship_strategy": "HASH"}


def checkpoint(number: int, status: str = "COMPLETED", duration: int = 100, **fields) -> dict:
    return {
        "id": number,
        "status": status,
        "is_savepoint": False,
        "trigger_timestamp": NOON + 1_000 * number,
        "end_to_end_duration": duration,
        "num_subtasks": 5,
        "num_acknowledged_subtasks": 5,
        "tasks": {},
        **fields,
    }


def checkpoints(*history: dict, last_restore: dict | None = None, **counts: int) -> dict:
    return {
        "counts": {"restored": 0, "total": len(history), "in_progress": 0, "completed": 0,
                   "failed": 0, **counts},
        "summary": {},
        "latest": {"restored": last_restore},
        "history": list(history),
    }  # fmt: skip


def subtasks(number: int, *acks: int | None) -> dict:
    """Return the answer about a vertex's subtasks: after how many ms each acknowledged."""
    own = [
        {"index": index, "status": "pending_or_failed"}
        if ack is None
        else {"index": index, "status": "completed", "end_to_end_duration": ack}
        for index, ack in enumerate(acks)
    ]
    return {"id": number, "status": "COMPLETED", "summary": {}, "subtasks": own}


def pressure(*ratios: tuple[float, float], status: str = "ok") -> dict:
    """Return the answer about a vertex's back pressure: (waits, busy) of each subtask."""
    if status != "ok":
        return {"status": status}
    own = [
        {"subtask": index, "ratio": waits, "busyRatio": busy, "idleRatio": 1 - waits - busy}
        for index, (waits, busy) in enumerate(ratios)
    ]
    return {"status": "ok", "backpressure-level": "high", "end-timestamp": NOON, "subtasks": own}


def vertex(id: str, waited: int, ran: int) -> dict:
    metrics = {"accumulated-busy-time": 3.0, "accumulated-backpressured-time": waited}
    own = {"subtask": 0, "metrics": metrics, "status-duration": {"RUNNING": ran}}
    return {"id": id, "name": NAMES[id], "parallelism": 1, "now": NOON, "subtasks": [own]}


def exceptions(*entries: dict, truncated: bool = False) -> dict:
    return {"exceptionHistory": {"entries": list(entries), "truncated": truncated}}


def failure(at: int, trace: str, task: str | None = "map (1/2)") -> dict:
    return {"timestamp": at, "exceptionName": "x", "taskName": task, "stacktrace": trace}


CALM = {
    f"vertex-{SOURCE}-backpressure": pressure((0, 0.9)),
    f"vertex-{MAP}-backpressure": pressure((0, 0.1), (0, 0.1)),
    f"vertex-{SINK}-backpressure": pressure((0, 0.1), (0.05, 0.1)),
}


def about(answers: dict[str, object]) -> Subject:
    """Return the sentences about the job whose answers lie in one folder, by file name."""
    files = [(f"rest/{name}.json", json.dumps(value).encode()) for name, value in answers.items()]
    read = read_answers(files)
    assert read.unread == {}
    report = report_of(jobs_of(read)[JOB])
    numbered = [
        CheckpointSummary(JOB, facts.number, "checkpoint", facts.status, 0, 0)
        for facts in report.checkpoints
    ]
    points = tuple(starmap(Point, enumerate(numbered)))
    names = frozenset(item.snapshot_name for item in numbered)

    def detail(number: int) -> CheckpointInventory:
        item = numbered[number]
        return CheckpointInventory(JOB, item.id, item.kind, item.status)

    return flink.subject(FlinkJob(JOB, "orders", points, report, False, detail, names, points))


def sentence(answers: dict[str, object], code: str) -> Sentence:
    (found,) = (item for item in about(answers).sentences if item.code == code)
    return found


def test_the_vertex_behind_back_pressure_is_the_slow_one():
    answers = CALM | {
        "job": job(),
        f"vertex-{SOURCE}-backpressure": pressure((1.0, 0)),
        f"vertex-{MAP}-backpressure": pressure((0.4, 0.1), (0, 0)),
        f"vertex-{SINK}-backpressure": pressure((0, 0.2), (0.1, 0.93)),
        f"vertex-{MAP}": vertex(MAP, 57_000, 60_000),
    }
    found = sentence(answers, "load")
    assert found.text == (
        "Others waited for sink when Flink measured (2026-11-20 16:00:00.000 UTC): source and map "
        "had no room in their output up to 100 % of the time, while sink[1] was busy 93 % of it. "
        "map[0] had waited 57 s of the 1 min that it had run, nearly since it began."
    )
    assert found.level == WATCH
    assert "others waited for sink" in sentence(answers, "state").text


def test_equally_busy_subtasks_are_all_named():
    answers = CALM | {
        "job": job(),
        f"vertex-{MAP}-backpressure": pressure((0.4, 0.1), (0, 0)),
        f"vertex-{SINK}-backpressure": pressure((0, 0.9), (0, 0.9)),
    }
    assert "sink[0] and sink[1] were busy 90 % of it." in sentence(answers, "load").text


def test_a_slow_vertex_that_was_hardly_busy_leaves_the_reason_open():
    """Flink counts an operator in Python as idle while its process works."""
    answers = CALM | {
        "job": job(),
        f"vertex-{MAP}-backpressure": pressure((0.4, 0.1), (0, 0)),
        f"vertex-{SINK}-backpressure": pressure((0, 0.28), (0, 0.1)),
    }
    text = sentence(answers, "load").text
    assert "while sink[0] was busy 28 % of it, too little to explain that." in text


def test_a_throttled_source_is_not_called_slow():
    found = sentence(CALM | {"job": job()}, "load")
    assert found.level == WELL
    assert found.text == (
        "Nobody held others up when Flink measured (2026-11-20 16:00:00.000 UTC): no subtask was "
        "back-pressured."
    )


def test_back_pressure_that_is_over_is_told():
    answers = CALM | {"job": job(), f"vertex-{MAP}": vertex(MAP, 20_000, 60_000)}
    found = sentence(answers, "load")
    assert found.level == WATCH
    assert found.text.endswith("map[0] had waited 20 s of the 1 min that it had run.")


def test_a_slow_vertex_that_was_not_measured_is_not_known():
    answers = CALM | {
        "job": job(),
        f"vertex-{MAP}-backpressure": pressure((0.4, 0.1), (0, 0)),
        f"vertex-{SINK}-backpressure": pressure(status="deprecated"),
    }
    found = sentence(answers, "load")
    assert found.level == NOT_KNOWN
    assert "Who held them up is not known: Flink gave no measurement for those" in found.text
    assert found.text.endswith("For sink Flink gave no measurement.")
    calm = sentence(answers | {f"vertex-{MAP}-backpressure": pressure((0, 0), (0, 0))}, "load")
    assert calm.level == NOT_KNOWN
    assert "No subtask of the 2 vertices that Flink measured" in calm.text


def test_without_answers_about_back_pressure_the_sentence_says_how_to_get_them():
    found = sentence({"job": job()}, "load")
    assert (found.level, found.text) == (
        NOT_KNOWN,
        "Back pressure is not known: the upload has no answers about it.",
    )
    assert found.upload == (
        f"curl -s http://HOST:8081/jobs/{JOB}/vertices/VERTEX/backpressure > "
        "vertex-VERTEX-backpressure.json",
    )
    old = {f"vertex-{MAP}-backpressure": {**pressure((0, 0)), "status": "deprecated"}}
    assert "Flink had not measured" in sentence({"job": job(), **old}, "load").text


IO = "java.io.IOException: No space left on device"
TRACE = f"org.apache.flink.FlinkException: Task failed\n\tat a.b(C.java:1)\nCaused by: {IO}\n\tat d"


FLUSH = "Error while waiting for BeamPythonFunctionRunner flush"
IN_PYTHON = f"""java.lang.RuntimeException: {FLUSH}
\tat org.apache.flink.Operator.invokeFinishBundle(Operator.java:107)
Caused by: java.lang.RuntimeException: Error received from SDK harness for instruction 7: \
Traceback (most recent call last):
  File "sdk_worker.py", line 311, in _execute
    response = task()
               ^^^^^^
  File "job.py", line 64, in map
    raise RuntimeError(f"refused: {{value}}")
RuntimeError: refused: shop-8: no connection

\tat org.apache.beam.FnApiControlClient.onNext(FnApiControlClient.java:180)
\t... 3 more
"""
CHAINED = IN_PYTHON.replace(
    "RuntimeError: refused: shop-8: no connection",
    """shop.Closed: at night

The above exception was the direct cause of the following exception:

Traceback (most recent call last):
  File "job.py", line 66, in map
    raise RuntimeError("refused") from closed
RuntimeError: refused""",
)


@pytest.mark.parametrize(
    ("trace", "cause"),
    [
        (IN_PYTHON, ("RuntimeError", "refused: shop-8: no connection")),
        (CHAINED, ("shop.Closed", "at night")),
        (IN_PYTHON.partition("    raise")[0], ("java.lang.RuntimeException", FLUSH)),
    ],
)
def test_the_cause_in_a_function_of_python_is_what_python_raised(trace, cause):
    assert first_cause(trace) == cause


def test_a_long_trace_says_how_much_of_it_is_not_shown():
    answers = {"job": job(), "exceptions": exceptions(failure(NOON, TRACE + "x" * LONGEST_TRACE))}
    [item] = about(answers).failures
    assert item.trace.endswith(f"x\n… {len(TRACE):,} more characters are not shown.")


def test_the_message_of_the_first_cause_is_told():
    assert first_cause(TRACE) == ("java.io.IOException", "No space left on device")
    assert first_cause("java.lang.NullPointerException\n\tat a") == (
        "java.lang.NullPointerException",
        None,
    )
    wrapped = "demo.Wrapped: outer\nCaused by: java.lang.NullPointerException\n\tat a"
    assert first_cause(wrapped) == (None, "demo.Wrapped: outer")
    assert first_cause("") == (None, None)


def test_a_job_that_failed_says_why_how_often_and_from_where_it_went_on():
    restored = {"id": 4, "restore_timestamp": NOON + 9_000, "is_savepoint": False}
    answers = {
        "job": job(),
        "checkpoints": checkpoints(
            checkpoint(4), checkpoint(5), last_restore=restored, restored=2, total=5, completed=5
        ),
        "exceptions": exceptions(
            failure(NOON + 2_000, "java.lang.RuntimeException: first"),
            failure(NOON + 8_000, TRACE),
        ),
    }  # fmt: skip
    found = sentence(answers, "restarts")
    assert found.text == (
        "It failed 2 times, last (2026-11-20 16:00:08.000 UTC) in map (1/2): “No space left on "
        "device” (IOException). It went on from checkpoint 4 (2026-11-20 16:00:09.000 UTC); Flink "
        "counts 2 restores."
    )
    assert found.level == WATCH
    assert [one.kind for one in found.evidence] == ["failures", "checkpoint", "contents"]
    assert "the job failed 2 times" in sentence(answers, "state").text
    assert [item.at for item in about(answers).failures] == [NOON + 8_000, NOON + 2_000]


def test_a_restore_before_the_last_failure_does_not_count_for_it():
    restored = {"id": 4, "restore_timestamp": NOON, "is_savepoint": True}
    answers = {
        "job": job("FAILED"),
        "checkpoints": checkpoints(checkpoint(4), last_restore=restored),
        "exceptions": exceptions(failure(NOON + 1, "demo.MyError"), truncated=True),
    }
    found = sentence(answers, "restarts")
    assert found.text == (
        "It failed at least 1 time, last (2026-11-20 16:00:00.001 UTC) in map (1/2): MyError "
        "without a message. Flink lists no restore after that; the last one before was from "
        "savepoint 4 (2026-11-20 16:00:00.000 UTC)."
    )
    state = sentence(answers, "state")
    assert state.level == WRONG
    assert state.text.startswith("Not well: the job had failed when Flink answered")


def test_without_a_list_of_exceptions_a_restart_is_not_known():
    found = sentence({"job": job(), "checkpoints": checkpoints(checkpoint(1))}, "restarts")
    assert found.level == NOT_KNOWN
    assert "the upload has no list of exceptions" in found.text
    assert found.upload == (f"curl -s http://HOST:8081/jobs/{JOB}/exceptions > exceptions.json",)
    calm = {"job": job(), "exceptions": exceptions()}
    assert sentence(calm, "restarts").text.endswith("Whether it was restored is not known.")


def test_who_is_missing_is_counted_over_all_failures_and_ties_are_named():
    failed = {"status": "FAILED", "failure_timestamp": NOON}
    answers = {
        "job": job(),
        "checkpoints": checkpoints(
            checkpoint(3, duration=50),
            checkpoint(2, **failed, failure_message="Checkpoint expired before completing."),
            checkpoint(1, **failed, failure_message="Checkpoint expired before completing."),
            completed=1, failed=3, total=4),
        f"checkpoint-1-subtasks-{SINK}": subtasks(1, None, 70),
        f"checkpoint-2-subtasks-{SINK}": subtasks(2, 20, None),
        f"checkpoint-3-subtasks-{SINK}": subtasks(3, 50, 50),
    }  # fmt: skip
    found = sentence(answers, "checkpoint-failures")
    assert found.text == (
        "Flink lists 2 of the 3 checkpoints that failed. Not acknowledged in time: sink[0] and "
        "sink[1] in 1 each. Flink's reason: “Checkpoint expired before completing.” (2 "
        "checkpoints: 1 and 2)."
    )
    assert sentence(answers, "slowest").text == (
        "Checkpoint 3, the only one, took 50 ms. sink[0] and sink[1] acknowledged last, at the "
        "same time, after 50 ms, so none of them stands out."
    )
    state = sentence(answers, "state")
    assert state.level == WATCH
    assert "3 of 4 checkpoints failed, 1 of which Flink does not list" in state.text


@pytest.mark.parametrize(
    ("listed", "counted", "words"),
    [
        (1, 1, "Checkpoint 1, the only one, took"),
        (1, 6, "Checkpoint 1, the only completed one that Flink lists, took"),
        (2, 2, "Checkpoint 2, the slowest of 2 that completed, took"),
        (2, 6, "Checkpoint 2, the slowest of 2 that completed and that Flink lists, took"),
    ],
)
def test_the_slowest_checkpoint_is_one_of_those_that_flink_lists(listed, counted, words):
    history = [checkpoint(number, duration=50 * number) for number in range(1, listed + 1)]
    answers = {"job": job(), "checkpoints": checkpoints(*history, completed=counted)}
    assert sentence(answers, "slowest").text.startswith(words)


@pytest.mark.parametrize(("delay", "is_named"), [(40, True), (20, False)])
def test_a_source_that_handled_the_trigger_late_is_named_beside_who_acknowledged_last(
    delay, is_named
):
    late = subtasks(3, 45)
    late["subtasks"][0]["start_delay"] = delay
    behind = subtasks(3, 50, 40)
    behind["subtasks"][0]["start_delay"] = 49  # waits for the source, and is none
    answers = {
        "job": job(),
        "checkpoints": checkpoints(checkpoint(3, duration=50), completed=1),
        f"checkpoint-3-subtasks-{SOURCE}": late,
        f"checkpoint-3-subtasks-{SINK}": behind,
    }
    text = sentence(answers, "slowest").text
    assert "sink[0] acknowledged last" in text
    named = "source[0] handled the coordinator's trigger only after 40 ms."
    assert (named in text) is is_named
    assert ("trigger" in text) is is_named


def test_failures_without_details_say_what_to_upload():
    failed = checkpoint(2, "FAILED", failure_message="The job has failed.")
    answers = {"job": job(), "checkpoints": checkpoints(failed, failed=1)}
    found = sentence(answers, "checkpoint-failures")
    assert found.level == NOT_KNOWN
    assert found.text == (
        "Checkpoint 2 failed after 100 ms. Who did not acknowledge is not known. Flink's reason: "
        "“The job has failed.”."
    )
    assert found.upload == (
        f"curl -s http://HOST:8081/jobs/{JOB}/checkpoints/details/N/subtasks/VERTEX > "
        "checkpoint-N-subtasks-VERTEX.json",
    )
    assert sentence(answers, "state").level == WRONG
    assert sentence(answers, "restorable").text == (
        "There is no point to restore from: no checkpoint completed."
    )


@pytest.mark.parametrize(
    ("answers", "level", "part"),
    [
        ({"job": job()}, NOT_KNOWN, "how its checkpoints went is not known"),
        ({"job": job("RESTARTING")}, WRONG, "the job was restarting when Flink answered"),
        ({"job": job(), "checkpoints": checkpoints()}, WATCH, "no checkpoint was triggered yet"),
        ({"job": job(), "checkpoints": checkpoints(checkpoint(1))}, WELL, "none failed"),
        (
            {"job": job() | {"state": None}, "checkpoints": checkpoints(checkpoint(1))},
            NOT_KNOWN,
            "state of the job is not known",
        ),
    ],
)
def test_the_worst_of_what_is_known_decides_whether_the_job_is_well(answers, level, part):
    found = sentence(answers, "state")
    assert (found.level, part in found.text) == (level, True), found.text


def test_what_an_older_release_did_not_keep_is_not_known():
    old = FlinkJob(JOB, None, (), None, True, lambda _: None, frozenset())  # type: ignore[arg-type]
    first = flink.subject(old).sentences[0]
    assert (first.level, "Read it again" in first.text) == (NOT_KNOWN, True)
    new = flink.subject(replace(old, is_of_older_release=False)).sentences[0]
    assert (new.level, len(new.upload)) == (NOT_KNOWN, 4)
