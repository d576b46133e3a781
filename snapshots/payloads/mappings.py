"""Payloads of saved mappings, and of a log as a mapping would read it."""

from typing import Any

from typing_extensions import TypedDict  # pydantic needs it before Python 3.12

from snapshots.models import Mapping
from snapshots.payloads.dates import date
from snapshots.payloads.declaring import described, list_of


@described
class MappingDetail(TypedDict):
    """A saved mapping.

    Attributes:
        document: how lines become events.
        format: the format of an upload that is read with it.
    """

    id: int
    name: str
    document: dict[str, Any]
    format: str
    created_at: str
    updated_at: str


MappingList = list_of(MappingDetail, "MappingList")


@described
class PreviewedEvent(TypedDict):
    """One event as it would be read.

    Attributes:
        channel: null where the line tells only a name of which the ends are not known.
        at: microseconds since the first time that is shown.
        instant: the time itself, where it is a date or counted from 1970.
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
        lines: how many lines were read.
        left_out: how many lines the mapping leaves out.
        misfits: how many lines are no event.
        misfit_lines: the first of them, each as its number and the reason.
        without_time: how many of the shown events have a time that cannot be read.
        ended: why reading stopped before the end.
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
        "document": row.document,
        "format": row.format,
        "created_at": date(row.created_at),
        "updated_at": date(row.updated_at),
    }
