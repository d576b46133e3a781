"""A channel of a simulated dataflow: the sender's buffer, the wire, and the receiver's buffer.

Each buffer holds a limited number of records. The receiver gives its room out as credit: a record
goes onto the wire only when there is room for it. So a slow receiver fills first its own buffer,
then the sender's, and then the sender stands still. Barriers, ends and cancellations need no
credit.
"""

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Protocol, TypeVar

from snapshots.domain.model.recording import MessageId
from snapshots.domain.model.topology import Channel, ChannelId
from snapshots.domain.simulators.dataflows.functions import Record
from snapshots.domain.simulators.event_queue import EventQueue

RECORD, BARRIER, END, CANCEL, WATERMARK = "record", "barrier", "end", "cancel", "watermark"
SCHEMA = "schema"


class AnyLane(Protocol):
    """A channel as its two tasks use it, whichever engine has it.

    ``input`` holds what the receiver may take, in order.
    """

    channel: Channel
    id: ChannelId
    input: deque["Item"]
    blocked: bool

    @property
    def has_room(self) -> bool:
        """Whether the sender may put another record."""

    def put(self, item: "Item") -> None:
        """Put an item at the end of the channel."""

    def take(self) -> "Item":
        """Remove the item at the head of the channel, which has been processed."""

    def clear(self) -> list["Item"]:
        """Empty the channel; return all that was not processed, in order."""


LaneT = TypeVar("LaneT", bound=AnyLane)


@dataclass(slots=True, eq=False)
class Item:
    """One element of a channel.

    kind: RECORD (with its message id), BARRIER (the protocol's own, with a ``cid``), END, CANCEL
        (of the checkpoint ``cid``), WATERMARK, or SCHEMA (a change to this ``schema``).
    order: 0, 1, 2 … as put on the channel.
    priority: whether it has overtaken others.
    overtaken: the records and watermarks that a barrier has jumped over in the sender's buffer.
    stands_for_end: marks a barrier that no task has sent. The coordinator puts it behind the end of
        the channel when it records the sender as finished.
    buffered_at: when the receiver took it out of a blocked channel; None if it did not.
    is_idle: the news of a WATERMARK without ``watermark``: whether the sender is idle.
    """

    kind: str
    record: Record | None = None
    message: MessageId | None = None
    barrier: Any = None
    cid: int | None = None
    schema: int | None = None
    order: int = -1
    priority: bool = False
    stands_for_end: bool = False
    overtaken: list["Item"] = field(default_factory=list)
    watermark: int | None = None
    is_idle: bool | None = None
    buffered_at: int | None = None

    @property
    def is_record(self) -> bool:
        """Whether this is a record."""
        return self.record is not None

    @property
    def is_content(self) -> bool:
        """Whether an unaligned checkpoint keeps this as a part of the channel's state."""
        return self.kind in (RECORD, WATERMARK)


class Lane:
    """A channel with its two buffers.

    input: what the receiver may take, in order.
    jumped: barriers that have overtaken ``input``.
    buffered: what the receiver has taken out of ``input`` while the channel was blocked.
    collected: for each unaligned checkpoint whose barrier has not come, the records and watermarks
        that were in ``input`` when the receiver recorded, and all that arrived since.
    """

    def __init__(
        self,
        channel: Channel,
        capacity: int,
        queue: EventQueue,
        delay: Callable[[], int],
        on_arrival: Callable[["Lane", Item], None],
        on_room: Callable[["Lane"], None],
    ) -> None:
        self.channel = channel
        self.id = channel.id
        self.capacity = capacity
        self.queue = queue
        self.delay = delay
        self.on_arrival = on_arrival
        self.on_room = on_room
        self.output: deque[Item] = deque()
        self.wire: deque[Item] = deque()
        self.input: deque[Item] = deque()
        self.jumped: list[Item] = []
        self.records_out = 0
        self.in_use = 0
        self.count = 0
        self.epoch = 0
        self.last_arrival = 0
        self.blocked = False
        self.is_buffering = False
        self.buffered: deque[Item] = deque()
        self.collected: dict[int, list[Item]] = {}

    @property
    def is_empty(self) -> bool:
        """Whether nothing is on the channel."""
        return not (self.output or self.wire or self.input or self.jumped or self.buffered)

    @property
    def has_room(self) -> bool:
        """Whether the sender's buffer takes another record."""
        return self.records_out < self.capacity

    def put(self, item: Item) -> None:
        """Put an item at the end of the sender's buffer, even if that is full."""
        self._number(item)
        self.output.append(item)
        self.records_out += item.is_record
        self._pump()

    def put_first(self, item: Item) -> None:
        """Send a barrier that overtakes all that lies in the sender's buffer."""
        self._number(item)
        self._jump(item, list(self.output))

    def put_behind_end(self, item: Item) -> None:
        """Hand an item to the receiver at once; the end of the channel has been taken before."""
        self._number(item)
        self.input.append(item)
        self.on_arrival(self, item)

    def hurry(self, cid: int) -> Item | None:
        """Make the checkpoint's barrier overtake what lies before it in the sender's buffer.

        Returns: the barrier's item, or None if it has left the buffer.
        """
        for index, item in enumerate(self.output):
            if item.kind == BARRIER and item.barrier.cid == cid:
                ahead = list(self.output)[:index]
                del self.output[index]
                self._jump(item, ahead)
                return item
        return None

    def take(self) -> Item:
        """Remove the head of the receiver's buffer, which has been processed."""
        if self.buffered:
            return self.buffered.popleft()
        item = self.input.popleft()
        if item.is_record:
            self.in_use -= 1
            self._pump()
        return item

    @property
    def head(self) -> Item | None:
        """The item that the receiver takes next, if there is one."""
        waiting = self.buffered or self.input
        return waiting[0] if waiting else None

    def block(self, is_buffering: bool) -> None:
        """Let the receiver process nothing of the channel.

        ``is_buffering``: the receiver takes what arrives into a buffer of its own, so that its
        credit comes back at once.
        """
        self.blocked, self.is_buffering = True, is_buffering
        if is_buffering:
            self._buffer()

    def unblock(self) -> int:
        """Let the receiver process again; return how many records it had buffered."""
        self.blocked = self.is_buffering = False
        return sum(item.is_record for item in self.buffered)

    def _buffer(self) -> None:
        moved = list(self.input)
        self.input.clear()
        self.buffered.extend(moved)
        self.in_use -= sum(item.is_record for item in moved)
        for item in moved:
            item.buffered_at = self.queue.now
        self._pump()

    def pull(self, cid: int) -> Item | None:
        """Let the checkpoint's barrier overtake in the receiver's buffer, if it is there."""
        for item in self.input:
            if item.kind == BARRIER and item.barrier.cid == cid:
                self.input.remove(item)
                item.priority = True
                self.jumped.append(item)
                return item
        return None

    def collect(self, cid: int) -> None:
        """Keep what has arrived and is not processed, and what will arrive."""
        self.collected[cid] = [item for item in self.input if item.is_content]

    def clear(self) -> list[Item]:
        """Empty the channel; return all that was on it, in order."""
        items = sorted(
            (*self.jumped, *self.buffered, *self.input, *self.wire, *self.output),
            key=lambda item: item.order,
        )
        for part in (self.jumped, self.buffered, self.input, self.wire, self.output):
            part.clear()
        self.records_out = self.in_use = 0
        self.collected = {}
        self.blocked = self.is_buffering = False
        self.epoch += 1
        return items

    def _number(self, item: Item) -> None:
        item.order = self.count
        self.count += 1

    def _jump(self, item: Item, ahead: list[Item]) -> None:
        item.priority = True
        item.overtaken = [other for other in ahead if other.is_content]
        self._travel(item)

    def _pump(self) -> None:
        moved = False
        while self.output:
            item = self.output[0]
            if item.is_record:
                if self.in_use >= self.capacity:
                    break
                self.in_use += 1
                self.records_out -= 1
                moved = True
            self.output.popleft()
            self._travel(item)
        if moved:
            self.on_room(self)

    def _travel(self, item: Item) -> None:
        self.wire.append(item)
        self.last_arrival = max(self.last_arrival, self.queue.now + self.delay())
        self.queue.at(self.last_arrival, self._arrive, item, self.epoch)

    def _arrive(self, item: Item, epoch: int) -> None:
        if epoch != self.epoch:
            return
        self.wire.popleft()
        if item.priority:
            self.jumped.append(item)
        else:
            self.input.append(item)
            if item.is_content:
                for kept in self.collected.values():
                    kept.append(item)
            if self.is_buffering:
                self._buffer()
        self.on_arrival(self, item)
