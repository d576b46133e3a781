"""Compute from columns what failures did to the records at one vertex.

The reference is ``snapshots.domain.dataflow_logs.failovers.reference`` with ``sink_effects`` beside
it, which walk through the events one by one. Here a record is the integer code of its rid, and
events are sorted by step. What the reference remembers while it walks is here the first or the
last row of each code.
"""

import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from snapshots.domain.dataflow_logs.checkpoints.tasks import RunEvents
from snapshots.domain.dataflow_logs.events import DISCARDED
from snapshots.domain.dataflow_logs.failovers.again import TAKEN_TWICE
from snapshots.domain.dataflow_logs.failovers.facts import (
    COMMITTED,
    TIMED_OUT,
    Answer,
    Question,
    Transaction,
    questions_of,
)
from snapshots.domain.dataflow_logs.failovers.report import (
    MOST_EXAMPLES,
    Dropped,
    ReRead,
    Rid,
    SinkEffect,
    SinkTotal,
)
from snapshots.domain.dataflow_logs.failovers.sink_effects import Tally, counts_of
from snapshots.domain.dataflow_logs.kinds import READ, WRITE
from snapshots.domain.model.recording import KINDS, RECEIVE
from snapshots.domain.model.values import canonical, parsed
from snapshots.store.layout import NONE
from snapshots.store.mapped import Ints
from snapshots.store.objects.paths import path_of
from tasks.spark.checkpoints import json_fields
from tasks.spark.checkpoints.again_kernels import Again, came_again
from tasks.spark.checkpoints.again_kernels import counts_of as again_counts
from tasks.spark.checkpoints.kernels import StoredEvents

if TYPE_CHECKING:
    from snapshots.store.tables import Tables

_NEVER = 2**62


@dataclass(frozen=True)
class VertexTask:
    """A half-open range of vertices, numbered in the order of ``questions_of``."""

    folder: str
    first: int
    end: int


def answer_vertices(task: VertexTask) -> list[Answer]:
    stored = StoredEvents(path_of(task.folder))
    questions = questions_of(stored.run())
    return [Vertex(stored, item).answer() for item in questions[task.first : task.end]]


def loads(stored: StoredEvents, run: RunEvents) -> list[int]:
    """Return the cost of each vertex: one more than the number of its events."""
    length = stored.tables.events.length
    codes = {name: code for code, name in enumerate(stored.processes)}
    return [
        1 + int(sum(length[codes[name]] for name in question.processes))
        for question in questions_of(run)
    ]


@dataclass(frozen=True)
class Rows:
    """Some events of one vertex, sorted by step.

    ``process`` indexes the question's processes; ``snapshot`` has the codes of the snapshots.
    """

    process: Ints
    step: Ints
    at: Ints
    snapshot: Ints
    extra: pa.Array
    value: pa.Array | None = None


class Vertex:
    """Answers one question about the records at a vertex."""

    def __init__(self, stored: StoredEvents, question: Question) -> None:
        self.tables: Tables = stored.tables
        self.question = question
        names = {name: code for code, name in enumerate(stored.processes)}
        self.codes = [names[name] for name in question.processes]
        own = question.restarts.values()
        self.restarts = [np.array(items, np.int64).reshape(-1, 2) for items in own]

    def answer(self) -> Answer:
        question = self.question
        has_failed = any(len(items) for items in self.restarts)
        writes = self.rows(WRITE, with_value=True)
        is_sink = bool(len(writes.step)) or question.kind is not None
        if not is_sink and not has_failed:
            return Answer()
        discarded = self.rows(RECEIVE, label=DISCARDED)
        again = came_again(self)
        effects = _Effects(self, writes, discarded, again) if is_sink else None
        return Answer(
            re_read=self._re_read(self.rows(READ)) if question.positions else {},
            discarded=_tallied(self.failures(discarded)),
            effects={} if effects is None else effects.by_failure(),
            total=None if effects is None else effects.total(),
            dropped=self._dropped(discarded) if effects is None else None,
            again=again_counts(again),
        )

    def failures(self, rows: Rows) -> Ints:
        """Return the failure behind the latest restart of each row's process: int64[N], or NONE."""
        failures = np.full(len(rows.step), NONE, np.int64)
        for process, restarts in enumerate(self.restarts):
            own = np.flatnonzero(rows.process == process)
            last = np.searchsorted(restarts[:, 0], rows.step[own]) - 1
            failures[own] = np.append(restarts[:, 1], NONE)[last]
        return failures

    def rows(
        self,
        kind: str,
        *,
        label: str | None = None,
        without: str | None = None,
        with_value: bool = False,
    ) -> Rows:
        """Return the vertex's events of one kind.

        Args:
            label: the label of the wanted events; None for any.
            without: a label whose events are not wanted.
            with_value: whether the column of values is wanted too.
        """
        names = ("extra", "value") if with_value else ("extra",)
        pieces = [
            piece
            for index, code in enumerate(self.codes)
            for piece in self._piece(index, code, KINDS.index(kind), label, without, names)
        ]
        if not pieces:
            nothing, no_text = np.zeros(0, np.int64), pa.array([], pa.large_string())
            return Rows(nothing, nothing, nothing, nothing, no_text, no_text)
        process, step, at, snapshot = (
            np.concatenate([piece[n] for piece in pieces]) for n in range(4)
        )
        texts = [pa.concat_arrays([piece[4 + n] for piece in pieces]) for n, _ in enumerate(names)]
        order = np.argsort(step)
        extra, value = (*(text.take(pa.array(order)) for text in texts), None)[:2]
        return Rows(process[order], step[order], at[order], snapshot[order], extra, value)

    def _piece(
        self,
        process: int,
        code: int,
        kind: int,
        label: str | None,
        without: str | None,
        names: tuple[str, ...],
    ) -> Iterator[tuple]:
        """Yield the columns of one process: its index, step, at, snapshot, and the named texts."""
        events = self.tables.events
        if not events.length[code]:
            return
        part, begin = events.parts[int(events.part[code])], int(events.begin[code])
        rows = begin + np.flatnonzero(events.run("kind", code) == kind)
        for text, is_wanted in ((label, True), (without, False)):
            if text is not None:
                has_text = pc.fill_null(pc.equal(part.texts("label", rows), text), False)
                rows = rows[has_text.to_numpy(zero_copy_only=False) == is_wanted]
        numbers = (part.numbers(name, rows) for name in ("step", "at", "snapshot"))
        texts = (part.texts(name, rows) for name in names)
        yield np.full(len(rows), process), *numbers, *texts

    # --- records that were read again ---------------------------------------------------------

    def _re_read(self, reads: Rows) -> dict[int, tuple[ReRead, ...]]:
        split, names = json_fields.codes(json_fields.texts(reads.extra, "split"))
        numbers = json_fields.numbers(reads.extra, "offset")
        has_offset = pc.is_valid(numbers).to_numpy(zero_copy_only=False)
        offset = pc.fill_null(numbers, 0).to_numpy(zero_copy_only=False)
        code_of = {name: code for code, name in enumerate(names.to_pylist())}
        by_failure: dict[int, list[ReRead]] = {}
        for position in self.question.positions:
            code = code_of.get(canonical(position.split), _NEVER)
            own = np.flatnonzero((split == code) & has_offset)
            before = (reads.step[own] < position.step) & (offset[own] >= position.offset)
            again, first = np.unique(offset[own[before]], return_index=True)
            if not len(again):
                continue
            goal = int(again[-1])
            later = own[(reads.step[own] > position.step) & (offset[own] == goal)]
            by_failure.setdefault(position.failure, []).append(
                ReRead(
                    split=position.split,
                    from_=position.offset,
                    to=goal,
                    records=len(again),
                    caught_up_at=int(reads.at[later[0]]) if len(later) else None,
                    examples=_first_rids(reads.extra, own[before][first]),
                )
            )
        return {number: tuple(items) for number, items in by_failure.items()}

    def _dropped(self, discarded: Rows) -> Dropped | None:
        if not len(discarded.step) or not self.question.has_ended:
            return None
        rid, names = json_fields.codes(json_fields.rids(discarded.extra))
        discarded_at = _last_steps(rid, discarded.step, len(names))
        received = self.rows(RECEIVE, without=DISCARDED)
        code = pc.index_in(json_fields.rids(received.extra), names)
        codes = pc.fill_null(code, NONE).to_numpy(zero_copy_only=False)
        received_at = _last_steps(codes, received.step, len(names))
        gone = names.filter(pa.array(received_at < discarded_at))
        examples = tuple(_parsed_rids(gone[:MOST_EXAMPLES]))
        return Dropped(self.question.vertex, len(gone), examples) if len(gone) else None


def _first_rids(extra: pa.Array, rows: Ints) -> tuple[Rid, ...]:
    """Return the rids of the first rows that have one, at most MOST_EXAMPLES."""
    result: list[Rid] = []
    for begin in range(0, len(rows), 1000):
        some = extra.take(pa.array(rows[begin : begin + 1000]))
        result += _parsed_rids(json_fields.rids(some).drop_null())
        if len(result) >= MOST_EXAMPLES:
            break
    return tuple(result[:MOST_EXAMPLES])


def _parsed_rids(texts: pa.Array) -> list[Rid]:
    return [json.loads(text) for text in texts.to_pylist()]


def _last_steps(codes: Ints, steps: Ints, count: int) -> Ints:
    """Return the last step of each code, int64[count]; NONE for a code without a step."""
    last = np.full(count, NONE, np.int64)
    np.maximum.at(last, codes[codes != NONE], steps[codes != NONE])
    return last


def _tallied(numbers: Ints) -> dict[int, int]:
    values, counts = np.unique(numbers[numbers != NONE], return_counts=True)
    return dict(zip(values.tolist(), counts.tolist(), strict=True))


@dataclass
class _Effects:
    """Counts what failures did to the output of one sink."""

    vertex: Vertex
    writes: Rows
    discarded: Rows
    again: list[Again]
    whole: Tally = field(default_factory=Tally)
    own: dict[int, Tally] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.question = self.vertex.question
        both = pa.concat_arrays(
            [json_fields.rids(rows.extra) for rows in (self.writes, self.discarded)]
        )
        codes, self.texts = json_fields.codes(both)
        self.count = len(self.writes.step)
        self.rid, self.discarded_rid = codes[: self.count], codes[self.count :]
        self.failure = self.vertex.failures(self.writes)
        self._follow_transactions()
        self.pending = 0
        self._count_repeated()
        self._count_transactions()
        self._count_lost()
        self._count_skipped()

    def by_failure(self) -> dict[int, SinkEffect]:
        numbers = {n for own in self.question.restarts.values() for _, n in own}
        return {n: self.own.get(n, Tally()).effect(self.question) for n in sorted(numbers)}

    def total(self) -> SinkTotal:
        fates = [tx.fate for own in self.question.transactions.values() for tx in own.values()]
        return SinkTotal(
            effect=self.whole.effect(self.question),
            written=self.count,
            visible=int(np.count_nonzero(self.visible)),
            pending=self.pending,
            committed=fates.count(COMMITTED),
            timed_out=fates.count(TIMED_OUT),
        )

    def _follow_transactions(self) -> None:
        """Set what became of each write.

        ``visible``, ``is_open`` and ``timed_out`` are bool[N]. ``until`` is int64[N], the step
        of the last decision about the write.
        """
        self.visible = np.ones(self.count, bool)
        self.is_open = np.ones(self.count, bool)
        self.timed_out = np.zeros(self.count, bool)
        self.until = self.writes.step.copy()
        if not self.question.is_two_phase:
            return
        tx, names = json_fields.codes(json_fields.texts(self.writes.extra, "tx"))
        names = [parsed(name) for name in names.to_pylist()]
        for process, process_id in enumerate(self.question.processes):
            own = np.flatnonzero((self.writes.process == process) & (tx != NONE))
            transactions = self.question.transactions[process_id]
            for code in np.unique(tx[own]).tolist():
                self._follow(own[tx[own] == code], transactions.get(names[code]))

    def _follow(self, rows: Ints, transaction: Transaction | None) -> None:
        self.visible[rows] = transaction is not None and transaction.fate == COMMITTED
        if transaction is not None:
            self.is_open[rows] = False
            self.timed_out[rows] = transaction.fate == TIMED_OUT
            self.until[rows] = np.maximum(self.until[rows], transaction.step)

    def _count_chosen(self, name: str, rows: Ints, failures: Ints, rids: Ints) -> None:
        """Count the chosen rows for the whole run and for each failure.

        ``rows`` indexes ``failures`` and ``rids``, and stands in the order of the examples.
        """
        self._add(self.whole, name, rids[rows])
        for number in np.unique(failures[rows]).tolist():
            if number != NONE:
                own = rows[failures[rows] == number]
                self._add(self.own.setdefault(number, Tally()), name, rids[own])

    def _add(self, tally: Tally, name: str, rids: Ints) -> None:
        if len(rids):
            shown = self.texts.take(pa.array(rids[:MOST_EXAMPLES])).to_pylist()
            tally.add_all(name, len(rids), shown)

    def _count_repeated(self) -> None:
        rows = np.arange(self.count)
        has_rid = self.rid != NONE
        first = self._first(has_rid)
        repeated = has_rid & (first[self.rid] != rows)
        self._count_rows("repeated", repeated)
        value, _ = json_fields.codes(self.writes.value)
        self._count_rows("differing", repeated & (value[first[self.rid]] != value))
        if not self.question.is_idempotent:
            shown = has_rid & self.visible
            self._count_rows("duplicates", shown & (self._first(shown)[self.rid] != rows))
            return
        self._count_rows("rewritten", repeated)
        self._count_rows("rewound", repeated & self._replaces_newer(first))

    def _count_rows(self, name: str, chosen: np.ndarray) -> None:
        self._count_chosen(name, np.flatnonzero(chosen), self.failure, self.rid)

    def _first(self, among: np.ndarray) -> Ints:
        """Return the first row of each rid among the chosen writes.

        The result is int64[R + 1]; its last item stands for NONE.
        """
        rows = np.full(len(self.texts) + 1, 0, np.int64)
        rids, first = np.unique(self.rid[among], return_index=True)
        rows[rids] = np.flatnonzero(among)[first]
        return rows

    def _replaces_newer(self, first: Ints) -> np.ndarray:
        """Tell which writes replaced a newer record of the same key: bool[N].

        A record is newer if its first write came later.
        """
        key, _ = json_fields.codes(json_fields.texts(self.writes.value, "key"))
        order = np.argsort(key, kind="stable")
        before = np.full(self.count, NONE, np.int64)
        same = key[order[1:]] == key[order[:-1]]
        before[order[1:][same]] = order[:-1][same]
        has = (before != NONE) & (key != NONE)
        has[has] = self.rid[before[has]] != NONE
        newer = np.zeros(self.count, bool)
        newer[has] = first[self.rid[before[has]]] > first[self.rid[has]]
        return newer

    def _count_skipped(self) -> None:
        for again in self.again:
            if again.what == TAKEN_TWICE or not len(again.rids):
                continue
            numbers = np.unique(again.failures[again.failures != NONE]).tolist()
            tallies = [(self.whole, again.rids)]
            tallies += [
                (self.own.setdefault(n, Tally()), again.rids.filter(pa.array(again.failures == n)))
                for n in numbers
            ]
            for tally, rids in tallies:
                examples = rids.drop_null()[:MOST_EXAMPLES].to_pylist()
                tally.add_all(again.what, len(rids), examples)

    def _count_transactions(self) -> None:
        for process, own in enumerate(self.question.transactions.values()):
            for transaction in own.values():
                for name in counts_of(transaction):
                    self._count_step(name, process, transaction.step)
                for step in transaction.repeats:
                    self._count_step("committed_again", process, step)

    def _count_step(self, name: str, process: int, step: int) -> None:
        self.whole.add_all(name, 1, [])
        restarts = self.vertex.restarts[process]
        before = int(np.searchsorted(restarts[:, 0], step))
        if before:
            number = int(restarts[before - 1, 1])
            self.own.setdefault(number, Tally()).add_all(name, 1, [])

    def _count_lost(self) -> None:
        discarded = len(self.discarded_rid)
        rid = np.concatenate((self.rid, self.discarded_rid))
        until = np.concatenate((self.until, self.discarded.step))
        process = np.concatenate((self.writes.process, self.discarded.process))
        is_open = np.concatenate((self.is_open, np.zeros(discarded, bool)))
        timed_out = np.concatenate((self.timed_out, np.zeros(discarded, bool)))
        seen = np.zeros(len(self.texts) + 1, bool)
        seen[self.rid[self.visible]] = True
        seen[NONE] = True
        rows = np.flatnonzero(~seen[rid])
        order = rows[np.lexsort((-rows, until[rows], rid[rows]))]
        is_last = np.ones(len(order), bool)
        is_last[:-1] = rid[order[1:]] != rid[order[:-1]]
        last = order[is_last]
        hopeful = np.zeros(len(self.texts) + 1, bool)
        hopeful[rid[rows[is_open[rows]]]] = True
        gone = ~hopeful[rid[last]] & (self.question.has_ended | timed_out[last])
        self.pending = int(np.count_nonzero(~gone))
        lost = last[gone]
        first = np.full(len(self.texts) + 1, _NEVER)
        np.minimum.at(first, rid[rows], rows)
        lost = lost[np.lexsort((first[rid[lost]], until[lost]))]
        nowhere = np.full(len(lost), NONE, np.int64)
        lost_rows = Rows(process[lost], until[lost], until[lost], nowhere, self.writes.extra)
        self._count_chosen("lost", np.arange(len(lost)), self.vertex.failures(lost_rows), rid[lost])
