"""List what can be wrong with an input: codes, severities and sentences.

The reference (`assembly`) and the Spark ingest report the same defects. The sentences that both
need stand once, in the table at the end of this file.
"""

import difflib
import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from string import Formatter
from typing import Any

REFUSED = "refused"  # the input has no meaning, and nothing of it is stored
KEPT = "kept"  # the input has a meaning and is stored with its list of defects

OTHER_FILES = "other-files"
"""The code of a log that counts events of processes which are in other files."""

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
    OTHER_FILES: REFUSED,
    "too-many-processes": REFUSED,
    "too-many-channels": REFUSED,
    "too-many-restores": REFUSED,
    "unknown-kind": KEPT,
    "skipped-text": KEPT,
    "clock-hole": KEPT,
    "stray-receive": KEPT,
    "received-twice": KEPT,
    "sent-twice": KEPT,
    "index-gap": KEPT,
    "clock-skew": KEPT,
    "fifo-violation": KEPT,
    "recorded-twice": KEPT,
    "unknown-message": KEPT,
    "received-after-restore": KEPT,
    "restored-apart": KEPT,
}

MOST_LISTED = 1000  # defects of one input; further ones are counted
_SIMILAR = 0.75  # of difflib's ratio, from which on a name is taken for a misspelling
_LONGEST_NAME = 60  # characters of a name or value that a sentence quotes


@dataclass(frozen=True, slots=True)
class Defect:
    """One thing that is wrong with an input.

    Attributes:
        code: the kind of defect, one of the keys of ``SEVERITIES``.
        severity: ``refused`` if nothing is stored, ``kept`` if the input still has a meaning.
        sentence: what is wrong, as a sentence.
        line: the first line (a row in Parquet) with this defect, from 1; None if there is none.
        field: the field of that line or of the header, as ``processes[3].id``; None if there is
            none.
        process: the process whose events have the defect; None if it does not concern one process.
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
        prefix = "" if self.line is None else f"Line {self.line}: "
        return prefix + self.sentence


def defect(
    code: str,
    sentence: str,
    *,
    line: int | None = None,
    field: str | None = None,
    process: str | None = None,
    count: int = 1,
) -> Defect:
    """Build a defect with the severity of its code. Raises: KeyError for an unknown code."""
    return Defect(code, SEVERITIES[code], sentence, line, field, process, count)


class InputRefused(Exception):
    """The input has no meaning, and nothing of it is stored.

    Args:
        defects: the first MOST_LISTED defects, the refused ones before the kept ones.
        total: number of all defects.
        members: further members of the problem document, as JSON: ``choices`` lists what the user
            can choose, ``instead`` is the address that takes such an input.
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

    def __reduce__(self) -> tuple[type["InputRefused"], tuple[object, ...]]:
        return (InputRefused, (self.defects, self.total, self.members))


def refuse(
    code: str,
    sentence: str,
    *,
    line: int | None = None,
    field: str | None = None,
    **members: object,
) -> InputRefused:
    """Build the exception for an input that one defect makes meaningless: ``raise refuse(...)``."""
    return InputRefused([defect(code, sentence, line=line, field=field)], members=members)


class Defects:
    """A collector of defects: it lists the first MOST_LISTED and counts all.

    A kept defect adds to the count of an earlier one with the same code, sentence and process.
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
        """The first MOST_LISTED defects: refused ones first, then in the order of their arrival."""
        return (*self._refused, *self._kept.values())[:MOST_LISTED]

    def raise_refused(self) -> None:
        """Raise InputRefused if one of the defects leaves the input without meaning."""
        if self._refused:
            raise InputRefused(self.listed, self.total)


def _joined(earlier: Defect, later: Defect) -> Defect:
    lines = [item.line for item in (earlier, later) if item.line is not None]
    return replace(earlier, line=min(lines, default=None), count=earlier.count + later.count)


def quoted(value: object) -> str:
    """Format a name or value as JSON, cut after 60 characters."""
    try:
        text = json.dumps(value, ensure_ascii=False, default=str)
    except RecursionError:
        return "a value of many levels"
    return text if len(text) <= _LONGEST_NAME else text[:_LONGEST_NAME] + "…"


@lru_cache(maxsize=1024)
def meant(name: str, names: frozenset[str]) -> str:
    """Return the question whether the most similar of ``names`` was meant, after a space.

    The text is empty if none is similar.
    """
    if len(name) > _LONGEST_NAME:
        return ""
    by_lower_case = {each.lower(): each for each in sorted(names)}
    similar = difflib.get_close_matches(name.lower(), by_lower_case, n=1, cutoff=_SIMILAR)
    return f" Did you mean {quoted(by_lower_case[similar[0]])}?" if similar else ""


def times(count: int, noun: str, plural: str = "") -> str:
    """Format a count with its noun: ``1 event``, ``3 events``. ``plural``: where it is no -s."""
    return f"{count:,} {noun if count == 1 else plural or noun + 's'}"


class _SentenceFormatter(Formatter):
    """A formatter in which ``{name!q}`` quotes and ``{count:event}`` counts with a noun."""

    def convert_field(self, value: Any, conversion: Any) -> Any:
        return quoted(value) if conversion == "q" else super().convert_field(value, conversion)

    def format_field(self, value: Any, spec: str) -> str:
        return times(value, spec) if spec[:1].isalpha() else super().format_field(value, spec)


@dataclass(frozen=True, slots=True)
class Complaint:
    """Builds the defects that share a code and a wording, when called with the facts.

    Attributes:
        field: the field of the line that has the defect; None if the caller names it.
        template: the sentence, with the names of facts in braces.
    """

    code: str
    field: str | None
    template: str

    def __call__(
        self,
        *,
        line: int,
        process: str | None = None,
        count: int = 1,
        field: str | None = None,
        **facts: object,
    ) -> Defect:
        """Return the defect of one place of the input, or of ``count`` places.

        Args:
            line: line of the first place.
            process: process whose events have the defect.
            count: how many places the defect stands for.
            field: the field, if the table does not name one.
            facts: what else the template names.
        """
        sentence = _FORMATTER.format(
            self.template, process=process, count=count, field=field, **facts
        )
        return defect(
            self.code,
            sentence,
            line=line,
            field=self.field or field,
            process=process,
            count=count,
        )


_FORMATTER = _SentenceFormatter()

unknown_kind = Complaint(
    "unknown-kind",
    "kind",
    "The kind {kind!q} is not known here; its events are kept without a meaning.{meant}",
)
unknown_process = Complaint(
    "unknown-process",
    "process",
    "The process {name!q} is not in the header. Is its name spelled as there?",
)
unknown_channel = Complaint(
    "unknown-channel",
    "channel",
    "The channel {name!q} is not in the header. Is its id spelled as there?",
)
missing_field = Complaint(
    "missing-field", None, "An event of kind {kind!q} needs the field {field!q}."
)
wrong_end = Complaint(  # end: "source" or "target"; expected: the process there
    "wrong-end",
    "process",
    "A {kind} on {channel!q} happens at the channel's {end} {expected!q}, not at {process!q}.",
)
index_twice = Complaint(
    "index-twice",
    "index",
    "{process!q} has two events with index {index}, the other in line {earlier_line}. "
    "Are two logs in this file?",
)
index_gap = Complaint(  # count: unused indexes below the largest; first: the smallest of them
    "index-gap",
    "index",
    "{process!q} lacks {count:event}: no event has index {first}. "
    "The events there are follow each other.",
)
index_partly = Complaint(
    "index-gap",
    "index",
    "{process!q} has {count:event} without an index and others with one. "
    "All are taken in the order of the file.",
)
falling_clock = Complaint(  # count: events that lie before an earlier one of their process
    "clock-skew",
    "at",
    "The clock of {process!q} goes back at {count:event}. "
    "What lies too early is drawn at the latest time before it.",
)
received_before_sent = Complaint(  # count: messages and markers of the channel
    "clock-skew",
    "at",
    "On {channel!q} the log has {count:receive} before the send in time, "
    "drawn no earlier than the send. Do the clocks of the two processes differ?",
)
stray_receive = Complaint(
    "stray-receive",
    "message",
    "{message!q} is received on {channel!q} but never sent there. Does the log begin too late?",
)
stray_marker = Complaint(
    "stray-receive",
    "snapshot",
    "A marker of snapshot {snapshot!q} is received on {channel!q} but never sent there. "
    "Does the log begin too late?",
)
received_twice = Complaint(
    "received-twice",
    "message",
    "{message!q} on {channel!q} is received more often than it is sent.",
)
marker_received_twice = Complaint(
    "received-twice",
    "snapshot",
    "The marker of snapshot {snapshot!q} on {channel!q} is received more often than it is sent.",
)
sent_twice = Complaint(  # message: the first id that the channel sends again
    "sent-twice",
    "message",
    "{message!q} on {channel!q} is sent again ({count:such send} on the channel). "
    "The k-th send of an id meets its k-th receive.",
)
overtaken = Complaint(  # first, later: a quoted message or a named marker; line: that of first
    "fifo-violation",
    "channel",
    "On the FIFO channel {channel!q}, {later} overtook {first}; {count:,} overtaken in all.",
)
recorded_twice = Complaint(  # part: "its state", or the channel with its quoted id
    "recorded-twice",
    "snapshot",
    "{process!q} records {part} again for snapshot {snapshot!q}. The first record counts.",
)
unknown_message = Complaint(  # message: the first id of the record that was never sent
    "unknown-message",
    "messages",
    "Snapshot {snapshot!q} records {message!q} on {channel!q}, which was never sent there.",
)
received_late = Complaint(
    "received-after-restore",
    "message",
    "{message!q} on {channel!q} was sent in another epoch than {process!q} receives it in: a "
    "restore lies between, and its snapshot does not hold the message in the channel.",
)
marker_late = Complaint(
    "received-after-restore",
    "snapshot",
    "The marker of snapshot {snapshot!q} on {channel!q} was sent in another epoch than {process!q} "
    "receives it in: a restore lies between, which took it back.",
)
too_many_restores = Complaint(  # most: how many restores a process may have
    "too-many-restores",
    "epoch",
    "{process!q} goes back more than {most:,} times, and Cutline follows no more. "
    "Is each run of the system in a log of its own?",
)
epoch_fell = Complaint(
    "restored-apart",
    "epoch",
    "{process!q} goes back in epoch {epoch} after epoch {earlier}. "
    "Each restore needs a higher epoch than the one before.",
)
restored_apart = Complaint(  # there, elsewhere: a quoted snapshot, or the start
    "restored-apart",
    "snapshot",
    "In epoch {epoch}, {process!q} goes back to {there}, and {other!q} to {elsewhere}. "
    "All processes have to go back to the same snapshot.",
)
restored_alone = Complaint(  # other never goes back in the epoch
    "restored-apart",
    "epoch",
    "{process!q} goes back in epoch {epoch}, and {other!q} never does. "
    "All processes have to go back, or the log is not complete.",
)
recorded_across = Complaint(  # process recorded before the restore, other after it
    "restored-apart",
    "snapshot",
    "{process!q} recorded snapshot {snapshot!q} before the restore of epoch {epoch}, and {other!q} "
    "after it. It is no state of one run.",
)
