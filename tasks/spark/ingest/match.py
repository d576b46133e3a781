"""Match sends with receives, for all messages and markers of some channels (third stage)."""

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from snapshots.domain.model import defects as say
from snapshots.domain.model.defects import MOST_LISTED, Defect, Defects
from snapshots.domain.model.recording import KINDS, RECORD_CHANNEL
from snapshots.store.decoding import open_part
from snapshots.store.layout import EVENTS, NONE, RECORD_COLUMNS, STRAY_COLUMNS
from snapshots.store.parts import map_batch, write_markers, write_messages
from tasks.spark.ingest.schemas import (
    ENDS,
    MARKER_RECEIVE_CODE,
    MARKER_SEND_CODE,
    RECEIVE_CODE,
    SEND_CODE,
    ListedDefects,
    Matched,
    Placed,
    runs,
)

NEVER = 2**62  # later than every index, and small enough to add to


@dataclass(frozen=True)
class EndsFile:
    """A file of message ends, and the file of events in which they are rows."""

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


def match_channels(task: MatchTask) -> Matched:
    """Write the messages and markers of the task's channels and return their defects.

    ``sent_at`` and ``received_at`` are as logged. If they are not causal, the kernels of ``times``
    write the part again.
    """
    ends = _gathered(task)
    messages = Way.of(ends, SEND_CODE, RECEIVE_CODE, ends.ids)
    markers = Way.of(ends, MARKER_SEND_CODE, MARKER_RECEIVE_CODE, ends.columns["snapshot"])
    store = Path(task.store)
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
    )


class Ends:
    """The ends of the task's channels, sorted by channel, then part and row.

    Args:
        columns: ENDS as numpy arrays (``at`` is 0 if unknown).
        message: the id in each row.
        ids: int64[N], equal numbers for equal message ids, NONE for markers.
        known: whether each row has a time.
    """

    def __init__(self, table: pa.Table, message: pa.Array) -> None:
        self.known = pc.is_valid(table["at"]).to_numpy()
        self.columns = {
            name: pc.fill_null(table[name], 0).to_numpy() for name in table.column_names
        }
        self.message = message
        encoded = message.dictionary_encode()
        self.ids = pc.fill_null(encoded.indices, NONE).to_numpy().astype(np.int64)
        self.names = encoded.dictionary

    def __getitem__(self, name: str) -> np.ndarray:
        return self.columns[name]


def _gathered(task: MatchTask) -> Ends:
    tables, ids = [], []
    for file in task.ends:
        batch = map_batch(Path(file.ends))
        begin, end = np.searchsorted(batch.column("channel").to_numpy(), [task.first, task.end])
        if end > begin:
            table = pa.Table.from_batches([batch.slice(begin, end - begin)])
            tables.append(table)
            rows = table["row"].to_numpy()
            ids.append(open_part(Path(file.events), EVENTS).texts("message", rows))
    if not tables:
        return Ends(ENDS.empty_table(), pa.array([], pa.large_string()))
    table, message = pa.concat_tables(tables).combine_chunks(), pa.concat_arrays(ids)
    if len(tables) > 1:
        order = np.argsort(table["channel"].to_numpy(), kind="stable")
        table, message = table.take(order), message.take(order)
    return Ends(table, message)


@dataclass(frozen=True)
class Way:
    """Which receive takes each send; both are rows of Ends, sorted by channel and order.

    Args:
        received: int64[S], the index in ``receives`` of each send's receive, or NONE.
        taken: bool[R], whether a send takes each receive.
    """

    sends: np.ndarray
    receives: np.ndarray
    received: np.ndarray
    taken: np.ndarray
    send_key: np.ndarray
    receive_key: np.ndarray

    @classmethod
    def of(cls, ends: Ends, send_kind: int, receive_kind: int, ids: np.ndarray) -> "Way":
        sends = np.flatnonzero(ends["kind"] == send_kind)
        receives = np.flatnonzero(ends["kind"] == receive_kind)
        span = int(ids.max(initial=0)) + 1
        key = ends["channel"].astype(np.int64) * span + ids
        send_key, receive_key = key[sends], key[receives]
        received = meet(ends["channel"][sends], send_key, ends["channel"][receives], receive_key)
        taken = np.zeros(len(receives), bool)
        taken[received[received != NONE]] = True
        return cls(sends, receives, received, taken, send_key, receive_key)

    def ends_at(self, column: np.ndarray, missing: int) -> np.ndarray:
        """Return the column at the receive of each send, ``missing`` while in flight."""
        padded = np.append(column[self.receives], missing)
        return padded[self.received]  # NONE is the last

    def causal(self, ends: Ends) -> bool:
        sent = ends["step"][self.sends]
        return bool((sent < self.ends_at(ends["step"], 2**63 - 1)).all())

    def table(self, ends: Ends) -> pa.Table:
        """Return the messages without ``received_reach`` and what follows from the events."""
        columns = {
            "channel": pa.array(ends["channel"][self.sends]),
            "sent_index": pa.array(ends["index"][self.sends]),
            "received_index": self._received(ends["index"]),
        }
        return pa.table(columns)

    def marker_table(self, ends: Ends) -> pa.Table:
        """Return the markers without ``received_reach``."""
        columns = {
            "sent_at": pa.array(ends["at"][self.sends]),
            "received_at": self._received(ends["at"]),
            "snapshot": pa.array(ends["snapshot"][self.sends]),
        }
        table = self.table(ends)
        for name, column in columns.items():
            table = table.append_column(name, column)
        return table

    def _received(self, column: np.ndarray) -> pa.Array:
        """Return the column at the receive of each send, null while in flight."""
        return pa.array(self.ends_at(column, 0), mask=self.received == NONE)


def meet(
    send_channel: np.ndarray,
    send_key: np.ndarray,
    receive_channel: np.ndarray,
    receive_key: np.ndarray,
) -> np.ndarray:
    """Match the k-th send of each key with its k-th receive.

    Returns int64[S]: the index of each send's receive, NONE if it has none. Keys of different
    channels differ; rows are sorted by channel. If all receives of a channel line up with its first
    sends, no search is needed.
    """
    received = np.full(len(send_key), NONE, np.int64)
    if not len(send_key) or not len(receive_key):
        return received
    first = np.searchsorted(send_channel, receive_channel)
    ordinal = np.arange(len(receive_key)) - np.searchsorted(receive_channel, receive_channel)
    send = first + ordinal
    inside = np.minimum(send, len(send_key) - 1)
    lined_up = (send < len(send_key)) & (send_key[inside] == receive_key)
    unaligned = np.unique(receive_channel[~lined_up])
    is_aligned = ~np.isin(receive_channel, unaligned)
    received[send[is_aligned]] = np.flatnonzero(is_aligned)
    if len(unaligned):
        sends = np.flatnonzero(np.isin(send_channel, unaligned))
        receives = np.flatnonzero(~is_aligned)
        matches = _meet_by_key(send_key[sends], receive_key[receives])
        received[sends] = np.where(matches == NONE, NONE, receives[matches])
    return received


def _meet_by_key(send_key: np.ndarray, receive_key: np.ndarray) -> np.ndarray:
    received = np.full(len(send_key), NONE, np.int64)
    if not len(send_key):
        return received
    by_send = np.argsort(send_key, kind="stable")
    by_receive = np.argsort(receive_key, kind="stable")
    sent, arrived = send_key[by_send], receive_key[by_receive]
    occurrence = np.arange(len(sent)) - np.searchsorted(sent, sent)
    index = np.searchsorted(arrived, sent) + occurrence
    inside = np.minimum(index, len(arrived) - 1)
    met = (index < len(arrived)) & (arrived[inside] == sent)
    received[by_send[met]] = by_receive[index[met]]
    return received


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
        columns = {name: pa.array(self.ends[name][rows]) for name in ENDS.names if name != "row"}
        columns["message"] = self.ends.message.take(pa.array(rows))
        table = pa.table([columns[name] for name in STRAY_COLUMNS.names], STRAY_COLUMNS.names)
        return table.cast(STRAY_COLUMNS)

    def matching(self) -> Defects:
        """Return the defects of strays and of ids sent twice, channel by channel."""
        told: list[tuple[int, int, Defect]] = []
        unlisted = 0
        for rank, way, by_id in ((0, self.messages, True), (2, self.markers, False)):
            strays = np.flatnonzero(~way.taken)
            surplus = among(way.receive_key[strays], way.send_key)
            unlisted += max(0, len(strays) - MOST_LISTED)
            for place, twice in zip(strays[:MOST_LISTED].tolist(), surplus.tolist(), strict=False):
                row = int(way.receives[place])
                told.append(
                    (int(self.ends["channel"][row]), rank + twice, self._stray(row, by_id, twice))
                )
        told += [(code, 4, defect) for code, defect in self._resent()]
        told.sort(key=lambda item: item[:2])
        defects = Defects(defect for *_, defect in told)
        defects.total += unlisted
        return defects

    def _stray(self, row: int, by_id: bool, twice: bool) -> Defect:
        facts = {
            "process": self.task.processes[self.ends["process"][row]],
            "line": int(self.ends["line"][row]),
            "channel": self._channel(int(self.ends["channel"][row])),
        }
        if by_id:
            complaint = say.received_twice if twice else say.stray_receive
            return complaint(message=self.ends.message[row].as_py(), **facts)
        complaint = say.marker_received_twice if twice else say.stray_marker
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
                message=self.ends.message[row].as_py(),
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
            [way.ends_at(self.ends["index"], NEVER) for way in (self.messages, self.markers)]
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
        return say.quoted(self.ends.message[row].as_py())

    def unknown_messages(self) -> tuple[tuple[Placed, ...], int]:
        """Find recorded channel states with a message never sent; count the unlisted ones."""
        records = self._recorded_lists()
        rows = self._naming_unknown(records)
        told = records.take(pa.array(rows[:MOST_LISTED], pa.int64())).to_pylist()
        return tuple(map(self._unknown, told)), max(0, len(rows) - MOST_LISTED)

    def _recorded_lists(self) -> pa.Table:
        """Return the record_channel rows of the task's channels."""
        tables = [RECORD_COLUMNS.empty_table()]
        for file in self.task.records:
            batch = map_batch(Path(file))
            channel = batch.column("channel").to_numpy()
            chosen = (channel >= self.task.first) & (channel < self.task.end)
            chosen &= batch.column("kind").to_numpy() == KINDS.index(RECORD_CHANNEL)
            tables.append(pa.Table.from_batches([batch.filter(pa.array(chosen))]))
        return pa.concat_tables(tables).combine_chunks()

    def _naming_unknown(self, records: pa.Table) -> list[int]:
        """Return the rows of records whose lists hold an id that their channel never sent."""
        lists = records["messages"].combine_chunks()
        owner = pc.list_parent_indices(lists).to_numpy()
        if not len(owner):
            return []
        ids = pc.index_in(pc.list_flatten(lists), self.ends.names)
        ids = pc.fill_null(ids, NONE).to_numpy().astype(np.int64)
        span = int(self.ends.ids.max(initial=0)) + 1
        key = np.where(ids == NONE, NONE, records["channel"].to_numpy()[owner] * span + ids)
        return np.unique(owner[~among(key, self.messages.send_key)]).tolist()

    def _unknown(self, record: dict) -> Placed:
        channel = record["channel"]
        sends = self.messages.sends[self.ends["channel"][self.messages.sends] == channel]
        sent = set(self.ends.message.take(pa.array(sends)).to_pylist())
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
