"""The protocol's events of a stored recording, and counts of its records by search.

The reference is ``snapshots.domain.dataflow_logs.checkpoints.reference``, which looks at every
event and every message.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from snapshots.domain.dataflow_logs.checkpoints.files import Acknowledged, acknowledged
from snapshots.domain.dataflow_logs.checkpoints.reference import report
from snapshots.domain.dataflow_logs.checkpoints.report import CheckpointReport
from snapshots.domain.dataflow_logs.checkpoints.tasks import (
    Ahead,
    CheckpointEvents,
    Early,
    RunEvents,
    Span,
)
from snapshots.domain.dataflow_logs.events import (
    CHECKPOINT_KINDS,
    RUN_KINDS,
    Plan,
    ProtocolEvent,
    by_checkpoint,
    dataflow_of,
    fields_of,
)
from snapshots.domain.model.derived import is_derived
from snapshots.domain.model.recording import KINDS, RECORD_CHANNEL
from snapshots.store.layout import NONE, RECORD_COLUMNS, RECORDS
from snapshots.store.manifest import Manifest
from snapshots.store.mapped import Ints, read_batch
from snapshots.store.tables import Tables


@dataclass(frozen=True)
class CheckpointTask:
    """Half-open range of snapshot codes of the store in ``folder``."""

    folder: str
    first: int
    end: int


@dataclass(frozen=True)
class Told:
    """step: of the checkpoint's first event."""

    step: int
    report: CheckpointReport
    files: tuple[Acknowledged, ...]


def tell_checkpoints(task: CheckpointTask) -> list[Told]:
    """The reports of the task's checkpoints."""
    stored = StoredEvents(Path(task.folder))
    run = stored.run()
    found = by_checkpoint(stored.of_checkpoints(task.first, task.end))
    return [
        Told(
            events[0].step,
            report(CheckpointEvents(name, events, run), stored.count),
            tuple(acknowledged(name, events)),
        )
        for name, events in found.items()
    ]


class StoredEvents:
    """The sparse events of a recording; records are only counted."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.manifest = Manifest.read(folder)
        self.tables = Tables(folder, self.manifest)
        self.processes = [process.id for process in self.tables.topology.processes]
        self.channels = [channel.id for channel in self.tables.topology.channels]
        self.channel_codes = {name: code for code, name in enumerate(self.channels)}

    def plan(self) -> Plan:
        extra = self.manifest.header_extra
        unit = self.manifest.time_unit
        return Plan(self.tables.topology, dataflow_of(extra), unit, is_derived(extra))

    def run(self) -> RunEvents:
        return RunEvents(self._events(RUN_KINDS), self.plan())

    def of_checkpoints(self, first: int, end: int) -> list[ProtocolEvent]:
        """The events of the snapshots with these codes, in order."""
        return self._events(CHECKPOINT_KINDS, first, end)

    def loads(self) -> Ints:
        """int64[S]: how many events each snapshot has."""
        counts = np.zeros(len(self.manifest.snapshots), np.int64)
        for number, rows in self._rows(CHECKPOINT_KINDS):
            snapshot = self.tables.events.column(number, "snapshot")[rows]
            counts += np.bincount(snapshot[snapshot != NONE], minlength=len(counts))
        return counts

    def _rows(self, kinds: Iterable[str]) -> Iterable[tuple[int, Ints]]:
        """Of each part of the events, its number and the rows of these kinds."""
        wanted = np.zeros(len(self.manifest.kinds), bool)
        wanted[[KINDS.index(kind) for kind in kinds]] = True
        events = self.tables.events
        for number in range(len(events.batches)):
            yield number, np.flatnonzero(wanted[events.column(number, "kind")])

    def _events(
        self, kinds: Iterable[str], first: int = NONE, end: int | None = None
    ) -> list[ProtocolEvent]:
        """first, end: range of snapshot codes, where one is given."""
        held = {} if end is None else self._held(first, end)
        found: list[ProtocolEvent] = []
        for number, rows in self._rows(kinds):
            if end is not None:
                snapshot = self.tables.events.column(number, "snapshot")[rows]
                rows = rows[(snapshot >= first) & (snapshot < end)]
            found += self._made(number, rows, held)
        return sorted(found, key=lambda event: event.step)

    def _made(
        self, number: int, rows: Ints, held: dict[tuple[int, int], int]
    ) -> Iterable[ProtocolEvent]:
        events, batch = self.tables.events, self.tables.events.batches[number]
        names = ("process", "kind", "at", "step", "channel", "snapshot")
        columns = {name: events.column(number, name)[rows] for name in names}
        index = rows - events.begin[columns["process"]]
        texts = (batch.column(name).take(pa.array(rows)) for name in ("label", "extra"))
        label, extra = (text.to_pylist() for text in texts)
        lists = (*(columns[name].tolist() for name in names), index.tolist(), label, extra)
        for process, kind, at, step, channel, snapshot, place, text, more in zip(
            *lists, strict=True
        ):
            yield ProtocolEvent(
                process=self.processes[process],
                index=place,
                kind=KINDS[kind],
                at=at,
                step=step,
                channel=None if channel == NONE else self.channels[channel],
                snapshot=None if snapshot == NONE else self.manifest.snapshots[snapshot],
                label=text,
                held=held.get((process, place)),
                fields=fields_of(more),
            )

    def _held(self, first: int, end: int) -> dict[tuple[int, int], int]:
        """(process, index) of each ``record_channel`` that lists messages -> how many."""
        records = read_batch(self.folder / RECORDS, RECORD_COLUMNS)
        bounds = np.searchsorted(records.column("snapshot").to_numpy(), [first, end])
        rows = records.slice(bounds[0], bounds[1] - bounds[0])
        rows = rows.filter(pc.equal(rows.column("kind"), KINDS.index(RECORD_CHANNEL)))
        lengths = pc.list_value_length(rows.column("messages")).to_pylist()
        places = zip(*(rows.column(name).to_pylist() for name in ("process", "index")), strict=True)
        return {
            place: length
            for place, length in zip(places, lengths, strict=True)
            if length is not None
        }

    # --- counting --------------------------------------------------------------------------------

    def count(self, asked: list[Span | Ahead | Early]) -> list[int]:
        """As ``checkpoints.Records``: all questions of a kind in one search."""
        answers = np.zeros(len(asked), np.int64)
        ways = ((Span, self._spans), (Ahead, self._ahead), (Early, self._early))
        for kind, counted in ways:
            places = [place for place, item in enumerate(asked) if isinstance(item, kind)]
            if places:
                own = [asked[place] for place in places]
                code = np.array([self.channel_codes[item.channel] for item in own])
                sent = np.array([item.sent_index for item in own])
                answers[places] = counted(own, code, sent)
        return answers.tolist()

    def _spans(self, asked: list[Span], code: Ints, sent: Ints) -> Ints:
        messages, source = self.tables.messages, self.tables.source[code]
        until = np.array([2**62 if item.until is None else item.until for item in asked])
        end = self.tables.events.bisect_in("step", source, until)
        return np.maximum(messages.sent(code, end) - messages.sent(code, sent + 1), 0)

    def _ahead(self, asked: list[Ahead], code: Ints, sent: Ints) -> Ints:
        messages, target = self.tables.messages, self.tables.target[code]
        position = self.tables.events.bisect_in(
            "step", target, np.array([item.step for item in asked])
        )
        before = messages.sent(code, sent)
        counts = np.maximum(before - messages.arrived(code, position), 0)
        for lane in np.flatnonzero(~messages.is_ordered(code)).tolist():
            own = slice(lane, lane + 1)
            counts[lane] = len(messages.waiting(code[own], position[own], before[own])[0])
        return counts

    def _early(self, asked: list[Early], code: Ints, sent: Ints) -> Ints:
        messages = self.tables.messages
        position = np.array([item.received_index for item in asked])
        after = messages.sent(code, sent + 1)
        counts = np.maximum(messages.end_of_received(code, position) - after, 0)
        for lane in np.flatnonzero(~messages.is_ordered(code)).tolist():
            own = slice(lane, lane + 1)
            counts[lane] = len(messages.orphans(code[own], position[own], after[own])[0])
        return counts
