"""Payloads of a plan of a restore; names as in ``domain/inventory/restore_plan.py``."""

from typing_extensions import TypedDict  # pydantic needs it before Python 3.12

from snapshots.payloads.inventory import EntryList


class StretchItem(TypedDict):
    """Elements of a list: ``elements`` of those that ``subtask`` had, from its ``first`` on."""

    state: str
    subtask: int
    first: int
    elements: int
    bytes: int


class NewSubtaskItem(TypedDict):
    """sources: spans of the old subtasks whose key groups and list elements it gets. estimated:
    key groups are taken to be equal within an old subtask."""

    index: int
    sources: list[list[int]]
    key_groups: list[int] | None
    lists: list[StretchItem]
    bytes: int | None
    keyed_bytes: int | None
    operator_bytes: int | None
    estimated: bool


class OldSubtaskItem(TypedDict):
    index: int
    key_groups: list[int] | None
    bytes: int | None


class StateMoveItem(TypedDict):
    state: str | None
    kind: str
    rule: str
    elements: int | None
    bytes: int | None


class OperatorPlanItem(TypedDict):
    """moved: subtasks that read state of others. skew: the largest subtask by the mean one."""

    operator: str
    name: str | None
    vertex: str | None
    parallelism_before: int | None
    parallelism_after: int
    max_parallelism: int | None
    before: list[OldSubtaskItem]
    after: list[NewSubtaskItem]
    states: list[StateMoveItem]
    coordinator: int | None
    moved: int
    skew_before: float | None
    skew_after: float | None
    notes: list[str]
    problem: str | None


class ReceiverItem(TypedDict):
    """Reads the channels of the old subtasks ``first``, ``first`` + ``step`` … ``last``."""

    index: int
    first: int
    last: int
    step: int
    bytes: int


class EdgePlanItem(TypedDict):
    """filtered: whether receivers drop what belongs to others, so that bytes count twice."""

    source: str | None
    target: str | None
    exchange: str | None
    channels: int
    bytes: int
    parallelism_before: int | None
    parallelism_after: int | None
    rule: str
    filtered: bool
    receivers: list[ReceiverItem]
    problem: str | None


class PositionList(EntryList):
    state: str


class SourceAgainItem(TypedDict):
    """positions: of each state the first entries, which are, or hold, the offsets."""

    operator: str
    name: str | None
    states: list[str]
    positions: list[PositionList]
    inferred: str
    coordinated: bool
    rule: str


class SinkAgainItem(TypedDict):
    """transactional: null where its state does not tell."""

    operator: str
    name: str | None
    transactional: bool | None
    inferred: str
    rule: str


class RestorePlanDetail(TypedDict):
    """kept: ids of the operators that keep their parallelism."""

    engine: str
    checkpoint: int
    parallelism: int
    kept: list[str]
    operators: list[OperatorPlanItem]
    in_flight: list[str]
    edges: list[EdgePlanItem]
    sources: list[str]
    read_again: list[SourceAgainItem]
    sinks: list[str]
    written_again: list[SinkAgainItem]
    problems: list[str]
    notes: list[str]
