"""Declare the payload of a search over the events of a recording."""

from typing import Any

from typing_extensions import TypedDict  # pydantic needs it before Python 3.12

from snapshots.payloads.declaring import described


@described
class SearchHit(TypedDict):
    """One event that holds all words of the query.

    Attributes:
        process: the process of the event.
        index: its number within the process, from 0.
        at: its instant in causal time, in the time unit.
        step: its place in the order of the whole recording, from 0.
        kind: the kind of event, such as ``send`` or ``record_state``.
        channel: the channel; null where the event has none.
        snapshot: the id of the snapshot; null where the event has none.
        message: the id of the message; null where the event has none.
        label: a text for people; null where the log has none.
        value: the value of the message; null where the log does not say it.
    """

    process: str
    index: int
    at: int
    step: int
    kind: str
    channel: str | None
    snapshot: str | None
    message: str | None
    label: str | None
    value: Any


@described
class SearchAnswer(TypedDict):
    """The events that hold all words of a query, in the order of their steps.

    Attributes:
        total: how many events were found so far; if ``complete`` is false there may be more.
        complete: whether all events were compared. If not, the same request goes on.
        searched: which share of the recording was compared, from 0 to 1.
        offset: how many found events stand before the first of ``hits``.
        hits: a page of the found events.
        bins_of_time: how many events were found in each of 400 equal parts of the recording's time.
        bins_of_order: how many events were found in each of 400 equal parts of its steps.
    """

    total: int
    complete: bool
    searched: float
    offset: int
    hits: list[SearchHit]
    bins_of_time: list[int]
    bins_of_order: list[int]
