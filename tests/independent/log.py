"""Read a log of the native format in plain Python, as `docs/formats/native.md` describes it.

Nothing here comes from the product. A log becomes dicts and lists: events in the order of each
process, and messages and markers with both their ends.
"""

import json
from collections.abc import Iterable
from decimal import Decimal
from itertools import zip_longest
from typing import Any, NamedTuple

Event = dict[str, Any]

RECORDS = ("record_state", "record_channel", "marker_send", "marker_receive")
CHANGES = ("internal", "send", "receive", "read", "write")


class Refused(Exception):
    """The log has no meaning. The first argument is the code of the defect."""


class Pair(NamedTuple):
    """A message or marker with its two events; None for the event that the log lacks."""

    name: str
    sent: int | None
    received: int | None
    value: Any


class Log(NamedTuple):
    """A log whose events are in order.

    Attributes:
        processes: the entries of the header, by id.
        channels: the entries of the header, by id.
        events: the events of each process, in their order.
        messages: by channel, the messages as they were sent, then receives without a send.
        markers: by channel, the markers of all snapshots in the same way.
    """

    processes: dict[str, dict]
    channels: dict[str, dict]
    events: dict[str, list[Event]]
    messages: dict[str, list[Pair]]
    markers: dict[str, list[Pair]]


def read(text: str) -> Log:
    """Read the text of a log. Raises: Refused."""
    header, *lines = (_filled(json.loads(line, parse_float=Decimal)) for line in text.splitlines())
    processes = {process["id"]: _filled(process) for process in header["processes"]}
    channels = {channel["id"]: _filled(channel) for channel in header["channels"]}
    logged: dict[str, list[Event]] = {name: [] for name in processes}
    for event in lines:
        logged[event["process"]].append(event)
    events = {name: _in_order(own) for name, own in logged.items()}
    messages = {
        name: _pairs(events, channel, ("send", "receive"), "message")
        for name, channel in channels.items()
    }
    markers = {
        name: _pairs(events, channel, ("marker_send", "marker_receive"), "snapshot")
        for name, channel in channels.items()
    }
    return Log(processes, channels, events, messages, markers)


def _filled(fields: dict) -> dict:
    """Leave out the fields that are null: they mean the same as absent ones."""
    return {name: value for name, value in fields.items() if value is not None}


def _in_order(events: list[Event]) -> list[Event]:
    """Sort the events of a process by index if all have one; else the lines are in order."""
    if not all("index" in event for event in events):
        return events
    if len({event["index"] for event in events}) < len(events):
        raise Refused("index-twice")
    return sorted(events, key=lambda event: event["index"])


def _pairs(
    events: dict[str, list[Event]], channel: dict, kinds: tuple[str, str], field: str
) -> list[Pair]:
    """Match the k-th send of each name with the k-th receive of that name."""
    sends, receives = events[channel["source"]], events[channel["target"]]
    sent, received = (
        [
            place
            for place, event in enumerate(own)
            if event["kind"] == kind and event["channel"] == channel["id"]
        ]
        for own, kind in ((sends, kinds[0]), (receives, kinds[1]))
    )
    found = []
    for name in {str(sends[n][field]) for n in sent} | {str(receives[n][field]) for n in received}:
        own = [n for n in sent if str(sends[n][field]) == name]
        theirs = [n for n in received if str(receives[n][field]) == name]
        for first, second in zip_longest(own, theirs):
            event = receives[second] if first is None else sends[first]
            found.append(Pair(name, first, second, event.get("value")))
    return sorted(found, key=lambda pair: (pair.sent is None, pair.sent, pair.received or 0))


def causes_of(log: Log, *, with_markers: bool) -> dict[tuple[str, int], set[tuple[str, int]]]:
    """Return all that happened before each event: its causes, and theirs, until none is new.

    Raises: Refused, if events wait for each other in a circle.
    """
    direct = {event: {event[:1] + (event[1] - 1,)} for event in _all_events(log) if event[1]}
    for channel, ends in log.channels.items():
        for pair in log.messages[channel] + (log.markers[channel] if with_markers else []):
            if pair.sent is not None and pair.received is not None:
                received = (ends["target"], pair.received)
                direct.setdefault(received, set()).add((ends["source"], pair.sent))
    causes: dict[tuple[str, int], set[tuple[str, int]]] = {}
    waiting = set(_all_events(log))
    while waiting:
        ready = {event for event in waiting if not direct.get(event, set()) & waiting}
        if not ready:
            raise Refused("causal-cycle")
        for event in ready:
            before = direct.get(event, set())
            causes[event] = before.union(*(causes[cause] for cause in before))
        waiting -= ready
    return causes


def times_of(log: Log) -> dict[tuple[str, int], int]:
    """Return when each event happened: never before a cause of it, as `docs/model.md` says.

    Where no event has a time, an event happens one unit after the last of its causes.

    Raises: Refused, if events wait for each other in a circle.
    """
    causes = causes_of(log, with_markers=True)
    logged = {
        (name, place): event["at"]
        for name, own in log.events.items()
        for place, event in enumerate(own)
        if "at" in event
    }
    if logged:
        first = min(logged.values())
        return {
            event: max(logged.get(one, first) for one in {event, *before})
            for event, before in causes.items()
        }
    times: dict[tuple[str, int], int] = {}
    for event in sorted(causes, key=lambda event: len(causes[event])):
        times[event] = max((times[cause] + 1 for cause in causes[event]), default=0)
    return times


def _all_events(log: Log) -> Iterable[tuple[str, int]]:
    return [(name, place) for name, own in log.events.items() for place in range(len(own))]


def same(one: Any, other: Any) -> bool:
    """Return whether two JSON values are the same; true is no number, and 1 is 1.0."""
    if isinstance(one, dict) and isinstance(other, dict):
        return one.keys() == other.keys() and all(same(one[key], other[key]) for key in one)
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(map(same, one, other))
    return isinstance(one, bool) == isinstance(other, bool) and bool(one == other)
