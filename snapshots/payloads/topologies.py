"""Payloads of topologies: of those that are stored, and of those of recordings."""

from typing import Any, NotRequired

import orjson
from typing_extensions import TypedDict  # pydantic needs it before Python 3.12

from snapshots.models import Topology
from snapshots.payloads.dates import date
from snapshots.payloads.declaring import described, list_of
from snapshots.store.reader import StoredRecording


@described
class ProcessItem(TypedDict):
    """A node of the topology.

    Attributes:
        state: the state at the start; absent where it is not known.
        scope: processes of the same scope take snapshots together.
    """

    id: str
    state: NotRequired[Any]
    scope: NotRequired[str]


@described
class ChannelItem(TypedDict):
    """A directed link from one process to another.

    Attributes:
        fifo: whether it delivers messages in the order of sending.
        overtaking: whether markers may overtake messages.
    """

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


TopologyList = list_of(TopologySummary, "TopologyList")


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
