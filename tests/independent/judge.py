"""Judge the snapshots of a log by brute force: every pair of events is compared.

The rules are those of Chandy and Lamport's paper and of `docs/model.md`, written a second time and
without the product. It is slow, and simple enough to be checked by reading.
"""

from collections import Counter
from collections.abc import Iterable, Iterator
from decimal import Decimal
from itertools import pairwise, product
from typing import Any, NamedTuple

from tests.independent.log import CHANGES, RECORDS, Log, Pair, causes_of, same, times_of

UNKNOWN = object()
"""Stands for a state that the log does not hold."""

WORST_FIRST = (
    "orphan",
    "lost",
    "duplicated",
    "state-mismatch",
    "marker-rule",
    "fifo-violation",
    "incomplete",
    "unknown",
)


FAULTS = {
    "cut": {"orphan"},
    "channels": {"lost", "duplicated"},
    "states": {"state-mismatch"},
    "rule": {"marker-rule", "fifo-violation", "incomplete"},
}
"""The verdicts that answer a question with no."""


class Witness(NamedTuple):
    """What shows a verdict: on a channel by a message, or at a process."""

    verdict: str
    channel: str | None = None
    message: str | None = None
    process: str | None = None


class Sums(NamedTuple):
    """The sums of start states, recorded states, and contents of channels; None: not known."""

    start: Decimal | int | None
    processes: Decimal | int | None
    channels: Decimal | int | None


class Judgement(NamedTuple):
    """What the log says about one snapshot.

    Attributes:
        positions: the events inside the cut, for each process that recorded.
        in_flight: the ids of the messages in each channel whose two ends recorded.
        recorded: the ids that the protocol stored, for each channel of which it stored any list.
        states: the state at the cut of each process that recorded, or UNKNOWN.
        witnesses: everything that is wrong or not known.
        answers: whether cut, channels, states and rule hold; None where that is not known.
        totals: the sums of its numbers.
        initiators: the processes that began it; where several may have been the first, all of
            these together.
        markers: how many markers were sent, and how many were received.
        span: when its first event happened, and the last that is no sending of a marker.
    """

    positions: dict[str, int]
    in_flight: dict[str, list[str]]
    recorded: dict[str, list[str]]
    states: dict[str, Any]
    witnesses: list[Witness]
    answers: dict[str, bool | None]
    totals: Sums
    initiators: list[set[str]]
    markers: tuple[int, int]
    span: tuple[int, int | None]

    @property
    def verdict(self) -> str:
        """The worst verdict of the witnesses."""
        found = {witness.verdict for witness in self.witnesses}
        return next((verdict for verdict in WORST_FIRST if verdict in found), "consistent")


class Part(NamedTuple):
    """A snapshot in the part of the system that it belongs to."""

    log: Log
    snapshot: str
    processes: list[str]
    channels: list[str]
    positions: dict[str, int]
    times: dict[tuple[str, int], int]


def judge(log: Log) -> dict[str, Judgement]:
    """Judge every snapshot that the log has an event of. Raises: Refused."""
    found = {
        str(event["snapshot"])
        for own in log.events.values()
        for event in own
        if event["kind"] in RECORDS
    }
    times = times_of(log)
    return {snapshot: _judged(_part(log, snapshot, times)) for snapshot in found}


def _part(log: Log, snapshot: str, times: dict[tuple[str, int], int]) -> Part:
    """Find the scopes in which the snapshot has an event, and where each process recorded first."""
    part = Part(log, snapshot, [], [], {}, times)
    scopes = {log.processes[name].get("scope") for name, _ in _own_events(part, *RECORDS)}
    part.processes.extend(
        name for name, entry in log.processes.items() if entry.get("scope") in scopes
    )
    part.channels.extend(
        name for name, entry in log.channels.items() if entry["source"] in part.processes
    )
    for name, place in _own_events(part, "record_state"):
        part.positions.setdefault(name, place)
    return part


def _judged(part: Part) -> Judgement:
    recorded = {
        channel: entries
        for channel in part.channels
        if (entries := _recorded_messages(part, channel)) is not None
    }
    in_flight = {
        channel: [message.name for message in _in_flight(part, channel)]
        for channel in part.channels
        if _ends(part, channel)
    }
    states = {name: _state_at(part.log, name, place) for name, place in part.positions.items()}
    witnesses = [
        *_orphans(part),
        *_wrong_channels(in_flight, recorded, part),
        *_wrong_states(part, states),
        *_broken_marker_rules(part),
        *_overtaken(part, recorded),
        *_missing(part),
        *_strays_inside(part),
    ]
    return Judgement(
        part.positions,
        in_flight,
        recorded,
        states,
        witnesses,
        _answers(part, witnesses, recorded, states),
        _totals(part, recorded, states),
        _initiators(part),
        (len(_own_events(part, "marker_send")), len(_own_events(part, "marker_receive"))),
        _span(part),
    )


def _own_events(part: Part, *kinds: str) -> list[tuple[str, int]]:
    """Return the events of these kinds that belong to the snapshot."""
    return [
        (name, place)
        for name, own in part.log.events.items()
        for place, event in enumerate(own)
        if event["kind"] in kinds and str(event["snapshot"]) == part.snapshot
    ]


def _initiators(part: Part) -> list[set[str]]:
    """Return each process that recorded before a marker came; without markers, the first of all."""
    if not _own_events(part, "marker_send", "marker_receive"):
        times = {name: part.times[name, place] for name, place in part.positions.items()}
        return [{name for name in times if times[name] == min(times.values())}] if times else []
    received = _own_events(part, "marker_receive")
    return [
        {name}
        for name in part.processes
        if name in part.positions
        and not any(one == name and place < part.positions[name] for one, place in received)
    ]


def _span(part: Part) -> tuple[int, int | None]:
    times = part.times
    ends = [times[event] for event in _own_events(part, *RECORDS[:2], "marker_receive")]
    return min(times[event] for event in _own_events(part, *RECORDS)), max(ends, default=None)


def _ends(part: Part, channel: str) -> tuple[int, int] | None:
    """Return the positions of sender and receiver; None if one of them never recorded."""
    entry = part.log.channels[channel]
    ends = [part.positions.get(entry[end]) for end in ("source", "target")]
    return None if None in ends else tuple(ends)


def _sent_before(pair: Pair, place: int) -> bool:
    return pair.sent is not None and pair.sent < place


def _received_before(pair: Pair, place: int) -> bool:
    return pair.received is not None and pair.received < place


def _in_flight(part: Part, channel: str) -> list[Pair]:
    """Return the messages in flight; none if an end of the channel never recorded."""
    if not (ends := _ends(part, channel)):
        return []
    return [
        message
        for message in part.log.messages[channel]
        if _sent_before(message, ends[0]) and not _received_before(message, ends[1])
    ]


def _orphans(part: Part) -> Iterator[Witness]:
    for channel in part.channels:
        if ends := _ends(part, channel):
            for message in part.log.messages[channel]:
                is_outside = message.sent is not None and not _sent_before(message, ends[0])
                if is_outside and _received_before(message, ends[1]):
                    yield Witness("orphan", channel, message.name)


def is_closed(log: Log, positions: dict[str, int]) -> bool:
    """Return whether a cut holds, with each event, all that happened before it by messages."""
    return all(
        place < positions[process]
        for (name, index), causes in causes_of(log, with_markers=False).items()
        if name in positions and index < positions[name]
        for process, place in causes
    )


def _recorded_messages(part: Part, channel: str) -> list[str] | None:
    """Return the first list that the protocol stored of a channel."""
    for name, place in _own_events(part, "record_channel"):
        event = part.log.events[name][place]
        if event["channel"] == channel:
            return [str(name) for name in event["messages"]]
    return None


def _wrong_channels(
    in_flight: dict[str, list[str]], recorded: dict[str, list[str]], part: Part
) -> Iterator[Witness]:
    for channel in in_flight.keys() & recorded.keys():
        flying, stored = Counter(in_flight[channel]), Counter(recorded[channel])
        sent = {item.name for item in part.log.messages[channel] if item.sent is not None}
        for name in (flying - stored).elements():
            yield Witness("lost", channel, name)
        for name in (stored - flying).elements():
            yield Witness("duplicated" if name in sent else "unknown", channel, name)


def _state_at(log: Log, process: str, place: int) -> Any:
    """Return the state after the last event before this place that changes it."""
    state = log.processes[process].get("state", UNKNOWN)
    for event in log.events[process][:place]:
        if event["kind"] in CHANGES:
            state = event.get("state", UNKNOWN)
    return state


def recorded_state(part: Part, process: str) -> Any:
    """Return the state that the protocol stored first for a process."""
    event = part.log.events[process][part.positions[process]]
    return event.get("state", UNKNOWN)


def _wrong_states(part: Part, states: dict[str, Any]) -> Iterator[Witness]:
    for process, state in states.items():
        stored = recorded_state(part, process)
        if UNKNOWN not in (stored, state) and not same(stored, state):
            yield Witness("state-mismatch", process=process)


def _own_markers(part: Part, channel: str) -> list[Pair]:
    """Return the markers of the snapshot that were sent on a channel."""
    own = [item for item in part.log.markers[channel] if item.name == part.snapshot]
    return [item for item in own if item.sent is not None]


def _broken_marker_rules(part: Part) -> Iterator[Witness]:
    """Yield the messages between the marker and the record, at either end of a channel.

    Section 3.2: the sender sends the marker after it has recorded and before further messages; the
    receiver records, if it has not, before it receives further messages on this channel. Messages
    that the log lacks are passed over.
    """
    for channel in part.channels:
        entry = part.log.channels[channel]
        sender, receiver = (part.positions.get(entry[end]) for end in ("source", "target"))
        for marker, message in product(_own_markers(part, channel)[:1], part.log.messages[channel]):
            if None not in (sender, message.sent):
                first, last = sorted((sender, marker.sent))
                if first <= message.sent < last:
                    yield Witness("marker-rule", channel, message.name)
            if None in (receiver, marker.received, message.sent, message.received):
                continue
            if marker.received <= message.received < receiver:
                yield Witness("marker-rule", channel, message.name)


def _overtaken(part: Part, recorded: dict[str, list[str]]) -> Iterator[Witness]:
    """Yield what was overtaken on channels that keep their order: messages, or the marker."""
    for channel in part.channels:
        entry = part.log.channels[channel]
        if not entry.get("fifo", True):
            continue
        sent = [item for item in part.log.messages[channel] if item.sent is not None]
        for marker in _own_markers(part, channel):
            passed = [item for item in sent if _overtook(marker, item)]
            if passed and not entry.get("overtaking", False):
                yield Witness("fifo-violation", channel, _last_to_arrive(passed).name)
            if any(_overtook(item, marker) for item in sent):
                yield Witness("fifo-violation", channel)
        found = _overtaken_in_flight(part, channel, sent)
        found += _recorded_in_another_order(part, channel, recorded.get(channel, ()))
        for place, (earlier, _) in enumerate(found):
            if found[place] not in found[:place]:
                yield Witness("fifo-violation", channel, earlier.name)


def _recorded_in_another_order(
    part: Part, channel: str, recorded: Iterable[str]
) -> list[tuple[Pair, Pair]]:
    """Return each message in flight that is recorded right behind a later one, with that one."""
    entries = _entries(part, channel, recorded)
    flying = _in_flight(part, channel)
    own = [
        item for place, item in enumerate(entries) if item in flying and item not in entries[:place]
    ]
    return [(second, first) for first, second in pairwise(own) if second.sent < first.sent]


def _last_to_arrive(pairs: list[Pair]) -> Pair:
    """Return what arrived last; what never arrived is later than all, and then the first sent."""
    never = [item for item in pairs if item.received is None]
    return never[0] if never else max(pairs, key=lambda item: item.received)


def _overtaken_in_flight(part: Part, channel: str, sent: list[Pair]) -> list[tuple[Pair, Pair]]:
    """Return what was overtaken in flight with what overtook it.

    Each message in flight is named with the first that overtook it, and with the last to arrive of
    those that it overtook.
    """
    found = []
    for message in _in_flight(part, channel):
        passing = [item for item in sent if _overtook(item, message)]
        passed = [item for item in sent if _overtook(message, item)]
        if passing:
            found.append((message, min(passing, key=lambda item: item.received)))
        if passed:
            found.append((_last_to_arrive(passed), message))
    return found


def _overtook(later: Pair, earlier: Pair) -> bool:
    """Return whether a message or marker was sent after another and received before it."""
    if None in (later.sent, earlier.sent, later.received) or later.sent <= earlier.sent:
        return False
    return earlier.received is None or later.received < earlier.received


def _missing(part: Part) -> Iterator[Witness]:
    """Yield the processes that never recorded, and the markers that never arrived."""
    for process in part.processes:
        if process not in part.positions:
            yield Witness("incomplete", process=process)
    has_markers = bool(_own_events(part, "marker_send", "marker_receive"))
    for channel in part.channels:
        own = _own_markers(part, channel)
        if has_markers and not own and part.log.channels[channel]["source"] in part.positions:
            yield Witness("incomplete", channel)
        for marker in own:
            if marker.received is None:
                yield Witness("incomplete", channel)


def _strays_inside(part: Part) -> Iterator[Witness]:
    """Yield the receives inside the cut for which the log holds no send."""
    for channel in part.channels:
        receiver = part.positions.get(part.log.channels[channel]["target"], 0)
        for message in part.log.messages[channel]:
            if message.sent is None and _received_before(message, receiver):
                yield Witness("unknown", channel, message.name)


def _answers(
    part: Part, witnesses: list[Witness], recorded: dict[str, list[str]], states: dict[str, Any]
) -> dict[str, bool | None]:
    """Answer the four questions: a fault decides, else something that is missing."""
    found = {witness.verdict for witness in witnesses}
    missing = len(part.positions) < len(part.processes)
    unlisted = any(
        _in_flight(part, channel) if _ends(part, channel) else True
        for channel in part.channels
        if channel not in recorded or not _ends(part, channel)
    )
    compared = [
        UNKNOWN not in (state, recorded_state(part, name)) for name, state in states.items()
    ]
    not_known = {
        "cut": missing or any(_strays_inside(part)),
        "channels": unlisted or _has_strange_entries(part, recorded),
        "states": missing or not all(compared),
        "rule": bool(part.channels) and not _own_events(part, "marker_send", "marker_receive"),
    }
    return {
        question: False if verdicts & found else None if not_known[question] else True
        for question, verdicts in FAULTS.items()
    }


def _has_strange_entries(part: Part, recorded: dict[str, list[str]]) -> bool:
    """Return whether a recorded id was never sent on its channel."""
    return any(None in _entries(part, channel, names) for channel, names in recorded.items())


def _totals(part: Part, recorded: dict[str, list[str]], states: dict[str, Any]) -> Sums:
    """Add up what was recorded; what was not is taken from the log."""
    start = [part.log.processes[name].get("state") for name in part.processes]
    held = []
    for name in part.processes:
        stored = recorded_state(part, name) if name in part.positions else UNKNOWN
        held.append(states.get(name, UNKNOWN) if stored is UNKNOWN else stored)
    values = []
    for channel in part.channels:
        if channel in recorded:
            entries = _entries(part, channel, recorded[channel])
            values += [item and item.value for item in entries]
        elif _ends(part, channel):
            values += [item.value for item in _in_flight(part, channel)]
        else:
            values.append(None)
    sums = [list(map(_number, items)) for items in (start, held, values)]
    return Sums(*(None if None in items else sum(items) for items in sums))


def _entries(part: Part, channel: str, entries: Iterable[str]) -> list[Pair | None]:
    """Return the messages for which recorded ids stand; None for one that was never sent.

    The k-th entry of an id stands for the k-th message of that id in flight. Further entries stand
    for the first message of that id.
    """
    flying = _in_flight(part, channel)
    sent = [item for item in part.log.messages[channel] if item.sent is not None]
    found = []
    for name in entries:
        own = [item for item in flying if item.name == name]
        flying = [item for item in flying if item not in own[:1]]
        found.append(next((item for item in own + sent if item.name == name), None))
    return found


def _number(value: Any) -> Decimal | int | None:
    """Return the number that a value is, or that is the only number of an object."""
    if isinstance(value, dict):
        numbers = [item for item in value.values() if _is_number(item)]
        return numbers[0] if len(numbers) == 1 else None
    return value if _is_number(value) else None


def _is_number(value: Any) -> bool:
    return isinstance(value, int | Decimal) and not isinstance(value, bool)
