"""Match sends with receives, for all messages and markers of some channels (third stage)."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from snapshots.domain.model import defects as say
from snapshots.domain.model.defects import MOST_LISTED, Defect, Defects
from snapshots.domain.model.recording import KINDS, RECORD_CHANNEL, Restored
from snapshots.store.decoding import open_part
from snapshots.store.layout import EVENTS, NONE, RECORD_COLUMNS, STRAY_COLUMNS
from snapshots.store.objects.paths import path_of
from snapshots.store.outlines import Outline, kept_outline
from snapshots.store.parts import write_markers, write_messages
from tasks.spark.ingest.message_ids import message_ids
from tasks.spark.ingest.parse import stable_order
from tasks.spark.ingest.restored import Again, between_restores
from tasks.spark.ingest.schemas import (
    MARKER_RECEIVE_CODE,
    MARKER_SEND_CODE,
    RECEIVE_CODE,
    SEND_CODE,
    ListedDefects,
    Matched,
    Placed,
    runs,
)
from tasks.spark.ingest.way import Ends, Way
from tasks.spark.ingest.working import read_codes, summed

_OF_EVENTS = ("kind", "at", "step", "line", "snapshot")  # columns of the events
NEVER = 2**62  # later than every index, and small enough to add to


@dataclass(frozen=True)
class EndsFile:
    """A file of message ends, and the part of the events in which they are rows."""

    ends: str
    events: str


@dataclass(frozen=True)
class MatchTask:
    """What to match: the channels with codes in [``first``, ``end``).

    Args:
        store: folder of the recording.
        records: files of RECORD_COLUMNS.
        channels, fifo, overtaking: each channel's name, whether it is FIFO, and whether markers may
            overtake on it.
        processes, snapshots: all names, by code.
        restores: for the channels that have any, by code, those of the source and of the target.
    """

    store: str
    ends: tuple[EndsFile, ...]
    records: tuple[str, ...]
    first: int
    end: int
    channels: tuple[str, ...]
    fifo: tuple[bool, ...]
    overtaking: tuple[bool, ...]
    processes: tuple[str, ...]
    snapshots: tuple[str, ...]
    restores: Mapping[int, tuple[tuple[Restored, ...], tuple[Restored, ...]]]


def match_channels(task: MatchTask) -> Matched:
    """Write the messages and markers of the task's channels and return their defects.

    ``sent_at`` and ``received_at`` are as logged. If they are not causal, the kernels of ``times``
    write the part again.
    """
    ends = _gathered(task)
    messages = Way.of(ends, SEND_CODE, RECEIVE_CODE, ends.ids.codes)
    markers = Way.of(ends, MARKER_SEND_CODE, MARKER_RECEIVE_CODE, ends.columns["snapshot"])
    again: Again = {}
    if task.restores:
        messages, markers, again = _between_restores(task, ends, messages, markers)
    store = path_of(task.store)
    parts = (
        *write_messages(store, messages.table(ends)),
        *write_markers(store, markers.marker_table(ends)),
    )
    finder = DefectFinder(task, ends, messages, markers)
    matching, early, overtaken = finder.matching(), finder.early(), finder.overtaken()
    unknown, unlisted = finder.unknown_messages()
    return Matched(
        parts=parts,
        causal=messages.causal(ends) and markers.causal(ends),
        strays=finder.strays(),
        matching=ListedDefects.of(matching),
        early=early,
        overtaken=ListedDefects.of(overtaken),
        unknown=unknown,
        unlisted=unlisted,
        again=again,
    )


def _gathered(task: MatchTask) -> Ends:
    """Read the ends of the task's channels, from their files and from the events."""
    store, events, gathered = path_of(task.store), [], []
    for file in task.ends:
        table = read_codes(path_of(file.ends), "channel", task.first, task.end)
        if not table.num_rows:
            continue
        part, channel = open_part(store / file.events, EVENTS), table["channel"].to_numpy()
        rows = summed(table["row"].to_numpy(), channel)
        columns = {name: part.numbers(name, rows) for name in _OF_EVENTS}
        columns |= _places(kept_outline(store, file.events), rows)
        columns["channel"] = channel
        gathered.append(columns)
        events.append((part, rows))
    none = np.zeros(0, np.int64)
    joined = {
        name: np.concatenate([none, *(columns[name] for columns in gathered)])
        for name in (*_OF_EVENTS, "channel", "process", "index")
    }
    order = stable_order(joined["channel"] - task.first)
    ends = {name: column[order] for name, column in joined.items()}
    known = ends["at"] != NONE
    ends["at"][~known] = 0
    return Ends(ends, known, message_ids(events, order))


def _places(outline: Outline, rows: np.ndarray) -> dict[str, np.ndarray]:
    """Return the process of each row of a part, and the index within it."""
    run = np.searchsorted(outline.begin, rows, side="right") - 1
    return {"process": outline.code[run], "index": rows - outline.begin[run]}


def _between_restores(
    task: MatchTask, ends: Ends, messages: Way, markers: Way
) -> tuple[Way, Way, Again]:
    held: dict[tuple[int, str], list[str]] = {}
    for row in _recorded_lists(task).to_pylist():
        held.setdefault((row["channel"], task.snapshots[row["snapshot"]]), row["messages"])
    snapshots = ends["snapshot"].tolist()
    ids = ends.ids.texts(np.arange(len(snapshots))).to_pylist()
    messages, again = between_restores(messages, ends, ids, task.restores, held)
    markers, _ = between_restores(markers, ends, snapshots, task.restores, {})
    return messages, markers, again


def _recorded_lists(task: MatchTask) -> pa.Table:
    """Return the record_channel rows of the task's channels, sorted by process and index."""
    tables = [RECORD_COLUMNS.empty_table()]
    for file in task.records:
        rows = read_codes(path_of(file), "channel", task.first, task.end)
        tables.append(rows.filter(pc.equal(rows["kind"], KINDS.index(RECORD_CHANNEL))))
    rows = pa.concat_tables(tables).combine_chunks()
    return rows.sort_by([("process", "ascending"), ("index", "ascending")])


def overtaken(
    channel: np.ndarray, received: np.ndarray, may_overtake: np.ndarray | None = None
) -> np.ndarray:
    """Tell which messages and markers a later one on their channel overtook: bool[N].

    Args:
        channel: channel codes, sorted.
        received: int64[N] in order of sending, NEVER if not received.
        may_overtake: bool[N], which may overtake others; None if none may.
    """
    if not len(channel):
        return np.zeros(0, bool)
    rank = np.minimum(received, int(received[received < NEVER].max(initial=0)) + 1)
    span = int(rank.max()) + 1
    run = np.cumsum(np.diff(channel, prepend=channel[0]) != 0)
    lifted = rank + run * span  # later channels rank above earlier ones
    by = lifted
    if may_overtake is not None:
        by = np.where(may_overtake, (run + 1) * span, lifted)
    earliest = np.minimum.accumulate(by[::-1])[::-1]
    late = np.zeros(len(channel), bool)
    late[:-1] = (lifted[:-1] > earliest[1:]) & (run[:-1] == run[1:])
    return late


class DefectFinder:
    """Finds the defects of matched channels, in the order and words of the reference."""

    def __init__(self, task: MatchTask, ends: Ends, messages: Way, markers: Way) -> None:
        self.task = task
        self.ends = ends
        self.messages = messages
        self.markers = markers

    def _channel(self, code: int) -> str:
        return self.task.channels[code - self.task.first]

    def strays(self) -> pa.Table:
        """Return the receives without a send as STRAY_COLUMNS, unsorted, with ``at`` as logged."""
        rows = np.concatenate([way.receives[~way.taken] for way in (self.messages, self.markers)])
        columns = {name: pa.array(column[rows]) for name, column in self.ends.columns.items()}
        columns["message"] = self.ends.ids.texts(rows)
        table = pa.table([columns[name] for name in STRAY_COLUMNS.names], STRAY_COLUMNS.names)
        return table.cast(STRAY_COLUMNS)

    def matching(self) -> Defects:
        """Return the defects of strays and of ids sent twice, channel by channel."""
        told: list[tuple[int, int, Defect]] = []
        unlisted = 0
        for rank, way, by_id in ((0, self.messages, True), (3, self.markers, False)):
            strays = np.flatnonzero(~way.taken)
            surplus = among(way.receive_key[strays], way.send_key)
            unlisted += max(0, len(strays) - MOST_LISTED)
            for place, twice in zip(strays[:MOST_LISTED].tolist(), surplus.tolist(), strict=False):
                row = int(way.receives[place])
                late = bool(way.late[place])
                defect = self._stray(row, by_id, twice, late)
                told.append((int(self.ends["channel"][row]), rank + (2 if late else twice), defect))
        told += [(code, 6, defect) for code, defect in self._resent()]
        told.sort(key=lambda item: item[:2])
        defects = Defects(defect for *_, defect in told)
        defects.total += unlisted
        return defects

    def _stray(self, row: int, by_id: bool, twice: bool, late: bool) -> Defect:
        facts = {
            "process": self.task.processes[self.ends["process"][row]],
            "line": int(self.ends["line"][row]),
            "channel": self._channel(int(self.ends["channel"][row])),
        }
        if by_id:
            complaint = say.received_twice if twice else say.stray_receive
            complaint = say.received_late if late else complaint
            return complaint(message=self.ends.message(row), **facts)
        complaint = say.marker_received_twice if twice else say.stray_marker
        complaint = say.marker_late if late else complaint
        return complaint(snapshot=self.task.snapshots[self.ends["snapshot"][row]], **facts)

    def _resent(self) -> list[tuple[int, Defect]]:
        key, sends = self.messages.send_key, self.messages.sends
        channel = self.ends["channel"][sends]
        if ((key[1:] > key[:-1]) | (channel[1:] != channel[:-1])).all():
            return []  # ids that rise along every channel: none is sent twice
        by_key = np.argsort(key, kind="stable")
        again = np.sort(by_key[1:][key[by_key][1:] == key[by_key][:-1]])
        told = []
        for code, begin, end in runs(channel[again]):
            row = int(sends[again[begin]])
            defect = say.sent_twice(
                channel=self._channel(code),
                message=self.ends.message(row),
                count=end - begin,
                line=int(self.ends["line"][row]),
            )
            told.append((code, defect))
        return told

    def early(self) -> tuple[Placed, ...]:
        """Return receives that are logged earlier than their send, one defect per channel."""
        rows = np.sort(
            np.concatenate([self._early_rows(self.messages), self._early_rows(self.markers)])
        )
        told = []
        for code, begin, end in runs(self.ends["channel"][rows]):
            row = int(rows[begin])
            place = (int(self.ends["process"][row]), int(self.ends["index"][row]))
            line = int(self.ends["line"][row])
            defect = say.received_before_sent(
                channel=self._channel(code), count=end - begin, line=line
            )
            told.append(Placed(place, defect))
        return tuple(told)

    def _early_rows(self, way: Way) -> np.ndarray:
        met = np.flatnonzero(way.received != NONE)
        send, receive = way.sends[met], way.receives[way.received[met]]
        known = self.ends.known[send] & self.ends.known[receive]
        return receive[known & (self.ends["at"][receive] < self.ends["at"][send])]

    def overtaken(self) -> Defects:
        """Return one defect for each FIFO channel on which something was overtaken."""
        sends = np.concatenate([self.messages.sends, self.markers.sends])
        received = np.concatenate(
            [way.received_index(self.ends, NEVER) for way in (self.messages, self.markers)]
        )
        place = np.argsort(sends, kind="stable")
        sends, received = sends[place], received[place]
        channel = self.ends["channel"][sends]
        may_overtake = np.array((*self.task.overtaking, False))[channel - self.task.first]
        may_overtake &= self.ends["kind"][sends] == MARKER_SEND_CODE
        late = overtaken(channel, received, may_overtake)
        by = np.where(may_overtake, NEVER, received)
        late &= np.array((*self.task.fifo, False))[channel - self.task.first]
        defects = Defects()
        rows = np.flatnonzero(late)
        for code, begin, end in runs(channel[rows]):
            first = int(rows[begin])
            stop = int(np.searchsorted(channel, code, side="right"))
            later = first + 1 + int(np.argmin(by[first + 1 : stop]))
            defects.add(
                say.overtaken(
                    channel=self._channel(code),
                    first=self._called(int(sends[first])),
                    later=self._called(int(sends[later])),
                    count=end - begin,
                    line=int(self.ends["line"][sends[first]]),
                )
            )
        return defects

    def _called(self, row: int) -> str:
        if self.ends["kind"][row] == MARKER_SEND_CODE:
            snapshot = self.task.snapshots[self.ends["snapshot"][row]]
            return f"the marker of snapshot {say.quoted(snapshot)}"
        return say.quoted(self.ends.message(row))

    def unknown_messages(self) -> tuple[tuple[Placed, ...], int]:
        """Find recorded channel states with a message never sent; count the unlisted ones."""
        records = _recorded_lists(self.task)
        rows = self._naming_unknown(records)
        told = records.take(pa.array(rows[:MOST_LISTED], pa.int64())).to_pylist()
        return tuple(map(self._unknown, told)), max(0, len(rows) - MOST_LISTED)

    def _naming_unknown(self, records: pa.Table) -> list[int]:
        """Return the rows of records whose lists hold an id that their channel never sent."""
        lists = records["messages"].combine_chunks()
        owner = pc.list_parent_indices(lists).to_numpy()
        if not len(owner):
            return []
        ids = self.ends.ids.codes_of(pc.list_flatten(lists))
        span = int(self.ends.ids.codes.max(initial=0)) + 1
        key = np.where(ids == NONE, NONE, records["channel"].to_numpy()[owner] * span + ids)
        return np.unique(owner[~among(key, self.messages.send_key)]).tolist()

    def _unknown(self, record: dict) -> Placed:
        channel = record["channel"]
        sends = self.messages.sends[self.ends["channel"][self.messages.sends] == channel]
        sent = set(self.ends.ids.texts(sends).to_pylist())
        message = next(item for item in record["messages"] if item not in sent)
        defect = say.unknown_message(
            channel=self._channel(channel),
            message=message,
            snapshot=self.task.snapshots[record["snapshot"]],
            process=self.task.processes[record["process"]],
            line=record["line"],
        )
        return Placed((record["process"], record["index"], 1), defect)


def among(few: np.ndarray, many: np.ndarray) -> np.ndarray:
    """Tell which of the few values occur among the many: bool[few].

    It searches for the few, which is faster here than numpy.isin.
    """
    values, inverse = np.unique(few, return_inverse=True)
    if not len(values):
        return np.zeros(0, bool)
    nearest = np.minimum(np.searchsorted(values, many), len(values) - 1)
    occurs = np.zeros(len(values), bool)
    occurs[nearest[values[nearest] == many]] = True
    return occurs[inverse]
