"""What an upload of an engine's files holds: checkpoints, operators, states, data in flight, files.

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
    """What only this engine knows, for people to read. inferred: by what, if no file says it.

    unit: of a number, EPOCH_MS, …; None: a text, or a number that only names, as a version does.
    """

    name: str
    value: str | int | float | None
    inferred: str | None = None
    unit: str | None = None


@dataclass(frozen=True, slots=True)
class StateInventory:
    """One named state of an operator. kind: in the engine's word, as ``map`` or ``timers``.

    type: of key and value, for people. complete: False where files lack or are damaged, so that
    entries may, too. The rest is filled in by who keeps the entries: entries: all there are, and
    their bytes; stored: those whose contents can be shown; undecoded: those of which key or value
    could not be read, reason: why the first could not; sum: of the values, if all are numbers;
    sums: of their fields, if all are objects, in objects as they are.
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


@dataclass(frozen=True, slots=True)
class SubtaskInventory:
    """index: COORDINATOR for what belongs to no subtask. key_groups: first and last, inclusive.

    parts: bytes by part, as ``keyed`` or ``in flight``. finished: it had ended before.
    """

    index: int
    bytes: int | None = None
    key_groups: tuple[int, int] | None = None
    parts: Mapping[str, int] = field(default_factory=dict)
    finished: bool = False


@dataclass(frozen=True, slots=True)
class OperatorInventory:
    """id: as the engine has it. vertex: of the dataflow it runs in, where that is another name."""

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
    """Data in flight. source, target: subtasks, as ``map[1]``. part: one of WHOLE, INPUT_HALF, …

    number: place in the stored channels. bytes: of the data, without lengths. elements: how many
    records, watermarks and so on; reason: why that is not known, or the channel not whole.
    exchange: by what rule the sender chooses the receiver, in the engine's word.
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
    """What a checkpoint needs and the upload does not hold."""

    path: str
    bytes: int | None
    reason: str


@dataclass(frozen=True, slots=True)
class Flaw:
    """A file that is damaged or missing. what: a sentence. spoils: which checkpoints, for people;
    None where it spoils none, or that is not known."""

    path: str
    what: str
    spoils: str | None = None


@dataclass(frozen=True, slots=True)
class FileUse:
    """A file of the upload. role: in a word; checkpoints: who needs it, by their numbers in
    ``UploadInventory``. reason: why nothing of it is shown, where that is so."""

    path: str
    bytes: int
    role: str
    checkpoints: tuple[int, ...] = ()
    reason: str | None = None


@dataclass(frozen=True, slots=True)
class CheckpointInventory:
    """job: key of its job. id: the engine's number, or the batch. kind: in the engine's word.
    snapshot: what the derived recording calls it, None where that is its id.

    problem: why nothing more is known, as a sentence; notes: what else has to be said. shared:
    bytes that other checkpoints of the upload need, too. phases: how long each part of it took, ms,
    in the engine's words, where a report tells that. why_empty: why channels that are not
    listed hold nothing; why_unknown: why it is not known what they hold, None where it is.
    planned: of a batch in flight what it was to read, and how far it came. settings: of the engine.
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
    """key: as the engine has it, "" where it is not known."""

    key: str
    name: str | None = None
    facts: tuple[Fact, ...] = ()


@dataclass(frozen=True, slots=True)
class UploadInventory:
    """engine: ``flink``, ``spark`` or ``seatunnel``. checkpoints: by job, then in their order.

    Every file of the upload is in ``files`` once. flaws: the first of them, the worst for people
    to know; flaws_total: how many there are.
    """

    engine: str
    jobs: tuple[JobInventory, ...]
    checkpoints: tuple[CheckpointInventory, ...]
    files: tuple[FileUse, ...]
    notes: tuple[str, ...] = ()
    flaws: tuple[Flaw, ...] = ()
    flaws_total: int = 0
