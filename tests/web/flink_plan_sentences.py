"""What the page of a restore plan has to say of a checkpoint of Flink, asked for two subtasks."""

import json
import re
from collections.abc import Iterator
from typing import Any

from snapshots import quantities
from tests.web.flink_truth import Truth

CAN_IT = "Can it be restored with 2 subtasks?"
SINK_NOT_KNOWN = (
    "Its state is not known, as the upload has no files of this checkpoint, so neither is whether "
    "it writes a second time."
)
MOST_OLDER = 5  # checkpoints beside the one that is asked for


def of_plan(truth: Truth, truths: list[Truth]) -> Iterator[str]:
    """Yield what the page of a restore plan with two subtasks says.

    Args:
        truths: all checkpoints of the upload.
    """
    yield from _of_answer(truth)
    own = [one for one in truths if one.job == truth.job and one.status == "completed"]
    newest = next((one for one in reversed(own) if one.expected is not None), None)
    older = [one for one in reversed(own) if one.number < truth.number][:MOST_OLDER]
    for other in (truth, *older):
        row = f"Side by side: {other.kind} {other.id}, whole"
        row += " this plan" if other is truth else ""
        yield f"{row}, Answer: {_answer(other)}"
        if _answer(other) != _answer(truth):
            yield f"{row}, Answer: {_headline(other)}"
        again = _read_again(other, newest)
        if again is not None:
            yield f"{row}, Read again: {again}"
            if other is truth:
                yield f"{_again_part(truth)}: {again}"


def _of_answer(truth: Truth) -> Iterator[str]:
    yield f"{CAN_IT}: {_answer(truth)}"
    yield f"{CAN_IT}: {_headline(truth)}"
    if _answer(truth) == "yes":
        yield f"{CAN_IT}: {_why_in_flight_allows(truth)}"
    part = _again_part(truth)
    if truth.in_flight is None:
        yield f"{part}: It is not known what was in flight. {truth.why}"
    if truth.expected is None:
        yield (
            f"{part}: From which positions sources read is not known: the upload has no files of "
            "this checkpoint."
        )
        yield from [f"{part}: a sink: {SINK_NOT_KNOWN}"] * _sinks(truth)
    if truth.channels:
        count = quantities.counted(len(truth.channels), "channel")
        size = quantities.counted(truth.in_flight, "byte")
        yield f"{part}: {size} in {count} are read back before anything else."
    yield from _edges(truth)
    for operator in truth.expected["flink"]["operators"] if truth.expected else ():
        finished = sum(bool(one.get("finished")) for one in operator["subtasks"])
        if operator["fullyFinished"]:
            yield "It had finished: it is not run again."
        elif finished:
            yield (
                f"{finished} of its subtasks had finished. They are started again, with what the "
                "others' state gives them."
            )


def _again_part(truth: Truth) -> str:
    verb = "would be" if _answer(truth) == "no" else "is"
    return f"What {verb} read and written again"


def _answer(truth: Truth) -> str:
    """Return whether the checkpoint can be restored with two subtasks."""
    if truth.status != "completed":
        return "no"
    if truth.expected is None or not truth.is_checked:
        return "not known"
    widest = [one["maxParallelism"] for one in truth.expected["flink"]["operators"]]
    assert min(widest) >= 2, "another answer is expected of this case"
    return "yes"


def _headline(truth: Truth) -> str:
    """Return the answer in a sentence."""
    return {
        "yes": f"Yes: Flink restores {truth.kind} {truth.id} with 2 subtasks.",
        "no": f"No: the {truth.kind} {truth.id} is {truth.status}: only a completed one can be "
        "restored.",
        "not known": "Not known: its files are not in the upload: only an answer of the REST "
        "API tells of it."
        if truth.is_checked
        else "Not known: Not all that a restore reads could be checked.",
    }[_answer(truth)]


def _has_positions(truth: Truth) -> bool:
    """Tell whether a source has the state in which Flink's own sources keep their positions."""
    return "SourceReaderState" in json.dumps(truth.expected["flink"]["operators"])


def _read_again(truth: Truth, newest: Truth | None) -> str | None:
    """Return what is not known of what is read again; None if it is counted.

    ``newest`` is the newest completed checkpoint of the job that has files.
    """
    if truth.status != "completed":
        return f"It is {truth.status}: no source can go back to it."
    if truth.expected is None:
        return (
            "What is read again is not known: its files, which hold the positions of its "
            "sources, are not in the upload."
        )
    if truth is newest:
        return (
            "It is the newest of its job that was completed and has files in the upload. What "
            "was read after it is read again; how much that was is not known."
        )
    if not _has_positions(truth):
        return (
            f"How many records read before {newest.kind} {newest.id} are read again is "
            "not known: no source has positions of a form that is known here."
        )
    return None


def _why_in_flight_allows(truth: Truth) -> str:
    """Return why what was in flight does not prevent a restore with two subtasks."""
    if not truth.channels:
        return f"Nothing is in flight. {truth.why}"
    size = quantities.counted(truth.in_flight, "byte")
    edges = [_edge(truth, one) for one in truth.expected["flink"]["inFlightRecords"]]
    if all(widths == (2, 2) for _, widths in edges):
        return f"{size} in flight go back into the channels that they were in."
    exchanges = " and ".join(sorted({exchange for exchange, _ in edges}))
    return f"{size} in flight are on exchanges ({exchanges}) that Flink can divide."


def _edge(truth: Truth, edge: dict[str, Any]) -> tuple[str, tuple[int, int]]:
    """Return the exchange of an edge, and how many senders and receivers it has.

    An operator has its id where the files do not hold names. The id of a vertex is that of its
    first operator, so that of a chain's end no vertex tells: its edges are all that lead there.
    """
    operators = truth.expected["flink"]["operators"]
    widths = {one[key]: one["parallelism"] for one in operators for key in ("id", "name")}
    names = {node["id"]: _names(node) for node in truth.plan["plan"]["nodes"]}
    (inputs,) = (
        node["inputs"]
        for node in truth.plan["plan"]["nodes"]
        if edge["to"] in names[node["id"]] and "inputs" in node
    )
    own = [one for one in inputs if edge["from"] in names[one["id"]]]
    (exchange,) = {one["ship_strategy"] for one in own or inputs}
    return exchange, (widths[edge["from"]], widths[edge["to"]])


def _sinks(truth: Truth) -> int:
    """Count the vertices of the plan out of which no edge leads."""
    nodes = truth.plan["plan"]["nodes"]
    sending = {one["id"] for node in nodes for one in node.get("inputs", ())}
    return sum(node["id"] not in sending for node in nodes)


def _edges(truth: Truth) -> Iterator[str]:
    """Yield what a plan of a restore says of each edge with data in flight."""
    edges = truth.expected["flink"].get("inFlightRecords", ()) if truth.expected else ()
    for edge in edges:
        size = sum(one["inputBytes"] + one["outputBytes"] for one in edge["channels"])
        count = quantities.counted(len(edge["channels"]), "channel")
        yield f"edge: {quantities.file_size(size)} in {count}"


def _names(node: dict[str, Any]) -> set[str]:
    """Return the id of a vertex, and the names of its operators."""
    return {node["id"], *re.split(r"<br/>(?:\+- )?", node["description"])}
