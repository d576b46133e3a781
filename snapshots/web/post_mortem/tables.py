"""The tables and captions of figures in a document, made of what the claims say."""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from snapshots import quantities
from snapshots.domain.archive.absence import answer
from snapshots.domain.archive.model import IN_PROGRESS
from snapshots.domain.dataflow_logs.checkpoints.report import alignment_words
from snapshots.domain.proving.claims import CHECKPOINT, CUT, SNAPSHOT

MOST_ROWS = 50
NOT_KNOWN = "not known"
_LEGEND = (
    "Lines are messages, dotted lines markers on their way, diamonds markers, and squares recorded "
    "states. The thick line is the cut. Of each process at most 8 events on each side of the cut "
    "are shown; processes without events are not."
)

Json = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Table:
    """A table of texts.

    Attributes:
        hidden: how many rows are left out.
    """

    title: str
    head: Sequence[str]
    rows: Sequence[Sequence[str]]
    hidden: int = 0


def caption_of(claim: Json) -> str:
    """Return what a figure shows, as a sentence."""
    about = f"{claim['about']}: " if claim["about"] else ""
    if claim["kind"] == CHECKPOINT:
        return f"{about}what the tasks of the checkpoint spent their time on."
    if claim["kind"] in (CUT, SNAPSHOT):
        return f"{about}the events on both sides of the cut. {_LEGEND}"
    return f"{about}the events around this one, and the cut at its time. {_LEGEND}"


def tables_of(claim: Json, checkpoints: Json) -> list[Table]:
    """Return the tables of a claim; none for an event, a message, or a part of a recording.

    Args:
        claim: a claim that can be checked.
        checkpoints: the data of checkpoints by the key that claims name.
    """
    says = claim["says"]
    if claim.get("is_part"):  # its counts of events are not those of the recording
        return []
    if claim["kind"] == CHECKPOINT:
        return [_tasks(checkpoints[claim["evidence"]], says)]
    if claim["kind"] == SNAPSHOT:
        return [_snapshot_states(says), _snapshot_channels(says)]
    if claim["kind"] == CUT:
        return [_cut_states(says), _cut_channels(says)]
    return []


# What an empty list of messages means, by whether the cut is consistent.
_NOTHING_SHOWN = {True: "none", False: "none that the log shows", None: NOT_KNOWN}


def _table(title: str, head: Sequence[str], rows: Iterable[Sequence[str]]) -> Table:
    every = list(rows)
    return Table(title, head, every[:MOST_ROWS], len(every[MOST_ROWS:]))


def _snapshot_states(says: Json) -> Table:
    rows = (
        (
            process,
            f"{position:,}",
            _state(says["recorded_states"].get(process)),
            _state(says["recomputed_states"].get(process)),
        )
        for process, position in says["positions"].items()
    )
    return _table("States", ("process", "events inside", "recorded", "recomputed"), rows)


def _snapshot_channels(says: Json) -> Table:
    names = [
        *says["in_flight"],
        *(n for n in says["recorded_channels"] if n not in says["in_flight"]),
    ]
    rows = (
        (name, _ids(says["recorded_channels"].get(name)), _ids(says["in_flight"].get(name)))
        for name in names
    )
    return _table("Messages in the channels", ("channel", "recorded", "recomputed"), rows)


def _cut_states(says: Json) -> Table:
    rows = (
        (process, f"{position:,}", _state(says["states"].get(process)))
        for process, position in says["positions"].items()
    )
    return _table("States at the cut", ("process", "events inside", "state"), rows)


def _cut_channels(says: Json) -> Table:
    rows = (
        (name, _ids(ids), ", ".join(map(_state, says["values"][name])))
        for name, ids in says["in_flight"].items()
    )
    title = "Messages in flight at the cut"
    if not says["in_flight"]:
        return Table(f"{title}: {_NOTHING_SHOWN[says['consistent']]}", (), (), 0)
    return _table(title, ("channel", "messages", "values"), rows)


def _tasks(data: Json, says: Json) -> Table:
    unit, is_over = data["time_unit"], data["status"] != IN_PROGRESS
    missing = set(says["not_in_time"])
    rows = (
        (
            task["name"],
            answer(task["acknowledged"], is_missing=task["name"] in missing, is_over=is_over),
            _length(task["start_delay"], unit),
            alignment_words(task["alignment"], unit, takes_barriers=task["takes_barriers"]),
            *(_length(task[name], unit) for name in ("sync", "async", "duration")),
            NOT_KNOWN if task["bytes"] is None else quantities.file_size(task["bytes"]),
        )
        for task in data["tasks"]
    )
    head = ("task", "acknowledged", "start delay", "alignment", "sync", "async", "in all", "state")
    return _table("Tasks", head, rows)


def _length(amount: int | None, unit: str) -> str:
    return NOT_KNOWN if amount is None else quantities.duration(amount, unit)


def _state(text: str | None) -> str:
    return NOT_KNOWN if text is None else quantities.value(json.loads(text))


def _ids(ids: Sequence[str] | None) -> str:
    if ids is None:
        return NOT_KNOWN
    shown = ", ".join(ids[:MOST_ROWS])
    more = len(ids) - MOST_ROWS
    return f"{shown} and {more:,} more" if more > 0 else shown or "empty"
