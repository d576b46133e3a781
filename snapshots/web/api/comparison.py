"""The calls that set two recordings, snapshots or cuts side by side."""

from django.http import HttpRequest, HttpResponse
from ninja import Field, Query, Router, Schema

from snapshots.answers import comparison
from snapshots.answers.compared_sides import read_sides
from snapshots.payloads.comparison import AlignmentPayload, ComparisonAnswer
from snapshots.web.api.parameters import Limit, Offset
from snapshots.web.csv import csv_file
from snapshots.web.json import reply

router = Router()


class TwoRecordings(Schema):
    """Two recordings, by their numbers."""

    left: str = Field(description="The number of the left recording.")
    right: str = Field(description="The number of the right recording.")


class TwoSides(TwoRecordings):
    """Two recordings, or one state of each: a snapshot, or a cut named in one of three ways."""

    left_snapshot: str | None = Field(None, description="The id of a snapshot of the left one.")
    left_at: str | None = Field(
        None, description="A cut: all events of the left one up to this instant."
    )
    left_step: str | None = Field(
        None, description="A cut: the first so many events of the left one."
    )
    left_positions: str | None = Field(
        None,
        description="A cut as JSON: how many events of each process of the left one are inside, an "
        "object by process id or a list in the order of the processes.",
    )
    right_snapshot: str | None = Field(None, description="The id of a snapshot of the right one.")
    right_at: str | None = Field(
        None, description="A cut: all events of the right one up to this instant."
    )
    right_step: str | None = Field(
        None, description="A cut: the first so many events of the right one."
    )
    right_positions: str | None = Field(
        None, description="A cut as JSON, likewise: the positions in the right one."
    )


@router.get("/compare", response=ComparisonAnswer, summary="Compare two things")
def compare(
    request: HttpRequest, things: Query[TwoSides], offset: Offset, limit: Limit
) -> HttpResponse:
    """Return how two recordings, two snapshots or two cuts differ, the largest differences first.

    Each difference has a size and a sentence; `order` says what comes first. What a side does not
    hold is in `not_compared` with the reason. A snapshot can be compared with a cut. Of two
    recordings, the first 200,000 events of each are aligned, evenly for all processes.
    """
    sides = read_sides(request.user, things.dict())
    return reply(comparison.as_payload(comparison.compare(sides), offset, limit))


@router.get("/compare.csv", response=str, summary="Compare two things, as CSV")
def compare_as_csv(request: HttpRequest, things: Query[TwoSides]) -> HttpResponse:
    """Return all differences as a table in CSV, the largest first."""
    compared = comparison.compare(read_sides(request.user, things.dict()))
    left, right = (side.recording.pk for side in compared.sides)
    name = f"cutline-compare-{left}-{right}.csv"
    return csv_file(name, comparison.CSV_HEAD, comparison.csv_rows(compared))


@router.get("/compare/alignment", response=AlignmentPayload, summary="Align two recordings")
def get_alignment(request: HttpRequest, things: Query[TwoRecordings]) -> HttpResponse:
    """Return which events of two recordings stand for each other, by their steps.

    Columns are typed arrays in base64, as in a window.
    """
    return reply(comparison.alignment(read_sides(request.user, things.dict())))
