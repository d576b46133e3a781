"""Reads JSON lines with vector clocks, from which the messages follow.

Which field is the process and which the clock is said by a mapping, or seen in the first lines.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import islice
from pathlib import Path

import orjson
import pyarrow as pa

from snapshots.domain.assembling.assembly import Header
from snapshots.domain.model.defects import Defects, quoted
from snapshots.domain.model.recording import RECORD_STATE
from snapshots.domain.model.topology import ProcessId
from snapshots.readers.formats.head import Head, read_head
from snapshots.readers.formats.limits import Limits
from snapshots.readers.formats.lines import BYTE_ORDER_MARK
from snapshots.readers.logs.columns import BATCH_ROWS, raw_batch
from snapshots.readers.logs.json_events import LineEvent, Misfit, Misfits, add_misfits
from snapshots.readers.logs.mapped.lines import PREFIX, MappedReader, clock_of
from snapshots.readers.logs.mapped.mapping import Mapping, parse
from snapshots.readers.logs.shiviz.clocks import Edges, edges
from snapshots.readers.logs.shiviz.events import Events, Gathering, Recorded
from snapshots.readers.logs.shiviz.logs import MOST_TEXT
from snapshots.readers.logs.shiviz.reader import add_holes, header_of, rows_of
from snapshots.readers.logs.vector_timestamps import FIELDS

_CLOCKS = re.compile(
    r"(?i)^(.*[._-])?(vc|vcs|vcstring|vclock|vclocks|clock|clocks|vector|vector[._-]?clocks?|vt|"
    r"vector[._-]?time(stamp)?s?|timestamp|ts)$"
)
_PROCESSES = ("host", "process", "proc", "node", "pid", "process_id", "node_id", "site", "replica",
              "server", "actor", "machine", "peer", "id", "name")  # fmt: skip
_LABELS = ("event", "label", "msg", "message", "action", "text", "description", "type", "op")
_LOOKED_AT = 100  # lines


class ClockedReader(MappedReader):
    """Reads a log by one mapping with a field for vector clocks."""

    def header(self, source: Path, limits: Limits) -> Header:
        events, found, misfits = self._read(source, limits)
        facts: dict[str, object] = {
            "form": "json-lines",
            "misfits": misfits.count,
            "misfit_lines": [list(place) for place in misfits.places],
            **self.further_facts(),
        }
        return header_of(events, found, limits, facts)

    def batches(
        self, source: Path, header: Header, limits: Limits, defects: Defects
    ) -> Iterator[pa.RecordBatch]:
        events, found, misfits = self._read(source, limits)
        add_holes(events, defects)
        add_misfits(misfits.count, misfits.places, defects)
        rows = rows_of(events, found, header)
        while batch := list(islice(rows, BATCH_ROWS)):
            yield raw_batch(batch)

    def _read(self, source: Path, limits: Limits) -> tuple[Events, Edges, Misfits]:
        bounded = replace(limits, total_bytes=min(limits.total_bytes, MOST_TEXT))
        gathering, misfits, count = Gathering(limits), Misfits(), 0
        for line, reading in self.readings(source, bounded):
            if isinstance(reading, Misfit):
                misfits.add(line, str(reading))
            elif reading is not None:
                count += 1
                _add(gathering, line, reading)
        if not count:
            raise misfits.refusal(f"No line of the log is an event of {quoted(self.title)}.")
        events = gathering.events("")
        return events, edges(events.clocks), misfits


def _add(gathering: Gathering, line: int, event: LineEvent) -> None:
    is_recording = event.kind == RECORD_STATE and event.snapshot is not None
    snapshots = (event.snapshot,) if is_recording and event.snapshot is not None else ()
    recorded = Recorded(event.at, event.state, snapshots, is_recording)
    fields = orjson.loads(event.extra) if event.extra else {}
    gathering.add(event.process, event.clock, event.label or "", fields, line, recorded)


class ClockLinesReader:
    """Reads JSON lines with vector clocks whose fields are seen in the first lines."""

    name = "json-clocks"
    title = "JSON lines with vector clocks"

    def recognises(self, head: Head) -> str | None:
        if head.not_text is not None or not head.first_line[1].lstrip().startswith(b"{"):
            return None
        if (mapping := seen_in(head)) is None:
            return None
        return (
            f"JSON lines with vector clocks, by the fields {quoted(mapping.process)} and "
            f"{quoted(mapping.clock)}"
        )

    def glance(self, source: Path, limits: Limits) -> None:
        """Check that the first lines hold an event. Raises: InputRefused."""
        self._reader(source, limits).glance(source, limits)

    def header(self, source: Path, limits: Limits) -> Header:
        return self._reader(source, limits).header(source, limits)

    def batches(
        self, source: Path, header: Header, limits: Limits, defects: Defects
    ) -> Iterator[pa.RecordBatch]:
        yield from self._reader(source, limits).batches(source, header, limits, defects)

    def _reader(self, source: Path, limits: Limits) -> ClockedReader:
        mapping = seen_in(read_head(source, limits))
        if mapping is None:
            misfits = Misfits()
            raise misfits.refusal(
                "No field of the first lines is a vector clock that counts the line's own process."
            )
        return ClockedReader(mapping, self.title)


def reader_of(format: str) -> MappedReader:
    """Return the reader of a format that ``format_of`` has named. Raises: MappingRefused."""
    mapping = parse(orjson.loads(format.removeprefix(PREFIX)))
    return MappedReader(mapping) if mapping.clock is None else ClockedReader(mapping)


def seen_in(head: Head) -> Mapping | None:
    """Return which fields of the first lines are the process and its vector clock.

    None means that no pair of fields fits all lines that have a clock.
    """
    lines = list(islice(_objects(head), _LOOKED_AT))
    is_other = any(line.get("kind") == "header" or line.keys() == FIELDS for line in lines)
    if not lines or is_other:
        return None
    for clock in dict.fromkeys(name for line in lines for name in line if _CLOCKS.match(name)):
        having = [line for line in lines if clock in line]
        for process in _processes(having[0], clock):
            for first in (0, 1):
                if _fits(having, process, clock, first):
                    return parse(_document(having, process, clock, first))
    return None


def _document(lines: Sequence[dict], process: str, clock: str, first: int) -> dict[str, object]:
    taken = (process, clock)
    label = next((name for name in _LABELS if name in lines[0] and name not in taken), None)
    document: dict[str, object] = {"process": process, "clock": {"path": clock, "first": first}}
    if label is not None:
        document["label"] = label
    if any(line.get("kind") == RECORD_STATE and "snapshot" in line for line in lines):
        document |= {"kind": "kind", "snapshot": "snapshot", "state": "state"}
    return document


def _processes(line: dict, clock: str) -> list[str]:
    """Return the fields that may name the process, the usual names first."""
    others = [name for name, value in line.items() if type(value) in (str, int) and name != clock]
    return sorted(others, key=lambda name: _rank(name.lower()))


def _rank(name: str) -> int:
    return _PROCESSES.index(name) if name in _PROCESSES else len(_PROCESSES)


def _fits(lines: Sequence[dict], process: str, clock: str, first: int) -> bool:
    """Tell whether the clock of each line counts the line's process."""
    for line in lines:
        name = line.get(process)
        if type(name) not in (str, int):
            return False
        try:
            clock_of(line[clock], clock, ProcessId(str(name)), first)
        except Misfit:
            return False
    return True


def _objects(head: Head) -> Iterator[dict]:
    """Yield the JSON objects of the whole lines of a head."""
    lines = head.start.removeprefix(BYTE_ORDER_MARK).split(b"\n")
    for text in lines if head.is_whole else lines[:-1]:
        try:
            value = orjson.loads(text)
        except orjson.JSONDecodeError:
            continue
        if type(value) is dict:
            yield value
