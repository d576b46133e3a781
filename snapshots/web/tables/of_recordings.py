"""Declare the tables of recordings, their snapshots, and the questions about them."""

from collections.abc import Iterator
from itertools import islice
from typing import Any

from snapshots.answers.outcomes import outcomes_of
from snapshots.payloads.jobs import job_detail
from snapshots.web.tables.model import (
    Column,
    Context,
    Table,
    all_rows,
    moment,
    number,
    text,
    truth,
    value,
    whole,
)

_AT_ONCE = 500  # recordings whose outcomes are read


def _recordings(context: Context) -> Iterator[dict[str, Any]]:
    rows = iter(all_rows(context["listing"].whole))
    while batch := list(islice(rows, _AT_ONCE)):
        outcomes = outcomes_of(batch)
        yield from ({"recording": row, "outcomes": outcomes[row.pk]} for row in batch)


def _if_ready(name: str) -> Any:
    """Return what gives a field of a recording, which is not known until it is ready."""

    def field(row: dict[str, Any]) -> Any:
        recording = row["recording"]
        return getattr(recording, name) if recording.is_ready else None

    return field


_OF_RECORDINGS = (
    whole("id", "recording.pk"),
    text("name", "recording.name"),
    text("status", "recording.status"),
    text("format", "recording.format"),
    whole("snapshots", _if_ready("snapshot_count")),
    value("outcomes", "outcomes.counts"),
    whole("events", _if_ready("event_count")),
    whole("processes", _if_ready("process_count")),
)
RECORDINGS = Table(
    "recordings",
    "the recordings that pass the filter",
    _recordings,
    (
        *_OF_RECORDINGS,
        whole("size", lambda row: row["recording"].size or None, "B"),
        moment("created_at", "recording.created_at"),
    ),
)
COMPARED_RECORDINGS = Table("recordings", "the recordings side by side", "compared", _OF_RECORDINGS)


def _parameter_columns(context: Context) -> list[Column]:
    return [
        text("parameter", "name"),
        *(
            value(f"recording_{item['recording'].pk}", f"values.{place}")
            for place, item in enumerate(context["compared"])
        ),
    ]


PARAMETERS = Table(
    "parameters",
    "the parameters that differ",
    lambda context: context.get("parameters") or None,
    _parameter_columns,
)
FAILURES_COMPARED = Table(
    "failures",
    "the first failure of each recording",
    "rows",
    (
        whole("recording", "recording.pk"),
        text("name", "recording.name"),
        text("strategy", "failure.strategy"),
        whole("tasks_restarted", "failure.tasks_restarted"),
        whole("records_re_read", "failure.records_re_read"),
        whole("counted_twice", "failure.counted_twice"),
        whole("written_again", "failure.repeated"),
        whole("visible_twice", "failure.duplicates"),
        whole("lost", "failure.lost"),
        whole("time_to_catch_up", "failure.time_to_catch_up"),
        text("time_unit", "recording.time_unit"),
    ),
)
DEFECTS = Table(
    "defects",
    "the defects",
    lambda context: context["page"] if "page" in context else context["recording"].defects,
    (
        whole("line"),
        text("sentence"),
        text("field"),
        text("code"),
        text("severity"),
        whole("count", lambda defect: defect.get("count") or 1),
    ),
    left_out=lambda context: (
        max(0, context["recording"].defects_total - context["listed"])
        if "listed" in context
        else max(0, context["recording"].defects_total - len(context["recording"].defects or ()))
    ),
)
LIVE_PROCESSES = Table(
    "processes",
    "the processes of running systems",
    "processes",
    (
        whole("recording"),
        text("system"),
        text("name"),
        text("state"),
        value("since"),
        whole("balance"),
        whole("events"),
    ),
)
JOBS = Table(
    "jobs",
    "the jobs that pass the filter",
    lambda context: (job_detail(row) for row in all_rows(context["listing"].whole)),
    (
        whole("id"),
        text("kind"),
        whole("recording"),
        text("recording_name"),
        text("snapshot"),
        text("expression"),
        text("state"),
        text("phase"),
        number("progress", unit="1"),
        moment("created_at"),
        moment("finished_at"),
    ),
)
MAPPINGS = Table(
    "mappings",
    "the mappings that pass the filter",
    "listing.whole",
    (
        whole("id", "pk"),
        text("name"),
        value("process", "document.process"),
        value("kind", "document.kind"),
        moment("updated_at"),
    ),
)
TOPOLOGIES = Table(
    "topologies",
    "the topologies that pass the filter",
    "listing.whole",
    (
        whole("id", "pk"),
        text("name"),
        truth("is_dataflow"),
        truth("is_sample"),
        whole("processes", lambda row: len(row.definition["processes"])),
        whole("channels", lambda row: len(row.definition["channels"])),
        moment("updated_at"),
    ),
)
VERTICES = Table(
    "vertices",
    "the vertices",
    "document.dataflow.vertices",
    (
        text("id"),
        text("kind"),
        whole("parallelism"),
        text("function", lambda item: item["function"] if item["kind"] == "operator" else None),
        text("sink", lambda item: item["sink"] if item["kind"] == "sink" else None),
        number("cost", unit="us"),
        whole("records", lambda item: item["records"] if item["kind"] == "source" else None),
        number("rate", lambda item: item["rate"] if item["kind"] == "source" else None, "1/s"),
    ),
)
EDGES = Table(
    "edges",
    "the edges",
    "document.dataflow.edges",
    (text("source"), text("target"), text("exchange")),
)
PROCESSES = Table(
    "processes",
    "the processes",
    "document.processes",
    (text("id"), value("state")),
)
CHANNELS = Table(
    "channels",
    "the channels",
    "document.channels",
    (text("id"), text("source"), text("target"), truth("fifo")),
)
