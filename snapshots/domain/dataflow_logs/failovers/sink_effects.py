"""What failures did at one sink, write by write: repeated, seen twice, lost."""

from dataclasses import dataclass, field
from typing import Any

from snapshots.domain.dataflow_logs.events import fields_of, whole
from snapshots.domain.dataflow_logs.failovers.facts import COMMITTED, GIVEN_UP, TIMED_OUT, Question
from snapshots.domain.dataflow_logs.failovers.report import (
    MOST_EXAMPLES,
    Rid,
    SinkEffect,
    SinkTotal,
)
from snapshots.domain.dataflow_logs.kinds import WRITE
from snapshots.domain.model.recording import Event
from snapshots.domain.model.values import canonical, parsed


def rid_of(fields: dict[str, Any]) -> Rid | None:
    """``[split, offset, derived]``."""
    rid = fields.get("rid")
    well_formed = (
        isinstance(rid, list)
        and len(rid) == 3
        and isinstance(rid[0], str)
        and whole(rid[1]) is not None
        and isinstance(rid[2], str)
    )
    return rid if well_formed else None


@dataclass
class Write:
    """rid: its canonical text. fate: of its transaction, None where it is open or there is none."""

    event: Event
    rid: str | None
    key: str | None
    tx: str | None
    fate: str | None
    until: int


def writes_of(question: Question, events: list[Event]) -> list[Write]:
    """Collect the writes of a vertex from its events, in their order."""
    found = []
    for event in events:
        if event.kind != WRITE:
            continue
        fields = fields_of(event.extra)
        tx = fields.get("tx") if isinstance(fields.get("tx"), str) else None
        known = question.transactions[event.process].get(tx) if question.is_two_phase else None
        found.append(
            Write(
                event=event,
                rid=text_of(rid_of(fields)),
                key=_key(event.value),
                tx=tx,
                fate=known and known.fate,
                until=event.step if known is None else max(event.step, known.step),
            )
        )
    return found


def text_of(rid: Rid | None) -> str | None:
    """Return the JSON text of a record's id, or None without one."""
    return None if rid is None else canonical(rid)


def _key(value: str | None) -> str | None:
    """The text of a write's key; None where it has none."""
    found = parsed(value)
    if not isinstance(found, dict) or not isinstance(found.get("key"), str):
        return None
    return canonical(found["key"])


def failure_at(question: Question, process: str, step: int) -> int | None:
    """The failure whose restart was the last that took the process along, before the event."""
    before = [number for at, number in question.restarts[process] if at < step]
    return before[-1] if before else None


@dataclass
class Tally:
    """counts: by the fields of SinkEffect."""

    counts: dict[str, int] = field(default_factory=dict)
    examples: dict[str, list[Rid]] = field(default_factory=dict)

    def add(self, name: str, rid: str | None = None) -> None:
        """Count an effect and keep the record as an example while there is room."""
        self.counts[name] = self.counts.get(name, 0) + 1
        if rid is not None:
            shown = self.examples.setdefault(name, [])
            if len(shown) < MOST_EXAMPLES:
                shown.append(parsed(rid))

    def add_all(self, name: str, count: int, rids: list[str]) -> None:
        """rids: the first of them, as many as are shown."""
        self.counts[name] = self.counts.get(name, 0) + count
        if rids:
            self.examples.setdefault(name, []).extend(map(parsed, rids))

    def effect(self, question: Question) -> SinkEffect:
        """Return the counts and examples as the effect on a sink."""
        examples = {name: tuple(rids) for name, rids in self.examples.items()}
        return SinkEffect(question.vertex, question.kind, **self.counts, examples=examples)


class Effects:
    """What happened at one sink. whole: because of all failures; own: by the number of each."""

    def __init__(self, question: Question, writes: list[Write], thrown_out: list[Event]) -> None:
        self.question = question
        self.writes = writes
        self.thrown_out = thrown_out
        self.whole = Tally()
        self.own: dict[int, Tally] = {}
        self.visible_rids = {write.rid for write in writes if self._is_visible(write)}
        self.pending = 0
        self._tell_repeated()
        self._tell_transactions()
        self._tell_lost()

    def by_failure(self) -> dict[int, SinkEffect]:
        """Return the effect of each failure, by the number of the failure."""
        numbers = {n for own in self.question.restarts.values() for _, n in own}
        return {n: self.own.get(n, Tally()).effect(self.question) for n in sorted(numbers)}

    def total(self) -> SinkTotal:
        """Return the effect of all failures together, with the fates of the transactions."""
        fates = [tx.fate for own in self.question.transactions.values() for tx in own.values()]
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
            self.own.setdefault(number, Tally()).add(name, rid)

    def _tell_repeated(self) -> None:
        first: dict[str, Write] = {}
        seen: set[str] = set()
        holder: dict[str, str | None] = {}
        for write in self.writes:
            event, rid = write.event, write.rid
            before = holder.get(write.key)
            if write.key is not None:
                holder[write.key] = rid
            if rid is None:
                continue
            earliest = first.setdefault(rid, write)
            is_seen, visible = rid in seen, self._is_visible(write)
            if visible:
                seen.add(rid)
            place = event.process, event.step, rid
            if earliest is not write:
                self._add("repeated", *place)
                if earliest.event.value != event.value:
                    self._add("differing", *place)
            if not self.question.is_idempotent:
                if is_seen and visible:
                    self._add("duplicates", *place)
                continue
            if earliest is not write:
                self._add("rewritten", *place)
                newer = before and first[before].event.step > earliest.event.step
                if write.key is not None and newer:
                    self._add("rewound", *place)

    def _tell_transactions(self) -> None:
        for process, own in self.question.transactions.items():
            for transaction in own.values():
                if transaction.fate == GIVEN_UP:
                    self._add("aborted", process, transaction.step)
                for step in transaction.repeats:
                    self._add("committed_again", process, step)

    def _tell_lost(self) -> None:
        """In the order in which the last hope for each was gone."""
        gone = [(rid, *last) for rid, last in self._last_hopes().items()]
        for rid, step, process in sorted(gone, key=lambda item: item[1]):
            self._add("lost", process, step, rid)

    def _last_hopes(self) -> dict[str, tuple[int, str]]:
        """Of each record that is lost, when and where it was last given up. Counts the pending."""
        hopes: dict[str, list[tuple[int, str, str | None]]] = {}
        for write in self.writes:
            hopes.setdefault(write.rid, []).append((write.until, write.event.process, write.fate))
        for event in self.thrown_out:
            rid = text_of(rid_of(fields_of(event.extra)))
            hopes.setdefault(rid, []).append((event.step, event.process, GIVEN_UP))
        lost = {}
        for rid, own in hopes.items():
            if rid is None or rid in self.visible_rids:
                continue
            step, process, fate = max(own, key=lambda item: item[0])
            is_open = any(item[2] is None for item in own)
            if is_open or not (self.question.has_ended or fate == TIMED_OUT):
                self.pending += 1
            else:
                lost[rid] = step, process
        return lost
