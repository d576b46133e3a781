"""Declare the payloads of two recordings, snapshots or cuts side by side."""

from typing import Annotated, Any

from typing_extensions import TypedDict  # pydantic needs it before Python 3.12

from snapshots.domain.comparing import model
from snapshots.payloads.arrays import TypedArray
from snapshots.payloads.declaring import Payload, described, payload_of
from snapshots.payloads.recordings import Extent

payload_of(model.Entry, "ComparedMessage")
payload_of(model.Spot, "ComparedEvent")
ComparedDifference = payload_of(model.Difference, "ComparedDifference")
NotComparedItem = payload_of(model.NotCompared, "NotComparedItem")


@described
class ComparedSide(TypedDict):
    """One side of a comparison.

    Attributes:
        recording: the number of the recording.
        recording_name: the name of the recording.
        name: how the sentences call the side.
        snapshot: the id of the snapshot; null for a recording or a cut.
        positions: how many events of each process lie inside the snapshot or cut, where a process
            that never recorded is absent; null for a recording.
        outcome: the word for the verdict of the snapshot or the cut; null for a recording.
        time_unit: the unit of the recording's instants.
        extent: the first and last instant of the recording, and its number of events.
    """

    recording: int
    recording_name: str
    name: str
    snapshot: str | None
    positions: dict[str, int] | None
    outcome: str | None
    time_unit: str
    extent: Extent


@described
class ComparisonAnswer(TypedDict):
    """Two things side by side: a page of their differences, the largest first.

    Attributes:
        kind: ``recordings``, or ``states`` for snapshots and cuts.
        left: the left side.
        right: the right side.
        order: the order of the differences, as a sentence.
        items: the differences of this page.
        total: how many differences there are on all pages.
        equal: how many answers, states, channels and processes are the same on both sides.
        not_compared: the first 200 things that cannot be compared, each with the reason.
        not_compared_total: how many things cannot be compared.
        notes: what holds for the whole comparison, as sentences.
    """

    kind: str
    left: ComparedSide
    right: ComparedSide
    order: str
    items: list[Annotated[dict[str, Any], Payload(ComparedDifference)]]
    total: int
    equal: dict[str, int]
    not_compared: list[Annotated[dict[str, Any], Payload(NotComparedItem)]]
    not_compared_total: int
    notes: list[str]


@described
class AlignmentPayload(TypedDict):
    """Which events of two recordings stand for each other.

    Attributes:
        count: how many events both recordings have.
        left: the steps of these events in the left recording, rising.
        right: the step of each of them in the right recording.
        settled: of the left and of the right recording, the step of the first event of which it is
            not known whether the other one has it; the number of events if there is none.
    """

    count: int
    left: TypedArray
    right: TypedArray
    settled: list[int]
