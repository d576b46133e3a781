"""Payloads of what an engine's checkpoints hold; names as in ``domain/inventory/model.py``."""

from typing import Any, NotRequired

from typing_extensions import TypedDict  # pydantic needs it before Python 3.12


class FactItem(TypedDict):
    """unit: of a number ``epoch ms``, ``ms``, ``bytes`` or ``count``; null: a text, or a number
    that only names. inferred: by what, where no file says it."""

    name: str
    value: str | int | float | None
    inferred: str | None
    unit: str | None


class EngineJobItem(TypedDict):
    key: str
    name: str | None
    facts: list[FactItem]


class PlannedSourceItem(TypedDict):
    """start, end: offsets as JSON texts. files: the first names; offsets: between the two."""

    source: str
    description: str | None
    start: str | None
    end: str | None
    start_known: bool
    files: list[str]
    files_total: int | None
    rows: int | None
    offsets: int | None


class WrittenStateItem(TypedDict):
    """Partitions that wrote the state of the batch, and that did not: how many, and which."""

    operator: str
    store: str | None
    wrote: int
    lacking: int
    wrote_text: str
    lacking_text: str


class PlannedBatchItem(TypedDict):
    """A batch that was planned and not committed. rows, files: of all sources, null: not known."""

    kind: str
    how_far: str
    restart: str
    rows: int | None
    files: int | None
    sources: list[PlannedSourceItem]
    written: list[WrittenStateItem]


class EngineCheckpointBase(TypedDict):
    """why_empty: why channels that are not listed hold nothing; why_unknown: why it is not known
    what they hold, null where it is. triggered_at, completed_at: epoch ms; bytes, shared: bytes;
    phases: ms, by the engine's words for parts of it; empty where no report tells. planned: null
    unless it is a batch in flight."""

    job: str | None
    id: int
    kind: str
    status: str
    path: str | None
    triggered_at: int | None
    completed_at: int | None
    bytes: int | None
    shared: int | None
    notes: list[str]
    problem: str | None
    snapshot: NotRequired[str | None]
    why_empty: str | None
    why_unknown: str | None
    phases: NotRequired[dict[str, int]]
    planned: NotRequired[PlannedBatchItem | None]


class EngineCheckpointSummary(EngineCheckpointBase):
    """operators, channels, missing: how many; in_flight: bytes."""

    operators: int
    channels: int
    in_flight: int
    missing: int


class FileItem(TypedDict):
    path: str
    bytes: int
    role: str
    checkpoints: list[int]
    reason: str | None


class FlawItem(TypedDict):
    """A file that is damaged or missing. spoils: which checkpoints, for people."""

    path: str
    what: str
    spoils: str | None


class ContentsSummary(TypedDict):
    """files: how many; all are under ``/contents/files``. flaws: the first of ``flaws_total``."""

    engine: str
    jobs: list[EngineJobItem]
    checkpoints: list[EngineCheckpointSummary]
    files: int
    notes: list[str]
    flaws: NotRequired[list[FlawItem]]
    flaws_total: NotRequired[int]


class FileList(TypedDict):
    items: list[FileItem]
    total: int


class SubtaskItem(TypedDict):
    index: int
    bytes: int | None
    key_groups: list[int] | None
    parts: dict[str, int]
    finished: bool


class StateItem(TypedDict):
    name: str | None
    kind: str
    type: str | None
    entries: int | None
    bytes: int | None
    stored: int
    undecoded: int
    reason: str | None
    complete: bool
    sum: int | float | None
    sums: NotRequired[dict[str, Any]]


class OperatorItem(TypedDict):
    id: str
    name: str | None
    parallelism: int | None
    max_parallelism: int | None
    uid: str | None
    vertex: str | None
    bytes: int | None
    finished: bool
    subtasks: list[SubtaskItem]
    states: list[StateItem]
    facts: list[FactItem]
    notes: list[str]


class InFlightItem(TypedDict):
    """exchange: as HASH or REBALANCE; null where it is not known."""

    id: str
    source: str | None
    target: str | None
    part: str
    number: int
    buffers: int | None
    bytes: int
    elements: int | None
    reason: str | None
    exchange: str | None


class MissingItem(TypedDict):
    path: str
    bytes: int | None
    reason: str


class EngineCheckpointDetail(EngineCheckpointBase):
    operators: list[OperatorItem]
    channels: list[InFlightItem]
    missing: list[MissingItem]
    facts: list[FactItem]
    settings: NotRequired[dict[str, str]]


class EntryItem(TypedDict):
    """key, value: null where not known; then ``reason`` says why, ``head`` has bytes in hex."""

    subtask: int
    key_group: int | None
    namespace: Any
    key: Any
    value: Any
    bytes: int
    reason: str | None
    head: str | None


class EntryList(TypedDict):
    items: list[EntryItem]
    total: int


class DifferenceItem(TypedDict):
    kind: str
    before: EntryItem | None
    after: EntryItem | None


class StateComparison(TypedDict):
    """counts: of keys, by ``added``, ``removed``, ``changed``, ``unknown`` and ``same``. notes:
    what they leave out: a key that one checkpoint lacks is unknown where not all of it is known."""

    counts: dict[str, int]
    notes: list[str]
    examples: list[DifferenceItem]


class PairItem(TypedDict):
    """null: not known, or there is no such thing."""

    before: int | None
    after: int | None


class StateChangeItem(TypedDict):
    """change: ``added``, ``removed``, ``changed`` (its kind or type) or ``same``. counts: of keys,
    as in StateComparison; null: not counted, then ``notes`` say why."""

    name: str | None
    change: str
    kind: str
    kind_before: str | None
    type_before: str | None
    type_after: str | None
    entries: PairItem
    bytes: PairItem
    counts: dict[str, int] | None
    notes: list[str]


class KeyGroupChangeItem(TypedDict):
    key_group: int
    subtask: PairItem
    bytes: PairItem


class OperatorChangeItem(TypedDict):
    """moved: key groups that belong to another subtask. key_groups: those that differ. subtasks:
    number and bytes; -1 is the coordinator."""

    operator: str
    name: str | None
    change: str
    parallelism: PairItem
    max_parallelism: PairItem
    bytes: PairItem
    finished_before: bool
    finished_after: bool
    moved: int | None
    subtasks: list[tuple[int, PairItem]]
    key_groups: list[KeyGroupChangeItem]
    states: list[StateChangeItem]


class FileChangeItem(TypedDict):
    """needed: by ``before``, ``after`` or ``both``."""

    path: str
    bytes: int
    role: str
    needed: str


class FileTotalsItem(TypedDict):
    files: int
    bytes: int


class CheckpointChangeDetail(TypedDict):
    """before, after: the checkpoints' ids. totals: of ``files``, by who needs them."""

    before: int
    after: int
    bytes: PairItem
    in_flight: PairItem
    channels: PairItem
    operators: list[OperatorChangeItem]
    files: list[FileChangeItem]
    totals: dict[str, FileTotalsItem]
    missing_before: list[MissingItem]
    missing_after: list[MissingItem]
    notes: list[str]


class ElementItem(TypedDict):
    """offset: in the channel's data. head: the first bytes in hex."""

    kind: str
    offset: int
    bytes: int
    timestamp: int | None
    value: Any
    details: dict[str, Any] | None
    head: str


class ChannelElements(InFlightItem):
    """items: empty where the records cannot be told apart. suggested: types that fit them all;
    described: those of them that states of the checkpoint have."""

    items: list[ElementItem]
    total: int | None
    type: str | None
    suggested: list[str]
    described: list[str]
    head: str
    texts: list[str]
