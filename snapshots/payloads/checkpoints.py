"""Payloads of what the checkpoints job found; the field names are those of the domain's reports."""

from typing import Any

from typing_extensions import TypedDict  # pydantic needs it before Python 3.12

from snapshots.store.reader import StoredRecording

# "from" is a keyword, so some declarations take the functional form.
Segment = TypedDict(
    "Segment",
    {
        "process": str,
        "channel": str | None,
        "phase": str,
        "from": int,
        "to": int | None,
        "behind": int | None,
        "end": bool,
        "earlier": str | None,
        "is_inferred": bool,
    },
)
Blocked = TypedDict(
    "Blocked", {"channel": str, "from": int, "to": int | None, "held_back": int | None}
)


class CheckpointTask(TypedDict):
    """What one task did; null is what the log does not say."""

    process: str
    vertex: str
    mode: str | None
    first_barrier_at: int | None
    last_barrier_at: int | None
    start_delay: int | None
    alignment: int | None
    sync_from: int | None
    sync_to: int | None
    async_to: int | None
    acked_at: int | None
    notified_at: int | None
    committed_at: int | None
    bytes_new: int | None
    bytes_total: int | None
    blocked: list[Blocked]
    overtaken: int
    in_flight: int
    held_up: int
    busy_until: int | None
    busy_with: str | None


class CheckpointSummary(TypedDict):
    """critical_path: the chain that set the duration, in the order of time."""

    checkpoint: str
    pipeline: str | None
    kind: str | None
    mode: str | None
    status: str
    reason: str | None
    triggered_at: int | None
    completed_at: int | None
    ended_at: int | None
    duration: int | None
    bytes_new: int | None
    bytes_total: int | None
    critical_path: list[Segment]
    sentence: str


class CheckpointDetail(CheckpointSummary):
    """tasks: who held it up most first."""

    tasks: list[CheckpointTask]


class CheckpointList(TypedDict):
    items: list[CheckpointSummary]
    total: int


class CheckpointFile(TypedDict):
    """needed_by: the checkpoints that still hold it when the log ends."""

    file: str
    process: str
    bytes: int
    since: str | None
    named_by: list[str]
    needed_by: list[str]
    free_at: int | None


class CheckpointFiles(TypedDict):
    items: list[CheckpointFile]
    total: int


class CheckpointRequest(TypedDict):
    """What became of a request for a checkpoint: it began, was dropped, or waits."""

    at: int
    reason: str | None
    checkpoint: str | None
    dropped: str | None
    waits: bool


class CheckpointRequests(TypedDict):
    items: list[CheckpointRequest]
    total: int


class SinkEffect(TypedDict):
    """examples: by what happened, the first rids ``[split, offset, derived]``."""

    sink: str
    kind: str | None
    repeated: int
    duplicates: int
    rewritten: int
    rewound: int
    differing: int
    committed_again: int
    aborted: int
    lost: int
    examples: dict[str, list[list[Any]]]


class SinkTotal(SinkEffect):
    written: int
    visible: int
    pending: int
    committed: int
    timed_out: int


ReRead = TypedDict(
    "ReRead",
    {
        "split": str,
        "from": int,
        "to": int,
        "records": int,
        "caught_up_at": int | None,
        "examples": list[list[Any]],
    },
)


class Failover(TypedDict):
    process: str | None
    at: int
    cause: str | None
    attempt: int | None
    strategy: str
    scope: list[str]
    tasks_restarted: int
    restored: str | None
    guarantee: str | None
    restarted_at: int | None
    lost_progress: int | None
    discarded: int
    counted_twice: int
    re_read: list[ReRead]
    records_re_read: int
    caught_up_at: int | None
    time_to_catch_up: int | None
    sinks: list[SinkEffect]
    sentence: str


class Dropped(TypedDict):
    vertex: str
    records: int
    examples: list[list[Any]]


class FailoverList(TypedDict):
    """sinks: what all failures did together. dropped: thrown out of channels, and never again."""

    items: list[Failover]
    sinks: list[SinkTotal]
    dropped: list[Dropped]
    total: int


def checkpoint_list(stored: StoredRecording) -> CheckpointList:
    items = [_without_tasks(item) for item in stored.checkpoints()]
    return {"items": items, "total": len(items)}


def checkpoint_detail(stored: StoredRecording, checkpoint: str) -> CheckpointDetail | None:
    """None where there is no such checkpoint."""
    return next((item for item in stored.checkpoints() if item["checkpoint"] == checkpoint), None)


def _without_tasks(item: dict[str, Any]) -> CheckpointSummary:
    return {name: value for name, value in item.items() if name != "tasks"}
