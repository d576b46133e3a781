"""Read the protocol's events of a stored recording, and count its records by binary search.

The reference is ``snapshots.domain.dataflow_logs.checkpoints.reference``, which looks at every
event and every message.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

import numpy as np
import pyarrow.compute as pc

from snapshots.domain.dataflow_logs import event_time
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
from snapshots.store.objects.paths import path_of
from tasks.spark.task_tables import TaskTables

Question = TypeVar("Question", Span, Ahead, Early)


@dataclass(frozen=True)
class CheckpointTask:
    """A half-open range of snapshot codes of the store in ``folder``."""

    folder: str
    first: int
    end: int


@dataclass(frozen=True)
class ReportedCheckpoint:
    """The report of one checkpoint; ``step`` is that of the checkpoint's first event."""

    step: int
    report: CheckpointReport
    files: tuple[Acknowledged, ...]


def report_checkpoints(task: CheckpointTask) -> list[ReportedCheckpoint]:
    """Return the reports of the task's checkpoints."""
    stored = StoredEvents(path_of(task.folder))
    run = stored.run()
    checkpoints = by_checkpoint(stored.of_checkpoints(task.first, task.end))
    return [
        ReportedCheckpoint(
            events[0].step,
            report(CheckpointEvents(name, events, run), stored.count),
            tuple(acknowledged(name, events)),
        )
        for name, events in checkpoints.items()
    ]


class StoredEvents:
    """The protocol's events of a stored recording, and counts of its records."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.manifest = Manifest.read(folder)
        self.tables = TaskTables(folder, self.manifest)
        self.processes = [process.id for process in self.tables.topology.processes]
        self.channels = [channel.id for channel in self.tables.topology.channels]
        self.channel_codes = {name: code for code, name in enumerate(self.channels)}

    def plan(self) -> Plan:
        extra = self.manifest.header_extra
        unit = self.manifest.time_unit
        earlier = extra.get("started_from")
        return Plan(self.tables.topology, dataflow_of(extra), unit, is_derived(extra), earlier)

    def run(self) -> RunEvents:
        return RunEvents(self._events(RUN_KINDS), self.plan())

    def of_event_time(self) -> list[ProtocolEvent]:
        """Return the watermarks and late records, sorted by step; older stores have none."""
        kinds = event_time.KINDS
        return self._events(kinds) if set(kinds) <= set(self.manifest.kinds) else []

    def of_checkpoints(self, first: int, end: int) -> list[ProtocolEvent]:
        """Return the events of the snapshots with codes in [``first``, ``end``), sorted by step."""
        return self._events(CHECKPOINT_KINDS, first, end)

    def loads(self) -> Ints:
        """Return how many events each snapshot has: int64[S]."""
        counts = np.zeros(len(self.manifest.snapshots), np.int64)
        for number, rows in self._rows(CHECKPOINT_KINDS):
            snapshot = self.tables.events.parts[number].numbers("snapshot", rows)
            counts += np.bincount(snapshot[snapshot != NONE], minlength=len(counts))
        return counts

    def _rows(self, kinds: Iterable[str]) -> Iterable[tuple[int, Ints]]:
        """Yield, for each part of the events, its number and the rows of the given kinds."""
        wanted = np.zeros(len(self.manifest.kinds), bool)
        wanted[[KINDS.index(kind) for kind in kinds]] = True
        for number, part in enumerate(self.tables.events.parts):
            yield number, np.flatnonzero(wanted[part.numbers("kind", slice(0, part.num_rows))])

    def _events(
        self, kinds: Iterable[str], first: int = NONE, end: int | None = None
    ) -> list[ProtocolEvent]:
        """Return the events of the given kinds, sorted by step.

        ``first`` and ``end`` restrict them to a half-open range of snapshot codes.
        """
        held = {} if end is None else self._held(first, end)
        events: list[ProtocolEvent] = []
        for number, rows in self._rows(kinds):
            if end is not None:
                snapshot = self.tables.events.parts[number].numbers("snapshot", rows)
                rows = rows[(snapshot >= first) & (snapshot < end)]
            events += self._made(number, rows, held)
        return sorted(events, key=lambda event: event.step)

    def _made(
        self, number: int, rows: Ints, held: dict[tuple[int, int], int]
    ) -> Iterable[ProtocolEvent]:
        part = self.tables.events.parts[number]
        names = ("process", "kind", "at", "step", "channel", "snapshot")
        columns = {name: part.numbers(name, rows) for name in names}
        index = rows - self.tables.events.begin[columns["process"]]
        label, extra = (part.texts(name, rows).to_pylist() for name in ("label", "extra"))
        lists = (*(columns[name].tolist() for name in names), index.tolist(), label, extra)
        for process, kind, at, step, channel, snapshot, at_index, text, more in zip(
            *lists, strict=True
        ):
            yield ProtocolEvent(
                process=self.processes[process],
                index=at_index,
                kind=KINDS[kind],
                at=at,
                step=step,
                channel=None if channel == NONE else self.channels[channel],
                snapshot=None if snapshot == NONE else self.manifest.snapshots[snapshot],
                label=text,
                held=held.get((process, at_index)),
                fields=fields_of(more),
            )

    def _held(self, first: int, end: int) -> dict[tuple[int, int], int]:
        """Count the messages that each ``record_channel`` lists, by (process, index)."""
        records = read_batch(self.folder / RECORDS, RECORD_COLUMNS)
        bounds = np.searchsorted(records.column("snapshot").to_numpy(), [first, end])
        rows = records.slice(bounds[0], bounds[1] - bounds[0])
        rows = rows.filter(pc.equal(rows.column("kind"), KINDS.index(RECORD_CHANNEL)))
        lengths = pc.list_value_length(rows.column("messages")).to_pylist()
        positions = zip(
            *(rows.column(name).to_pylist() for name in ("process", "index")), strict=True
        )
        return {
            position: length
            for position, length in zip(positions, lengths, strict=True)
            if length is not None
        }

    # --- counting --------------------------------------------------------------------------------

    def count(self, questions: Sequence[Span | Ahead | Early]) -> list[int]:
        """Answer the questions of ``checkpoints.Records``; one search answers all of a kind."""
        answers = np.zeros(len(questions), np.int64)
        self._count(Span, self._spans, questions, answers)
        self._count(Ahead, self._ahead, questions, answers)
        self._count(Early, self._early, questions, answers)
        return answers.tolist()

    def _count(
        self,
        kind: type[Question],
        count: Callable[[list[Question], Ints, Ints], Ints],
        questions: Sequence[Span | Ahead | Early],
        answers: Ints,
    ) -> None:
        """Answer the questions of one kind."""
        own = {index: item for index, item in enumerate(questions) if isinstance(item, kind)}
        if own:
            code = np.array([self.channel_codes[item.channel] for item in own.values()])
            sent = np.array([item.sent_index for item in own.values()])
            answers[list(own)] = count(list(own.values()), code, sent)

    def _spans(self, questions: list[Span], code: Ints, sent: Ints) -> Ints:
        messages, source = self.tables.messages, self.tables.source[code]
        until = np.array([2**62 if item.until is None else item.until for item in questions])
        end = self.tables.events.bisect_in("step", source, until)
        return np.maximum(messages.sent(code, end) - messages.sent(code, sent + 1), 0)

    def _ahead(self, questions: list[Ahead], code: Ints, sent: Ints) -> Ints:
        messages, target = self.tables.messages, self.tables.target[code]
        position = self.tables.events.bisect_in(
            "step", target, np.array([item.step for item in questions])
        )
        before = messages.sent(code, sent)
        counts = np.maximum(before - messages.arrived(code, position), 0)
        for lane in np.flatnonzero(~messages.is_ordered(code)).tolist():
            own = slice(lane, lane + 1)
            counts[lane] = len(messages.waiting(code[own], position[own], before[own])[0])
        return counts

    def _early(self, questions: list[Early], code: Ints, sent: Ints) -> Ints:
        messages = self.tables.messages
        position = np.array([item.received_index for item in questions])
        after = messages.sent(code, sent + 1)
        counts = np.maximum(messages.end_of_received(code, position) - after, 0)
        for lane in np.flatnonzero(~messages.is_ordered(code)).tolist():
            own = slice(lane, lane + 1)
            counts[lane] = len(messages.orphans(code[own], position[own], after[own])[0])
        return counts
