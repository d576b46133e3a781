"""Look for a place in a stored recording or an archived job: it is there, or gone for a reason.

A recording can be read again, by a later version or with another mapping. An event or a cut is
then compared with the ``mark`` that it had when somebody wrote about it.
"""

import hashlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from snapshots.archive import filling, queries
from snapshots.domain.model.topology import ChannelId, ProcessId
from snapshots.domain.reviewing import places
from snapshots.domain.reviewing.place_text import NotAPlace, read_place
from snapshots.domain.reviewing.places import Place, in_words
from snapshots.files import recordings
from snapshots.models import EngineJob, Recording
from snapshots.problems import NotFound
from snapshots.reviews.subjects import Subject
from snapshots.store.errors import StoreError
from snapshots.store.inventory.reading import StoredInventory, states_of
from snapshots.store.reader import StoredRecording

THERE, GONE, CHANGED, NOT_KNOWN = ("there", "gone", "changed", "not-known")
MOST_ENTRIES = 100_000  # of a state, among which a key is looked for
_PAGE = 10_000
_MARKED = ("kind", "channel", "message", "snapshot")  # of an event; a clock may be read anew


@dataclass(frozen=True, slots=True)
class Resolved:
    """What became of a place.

    Attributes:
        state: ``there``; ``gone``; ``changed`` if another event is there since the upload was read
            again; ``not-known`` if the recording cannot be read now.
        reason: why it is not simply there, as a sentence; empty if it is.
        at: its instant in the recording's time unit, or in epoch ms in the archive. None if it has
            none, or if that is not known.
        step: how many events have happened there. None as for ``at``.
        process: the process in whose lane it is. None if it is in no lane.
        positions: the position of every process, for a cut.
        number: the checkpoint's place in the list of the upload. None for all other places.
        mark: what tells the event or the cut from another one at the same place; empty for places
            that are named by an id.
    """

    state: str = THERE
    reason: str = ""
    at: int | None = None
    step: int | None = None
    process: str | None = None
    positions: tuple[int, ...] = ()
    number: int | None = None
    mark: str = ""

    @property
    def is_there(self) -> bool:
        """Tell whether the place can be shown, even if another event is there now."""
        return self.state in (THERE, CHANGED)

    @property
    def has_page(self) -> bool:
        """Tell whether a page shows the place, or shows whether it is there."""
        return self.is_there or self.number is not None


class _Gone(Exception):
    """The place is not there; the message says why."""


class AmbiguousName(Exception):
    """Several checkpoints have the name that is looked for; the message says how many."""


class TooManyEntries(Exception):
    """A key is not among the entries that were looked at, and there are more."""


def resolve_in_list(subject: Subject, text: str, mark: str = "") -> Resolved:
    """Look for a place as ``resolve`` does, but not for an entry among the entries of a state.

    That would read up to MOST_ENTRIES rows for each line of a list.
    """
    try:
        place = read_place(text) if text else None
        if (
            isinstance(place, places.StatePlace)
            and isinstance(subject, Recording)
            and subject.is_shown
        ):
            return _state_in_list(subject, recordings.open_recording(subject), place)
    except (_Gone, NotAPlace) as error:
        return Resolved(GONE, str(error))
    except StoreError as error:
        return Resolved(NOT_KNOWN, str(error))
    return resolve(subject, text, mark)


def resolve(subject: Subject, text: str, mark: str = "") -> Resolved:
    """Look for a place.

    Args:
        subject: the recording or archived job.
        text: the text of the place; an empty one is the whole, which is always there.
        mark: what the place was marked with before. Empty if it had no mark.
    """
    if not text:
        return Resolved()
    try:
        place = read_place(text)
        resolved = _resolve(subject, place)
    except (_Gone, NotAPlace) as error:
        return Resolved(GONE, str(error))
    except (StoreError, AmbiguousName, TooManyEntries) as error:
        return Resolved(NOT_KNOWN, str(error))
    if mark and resolved.is_there and resolved.mark != mark:
        reason = (
            f"Since the upload was read again, the {in_words(place)} is another one than the one "
            "that was meant."
        )
        return replace(resolved, state=CHANGED, reason=reason)
    return resolved


def _resolve(subject: Subject, place: Place) -> Resolved:
    if isinstance(subject, EngineJob):
        return _in_archive(subject, place)
    if not subject.is_shown:
        reason = f"“{subject.name}” is {subject.status} and not ready, so nothing is known of it."
        return Resolved(NOT_KNOWN, reason)
    return _in_recording(subject, recordings.open_recording(subject), place)


def _in_recording(recording: Recording, stored: StoredRecording, place: Place) -> Resolved:
    match place:
        case places.MomentPlace(axis, value):
            return _moment(stored, axis, value)
        case places.ProcessPlace(process):
            _process_code(stored, process)
            return Resolved(process=process)
        case places.EventPlace(process, index):
            return _event(stored, process, index)
        case places.ChannelPlace(channel):
            _require_channel(stored, channel)
            return Resolved()
        case places.MessagePlace(channel, message):
            return _message(stored, channel, message)
        case places.CutPlace(positions):
            return _cut(stored, dict(positions))
        case places.SnapshotPlace(snapshot):
            return _snapshot(recording, snapshot)
        case places.SnapshotChannelPlace(snapshot, channel):
            _require_channel(stored, channel)
            return _snapshot(recording, snapshot)
        case places.CheckpointPlace(checkpoint, _):
            return _checkpoint(recording, stored, checkpoint)
        case places.SubtaskPlace(checkpoint, _, subtask):
            _process_code(stored, subtask)
            return replace(_checkpoint(recording, stored, checkpoint), process=subtask)
        case places.StatePlace():
            return _state(recording, stored, place)


def _moment(stored: StoredRecording, axis: str, value: int) -> Resolved:
    extent = stored.manifest.extent
    is_time = axis == places.TIME
    first, last = (extent.from_, extent.to) if is_time else (0, extent.steps)
    if not first <= value <= max(last, first + 1):
        unit = stored.manifest.time_unit if is_time else "events"
        raise _Gone(f"The recording goes from {first:,} to {last:,} {unit}, not to {value:,}.")
    return Resolved(at=value) if is_time else Resolved(step=value)


def _process_code(stored: StoredRecording, process: str) -> int:
    try:
        return stored.tables.process_code(ProcessId(process))
    except KeyError:
        raise _Gone(f"The recording has no process {process}.") from None


def _require_channel(stored: StoredRecording, channel: str) -> None:
    if channel not in stored.topology.channel_by_id:
        raise _Gone(f"The recording has no channel {channel}.")


def _event(stored: StoredRecording, process: str, index: int) -> Resolved:
    length = int(stored.tables.events.length[_process_code(stored, process)])
    if index >= length:
        raise _Gone(f"{process} has {length:,} events, so there is no event {index:,}.")
    event = stored.event(ProcessId(process), index)
    mark = _mark(event[name] for name in _MARKED)
    return Resolved(at=event["at"], step=event["step"] + 1, process=process, mark=mark)


def _mark(parts: Iterable[Any]) -> str:
    return hashlib.sha256(repr(list(parts)).encode(errors="surrogatepass")).hexdigest()


def message_ordinals(stored: StoredRecording, channel: str, message: str) -> tuple[int, list[int]]:
    """Return the code of a channel, and the ordinals of its messages with this id.

    Raises: KeyError if there is no such channel.
    """
    code = stored.tables.channel_code(ChannelId(channel))
    return code, stored.tables.messages.table.find_texts("message", code, [message]).tolist()


def _message(stored: StoredRecording, channel: str, message: str) -> Resolved:
    _require_channel(stored, channel)
    code, ordinals = message_ordinals(stored, channel, message)
    if not ordinals:
        raise _Gone(f"The channel {channel} has no message {message}.")
    [first] = stored.tables.read_messages(np.array([code]), np.array(ordinals[:1]))
    source = stored.topology.channel_by_id[ChannelId(channel)].source
    event = stored.event(source, first.sent_index)
    return Resolved(at=event["at"], step=event["step"] + 1, process=source)


def _cut(stored: StoredRecording, positions: Mapping[str, int]) -> Resolved:
    lengths = stored.tables.events.length
    counts = np.zeros(len(lengths), np.int64)
    for name, count in positions.items():
        code = _process_code(stored, name)
        if count > lengths[code]:
            raise _Gone(f"{name} has {int(lengths[code]):,} events, and the cut has {count:,}.")
        counts[code] = count
    begun = np.flatnonzero(counts)
    instants, steps = (
        stored.tables.events.values(column, begun, counts[begun] - 1) for column in ("at", "step")
    )
    ids = [process.id for process in stored.topology.processes]
    last = [stored.event(ids[code], int(counts[code]) - 1) for code in begun]
    return Resolved(
        at=int(instants.max()) if len(begun) else None,
        step=int(steps.max()) + 1 if len(begun) else 0,
        positions=tuple(counts.tolist()),
        mark=_mark(event[name] for event in last for name in _MARKED),
    )


def _snapshot(recording: Recording, snapshot: str) -> Resolved:
    row = recording.snapshots.filter(snapshot=snapshot).first()
    if row is None:
        raise _Gone(f"The recording has no snapshot {snapshot}.")
    return Resolved(at=row.ended_at)


def _checkpoint(recording: Recording, stored: StoredRecording, checkpoint: str) -> Resolved:
    number = checkpoint_number(recording, checkpoint)
    if number is None and checkpoint not in stored.checkpoint_names:
        raise _Gone(f"The recording has no checkpoint {checkpoint}.")
    end = stored.checkpoint_ends.get(checkpoint)
    if end is None:
        row = recording.snapshots.filter(snapshot=checkpoint).first()
        end = None if row is None else row.ended_at
    return Resolved(at=end, number=number)


def inventory_of(recording: Recording) -> StoredInventory | None:
    """Return the inventory of an engine's upload; None for a log."""
    inventory = StoredInventory(recordings.store().folder(recording.store))
    return inventory if inventory.exists else None


def checkpoint_number(recording: Recording, checkpoint: str) -> int | None:
    """Return the place of a checkpoint in the list of the upload.

    It is None if the list does not have it. Raises: AmbiguousName.
    """
    inventory = inventory_of(recording)
    listed = inventory.upload["checkpoints"] if inventory is not None else []
    names = [item.get("snapshot") or str(item["id"]) for item in listed]
    if names.count(checkpoint) > 1:
        raise AmbiguousName(
            f"The upload has {names.count(checkpoint):,} checkpoints with the name {checkpoint}, "
            "so it is not known which of them is meant."
        )
    return names.index(checkpoint) if checkpoint in names else None


def _state(recording: Recording, stored: StoredRecording, place: places.StatePlace) -> Resolved:
    resolved = _checkpoint(recording, stored, place.checkpoint)
    if not state_entries(recording, place):
        raise _Gone(f"The upload has no {in_words(place)}.")
    return resolved


def _state_in_list(
    recording: Recording, stored: StoredRecording, place: places.StatePlace
) -> Resolved:
    """Look for the state of a place alone. Raises: _Gone if there is no such state."""
    resolved = _checkpoint(recording, stored, place.checkpoint)
    if _held_state(recording, place) is None:
        raise _Gone(f"The upload has no {in_words(place)}.")
    reason = "Lists do not look for a single entry of a state; its page shows whether it is there."
    return replace(resolved, state=NOT_KNOWN, reason=reason)


def state_entries(recording: Recording, place: places.StatePlace) -> list[dict[str, Any]]:
    """Return the entries with the key of a place; several if the state has namespaces.

    Raises: TooManyEntries if it is not among the first MOST_ENTRIES, and there are more.
    """
    held_state = _held_state(recording, place)
    if held_state is None:
        return []
    inventory, held = held_state
    rows: list[dict[str, Any]] = []
    for offset in range(0, MOST_ENTRIES, _PAGE):
        page = inventory.entries(held, place.operator, place.state, offset=offset, limit=_PAGE)
        rows += [row for row in page.rows if row["key"] == place.key]
        if offset + _PAGE >= page.total:
            return rows
    if not rows:
        raise TooManyEntries(
            f"The {in_words(place)} is not among the first {MOST_ENTRIES:,} entries of the state; "
            "further ones were not looked at."
        )
    return rows


def _held_state(
    recording: Recording, place: places.StatePlace
) -> tuple[StoredInventory, dict[str, Any]] | None:
    """Return the inventory and its checkpoint with the state of a place; None without one."""
    inventory = inventory_of(recording)
    number = checkpoint_number(recording, place.checkpoint)
    if inventory is None or number is None:
        return None
    held = inventory.checkpoint(number)
    if all(state["name"] != place.state for state in states_of(held, place.operator)):
        return None
    return inventory, held


def _in_archive(job: EngineJob, place: Place) -> Resolved:
    if not isinstance(place, places.CheckpointPlace | places.SubtaskPlace):
        raise _Gone(f"An archived job holds checkpoints and subtasks, no {in_words(place)}.")
    try:
        row = queries.checkpoint(job, place.pipeline, archived_number(place.checkpoint))
    except NotFound as error:
        raise _Gone(error.detail) from None
    if isinstance(place, places.SubtaskPlace):
        names = [name for name, _ in filling.facts_of(row).all_subtasks()]
        if place.subtask not in names:
            raise _Gone(f"The archive knows no subtask {in_words(place)}.")
    return Resolved(at=row.triggered_at)


def archived_number(checkpoint: str) -> int:
    """Return the number that is the name of an archived checkpoint. Raises: NotFound."""
    if not (checkpoint.isascii() and checkpoint.isdecimal() and len(checkpoint) < 19):
        raise NotFound(f"The archive numbers checkpoints, so it has no checkpoint {checkpoint}.")
    return int(checkpoint)
