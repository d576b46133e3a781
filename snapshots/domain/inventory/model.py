"""The inventory of an engine's upload: checkpoints, operators, states, data in flight, files.

None means that the files do not say. Sizes are in bytes, instants in epoch milliseconds. Each
engine's reader fills this; pages, API and comparisons read nothing else.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import final

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
    """Something that only this engine has, for people to read."""

    name: str
    """What the fact is about."""
    value: str | int | float | None
    """The value. None if it is not known."""
    inferred: str | None = None
    """What the value is inferred from if no file says it. None if a file does."""
    unit: str | None = None
    """The unit of a number: ``epoch ms``, ``ms``, ``bytes`` or ``count``.

    None for a text, and for a number that only names, such as a version.
    """


@final
@dataclass(frozen=True, slots=True)
class StateInventory:
    """One named state of an operator. The store fills in what its entries tell."""

    name: str | None
    """The name of the state. None if it has none."""
    kind: str
    """The engine's word for the kind of state, such as ``map`` or ``timers``."""
    type: str | None = None
    """The type of key and value, for people. None if it is not known."""
    entries: int | None = None
    """How many entries there are. None if it is not known."""
    bytes: int | None = None
    """The size of all entries. None if it is not known."""
    stored: int = 0
    """How many entries can be shown."""
    undecoded: int = 0
    """How many entries have a key or a value that cannot be decoded."""
    reason: str | None = None
    """Why the first of these cannot be decoded. None if all can."""
    complete: bool = True
    """False if files are missing or damaged, so that entries may be missing, too."""
    sum: int | float | None = None
    """The sum of the values. None if some value is no number."""
    sums: Mapping[str, object] = field(default_factory=dict)
    """The sums of the fields of the values, in objects as they are; empty if some value is no
    object.
    """
    type_in_full: str | None = None
    """The type with the fields of its classes. None if that says no more than ``type``."""


@final
@dataclass(frozen=True, slots=True)
class SubtaskInventory:
    """One subtask of an operator."""

    index: int
    """The number of the subtask; -1 for what belongs to the coordinator."""
    bytes: int | None = None
    """The size of the subtask's state. None if it is not known."""
    key_groups: tuple[int, int] | None = None
    """The first and the last key group of the subtask. None if it has none."""
    parts: Mapping[str, int] = field(default_factory=dict)
    """The bytes by part, such as ``keyed state`` or ``operator state``."""
    finished: bool = False
    """Whether the subtask had ended before the checkpoint."""


@final
@dataclass(frozen=True, slots=True)
class OperatorInventory:
    """One operator, with its subtasks and states."""

    id: str
    """The engine's id of the operator."""
    name: str | None
    """The name of the operator. None if the files do not say."""
    parallelism: int | None
    """How many subtasks the operator has. None if the files do not say."""
    max_parallelism: int | None = None
    """How many key groups the operator has. None if the files do not say."""
    uid: str | None = None
    """The uid that the program gives the operator.

    None if it gives none or the files do not say.
    """
    vertex: str | None = None
    """The vertex of the dataflow in which the operator runs. None if it has the operator's name."""
    bytes: int | None = None
    """The size of the operator's state. None if it is not known."""
    finished: bool = False
    """Whether the whole operator had ended before the checkpoint."""
    subtasks: tuple[SubtaskInventory, ...] = ()
    """The subtasks of the operator."""
    states: tuple[StateInventory, ...] = ()
    """The named states of the operator."""
    facts: tuple[Fact, ...] = ()
    """What only this engine has to say of the operator."""
    notes: tuple[str, ...] = ()
    """Further remarks, as sentences."""


@dataclass(frozen=True, slots=True)
class ChannelContents:
    """The data in flight on one channel."""

    id: str
    """The id of the channel."""
    source: str | None
    """The sending subtask, such as ``map[1]``. None if the files do not say."""
    target: str | None
    """The receiving subtask. None if the files do not say."""
    part: str
    """``whole``, ``input half`` or ``output half``."""
    number: int
    """The place of the channel among the stored channels."""
    buffers: int | None
    """How many buffers the data fills. None if the files do not say."""
    bytes: int
    """The size of the data, without the lengths before each piece."""
    elements: int | None = None
    """How many records, watermarks and so on there are. None if it is not known."""
    reason: str | None = None
    """Why the elements are not known, or why the channel is not whole. None if all is known."""
    exchange: str | None = None
    """The engine's word for the rule by which the sender chooses the receiver, such as ``HASH`` or
    ``REBALANCE``. None if it is not known.
    """


@dataclass(frozen=True, slots=True)
class MissingFile:
    """A file that a checkpoint needs and the upload does not hold."""

    path: str
    """The path of the file, as the checkpoint names it."""
    bytes: int | None
    """The size of the file. None if the checkpoint does not say."""
    reason: str
    """Why the file is missing, or what it would hold, in words for people."""


@dataclass(frozen=True, slots=True)
class Flaw:
    """A file that is damaged or missing."""

    path: str
    """The path of the file in the upload."""
    what: str
    """What is wrong with the file, as a sentence."""
    spoils: str | None = None
    """The checkpoints that the flaw spoils, for people.

    None if it spoils none, or if that is not known.
    """


@dataclass(frozen=True, slots=True)
class FileUse:
    """A file of the upload."""

    path: str
    """The path of the file in the upload."""
    bytes: int
    """The size of the file."""
    role: str
    """What the file is for, in a word."""
    checkpoints: tuple[int, ...] = ()
    """The numbers, in the upload, of the checkpoints that need the file."""
    reason: str | None = None
    """Why nothing of the file is shown. None if it is shown."""


@dataclass(frozen=True, slots=True)
class CheckpointInventory:
    """One checkpoint of an upload."""

    job: str | None
    """The key of the checkpoint's job. None if it is not known."""
    id: int
    """The engine's number of the checkpoint, or that of the batch."""
    kind: str
    """The engine's word for the kind of checkpoint."""
    status: str
    """``completed``, ``failed``, ``in progress`` or ``unknown``."""
    path: str | None = None
    """The file or folder of the checkpoint in the upload. None if it has none."""
    triggered_at: int | None = None
    """When the checkpoint was triggered, in epoch milliseconds. None if it is not known."""
    completed_at: int | None = None
    """When the checkpoint completed, in epoch milliseconds. None if it is not known."""
    bytes: int | None = None
    """The size of the checkpoint. None if it is not known."""
    shared: int | None = None
    """How many of these bytes other checkpoints of the upload need, too.

    None if it is not known.
    """
    operators: tuple[OperatorInventory, ...] = ()
    """The operators and their states."""
    channels: tuple[ChannelContents, ...] = ()
    """The channels with data in flight."""
    missing: tuple[MissingFile, ...] = ()
    """The files that the checkpoint needs and the upload lacks."""
    facts: tuple[Fact, ...] = ()
    """What only this engine has to say of the checkpoint."""
    notes: tuple[str, ...] = ()
    """Further remarks, as sentences."""
    problem: str | None = None
    """Why nothing more is known, as a sentence. None if all is known."""
    snapshot: str | None = None
    """The name of the checkpoint in the derived recording. None if that is its id."""
    why_empty: str | None = None
    """Why channels that are not listed hold nothing. None if they may hold something."""
    why_unknown: str | None = None
    """Why it is not known what the channels hold. None if it is known."""
    phases: Mapping[str, int] = field(default_factory=dict)
    """How many milliseconds each part of the checkpoint took, in the engine's words; empty if no
    report says.
    """
    planned: PlannedBatch | None = None
    """What a batch in flight was to read, and how far it came. None for all other checkpoints."""
    settings: Mapping[str, str] = field(default_factory=dict)
    """The settings of the engine."""


@dataclass(frozen=True, slots=True)
class JobInventory:
    """A job of an engine."""

    key: str
    """The engine's id of the job; empty if it is not known."""
    name: str | None = None
    """The name of the job. None if it is not known."""
    facts: tuple[Fact, ...] = ()
    """What only this engine has to say of the job."""


@dataclass(frozen=True, slots=True)
class UploadInventory:
    """Everything that an upload of an engine's files holds."""

    engine: str
    """``flink``, ``spark`` or ``seatunnel``."""
    jobs: tuple[JobInventory, ...]
    """The jobs whose checkpoints the upload holds."""
    checkpoints: tuple[CheckpointInventory, ...]
    """The checkpoints by job, and in their order."""
    files: tuple[FileUse, ...]
    """Every file of the upload, once."""
    notes: tuple[str, ...] = ()
    """Further remarks, as sentences."""
    flaws: tuple[Flaw, ...] = ()
    """The first flaws, the most serious ones."""
    flaws_total: int = 0
    """How many flaws there are."""
