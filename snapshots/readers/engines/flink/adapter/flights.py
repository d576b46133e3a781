"""Data in flight as messages of a derived recording.

A channel whose contents are not known is absent: of an edge whose halves cannot be joined, of bytes
that cannot be told apart, and where there are too many messages. A channel that was aligned has
none.
"""

from dataclasses import dataclass

from snapshots.domain.model.topology import ChannelId, JsonText
from snapshots.readers.engines.flink.adapter.channels import EdgeType, InFlightReading
from snapshots.readers.engines.flink.adapter.emptiness import why_unknown
from snapshots.readers.engines.flink.adapter.places import Place
from snapshots.readers.engines.flink.adapter.runs import Link, Run
from snapshots.readers.engines.flink.channels.elements import NO_TIME, RECORD, WATERMARK, Element
from snapshots.readers.engines.flink.channels.joining import Channel, Edge, Joined
from snapshots.readers.engines.flink.rest.job_graph import STORED_IN_FLIGHT
from snapshots.readers.engines.flink.types.element_types import decoded
from snapshots.readers.formats.cursor import Malformed
from snapshots.readers.formats.fields import json_text

MOST_MESSAGES = 200_000  # of all checkpoints of an upload
LONGEST_VALUE = 64 * 1024  # characters; of longer ones only the size is kept


@dataclass(frozen=True, slots=True)
class Flight:
    """One message. timestamp: of its event time, None where it has none."""

    value: JsonText
    timestamp: int | None


@dataclass(frozen=True, slots=True)
class Flights:
    """What was in a channel, the oldest first. in_input: how many lay wholly in the receiver's
    buffers; the barrier jumped over the others at the sender. type: of the records, None where
    not known; inferred: by what."""

    messages: tuple[Flight, ...]
    in_input: int = 0
    type: str | None = None
    inferred: str | None = None


class FlightReading:
    def __init__(self, in_flight: InFlightReading) -> None:
        self._in_flight = in_flight
        self._left = MOST_MESSAGES
        self.left_out = False  # whether messages lack because there are too many
        self.shown = 0

    def of(self, place: Place, run: Run) -> dict[ChannelId, Flights]:
        """By channel, only where the contents are known."""
        if not place.has_files:
            return self._without_files(place, run)
        joined = self._in_flight.joined(place)
        unknown = _unknown(joined, place, run)
        types = self._in_flight.types_of(place, run)
        edges = {(one.source, one.target, one.gate): one for one in joined.edges}
        held = {where: _by_ends(edge) for where, edge in edges.items()}
        found = {}
        for link in run.links:
            where = link.edge.source, link.target, link.edge.gate
            if where in unknown or link.edge.source in unknown or link.target in unknown:
                continue
            ends = link.source_subtask, link.target_subtask
            channel = held.get(where, {}).get(ends)
            own = Flights(()) if channel is None else self._flights(channel, types.get(where))
            if own is not None:
                found[link.channel.id] = own
        return found

    def _without_files(self, place: Place, run: Run) -> dict[ChannelId, Flights]:
        """By the REST API alone: none, where it was aligned or nothing was persisted."""
        is_known = why_unknown(place) is None
        return {
            link.channel.id: Flights(()) for link in run.links if is_known or not _is_stored(link)
        }

    def _flights(self, channel: Channel, type_: EdgeType | None) -> Flights | None:
        elements = channel.elements
        if elements is None:
            return None
        if len(elements) > self._left:
            self.left_out = True
            return None
        self._left -= len(elements)
        self.shown += len(elements)
        return Flights(
            tuple(_flight(one, type_) for one in elements),
            elements.wholly_before(channel.input_bytes),
            type_ and type_.serializer.name,
            type_ and type_.inferred,
        )


def _is_stored(link: Link) -> bool:
    return link.edge.ship in STORED_IN_FLIGHT


def _unknown(joined: Joined, place: Place, run: Run) -> set:
    """Edges, as (source, target, gate), and vertices of which data in flight belong nowhere."""
    found: set = {
        (edge.source, edge.target, edge.gate)
        for edge in joined.edges
        if edge.partition is None and edge.channels
    }
    for one in joined.unjoined:
        vertex = run.vertex_of(place, one.half.operator)
        found |= set(run.names) if vertex is None else {vertex}
    return found


def _by_ends(edge: Edge) -> dict[tuple[int, int], Channel]:
    return {(channel.source, channel.target): channel for channel in edge.channels}


def _flight(element: Element, type_: EdgeType | None) -> Flight:
    timestamp = None if element.timestamp == NO_TIME else element.timestamp
    if element.kind == WATERMARK:
        return Flight(json_text({"watermark": element.timestamp}), None)
    if element.kind != RECORD:
        return Flight(json_text({element.kind: element.details}), timestamp)
    return Flight(_value(element, type_), timestamp)


def _value(element: Element, type_: EdgeType | None) -> JsonText:
    if type_ is not None:
        try:
            text = json_text(decoded(element, type_.serializer))
        except (Malformed, ValueError, RecursionError):
            text = None
        if text is not None and len(text) <= LONGEST_VALUE:
            return text
    return json_text({"bytes": len(element.value)})
