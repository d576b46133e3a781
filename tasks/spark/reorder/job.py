"""Reorder a stored recording of any size through one of its snapshots (Theorem 1).

One Spark action covers ranges of steps for the partition, and of processes and of channels for the
checks (``kernels``). Their results are joined here into the report of the reference, which is
``snapshots.domain.replaying.reordering``. The snapshots must have been judged.
"""

import itertools
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import SparkSession

from snapshots.domain.assembling.restores import restore_before
from snapshots.domain.judging.findings import ORPHAN
from snapshots.domain.model.derived import is_derived
from snapshots.domain.model.recording import (
    KINDS,
    RECEIVE,
    Event,
    MessageId,
    SnapshotId,
)
from snapshots.domain.model.topology import ChannelId
from snapshots.domain.replaying.computations import (
    SENDS_FIRST,
    Faults,
    never_sent,
    not_the_head,
    received_early,
    state_json,
)
from snapshots.domain.replaying.reordering import (
    MOST_EVENTS_SHOWN,
    MOST_SWAPS_TRIED,
    partition_order,
    prerecording,
    swaps,
)
from snapshots.domain.replaying.reordering_report import (
    SWAPS,
    Check,
    Middle,
    NotReorderable,
    ReorderingReport,
    cannot_swap,
    computation_checks,
    goes_back_meanwhile,
    middle_check,
    of_derived,
    require_complete,
    swaps_lead_elsewhere,
    too_many_swaps,
)
from snapshots.store.layout import NONE
from snapshots.store.mapped import ragged
from snapshots.store.objects.paths import path_of
from snapshots.store.reader import StoredRecording
from tasks.spark import session
from tasks.spark.capacity import Capacity
from tasks.spark.ingest import schemas
from tasks.spark.reorder.kernels import (
    Between,
    ChannelFacts,
    ChannelTask,
    Differing,
    Facts,
    Fault,
    Ordered,
    ProcessTask,
    StepFacts,
    StepTask,
    Stretch,
    Task,
    joined,
    ordered,
    reorder_part,
)
from tasks.spark.stages import Progress, SparkStages, Stages, run_phase

REORDERING = "reordering"
ROWS_PER_TASK = 500_000


def reorder_snapshot(
    folder: Path,
    snapshot: SnapshotId,
    progress: Progress,
    spark: SparkSession | None = None,
    work: Path | None = None,
) -> ReorderingReport:
    """Reorder the run of the recording in ``folder`` through a snapshot's recorded state.

    Args:
        progress: called with the phase, the parts done and the parts in all; may raise to cancel.
        spark: the session to use; this process's own if None.
        work: a folder in which driver and executors may write; None if they share this machine.

    Raises: NotReorderable, StoreMissing, StoreDamaged, SparkUnavailable, SparkTaskFailed, what
    ``progress`` raises.
    """
    reorder = Reorder(path_of(folder), snapshot)
    return reorder.report(SparkStages(spark or session.get(), work), progress)


class Reorder:
    """One reordering of a run. Raises: NotReorderable."""

    def __init__(
        self,
        folder: Path,
        snapshot: SnapshotId,
        *,
        most_shown: int = MOST_EVENTS_SHOWN,
        most_swaps: int = MOST_SWAPS_TRIED,
    ) -> None:
        self.snapshot = snapshot
        self.most_shown = most_shown
        self.most_swaps = most_swaps
        self.recording = StoredRecording.open(folder)
        try:
            self.stored = self.recording.snapshot(snapshot, inferred=True)
        except KeyError:
            raise NotReorderable(f"The recording has no snapshot {snapshot}.") from None
        require_complete(snapshot, self.stored.summary["verdicts"])
        self.began, self.ended = self._extent()
        self.states = {name: state.recomputed for name, state in self.stored.states.items()}
        self.stretch = Stretch(
            str(folder), snapshot, self.began, self.ended + 1, self._has_states()
        )
        self.between = Between(self.stretch)
        tables = self.recording.tables
        for code in np.flatnonzero(tables.in_scope(tables.snapshot_code(snapshot))).tolist():
            last = restore_before(tables.restores.get(code, ()), int(self.between.end[code]))
            if last and (last.done is None or last.done >= self.between.start[code]):
                process = tables.topology.processes[code].id
                raise goes_back_meanwhile(snapshot, process, last.row)

    def _has_states(self) -> bool:
        counted = {item["verdict"] for item in self.stored.summary["verdict_counts"]}
        return ORPHAN not in counted and None not in self.states.values()

    def _extent(self) -> tuple[int, int]:
        """Return the steps of the snapshot's first and last event.

        The last one is never a marker_send, because in a complete snapshot every marker arrives.
        """
        process, index = map(np.concatenate, zip(*self._own_events(), strict=True))
        steps = self.recording.tables.events.values("step", process, index)
        return int(steps.min()), int(steps.max())

    def _own_events(self) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        """Yield processes and indexes of the snapshot's marker ends, stray markers and records."""
        code = self.recording.tables.snapshot_code(self.snapshot)
        tables = self.recording.tables
        for part in tables.markers.table.parts:
            rows = np.flatnonzero(part.numbers("snapshot", slice(0, part.num_rows)) == code)
            channel = part.numbers("channel", rows)
            yield tables.source[channel], part.numbers("sent_index", rows)
            yield tables.target[channel], part.numbers("received_index", rows)
        for named in (_named(tables.stray_markers, code), _named(tables.records, code)):
            yield _integers(named.column("process")), _integers(named.column("index"))

    def report(self, stages: Stages, progress: Progress) -> ReorderingReport:
        results = self._results(stages, progress)
        steps = [item for item in results if isinstance(item, StepFacts)]
        channels = [item for item in results if isinstance(item, ChannelFacts)]
        processes = [item for item in results if isinstance(item, Differing)]
        whole = _added(steps)
        shown = self._events(
            np.concatenate([part.process for part in steps])[: self.most_shown],
            np.concatenate([part.index for part in steps])[: self.most_shown],
        )
        is_pre = self._is_prerecording(shown)
        occurred, after = self._occurrence(
            steps, joined([*processes, *(channel.differing for channel in channels)])
        )
        faults = sorted(fault for channel in channels for fault in channel.faults)
        checks = (*self._checks(faults), self._swap_check(whole))
        derived = is_derived(self.recording.manifest.header_extra)
        if derived:
            checks, occurred, after = of_derived(checks), None, None
        return ReorderingReport(
            snapshot=self.snapshot,
            began=self.began,
            ended=self.ended,
            shown=shown,
            is_prerecording=tuple(is_pre.tolist()),
            permuted=tuple(partition_order(is_pre).tolist()),
            events_total=whole.total,
            prerecording_total=whole.before,
            swaps=whole.swaps,
            start=self._state(self.between.start),
            recorded=state_json(self.states, self._recomputed()),
            end=self._state(self.between.end),
            checks=checks,
            obstacles=tuple(v for v in self.stored.summary["verdicts"] if v["verdict"] == ORPHAN),
            occurred=occurred,
            occurred_after=after,
            is_derived=derived,
        )

    def _results(self, stages: Stages, progress: Progress) -> list[Facts]:
        """Run the Spark action and return the results of its tasks."""
        tasks = self._tasks(stages.capacity)
        weights = [len(group) for group in tasks]
        groups = run_phase(stages, progress, REORDERING, reorder_part, tasks, weights)
        return [item for group in groups for item in group]

    def _tasks(self, capacity: Capacity) -> list[tuple[Task, ...]]:
        """Return groups of tasks; three tasks or fewer form one group."""
        tables, stretch = self.recording.tables, self.stretch
        events = self.between.end - self.between.start + 1
        messages = tables.messages.table.length + 1
        tasks: list[Task] = [
            *(
                StepTask(stretch, *bounds, self.most_shown)
                for bounds in self._step_ranges(capacity)
            ),
            *(
                ProcessTask(stretch, *bounds)
                for bounds in schemas.ranges(events.tolist(), 2 * ROWS_PER_TASK, capacity)
            ),
            *(
                ChannelTask(stretch, *bounds)
                for bounds in schemas.ranges(messages.tolist(), ROWS_PER_TASK, capacity)
            ),
        ]
        return [tuple(tasks)] if len(tasks) <= 3 else [(task,) for task in tasks]

    def _step_ranges(self, capacity: Capacity) -> list[tuple[int, int]]:
        span = self.ended + 1 - self.began
        parts = capacity.parts(span, ROWS_PER_TASK)
        edges = [self.began + span * part // parts for part in range(parts + 1)]
        return list(itertools.pairwise(edges))

    def _events(self, process: np.ndarray, index: np.ndarray) -> tuple[Event, ...]:
        """Return the events at these indexes, without values and states."""
        recording = self.recording
        rows = recording.tables.events.pick(process, index)
        channels = [channel.id for channel in recording.topology.channels]
        columns = (
            [recording.topology.processes[code].id for code in process.tolist()],
            index.tolist(),
            [recording.manifest.kinds[kind] for kind in rows.values("kind").tolist()],
            *(rows.values(name).tolist() for name in ("at", "step", "line")),
            [None if c == NONE else channels[c] for c in rows.values("channel").tolist()],
            rows.texts("message"),
            rows.texts("label"),
        )
        names = ("process", "index", "kind", "at", "step", "line", "channel", "message", "label")
        return tuple(
            Event(**dict(zip(names, fields, strict=True))) for fields in zip(*columns, strict=True)
        )

    def _event(self, process: int, index: int) -> Event:
        return self._events(np.array([process]), np.array([index]))[0]

    def _is_prerecording(self, events: tuple[Event, ...]) -> np.ndarray:
        process = [self.recording.tables.process_code(event.process) for event in events]
        index = [event.index for event in events]
        return prerecording(
            np.array(process, np.int64), np.array(index, np.int64), self.between.positions
        )

    def _state(self, positions: np.ndarray) -> dict[str, object]:
        """Return the global state at a cut as JSON."""
        cut = self.recording.cut(positions)
        states = zip(self.recording.topology.processes, cut.states, strict=True)
        held = cut.all_contents()
        return state_json(
            {item.id: state for item, state in states if item.id in self.stored.states},
            {name: [message.id for message in held[name]] for name in self.stored.channels},
        )

    def _recomputed(self) -> dict[ChannelId, list[MessageId]]:
        recomputed: dict[ChannelId, list[MessageId]] = {}
        for name, channel in self.stored.channels.items():
            assert channel.recomputed is not None  # in a complete snapshot all have recorded
            recomputed[ChannelId(name)] = [message.id for message in channel.recomputed]
        return recomputed

    # --- checks ------------------------------------------------------------------------------

    def _checks(self, faults: list[Fault]) -> Iterator[Check]:
        """Return the checks of the reordered run; ``faults`` are sorted by rank.

        ``follow_processes`` shows that the order within each process is kept. So the states are
        kept too, and what lies in the channels at the end.
        """
        all_faults = Faults()
        for fault in faults:
            all_faults.broken.setdefault(fault.rule, self._reason(fault))
        stray = self._first_stray()
        if stray:
            all_faults.unknown[SENDS_FIRST] = never_sent(stray)
        breaks_before = bool(faults) and not faults[0].is_after
        before_middle = all_faults.first_reason if breaks_before else None
        return computation_checks(before_middle, all_faults, self._middle_check(), None)

    def _reason(self, fault: Fault) -> str:
        event = self._event(fault.process, fault.index)
        if fault.head is None:
            return received_early(event)
        message = np.array([fault.channel]), np.array([fault.head])
        return not_the_head(event, self.recording.tables.read_messages(*message)[0].id)

    def _first_stray(self) -> Event | None:
        """Return the first receive without a send, by rank."""
        process, index = self.recording.tables.strays.places
        between = self.between
        kind = between.events.values("kind", process, index)
        is_between = (index >= between.start[process]) & (index < between.end[process])
        is_between &= kind == KINDS.index(RECEIVE)
        process, index = process[is_between], index[is_between]
        if not len(process):
            return None
        step = between.events.values("step", process, index)
        first = np.lexsort((step, ~prerecording(process, index, between.positions)))[0]
        return self._event(int(process[first]), int(index[first]))

    def _middle_check(self) -> Check:
        """Check that the prerecording events lead to the state at the recorded positions."""
        states, channels = self.stored.states.items(), self.stored.channels.items()
        recorded_states = {name: state.recorded for name, state in states}
        recorded_channels = {name: channel.recorded for name, channel in channels}
        return middle_check(
            Middle(
                topology=self.stored.topology,
                recorded_states=_known(recorded_states),
                recorded_channels=_known(recorded_channels),
                states=self.states,
                channels=self._recomputed(),
            )
        )

    def _swap_check(self, whole: StepFacts) -> Check:
        if whole.swaps > self.most_swaps:
            return too_many_swaps(whole.swaps, self.most_swaps)
        if whole.first_after is None or whole.last_before is None or not whole.swaps:
            return Check(SWAPS, True)
        moving = ordered(self.between, whole.first_after, whole.last_before + 1)
        order, stuck = _swapped(moving, self._flights(moving))
        if stuck:
            positions = ((int(moving.process[row]), int(moving.index[row])) for row in stuck)
            return cannot_swap(*(self._event(*position) for position in positions))
        if order != partition_order(moving.is_prerecording).tolist():
            return swaps_lead_elsewhere()
        return Check(SWAPS, True)

    def _flights(self, events: Ordered) -> np.ndarray:
        """Number the two ends of each message alike: int64[N], NONE for all other events."""
        tables, messages = self.recording.tables, self.recording.tables.messages
        first, end = (
            self.between.positions_at(int(step)) for step in (events.step[0], events.step[-1] + 1)
        )
        sent = (messages.sent(tables.all_channels, cut[tables.source]) for cut in (first, end))
        channel, ordinal = ragged(tables.all_channels, *sent)
        sent_index = messages.table.values("sent_index", channel, ordinal)
        received_index = messages.received_index(channel, ordinal)
        both = (received_index != NONE) & (received_index < end[tables.target[channel]])
        channel, ends = channel[both], (sent_index[both], received_index[both])
        flights = np.full(len(events.step), NONE, np.int64)
        for process, index in zip((tables.source, tables.target), ends, strict=True):
            steps = tables.events.values("step", process[channel], index)
            flights[np.searchsorted(events.step, steps)] = np.arange(len(channel))
        return flights

    def _occurrence(
        self, steps: list[StepFacts], differing: Differing
    ) -> tuple[bool | None, int | None]:
        """Tell whether the original run ever had the recorded state, and after how many events."""
        if not self.stretch.has_states:
            return None, None
        if not differing.at_start:
            return True, 0
        if not len(differing.changes):
            return False, None
        step = int(differing.changes[0])
        whole = [part for part in steps if part.end <= step + 1]
        first = max([self.began, *(part.end for part in whole)])
        rest = ordered(self.between, first, step + 1)
        return True, sum(part.total for part in whole) + len(rest.step)


def _swapped(events: Ordered, flights: np.ndarray) -> tuple[list[int], tuple[int, int] | None]:
    """Return the order after all swaps, or the order so far and the pair that cannot be swapped."""
    process, flight = events.process.tolist(), flights.tolist()
    order = list(range(len(process)))
    for row in swaps(events.is_prerecording.tolist()):
        first, second = order[row], order[row + 1]
        is_one_message = flight[first] != NONE and flight[first] == flight[second]
        if process[first] == process[second] or is_one_message:
            return order, (first, second)
        order[row], order[row + 1] = second, first
    return order, None


def _added(parts: list[StepFacts]) -> StepFacts:
    """Join consecutive parts into one without events.

    Each prerecording event of a part also passes the postrecording ones of the parts before.
    """
    before = np.array([part.before for part in parts])
    after = np.array([part.total for part in parts]) - before
    passed = np.cumsum(after) - after
    firsts = [part.first_after for part in parts if part.first_after is not None]
    lasts = [part.last_before for part in parts if part.last_before is not None]
    return StepFacts(
        end=parts[-1].end,
        total=int(before.sum() + after.sum()),
        before=int(before.sum()),
        swaps=sum(part.swaps for part in parts) + int((before * passed).sum()),
        first_after=min(firsts, default=None),
        last_before=max(lasts, default=None),
        process=np.zeros(0, np.int64),
        index=np.zeros(0, np.int64),
    )


def _named(rows: pa.RecordBatch, snapshot: int) -> pa.RecordBatch:
    """Return the rows of one snapshot."""
    return rows.filter(pc.equal(rows.column("snapshot"), snapshot))


def _integers(column: pa.Array) -> np.ndarray:
    """Return a column without nulls as int64[N]."""
    return column.to_numpy(zero_copy_only=False).astype(np.int64)


def _known(items: dict) -> dict:
    return {name: item for name, item in items.items() if item is not None}
