"""Declare the tables of the questions about a recording: properties, proofs and comparisons."""

from typing import TYPE_CHECKING, Any

from snapshots.simulating.compared_modes import MODES
from snapshots.web.tables.model import (
    Column,
    Context,
    Table,
    number,
    pair,
    text,
    truth,
    unit_of_recording,
    value,
    whole,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

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
MODE_COSTS = Table(
    "modes",
    "what each way to take checkpoints costs",
    "rows",
    (
        text("cost", "title"),
        text("unit"),
        *(number(mode.replace("-", "_"), f"values.{place}") for place, mode in enumerate(MODES)),
    ),
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
