"""Follow a restored run and the original place by place; the rules are those of ``restore``."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence

from snapshots.domain.judging.findings import (
    DUPLICATED,
    FIFO_VIOLATION,
    LOST,
    ORPHAN,
    STATE_MISMATCH,
    UNKNOWN,
)
from snapshots.domain.model.recording import RECEIVE, SEND, MessageId
from snapshots.domain.model.topology import Channel, ChannelId, JsonText, ProcessId
from snapshots.domain.model.values import same_amount
from snapshots.domain.replaying import restored_sentences as say
from snapshots.domain.replaying.replayed_state import (
    ReplayedStep,
    replayed_states,
    same_contents,
    taken_places,
)
from snapshots.domain.replaying.restored_course import Course, Held, Replayed
from snapshots.domain.replaying.restored_run import (
    CHANNELS,
    EMPTIED,
    STATES,
    Fault,
    Flight,
    RestoredRun,
    Side,
    Step,
)

Changes = tuple[tuple[int, ...], tuple[JsonText | None, ...]]


def follow(course: Course) -> RestoredRun:
    """Return the restored run and the original, place by place."""
    return _Following(course).run()


class _Following:
    """The two runs under way; first the channels, then the states, then what is said of them."""

    def __init__(self, course: Course) -> None:
        self.course = course
        self.processes = [process.id for process in course.topology.processes]
        self.channels = course.topology.channels
        self.filled = len(self.processes)
        self.cut = self.filled + sum(map(len, course.held.values())) + 1
        self.places = {
            (event.process, event.index): self.cut + number
            for number, event in enumerate(course.events, 1)
        }
        self.sends, self.receives = self._by_channel(SEND), self._by_channel(RECEIVE)
        self.missing: set[tuple[ProcessId, int]] = set()
        self.overtaken: dict[tuple[ProcessId, int], Held] = {}

    def _by_channel(self, kind: str) -> dict[ChannelId, list[Replayed]]:
        """Return the events of a kind on each channel, which are those of one process."""
        found: dict[ChannelId, list[Replayed]] = {channel.id: [] for channel in self.channels}
        for event in self.course.events:
            if event.kind == kind and event.channel is not None:
                found[event.channel].append(event)
        return found

    def run(self) -> RestoredRun:
        original = Side(self._original_states(), tuple(self._original_flights()))
        flights = tuple(self._restored_flights())
        restored = Side(self._restored_states(), flights)
        end = self.cut + len(self.course.events)
        return RestoredRun(
            self.course,
            original,
            restored,
            tuple(self._opening()),
            (0, self.filled, self.cut, end),
            frozenset(self.missing),
            tuple(sorted(self._faults(original), key=lambda fault: fault.place)),
            self._conserved(original, end),
        )

    # --- channels --------------------------------------------------------------------------------

    def _original_flights(self) -> Iterator[Flight]:
        for channel in self.channels:
            held = [(message, 0, False) for message in self.course.in_flight[channel.id]]
            sends = (event for event in self.sends[channel.id] if not event.received_before)
            yield from self._flights(channel, [*held, *map(self._put, sends)])

    def _restored_flights(self) -> Iterator[Flight]:
        place = self.filled
        for channel in self.channels:
            held = []
            for message in self.course.held[channel.id]:
                place += 1
                held.append((message, place, False))
            puts = [*held, *map(self._put, self.sends[channel.id])]
            self._note(channel, [message for message, _, _ in puts])
            yield from self._flights(channel, puts)

    def _put(self, event: Replayed) -> tuple[Held, int, bool]:
        assert event.message is not None  # assembly refuses a send without a message
        place = self.places[event.process, event.index]
        return Held(event.message, event.value), place, True

    def _flights(
        self, channel: Channel, puts: Sequence[tuple[Held, int, bool]]
    ) -> Iterator[Flight]:
        receives = self.receives[channel.id]
        taken: dict[int, int] = {}
        ids = [message.id for message, _, _ in puts]
        for event, row in zip(receives, taken_places(ids, _ids(receives)), strict=True):
            if row is not None:
                taken[row] = self.places[event.process, event.index]
        for row, (message, place, sent) in enumerate(puts):
            yield Flight(channel.id, message, place, taken.get(row), sent)

    def _note(self, channel: Channel, held: Sequence[Held]) -> None:
        """Note the receives that find no message, and on FIFO channels those of a later one."""
        receives, head = self.receives[channel.id], 0
        is_taken = [False] * len(held)
        taken = taken_places([message.id for message in held], _ids(receives))
        for event, row in zip(receives, taken, strict=True):
            key = event.process, event.index
            if row is None:
                self.missing.add(key)
                continue
            if channel.fifo and row > head:
                self.overtaken[key] = held[head]
            is_taken[row] = True
            while head < len(held) and is_taken[head]:
                head += 1

    # --- states ----------------------------------------------------------------------------------

    def _by_process(self) -> dict[ProcessId, list[Replayed]]:
        found: dict[ProcessId, list[Replayed]] = {process: [] for process in self.processes}
        for event in self.course.events:
            found[event.process].append(event)
        return found

    def _original_states(self) -> Mapping[ProcessId, Changes]:
        return {
            process: self._changes(
                [(0, self.course.logged[process])],
                zip(events, (event.state for event in events), strict=True),
            )
            for process, events in self._by_process().items()
        }

    def _restored_states(self) -> Mapping[ProcessId, Changes]:
        found = {}
        for number, (process, events) in enumerate(self._by_process().items(), 1):
            steps = (
                ReplayedStep(event.state, (process, event.index) not in self.missing)
                for event in events
            )
            restored, logged = self.course.restored[process], self.course.logged[process]
            after = (item.after for item in replayed_states(restored, logged, steps))
            found[process] = self._changes([(number, restored)], zip(events, after, strict=True))
        return found

    def _changes(
        self,
        first: list[tuple[int, JsonText | None]],
        after: Iterable[tuple[Replayed, JsonText | None]],
    ) -> Changes:
        rows = first + [(self.places[event.process, event.index], state) for event, state in after]
        return tuple(place for place, _ in rows), tuple(state for _, state in rows)

    def _conserved(self, original: Side, end: int) -> int | float | None:
        """Return the sum of the start if the original has it at its end, too."""
        start, at_end = self.course.start, original.total(end)
        if start is None or at_end is None or self.course.left_out:
            return None
        return start if same_amount(start, at_end) else None

    # --- what is said ----------------------------------------------------------------------------

    def _opening(self) -> Iterator[Step]:
        """Yield what is done until the run goes on."""
        yield Step(EMPTIED, say.emptied(len(self.processes), len(self.channels)))
        for process in self.processes:
            state, is_logged = self.course.restored[process], process in self.course.from_log
            yield Step(STATES, say.state_set(process, state, is_logged=is_logged), process)
        for channel in self.channels:
            held = self.course.held[channel.id]
            for number in range(len(held)):
                is_logged = channel.id in self.course.from_log
                sentence = say.put_back(channel, held, number, is_logged=is_logged)
                yield Step(CHANNELS, sentence, channel.source)
        yield Step(CHANNELS, say.filled(self.course.held))

    def _faults(self, original: Side) -> Iterator[Fault]:
        yield from self._wrong_states()
        lost: Counter[tuple[ChannelId, MessageId]] = Counter()
        for channel in self.channels:
            for fault in self._wrong_contents(channel, original):
                if fault.kind == LOST and fault.message is not None:
                    lost[channel.id, fault.message] += 1
                yield fault
        yield from self._going_wrong(lost)

    def _wrong_states(self) -> Iterator[Fault]:
        for place, process in enumerate(self.processes, 1):
            logged, restored = self.course.logged[process], self.course.restored[process]
            if None not in (logged, restored) and logged != restored:
                sentence = say.wrong_state(process, logged, restored)
                yield Fault(place, STATE_MISMATCH, sentence, process)

    def _wrong_contents(self, channel: Channel, original: Side) -> Iterator[Fault]:
        """Yield what the filled channel lacks, has too much, or has in another order."""
        expected, found = self.course.in_flight[channel.id], self.course.held[channel.id]
        if same_contents(_names(expected), _names(found), fifo=channel.fifo):
            return
        taken = {
            flight.message.id: flight.taken is not None
            for flight in original.flights
            if flight.channel == channel.id and not flight.sent
        }
        too_few = Counter(_names(expected)) - Counter(_names(found))
        too_many = Counter(_names(found)) - Counter(_names(expected))
        for message in _first_of(too_few, expected):
            received = taken.get(message.id, False) or (None if self.course.left_out else False)
            sentence = say.lost(channel, message, received=received)
            yield Fault(self.cut, LOST, sentence, channel.target, channel.id, message.id)
        for message in _first_of(too_many, found):
            sentence = say.twice(channel, message, self._why_twice(channel, message, expected))
            yield Fault(self.cut, DUPLICATED, sentence, channel.target, channel.id, message.id)
        if not too_few and not too_many:
            sentence = say.other_order(channel, expected, found)
            yield Fault(self.cut, FIFO_VIOLATION, sentence, channel.target, channel.id)

    def _why_twice(self, channel: Channel, message: Held, expected: Sequence[Held]) -> str:
        if message.id in _names(expected):
            return say.RECORDED_TWICE
        is_sent = any(event.message == message.id for event in self.sends[channel.id])
        return say.SENT_AGAIN if is_sent else say.HAD_BEFORE

    def _going_wrong(self, lost: Counter[tuple[ChannelId, MessageId]]) -> Iterator[Fault]:
        """Yield the faults of the last beat, without those that beat three has caused."""
        channels = self.course.topology.channel_by_id
        for place, event in enumerate(self.course.events, self.cut + 1):
            key = event.process, event.index
            if event.channel is None or event.message is None:
                continue
            channel, named = channels[event.channel], Held(event.message, event.value)
            if event.received_before:
                sentence = say.sent_again(channel, named)
                yield Fault(place, ORPHAN, sentence, channel.target, channel.id, event.message)
            elif key in self.missing and lost[channel.id, event.message]:
                lost[channel.id, event.message] -= 1
            elif key in self.missing:
                sentence = say.never_sent(channel, named)
                yield Fault(place, UNKNOWN, sentence, channel.target, channel.id, event.message)
            elif key in self.overtaken and self._keeps_order(channel):
                sentence = say.overtakes(channel, named, self.overtaken[key])
                yield Fault(
                    place, FIFO_VIOLATION, sentence, channel.target, channel.id, event.message
                )

    def _keeps_order(self, channel: Channel) -> bool:
        """Tell whether nothing that was put back, or is sent again, is in another order already."""
        expected, found = self.course.in_flight[channel.id], self.course.held[channel.id]
        is_orphaned = any(event.received_before for event in self.sends[channel.id])
        return _names(expected) == _names(found) and not is_orphaned


def _ids(receives: Iterable[Replayed]) -> list[MessageId]:
    return [event.message for event in receives if event.message is not None]  # all of them


def _names(messages: Iterable[Held]) -> list[MessageId]:
    return [message.id for message in messages]


def _first_of(counts: Counter[MessageId], messages: Iterable[Held]) -> Iterator[Held]:
    """Yield so many messages of each id, in their order."""
    left = Counter(counts)
    for message in messages:
        if left[message.id] > 0:
            left[message.id] -= 1
            yield message
