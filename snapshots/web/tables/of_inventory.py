"""Declare the tables of an engine's upload: what its checkpoints hold, and what a restore does."""

from collections.abc import Callable, Iterator
from typing import Any

from snapshots.web.tables.model import (
    Column,
    Context,
    Inner,
    Table,
    at,
    inner_rows,
    pair,
    text,
    truth,
    value,
    whole,
)

CHECKPOINTS = Table(
    "checkpoints",
    "all checkpoints of the upload",
    "checkpoints",
    (
        whole("number"),
        whole("checkpoint", "id"),
        text("kind"),
        text("snapshot"),
        text("path"),
        text("status"),
        text("problem"),
        whole("completed_at", unit="ms since 1970"),
        whole("bytes", unit="B"),
        whole("in_flight", unit="B"),
        whole("operators"),
        whole(
            "missing_files", lambda row: None if row.get("why_state_unknown") else row["missing"]
        ),
        text("all_there", "all_there.word"),
    ),
)
FILES = Table(
    "files",
    "every file of the upload",
    "upload.files",
    (
        text("path"),
        whole("bytes", unit="B"),
        text("role"),
        text("reason"),
        value("needed_by", "checkpoints"),
    ),
)


def _operator(name: str = "operator") -> tuple[Column, Column]:
    return text(name, "outer.name"), text(f"{name}_id", lambda row: _id(row.outer))


def _id(operator: Any) -> Any:
    return operator.get("id") or operator.get("operator")


STATES = Table(
    "states",
    "the states of all operators",
    inner_rows("operators", "states"),
    (
        *_operator(),
        text("state", "row.name"),
        text("kind", "row.kind"),
        text("type", "row.type"),
        whole("entries", "row.entries"),
        whole("not_decoded", "row.undecoded"),
        whole("bytes", "row.bytes", "B"),
        truth("complete", "row.complete"),
        text("reason", "row.reason"),
    ),
)
SUBTASKS = Table(
    "subtasks",
    "the subtasks of all operators",
    inner_rows("operators", "subtasks"),
    (
        *_operator(),
        whole("subtask", "row.index"),
        whole("first_key_group", "row.key_groups.0"),
        whole("last_key_group", "row.key_groups.1"),
        truth("finished", "row.finished"),
        whole("bytes", "row.bytes", "B"),
        value("parts", "row.parts"),
    ),
)
IN_FLIGHT = Table(
    "in-flight",
    "the channels with data in flight",
    lambda context: context.get("all_channels") or None,
    (
        whole("channel", "number"),
        text("source"),
        text("target"),
        text("part"),
        whole("buffers"),
        whole("bytes", unit="B"),
        whole("elements"),
        text("reason"),
    ),
)
_OF_ENTRY = (
    value("key"),
    value("namespace"),
    value("value"),
    whole("key_group"),
    whole("subtask"),
    whole("bytes", unit="B"),
    text("reason"),
    text("first_bytes", "head"),
)
ENTRIES = Table("entries", "the entries of the state", "chosen.all_entries", _OF_ENTRY)


def _sides(field: str) -> tuple[Column, Column]:
    return value(f"{field}_before", f"before.{field}"), value(f"{field}_after", f"after.{field}")


def _of_either(field: str) -> Callable[[Any], Any]:
    return lambda row: (row["after"] or row["before"])[field]


_OF_KEYS = (
    value("key", _of_either("key")),
    value("namespace", _of_either("namespace")),
    whole("key_group", _of_either("key_group")),
    text("change", "kind"),
    *_sides("value"),
    text("reason_before", "before.reason"),
    text("reason_after", "after.reason"),
)
EXAMPLES = Table("keys", "the first keys that differ", "chosen.all_examples", _OF_KEYS)
ELEMENTS = Table(
    "elements",
    "the elements in flight on the channel",
    "channel.all_elements",
    (
        text("element", "kind"),
        whole("offset", unit="B"),
        whole("timestamp", unit="ms since 1970"),
        value("value"),
        text("first_bytes", "head"),
        whole("bytes", unit="B"),
    ),
)
SUMS = Table(
    "sums",
    "the sums of states and of records in flight",
    lambda context: context["sums"]["rows"] or None,
    (text("where"), text("what"), value("sum"), text("expression")),
)
MISSING = Table(
    "missing-files",
    "the files that are missing or damaged",
    lambda context: context["checkpoint"]["missing"] or None,
    (text("path"), whole("bytes", unit="B"), text("reason")),
)
PLANNED = Table(
    "planned",
    "what each source was to give to the batch",
    "checkpoint.planned.sources",
    (
        text("source"),
        text("description"),
        truth("start_known"),
        text("start"),
        text("end"),
        value("files"),
        whole("files_total"),
        whole("rows"),
        whole("offsets"),
    ),
)
OF_CHECKPOINT = (STATES, SUBTASKS, ENTRIES, EXAMPLES, IN_FLIGHT, ELEMENTS, SUMS, MISSING, PLANNED)

# --- bytes --------------------------------------------------------------------------------------

BYTES = Table(
    "states",
    "the bytes of all states",
    lambda context: (
        Inner(operator, state)
        for operator in context["shares"].operators
        for state in operator.states
    ),
    (
        text("operator", "outer.name"),
        text("operator_id", "outer.operator"),
        text("state", "row.name"),
        text("kind", "row.kind"),
        whole("entries", "row.entries"),
        *pair("bytes", "row.bytes", "B"),
        text("reason", "row.reason"),
    ),
)


_OF_HEAVY_KEYS = (
    text("key"),
    whole("characters"),
    text("first_bytes", "head"),
    text("operator"),
    text("state"),
    whole("key_group"),
    whole("bytes", unit="B"),
    whole("entries"),
)


def _not_listed(measure: str) -> Callable[[Context], int]:
    def left_out(context: Context) -> int:
        heaviest = context["shares"].heaviest
        return max(0, heaviest.keys - len(getattr(heaviest, measure)))

    return left_out


HEAVIEST_BY_BYTES = Table(
    "keys-by-bytes",
    "the heaviest keys by bytes",
    "shares.heaviest.by_bytes",
    _OF_HEAVY_KEYS,
    left_out=_not_listed("by_bytes"),
)
HEAVIEST_BY_ENTRIES = Table(
    "keys-by-entries",
    "the heaviest keys by entries",
    "shares.heaviest.by_entries",
    _OF_HEAVY_KEYS,
    left_out=_not_listed("by_entries"),
)
OF_BYTES = (BYTES, HEAVIEST_BY_BYTES, HEAVIEST_BY_ENTRIES)

# --- whether everything is there ----------------------------------------------------------------

CHECKS = Table(
    "checks",
    "the answer about each checkpoint",
    "checks",
    (
        whole("number"),
        whole("checkpoint", "id"),
        text("kind"),
        text("path"),
        text("answer"),
        truth("decides"),
        whole("files_read", "files_total"),
        whole("bytes", unit="B"),
        value("witnesses"),
        value("unknown"),
    ),
)
_OF_FILES = (text("path"), whole("bytes", unit="B"), text("reason"))


def _only_counted(name: str) -> Callable[[Context], int]:
    return lambda context: context["check"][f"{name}_total"] - len(context["check"][name])


ABSENT = Table(
    "absent-files",
    "the files that are absent",
    lambda context: context["check"]["absent"] or None,
    (*_OF_FILES, value("needed_by", "checkpoints")),
    left_out=_only_counted("absent"),
)
UNNEEDED = Table(
    "unneeded-files",
    "the files that nobody needs",
    lambda context: context["check"]["unneeded"] or None,
    _OF_FILES,
    left_out=_only_counted("unneeded"),
)
NEEDED = Table(
    "files",
    "every file that a restore reads",
    "check.files",
    (
        text("path"),
        text("role"),
        text("read_by", "users"),
        whole("bytes_named", "bytes", "B"),
        whole("bytes_here", "uploaded", "B"),
        text("problem"),
    ),
    left_out=_only_counted("files"),
)

# --- differences --------------------------------------------------------------------------------

CHANGED_STATES = Table(
    "states",
    "the states of all operators, before and after",
    inner_rows("operators", "states"),
    (
        *_operator(),
        text("state", "row.name"),
        text("kind", "row.kind"),
        text("change", "row.change"),
        text("type_before", "row.type_before"),
        text("type_after", "row.type_after"),
        *pair("entries", "row.entries"),
        *pair("bytes", "row.bytes", "B"),
        value("keys", "row.counts"),
        value("notes", "row.notes"),
    ),
)
CHANGED_SUBTASKS = Table(
    "subtasks",
    "the subtasks of all operators, before and after",
    inner_rows("change.operators", "subtasks"),
    (
        *_operator(),
        whole("subtask", "row.0"),
        whole("bytes_before", "row.1.before", "B"),
        whole("bytes_after", "row.1.after", "B"),
    ),
)
CHANGED_KEY_GROUPS = Table(
    "key-groups",
    "the key groups that differ",
    inner_rows("change.operators", "key_groups"),
    (
        *_operator(),
        whole("key_group", "row.key_group"),
        *pair("subtask", "row.subtask"),
        *pair("bytes", "row.bytes", "B"),
    ),
)
CHANGED_CHANNELS = Table(
    "in-flight",
    "the data in flight by channel, before and after",
    lambda context: context["change"]["in_channels"] or None,
    (
        text("source"),
        text("target"),
        text("part"),
        text("change"),
        *pair("bytes", unit="B"),
        *pair("elements"),
    ),
)
SHARED_FILES = Table(
    "shared-files",
    "the files that both checkpoints need",
    "all_shared",
    (text("path"), text("role"), whole("bytes", unit="B")),
)
OF_DIFFERENCE = (
    CHANGED_STATES,
    CHANGED_SUBTASKS,
    CHANGED_KEY_GROUPS,
    CHANGED_CHANNELS,
    SHARED_FILES,
)
KEYS = Table("keys", "the keys that differ", "all_keys", _OF_KEYS)

# --- restore ------------------------------------------------------------------------------------

VARIANTS = Table(
    "variants",
    "the ways to restore the job",
    "plan.variants",
    (
        text("title"),
        truth("is_asked"),
        text("answer"),
        text("headline"),
        value("thrown_away", lambda row: [item["sentence"] for item in row["thrown_away"]]),
        text("read_again", "again.sentence"),
    ),
)


def _subtasks(context: Context) -> Iterator[dict[str, Any]] | None:
    if "whole_plan" not in context:
        return None
    return (
        {"operator": operator, "side": side, "row": row}
        for operator in context["whole_plan"]["operators"]
        for side in ("before", "after")
        for row in operator[side]
    )


PLANNED_SUBTASKS = Table(
    "subtasks",
    "the subtasks of all operators, before and after",
    _subtasks,
    (
        text("operator", "operator.name"),
        text("operator_id", "operator.operator"),
        text("side"),
        whole("subtask", "row.index"),
        whole("first_key_group", "row.key_groups.0"),
        whole("last_key_group", "row.key_groups.1"),
        whole("bytes", "row.bytes", "B"),
        truth("estimated", "row.estimated"),
        value("read_from", "row.sources"),
        value("lists", "row.lists"),
    ),
)
RECEIVERS = Table(
    "receivers",
    "who reads the data in flight",
    lambda context: (
        (Inner(edge, row) for edge in context["whole_plan"]["edges"] for row in edge["receivers"])
        if at(context, "whole_plan.edges")
        else None
    ),
    (
        text("source", "outer.source"),
        text("target", "outer.target"),
        whole("receiver", "row.index"),
        whole("first_channel", "row.first"),
        whole("last_channel", "row.last"),
        whole("step", "row.step"),
        whole("bytes", "row.bytes", "B"),
        truth("at_most", "outer.filtered"),
    ),
)


def _positions(context: Context) -> Iterator[dict[str, Any]] | None:
    """Yield each position that a source goes back to."""
    sources = at(context, "whole_plan.read_again")
    if not sources:
        return None
    return (
        {"source": source, "state": state, "position": position}
        for source in sources
        for state, position in _of_source(source)
    )


def _of_source(source: dict[str, Any]) -> Iterator[tuple[str | None, Any]]:
    if source["splits"]:
        yield from ((next(iter(source["states"]), None), split) for split in source["splits"])
        return
    for state in source["positions"]:
        yield from ((state["state"], entry) for entry in state["items"])


POSITIONS = Table(
    "positions",
    "the positions that sources go back to",
    _positions,
    (
        text("source", "source.name"),
        text("operator_id", "source.operator"),
        text("state"),
        value("position"),
    ),
    left_out=lambda context: sum(
        source["unknown"]
        if source["splits"]
        else sum(state["total"] - len(state["items"]) for state in source["positions"])
        for source in context["whole_plan"]["read_again"]
    ),
)
OF_PLAN = (VARIANTS, PLANNED_SUBTASKS, RECEIVERS, POSITIONS)
