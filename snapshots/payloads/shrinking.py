"""Declare the payloads of the smallest part of a recording that shows one finding."""

from typing import Any

from typing_extensions import TypedDict  # pydantic needs it before Python 3.12

from snapshots.payloads.declaring import described


@described
class PartSizes(TypedDict):
    """How large a recording is.

    Attributes:
        events: the number of events.
        processes: the number of processes.
        channels: the number of channels.
    """

    events: int
    processes: int
    channels: int


@described
class PartEvent(TypedDict):
    """One event of the part.

    Attributes:
        process: the process of the event.
        index: the number of the event within its process in the whole recording.
        kind: the kind of the event.
        at: the instant of the event, in the time unit of the recording; null where it
            is not known.
        channel: the channel; null where the event has none.
        message: the id of the message; null where the event has none.
        snapshot: the snapshot that the event takes part in; null where it takes part in none.
    """

    process: str
    index: int | None
    kind: str
    at: int | None
    channel: str | None
    message: str | None
    snapshot: str | None


@described
class SmallestPart(TypedDict):
    """The smallest part of a recording that still shows one finding about a snapshot.

    Attributes:
        snapshot: the id of the snapshot.
        finding: the place of the finding in the snapshot's ``verdicts``, from 0.
        witness: the finding, whose events have the indexes of the whole recording.
        verdict: the verdict of the snapshot in the part.
        minimal: whether it was tried for each event of the part that it cannot be left out.
        sentences: what was left out, and what the part does not prove.
        kept: how large the part is.
        whole: how large the whole recording is.
        events: the events of the part, in their order.
    """

    snapshot: str
    finding: int
    witness: dict[str, Any]
    verdict: str
    minimal: bool
    sentences: list[str]
    kept: PartSizes
    whole: PartSizes
    events: list[PartEvent]
