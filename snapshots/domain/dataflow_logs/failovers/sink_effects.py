"""Counts what failures did at one sink, write by write: repeated, seen twice, lost."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace

from snapshots.domain.dataflow_logs.events import fields_of
from snapshots.domain.dataflow_logs.failovers.again import Again
from snapshots.domain.dataflow_logs.failovers.facts import (
    COMMITTED,
    GIVEN_UP,
    TIMED_OUT,
    Question,
    Transaction,
)
from snapshots.domain.dataflow_logs.failovers.report import (
    MOST_EXAMPLES,
    Rid,
    SinkEffect,
    SinkTotal,
)
from snapshots.domain.dataflow_logs.failovers.rids import rid_in, rid_of, text_of
from snapshots.domain.dataflow_logs.failovers.sink_sentences import sink_sentence
from snapshots.domain.dataflow_logs.kinds import WRITE
from snapshots.domain.model.recording import Event
from snapshots.domain.model.topology import JsonText, ProcessId
from snapshots.domain.model.values import canonical, parsed


@dataclass
class Write:
    """A write of a sink. ``rid`` is canonical JSON text.

    Attributes:
        fate: what became of the write's transaction. None if it is open or there is none.
        until: the step at which the fate was decided, or that of the write.
    """

    event: Event
    rid: str | None
    key: str | None
    tx: str | None
    fate: str | None
    until: int


def writes_of(question: Question, events: list[Event]) -> list[Write]:
    """Collect the writes of a vertex from its events, in their order."""
    writes = []
    for event in events:
        if event.kind != WRITE:
            continue
        fields = fields_of(event.extra)
        named = fields.get("tx")
        tx = named if isinstance(named, str) else None
        transaction = None
        if tx is not None and question.is_two_phase:
            transaction = question.transactions[event.process].get(tx)
        writes.append(
            Write(
                event=event,
                rid=text_of(rid_of(fields)),
                key=_key(event.value),
                tx=tx,
                fate=transaction and transaction.fate,
                until=event.step if transaction is None else max(event.step, transaction.step),
            )
        )
    return writes


def _key(value: JsonText | None) -> str | None:
    """Return the JSON text of a write's key, or None if it has none."""
    fields = parsed(value)
    if not isinstance(fields, dict) or not isinstance(fields.get("key"), str):
        return None
    return canonical(fields["key"])


def failure_at(question: Question, process: str, step: int) -> int | None:
    """Return the last failure before an event whose restart included the process, or None."""
    before = [number for at, number in question.restarts[ProcessId(process)] if at < step]
    return before[-1] if before else None


@dataclass
class Tally:
    """Counts and examples by the fields of SinkEffect."""

    counts: dict[str, int] = field(default_factory=dict)
    examples: dict[str, list[Rid]] = field(default_factory=dict)

    def add(self, name: str, rid: str | None = None) -> None:
        """Count an effect and keep the record as an example while there is room."""
        self.counts[name] = self.counts.get(name, 0) + 1
        if rid is not None:
            shown = self.examples.setdefault(name, [])
            if len(shown) < MOST_EXAMPLES:
                shown.append(rid_in(rid))

    def add_all(self, name: str, count: int, rids: list[str]) -> None:
        """Count effects, and keep as examples ``rids``, which are as many as are shown."""
        self.counts[name] = self.counts.get(name, 0) + count
        if rids:
            self.examples.setdefault(name, []).extend(map(rid_in, rids))

    def effect(self, question: Question) -> SinkEffect:
        """Return the counts and examples as the effect on a sink."""
        examples = {name: tuple(rids) for name, rids in self.examples.items()}
        effect = SinkEffect(
            question.vertex,
            question.kind,
            question.committed_by,
            **self.counts,
            examples=examples,
            sentence="",
        )
        return replace(effect, sentence=sink_sentence(effect, has_ended=question.has_ended))


def counts_of(transaction: Transaction) -> Iterator[str]:
    """Yield the fields of SinkEffect that count a transaction with this fate."""
    if transaction.fate == GIVEN_UP:
        yield "aborted"
    if transaction.is_forgotten:
        yield "forgotten"
    if transaction.is_recovered:
        yield "recovered"


class Effects:
    """What happened at one sink.

    ``whole``: because of all failures. ``by_number``: because of each, by the number of the
    failure.
    """

    def __init__(
        self,
        question: Question,
        writes: list[Write],
        thrown_out: list[Event],
        skipped: Iterable[Again] = (),
    ) -> None:
        self.question = question
        self.writes = writes
        self.thrown_out = thrown_out
        self.whole = Tally()
        self.by_number: dict[int, Tally] = {}
        self.visible_rids = {write.rid for write in writes if self._is_visible(write)}
        self.pending = 0
        self._count_repeated()
        self._count_transactions()
        self._count_lost()
        for what, event, rid in skipped:
            self._add(what, event.process, event.step, rid)

    def by_failure(self) -> dict[int, SinkEffect]:
        """Return the effect of each failure, by the number of the failure."""
        question = self.question
        numbers = {number for restarts in question.restarts.values() for _, number in restarts}
        return {n: self.by_number.get(n, Tally()).effect(question) for n in sorted(numbers)}

    def total(self) -> SinkTotal:
        """Return the effect of all failures together, with the fates of the transactions."""
        transactions = self.question.transactions.values()
        fates = [tx.fate for by_name in transactions for tx in by_name.values()]
        return SinkTotal(
            effect=self.whole.effect(self.question),
            written=len(self.writes),
            visible=sum(map(self._is_visible, self.writes)),
            pending=self.pending,
            committed=fates.count(COMMITTED),
            timed_out=fates.count(TIMED_OUT),
        )

    def _is_visible(self, write: Write) -> bool:
        if not self.question.is_two_phase or write.tx is None:
            return True
        return write.fate == COMMITTED

    def _add(self, name: str, process: str, step: int, rid: str | None = None) -> None:
        self.whole.add(name, rid)
        number = failure_at(self.question, process, step)
        if number is not None:
            self.by_number.setdefault(number, Tally()).add(name, rid)

    def _count_repeated(self) -> None:
        first: dict[str, Write] = {}
        seen: set[str] = set()
        latest_rids: dict[str | None, str | None] = {}
        for write in self.writes:
            event, rid = write.event, write.rid
            before = latest_rids.get(write.key)
            if write.key is not None:
                latest_rids[write.key] = rid
            if rid is None:
                continue
            earliest = first.setdefault(rid, write)
            was_seen, visible = rid in seen, self._is_visible(write)
            if visible:
                seen.add(rid)
            place = event.process, event.step, rid
            if earliest is not write:
                self._add("repeated", *place)
                if earliest.event.value != event.value:
                    self._add("differing", *place)
            if not self.question.is_idempotent:
                if was_seen and visible:
                    self._add("duplicates", *place)
                continue
            if earliest is not write:
                self._add("rewritten", *place)
                is_newer = before and first[before].event.step > earliest.event.step
                if write.key is not None and is_newer:
                    self._add("rewound", *place)

    def _count_transactions(self) -> None:
        for process, transactions in self.question.transactions.items():
            for transaction in transactions.values():
                for name in counts_of(transaction):
                    self._add(name, process, transaction.step)
                for step in transaction.repeats:
                    self._add("committed_again", process, step)

    def _count_lost(self) -> None:
        """Count the lost records, in the order in which they became unrecoverable."""
        lost = [(rid, *last) for rid, last in self._last_hopes().items()]
        for rid, step, process in sorted(lost, key=lambda item: item[1]):
            self._add("lost", process, step, rid)

    def _last_hopes(self) -> dict[str, tuple[int, str]]:
        """Return when and where each lost record became unrecoverable. Counts the pending ones."""
        hopes: dict[str | None, list[tuple[int, str, str | None]]] = {}
        for write in self.writes:
            hopes.setdefault(write.rid, []).append((write.until, write.event.process, write.fate))
        for event in self.thrown_out:
            rid = text_of(rid_of(fields_of(event.extra)))
            hopes.setdefault(rid, []).append((event.step, event.process, GIVEN_UP))
        lost = {}
        for rid, chances in hopes.items():
            if rid is None or rid in self.visible_rids:
                continue
            step, process, fate = max(chances, key=lambda item: item[0])
            is_open = any(item[2] is None for item in chances)
            if is_open or not (self.question.has_ended or fate == TIMED_OUT):
                self.pending += 1
            else:
                lost[rid] = step, process
        return lost
