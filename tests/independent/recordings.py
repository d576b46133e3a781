"""Generate recordings from a seed: any topology, protocol, fault, and order of lines."""

import json
from collections.abc import Callable
from random import Random
from typing import Any

from tests.independent.log import Event
from tests.independent.system import FAULTS, LARGE, System

OFTEN = {
    "markers are sent late",
    "markers are sent early",
    "a process records late",
    "messages overtake",
    "a recorded list has another order",
}
"""Faults that are tried more often, because they are seldom the worst of a snapshot."""
WEIGHTS = [4 if fault in OFTEN else 1 for fault in FAULTS]


def recording(seed: int) -> list[dict]:
    """Return the header and the events of a recording."""
    random = Random(seed)
    faults = set(random.sample(FAULTS, random.choice([0, 0, 1, 1, 1, 1, 2, 3]), counts=WEIGHTS))
    start, amounts = _worths(random)
    processes, channels = _topology(random, start)
    system = System(random, processes, channels, faults, amounts, random.random() < 0.25)
    names = [f"s{number}" for number in range(1, random.choice([1, 1, 2, 2, 3, 4]) + 1)]
    for snapshot in names:
        system.later += _beginnings(system, snapshot)
    for _ in range(random.choice([5, 15, 30, 60])):
        system.step()
    system.end(drains=random.random() < 0.8)
    header = {
        "kind": "header",
        "format": "cutline",
        "version": 1,
        "name": f"recording {seed}",
        "time_unit": random.choice(["us", "ms", "tick"]),
        "processes": processes,
        "channels": channels,
    }
    return [header, *_as_lines(random, _damaged(random, system.events), processes)]


def text_of(lines: list[dict]) -> str:
    """Return the lines as the text of a file."""
    return "".join(json.dumps(line) + "\n" for line in lines)


def _worths(random: Random) -> tuple[Callable[[], Any], Callable[[], Any]]:
    """Choose what states are at the start and what messages are worth."""
    return random.choice(
        [
            (lambda: random.randint(0, 100), lambda: random.randint(-5, 9)),
            (lambda: random.randint(0, 100), lambda: random.randint(0, 9)),
            (lambda: random.choice([LARGE, -LARGE, 2**62]), lambda: random.randint(2**61, LARGE)),
            (lambda: random.randint(1, 999) / 4, lambda: random.randint(-50, 99) / 100),
            (lambda: f"text {random.randint(0, 9)}", lambda: random.choice(["a", None, 1])),
            (lambda: {"balance": random.randint(0, 9)}, lambda: {"amount": 1}),
            (lambda: random.choice([None, 5, True]), lambda: random.choice([None, 1, 2.5])),
        ]
    )


def _topology(random: Random, start: Callable[[], Any]) -> tuple[list[dict], list[dict]]:
    scopes = random.choice([[None], [None], [None], ["a", "b"], [None, "a", "b"]])
    processes = [
        {"id": f"p{number}", "state": start(), "scope": random.choice(scopes)}
        for number in range(1, random.randint(1, 6) + 1)
    ]
    pairs = [
        (source, target)
        for source in processes
        for target in processes
        if source["scope"] == target["scope"] and (source is not target or random.random() < 0.05)
    ]
    density, kind = random.choice([0.3, 0.6, 1]), random.random()
    channels = []
    for source, target in pairs:
        if random.random() < density:
            flags = {"fifo": False} if kind < 0.15 or (kind < 0.4 and random.random() < 0.3) else {}
            if 0.4 < kind < 0.6:
                flags["overtaking"] = random.random() < 0.8
            ends = {"source": source["id"], "target": target["id"]}
            channels.append({"id": f"c{len(channels)}", **ends, **flags})
    if channels and random.random() < 0.1:
        channels.append({**random.choice(channels), "id": "parallel"})
    return processes, channels


def _beginnings(system: System, snapshot: str) -> list[tuple[int, Callable[[], None]]]:
    """Let some processes begin a snapshot; without markers, all at moments of their own."""
    random, names = system.random, [process["id"] for process in system.processes]
    if random.random() < 0.8:
        system.marked.add(snapshot)
        names = random.sample(names, random.randint(1, min(3, len(names))))
    moment = random.randint(0, 40)
    spread = random.choice([0, 3, 20])
    return [
        (moment + random.randint(0, spread), lambda name=name: system.record(name, snapshot))
        for name in names
    ]


def _damaged(random: Random, events: list[Event]) -> list[Event]:
    """Sometimes leave an event out, write one twice, or swap two neighbours of a process."""
    events = [dict(event) for event in events]
    for _ in range(random.choice([0, 0, 0, 0, 1, 2])):
        place = random.randrange(len(events)) if events else 0
        damage = random.choice(["drop", "repeat", "swap"])
        if damage == "drop":
            del events[place : place + 1]
        elif damage == "repeat":
            events[place:place] = [dict(event) for event in events[place : place + 1]]
        else:
            _swap(events, place)
    return events


def _swap(events: list[Event], place: int) -> None:
    """Swap an event with the next one of its process."""
    for later in range(place + 1, len(events)):
        if events[later]["process"] == events[place]["process"]:
            events[place], events[later] = events[later], events[place]
            return


def _as_lines(random: Random, events: list[Event], processes: list[dict]) -> list[Event]:
    """Number the events, give them times, and write them in some order of lines."""
    indexes = random.choice(["all", "all", "none", "some", "gaps"])
    _number(random, events, indexes)
    _time(random, events, processes)
    if random.random() < 0.1:
        for event in events:
            event["label"] = event.get("label")
    order = random.choice(["as it happened", "as it happened", "by process", "merged", "shuffled"])
    if order == "by process":
        return sorted(events, key=lambda event: event["process"])
    if order == "merged" or (order == "shuffled" and indexes not in ("all", "gaps")):
        return _merged(random, events)
    if order == "shuffled":
        random.shuffle(events)
    return events


def _number(random: Random, events: list[Event], indexes: str) -> None:
    counts: dict[str, int] = {}
    for event in events:
        index = counts.get(event["process"], 0)
        counts[event["process"]] = index + (random.randint(1, 3) if indexes == "gaps" else 1)
        if indexes in ("all", "gaps") or (indexes == "some" and random.random() < 0.5):
            event["index"] = index
    if indexes == "all" and random.random() < 0.02:
        for event in events[-2:]:
            event["index"] = 0


def _time(random: Random, events: list[Event], processes: list[dict]) -> None:
    """Give times: none, some, coarse ones, or those of clocks that differ."""
    times = random.choice(["true", "true", "none", "some", "equal", "coarse", "skewed"])
    ahead = {process["id"]: random.randint(0, 200) for process in processes}
    now = 0
    for event in events:
        now += random.randint(0, 10)
        if times == "none" or (times == "some" and random.random() < 0.4):
            continue
        event["at"] = {
            "equal": 5,
            "coarse": now // 50,
            "skewed": now + ahead[event["process"]],
        }.get(times, now)


def _merged(random: Random, events: list[Event]) -> list[Event]:
    """Merge the lines of the processes at random; each process keeps its own order."""
    own: dict[str, list[Event]] = {}
    for event in events:
        own.setdefault(event["process"], []).append(event)
    turns = [event["process"] for event in events]
    random.shuffle(turns)
    return [own[process].pop(0) for process in turns]
