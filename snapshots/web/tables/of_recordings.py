"""Declare the tables of recordings, their snapshots, and the questions about them."""

import json
from collections.abc import Iterator, Sequence
from itertools import islice
from typing import Any

from snapshots.answers.outcomes import outcomes_of
from snapshots.payloads.jobs import job_detail
from snapshots.store.channel_counts import channel_counts
from snapshots.web.tables.model import (
    Column,
    Context,
    Table,
    all_rows,
    moment,
    number,
    pair,
    text,
    truth,
    unit_of_recording,
    value,
    whole,
)

_AT_ONCE = 500  # recordings whose outcomes are read, and channels that are counted


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


# --- snapshots ----------------------------------------------------------------------------------


def _answer_columns(context: Context) -> list[Column]:
    parts = (("", "word"), ("_why", "sentence"), ("_not_compared", "not_compared"))
    answers = [
        text(f"{question}{suffix}", f"answers.{place}.{field}")
        for place, question in enumerate(context["questions"])
        for suffix, field in parts
    ]
    return [
        text("snapshot"),
        text("outcome"),
        text("verdict"),
        *answers,
        whole("began_at", unit=unit_of_recording),
        whole("duration", unit=unit_of_recording),
    ]


SNAPSHOTS = Table("snapshots", "all snapshots", "all_rows", _answer_columns, about_log=True)
WITNESSES = Table(
    "witnesses",
    "the witnesses",
    "witnesses",
    (
        text("verdict"),
        text("sentence"),
        value("names", lambda row: {word: noun for word, noun, _ in row.nouns}),
        value("path"),
    ),
)


def _states(context: Context) -> Iterator[dict[str, Any]] | None:
    if "stored_snapshot" not in context:
        return None
    initiators = set(context["snapshot"]["initiators"])
    return (
        {"process": process, "state": state, "is_initiator": process in initiators}
        for process, state in context["stored_snapshot"].states.items()
    )


def _parsed(text: str | None) -> Any:
    return None if text is None else json.loads(text)


STATES = Table(
    "states",
    "the state of every process",
    _states,
    (
        text("process"),
        truth("is_initiator"),
        whole("recorded_at", "state.recorded_at", unit_of_recording),
        whole("events_before", "state.position"),
        value("recorded", lambda row: _parsed(row["state"].recorded)),
        value("recomputed", lambda row: _parsed(row["state"].recomputed)),
    ),
    about_log=True,
)


def _contents(context: Context) -> Iterator[dict[str, Any]] | None:
    if "stored_snapshot" not in context:
        return None
    channels = context["stored_snapshot"].channels.items()
    return ({"channel": channel, "contents": contents} for channel, contents in channels)


def _recorded(row: dict[str, Any]) -> list[dict[str, Any]] | None:
    contents = row["contents"]
    if contents.recorded is None:
        return None
    return [
        {"message": name, "value": None if sent is None else _parsed(sent.value)}
        for name, sent in zip(contents.recorded, contents.sent, strict=True)
    ]


def _recomputed(row: dict[str, Any]) -> list[dict[str, Any]] | None:
    contents = row["contents"]
    if contents.recomputed is None:
        return None
    return [{"message": item.id, "value": _parsed(item.value)} for item in contents.recomputed]


CONTENTS = Table(
    "channels",
    "the messages in every channel",
    _contents,
    (text("channel"), value("recorded", _recorded), value("recomputed", _recomputed)),
    about_log=True,
)


def _counts(context: Context) -> Iterator[Any] | None:
    if "stored_snapshot" not in context:
        return None
    snapshot, tables = context["stored_snapshot"], context["stored"].tables
    channels = list(snapshot.channels)
    return (
        row
        for begin in range(0, len(channels), _AT_ONCE)
        for row in channel_counts(tables, snapshot, channels[begin : begin + _AT_ONCE])
    )


COUNTS = Table(
    "counts",
    "the counts of every channel",
    _counts,
    (
        text("channel"),
        whole("n"),
        whole("n_of_channel"),
        whole("m"),
        whole("m_of_channel"),
        truth("holds"),
        text("sentence"),
    ),
    about_log=True,
)
KNOWLEDGE = Table(
    "knowledge",
    "when each process knew the whole state",
    "knowledge.all_rows",
    (
        text("process"),
        whole("knew_all_at", "whole.at", unit_of_recording),
        whole("pieces", lambda row: len(row["pieces"])),
        value("never_got", "missing"),
    ),
    about_log=True,
)
RESTORE_DIFFERENCES = Table(
    "restore-differences",
    "the differences of the restored run",
    lambda context: ((context.get("job") or {}).get("result") or {}).get("differences"),
    (
        text("sentence"),
        value("expected"),
        value("found"),
        text("process", "event.process"),
        whole("index", "event.index"),
    ),
)
OF_SNAPSHOT = (WITNESSES, STATES, CONTENTS, COUNTS, KNOWLEDGE, RESTORE_DIFFERENCES)


# --- questions ----------------------------------------------------------------------------------

PROPERTIES = Table(
    "answers",
    "the answer of every snapshot",
    "strip.items",
    (
        text("snapshot"),
        text("outcome"),
        text("answer"),
        text("sentence"),
        value("missing"),
        text("conclusion"),
    ),
)


def _positions(context: Context) -> list[dict[str, Any]] | None:
    found = context.get("found")
    return found["all_rows"] if found and found["heads"] else None


def _position_columns(context: Context) -> list[Column]:
    heads: Sequence[str] = context["found"]["heads"]
    return [
        text("process"),
        truth("asked"),
        *(
            column
            for head in heads
            for column in (
                whole(f"{head.lower()}_position", f"{head}.position"),
                value(f"{head.lower()}_state", f"{head}.state"),
            )
        ),
    ]


PREDICATE_CUTS = Table("cuts", "position and state of every process", _positions, _position_columns)
EARLIER_QUESTIONS = Table(
    "questions",
    "the earlier questions",
    "all_earlier",
    (text("expression"), text("possibly"), text("definitely")),
)
GLOBAL_STATES = Table(
    "states",
    "the global states",
    "all_states",
    (
        whole("state", "number"),
        whole("events_before", "level"),
        text("processes"),
        text("channels"),
        text("on_the_path_of", "paths"),
        truth("is_recorded"),
        whole("equal_to", "same_as"),
    ),
)
SMALLEST_PART = Table(
    "events",
    "the events of the smallest recording",
    "part.events",
    (
        text("process"),
        whole("index"),
        text("kind"),
        text("channel"),
        text("message"),
        text("snapshot"),
        whole("at", unit=unit_of_recording),
    ),
    about_log=True,
)
PROOF_STATES = Table(
    "states",
    "the state at the start, as recorded, and at the end",
    "all_states",
    (
        text("name"),
        *(
            text(name, f"cells.{place}.1")
            for place, name in enumerate(("start", "recorded", "end"))
        ),
    ),
)
PROOF_CHECKS = Table(
    "checks", "the checks", "proof.checks", (truth("holds"), text("sentence"), text("reason"))
)
PROOF_EVENTS = Table(
    "events",
    "the events in both orders",
    "all_events",
    (
        text("event", lambda row: f"e{row['was']}"),
        text("what", "words"),
        truth("prerecording"),
        whole("place_as_it_was", lambda row: row["was"] + 1),
        whole("place_now", lambda row: row["now"] + 1),
    ),
    left_out=lambda context: context["proof"]["events_total"] - len(context["all_events"]),
)
SIDE_BY_SIDE = Table(
    "events",
    "the events with and without snapshots",
    "answer.rows",
    (
        text("process"),
        whole("at", unit="us"),
        text("kind"),
        text("with_snapshots"),
        text("without"),
    ),
    left_out=lambda context: context["answer"]["rows_after"],
)
WHAT_FOLLOWS = Table(
    "snapshots",
    "what follows for each snapshot",
    "answer.snapshots",
    (text("snapshot"), text("by_the_rules"), text("verdict"), value("witnesses")),
)
DIFFERENCES = Table(
    "differences",
    "what differs",
    "all_rows",
    (
        text("about"),
        text("sentence"),
        number("size"),
        text("measure"),
        text("process"),
        text("channel"),
        text("snapshot"),
    ),
)


# --- bisect -------------------------------------------------------------------------------------


def _side(side: str) -> Any:
    return lambda row: row[side]["text"]


BISECT_STATES = Table(
    "states",
    "the answer of every state that was evaluated",
    "answer.all_rows",
    (
        text("title"),
        whole("place"),
        text("answer", "answer.answer"),
        text("sentence", "answer.sentence"),
        value("missing", "answer.missing"),
    ),
)
BISECT_CHANGES = Table(
    "changes",
    "what changed there",
    "answer.difference.all_changes",
    (
        text("name"),
        text("kind"),
        text("change"),
        text("before", _side("before")),
        text("after", _side("after")),
    ),
    left_out=lambda context: (
        context["answer"]["difference"]["changes_total"]
        - len(context["answer"]["difference"]["all_changes"])
    ),
)
BISECT_CHECKPOINTS = Table(
    "checkpoint-states",
    "the states that differ",
    "answer.difference.checkpoints.all_rows",
    (
        text("operator"),
        text("state", "name"),
        text("change"),
        *pair("entries"),
        value("keys", "counts"),
        value("notes"),
    ),
)
BISECT_PAST = Table(
    "causal-past",
    "the events that can have influenced the change",
    "answer.difference.past.all_processes",
    (
        text("process"),
        whole("events", "count"),
        whole("first_event", "first"),
        whole("last_event", "last"),
    ),
    left_out=lambda context: (
        context["answer"]["difference"]["past"]["processes_total"]
        - len(context["answer"]["difference"]["past"]["all_processes"])
    ),
)
OF_BISECT = (BISECT_STATES, BISECT_CHANGES, BISECT_CHECKPOINTS, BISECT_PAST)
