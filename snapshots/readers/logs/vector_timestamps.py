"""Reads the vector timestamps of snapshots: when each node recorded, by its vector clock.

One line is one node in one snapshot: ``{"node": 0, "snapshot": 1, "vector": [3, 0, 2]}``. A
snapshot is consistent exactly if no node knows more events of another than that one had when it
recorded (Mattern 1989). The log has no events, so that one is made up for each count in a vector,
marked as derived.

Course assignments write a text file for each node with one line of numbers for each snapshot, as in
``net-0.out``; ``as_lines`` turns such files into these lines.
"""

import re
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import islice
from pathlib import Path

import orjson
import pyarrow as pa

from snapshots.domain.assembling.assembly import Header
from snapshots.domain.model.defects import Defects, quoted, refuse, times
from snapshots.domain.model.topology import ProcessId
from snapshots.readers.formats.head import Head
from snapshots.readers.formats.json_lines import object_on
from snapshots.readers.formats.limits import Limits
from snapshots.readers.formats.lines import chunks
from snapshots.readers.logs.columns import BATCH_ROWS, raw_batch
from snapshots.readers.logs.headers import MOST_TOLD, TOLD
from snapshots.readers.logs.shiviz.clocks import Edges, edges
from snapshots.readers.logs.shiviz.events import LARGEST_COUNT, Events, Gathering, Recorded
from snapshots.readers.logs.shiviz.reader import header_of, rows_of

FIELDS = frozenset({"node", "snapshot", "vector"})
_NUMBERS = re.compile(rb"\s*\[?\s*\d+(?:[\s,]+\d+)*\s*\]?\s*")
_NUMBER_OF_NODE = re.compile(r"(\d+)(?=\D*$)")
_LOOKED_AT = 20  # lines
_MOST = 500_000  # numbers in all vectors

Vectors = dict[str, dict[int, tuple[list[int], int]]]
"""By snapshot and node: the vector, and the line with it."""


class VectorTimestampsReader:
    """Reads lines with a node, a snapshot, and the node's vector clock when it recorded."""

    name = "vector-timestamps"
    title = "vector timestamps of snapshots"

    def recognises(self, head: Head) -> str | None:
        fits = head.not_text is None and frozenset(head.fields or ()) == FIELDS
        return "Vector timestamps of snapshots, by the fields of the lines" if fits else None

    def header(self, source: Path, limits: Limits) -> Header:
        vectors = _vectors(source, limits)
        events, found = _events(vectors, limits)
        header = header_of(events, found, limits, {"form": "vector-timestamps"})
        notes = (
            "The log has the vector clock of each node at each snapshot, and no events: an event "
            "is here where a vector counts it, and a message where a node knew of it.",
            "What the channels held, and which states were recorded, is not known.",
        )
        told = list(islice(_witnesses(vectors), MOST_TOLD))
        return replace(header, extra={**header.extra, "notes": list(notes), TOLD: told})

    def batches(
        self, source: Path, header: Header, limits: Limits, defects: Defects
    ) -> Iterator[pa.RecordBatch]:
        rows = rows_of(*_events(_vectors(source, limits), limits), header)
        while batch := list(islice(rows, BATCH_ROWS)):
            yield raw_batch(batch)


def is_of_numbers(start: bytes) -> bool:
    """Tell whether a text begins with lines of as many whole numbers each, two or more."""
    lines = [line for line in start.split(b"\n") if line.strip()][:_LOOKED_AT]
    if not lines or not all(_NUMBERS.fullmatch(line) for line in lines):
        return False
    widths = {len(re.findall(rb"\d+", line)) for line in lines}
    return len(widths) == 1 and widths.pop() > 1


def as_lines(files: Mapping[str, Sequence[bytes]]) -> Iterator[tuple[str, bytes]]:
    """Yield the lines of this format, each with its file.

    Args:
        files: the lines of the file of each node. The last number in its name is the node's.

    Raises: InputRefused if a name has no number of its own.
    """
    nodes: dict[int, str] = {}
    for file, lines in files.items():
        found = _NUMBER_OF_NODE.search(file.rpartition("/")[2].rpartition(".")[0] or file)
        node = int(found[1][:9]) if found else -1
        if node < 0 or nodes.setdefault(node, file) != file:
            raise refuse(
                "unknown-format",
                f"The file {quoted(file)} holds vector timestamps, and its name does not say of "
                "which node: name the files by the numbers of the nodes, as net-0.out.",
            )
        for number, line in enumerate((line for line in lines if line.strip()), 1):
            vector = [int(text[:12]) for text in re.findall(rb"\d+", line)]
            document = {"node": node, "snapshot": number, "vector": vector}
            yield file, orjson.dumps(document) + b"\n"


def _vectors(source: Path, limits: Limits) -> Vectors:
    """Return all vectors. Raises: InputRefused, with the line and the field."""
    found: Vectors = defaultdict(dict)
    width, read = 0, 0
    for chunk in chunks(source, limits):
        for line, text in chunk.lines():
            fields = object_on(text, line)
            node, vector = fields.get("node"), fields.get("vector")
            if type(node) is not int or not 0 <= node < limits.processes:
                raise refuse("wrong-type", "A node is a number from 0.", line=line, field="node")
            snapshot = fields.get("snapshot")
            if type(snapshot) not in (int, str) or not 0 < len(str(snapshot)) <= 100:
                sentence = "A snapshot is a number or a short text."
                raise refuse("wrong-type", sentence, line=line, field="snapshot")
            if not isinstance(vector, list) or not all(
                type(count) is int and 0 <= count < LARGEST_COUNT for count in vector
            ):
                raise refuse(
                    "bad-clock", "A vector is a list of counts.", line=line, field="vector"
                )
            width, read = width or len(vector), read + len(vector)
            if len(vector) != width or node >= width:
                raise refuse(
                    "bad-clock",
                    f"The vector has {times(len(vector), 'count')} for node {node}; the vectors "
                    f"before it have {width}, one for each node from 0.",
                    line=line,
                    field="vector",
                )
            if read > _MOST:
                raise refuse(
                    "too-large", f"The vectors hold more than {_MOST:,} counts.", line=line
                )
            if node in found[str(snapshot)]:
                sentence = f"Node {node} recorded snapshot {quoted(str(snapshot))} before."
                raise refuse("bad-clock", sentence, line=line)
            found[str(snapshot)][node] = (vector, line)
    nodes = {node for of in found.values() for node in of}
    lacking = [str(node) for node in range(width) if node not in nodes]
    if lacking:
        shown = ", ".join(lacking[:5])
        raise refuse(
            "other-files",
            f"The vectors count events of {times(width, 'node')}, and the lines of "
            f"{times(len(lacking), 'node')} ({shown}) lack: each node writes its own file. Upload "
            "all files together, as one folder or package.",
        )
    return found


def _events(vectors: Vectors, limits: Limits) -> tuple[Events, Edges]:
    """Make up the events that vectors count. Raises: InputRefused for vectors that cannot be.

    Each node begins with an event before all others, so that it can record before its first one.
    """
    counts: dict[int, set[int]] = defaultdict(lambda: {0})
    recorded: dict[tuple[int, int], list[tuple[str, list[int], int]]] = defaultdict(list)
    for snapshot, of in vectors.items():
        for node, (vector, line) in of.items():
            recorded[node, vector[node]].append((snapshot, vector, line))
            for other, count in enumerate(vector):
                counts[other].add(count)
    gathering = Gathering(limits)
    for node in sorted(counts):
        known: dict[str, int] = {}
        for count in sorted(counts[node]):
            here = recorded.get((node, count), [])
            for _, vector, _ in here:
                for other, value in enumerate(vector):
                    if value:
                        known[str(other)] = max(known.get(str(other), 0), value + 1)
            snapshots = tuple(snapshot for snapshot, _, _ in here)
            line = min((line for _, _, line in here), default=1)
            label = f"event {count}" if count else "start"
            clock = known | {str(node): count + 1}
            gathering.add(
                ProcessId(str(node)), clock, label, {"derived": True}, line,
                Recorded(None, None, snapshots),
            )  # fmt: skip
    events = gathering.events("")
    return replace(events, own=events.own - 1, holes=[]), edges(events.clocks)


def _witnesses(vectors: Vectors) -> Iterator[dict[str, str]]:
    """Yield for each snapshot that is not consistent which node knows what of whom."""
    for snapshot, of in vectors.items():
        found = [
            (vector[other] - own[0][other], node, other, vector[other], own[0][other])
            for node, (vector, _) in of.items()
            for other in range(len(vector))
            if (own := of.get(other)) is not None and vector[other] > own[0][other]
        ]
        if found:
            _, node, other, knows, had = max(found, key=lambda item: (item[0], -item[1]))
            text = (
                f"Snapshot {snapshot} is not consistent: node {node} knows {times(knows, 'event')} "
                f"of node {other}, which had {had:,} when it recorded."
            )
            yield {"level": "wrong", "text": text, "snapshot": snapshot}
