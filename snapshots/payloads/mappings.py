"""Payloads of mappings: those saved, and a log as one would read it."""

from typing import Any

from typing_extensions import TypedDict  # pydantic needs it before Python 3.12

from snapshots.models import Mapping
from snapshots.payloads.dates import date


class MappingDetail(TypedDict):
    """document: readers/mapped/mapping.py; format: that of an upload which it reads."""

    id: int
    name: str
    document: dict[str, Any]
    format: str
    created_at: str
    updated_at: str


class MappingList(TypedDict):
    items: list[MappingDetail]
    total: int


class PreviewedEvent(TypedDict):
    """at: microseconds since the first time shown; instant: the time itself, where it is a date or
    counted from 1970; channel: null where only its name is told."""

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


class MappingPreview(TypedDict):
    """lines: how many were looked at; misfits: those that are no event, the first of them in
    misfit_lines; ended: by what reading stopped before its end. fields: paths with examples."""

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
