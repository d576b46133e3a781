"""Payloads of running systems: what their commands tell, and what pages show."""

from typing import Any

from typing_extensions import TypedDict  # pydantic needs it before Python 3.12

from snapshots.payloads.declaring import described


class ToldSystem(TypedDict):
    """What the command of a system has told last."""

    epoch: int
    total: int
    processes: list[dict[str, Any]]
    snapshots: list[dict[str, Any]]
    notes: list[str]


@described
class LiveProcess(TypedDict):
    """A process of a running system.

    Attributes:
        name: the process, as the header names it.
        events: how many of its events have come.
        state: `starting`, `running`, `killed` or `stopped`; `not known` without a command.
        since: since when, in seconds since 1970; null if that is not known.
        balance: what it said last that it has; null if that is not known.
    """

    name: str
    events: int
    state: str
    since: float | None
    balance: int | None


@described
class LiveSnapshot(TypedDict):
    """A snapshot of a running system.

    Attributes:
        name: the snapshot.
        initiator: the process that began it; null if the states were read by clocks.
        states: the sum of the recorded states.
        channels: the sum of what was recorded in the channels; null if nothing was.
        sum: both together; null if the channels were not recorded.
        at: when it was complete, in seconds since 1970.
        verdict: its verdict from the events that have come; null if it is not judged yet.
        sentence: of its worst finding, or that it is not judged yet.
        problem: that it holds another sum than the system had in the beginning, as a sentence; null
            if both are equal, or if the beginning is not known.
    """

    name: str
    initiator: str | None
    states: int
    channels: int | None
    sum: int | None
    at: float
    verdict: str | None
    sentence: str
    problem: str | None


@described
class LiveSystem(TypedDict):
    """An open recording, and the system that sends events to it.

    Attributes:
        recording: the number of the recording.
        name: its name.
        events: how many events have come.
        missing: how many events are missing before others that have come.
        gaps: how many ranges of missing events there are.
        heard_at: when something new came last, as ISO 8601 in UTC.
        is_connected: whether a command is connected that takes requests.
        epoch: how often the system went back; null if that is not known.
        total: what the system had in the beginning; null if that is not known.
        sum: what the processes said last, added up; null if one has not said it. It leaves out what
            is in the channels, and was not read at one moment.
        process_count: how many processes the header names.
        processes: the first 200 of them, in its order.
        snapshots: the last ten, newest first.
        notes: the last five sentences of the command.
    """

    recording: int
    name: str
    events: int
    missing: int
    gaps: int
    heard_at: str
    is_connected: bool
    epoch: int | None
    total: int | None
    sum: int | None
    process_count: int
    processes: list[LiveProcess]
    snapshots: list[LiveSnapshot]
    notes: list[str]


@described
class UnreadableSystem(TypedDict):
    """An open recording of which nothing can be shown.

    Attributes:
        recording: the number of the recording.
        name: its name.
        problem: why, as a sentence.
    """

    recording: int
    name: str
    problem: str


@described
class LiveSystems(TypedDict):
    """The open recordings that a person may see.

    Attributes:
        items: those that can be shown, newest first, of the newest 20.
        unreadable: those of the newest 20 that cannot.
        total: how many there are.
    """

    items: list[LiveSystem]
    unreadable: list[UnreadableSystem]
    total: int


@described
class Order(TypedDict):
    """What somebody asked for.

    Attributes:
        action: `snapshot`, `kill`, `restore` or `close`.
        process: the process that is to begin the snapshot, or to be killed; else null.
    """

    action: str
    process: str | None


@described
class Orders(TypedDict):
    """What people have asked for since the command told something last.

    Attributes:
        orders: the requests, in order.
    """

    orders: list[Order]


@described
class AcceptedOrder(TypedDict):
    """A request that the command of the system takes next.

    Attributes:
        recording: the number of the recording.
    """

    recording: int
