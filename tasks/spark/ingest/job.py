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
from collections.abc import Callable, Iterable
from contextlib import ExitStack
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pyarrow as pa
from pyspark.sql import SparkSession

from snapshots.domain.assembling.restores import require_few
from snapshots.domain.model.defects import Defect
from snapshots.domain.model.recording import KINDS, Restored, SnapshotId
from snapshots.readers.formats.limits import Limits
from snapshots.readers.logs.native import NativeReader
from snapshots.readers.recognition import sniff
from snapshots.store.layout import (
    CHANNEL_COLUMNS,
    CHANNELS,
    MARKER_DISORDER,
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
from snapshots.store.levels import LevelTask
from snapshots.store.manifest import Extent, Manifest, Part
from snapshots.store.objects.paths import path_of, remove_tree
from snapshots.store.parts import drop_parts, write_table
from snapshots.store.restores import write_restores
from snapshots.store.writer import finish, write_defects
from tasks.spark import session
from tasks.spark.capacity import PARTS_PER_CORE
from tasks.spark.ingest.all_defects import AllDefects
from tasks.spark.ingest.handing import Handing, fetched
from tasks.spark.ingest.match import EndsFile, MatchTask, match_channels
from tasks.spark.ingest.order import OrderTask, order_processes
from tasks.spark.ingest.restored import restore_defects, whole
from tasks.spark.ingest.room import TooLittleRoom, require_room
from tasks.spark.ingest.schemas import (
    ROWS_PER_PART,
    TEXT_BYTES_PER_ROW,
    Matched,
    Ordered,
    Piece,
    Staged,
    ranges,
)
from tasks.spark.ingest.small_tables import channel_rows, process_rows, timed_rows
from tasks.spark.ingest.sources import (
    LEAST_BYTES_PER_EVENT,
    IngestTask,
    is_small,
    least_room,
    parse_tasks,
    remove_texts,
    size_of,
)
from tasks.spark.ingest.times import Clock, ClockTask, TimeTask, retime, set_clock
from tasks.spark.ingest.working import read_all
from tasks.spark.stages import Progress, SparkStages, Stages, StagesHere, run_phase

WORK = ".work"
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
    header_file: Path | None = None,
    spark: SparkSession | None = None,
) -> IngestResult:
    """Write the recording in ``source`` into the empty folder ``folder``.

    Args:
        folder: must be reachable by driver and workers; its files are useless after an error.
        progress: called with the phase, the amount done and the amount in all, which are bytes
            while ``reading`` and events after that; may raise to cancel.
        format: name of the reader; None to recognise it from the content.
        name: name of the recording if its header has none.
        header_file: a file with the header in its first line, if the source has none.
        spark: the session to use; this process's own if None.

    Raises: InputRefused, what ``progress`` raises, SparkUnavailable, SparkTaskFailed, OSError.
    """
    reader = sniff(source, limits, format).reader
    header = (NativeReader() if header_file else reader).header(header_file or source, limits)
    named = replace(header, name=header.name or name)
    task = IngestTask(source, reader.name, named, folder, limits, header_file)
    stages = SparkStages(spark or session.get(), folder)
    if not is_small(source):
        return Ingest(task, stages, progress).run()
    size = size_of(source)
    progress(READING, 0, size)
    handing = Handing(folder / WORK, shares_files=stages.shares_files)
    beside = None if header_file is None else path_of(handing.place(header_file))
    handed = replace(task, source=path_of(handing.place(source)), header_file=beside)
    [result] = stages.run(ingest_here, [handed])
    events = result.manifest.counts["events"]
    progress(FINISHING, events, events)
    return result


def ingest_here(task: IngestTask) -> IngestResult:
    """Run the whole ingest in this process."""
    with fetched(task.source) as source, ExitStack() as closing:
        beside = None
        if task.header_file is not None:
            beside = closing.enter_context(fetched(task.header_file))
        local = replace(task, source=source, header_file=beside)
        return Ingest(local, StagesHere(), lambda phase, done, total: None).run()


class Ingest:
    """One run through the stages of an ingest.

    Args:
        kinds, snapshots: names by code.
        counts: events per process.
        span: the first and the last instant, 0 if there is no event.
        restores: those with an epoch, by process code.
    """

    def __init__(self, task: IngestTask, stages: Stages, progress: Progress) -> None:
        self.task = task
        self.stages = stages
        self.progress = progress
        self.topology = task.header.topology
        self.store = task.folder
        self.work = task.folder / WORK
        self.staged, self.ends, self.records = (
            self.work / name for name in ("staged", "ends", "records")
        )
        self.handing = Handing(self.work, shares_files=stages.shares_files)
        self.defects = AllDefects()
        self.kinds: tuple[str, ...] = KINDS
        self.snapshots: tuple[str, ...] = ()
        self.counts = np.zeros(len(self.topology.processes), np.int64)
        self.span = 0, 0
        self.restores: dict[int, list[Restored]] = {}
        self.source, self.target = task.header.channel_ends

    def run(self) -> IngestResult:
        require_room(self.store, least_room(self.task))
        for folder in (self.staged, self.ends, self.records):
            folder.mkdir(parents=True, exist_ok=True)
        try:
            return self._run()
        finally:
            remove_tree(self.work)

    def _run(self) -> IngestResult:
        staged = self._parse()
        ordered = self._order(staged)
        _remove(self.staged)
        matched = self._match(staged, ordered)
        _remove(self.ends)
        clock, events, flights = self._time(staged, ordered, matched)
        self.defects.add_clocks(ordered, matched)
        records = self._records(ordered, clock)
        self.defects.add_records(records, matched, self.topology, self.snapshots)
        if self.restores:
            names = [process.id for process in self.topology.processes]
            by_name = {names[code]: own for code, own in sorted(self.restores.items())}
            self.defects.extend(
                restore_defects(by_name, records, names, self.snapshots, self.topology)
            )
        again = {key: found for part in matched for key, found in part.again.items()}
        write_restores(self.store, whole(self.restores, again, self.target))
        return self._finish(events, flights, records, self._strays(matched, clock))

    # --- the stages --------------------------------------------------------------------------

    def _parse(self) -> list[Staged]:
        header = self.work / f"header-{secrets.token_hex(8)}"
        header.write_bytes(pickle.dumps(self.task.header))
        size = size_of(self.task.source)
        self.progress(READING, 0, size)
        kernel, tasks, weights = parse_tasks(
            self.task, header, self.staged, self.stages.capacity, self.handing
        )
        results = run_phase(self.stages, self.progress, READING, kernel, tasks, weights)
        remove_texts(self.staged)
        for _, defects in results:
            self.defects.add(defects)
        self.defects.raise_refused()
        staged = [chunk for chunks, _ in results for chunk in chunks]
        for chunk in staged:
            _count(self.counts, chunk.counts)
        named = dict.fromkeys(name for chunk in staged for name in chunk.snapshots)
        unknown = sorted({name for chunk in staged for name in chunk.kinds} - set(KINDS))
        self.snapshots, self.kinds = tuple(named), (*KINDS, *unknown)
        needed = int(self.counts.sum()) * LEAST_BYTES_PER_EVENT
        require_room(self.store, needed, TooLittleRoom)
        return staged

    def _order(self, staged: list[Staged]) -> list[Ordered]:
        pieces = tuple(self._pieces(staged))
        process_ranges = ranges(self._loads(staged), ROWS_PER_PART, self.stages.capacity)
        names = [process.id for process in self.topology.processes]
        store, ends, records = map(str, (self.store, self.ends, self.records))
        tasks = [
            OrderTask(store, ends, records, pieces, first, end, tuple(names[first:end]))
            for first, end in process_ranges
        ]
        weights = [int(self.counts[first:end].sum()) for first, end in process_ranges]
        ordered = run_phase(self.stages, self.progress, ORDERING, order_processes, tasks, weights)
        for part in ordered:
            self.defects.add(part.order)
        self.defects.raise_refused()
        for process, snapshot, restored in (item for part in ordered for item in part.restores):
            name = SnapshotId(self.snapshots[snapshot]) if snapshot != NONE else None
            self.restores.setdefault(process, []).append(replace(restored, snapshot=name))
        require_few({names[code]: own for code, own in sorted(self.restores.items())})
        return ordered

    def _loads(self, staged: list[Staged]) -> list[int]:
        """Return the rows of each process, more of them where its texts are long."""
        sizes = np.zeros(len(self.counts), np.int64)
        for chunk in staged:
            _count(sizes, chunk.sizes)
        loads: list[int] = np.maximum(self.counts, sizes // TEXT_BYTES_PER_ROW).tolist()
        return loads

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
            self.defects.add(part.matching)
        return matched

    def _match_task(self, first: int, end: int, ordered: list[Ordered]) -> MatchTask:
        channels = self.topology.channels[first:end]
        return MatchTask(
            store=str(self.store),
            ends=tuple(EndsFile(part.ends, part.part.file) for part in ordered if part.ends),
            records=tuple(part.records for part in ordered if part.records),
            first=first,
            end=end,
            channels=tuple(channel.id for channel in channels),
            fifo=tuple(channel.fifo for channel in channels),
            overtaking=tuple(channel.overtaking for channel in channels),
            processes=tuple(process.id for process in self.topology.processes),
            snapshots=self.snapshots,
            restores={
                code: restores
                for code in range(first, end)
                if any(restores := self._restores_at(code))
            },
        )

    def _restores_at(self, channel: int) -> tuple[tuple[Restored, ...], tuple[Restored, ...]]:
        """Return the restores of the source and of the target of a channel."""
        source, target = int(self.source[channel]), int(self.target[channel])
        return tuple(self.restores.get(source, ())), tuple(self.restores.get(target, ()))

    def _restored_rows(self) -> Iterable[int]:
        starts = np.cumsum(self.counts) - self.counts
        for process, restores in self.restores.items():
            yield from (int(starts[process]) + restored.row for restored in restores)

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
            if staged:
                self.span = staged[0].first_at, staged[-1].last_at
            return None, events, flights
        clock = self._clock(events, [part for part in flights if _is_flight(part)])
        self.span = clock.first_at, clock.last_at
        drop_parts(self.store, [part for part in flights if part.table == MARKER_DISORDER])
        # The times of messages are those of the events, so that their parts stay.
        kept = [part for part in flights if part.table in (MESSAGES, MESSAGE_DISORDER)]
        markers = self._retimed([part for part in flights if part.table == MARKERS], clock)
        events = self._retimed(events, clock)
        self.snapshots = tuple(
            name for _, name in sorted(zip(clock.snapshots, self.snapshots, strict=True))
        )
        return clock, events, [*kept, *markers]

    def _clock(self, events: list[Part], flights: list[Part]) -> Clock:
        task = ClockTask(
            store=str(self.store),
            work=str(self.work),
            events=tuple(events),
            flights=tuple(flights),
            starts=np.concatenate(([0], np.cumsum(self.counts))),
            source=self.source,
            target=self.target,
            processes=tuple(process.id for process in self.topology.processes),
            snapshots=len(self.snapshots),
            restores=tuple(self._restored_rows()),
        )
        weights = [int(self.counts.sum())]
        [clock] = run_phase(self.stages, self.progress, TIMING, set_clock, [task], weights)
        return clock

    def _retimed(self, parts: list[Part], clock: Clock) -> list[Part]:
        """Write parts again, some at a time: the old ones go before further ones are written."""
        at_once = PARTS_PER_CORE * self.stages.capacity.cores
        rows = [part.rows for part in parts]
        first_rows = np.cumsum([0, *rows]).tolist()
        written: list[Part] = []
        for begin in range(0, len(parts), at_once):
            group = range(begin, min(begin + at_once, len(parts)))
            tasks = [
                TimeTask(str(self.store), parts[n], clock, first_rows[n], self.source, self.target)
                for n in group
            ]
            progress = self._further(first_rows[begin], first_rows[-1])
            weights = [rows[n] for n in group]
            for again in run_phase(self.stages, progress, TIMING, retime, tasks, weights):
                written += again
            drop_parts(self.store, [parts[n] for n in group])
        return written

    def _further(self, before: int, total: int) -> Progress:
        """Return a progress that counts on from what was done before."""
        return lambda phase, done, _: self.progress(phase, before + done, total)

    # --- the small tables --------------------------------------------------------------------

    def _records(self, ordered: list[Ordered], clock: Clock | None) -> pa.Table:
        tables = [read_all(path_of(part.records)) for part in ordered if part.records]
        records = timed_rows(pa.concat_tables([RECORD_COLUMNS.empty_table(), *tables]), clock)
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
        write_defects(self.store, self.defects.listed, self.defects.total)
        manifest = self._manifest(events, flights)
        manifest = finish(self.store, manifest, run=self._count_levels)
        self.progress(FINISHING, total, total)
        return IngestResult(manifest, self.defects.listed, self.defects.total)

    def _count_levels(self, kernel: Callable, tasks: list[LevelTask]) -> list[list[str]]:
        weights = [task.load for task in tasks]
        return run_phase(self.stages, self.progress, FINISHING, kernel, tasks, weights)

    def _manifest(self, events: list[Part], flights: list[Part]) -> Manifest:
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
                "defects": self.defects.total,
            },
            extent=Extent(*self.span, int(self.counts.sum())),
            parts=(*events, *flights),
            header_extra=header.extra,
        )


def _remove(folder: Path) -> None:
    """Remove working files that no later stage needs, also those of tasks that ran twice."""
    remove_tree(folder)


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
