"""What each process did for one stored checkpoint."""

from dataclasses import dataclass, field

from snapshots.domain.model.topology import ProcessId
from snapshots.readers.engines.seatunnel.adapter.graph import Graph
from snapshots.readers.engines.seatunnel.adapter.tasks import acknowledging
from snapshots.readers.engines.seatunnel.model import Checkpoint, SubtaskState, SubtaskStatistics


@dataclass
class Part:
    """states: more than one where a process stands for a whole action; acks likewise.

    closed: the engine did not ask it. index: of the subtask, None where it stands for several.
    is_inferred: that these are its acknowledgements.
    """

    index: int | None
    states: list[SubtaskState] = field(default_factory=list)
    acks: list[SubtaskStatistics] = field(default_factory=list)
    closed: bool = True
    is_inferred: bool = False

    def acknowledged_at(self, checkpoint: Checkpoint) -> int | None:
        """Epoch milliseconds of the last one, which lies between trigger and completion, or None.

        The engine's master takes all these times; one that lies outside means something else.
        """
        times = [item.acknowledged_at for item in self.acks]
        if not times or None in times:
            return None
        begin, end = checkpoint.triggered_at, checkpoint.completed_at
        fits = (begin is None or begin <= min(times)) and (end is None or max(times) <= end)
        return max(times) if fits else None


def parts_of(graph: Graph, checkpoint: Checkpoint) -> dict[ProcessId, Part]:
    """By process; of those that the checkpoint knows."""
    parts: dict[ProcessId, Part] = {}
    acks = acknowledging(checkpoint)
    for action in checkpoint.actions:
        vertex = graph.vertices.get(action.key)
        if vertex is None:
            continue
        for place, state in enumerate(action.subtasks):
            process = graph.subtask(action.key, place)
            part = parts.setdefault(process, Part(None if graph.whole else place))
            _add(part, state, (acks or {}).get((action.key, place)))
        if action.coordinator is not None:
            part = parts[vertex.coordinator] = Part(-1)
            _add(part, action.coordinator, (acks or {}).get((action.key, -1)))
    if acks is None:
        for vertex in checkpoint.statistics:
            if vertex.vertex in graph.tasks:
                for place, item in enumerate(vertex.subtasks):
                    process = graph.task(vertex.vertex, place)
                    part = parts.setdefault(process, Part(None if graph.whole else place))
                    if item is not None:
                        part.closed = False
                        part.acks.append(item)
    return parts


def _add(part: Part, state: SubtaskState | None, ack: SubtaskStatistics | None) -> None:
    if state is None:
        return
    part.closed = False
    part.states.append(state)
    if ack is not None:
        part.acks.append(ack)
        part.is_inferred = True
