"""Payloads of what an engine's checkpoints hold; names as in ``domain/contents/model.py``."""

from typing import Any, NotRequired

from typing_extensions import TypedDict  # pydantic needs it before Python 3.12


class FactItem(TypedDict):
    name: str
    value: str | int | float | None
    inferred: str | None


class EngineJobItem(TypedDict):
    key: str
    name: str | None
    facts: list[FactItem]


class EngineCheckpointBase(TypedDict):
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


class ContentsSummary(TypedDict):
    """files: how many; all are under ``/contents/files``."""

    engine: str
    jobs: list[EngineJobItem]
    checkpoints: list[EngineCheckpointSummary]
    files: int
    notes: list[str]


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
    id: str
    source: str | None
    target: str | None
    part: str
    number: int
    buffers: int | None
    bytes: int
    elements: int | None
    reason: str | None


class MissingItem(TypedDict):
    path: str
    bytes: int | None
    reason: str


class EngineCheckpointDetail(EngineCheckpointBase):
    operators: list[OperatorItem]
    channels: list[InFlightItem]
    missing: list[MissingItem]
    facts: list[FactItem]


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
    """counts: of keys, by ``added``, ``removed``, ``changed``, ``unknown`` and ``same``."""

    counts: dict[str, int]
    examples: list[DifferenceItem]


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
    """items: empty where the records cannot be told apart. suggested: types that fit them all."""

    items: list[ElementItem]
    total: int | None
    type: str | None
    suggested: list[str]
    head: str
    texts: list[str]


class NewSubtaskItem(TypedDict):
    """sources: the old subtasks whose state it reads. estimated: from sizes of whole subtasks."""

    index: int
    sources: list[int]
    key_groups: list[int] | None
    bytes: int | None
    estimated: bool


class OldSubtaskItem(TypedDict):
    index: int
    key_groups: list[int] | None
    bytes: int | None


class StateMoveItem(TypedDict):
    state: str | None
    kind: str
    rule: str


class OperatorPlanItem(TypedDict):
    """moved: subtasks that read state of others. skew: the largest subtask by the mean one."""

    operator: str
    name: str | None
    parallelism_before: int | None
    parallelism_after: int
    max_parallelism: int | None
    before: list[OldSubtaskItem]
    after: list[NewSubtaskItem]
    states: list[StateMoveItem]
    moved: int | None
    skew_before: float | None
    skew_after: float | None
    problem: str | None


class RestorePlanDetail(TypedDict):
    engine: str
    checkpoint: int
    parallelism: int
    operators: list[OperatorPlanItem]
    in_flight: list[str]
    sources: list[str]
    sinks: list[str]
    problems: list[str]
