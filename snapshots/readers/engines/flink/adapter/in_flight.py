"""The data in flight of a checkpoint: its channels, the types of its records, its messages.

No file says of which type records in flight are. A type is used where a person named it, or where
only one type fits every record of an edge.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

from snapshots.domain.inventory.model import INPUT_HALF, OUTPUT_HALF, WHOLE, ChannelContents
from snapshots.domain.model.topology import ChannelId, JsonText
from snapshots.readers.engines.flink import checkpoint_state
from snapshots.readers.engines.flink.adapter.checkpoints import FlinkCheckpoint
from snapshots.readers.engines.flink.adapter.runs import Run
from snapshots.readers.engines.flink.channels.elements import NO_TIME, RECORD, WATERMARK, Element
from snapshots.readers.engines.flink.channels.joining import Channel, Edge, Joined, Unjoined
from snapshots.readers.engines.flink.handles import INPUT
from snapshots.readers.engines.flink.rest.job_graph import STORED_IN_FLIGHT
from snapshots.readers.engines.flink.types.element_types import (
    UnknownType,
    decoded,
    fits,
    parse_type,
)
from snapshots.readers.engines.flink.types.type_suggestions import suggest
from snapshots.readers.engines.flink.types.values import Serializer
from snapshots.readers.engines.flink.upload import FlinkUpload
from snapshots.readers.formats.cursor import Malformed
from snapshots.readers.formats.fields import json_text

MOST_MESSAGES = 200_000  # of all checkpoints of an upload
LONGEST_VALUE = 64 * 1024  # characters; a longer value is replaced by its size
INFERRED = "the one type that fits every record"
_NOT_TOLD = "It is not known which of the outputs of its sender belong to it."

EdgeKey = tuple[str, str, int]  # source vertex, target vertex, gate


@dataclass(frozen=True, slots=True)
class Numbered:
    """A channel with data in flight, and its bytes."""

    described: ChannelContents
    data: bytes


@dataclass(frozen=True, slots=True)
class EdgeType:
    """The type of the records of an edge.

    Attributes:
        inferred: by what it is inferred; None where a person named it.
    """

    serializer: Serializer
    inferred: str | None


class InFlightReading:
    """Reads what was in flight at the checkpoints of an upload, and keeps the latest one.

    Args:
        types: names of element types by edge, as ``map -> sink`` with the names of vertices.
    """

    def __init__(self, upload: FlinkUpload, types: Mapping[str, str]) -> None:
        self._upload = upload
        self._types = types
        self._kept: tuple[FlinkCheckpoint, Joined] | None = None

    def joined(self, checkpoint: FlinkCheckpoint) -> Joined:
        """Return the data in flight by channel, as far as its halves can be joined."""
        if self._kept is None or self._kept[0] is not checkpoint:
            joined = Joined((), ())
            if (stored := checkpoint.readable) is not None:
                joined = checkpoint_state.channels(self._upload, stored)
            self._kept = checkpoint, joined
        return self._kept[1]

    def numbered(self, checkpoint: FlinkCheckpoint, run: Run) -> Iterator[Numbered]:
        """Yield the channels with data in flight, then the halves that belong to none."""
        joined = self.joined(checkpoint)
        channels = [(edge, channel) for edge in joined.edges for channel in edge.channels]
        for number, (edge, channel) in enumerate(channels):
            yield Numbered(_described(number, edge, channel, run), channel.data())
        for number, unjoined in enumerate(joined.unjoined, len(channels)):
            described = _described_half(number, unjoined, checkpoint, run)
            yield Numbered(described, unjoined.half.data())

    def types_of(self, checkpoint: FlinkCheckpoint, run: Run) -> dict[EdgeKey, EdgeType]:
        """Return the types of records, by edge, where they are known.

        Raises: UnknownType for a name that means nothing.
        """
        types: dict[EdgeKey, EdgeType] = {}
        stored = checkpoint.readable
        known = None
        for edge in self.joined(checkpoint).edges if stored is not None else ():
            elements = [one.elements for one in edge.channels if one.elements is not None]
            if not any(elements) or edge.source not in run.names or edge.target not in run.names:
                continue
            if known is None and stored is not None:
                known = checkpoint_state.state_types(self._upload, stored)
            key = edge.source, edge.target, edge.gate
            named = self._types.get(f"{run.names[edge.source]} -> {run.names[edge.target]}")
            if named is not None:
                type_ = parse_type(named, known)
                if not all(fits(each, type_) for each in elements):
                    raise UnknownType(f"Not every record of the edge is a {type_.name}.")
                types[key] = EdgeType(type_, None)
            elif len(suggested := suggest(elements, known)) == 1:
                types[key] = EdgeType(parse_type(suggested[0], known), INFERRED)
        return types


def _described(number: int, edge: Edge, channel: Channel, run: Run) -> ChannelContents:
    source = run.process(edge.source, channel.source)
    target = run.process(edge.target, channel.target)
    whole = edge.partition is not None
    halves = [half for half in (channel.input, channel.output) if half is not None]
    is_read = all(half.problem is None for half in halves)
    gate = f" (gate {edge.gate})" if edge.gate else ""
    return ChannelContents(
        id=f"{source}->{target}{gate}",
        source=source,
        target=target,
        part=WHOLE if whole else INPUT_HALF,
        number=number,
        buffers=sum(len(half.buffers) for half in halves) if is_read else None,
        bytes=sum(half.byte_count for half in halves) if is_read else None,
        stated=sum(half.size for half in halves),
        elements=len(channel.elements) if whole and channel.elements is not None else None,
        reason=channel.problem or (None if whole else _NOT_TOLD),
        exchange=edge.ship,
    )


def _described_half(
    number: int, unjoined: Unjoined, checkpoint: FlinkCheckpoint, run: Run
) -> ChannelContents:
    half = unjoined.half
    vertex = run.vertex_of(checkpoint, half.operator)
    name = f"operator {half.operator[:8]}" if vertex is None else run.names[vertex]
    process = f"{name}[{half.subtask}]"
    is_input = half.side == INPUT
    words = ("gate", "channel") if is_input else ("partition", "subpartition")
    return ChannelContents(
        id=f"{process} {words[0]} {half.place[0]}, {words[1]} {half.place[1]}",
        source=None if is_input else process,
        target=process if is_input else None,
        part=INPUT_HALF if is_input else OUTPUT_HALF,
        number=number,
        buffers=None if half.problem else len(half.buffers),
        bytes=None if half.problem else half.byte_count,
        stated=half.size,
        reason=half.problem or unjoined.reason,
    )


# --- messages of a derived recording --------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Flight:
    """One message.

    Attributes:
        timestamp: its event time in milliseconds; None where it has none.
    """

    value: JsonText
    timestamp: int | None


@dataclass(frozen=True, slots=True)
class Flights:
    """What was in a channel, the oldest first.

    Attributes:
        in_input: how many messages lay wholly in the receiver's buffers; the barrier overtook the
            others at the sender.
        type: the type of the records; None where it is not known.
        inferred: by what the type is inferred.
    """

    messages: tuple[Flight, ...]
    in_input: int = 0
    type: str | None = None
    inferred: str | None = None


class FlightReading:
    """Turns data in flight into messages, up to MOST_MESSAGES of them.

    Attributes:
        shown: how many messages there are so far.
        left_out: whether messages are left out because they are too many.
    """

    def __init__(self, in_flight: InFlightReading) -> None:
        self._in_flight = in_flight
        self._left = MOST_MESSAGES
        self.left_out = False
        self.shown = 0

    def flights(self, checkpoint: FlinkCheckpoint, run: Run) -> dict[ChannelId, Flights]:
        """Return the messages of each channel whose contents are known; an aligned one has none.

        Not known are the channels of an edge whose halves cannot be joined, bytes that cannot be
        split into messages, and channels with too many messages.
        """
        if checkpoint.metadata is None:
            return _without_files(checkpoint, run)
        joined = self._in_flight.joined(checkpoint)
        unknown_edges, unknown_vertices = _unknown(joined, checkpoint, run)
        types = self._in_flight.types_of(checkpoint, run)
        channels = {
            (edge.source, edge.target, edge.gate): {(one.source, one.target): one
                                                    for one in edge.channels}
            for edge in joined.edges
        }  # fmt: skip
        flights = {}
        for link in run.links:
            key = link.edge.source, link.target, link.edge.gate
            if key in unknown_edges or unknown_vertices & {link.edge.source, link.target}:
                continue
            channel = channels.get(key, {}).get((link.source_subtask, link.target_subtask))
            held = Flights(()) if channel is None else self._flights(channel, types.get(key))
            if held is not None:
                flights[link.channel.id] = held
        return flights

    def _flights(self, channel: Channel, type_: EdgeType | None) -> Flights | None:
        elements = channel.elements
        if elements is None:
            return None
        if len(elements) > self._left:
            self.left_out = True
            return None
        self._left -= len(elements)
        self.shown += len(elements)
        messages = tuple(_flight(element, type_) for element in elements)
        flights = Flights(messages, elements.wholly_before(channel.input_bytes))
        if type_ is None:
            return flights
        return replace(flights, type=type_.serializer.name, inferred=type_.inferred)


def _without_files(checkpoint: FlinkCheckpoint, run: Run) -> dict[ChannelId, Flights]:
    """Return the channels that the REST API alone shows to be empty."""
    is_known = checkpoint.why_unknown is None
    return {
        link.channel.id: Flights(())
        for link in run.links
        if is_known or link.edge.ship not in STORED_IN_FLIGHT
    }


def _unknown(
    joined: Joined, checkpoint: FlinkCheckpoint, run: Run
) -> tuple[set[EdgeKey], set[str]]:
    """Return the edges and the vertices some of whose data in flight belongs to no channel."""
    edges = {
        (edge.source, edge.target, edge.gate)
        for edge in joined.edges
        if edge.partition is None and edge.channels
    }
    vertices: set[str] = set()
    for unjoined in joined.unjoined:
        vertex = run.vertex_of(checkpoint, unjoined.half.operator)
        vertices |= set(run.names) if vertex is None else {vertex}
    return edges, vertices


def _flight(element: Element, type_: EdgeType | None) -> Flight:
    timestamp = None if element.timestamp == NO_TIME else element.timestamp
    if element.kind == WATERMARK:
        return Flight(_json({"watermark": element.timestamp}), None)
    if element.kind != RECORD:
        return Flight(_json({element.kind: element.details}), timestamp)
    return Flight(_value(element, type_), timestamp)


def _value(element: Element, type_: EdgeType | None) -> JsonText:
    if type_ is not None:
        try:
            text = _json(decoded(element, type_.serializer))
        except (Malformed, ValueError, RecursionError):
            text = None
        if text is not None and len(text) <= LONGEST_VALUE:
            return text
    return _json({"bytes": len(element.value)})


def _json(value: object) -> JsonText:
    return JsonText(json_text(value))
