"""The inventory of an engine's upload: checkpoints, operators, states, data in flight, files.

None means that the files do not say. Sizes are in bytes, instants in epoch milliseconds. Each
engine's reader fills this; pages, API and comparisons read nothing else.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import final

from snapshots.domain.inventory.batches import PlannedBatch, PlannedSource
from snapshots.domain.inventory.columns import Columns
from snapshots.domain.inventory.held import Held, WindowClock

COMPLETED, FAILED, IN_PROGRESS, UNKNOWN = "completed", "failed", "in progress", "unknown"
STATUSES = (COMPLETED, FAILED, IN_PROGRESS, UNKNOWN)
WHOLE, INPUT_HALF, OUTPUT_HALF = "whole", "input half", "output half"
LISTED, UNION, BROADCAST = "split list", "union list", "broadcast map"  # of operator state
UNNAMED = "not known"  # bytes of states whose names are not known
UNKNOWN_KIND = "unknown"  # of a state whose description is not read
TIMERS, RAW = "timers", "raw"
KEYED, OPERATOR = "keyed state", "operator state"  # parts of a subtask's bytes
UNDIVIDED = "state"  # the bytes of a subtask that has no parts
RAW_KEYED, RAW_OPERATOR = "raw keyed state", "raw operator state"
EPOCH_MS, MILLISECONDS, BYTES, COUNT = "epoch ms", "ms", "bytes", "count"  # units of facts
WENT_WRONG, TO_WATCH = "went wrong", "to watch"  # facts whose value is a sentence
PROCESSING = "processing"  # a fact: how Spark processes; None where it may be in real-time mode
AHEAD = "state ahead of the logs"  # such a fact, too
COORDINATOR = -1  # as a subtask: an enumerator, a committer, the coordinator of an operator


@dataclass(frozen=True, slots=True)
class Fact:
    """Something that only this engine has, for people to read.

    Attributes:
        name: what the fact is about.
        value: the value. None if it is not known.
        inferred: what the value is inferred from if no file says it. None if a file does.
        unit: the unit of a number: ``epoch ms``, ``ms``, ``bytes`` or ``count``. None for a text,
            and for a number that only names, such as a version.
    """

    name: str
    value: str | int | float | None
    inferred: str | None = None
    unit: str | None = None


UNKNOWN_ID = Fact("id", None)
"""Says of a job that nothing tells the engine's id of it: its key is no more than a name."""


@final
@dataclass(frozen=True, slots=True)
class StateInventory:
    """One named state of an operator. The store fills in what its entries tell.

    Attributes:
        name: the name of the state. None if it has none.
        kind: the engine's word for the kind of state, such as ``map`` or ``timers``.
        type: the type of key and value, for people. None if it is not known.
        entries: how many entries there are. None if it is not known.
        bytes: the size of all entries. None if it is not known.
        stored: how many entries can be shown.
        undecoded: how many entries have a key or a value that cannot be decoded.
        reason: why the first of these cannot be decoded. None if all can.
        complete: false if files are missing or damaged, so that entries may be missing, too.
        sum: the sum of the values. None if some value is no number.
        sums: the sums of the fields of the values, in objects as they are; empty if some value is
            no object.
        type_in_full: the type with the fields of its classes. None if that says no more than
            ``type``.
        held: what it holds in the words of SQL. None if it is not the state of a query, or if that
            is not known.
        columns: the names of its columns. None if nothing names them.
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
    held: Held | None = None
    columns: Columns | None = None


@final
@dataclass(frozen=True, slots=True)
class SubtaskInventory:
    """One subtask of an operator.

    Attributes:
        index: the number of the subtask; -1 for what belongs to the coordinator.
        bytes: the size of the subtask's state. None if it is not known.
        key_groups: the first and the last key group of the subtask. None if it has none.
        parts: the bytes by part, such as ``keyed state`` or ``operator state``.
        finished: whether the subtask had ended before the checkpoint.
        new: how many bytes of each part the checkpoint itself added, or of ``state`` if there are
            no parts; the others were there for an earlier checkpoint. A part is not in it if this
            is not known.
    """

    index: int
    bytes: int | None = None
    key_groups: tuple[int, int] | None = None
    parts: Mapping[str, int] = field(default_factory=dict)
    finished: bool = False
    new: Mapping[str, int] = field(default_factory=dict)


@final
@dataclass(frozen=True, slots=True)
class OperatorInventory:
    """One operator, with its subtasks and states.

    Attributes:
        id: the engine's id of the operator.
        name: the name of the operator. None if the files do not say.
        parallelism: how many subtasks the operator has. None if the files do not say.
        max_parallelism: how many key groups the operator has. None if the files do not say.
        uid: the uid that the program gives the operator. None if it gives none or the files do not
            say.
        vertex: the vertex of the dataflow in which the operator runs. None if it has the operator's
            name.
        bytes: the size of the operator's state. None if it is not known.
        finished: whether the whole operator had ended before the checkpoint.
        subtasks: the subtasks of the operator.
        states: the named states of the operator.
        facts: what only this engine has to say of the operator.
        notes: further remarks, as sentences.
        sql: what the operator does in a query, such as "a join". None if it is of no query, or if
            that is not known.
        window_clock: by which clock its windows end. None if it has none in a query.
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
    sql: str | None = None
    window_clock: WindowClock | None = None


@dataclass(frozen=True, slots=True)
class ChannelContents:
    """The data in flight on one channel.

    Attributes:
        id: the id of the channel.
        source: the sending subtask, such as ``map[1]``. None if the files do not say.
        target: the receiving subtask. None if the files do not say.
        part: ``whole``, ``input half`` or ``output half``.
        number: the place of the channel among the stored channels.
        buffers: how many buffers the data fills. None if the files do not say.
        bytes: the size of the data, without the lengths before each buffer. None if the data is
            not in the upload, or cannot be read.
        elements: how many records, watermarks and so on there are. None if it is not known.
        reason: why the elements are not known, or why the channel is not whole. None if all is
            known.
        exchange: the engine's word for the rule by which the sender chooses the receiver, such as
            ``HASH`` or ``REBALANCE``. None if it is not known.
        stated: the size that the checkpoint's metadata name, with the lengths before each buffer,
            wherever the data is. None if they name none.
    """

    id: str
    source: str | None
    target: str | None
    part: str
    number: int
    buffers: int | None
    bytes: int | None
    elements: int | None = None
    reason: str | None = None
    exchange: str | None = None
    stated: int | None = None


def number_words(kind: str, id: int) -> str:
    """Return a checkpoint's number in words: "7", or that it is of unknown number.

    Batches and epochs are numbered from 0; checkpoints and savepoints from 1.
    """
    is_unknown = id == 0 and kind in ("checkpoint", "savepoint")
    return "of unknown number" if is_unknown else str(id)


def sum_of_known(sizes: Iterable[int | None]) -> int | None:
    """Add up sizes. Return None if one of them is not known."""
    total = 0
    for size in sizes:
        if size is None:
            return None
        total += size
    return total


@dataclass(frozen=True, slots=True)
class MissingFile:
    """A file that a checkpoint needs and the upload does not hold whole.

    Attributes:
        path: the path of the file, as the checkpoint names it.
        bytes: the size of the file. None if the checkpoint does not say.
        reason: why the file is missing, or what it would hold, in words for people.
    """

    path: str
    bytes: int | None
    reason: str


@dataclass(frozen=True, slots=True)
class Flaw:
    """A file that is damaged or missing.

    Attributes:
        path: the path of the file in the upload.
        what: what is wrong with the file, as a sentence.
        spoils: the checkpoints that the flaw spoils, for people. None if it spoils none, or if that
            is not known.
    """

    path: str
    what: str
    spoils: str | None = None


@dataclass(frozen=True, slots=True)
class FileUse:
    """A file of the upload.

    Attributes:
        path: the path of the file in the upload.
        bytes: the size of the file.
        role: what the file is for, in a word.
        checkpoints: the numbers, in the upload, of the checkpoints that need the file.
        reason: why nothing of the file is shown. None if it is shown.
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
        job: the key of the checkpoint's job. None if it is not known.
        id: the engine's number of the checkpoint, or that of the batch. Flink's numbers begin with
            1; 0 means there that the file with the number is damaged or missing.
        kind: the engine's word for the kind of checkpoint.
        status: ``completed``, ``failed``, ``in progress`` or ``unknown``.
        path: the file or folder of the checkpoint in the upload. None if it has none.
        triggered_at: when the checkpoint was triggered, in epoch milliseconds. None if it is not
            known.
        completed_at: when the checkpoint completed, in epoch milliseconds. None if it is not known.
        bytes: the size of the checkpoint. None if it is not known.
        shared: how many of these bytes other checkpoints of the upload need, too. None if it is not
            known.
        operators: the operators and their states.
        channels: the channels with data in flight.
        missing: the files that the checkpoint needs and the upload lacks.
        facts: what only this engine has to say of the checkpoint.
        notes: further remarks, as sentences.
        problem: why nothing more is known, as a sentence. None if all is known.
        snapshot: the name of the checkpoint in the derived recording. None if that is its id.
        why_empty: why channels that are not listed hold nothing. None if they may hold something.
        why_unknown: why it is not known what the channels hold. None if it is known.
        why_state_unknown: why it is not known which state belongs to the checkpoint. None if it is
            known.
        flaws: how many damaged or missing files spoil the checkpoint.
        phases: how many milliseconds each part of the checkpoint took, in the engine's words; empty
            if no report says.
        planned: what a batch in flight was to read, and how far it came. None for all other
            checkpoints.
        settings: the settings of the engine.
        in_flight_stated: the size of all data in flight that the engine's metadata or statistics
            name, with the lengths before each buffer, wherever the data is. None if they name none.
        ranges: what each source gave to a batch; empty if that is not known, and for all other
            checkpoints.
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
    why_state_unknown: str | None = None
    flaws: int = 0
    phases: Mapping[str, int] = field(default_factory=dict)
    planned: PlannedBatch | None = None
    settings: Mapping[str, str] = field(default_factory=dict)
    in_flight_stated: int | None = None
    ranges: tuple[PlannedSource, ...] = ()

    @property
    def title(self) -> str:
        """The kind and the number: "batch 7", or "savepoint of unknown number"."""
        return f"{self.kind} {number_words(self.kind, self.id)}"

    @property
    def in_flight(self) -> int | None:
        """The size of the data in flight. None if it is not known."""
        if not self.channels:
            return self.in_other_channels
        return sum_of_known(channel.bytes for channel in self.channels)

    @property
    def in_other_channels(self) -> int | None:
        """What each channel holds that is not listed: 0, or None if it is not known."""
        return 0 if self.why_empty and not self.why_unknown else None


@dataclass(frozen=True, slots=True)
class JobInventory:
    """A job of an engine.

    Attributes:
        key: the engine's id of the job; empty if it is not known. A job of which only a log or a
            listing tells has a key of its own, such as ``log of ID``.
        name: the name of the job. None if it is not known.
        facts: what only this engine has to say of the job.
    """

    key: str
    name: str | None = None
    facts: tuple[Fact, ...] = ()


@dataclass(frozen=True, slots=True)
class UploadInventory:
    """Everything that an upload of an engine's files holds.

    Attributes:
        engine: ``flink``, ``spark`` or ``seatunnel``.
        jobs: the jobs whose checkpoints the upload holds.
        checkpoints: the checkpoints by job, and in their order.
        files: every file of the upload, once.
        notes: further remarks, as sentences.
        flaws: the first flaws, the most serious ones.
        flaws_total: how many flaws there are.
    """

    engine: str
    jobs: tuple[JobInventory, ...]
    checkpoints: tuple[CheckpointInventory, ...]
    files: tuple[FileUse, ...]
    notes: tuple[str, ...] = ()
    flaws: tuple[Flaw, ...] = ()
    flaws_total: int = 0
