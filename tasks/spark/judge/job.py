"""Judge every snapshot of a stored recording.

What is wrong on a channel is found in ``suspects``; states, stray receives and completeness here.

One Spark action covers ranges of channels (``channels``) and of processes (``states``), each for
all snapshots at once. Their results are joined here into the reports of
``snapshots.domain.judging.verdicts``, which is the reference, and written beside the recording.
"""

from functools import cached_property
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray
from pyspark.sql import SparkSession

from snapshots.domain.assembling.restores import restore_before
from snapshots.domain.judging import witnesses as say
from snapshots.domain.judging.answers import Answer, Judged, answers, apart
from snapshots.domain.judging.findings import (
    INCOMPLETE,
    MOST_WITNESSES,
    STATE_MISMATCH,
    UNKNOWN,
    Findings,
    Place,
)
from snapshots.domain.judging.report import SnapshotReport
from snapshots.domain.judging.restored import judged_after_restores
from snapshots.domain.judging.totals import NOT_SUMMED, Totals
from snapshots.domain.model.derived import flaws, is_derived, only_clocks, states_not_judged
from snapshots.domain.model.engine_words import why_not_recorded, words_of
from snapshots.domain.model.recording import (
    Instant,
    SnapshotId,
)
from snapshots.domain.model.topology import ChannelId, ProcessId
from snapshots.domain.model.values import total
from snapshots.store.cut import state_after
from snapshots.store.layout import (
    NONE,
    SNAPSHOT_CHANNEL_COLUMNS,
    SNAPSHOT_STATE_COLUMNS,
)
from snapshots.store.manifest import Manifest
from snapshots.store.objects.paths import path_of
from snapshots.store.tables import Tables
from snapshots.store.writer import write_snapshots
from tasks.spark import session
from tasks.spark.capacity import Capacity
from tasks.spark.ingest.schemas import ranges
from tasks.spark.judge.amounts import added, sum_of
from tasks.spark.judge.channel_cuts import SnapshotFacts
from tasks.spark.judge.channels import ChannelFacts, ChannelTask, judge_channels
from tasks.spark.judge.log import Log, least, most
from tasks.spark.judge.states import STATES, StateTask, judge_states
from tasks.spark.stages import Progress, SparkStages, Stages, run_phase

JUDGING = "judging"
ROWS_PER_TASK = 500_000


def judge_snapshots(
    folder: Path, progress: Progress, spark: SparkSession | None = None
) -> tuple[SnapshotReport, ...]:
    """Judge every snapshot of the recording in ``folder`` and write the reports into it.

    Reports are sorted by the snapshots' first events.

    Args:
        progress: called with the phase, the channels and processes done, and how many there are in
            all; may raise to cancel.
        spark: the session to use; this process's own if None.

    Raises: StoreMissing, StoreDamaged, SparkUnavailable, SparkTaskFailed, what ``progress`` raises.
    """
    stages = SparkStages(spark or session.get(), path_of(folder))
    judge = Judge(path_of(folder))
    reports = judge.reports(*judge.facts(stages, progress))
    write_snapshots(
        judge.folder,
        [report.summary() for report in reports],
        judge.state_rows(),
        judge.contents,
    )
    return reports


def judge_part(tasks: tuple[StateTask | ChannelTask, ...]) -> list[pa.Table | ChannelFacts]:
    """Run some tasks and return their results; this is the kernel of the job."""
    return [
        judge_states(task) if isinstance(task, StateTask) else judge_channels(task)
        for task in tasks
    ]


class Judge:
    """The joined results of all tasks: STATES, and rows of SNAPSHOT_CHANNEL_COLUMNS."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.manifest = Manifest.read(folder)
        self.tables = Tables(folder, self.manifest)
        self.topology = self.tables.topology
        self.names = tuple(map(SnapshotId, self.manifest.snapshots))
        self.processes = [process.id for process in self.topology.processes]
        self.channels = [channel.id for channel in self.topology.channels]
        self.states = STATES.empty_table()
        self.contents = SNAPSHOT_CHANNEL_COLUMNS.empty_table()
        self._held_at_start: dict[bytes, int | float | None] = {}

    def facts(self, stages: Stages, progress: Progress) -> tuple[list[SnapshotFacts], Log]:
        """Run the Spark action, which fills ``states`` and ``contents``."""
        tasks = self._tasks(stages.capacity)
        weights = [sum(task.end - task.first for task in group) for group in tasks]
        groups = run_phase(stages, progress, JUDGING, judge_part, tasks, weights)
        results = [item for group in groups for item in group]
        channels = [item for item in results if isinstance(item, ChannelFacts)]
        states = [self.states, *(item for item in results if isinstance(item, pa.Table))]
        contents = [self.contents, *(item.contents for item in channels)]
        self.states = _sorted(pa.concat_tables(states), "process")
        self.contents = _sorted(pa.concat_tables(contents), "channel")
        facts = [
            _merged([item.snapshots[code] for item in channels])
            for code, _ in enumerate(self.names)
        ]
        return facts, Log(self.tables)

    def _tasks(self, capacity: Capacity) -> list[tuple[StateTask | ChannelTask, ...]]:
        folder = str(self.folder)
        flights = self.tables.messages.table.length + self.tables.markers.table.length
        load = flights + len(self.names) + 1
        lanes = [len(self.names)] * len(self.processes)
        tasks: list[StateTask | ChannelTask] = [
            *(StateTask(folder, *bounds) for bounds in ranges(lanes, ROWS_PER_TASK, capacity)),
            *(
                ChannelTask(folder, *bounds)
                for bounds in ranges(load.tolist(), ROWS_PER_TASK, capacity)
            ),
        ]
        return [tuple(tasks)] if len(tasks) <= 2 else [(task,) for task in tasks]

    def reports(self, facts: list[SnapshotFacts], log: Log) -> tuple[SnapshotReport, ...]:
        """Return reports of the snapshots that a record or marker names, sorted by first event."""
        judged = [_Verdict(self, log, code, item) for code, item in enumerate(facts)]
        present = [(item.began, item) for item in judged if item.began is not None]
        ordered = sorted(present, key=lambda pair: pair[0])
        return judged_after_restores(
            tuple(item.report(Instant(at)) for (_, at), item in ordered),
            {ProcessId(self.processes[code]): own for code, own in self.tables.restores.items()},
            {process.id: process.state for process in self.topology.processes},
            lambda process, restored: state_after(self.tables, process, restored),
        )

    def position(self, snapshot: SnapshotId, process: int) -> int | None:
        """Return the position of a snapshot at a process, None if it did not record it."""
        return self._positions.get((snapshot, process))

    @cached_property
    def _positions(self) -> dict[tuple[SnapshotId, int], int]:
        columns = (self.states[name].to_pylist() for name in ("snapshot", "process", "index"))
        return {(self.names[code], process): at for code, process, at in zip(*columns, strict=True)}

    def held_at_start(self, in_scope: NDArray[np.bool_]) -> int | float | None:
        """Return the sum of the first states of these processes; most snapshots have the same."""
        key = in_scope.tobytes()
        if key not in self._held_at_start:
            processes = self.topology.processes
            codes = np.flatnonzero(in_scope).tolist()
            self._held_at_start[key] = total(processes[code].state for code in codes)
        return self._held_at_start[key]

    @cached_property
    def states_of(self) -> list[pa.Table]:
        """Return the rows of ``states`` by snapshot."""
        return _by_snapshot(self.states, len(self.names))

    @cached_property
    def contents_of(self) -> list[pa.Table]:
        """Return the rows of ``contents`` by snapshot."""
        return _by_snapshot(self.contents, len(self.names))

    def state_rows(self) -> pa.Table:
        """Return SNAPSHOT_STATE_COLUMNS for every snapshot and process."""
        shape = len(self.names), len(self.processes)
        lane = self.states["snapshot"].to_numpy() * shape[1] + self.states["process"].to_numpy()
        row_of_lane = np.full(shape[0] * shape[1], NONE, np.int64)
        row_of_lane[lane] = np.arange(len(lane))
        row = pa.array(row_of_lane, mask=row_of_lane == NONE)
        position = np.full(len(row_of_lane), NONE, np.int64)
        position[lane] = self.states["index"].to_numpy()
        columns = [
            np.repeat(np.arange(shape[0]), shape[1]),
            np.tile(np.arange(shape[1]), shape[0]),
            position,
            *(self.states[name].take(row) for name in ("at", "recorded", "recomputed")),
        ]
        return pa.table(columns, SNAPSHOT_STATE_COLUMNS.names).cast(SNAPSHOT_STATE_COLUMNS)


class _Verdict:
    """Judges one snapshot from the facts of all channels, its states and the strays."""

    def __init__(self, judge: Judge, log: Log, code: int, facts: SnapshotFacts) -> None:
        self.judge = judge
        self.log = log
        self.code = code
        self.name = judge.names[code]
        self.facts = facts
        self.findings = facts.findings
        self.rows = judge.states_of[code]
        self.process, self.index = (self.rows[name].to_numpy() for name in ("process", "index"))
        self.position = np.full(len(judge.processes), NONE, np.int64)
        self.position[self.process] = self.index
        self.in_scope = judge.tables.in_scope(code)
        self.began = least(facts.began, log.began[code])
        self.markers_received = facts.markers_received + log.markers_received[code]
        self.has_markers = bool(facts.markers_sent or self.markers_received)

    def report(self, began_at: Instant) -> SnapshotReport:
        self.initiators = self._initiators()
        self._judge_states()
        strays = self._judge_strays()
        self._judge_completeness()
        recorded, in_flight = self._contents()
        return SnapshotReport(
            snapshot=self.name,
            processes=tuple(
                self.judge.processes[code] for code in np.flatnonzero(self.in_scope).tolist()
            ),
            findings=self.findings.worst_first(),
            answers=self._answers(strays, recorded, in_flight),
            counts=self.findings.worst_first_counts(),
            initiators=self.initiators,
            began_at=began_at,
            ended_at=most(self.facts.ended_at, self.log.ended_at[self.code]),
            markers_sent=self.facts.markers_sent,
            markers_received=self.markers_received,
            positions=self._by_process("index"),
            recorded_at=self._by_process("at"),
            recorded_states=self._by_process("recorded"),
            recomputed_states=self._by_process("recomputed"),
            recorded_channels=recorded,
            in_flight=in_flight,
            totals=self._totals(),
        )

    def _by_process(self, column: str) -> dict[ProcessId, Any]:
        names = self.judge.processes
        items = zip(self.process.tolist(), self.rows[column].to_pylist(), strict=True)
        return {names[process]: value for process, value in items if value is not None}

    def _initiators(self) -> tuple[ProcessId, ...]:
        """Return the processes that recorded before any marker came.

        Without markers, that is the process that recorded first.
        """
        names = self.judge.processes
        if not self.has_markers:
            first = np.argsort(self.rows["step"].to_numpy(), kind="stable")[:1]
            return tuple(names[process] for process in self.process[first].tolist())
        markers = _earliest(self.facts.first_marker, self.log.first_marker[self.code])
        return tuple(
            names[process]
            for process, index in zip(self.process.tolist(), self.index.tolist(), strict=True)
            if index < markers.get(process, index + 1)
        )

    def _judge_states(self) -> None:
        header_extra = self.judge.manifest.header_extra
        for flaw in flaws(header_extra, self.name):
            self.findings.add(flaw)
        differs = pc.fill_null(pc.not_equal(self.rows["recorded"], self.rows["recomputed"]), False)
        wrong = np.flatnonzero(differs.to_numpy())
        for row in self.rows.take(pa.array(wrong[:MOST_WITNESSES])).to_pylist():
            process = self.judge.processes[row["process"]]
            place = Place(process, row["index"], row["at"])
            self.findings.add(
                say.state_mismatch(process, place, row["recorded"], row["recomputed"])
            )
        if len(wrong) > MOST_WITNESSES:
            self.findings.count(STATE_MISMATCH, len(wrong) - MOST_WITNESSES)
        unjudged = len(self.rows) - len(wrong)
        if unjudged and is_derived(header_extra):
            self.findings.add(states_not_judged(unjudged))

    def _judge_strays(self) -> int:
        """Add a finding for each stray receive inside the snapshot, in order of line.

        Return how many have no send in the log at all.
        """
        rows = self.log.messages
        process, index = self.log.process[rows], self.log.index[rows]
        restored = {
            code: found
            for code, own in self.judge.tables.restores.items()
            if (found := restore_before(own, int(self.position[code]))) is not None
        }
        first = np.zeros(len(self.position), np.int64)
        first[list(restored)] = [item.row for item in restored.values()]
        inside = rows[(index < self.position[process]) & (index >= first[process])]
        late = []
        for row in inside[np.isin(self.log.process[inside], list(restored))].tolist():
            undone = self.log.undone(row, restored[int(self.log.process[row])], self.judge.position)
            if undone is not None:
                late.append(row)
                stray = self.log.stray(row)
                self.findings.add(say.received_late(*undone, stray))
        inside = inside[~np.isin(inside, late)]
        for number, row in enumerate(inside.tolist()):
            if not self.findings.wants(UNKNOWN):
                self.findings.count(UNKNOWN, len(inside) - number)
                break
            channel = self.judge.topology.channels[self.log.strays["channel"][row].as_py()]
            self.findings.add(say.stray_inside(channel, self.log.stray(row)))
        return len(inside)

    def _answers(
        self, strays: int, recorded: dict[ChannelId, tuple], in_flight: dict[ChannelId, tuple]
    ) -> tuple[Answer, ...]:
        """Count what could be compared, and answer the four questions."""
        unrecorded = [channel for channel in in_flight if channel not in recorded]
        recorded_states = self.rows["recorded"].is_valid()
        compared_states = pc.and_(recorded_states, self.rows["recomputed"].is_valid())
        compared = _count(compared_states)
        tables = self.judge.tables
        return answers(
            Judged(
                counts=self.findings.counts,
                processes=int(self.in_scope.sum()),
                recorded=len(self.rows),
                channels=int(self.in_scope[tables.source].sum()),
                compared=len(in_flight) - len(unrecorded),
                unrecorded=len(unrecorded),
                unrecorded_in_flight=sum(len(in_flight[channel]) for channel in unrecorded),
                states_compared=compared,
                states_unlogged=_count(recorded_states) - compared,
                strays=strays,
                has_markers=self.has_markers,
                apart=apart(self.rows["at"].to_pylist(), self.judge.manifest.time_unit),
                only_clocks=only_clocks(self.judge.manifest.header_extra),
                words=words_of(self.judge.manifest.header_extra),
            )
        )

    def _judge_completeness(self) -> None:
        """Add what is missing: first processes, then the channels' markers."""
        header_extra = self.judge.manifest.header_extra
        words = words_of(header_extra)
        for code in np.flatnonzero(self.in_scope & (self.position == NONE)).tolist():
            process = self.judge.processes[code]
            in_derived = why_not_recorded(header_extra, self.name, process)
            path = self._path(process)
            self.findings.add(say.never_recorded(process, self.name, path, in_derived))
        if not self.has_markers:
            return
        facts, listed = self.facts, 0
        missing = [*((code, None) for code in facts.unsent), *facts.unclosed]
        for code, marker in sorted(missing, key=lambda item: item[0])[:MOST_WITNESSES]:
            listed += 1
            channel = self.judge.topology.channels[code]
            path = self._path(channel.source, channel.id)
            if marker is None:
                self.findings.add(say.marker_not_sent(channel, self.name, path, words))
            else:
                self.findings.add(say.marker_in_flight(channel, marker, path, words))
        unlisted = facts.unsent_total + facts.unclosed_total - listed
        if unlisted:
            self.findings.count(INCOMPLETE, unlisted)

    def _path(self, goal: ProcessId, *last: ChannelId) -> tuple[ChannelId, ...] | None:
        """Return the path for a witness.

        It is None if no further witness is kept, and in a derived recording, which has no markers.
        """
        is_derived_recording = is_derived(self.judge.manifest.header_extra)
        if is_derived_recording or not self.findings.wants(INCOMPLETE):
            return None
        path = self.judge.topology.path(self.initiators, goal)
        return None if path is None else (*path, *last)

    def _contents(self) -> tuple[dict[ChannelId, tuple], dict[ChannelId, tuple]]:
        """Return the recorded lists, and the ordinals in flight.

        The latter are known for channels whose two ends recorded.
        """
        judge, names = self.judge, self.judge.channels
        rows = judge.contents_of[self.code].to_pylist()
        has_recorded = self.position != NONE
        both = np.flatnonzero(has_recorded[judge.tables.source] & has_recorded[judge.tables.target])
        in_flight: dict[ChannelId, tuple] = {names[code]: () for code in both.tolist()}
        recorded: dict[ChannelId, tuple] = {}
        for row in rows:
            if row["recorded"] is not None:
                recorded[names[row["channel"]]] = tuple(row["recorded"])
            if row["recomputed"] is not None:
                in_flight[names[row["channel"]]] = tuple(row["recomputed"])
        return recorded, in_flight

    def _totals(self) -> Totals:
        if is_derived(self.judge.manifest.header_extra):
            return NOT_SUMMED
        held = self.judge.held_at_start(self.in_scope)
        return Totals(held, self._held_by_processes(), self.facts.amount)

    def _held_by_processes(self) -> int | float | None:
        if len(self.rows) < self.in_scope.sum():
            return None
        return sum_of(pc.coalesce(self.rows["recorded"], self.rows["recomputed"]))


def _by_snapshot(rows: pa.Table, snapshots: int) -> list[pa.Table]:
    """Return the rows of each snapshot, of a table that is sorted by snapshot."""
    whole = rows.combine_chunks()
    bounds = np.searchsorted(whole["snapshot"].to_numpy(), np.arange(snapshots + 1, dtype=np.int32))
    return [whole.slice(begin, end - begin) for begin, end in pairwise(bounds.tolist())]


def _count(flags: pa.ChunkedArray) -> int:
    return int(pc.sum(flags).as_py() or 0)


def _merged(parts: list[SnapshotFacts]) -> SnapshotFacts:
    """Join the facts of consecutive ranges of channels."""
    whole = SnapshotFacts()
    for part in parts:
        _merge_findings(whole.findings, part.findings)
        whole.unsent += part.unsent
        whole.unclosed += part.unclosed
        whole.unsent_total += part.unsent_total
        whole.unclosed_total += part.unclosed_total
        whole.markers_sent += part.markers_sent
        whole.markers_received += part.markers_received
        whole.amount = added(whole.amount, part.amount)
        whole.began = least(whole.began, part.began)
        whole.ended_at = most(whole.ended_at, part.ended_at)
        whole.first_marker = _earliest(whole.first_marker, part.first_marker)
    return whole


def _merge_findings(whole: Findings, part: Findings) -> None:
    for verdict, kept in part.kept.items():
        for finding in kept:
            whole.add(finding)
        unlisted = part.counts[verdict] - len(kept)
        if unlisted:
            whole.count(verdict, unlisted)


def _earliest(one: dict[int, int], other: dict[int, int]) -> dict[int, int]:
    return one | {key: min(value, one.get(key, value)) for key, value in other.items()}


def _sorted(rows: pa.Table, by: str) -> pa.Table:
    return rows.sort_by([("snapshot", "ascending"), (by, "ascending")])
