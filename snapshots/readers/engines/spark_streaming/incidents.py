"""Derive from the state on disk how far a batch in flight had come when the query stopped."""

from dataclasses import dataclass

from snapshots.readers.engines.spark_streaming.state.operators import Operator
from snapshots.readers.engines.spark_streaming.state.store_files import StoreVersions
from snapshots.readers.engines.spark_streaming.timeline import Batch

PLANNED_ONLY = "planned-only"
PARTIAL = "partial-partitions"
STATE_AHEAD = "state-ahead"
EPOCH_ENDED = "epoch-ended"
UNKNOWN = "unknown"

HOW_FAR = {
    PLANNED_ONLY: "The batch was planned, and no partition wrote its state.",
    PARTIAL: "Some partitions wrote the state of the batch and others did not.",
    STATE_AHEAD: "Every partition wrote the state of the batch, and it was never committed.",
    EPOCH_ENDED: "In continuous mode offsets are written at the end of an epoch: every reader had "
    "finished it, and it was not committed.",
    UNKNOWN: "The upload holds no state, so it does not tell how far the batch came.",
}
_AGAIN = "A restart runs the same batch again, with the same offsets"
RESTART = {
    PLANNED_ONLY: f"{_AGAIN}, from the beginning; if the sink was not called, it is called once.",
    PARTIAL: f"{_AGAIN}, from the state before; what the sink kept of the first attempt depends "
    "on the sink.",
    STATE_AHEAD: f"{_AGAIN}, and calls the sink again: its output is there twice unless the sink "
    "tells batches apart by their id.",
    EPOCH_ENDED: "A restart begins at the offsets of the last epoch that was committed, and reads "
    "what came after it again; without any commit it begins anew.",
    UNKNOWN: f"{_AGAIN}; if the sink was called before, it is called again.",
}


@dataclass(frozen=True)
class InFlight:
    """A batch that was planned and not committed.

    Attributes:
        kind: how far it came, a key of HOW_FAR.
        wrote: the partitions that wrote the state of the batch, by operator and store.
    """

    batch: Batch
    kind: str
    wrote: dict[int, dict[str, list[int]]]

    @property
    def how_far(self) -> str:
        return HOW_FAR[self.kind]

    @property
    def restart(self) -> str:
        return RESTART[self.kind]

    @property
    def sentence(self) -> str:
        return f"{self.how_far} {self.restart}"


def in_flight(batch: Batch, operators: tuple[Operator, ...], versions: StoreVersions) -> InFlight:
    """Return how far a batch came, from the checkpoint's operators and versions of state."""
    wrote: dict[int, dict[str, list[int]]] = {}
    complete = []
    for operator in operators:
        wrote[operator.id] = {}
        for store, partitions in versions.get(operator.id, {}).items():
            done = {p for p, files in partitions.items() if files.has(batch.state_version)}
            wrote[operator.id][store] = sorted(done)
            needed = set(range(operator.used_partitions or 0)) or partitions.keys()
            complete.append(done >= needed)
    return InFlight(batch, _kind(batch, wrote, complete), wrote)


def _kind(batch: Batch, wrote: dict[int, dict[str, list[int]]], complete: list[bool]) -> str:
    if batch.sources is not None and batch.planned_at_ms is None:
        return EPOCH_ENDED
    if not complete:
        return UNKNOWN
    if not any(partitions for stores in wrote.values() for partitions in stores.values()):
        return PLANNED_ONLY
    return STATE_AHEAD if all(complete) else PARTIAL
