"""What can be wrong with an input: codes, severities, and the sentences that say so.

The reference (`assembly`) and the Spark ingest report the same defects, so every sentence about a
finished table is built here, once.
"""

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

REFUSED = "refused"  # without meaning: nothing is stored
KEPT = "kept"  # has a meaning: stored with the defect list

SEVERITIES = {
    "empty": REFUSED,
    "not-utf8": REFUSED,
    "truncated": REFUSED,
    "too-large": REFUSED,
    "unsafe-archive": REFUSED,
    "bad-expression": REFUSED,
    "bad-clock": REFUSED,
    "several-executions": REFUSED,
    "line-too-long": REFUSED,
    "unknown-format": REFUSED,
    "not-json": REFUSED,
    "wrong-type": REFUSED,
    "number-range": REFUSED,
    "not-finite": REFUSED,
    "missing-field": REFUSED,
    "header-missing": REFUSED,
    "header-twice": REFUSED,
    "header-invalid": REFUSED,
    "unknown-process": REFUSED,
    "unknown-channel": REFUSED,
    "wrong-end": REFUSED,
    "index-twice": REFUSED,
    "causal-cycle": REFUSED,
    "too-many-processes": REFUSED,
    "too-many-channels": REFUSED,
    "unknown-kind": KEPT,
    "skipped-text": KEPT,
    "stray-receive": KEPT,
    "received-twice": KEPT,
    "sent-twice": KEPT,
    "index-gap": KEPT,
    "clock-skew": KEPT,
    "fifo-violation": KEPT,
    "recorded-twice": KEPT,
    "unknown-message": KEPT,
}

MOST_LISTED = 1000
_LONGEST_NAME = 60  # characters of a name or value that a sentence quotes


@dataclass(frozen=True, slots=True)
class Defect:
    """One thing wrong with an input.

    Attributes:
        severity: ``refused`` where nothing is stored, ``kept`` where the input still has a meaning.
        line: the line, or the row in Parquet, where it shows first, from 1.
        field: the field of that line, or of the header, as ``processes[3].id``.
        count: how many places of the input this entry stands for.
    """

    code: str
    severity: str
    sentence: str
    line: int | None = None
    field: str | None = None
    process: str | None = None
    count: int = 1

    def __str__(self) -> str:
        place = "" if self.line is None else f"Line {self.line}: "
        return place + self.sentence


def defect(
    code: str,
    sentence: str,
    *,
    line: int | None = None,
    field: str | None = None,
    process: str | None = None,
    count: int = 1,
) -> Defect:
    """A defect with the severity of its code. Raises: KeyError for a code not in SEVERITIES."""
    return Defect(code, SEVERITIES[code], sentence, line, field, process, count)


class InputRefused(Exception):
    """The input is without meaning and nothing of it is stored.

    defects: the first MOST_LISTED, the refused ones before the kept ones; total: how many in all.
    members: more that is told of the refusal, as JSON: ``choices`` between which to decide,
    ``instead``, where it can be done.
    """

    permanent = True  # a retry cannot help

    def __init__(
        self,
        defects: Sequence[Defect],
        total: int | None = None,
        members: dict[str, object] | None = None,
    ) -> None:
        self.defects = tuple(defects[:MOST_LISTED])
        self.total = len(defects) if total is None else total
        self.members = members or {}
        super().__init__(str(self.defects[0]))

    def __reduce__(self):
        return (InputRefused, (self.defects, self.total, self.members))


def refuse(
    code: str, sentence: str, *, line: int | None = None, field: str | None = None, **members
) -> InputRefused:
    """The exception for an input that one defect makes meaningless: ``raise refuse(...)``."""
    return InputRefused([defect(code, sentence, line=line, field=field)], members=members)


class Defects:
    """Collects defects: lists the first MOST_LISTED, counts all.

    A kept defect that says the same as an earlier one (same code, sentence and process) adds to its
    count instead of standing twice.
    """

    def __init__(self, defects: Iterable[Defect] = ()) -> None:
        self.total = 0
        self.refused_total = 0
        self._refused: list[Defect] = []
        self._kept: dict[tuple[str, str, str | None], Defect] = {}
        self.extend(defects)

    def add(self, item: Defect) -> None:
        self.total += 1
        if item.severity == REFUSED:
            self.refused_total += 1
            if len(self._refused) < MOST_LISTED:
                self._refused.append(item)
            return
        key = (item.code, item.sentence, item.process)
        if (earlier := self._kept.get(key)) is not None:
            self.total -= 1
            self._kept[key] = _joined(earlier, item)
        elif len(self._kept) < MOST_LISTED:
            self._kept[key] = item

    def extend(self, items: Iterable[Defect]) -> None:
        for item in items:
            self.add(item)

    @property
    def listed(self) -> tuple[Defect, ...]:
        """At most MOST_LISTED, the refused ones first, else in the order in which they came."""
        return (*self._refused, *self._kept.values())[:MOST_LISTED]

    def raise_refused(self) -> None:
        """Raises: InputRefused if one of the defects leaves the input without meaning."""
        if self._refused:
            raise InputRefused(self.listed, self.total)


def _joined(earlier: Defect, later: Defect) -> Defect:
    lines = [item.line for item in (earlier, later) if item.line is not None]
    return replace(earlier, line=min(lines, default=None), count=earlier.count + later.count)


def quoted(value: object) -> str:
    """A name or value as a sentence quotes it: JSON, cut after 60 characters with a mark."""
    text = json.dumps(value, ensure_ascii=False, default=str)
    return text if len(text) <= _LONGEST_NAME else text[:_LONGEST_NAME] + "…"


def times(count: int, what: str) -> str:
    """``1 event``, ``3 events``."""
    return f"{count:,} {what}" + ("" if count == 1 else "s")


def unknown_kind(kind: str, line: int) -> Defect:
    return defect(
        "unknown-kind",
        f"The kind {quoted(kind)} is not known here; its events are kept without a meaning.",
        line=line,
        field="kind",
    )


def unknown_process(name: object, line: int) -> Defect:
    return defect(
        "unknown-process",
        f"The process {quoted(name)} is not in the header. Is its name spelled as there?",
        line=line,
        field="process",
    )


def unknown_channel(name: object, line: int) -> Defect:
    return defect(
        "unknown-channel",
        f"The channel {quoted(name)} is not in the header. Is its id spelled as there?",
        line=line,
        field="channel",
    )


def missing_field(kind: str, field: str, line: int) -> Defect:
    article = "An" if kind[:1] in "aeiou" else "A"
    return defect(
        "missing-field",
        f"{article} event of kind {quoted(kind)} needs the field {quoted(field)}.",
        line=line,
        field=field,
    )


def wrong_end(kind: str, process: str, channel: str, end: str, expected: str, line: int) -> Defect:
    """end: "source" or "target", the end of the channel at which this kind happens."""
    return defect(
        "wrong-end",
        f"A {kind} on {quoted(channel)} happens at the channel's {end} {quoted(expected)}, "
        f"not at {quoted(process)}.",
        line=line,
        field="process",
        process=process,
    )


def index_twice(process: str, index: int, line: int, earlier_line: int) -> Defect:
    return defect(
        "index-twice",
        f"{quoted(process)} has two events with index {index}, the other in line {earlier_line}. "
        "Are two logs in this file?",
        line=line,
        field="index",
        process=process,
    )


def index_gap(process: str, missing: int, first: int, line: int) -> Defect:
    """missing: how many indexes below the largest are not used; first: the smallest of them."""
    return defect(
        "index-gap",
        f"{quoted(process)} lacks {times(missing, 'event')}: no event has index {first}. "
        "The events there are follow each other.",
        line=line,
        field="index",
        process=process,
        count=missing,
    )


def index_partly(process: str, without: int, line: int) -> Defect:
    """without: how many of the process's events carry no index; line: the first of these."""
    return defect(
        "index-gap",
        f"{quoted(process)} has {times(without, 'event')} without an index and others with one. "
        "All are taken in the order of the file.",
        line=line,
        field="index",
        process=process,
        count=without,
    )


def falling_clock(process: str, count: int, line: int) -> Defect:
    """count: events of the process that lie before an earlier one of it; line: the first."""
    return defect(
        "clock-skew",
        f"The clock of {quoted(process)} goes back at {times(count, 'event')}. "
        "What lies too early is drawn at the latest time before it.",
        line=line,
        field="at",
        process=process,
        count=count,
    )


def received_before_sent(channel: str, count: int, line: int) -> Defect:
    """count: messages and markers of the channel; line: the first such receive of its target."""
    return defect(
        "clock-skew",
        f"On {quoted(channel)} the log has {times(count, 'receive')} before the send in time, "
        "drawn no earlier than the send. Do the clocks of the two processes differ?",
        line=line,
        field="at",
        count=count,
    )


def stray_receive(channel: str, message: str, process: str, line: int) -> Defect:
    return defect(
        "stray-receive",
        f"{quoted(message)} is received on {quoted(channel)} but never sent there. "
        "Does the log begin too late?",
        line=line,
        field="message",
        process=process,
    )


def stray_marker(channel: str, snapshot: str, process: str, line: int) -> Defect:
    return defect(
        "stray-receive",
        f"A marker of snapshot {quoted(snapshot)} is received on {quoted(channel)} but never "
        "sent there. Does the log begin too late?",
        line=line,
        field="snapshot",
        process=process,
    )


def received_twice(channel: str, message: str, process: str, line: int) -> Defect:
    return defect(
        "received-twice",
        f"{quoted(message)} on {quoted(channel)} is received more often than it is sent.",
        line=line,
        field="message",
        process=process,
    )


def marker_received_twice(channel: str, snapshot: str, process: str, line: int) -> Defect:
    return defect(
        "received-twice",
        f"The marker of snapshot {quoted(snapshot)} on {quoted(channel)} is received more often "
        "than it is sent.",
        line=line,
        field="snapshot",
        process=process,
    )


def sent_twice(channel: str, message: str, count: int, line: int) -> Defect:
    """count: sends on the channel whose id it has sent before; message, line: the first of them."""
    return defect(
        "sent-twice",
        f"{quoted(message)} on {quoted(channel)} is sent again ({times(count, 'such send')} on the "
        "channel). The k-th send of an id meets its k-th receive.",
        line=line,
        field="message",
        count=count,
    )


def overtaken(channel: str, first: str, later: str, count: int, line: int) -> Defect:
    """first: what was overtaken by later, both named as they read; line: first's send."""
    return defect(
        "fifo-violation",
        f"On the FIFO channel {quoted(channel)}, {later} overtook {first}; "
        f"{count:,} overtaken in all.",
        line=line,
        field="channel",
        count=count,
    )


def recorded_twice(process: str, snapshot: str, what: str, line: int) -> Defect:
    """what: "its state" or the channel, quoted."""
    return defect(
        "recorded-twice",
        f"{quoted(process)} records {what} again for snapshot {quoted(snapshot)}. "
        "The first record counts.",
        line=line,
        field="snapshot",
        process=process,
    )


def unknown_message(channel: str, message: str, snapshot: str, process: str, line: int) -> Defect:
    """One per record_channel event: message is the first id in it that was never sent."""
    return defect(
        "unknown-message",
        f"Snapshot {quoted(snapshot)} records {quoted(message)} on {quoted(channel)}, "
        "which was never sent there.",
        line=line,
        field="messages",
        process=process,
    )
