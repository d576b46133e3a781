"""The inventory of an engine's upload: checkpoints, operators, states, data in flight, files.

None is what the files do not say. Sizes are bytes, instants epoch milliseconds. Each engine's
reader fills this; pages, API and comparisons read nothing else.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field

from snapshots.domain.inventory.batches import PlannedBatch

COMPLETED, FAILED, IN_PROGRESS, UNKNOWN = "completed", "failed", "in progress", "unknown"
STATUSES = (COMPLETED, FAILED, IN_PROGRESS, UNKNOWN)
WHOLE, INPUT_HALF, OUTPUT_HALF = "whole", "input half", "output half"
LISTED, UNION, BROADCAST = "split list", "union list", "broadcast map"  # of operator state
TIMERS, RAW = "timers", "raw"
KEYED, OPERATOR = "keyed state", "operator state"  # parts of a subtask's bytes
RAW_KEYED, RAW_OPERATOR = "raw keyed state", "raw operator state"
EPOCH_MS, MILLISECONDS, BYTES, COUNT = "epoch ms", "ms", "bytes", "count"  # units of facts
COORDINATOR = -1  # as a subtask: an enumerator, a committer, the coordinator of an operator


@dataclass(frozen=True, slots=True)
class Fact:
    """Something that only this engine knows, for people to read.

    Attributes:
        inferred: from what it is inferred, where no file says it.
        unit: the unit of a number: ``epoch ms``, ``ms``, ``bytes`` or ``count``; None for a text,
            and for a number that only names, as a version does.
    """

    name: str
    value: str | int | float | None
    inferred: str | None = None
    unit: str | None = None


@dataclass(frozen=True, slots=True)
class StateInventory:
    """One named state of an operator. The store fills in what its entries tell.

    Attributes:
        kind: the engine's word for it, as ``map`` or ``timers``.
        type: the type of key and value, for people.
        type_in_full: the same with the fields of its classes, where that says more than ``type``.
        entries: how many entries there are.
        bytes: the size of all entries.
        stored: how many entries can be shown.
        undecoded: how many entries have a key or a value that cannot be read.
        reason: why the first of them cannot be read.
        complete: False where files are missing or damaged, so that entries may be missing, too.
        sum: the sum of the values, where all are numbers.
        sums: the sums of their fields, where all are objects, in objects as they are.
    """

    name: str | None
    kind: str
    type: str | None = None
    entries: int | None = None
    bytes: int | None = None
    stored: int = 0
    undecoded: int = 0
    reason: str | None = None
    complete: bool = True
    sum: int | float | None = None
    sums: Mapping[str, object] = field(default_factory=dict)
    type_in_full: str | None = None


@dataclass(frozen=True, slots=True)
class SubtaskInventory:
    """One subtask of an operator.

    Attributes:
        index: its number; -1 for what belongs to the coordinator.
        key_groups: its first and its last key group.
        parts: its bytes by part, as ``keyed`` or ``in flight``.
        finished: whether it had ended before the checkpoint.
    """

    index: int
    bytes: int | None = None
    key_groups: tuple[int, int] | None = None
    parts: Mapping[str, int] = field(default_factory=dict)
    finished: bool = False


@dataclass(frozen=True, slots=True)
class OperatorInventory:
    """One operator, with its subtasks and states.

    Attributes:
        id: the engine's id of it.
        vertex: the vertex of the dataflow in which it runs, where that has another name.
    """

    id: str
    name: str | None
    parallelism: int | None
    max_parallelism: int | None = None
    uid: str | None = None
    vertex: str | None = None
    bytes: int | None = None
    finished: bool = False
    subtasks: tuple[SubtaskInventory, ...] = ()
    states: tuple[StateInventory, ...] = ()
    facts: tuple[Fact, ...] = ()
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class ChannelContents:
    """The data in flight on one channel.

    Attributes:
        source: the sending subtask, as ``map[1]``.
        target: the receiving subtask.
        part: ``whole``, ``input half`` or ``output half``.
        number: its place among the stored channels.
        bytes: the size of the data, without the lengths before them.
        elements: how many records, watermarks and so on there are.
        reason: why that is not known, or the channel not whole.
        exchange: the engine's word for the rule by which the sender chooses the receiver, as
            ``HASH`` or ``REBALANCE``; None where it is not known.
    """

    id: str
    source: str | None
    target: str | None
    part: str
    number: int
    buffers: int | None
    bytes: int
    elements: int | None = None
    reason: str | None = None
    exchange: str | None = None


@dataclass(frozen=True, slots=True)
class MissingFile:
    """A file that a checkpoint needs and the upload does not hold."""

    path: str
    bytes: int | None
    reason: str


@dataclass(frozen=True, slots=True)
class Flaw:
    """A file that is damaged or missing.

    Attributes:
        what: what is wrong with it, as a sentence.
        spoils: the checkpoints that it spoils, for people; None where it spoils none, or where that
            is not known.
    """

    path: str
    what: str
    spoils: str | None = None


@dataclass(frozen=True, slots=True)
class FileUse:
    """A file of the upload.

    Attributes:
        role: what it is for, in a word.
        checkpoints: the numbers, in the upload, of the checkpoints that need it.
        reason: why nothing of it is shown, where that is so.
    """

    path: str
    bytes: int
    role: str
    checkpoints: tuple[int, ...] = ()
    reason: str | None = None


@dataclass(frozen=True, slots=True)
class CheckpointInventory:
    """One checkpoint of an upload.

    Attributes:
        job: the key of its job.
        id: the engine's number of it, or that of the batch.
        kind: the engine's word for it.
        triggered_at: when it was triggered, in epoch milliseconds.
        completed_at: when it completed, in epoch milliseconds.
        shared: how many of its bytes other checkpoints of the upload need, too.
        notes: what else has to be said, as sentences.
        problem: why nothing more is known, as a sentence.
        snapshot: its name in the derived recording, where that is not its id.
        why_empty: why channels that are not listed hold nothing.
        why_unknown: why it is not known what they hold; None where it is.
        phases: how many milliseconds each part of it took, in the engine's words; empty where no
            report tells that.
        planned: what a batch in flight was to read, and how far it came; None for all others.
        settings: the settings of the engine.
    """

    job: str | None
    id: int
    kind: str
    status: str
    path: str | None = None
    triggered_at: int | None = None
    completed_at: int | None = None
    bytes: int | None = None
    shared: int | None = None
    operators: tuple[OperatorInventory, ...] = ()
    channels: tuple[ChannelContents, ...] = ()
    missing: tuple[MissingFile, ...] = ()
    facts: tuple[Fact, ...] = ()
    notes: tuple[str, ...] = ()
    problem: str | None = None
    snapshot: str | None = None
    why_empty: str | None = None
    why_unknown: str | None = None
    phases: Mapping[str, int] = field(default_factory=dict)
    planned: PlannedBatch | None = None
    settings: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class JobInventory:
    """A job of an engine.

    Attributes:
        key: the engine's id of it; empty where it is not known.
    """

    key: str
    name: str | None = None
    facts: tuple[Fact, ...] = ()


@dataclass(frozen=True, slots=True)
class UploadInventory:
    """Everything that an upload of an engine's files holds.

    Attributes:
        engine: ``flink``, ``spark`` or ``seatunnel``.
        checkpoints: the checkpoints by job, and in their order.
        files: every file of the upload, once.
        flaws: the first flaws, which are the worst for people to know.
        flaws_total: how many flaws there are.
    """

    engine: str
    jobs: tuple[JobInventory, ...]
    checkpoints: tuple[CheckpointInventory, ...]
    files: tuple[FileUse, ...]
    notes: tuple[str, ...] = ()
    flaws: tuple[Flaw, ...] = ()
    flaws_total: int = 0
