"""Payloads of topologies: of those that are stored, and of those of recordings."""

from typing import Any, NotRequired

import numpy as np
import orjson
from typing_extensions import TypedDict  # pydantic needs it before Python 3.12

from snapshots.domain.model import arrangement
from snapshots.domain.model.topology import Channel, Process, Topology
from snapshots.models import Topology as SavedTopology
from snapshots.payloads.dates import date
from snapshots.payloads.declaring import described, list_of
from snapshots.payloads.teams import OwningTeam, team_of
from snapshots.store.reader import StoredRecording


@described
class ProcessItem(TypedDict):
    """A node of the topology.

    Attributes:
        id: the id of the process.
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
        id: the id of the channel.
        source: the process that sends.
        target: the process that receives.
        fifo: whether it delivers messages in the order of sending.
        overtaking: whether markers may overtake messages; absent where they may not.
    """

    id: str
    source: str
    target: str
    fifo: bool
    overtaking: NotRequired[bool]


@described
class RecordedProcess(ProcessItem):
    """A process of a recording.

    Attributes:
        events: the number of its events.
        first_at: the instant of its first event, in the recording's time unit; absent without one.
        first_step: the step of its first event; absent without one.
    """

    events: int
    first_at: NotRequired[int]
    first_step: NotRequired[int]


@described
class ArrangedOperator(TypedDict):
    """Processes that differ only in a number at their end.

    Attributes:
        key: what no other operator has.
        name: their name without the number.
        members: their places in the list of processes.
    """

    key: str
    name: str
    members: list[int]


@described
class ArrangementItem(TypedDict):
    """How the processes stand in a picture of the topology.

    Attributes:
        operators: of a topology without a cycle; empty for all others, which stand on a ring.
        bands: the layers of each pipeline, each a list of keys of operators, with null for an edge
            that passes the layer.
        alone: the keys of operators without channels.
        is_guessed: whether no channel is known, and the order is that of the log.
        drawn: places in the list of processes, of those on the ring: at most the 60 with most
            channels.
        places: where these stand, as ``[x, y]`` in the square 0 to 1.
    """

    operators: list[ArrangedOperator]
    bands: list[list[list[str | None]]]
    alone: list[str]
    is_guessed: bool
    drawn: list[int]
    places: list[list[float]]


@described
class TopologyOfRecording(TypedDict):
    """Processes and the channels between them.

    Attributes:
        processes: the processes, in the order in which other answers list them.
        channels: the channels, in the order in which other answers list them.
        arrangement: how they stand in a picture.
    """

    processes: list[RecordedProcess]
    channels: list[ChannelItem]
    arrangement: ArrangementItem


@described
class TopologyDetail(TypedDict):
    """A saved topology.

    Attributes:
        processes: the processes, in the order in which other answers list them.
        channels: the channels, in the order in which other answers list them.
        id: the number of the topology.
        name: the name that people gave it.
        sample: whether it is a sample, which everybody can read and nobody can change.
        team: the team that owns it; null for your own and for samples.
        layout: where processes are drawn, as ``[x, y]`` in the square 0 to 1; not all have a place.
        dataflow: the dataflow from which processes and channels follow; absent where there is none.
        created_at: when it was saved first, as ISO 8601 in UTC.
        updated_at: when it was saved last, as ISO 8601 in UTC.
    """

    processes: list[ProcessItem]
    channels: list[ChannelItem]
    id: int
    name: str
    sample: bool
    team: OwningTeam | None
    layout: dict[str, list[float]]
    dataflow: NotRequired[dict[str, Any]]
    created_at: str
    updated_at: str


@described
class TopologySummary(TypedDict):
    """A saved topology in a list.

    Attributes:
        id: the number of the topology.
        name: the name that people gave it.
        sample: whether it is a sample, which everybody can read and nobody can change.
        team: the team that owns it; null for your own and for samples.
        processes: how many processes it has.
        channels: how many channels it has.
        updated_at: when it was saved last, as ISO 8601 in UTC.
    """

    id: int
    name: str
    sample: bool
    team: OwningTeam | None
    processes: int
    channels: int
    updated_at: str


TopologyList = list_of(TopologySummary, "TopologyList")


def topology_of_recording(stored: StoredRecording) -> TopologyOfRecording:
    return {
        "processes": _recorded_processes(stored),
        "channels": list(map(_channel, stored.topology.channels)),
        "arrangement": arrangement_payload(stored.topology),
    }


def arrangement_payload(topology: Topology) -> ArrangementItem:
    found = arrangement.arranged(topology)
    return {
        "operators": [
            {"key": each.key, "name": each.name, "members": each.members}
            for each in found.operators
        ],
        "bands": [
            [[None if item.is_passage else item.key for item in layer] for layer in band]
            for band in found.bands
        ],
        "alone": found.alone,
        "is_guessed": found.is_guessed,
        "drawn": found.drawn,
        "places": found.places,
    }


def _recorded_processes(stored: StoredRecording) -> list[RecordedProcess]:
    events = stored.tables.events
    filled = np.flatnonzero(events.length)
    first = events.pick(filled, np.zeros_like(filled))
    items: list[RecordedProcess] = [
        {**_process(process), "events": count}
        for process, count in zip(stored.topology.processes, events.length.tolist(), strict=True)
    ]
    places = zip(
        filled.tolist(), first.values("at").tolist(), first.values("step").tolist(), strict=True
    )
    for code, at, step in places:
        items[code]["first_at"], items[code]["first_step"] = at, step
    return items


def _process(process: Process) -> ProcessItem:
    item: ProcessItem = {"id": process.id}
    if process.state is not None:
        item["state"] = orjson.Fragment(process.state)
    if process.scope is not None:
        item["scope"] = process.scope
    return item


def _channel(channel: Channel) -> ChannelItem:
    item: ChannelItem = {
        "id": channel.id,
        "source": channel.source,
        "target": channel.target,
        "fifo": channel.fifo,
    }
    if channel.overtaking:
        item["overtaking"] = True
    return item


def topology_detail(row: SavedTopology) -> TopologyDetail:
    detail: TopologyDetail = {
        "id": row.pk,
        "name": row.name,
        "sample": row.is_sample,
        "team": team_of(row),
        "processes": row.definition["processes"],
        "channels": row.definition["channels"],
        "layout": row.definition.get("layout", {}),
        "created_at": date(row.created_at),
        "updated_at": date(row.updated_at),
    }
    if row.is_dataflow:
        detail["dataflow"] = row.definition["dataflow"]
    return detail


def topology_summary(row: SavedTopology) -> TopologySummary:
    return {
        "id": row.pk,
        "name": row.name,
        "sample": row.is_sample,
        "team": team_of(row),
        "processes": len(row.definition["processes"]),
        "channels": len(row.definition["channels"]),
        "updated_at": date(row.updated_at),
    }
