"""Declare the tables of checkpoints and failures of a dataflow."""

from collections.abc import Iterator
from typing import Any

from snapshots.archive import watching
from snapshots.web.tables.model import (
    Context,
    Table,
    inner_rows,
    moment,
    number,
    text,
    truth,
    unit_of_recording,
    value,
    whole,
)

CHECKPOINTS = Table(
    "checkpoints",
    "all checkpoints",
    "all_checkpoints",
    (
        text("checkpoint"),
        text("kind"),
        whole("pipeline"),
        text("status"),
        text("reason"),
        text("mode"),
        whole("triggered_at", unit=unit_of_recording),
        whole("triggered_clock", unit="ms since 1970"),
        whole("duration", unit=unit_of_recording),
        whole("bytes_new", unit="B"),
        whole("bytes_total", unit="B"),
        text("sentence"),
    ),
    about_log=True,
)
FILES = Table(
    "files",
    "which checkpoint still needs which file",
    "all_files",
    (
        text("file"),
        text("process"),
        whole("bytes", unit="B"),
        text("uploaded_by", "since"),
        value("in_checkpoints", "named_by"),
        value("needed_by"),
        whole("free_at", unit=unit_of_recording),
    ),
)
EVENT_TIME = Table(
    "event-time",
    "the watermark of each task",
    "event_time.tasks",
    (
        text("process"),
        truth("is_idle"),
        truth("has_ended"),
        whole("watermark", unit="us"),
        whole("results_of_windows", "fired"),
        whole("dropped_as_late", "late"),
    ),
)
START = Table(
    "start",
    "what each task started with",
    "start.shares",
    (
        text("process"),
        value("state_of", "origins"),
        whole("keys"),
        value("splits"),
        whole("records_put_back", "in_flight"),
    ),
)
SINKS = Table(
    "sinks",
    "what became of the records at each sink",
    lambda context: context.get("sinks") or None,
    (
        text("sink"),
        text("kind"),
        whole("written"),
        whole("visible"),
        whole("visible_twice", "duplicates"),
        whole("not_yet_visible", "pending"),
        whole("committed"),
        whole("timed_out"),
        whole("lost"),
    ),
)


def _failures(context: Context) -> Iterator[Any] | None:
    """Number the failures, and yield what each did at every sink."""
    if "failovers" not in context:
        return None
    return (
        {"failure": place, "sink": sink}
        for place, failure in enumerate(context["failovers"], 1)
        for sink in failure["sinks"]
    )


FAILURES = Table(
    "failures",
    "what each failure did at each sink",
    _failures,
    (
        whole("failure"),
        text("sink", "sink.sink"),
        text("kind", "sink.kind"),
        whole("written_again", "sink.repeated"),
        whole("visible_twice", "sink.duplicates"),
        whole("overwritten", "sink.rewritten"),
        whole("skipped", lambda row: row["sink"].get("skipped")),
        whole("other_value", "sink.differing"),
        whole("committed_again", "sink.committed_again"),
        whole("transactions_aborted", "sink.aborted"),
        whole("lost", "sink.lost"),
    ),
)
BATCHES = Table(
    "batches",
    "all batches",
    "all_batches",
    (
        whole("batch", "id"),
        text("kind"),
        text("status"),
        whole("planned_at", "triggered_at", unit="ms since 1970"),
        whole("took", unit="ms"),
        value("phases", lambda row: {part["name"]: part["ms"] for part in row["parts"]}),
    ),
)
TASKS = Table(
    "tasks",
    "what every task did for the checkpoint",
    "all_tasks",
    (
        text("process"),
        text("mode"),
        whole("start_delay", unit=unit_of_recording),
        whole("alignment", unit=unit_of_recording),
        whole("sync", unit=unit_of_recording),
        whole("async", unit=unit_of_recording),
        whole("bytes_new", unit="B"),
        value("blocked"),
        whole("overtaken"),
        whole("in_flight"),
        whole("watermark", unit="us"),
    ),
    about_log=True,
)
OF_CHECKPOINTS = (CHECKPOINTS, FILES, EVENT_TIME, START, SINKS, FAILURES, BATCHES, TASKS)
LOADS = Table(
    "loads",
    "how each subtask spent its time",
    inner_rows("all_subjects", "loads"),
    (
        text("subject", "outer.title"),
        text("vertex", "row.vertex"),
        whole("subtask", "row.subtask"),
        number("back_pressured", "row.back_pressured", "1"),
        number("busy", "row.busy", "1"),
        number("idle", "row.idle", "1"),
        whole("back_pressured_ms", "row.back_pressured_ms", "ms"),
        whole("running_ms", "row.running_ms", "ms"),
    ),
)

# --- the archive of an engine's checkpoints -----------------------------------------------------

ARCHIVED_JOBS = Table(
    "jobs",
    "the jobs that pass the filter",
    "listing.whole",
    (
        whole("id", "pk"),
        text("name"),
        text("key"),
        whole("run"),
        text("engine"),
        text("state", lambda row: row.state or None),
        moment("heard_at"),
        text("stall", lambda row: watching.stall_of(row).status),
        whole("checkpoints", "count"),
        whole("last_at", unit="ms since 1970"),
        text("collector", "collector.url"),
        text("heard_from", lambda row: row.heard_from or None),
    ),
)
COLLECTORS = Table(
    "collectors",
    "the collectors",
    "collectors",
    (
        whole("id", "pk"),
        text("engine"),
        text("url"),
        text("job_key", lambda row: row.job_key or None),
        whole("interval", "interval_seconds", "s"),
        truth("is_collecting"),
        moment("last_polled_at"),
        text("last_error", lambda row: row.last_error or None),
    ),
)
_OF_ARCHIVED = (
    whole("pipeline"),
    whole("number"),
    text("kind", lambda row: row.kind or None),
    text("status"),
    text("cause", lambda row: row.cause or None),
    whole("triggered_at", unit="ms since 1970"),
    whole("duration", unit="ms"),
    whole("bytes", unit="B"),
    whole("alignment_max", unit="ms"),
    whole("start_delay_max", unit="ms"),
    text("slowest", lambda row: row.slowest or None),
)
ARCHIVED_CHECKPOINTS = Table(
    "checkpoints", "the checkpoints that pass the filter", "all_rows", _OF_ARCHIVED
)
SLOWEST = Table(
    "slowest",
    "who was last how often",
    lambda context: (
        [*context["slowest"], {"name": "others", "count": others}]
        if (others := context["overview"]["slowest"]["others"])
        else context["slowest"]
    ),
    (text("subtask", "name"), whole("times", "count"), number("share", unit="1")),
)
CAUSES = Table(
    "causes",
    "the failures by cause and phase",
    "overview.failures.causes",
    (
        text("cause"),
        text("phase"),
        whole("times", "count"),
        whole("last_pipeline"),
        whole("last_number"),
        whole("last_at", unit="ms since 1970"),
    ),
)
RESCALES = Table(
    "rescales",
    "the rescales of the job",
    "rescales",
    (
        text("uuid"),
        whole("started_at", unit="ms since 1970"),
        whole("ended_at", unit="ms since 1970"),
        text("state", lambda row: row["state"] or None),
        text("cause", lambda row: row["cause"] or None),
        text("reason", lambda row: row["reason"] or None),
        value("vertices"),
    ),
)
FRONT = Table(
    "vertices",
    "how far the checkpoint has come at each vertex",
    "poll.vertices",
    (
        text("vertex", "name"),
        text("status"),
        text("role", lambda row: row["role"] or None),
        whole("acknowledged"),
        whole("parallelism"),
        value("pending"),
        number("busy", unit="1"),
        number("back_pressured", unit="1"),
        text("reason"),
    ),
)
ARCHIVED_TASKS = Table(
    "subtasks",
    "what every subtask took",
    "all_tasks",
    (
        text("subtask", "name"),
        truth("unaligned"),
        truth("acknowledged"),
        whole("duration", unit="ms"),
        whole("start_delay", unit="ms"),
        whole("alignment", unit="ms"),
        whole("sync", unit="ms"),
        whole("async", "async_", unit="ms"),
        whole("bytes", unit="B"),
    ),
)
BOTH_CHECKPOINTS = Table(
    "checkpoints",
    "both checkpoints",
    lambda context: (
        [context["slow"], context["healthy"]]
        if context.get("slow") and context["healthy"]
        else None
    ),
    _OF_ARCHIVED,
)
_OF_PHASES = (
    text("phase", "words"),
    whole("slow", unit="ms"),
    whole("healthy", unit="ms"),
    whole("more", unit="ms"),
)
SHARES = Table("phases", "the phases of the subtask that was last", "difference.shares", _OF_PHASES)
RISES = Table(
    "rises",
    "the phases that took longer",
    "difference.rises",
    (text("subtask"), *_OF_PHASES),
    left_out=lambda context: context["rises_hidden"],
)
BARRIER_STEPS = Table(
    "steps",
    "the steps at all events of the task",
    "all_steps",
    (
        whole("event", "passage.index"),
        whole("at", "passage.at", unit=unit_of_recording),
        text("checkpoint", "passage.checkpoint"),
        text("channel", "passage.channel"),
        whole("number"),
        text("step"),
        text("why"),
        value("blocked_afterwards", "passage.blocked"),
    ),
    about_log=True,
)
