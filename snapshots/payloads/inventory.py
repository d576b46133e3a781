"""Payloads of what an engine's checkpoints hold."""

from typing import Annotated, Any, NotRequired

from typing_extensions import TypedDict  # pydantic needs it before Python 3.12

from snapshots.domain.inventory import batches, byte_shares, columns, held, model, series
from snapshots.payloads.declaring import Payload, described, documented, list_of, many, payload_of
from snapshots.store.inventory.writing import PARTS

OF_NEWER_VERSIONS = (
    *("snapshot", "phases", "planned", "settings", "in_flight_stated"),
    *("ranges", "why_state_unknown", "flaws"),
)
"""The fields of a checkpoint that an upload read by an older version does not have."""

payload_of(model.Fact, "FactItem")
EngineJobItem = Annotated[dict[str, Any], Payload(payload_of(model.JobInventory, "EngineJobItem"))]
payload_of(batches.PlannedSource, "PlannedSourceItem")
payload_of(batches.WrittenState, "WrittenStateItem")
payload_of(batches.PlannedBatch, "PlannedBatchItem")
FlawItem = Annotated[dict[str, Any], Payload(payload_of(model.Flaw, "FlawItem"))]
FileList = list_of(payload_of(model.FileUse, "FileItem"), "FileList")
payload_of(model.SubtaskInventory, "SubtaskItem", optional=["new"])
payload_of(columns.NamedColumn, "NamedColumnItem")
ColumnsItem = Annotated[dict[str, Any], Payload(payload_of(columns.Columns, "ColumnsItem"))]
HeldItem = Annotated[dict[str, Any], Payload(payload_of(held.Held, "HeldItem"))]
payload_of(model.StateInventory, "StateItem", optional=["sums", "type_in_full", "held", "columns"])
payload_of(held.WindowClock, "WindowClockItem")
payload_of(model.OperatorInventory, "OperatorItem", optional=["sql", "window_clock"])
payload_of(model.ChannelContents, "InFlightItem", optional=["stated"])
payload_of(model.MissingFile, "MissingItem")
EngineCheckpointDetail = payload_of(
    model.CheckpointInventory, "EngineCheckpointDetail", optional=OF_NEWER_VERSIONS
)
_CHECKPOINT_SUMMARY = payload_of(
    model.CheckpointInventory,
    "EngineCheckpointSummary",
    without=PARTS,
    optional=OF_NEWER_VERSIONS,
    more={
        "operators": documented(
            int | None, "How many operators it has; null if none of them is known."
        ),
        "channels": documented(
            int, "How many channels with data in flight it has; ``halves`` are counted each."
        ),
        "halves": documented(
            int,
            "How many of these are halves, of which nothing tells the other end.",
            is_required=False,
        ),
        "in_flight": documented(
            int | None, "The size of all data in flight, in bytes; null if it is not known."
        ),
        "missing": documented(
            int | None,
            "How many files that it needs are not in the upload, or not whole; null if nothing "
            "tells which files it needs.",
        ),
    },
)
EngineCheckpointSummary = Annotated[dict[str, Any], Payload(_CHECKPOINT_SUMMARY)]


@described
class ContentsSummary(TypedDict):
    """Everything that an upload of an engine's files holds.

    Attributes:
        engine: ``flink``, ``spark`` or ``seatunnel``.
        jobs: the jobs of the engine.
        checkpoints: the checkpoints by job, and in their order.
        files: how many files there are; all of them are under ``/contents/files``.
        notes: what else has to be said of the upload, as sentences.
        flaws: the first flaws, the most serious ones first; absent in uploads of older versions.
        flaws_total: how many flaws there are; absent in uploads of older versions.
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
        subtask: the subtask that holds it; -1 for what belongs to the coordinator.
        key_group: the key group; null in operator state, which has none.
        namespace: the namespace, such as a window; null where there is none, or it is not known.
        key: the key; null where it is not known.
        value: the value; null where it is not known.
        bytes: the size of key and value as they are stored, in bytes.
        reason: why the key or the value is not known; null where both are.
        head: the first bytes of what is not known, in hexadecimal digits; null where all is known.
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


@described
class HeavyKeyOfState(TypedDict):
    """A key that takes much of a state.

    Attributes:
        state: the name of the state.
        key: the beginning of the key's JSON; null where the key is not known.
        characters: how long that JSON is; null where the key is not known.
        head: the first bytes of a key that is not known, in hexadecimal digits.
        key_group: the key group; null where the state has none.
        bytes: the size of the key's entries.
        entries: how many entries the key has, such as windows.
        elements: how many elements the lists and maps in them hold; null where it is not known.
        share: how much of the state's entries the key takes, between 0 and 1.
    """

    state: str
    key: str | None
    characters: int | None
    head: str | None
    key_group: int | None
    bytes: int
    entries: int
    elements: int | None
    share: float | None


@described
class StateOfQuery(TypedDict):
    """One state of an operator of a query.

    Attributes:
        name: the name of the state.
        held: what it holds, in numbers.
        columns: the names of its columns; null where nothing names them.
        sentences: the same in words, with what removes it.
    """

    name: str
    held: HeldItem
    columns: ColumnsItem | None
    sentences: list[str]


@described
class OperatorOfQuery(TypedDict):
    """An operator of a query.

    Attributes:
        id: the engine's id of the operator.
        name: the name of the operator; null where the files do not say.
        does: what it does in the query, such as "a join".
        clock: in which time its windows start and end, as a sentence; null where it has none.
        states: its states, without those whose meaning is not known.
        heavy: its heaviest keys, by bytes and then by elements.
    """

    id: str
    name: str | None
    does: str
    clock: str | None
    states: list[StateOfQuery]
    heavy: list[HeavyKeyOfState]


@described
class QueriesDetail(TypedDict):
    """What the operators of queries hold in one checkpoint.

    Attributes:
        operators: the operators of queries that have state.
        growing: which of their states only grow, in sentences; empty where none is known to.
    """

    operators: list[OperatorOfQuery]
    growing: list[str]


@described
class DifferenceItem(TypedDict):
    """A key that differs between two checkpoints.

    Attributes:
        kind: ``added``, ``removed``, ``changed`` or ``unknown``.
        before: the entry in the earlier checkpoint; null where it has none.
        after: the entry in the later checkpoint; null where it has none.
    """

    kind: str
    before: EntryItem | None
    after: EntryItem | None


@described
class StateComparison(TypedDict):
    """The keys of one state in two checkpoints.

    Attributes:
        before: the number of the older checkpoint in the upload.
        after: the number of the newer checkpoint in the upload.
        counts: how many keys were ``added``, ``removed``, ``changed``, are ``unknown`` or the
            ``same``.
        notes: what the counts leave out. A key that one checkpoint lacks is unknown where not all
            of that checkpoint is known.
        examples: the first keys of each kind that is not ``same``.
    """

    before: int
    after: int
    counts: dict[str, int]
    notes: list[str]
    examples: list[DifferenceItem]


DifferenceList = list_of(
    DifferenceItem,
    "DifferenceList",
    more={
        "before": documented(int, "The number of the older checkpoint in the upload."),
        "after": documented(int, "The number of the newer checkpoint in the upload."),
        "counts": documented(
            dict[str, int],
            "How many keys were `added`, `removed`, `changed`, are `unknown` or the `same`.",
        ),
        "notes": documented(list[str], "What the counts leave out, as sentences."),
    },
)
payload_of(series.Pair, "PairItem")
payload_of(series.ChannelChange, "ChannelChangeItem")
payload_of(series.StateChange, "StateChangeItem")
payload_of(series.KeyGroupChange, "KeyGroupChangeItem")
payload_of(series.OperatorChange, "OperatorChangeItem")
payload_of(series.FileChange, "FileChangeItem")
payload_of(series.FileTotals, "FileTotalsItem")
payload_of(byte_shares.PartBytes, "PartBytesItem")
payload_of(byte_shares.PlaceBytes, "PlaceBytesItem")
payload_of(byte_shares.StateBytes, "StateBytesItem")
payload_of(byte_shares.OperatorBytes, "OperatorBytesItem")
payload_of(byte_shares.HeavyKey, "HeavyKeyItem")
payload_of(byte_shares.HeavyKeys, "HeavyKeysItem")
CheckpointBytesDetail = payload_of(byte_shares.CheckpointBytes, "CheckpointBytesDetail")
CheckpointChangeDetail = payload_of(series.CheckpointChange, "CheckpointChangeDetail")


@described
class ElementItem(TypedDict):
    """A record, watermark or other element of the data in flight on a channel.

    Attributes:
        kind: the kind of element, such as ``record`` or ``watermark``.
        offset: the place in the channel's data, in bytes from its beginning.
        bytes: the size in bytes.
        timestamp: the event time in milliseconds; null where it has none.
        value: the decoded record; null where no type was asked for, and for other elements.
        details: the other fields of the element, by name; null where it has none.
        head: the first bytes, in hexadecimal digits.
    """

    kind: str
    offset: int
    bytes: int
    timestamp: int | None
    value: Any
    details: dict[str, Any] | None
    head: str


ChannelElements = payload_of(
    model.ChannelContents,
    "ChannelElements",
    optional=["stated"],
    more={
        "items": many(
            ElementItem,
            "The elements of this page; empty if the elements cannot be told apart.",
        ),
        "total": documented(
            int | None, "How many elements the channel holds; null if they cannot be told apart."
        ),
        "type": documented(
            str | None, "The type by which the records are decoded; null if the request named none."
        ),
        "suggested": documented(list[str], "Types that fit all records."),
        "described": documented(
            list[str], "The suggested types that the checkpoint's states have."
        ),
        "head": documented(str, "The first bytes of the channel's data, in hexadecimal digits."),
        "texts": documented(list[str], "The first texts that can be read in the channel's data."),
    },
)
