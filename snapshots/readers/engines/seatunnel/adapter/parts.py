"""What each process did for one stored checkpoint."""

from dataclasses import dataclass, field

from snapshots.domain.model.topology import ProcessId
from snapshots.readers.engines.seatunnel.adapter.graph import Graph
from snapshots.readers.engines.seatunnel.adapter.tasks import acknowledging
from snapshots.readers.engines.seatunnel.model import Checkpoint, SubtaskState, SubtaskStatistics


@dataclass
class Part:
    """What one process did; a process that stands for a whole action has several states and acks.

    Attributes:
        index: its subtask; -1 for an enumerator or committer, None where it stands for several.
        closed: whether the engine did not ask it.
        is_inferred: whether it is inferred that the acknowledgements are its own.
    """

    index: int | None
    states: list[SubtaskState] = field(default_factory=list)
    acks: list[SubtaskStatistics] = field(default_factory=list)
    closed: bool = True
    is_inferred: bool = False

    def acknowledged_at(self, checkpoint: Checkpoint) -> int | None:
        """Return when it acknowledged last, in epoch milliseconds; None where that is not known.

        The engine's master takes all these times. One that does not lie between trigger and
        completion means something else.
        """
        times = [ack.acknowledged_at for ack in self.acks if ack.acknowledged_at is not None]
        if not times or len(times) < len(self.acks):
            return None
        begin, end = checkpoint.triggered_at, checkpoint.completed_at
        fits = (begin is None or begin <= min(times)) and (end is None or max(times) <= end)
        return max(times) if fits else None

    def add(self, state: SubtaskState | None, ack: SubtaskStatistics | None) -> None:
        """Add the state of a subtask, if it has one, and its acknowledgement."""
        if state is None:
            return
        self.closed = False
        self.states.append(state)
        if ack is not None:
            self.acks.append(ack)
            self.is_inferred = True


def parts_of(graph: Graph, checkpoint: Checkpoint) -> dict[ProcessId, Part]:
    """Return the parts of all processes that the checkpoint knows."""
    parts: dict[ProcessId, Part] = {}
    acks = acknowledging(checkpoint)
    for state in checkpoint.actions:
        action = graph.actions.get(state.key)
        if action is None:
            continue
        for index, subtask in enumerate(state.subtasks):
            part = Part(None if graph.whole else index)
            part = parts.setdefault(action.vertex.process(index), part)
            part.add(subtask, (acks or {}).get((state.key, index)))
        if state.coordinator is not None:
            part = parts[action.coordinator] = Part(-1)
            part.add(state.coordinator, (acks or {}).get((state.key, -1)))
    for task in checkpoint.statistics if acks is None else ():
        if task.vertex in graph.tasks:
            for index, ack in enumerate(task.subtasks):
                process = graph.tasks[task.vertex].vertex.process(index)
                part = parts.setdefault(process, Part(None if graph.whole else index))
                if ack is not None:
                    part.closed = False
                    part.acks.append(ack)
    return parts
