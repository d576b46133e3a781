"""The series of states through which a condition can be searched, in a defined order."""

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Any

from snapshots.answers import inventory, inventory_difference, inventory_sums
from snapshots.answers.bisect_past import past_of
from snapshots.answers.properties import recorded_state
from snapshots.domain.bisecting.changes import changes, named_first
from snapshots.domain.bisecting.wording import Words
from snapshots.domain.inventory.model import number_words
from snapshots.domain.judging.findings import CONSISTENT
from snapshots.domain.model.as_json import as_json
from snapshots.domain.model.derived import is_derived
from snapshots.domain.model.listing import listed
from snapshots.domain.model.recording import SnapshotId
from snapshots.domain.properties.global_state import GlobalState, at_start
from snapshots.files.recordings import open_recording
from snapshots.models import Recording, Snapshot
from snapshots.store.errors import StoreError
from snapshots.store.reader import StoredRecording
from snapshots.store.stored_snapshot import SnapshotChannel

SNAPSHOTS, CHECKPOINTS, ARCHIVE = "snapshots", "checkpoints", "archive"
MOST_POSITIONS = 2_000_000  # positions that are compared to see whether snapshots follow each other
MOST_GAPS = 5  # that a sentence names
MOST_CHANGES = 200  # processes and channels that an answer lists
NO_EVENTS = (
    "The causal past of the change is not known: checkpoints hold states and files, but no events."
)
DERIVED = (
    "The causal past of the change is not known: the recording is derived from what the engine "
    "kept, which has no events of the run."
)


@dataclass(frozen=True, slots=True)
class NotKnown:
    """A state of which nothing is known, with the reason as a sentence."""

    name: str
    reason: str


class Series(ABC):
    """States in a defined order.

    Attributes:
        kind: ``snapshots``, ``checkpoints`` or ``archive``.
        words: the words for the states.
        order: a sentence that says how the states are ordered.
        processes: the names that an expression may use without ``processes``.
    """

    kind: str
    words: Words
    order: str
    processes: frozenset[str]

    def __len__(self) -> int:
        return len(self.words.titles)

    @property
    def start(self) -> GlobalState:
        """The state before the first event, with which some properties compare."""
        return GlobalState("start", {}, {}, {}, is_derived=True)

    @property
    def why_not_stable(self) -> str | None:
        """Why no theory of stable properties says anything about this series; None if it does."""
        return "Checkpoints are no snapshots of a logged run, so no theory says what is stable."

    @abstractmethod
    def state(self, place: int) -> GlobalState | NotKnown:
        """Return the state at a place."""

    @abstractmethod
    def item(self, place: int) -> dict[str, Any]:
        """Return what names a state: SeriesItem in payloads/bisect.py."""

    @abstractmethod
    def difference(
        self, before: int, after: int, named: Mapping[str, set[str]] | None
    ) -> dict[str, Any]:
        """Return what differs between two states, and the causal past: DifferenceOfStates.

        Args:
            named: the processes and channels that the condition names; None if it is about all.
        """

    def gaps(self, begin: int, end: int) -> str | None:
        """Say what the series lacks between two of its places; None if it lacks nothing."""
        return None


class SnapshotSeries(Series):
    """All snapshots of a recording, in the order of their first events."""

    kind = SNAPSHOTS
    order = (
        "Snapshots are in the order in which they began: by the first event of each, in the causal "
        "order of the log. Those that overlap are ordered by the same rule."
    )

    def __init__(self, stored: StoredRecording, rows: Sequence[Snapshot]) -> None:
        self.stored = stored
        self.rows = rows
        self.words = Words("snapshot", "snapshots", [f"snapshot {row.snapshot}" for row in rows])
        self.processes = frozenset(process.id for process in stored.topology.processes)

    @property
    def start(self) -> GlobalState:
        return at_start(self.stored.topology)

    @cached_property
    def why_not_stable(self) -> str | None:
        if is_derived(self.stored.manifest.header_extra):
            return "The recording is derived, so what is recorded is not what the run did."
        wrong = next((row for row in self.rows if row.verdict != CONSISTENT), None)
        if wrong is not None:
            return (
                f"The verdict on {wrong.snapshot} is {wrong.verdict}, so the run may never have "
                "been able to reach what it recorded."
            )
        return self._why_no_chain()

    def _why_no_chain(self) -> str | None:
        """Return which two snapshots do not follow each other; None if all do."""
        if sum(len(row.positions) for row in self.rows) > MOST_POSITIONS:
            return "There are too many positions to see whether the snapshots follow each other."
        for earlier, later in pairwise(self.rows):
            if not _follows(earlier.positions, later.positions):
                return _crossing(earlier, later)
        return None

    def state(self, place: int) -> GlobalState:
        return recorded_state(self.stored, self.rows[place])

    def item(self, place: int) -> dict[str, Any]:
        row = self.rows[place]
        return _item(place, self.words.titles[place], row.recording_id, snapshot=row.snapshot)

    def difference(
        self, before: int, after: int, named: Mapping[str, set[str]] | None
    ) -> dict[str, Any]:
        earlier, later = self.rows[before], self.rows[after]
        ids = self._ids(earlier), self._ids(later)
        unordered = {each.id for each in self.stored.topology.channels if not each.fifo}
        different = changes(self.state(before), self.state(after), ids, unordered)
        differing = named_first(different, named)
        body: dict[str, Any] = {
            "changes": list(map(as_json, differing[:MOST_CHANGES])),
            "changes_total": len(differing),
            "checkpoints": None,
            "past": None,
            "notes": [],
        }
        if not _follows(earlier.positions, later.positions):
            body["notes"].append(_crossing(earlier, later))
        if is_derived(self.stored.manifest.header_extra):
            return body | {"why_no_past": DERIVED}
        past, reason = past_of(self.stored, earlier.snapshot, later.snapshot, differing, named)
        return body | {"past": past, "why_no_past": reason}

    def _ids(self, row: Snapshot) -> dict[str, tuple[str, ...]]:
        """Return the messages in each channel of a snapshot; none if Cutline made up their ids."""
        if is_derived(self.stored.manifest.header_extra):
            return {}
        channels = self.stored.snapshot(SnapshotId(row.snapshot)).channels
        return {name: _ids_in(channel) for name, channel in channels.items()}


def _ids_in(channel: SnapshotChannel) -> tuple[str, ...]:
    if channel.recorded is not None:
        return tuple(channel.recorded)
    return tuple(message.id for message in channel.recomputed or ())


def _follows(earlier: Mapping[str, int], later: Mapping[str, int]) -> bool:
    """Tell whether one cut contains another; both are positions by process."""
    return earlier.keys() == later.keys() and all(
        position <= later[process] for process, position in earlier.items()
    )


def _crossing(earlier: Snapshot, later: Snapshot) -> str:
    if earlier.positions.keys() != later.positions.keys():
        return f"Other processes recorded in {earlier.snapshot} than in {later.snapshot}."
    process = next(
        name for name, position in earlier.positions.items() if position > later.positions[name]
    )
    return (
        f"The cuts of {earlier.snapshot} and {later.snapshot} cross at {process}: neither state "
        "can be reached from the other."
    )


@dataclass(frozen=True, slots=True)
class HeldCheckpoint:
    """A checkpoint that an upload holds.

    Attributes:
        recording: the upload.
        contents: the number of the checkpoint in the upload's inventory.
        id: the engine's number of the checkpoint.
        kind: the engine's word for the kind of checkpoint.
    """

    recording: Recording
    contents: int
    id: int
    kind: str

    @property
    def title(self) -> str:
        return f"{self.kind} {number_words(self.kind, self.id)}"

    @property
    def is_numbered(self) -> bool:
        """Tell whether the engine's number is known."""
        return number_words(self.kind, self.id) == str(self.id)


class CheckpointSeries(Series):
    """The checkpoints of one job, in one upload or in several uploads of the archive.

    Args:
        items: the checkpoints in order.
        order: a sentence that says how they are ordered.
        kind: ``checkpoints`` or ``archive``.
    """

    def __init__(self, items: Sequence[HeldCheckpoint], order: str, kind: str) -> None:
        self.items = items
        self.kind = kind
        self.order = order
        is_spark = any(item.kind.endswith("batch") for item in items)
        nouns = ("batch", "batches") if is_spark else ("checkpoint", "checkpoints")
        self.words = Words(*nouns, [item.title for item in items])
        self.processes = frozenset()

    def state(self, place: int) -> GlobalState | NotKnown:
        item = self.items[place]
        try:
            return self._read(item)
        except StoreError as error:
            return NotKnown(str(item.id), str(error))

    def _read(self, item: HeldCheckpoint) -> GlobalState | NotKnown:
        """Return what a checkpoint holds in all, or why that is not known. Raises: StoreError."""
        held = inventory.checkpoint(inventory.opened(item.recording), item.contents)
        reason = inventory_sums.why_not_known(held)
        if reason is not None:
            return NotKnown(str(item.id), reason)
        totals = inventory_sums.sums(held, open_recording(item.recording))
        return inventory_sums.global_state(held, totals)

    def item(self, place: int) -> dict[str, Any]:
        item = self.items[place]
        return _item(place, item.title, item.recording.pk, contents=item.contents)

    def difference(
        self, before: int, after: int, named: Mapping[str, set[str]] | None
    ) -> dict[str, Any]:
        earlier, later = self.items[before], self.items[after]
        older, newer = (inventory.opened(item.recording) for item in (earlier, later))
        if earlier.recording == later.recording:
            change = inventory_difference.difference(older, earlier.contents, later.contents)
        else:
            change = inventory_difference.across(older, earlier.contents, newer, later.contents)
        return {
            "changes": [],
            "changes_total": 0,
            "checkpoints": change,
            "past": None,
            "why_no_past": NO_EVENTS,
            "notes": [],
        }

    def gaps(self, begin: int, end: int) -> str | None:
        numbers = [
            _numbers(earlier.id + 1, later.id - 1)
            for earlier, later in pairwise(self.items[begin : end + 1])
            if earlier.is_numbered and later.is_numbered and later.id > earlier.id + 1
        ]
        if not numbers:
            return None
        is_archive = self.kind == ARCHIVE
        where = "No upload that you may see holds" if is_archive else "The upload lacks"
        if len(numbers) == 1 and numbers[0].isdecimal():
            return f"{where} number {numbers[0]}, in which it may have held."
        return (
            f"{where} {'any of ' if is_archive else ''}the numbers {listed(numbers, MOST_GAPS)}: "
            f"it may have held in one of them, if there were such {self.words.nouns}."
        )


def _numbers(first: int, last: int) -> str:
    return str(first) if first == last else f"{first} to {last}"


def _item(
    place: int, title: str, recording: int, snapshot: str | None = None, contents: int | None = None
) -> dict[str, Any]:
    return {
        "place": place,
        "title": title,
        "recording": recording,
        "snapshot": snapshot,
        "contents": contents,
    }
