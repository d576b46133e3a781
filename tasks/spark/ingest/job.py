"""Turn a source into a stored recording.

The stages are one Spark action each, over files in a working folder that driver and workers reach:

1. parse: chunks of the source are parsed and sorted by process (``parse``);
2. order: ranges of processes are cut out of the chunks, sorted and written (``order``);
3. match: sends meet receives, and ranges of channels are written (``match``);
4. times: if the order of the source is not causal, times and steps are computed and the parts
   are written again (``times``).

Working files have unique names, and a stage returns which of them count, so a repeated task leaves
nothing half done. A small source goes through all stages in one Spark task. The reference is
``snapshots.domain.assembling.assembly.assemble`` with ``snapshots.store.writer``.
"""

import itertools
import pickle
import secrets
import shutil
from collections.abc import Iterable
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pyarrow as pa
from pyspark.sql import SparkSession

from snapshots.domain.model import defects as say
from snapshots.domain.model.defects import Defect, Defects
from snapshots.domain.model.recording import KINDS, RECORD_CHANNEL
from snapshots.readers.formats.limits import Limits
from snapshots.readers.recognition import sniff
from snapshots.store.layout import (
    CHANNEL_COLUMNS,
    CHANNELS,
    MARKERS,
    MESSAGE_DISORDER,
    MESSAGES,
    NONE,
    PROCESS_COLUMNS,
    PROCESSES,
    RECORD_COLUMNS,
    RECORDS,
    STRAY_COLUMNS,
    STRAYS,
)
from snapshots.store.manifest import Manifest, Part
from snapshots.store.parts import map_batch, write_table
from snapshots.store.writer import finish, write_defects
from tasks.spark import session
from tasks.spark.ingest.match import EndsFile, MatchTask, match_channels
from tasks.spark.ingest.order import OrderTask, order_processes
from tasks.spark.ingest.schemas import (
    ROWS_PER_PART,
    ListedDefects,
    Matched,
    Ordered,
    Piece,
    Placed,
    Staged,
    ranges,
)
from tasks.spark.ingest.small_tables import channel_rows, extent, process_rows, timed_rows
from tasks.spark.ingest.sources import IngestTask, is_small, parse_tasks, size_of
from tasks.spark.ingest.times import (
    Clock,
    TimeTask,
    causes,
    logged_times,
    retime,
    snapshots_by_step,
    timed,
)
from tasks.spark.stages import Progress, SparkStages, Stages, StagesHere, run_phase

READING, ORDERING, MATCHING = "reading", "ordering", "matching"
TIMING, FINISHING = "timing", "finishing"


@dataclass(frozen=True)
class IngestResult:
    """What an ingest wrote: the manifest, the listed defects, and the number of all defects."""

    manifest: Manifest
    defects: tuple[Defect, ...]
    defects_total: int


def ingest(
    source: Path,
    folder: Path,
    *,
    limits: Limits,
    progress: Progress,
    format: str | None = None,
    name: str = "",
    spark: SparkSession | None = None,
) -> IngestResult:
    """Write the recording in ``source`` into the empty folder ``folder``.

    Args:
        folder: must be reachable by driver and workers; its files are useless after an error.
        progress: called with the phase, the amount done and the amount in all, which are bytes
            while ``reading`` and events after that; may raise to cancel.
        format: name of the reader; None to recognise it from the content.
        name: name of the recording if its header has none.
        spark: the session to use; this process's own if None.

    Raises: InputRefused, what ``progress`` raises, SparkUnavailable, SparkTaskFailed, OSError.
    """
    source, folder = Path(source), Path(folder)
    reader = sniff(source, limits, format).reader
    header = reader.header(source, limits)
    task = IngestTask(
        source, reader.name, replace(header, name=header.name or name), folder, limits
    )
    stages = SparkStages(spark or session.get(), folder)
    if not is_small(source):
        return Ingest(task, stages, progress).run()
    size = size_of(source)
    progress(READING, 0, size)
    [result] = stages.run(ingest_here, [task])
    events = result.manifest.counts["events"]
    progress(FINISHING, events, events)
    return result


def ingest_here(task: IngestTask) -> IngestResult:
    """Run the whole ingest in this process."""
    return Ingest(task, StagesHere(), lambda phase, done, total: None).run()


class Ingest:
    """One run through the stages of an ingest.

    Args:
        kinds, snapshots: names by code.
        counts: events per process.
    """

    def __init__(self, task: IngestTask, stages: Stages, progress: Progress) -> None:
        self.task = task
        self.stages = stages
        self.progress = progress
        self.topology = task.header.topology
        self.store = task.folder
        self.work = task.folder / ".work"
        self.defects = Defects()
        self.unlisted = 0
        self.kinds: tuple[str, ...] = KINDS
        self.snapshots: tuple[str, ...] = ()
        self.counts = np.zeros(len(self.topology.processes), np.int64)
        self.source, self.target = task.header.channel_ends

    def run(self) -> IngestResult:
        self.work.mkdir(parents=True, exist_ok=True)
        try:
            return self._run()
        finally:
            shutil.rmtree(self.work, ignore_errors=True)

    def _run(self) -> IngestResult:
        staged = self._parse()
        ordered = self._order(staged)
        matched = self._match(staged, ordered)
        clock, events, flights = self._time(staged, ordered, matched)
        self._add_clock_defects(ordered, matched)
        records = self._records(ordered, clock)
        self._add_record_defects(records, matched)
        return self._finish(events, flights, records, self._strays(matched, clock))

    # --- the stages --------------------------------------------------------------------------

    def _parse(self) -> list[Staged]:
        header = self.work / f"header-{secrets.token_hex(8)}"
        header.write_bytes(pickle.dumps(self.task.header))
        size = size_of(self.task.source)
        self.progress(READING, 0, size)
        kernel, tasks, weights = parse_tasks(self.task, header, self.work, self.stages.capacity)
        results = run_phase(self.stages, self.progress, READING, kernel, tasks, weights)
        for _, defects in results:
            self._add_defects(defects)
        self.defects.raise_refused()
        staged = [chunk for chunks, _ in results for chunk in chunks]
        for chunk in staged:
            _count(self.counts, chunk.counts)
        named = dict.fromkeys(name for chunk in staged for name in chunk.snapshots)
        unknown = sorted({name for chunk in staged for name in chunk.kinds} - set(KINDS))
        self.snapshots, self.kinds = tuple(named), (*KINDS, *unknown)
        return staged

    def _order(self, staged: list[Staged]) -> list[Ordered]:
        pieces = tuple(self._pieces(staged))
        process_ranges = ranges(self.counts.tolist(), ROWS_PER_PART, self.stages.capacity)
        names = [process.id for process in self.topology.processes]
        tasks = [
            OrderTask(str(self.store), str(self.work), pieces, first, end, tuple(names[first:end]))
            for first, end in process_ranges
        ]
        weights = [int(self.counts[first:end].sum()) for first, end in process_ranges]
        ordered = run_phase(self.stages, self.progress, ORDERING, order_processes, tasks, weights)
        for part in ordered:
            self._add_defects(part.order)
        self.defects.raise_refused()
        return ordered

    def _pieces(self, staged: list[Staged]) -> Iterable[Piece]:
        kinds = {name: code for code, name in enumerate(self.kinds)}
        snapshots = {name: code for code, name in enumerate(self.snapshots)}
        base = 0
        for chunk in staged:
            yield Piece(
                file=chunk.file,
                base=base,
                kinds=tuple(kinds[name] for name in chunk.kinds),
                snapshots=tuple(snapshots[name] for name in chunk.snapshots),
            )
            base += chunk.rows

    def _match(self, staged: list[Staged], ordered: list[Ordered]) -> list[Matched]:
        channels = self.topology.channels
        counts = np.zeros(len(channels), np.int64)
        for chunk in staged:
            _count(counts, chunk.ends)
        spans = ranges(counts.tolist(), 2 * ROWS_PER_PART, self.stages.capacity)
        tasks = [
            self._match_task(first, end, ordered) for first, end in _covering(spans, len(channels))
        ]
        weights = [int(counts[task.first : task.end].sum()) for task in tasks]
        matched = run_phase(self.stages, self.progress, MATCHING, match_channels, tasks, weights)
        for part in matched:
            self._add_defects(part.matching)
        return matched

    def _match_task(self, first: int, end: int, ordered: list[Ordered]) -> MatchTask:
        channels = self.topology.channels[first:end]
        return MatchTask(
            store=str(self.store),
            ends=tuple(
                EndsFile(part.ends, str(self.store / part.part.file))
                for part in ordered
                if part.ends
            ),
            records=tuple(part.records for part in ordered if part.records),
            first=first,
            end=end,
            channels=tuple(channel.id for channel in channels),
            fifo=tuple(channel.fifo for channel in channels),
            overtaking=tuple(channel.overtaking for channel in channels),
            processes=tuple(process.id for process in self.topology.processes),
            snapshots=self.snapshots,
        )

    def _time(
        self, staged: list[Staged], ordered: list[Ordered], matched: list[Matched]
    ) -> tuple[Clock | None, list[Part], list[Part]]:
        """Return the clock that sorts all events causally, and the parts of events and flights.

        The clock is None if the source is in causal order already.
        """
        events = [part.part for part in ordered]
        flights = [part for group in matched for part in group.parts]
        in_order = all(part.in_step for part in ordered) and all(part.causal for part in matched)
        if in_order and _orderly(staged):
            return None, events, flights
        clock, first_rows = self._clock(events, [part for part in flights if _is_flight(part)])
        markers = [part for part in flights if part.table == MARKERS]
        tasks = [
            TimeTask(
                str(self.store), part, clock, first_rows.get(part.file, 0), self.source, self.target
            )
            for part in (*events, *markers)
        ]
        written = run_phase(
            self.stages, self.progress, TIMING, retime, tasks, [task.part.rows for task in tasks]
        )
        self.snapshots = tuple(
            name for _, name in sorted(zip(clock.snapshots, self.snapshots, strict=True))
        )
        return (
            clock,
            [part for parts in written[: len(events)] for part in parts],
            [
                *(part for part in flights if part.table in (MESSAGES, MESSAGE_DISORDER)),
                *(part for parts in written[len(events) :] for part in parts),
            ],
        )

    def _clock(self, events: list[Part], flights: list[Part]) -> tuple[Clock, dict[str, int]]:
        starts = np.concatenate(([0], np.cumsum(self.counts)))
        logged = logged_times(self.store, events)
        cause = causes(self.store, flights, starts, self.source, self.target)
        times = timed(self.topology, starts, logged, cause)
        files = {name: str(self.work / f"{name}.npy") for name in ("at", "step", "starts")}
        for name, column in (("at", times.at), ("step", times.step), ("starts", starts)):
            np.save(files[name], column)
        ranks = snapshots_by_step(self.store, events, times.step, len(self.snapshots))
        rows = np.cumsum([0, *(part.rows for part in events)])
        first_rows = {part.file: int(row) for part, row in zip(events, rows, strict=False)}
        return Clock(files["at"], files["step"], files["starts"], tuple(ranks)), first_rows

    # --- defects ------------------------------------------------------------------------------

    def _add_defects(self, defects: ListedDefects) -> None:
        self.defects.extend(defects.listed)
        self.unlisted += defects.unlisted

    def _add_placed(self, placed: Iterable[Placed]) -> None:
        self.defects.extend(item.defect for item in sorted(placed, key=lambda item: item.place))

    def _add_clock_defects(self, ordered: list[Ordered], matched: list[Matched]) -> None:
        for part in ordered:
            self._add_defects(part.clocks)
        self._add_placed(item for part in matched for item in part.early)
        for channels in matched:
            self._add_defects(channels.overtaken)

    def _add_record_defects(self, records: pa.Table, matched: list[Matched]) -> None:
        unknown = [item for part in matched for item in part.unknown]
        self.unlisted += sum(part.unlisted for part in matched)
        self._add_placed([*self._recorded_twice(records), *unknown])

    def _recorded_twice(self, records: pa.Table) -> list[Placed]:
        """Return the defects of states and channels recorded twice.

        ``records`` has RECORD_COLUMNS, sorted as in the store.
        """
        kind = records["kind"].to_numpy()
        channel = np.where(kind == KINDS.index(RECORD_CHANNEL), records["channel"].to_numpy(), NONE)
        columns = [records[name].to_numpy() for name in ("process", "snapshot")]
        by_key = np.lexsort((records["index"].to_numpy(), channel, *columns))
        keys = np.stack([channel, *columns], axis=1)[by_key]
        again = by_key[1:][(keys[1:] == keys[:-1]).all(axis=1)]
        return [self._record_again(row) for row in records.take(pa.array(again)).to_pylist()]

    def _record_again(self, row: dict) -> Placed:
        part = "its state"
        if row["kind"] == KINDS.index(RECORD_CHANNEL):
            part = f"channel {say.quoted(self.topology.channels[row['channel']].id)}"
        defect = say.recorded_twice(
            process=self.topology.processes[row["process"]].id,
            snapshot=self.snapshots[row["snapshot"]],
            part=part,
            line=row["line"],
        )
        return Placed((row["process"], row["index"], 0), defect)

    # --- the small tables --------------------------------------------------------------------

    def _records(self, ordered: list[Ordered], clock: Clock | None) -> pa.Table:
        batches = [map_batch(Path(part.records)) for part in ordered if part.records]
        records = timed_rows(pa.Table.from_batches(batches, RECORD_COLUMNS), clock)
        return records.sort_by([(name, "ascending") for name in ("snapshot", "process", "index")])

    def _strays(self, matched: list[Matched], clock: Clock | None) -> pa.Table:
        tables = [STRAY_COLUMNS.empty_table(), *(part.strays for part in matched)]
        return timed_rows(pa.concat_tables(tables), clock).sort_by("line")

    def _finish(
        self, events: list[Part], flights: list[Part], records: pa.Table, strays: pa.Table
    ) -> IngestResult:
        total = int(self.counts.sum())
        self.progress(FINISHING, 0, total)
        for name, rows, schema in (
            (PROCESSES, process_rows(self.topology), PROCESS_COLUMNS),
            (CHANNELS, channel_rows(self.topology, self.source, self.target), CHANNEL_COLUMNS),
            (RECORDS, records, RECORD_COLUMNS),
            (STRAYS, strays, STRAY_COLUMNS),
        ):
            write_table(self.store / name, rows, schema)
        defects_total = self.defects.total + self.unlisted
        write_defects(self.store, self.defects.listed, defects_total)
        manifest = finish(self.store, self._manifest(events, flights, defects_total))
        self.progress(FINISHING, total, total)
        return IngestResult(manifest, self.defects.listed, defects_total)

    def _manifest(self, events: list[Part], flights: list[Part], defects: int) -> Manifest:
        header = self.task.header
        rows = {
            table: sum(part.rows for part in flights if part.table == table)
            for table in (MESSAGES, MARKERS)
        }
        return Manifest(
            name=header.name,
            time_unit=header.time_unit,
            source_format=self.task.format,
            kinds=self.kinds,
            snapshots=self.snapshots,
            counts={
                "events": int(self.counts.sum()),
                **rows,
                "processes": len(self.topology.processes),
                "channels": len(self.topology.channels),
                "snapshots": len(self.snapshots),
                "defects": defects,
            },
            extent=extent(self.store, events),
            parts=(*events, *flights),
            header_extra=header.extra,
        )


def _count(counts: np.ndarray, counted: dict[int, int]) -> None:
    for code, count in counted.items():
        counts[code] += count


def _covering(spans: list[tuple[int, int]], codes: int) -> list[tuple[int, int]]:
    """Widen the ranges so that every code lies in one: a channel without ends may be recorded."""
    if not codes:
        return []
    bounds = [0, *(first for first, _ in spans[1:]), codes]
    return list(itertools.pairwise(bounds))


def _orderly(staged: list[Staged]) -> bool:
    """Tell whether every event has a time and times never fall in the order of the source."""
    if not all(chunk.orderly for chunk in staged):
        return False
    pairs = itertools.pairwise(staged)
    return all(earlier.last_at <= later.first_at for earlier, later in pairs)


def _is_flight(part: Part) -> bool:
    return part.table in (MESSAGES, MARKERS)
