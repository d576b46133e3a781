"""The data in flight of a checkpoint, channel by channel, and the types that its records have.

No file says of which type records in flight are. A type is used where a person named it, or where
one type alone fits every record of an edge.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from snapshots.domain.inventory.model import INPUT_HALF, OUTPUT_HALF, WHOLE, ChannelContents
from snapshots.readers.engines.flink import checkpoint_state
from snapshots.readers.engines.flink.adapter.places import Place
from snapshots.readers.engines.flink.adapter.runs import Run
from snapshots.readers.engines.flink.channels.joining import Channel, Edge, Joined, Unjoined
from snapshots.readers.engines.flink.handles import INPUT
from snapshots.readers.engines.flink.types.element_types import UnknownType, fits, parse_type
from snapshots.readers.engines.flink.types.type_suggestions import suggest
from snapshots.readers.engines.flink.types.values import Serializer
from snapshots.readers.engines.flink.upload import FlinkUpload

INFERRED = "the one type that fits every record"
_NOT_TOLD = "It cannot be told which of the outputs of its sender belong to it."


@dataclass(frozen=True, slots=True)
class Numbered:
    """A channel with data in flight, and its bytes."""

    described: ChannelContents
    data: bytes


@dataclass(frozen=True, slots=True)
class EdgeType:
    """The type of the records of an edge. inferred: None where a person named it."""

    serializer: Serializer
    inferred: str | None


class InFlightReading:
    """What was in flight at the checkpoints of an upload, the last one asked for kept.

    types: names of element types by edge, as ``map -> sink`` with the names of a run's vertices.
    """

    def __init__(self, upload: FlinkUpload, types: Mapping[str, str]) -> None:
        self._upload = upload
        self._types = types
        self._kept: tuple[Place, Joined] | None = None

    def joined(self, place: Place) -> Joined:
        if self._kept is None or self._kept[0] is not place:
            found = Joined((), ())
            if place.has_files:
                found = checkpoint_state.channels(self._upload, place.stored)
            self._kept = place, found
        return self._kept[1]

    def numbered(self, place: Place, run: Run) -> Iterator[Numbered]:
        joined = self.joined(place)
        channels = [
            _of_channel(edge, channel, run) for edge in joined.edges for channel in edge.channels
        ]
        halves = [_of_half(one, place, run) for one in joined.unjoined]
        for number, (make, data) in enumerate((*channels, *halves)):
            yield Numbered(ChannelContents(number=number, **make), data())

    def types_of(self, place: Place, run: Run) -> dict[tuple[str, str, int], EdgeType]:
        """By source vertex, target vertex and gate, where known.

        Raises: UnknownType for a name that means nothing.
        """
        found = {}
        known = None
        for edge in self.joined(place).edges:
            elements = [one.elements for one in edge.channels if one.elements is not None]
            if not any(elements) or edge.source not in run.names or edge.target not in run.names:
                continue
            if known is None:
                known = checkpoint_state.state_types(self._upload, place.stored)
            place_of = edge.source, edge.target, edge.gate
            named = self._types.get(f"{run.names[edge.source]} -> {run.names[edge.target]}")
            if named is not None:
                type_ = parse_type(named, known)
                if not all(fits(each, type_) for each in elements):
                    raise UnknownType(f"Not every record of the edge is a {type_.name}.")
                found[place_of] = EdgeType(type_, None)
            elif len(suggested := suggest(elements, known)) == 1:
                found[place_of] = EdgeType(parse_type(suggested[0], known), INFERRED)
        return found


def _of_channel(edge: Edge, channel: Channel, run: Run):
    source = run.process(edge.source, channel.source)
    target = run.process(edge.target, channel.target)
    whole = edge.partition is not None
    halves = [half for half in (channel.input, channel.output) if half is not None]
    reason = channel.problem if whole else channel.problem or _NOT_TOLD
    gate = f" (gate {edge.gate})" if edge.gate else ""
    return {
        "id": f"{source}->{target}{gate}",
        "source": source,
        "target": target,
        "part": WHOLE if whole else INPUT_HALF,
        "buffers": sum(len(half.buffers) for half in halves),
        "bytes": sum(half.byte_count for half in halves),
        "elements": len(channel.elements) if whole and channel.elements is not None else None,
        "reason": reason,
        "exchange": edge.ship,
    }, channel.data


def _of_half(unjoined: Unjoined, place: Place, run: Run):
    half = unjoined.half
    vertex = run.vertex_of(place, half.operator)
    name = f"operator {half.operator[:8]}" if vertex is None else run.names[vertex]
    own = f"{name}[{half.subtask}]"
    is_input = half.side == INPUT
    first, second = half.place
    where = f"gate {first}, channel {second}"
    if not is_input:
        where = f"partition {first}, subpartition {second}"
    return {
        "id": f"{own} {where}",
        "source": None if is_input else own,
        "target": own if is_input else None,
        "part": INPUT_HALF if is_input else OUTPUT_HALF,
        "buffers": None if half.problem else len(half.buffers),
        "bytes": half.byte_count,
        "reason": half.problem or unjoined.reason,
    }, half.data
