"""Topologies, stored ones and those of recordings."""

from typing import Any, NotRequired

import orjson
from typing_extensions import TypedDict  # pydantic needs it before Python 3.12

from snapshots.models import Topology
from snapshots.payloads.dates import date
from snapshots.store.reader import StoredRecording


class ProcessItem(TypedDict):
    id: str
    state: NotRequired[Any]
    scope: NotRequired[str]


class ChannelItem(TypedDict):
    id: str
    source: str
    target: str
    fifo: bool
    overtaking: NotRequired[bool]


class TopologyOfRecording(TypedDict):
    processes: list[ProcessItem]
    channels: list[ChannelItem]


class TopologyDetail(TopologyOfRecording):
    id: int
    name: str
    sample: bool
    layout: dict[str, list[float]]
    dataflow: NotRequired[dict[str, Any]]
    created_at: str
    updated_at: str


class TopologySummary(TypedDict):
    id: int
    name: str
    sample: bool
    processes: int
    channels: int
    updated_at: str


class TopologyList(TypedDict):
    items: list[TopologySummary]
    total: int


def topology_of_recording(stored: StoredRecording) -> TopologyOfRecording:
    return {
        "processes": [
            {"id": process.id}
            | ({} if process.state is None else {"state": orjson.Fragment(process.state)})
            | ({} if process.scope is None else {"scope": process.scope})
            for process in stored.topology.processes
        ],
        "channels": [
            {"id": item.id, "source": item.source, "target": item.target, "fifo": item.fifo}
            | ({"overtaking": True} if item.overtaking else {})
            for item in stored.topology.channels
        ],
    }


def topology_detail(row: Topology) -> TopologyDetail:
    return {
        "id": row.pk,
        "name": row.name,
        "sample": row.is_sample,
        "processes": row.definition["processes"],
        "channels": row.definition["channels"],
        "layout": row.definition.get("layout", {}),
        "created_at": date(row.created_at),
        "updated_at": date(row.updated_at),
    } | ({"dataflow": row.definition["dataflow"]} if row.is_dataflow else {})


def topology_summary(row: Topology) -> TopologySummary:
    return {
        "id": row.pk,
        "name": row.name,
        "sample": row.is_sample,
        "processes": len(row.definition["processes"]),
        "channels": len(row.definition["channels"]),
        "updated_at": date(row.updated_at),
    }
