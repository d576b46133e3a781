"""Reports how a run started from a checkpoint of an earlier run: who got which part of it.

The run's own log says so: the first `restore` of each task lists where its share comes from.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from snapshots.domain.dataflow_logs.checkpoints.tasks import RunEvents
from snapshots.domain.dataflow_logs.events import ProtocolEvent, whole
from snapshots.domain.model.defects import times
from snapshots.domain.model.listing import listed
from snapshots.domain.model.recording import RESTORE
from snapshots.domain.model.topology import ProcessId

MOST_NAMED = 3  # vertices in a sentence


@dataclass(frozen=True, slots=True)
class Share:
    """What one task started with.

    Attributes:
        process: the id of the task.
        vertex: the vertex to which the task belongs.
        origins: the subtasks of the earlier run whose state the task took over, wholly or in part.
        keys: how many keys the task took over. None if it keeps no state by key.
        splits: the next offset of each split that the task reads. None if the task is no source.
        in_flight: how many records were put back into the inputs of the task.
    """

    process: ProcessId
    vertex: str
    origins: tuple[str, ...] = ()
    keys: int | None = None
    splits: dict[str, int] | None = None
    in_flight: int = 0


@dataclass(frozen=True, slots=True)
class StartReport:
    """How a run started from a checkpoint of an earlier run.

    Attributes:
        checkpoint: the checkpoint of the earlier run.
        ending: how the earlier run ended: ``savepoint`` or ``failure``. None if the log does not
            say.
        before: the parallelism of each vertex in the earlier run, as far as the log says.
        after: the parallelism of each vertex in this run.
        shares: what each task started with.
        sentence: a summary in two or three sentences.
    """

    checkpoint: str
    ending: str | None
    before: dict[str, int]
    after: dict[str, int]
    shares: tuple[Share, ...]
    sentence: str


def start_of(run: RunEvents, started_from: object) -> StartReport | None:
    """Report on the start of a run; return None if it did not start from an earlier run.

    Args:
        run: the events of the run.
        started_from: what the header says of the earlier run.
    """
    firsts: dict[ProcessId, ProtocolEvent] = {}
    for event in run.events:
        if event.kind == RESTORE and event.names("from") is not None:
            firsts.setdefault(event.process, event)
    checkpoint = next((event.snapshot for event in firsts.values()), None)
    if checkpoint is None:
        return None
    header = started_from if isinstance(started_from, Mapping) else {}
    shares = tuple(_share(run, name, firsts[name]) for name in run.plan.tasks if name in firsts)
    ending = header.get("ending")
    ending = ending if isinstance(ending, str) else None
    before, after = _numbers(header.get("parallelism")), _widths(run)
    return StartReport(
        checkpoint, ending, before, after, shares, _sentence(checkpoint, before, after, shares)
    )


def _share(run: RunEvents, process: ProcessId, event: ProtocolEvent) -> Share:
    positions = event.fields.get("positions")
    return Share(
        process,
        run.plan.vertex_of(process),
        event.names("from") or (),
        event.whole("keys"),
        _numbers(positions) if isinstance(positions, dict) else None,
        sum(_numbers(event.fields.get("in_flight")).values()),
    )


def _numbers(value: object) -> dict[str, int]:
    items = value.items() if isinstance(value, Mapping) else ()
    return {name: number for name, number in items if whole(number) is not None}


def _widths(run: RunEvents) -> dict[str, int]:
    vertices = () if run.plan.dataflow is None else run.plan.dataflow.vertices
    return {vertex.id: vertex.parallelism for vertex in vertices}


def _sentence(
    checkpoint: str, before: Mapping[str, int], after: Mapping[str, int], shares: Iterable[Share]
) -> str:
    changed = [
        f"{name} with {times(number, 'subtask')} in place of {before[name]:,}"
        for name, number in after.items()
        if before.get(name, number) != number
    ]
    text = f"It began from checkpoint {checkpoint} of an earlier run"
    text += f": {listed(changed, MOST_NAMED)}" if changed else ", with the same parallelism"
    keys = sum(share.keys or 0 for share in shares)
    splits = sum(len(share.splits or ()) for share in shares)
    text += f". {times(keys, 'key')} went with their key groups, and {times(splits, 'split')} "
    text += "of the sources were dealt out"
    records = sum(share.in_flight for share in shares)
    was = "was" if records == 1 else "were"
    return f"{text}. {times(records, 'record')} that {was} in flight {was} put back into channels."
