"""Payloads of open recordings, which take events while their system runs."""

from dataclasses import asdict
from datetime import UTC, datetime
from typing import Any

from typing_extensions import TypedDict  # pydantic needs it before Python 3.12

from snapshots.growing.journal import Received, Taken
from snapshots.growing.recording import SoFar
from snapshots.payloads.dates import date
from snapshots.payloads.declaring import described

MOST_GAPS = 100
MOST_WAITS = 20


@described
class OpenedRecording(TypedDict):
    """A recording that now takes events.

    Attributes:
        id: the number of the recording.
        status: always ``open``.
        events: the address to which its processes send events.
    """

    id: int
    status: str
    events: str


@described
class MissingEvents(TypedDict):
    """Events of a process that have not come, while later ones of it have.

    Attributes:
        process: the process that sends them.
        first: the index of the first event that is missing.
        count: how many follow each other and are missing.
    """

    process: str
    first: int
    count: int


@described
class ReceivedEvents(TypedDict):
    """What has come to an open recording.

    Attributes:
        events: how many events are there, on the server's disk.
        missing: how many events are missing before others that have come.
        gaps: the first 100 ranges of missing events, in the order of the header's processes.
        gaps_total: how many such ranges there are.
        size: the bytes of what has come.
        heard_at: when something new came last, as ISO 8601 in UTC.
    """

    events: int
    missing: int
    gaps: list[MissingEvents]
    gaps_total: int
    size: int
    heard_at: str


@described
class TakenEvents(ReceivedEvents):
    """What a body has brought, and what has come altogether.

    Attributes:
        new: how many events of the body were not there before.
        known: how many events of the body were there before, which changes nothing.
    """

    new: int
    known: int


def received_events(received: Received) -> ReceivedEvents:
    gaps: list[Any] = [
        {"process": gap.process, "first": gap.first, "count": gap.count} for gap in received.gaps
    ]
    return {
        "events": received.events,
        "missing": received.missing,
        "gaps": gaps,
        "gaps_total": received.gap_count,
        "size": received.size,
        "heard_at": date(datetime.fromtimestamp(received.heard_at / 1e9, UTC)),
    }


def taken_events(taken: Taken, received: Received) -> TakenEvents:
    return {"new": taken.new, "known": taken.known, **received_events(received)}


def head_of(so_far: SoFar) -> dict[str, Any]:
    """Return what pages must know of how far an open recording has come; see docs/websocket.md."""
    manifest, head = so_far.manifest, so_far.head
    return {
        "extent": {
            "from": manifest.extent.from_,
            "to": manifest.extent.to,
            "steps": manifest.extent.steps,
        },
        "counts": dict(manifest.counts),
        "came": head.came,
        "judged": len(so_far.snapshots()),
        "under_way": so_far.under_way,
        "missing": head.missing,
        "waits": [asdict(wait) for wait in head.waits[:MOST_WAITS]],
        "waits_total": len(head.waits),
    }
