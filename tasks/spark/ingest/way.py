"""The ends of messages and markers on some channels, and which receive takes each send."""

from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from snapshots.store.layout import NONE
from tasks.spark.ingest.message_ids import MessageIds
from tasks.spark.ingest.working import runs_of


class Ends:
    """The ends of the task's channels, sorted by channel, then part and row.

    Args:
        columns: channel, kind, process, index, at, step, line and snapshot as numpy arrays (``at``
            is 0 if unknown).
        known: whether each row has a time.
        ids: the ids of messages.
    """

    def __init__(self, columns: dict[str, np.ndarray], known: np.ndarray, ids: MessageIds) -> None:
        self.columns = columns
        self.known = known
        self.ids = ids

    def __getitem__(self, name: str) -> np.ndarray:
        return self.columns[name]

    def message(self, row: int) -> str:
        """Return the id of the message in a row."""
        return self.ids.texts(np.array([row]))[0].as_py()


@dataclass(frozen=True)
class Way:
    """Which receive takes each send; both are rows of Ends, sorted by channel and order.

    Args:
        received: int64[S], the index in ``receives`` of each send's receive, or NONE.
        taken: bool[R], whether each receive is explained, mostly by a send.
        late: bool[R], whether each receives a message of another epoch.
        back, back_at: int64[S], the index of the restore that took each send back, and its time
            as logged; NONE if none did.
    """

    sends: np.ndarray
    receives: np.ndarray
    received: np.ndarray
    taken: np.ndarray
    late: np.ndarray
    back: np.ndarray
    back_at: np.ndarray
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
        late, none = np.zeros(len(receives), bool), np.full(len(sends), NONE)
        return cls(sends, receives, received, taken, late, none, none, send_key, receive_key)

    def ends_at(self, column: np.ndarray, missing: int) -> np.ndarray:
        """Return the column at the receive of each send, ``missing`` while in flight."""
        padded = np.append(column[self.receives], missing)
        return padded[self.received]  # NONE is the last

    def received_index(self, ends: Ends, missing: int) -> np.ndarray:
        """Return the index at which each send is received or taken back, else ``missing``."""
        return np.where(self.back == NONE, self.ends_at(ends["index"], missing), self.back)

    def causal(self, ends: Ends) -> bool:
        sent = ends["step"][self.sends]
        return bool((sent < self.ends_at(ends["step"], 2**63 - 1)).all())

    def table(self, ends: Ends) -> pa.Table:
        """Return the messages without ``received_reach`` and what follows from the events."""
        columns = {
            "channel": pa.array(ends["channel"][self.sends]),
            "sent_index": pa.array(ends["index"][self.sends]),
            "received_index": self._received(self.received_index(ends, 0)),
        }
        return pa.table(columns)

    def marker_table(self, ends: Ends) -> pa.Table:
        """Return the markers without ``received_reach``."""
        columns = {
            "sent_at": pa.array(ends["at"][self.sends]),
            "received_at": self._received(
                np.where(self.back == NONE, self.ends_at(ends["at"], 0), self.back_at)
            ),
            "snapshot": pa.array(ends["snapshot"][self.sends]),
        }
        table = self.table(ends)
        for name, column in columns.items():
            table = table.append_column(name, column)
        return table

    def _received(self, column: np.ndarray) -> pa.Array:
        """Return a column of the sends, null while in flight."""
        return pa.array(column, mask=(self.received == NONE) & (self.back == NONE))


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
    begins, counts = runs_of(receive_channel)
    first = np.searchsorted(send_channel, receive_channel[begins])
    send = np.arange(len(receive_key)) + np.repeat(first - begins, counts)
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
