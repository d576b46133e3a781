"""Payloads of saved mappings, and of a log as a mapping would read it."""

from typing import Any

from typing_extensions import TypedDict  # pydantic needs it before Python 3.12

from snapshots.models import Mapping
from snapshots.payloads.dates import date
from snapshots.payloads.declaring import described, list_of
from snapshots.payloads.teams import OwningTeam, team_of


@described
class MappingDetail(TypedDict):
    """A saved mapping.

    Attributes:
        id: the number of the mapping.
        name: the name that its owner gave it.
        team: the team that owns it; null for your own.
        document: how lines become events.
        format: the format of an upload that is read with it, as ``mapping:3``.
        created_at: when it was saved first, as ISO 8601 in UTC.
        updated_at: when it was saved last, as ISO 8601 in UTC.
    """

    id: int
    name: str
    team: OwningTeam | None
    document: dict[str, Any]
    format: str
    created_at: str
    updated_at: str


MappingList = list_of(MappingDetail, "MappingList")


@described
class PreviewedEvent(TypedDict):
    """One event as it would be read.

    Attributes:
        line: the number of the line.
        process: the process of the event.
        kind: the kind of event, such as ``send`` or ``receive``.
        channel: the channel; null where the line gives no channel whose ends are known.
        message: the id of the message; null where there is none.
        at: the time in microseconds since the first time that is shown; null where there is none.
        instant: the time itself, where it is a date or counted from 1970; null otherwise.
        state: the state of the process after the event; null where the line has none.
        value: the value of the message; null where the line has none.
        snapshot: the id of the snapshot; null where there is none.
        label: a text for people; null where there is none.
    """

    line: int
    process: str
    kind: str
    channel: str | None
    message: str | None
    at: int | None
    instant: str | None
    state: Any
    value: Any
    snapshot: str | None
    label: str | None


@described
class MappingPreview(TypedDict):
    """The first events of a log as they would be read.

    Attributes:
        events: the first events, at most 100.
        lines: how many lines were read.
        left_out: how many lines the mapping leaves out.
        misfits: how many lines are no event.
        misfit_lines: the first of the lines that are no event, each as its number and the reason.
        without_time: how many of the shown events have a time that cannot be read.
        ended: why reading stopped before the end; null where it did not.
        fields: the paths of fields in the log, each with an example.
    """

    events: list[PreviewedEvent]
    lines: int
    left_out: int
    misfits: int
    misfit_lines: list[list[Any]]
    without_time: int
    ended: str | None
    fields: dict[str, str]


def mapping_detail(row: Mapping) -> MappingDetail:
    return {
        "id": row.pk,
        "name": row.name,
        "team": team_of(row),
        "document": row.document,
        "format": row.format,
        "created_at": date(row.created_at),
        "updated_at": date(row.updated_at),
    }
