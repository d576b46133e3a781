"""Payloads of what an engine's checkpoints hold."""

from typing import Any, NotRequired

from typing_extensions import TypedDict  # pydantic needs it before Python 3.12

from snapshots.domain.inventory import batches, model, series
from snapshots.payloads.declaring import described, documented, list_of, payload_of
from snapshots.store.inventory.writing import PARTS

_OF_NEWER_VERSIONS = ("snapshot", "phases", "planned", "settings")

payload_of(model.Fact, "FactItem")
EngineJobItem = payload_of(model.JobInventory, "EngineJobItem")
payload_of(batches.PlannedSource, "PlannedSourceItem")
payload_of(batches.WrittenState, "WrittenStateItem")
payload_of(batches.PlannedBatch, "PlannedBatchItem")
FlawItem = payload_of(model.Flaw, "FlawItem")
FileList = list_of(payload_of(model.FileUse, "FileItem"), "FileList")
payload_of(model.SubtaskInventory, "SubtaskItem")
payload_of(model.StateInventory, "StateItem", optional=["sums"])
payload_of(model.OperatorInventory, "OperatorItem")
InFlightItem = payload_of(model.ChannelContents, "InFlightItem")
payload_of(model.MissingFile, "MissingItem")
EngineCheckpointDetail = payload_of(
    model.CheckpointInventory, "EngineCheckpointDetail", optional=_OF_NEWER_VERSIONS
)
EngineCheckpointSummary = payload_of(
    model.CheckpointInventory,
    "EngineCheckpointSummary",
    without=PARTS,
    optional=_OF_NEWER_VERSIONS,
    more={
        "operators": documented(int, "how many operators it has"),
        "channels": documented(int, "how many channels with data in flight it has"),
        "in_flight": documented(int, "the bytes of all data in flight"),
        "missing": documented(int, "how many files that it needs the upload lacks"),
    },
)


@described
class ContentsSummary(TypedDict):
    """Everything that an upload of an engine's files holds.

    Attributes:
        engine: ``flink``, ``spark`` or ``seatunnel``.
        checkpoints: the checkpoints by job, and in their order.
        files: how many files there are; all of them are under ``/contents/files``.
        flaws: the first flaws, which are the worst for people to know.
        flaws_total: how many flaws there are.
    """

    engine: str
    jobs: list[EngineJobItem]
    checkpoints: list[EngineCheckpointSummary]
    files: int
    notes: list[str]
    flaws: NotRequired[list[FlawItem]]
    flaws_total: NotRequired[int]


@described
class EntryItem(TypedDict):
    """One entry of a state.

    Attributes:
        key, value: null where it is not known.
        reason: why the key or the value is not known.
        head: the first bytes of what is not known, in hexadecimal digits.
    """

    subtask: int
    key_group: int | None
    namespace: Any
    key: Any
    value: Any
    bytes: int
    reason: str | None
    head: str | None


EntryList = list_of(EntryItem, "EntryList")


class DifferenceItem(TypedDict):
    kind: str
    before: EntryItem | None
    after: EntryItem | None


@described
class StateComparison(TypedDict):
    """The keys of one state in two checkpoints.

    Attributes:
        counts: how many keys were ``added``, ``removed``, ``changed``, are ``unknown`` or the
            ``same``.
        notes: what the counts leave out. A key that one checkpoint lacks is unknown where not all
            of that checkpoint is known.
    """

    counts: dict[str, int]
    notes: list[str]
    examples: list[DifferenceItem]


payload_of(series.Pair, "PairItem")
payload_of(series.StateChange, "StateChangeItem")
payload_of(series.KeyGroupChange, "KeyGroupChangeItem")
payload_of(series.OperatorChange, "OperatorChangeItem")
payload_of(series.FileChange, "FileChangeItem")
payload_of(series.FileTotals, "FileTotalsItem")
CheckpointChangeDetail = payload_of(series.CheckpointChange, "CheckpointChangeDetail")


@described
class ElementItem(TypedDict):
    """A record, watermark or other element of the data in flight on a channel.

    Attributes:
        offset: the place in the channel's data.
        head: the first bytes, in hexadecimal digits.
    """

    kind: str
    offset: int
    bytes: int
    timestamp: int | None
    value: Any
    details: dict[str, Any] | None
    head: str


@described
class ChannelElements(InFlightItem):
    """The data in flight on one channel, element by element.

    Attributes:
        items: the elements; empty where they cannot be told apart.
        type: the type as which the records are decoded.
        suggested: types that fit all records.
        described: those of them that the checkpoint's states have.
    """

    items: list[ElementItem]
    total: int | None
    type: str | None
    suggested: list[str]
    described: list[str]
    head: str
    texts: list[str]
