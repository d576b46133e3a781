"""Tell the date of an instant of a recording, where its log gives one.

The instants of many recordings are counted from where they begin, and nothing says when that was.
"""

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

from snapshots import quantities
from snapshots.domain.model.derived import epoch_of, is_derived
from snapshots.domain.reviewing import places
from snapshots.domain.reviewing.place_text import NotAPlace, read_place
from snapshots.files import recordings
from snapshots.models import Recording
from snapshots.readers import recognition
from snapshots.readers.logs.json_events import TIME_UNIT, JsonEventsReader
from snapshots.readers.logs.mapped.lines import MappedReader
from snapshots.store.errors import StoreError

# A recording that begins between these dates, counted from 1970, has dates: a clock that begins at
# 0 does not run for thirty years.
FIRST, END = (datetime(year, 1, 1, tzinfo=UTC).timestamp() * 1000 for year in (2000, 2100))
_TIMED_BY_THE_ENGINE = (
    places.CheckpointPlace,
    places.SubtaskPlace,
    places.SnapshotPlace,
    places.SnapshotChannelPlace,
    places.MomentPlace,
)


def epoch_ms(recording: Recording, place: str, at: int | None) -> int | None:
    """Return the date of an instant in epoch ms; None if it is not known.

    Args:
        recording: the recording, in whose time unit the instant is.
        place: the text of the place at which the instant was read; empty if a person gave it.
        at: the instant.
    """
    if at is None or not recording.is_shown:
        return None
    try:
        stored = recordings.open_recording(recording)
    except StoreError:
        return None
    extra, unit = stored.manifest.header_extra, stored.manifest.time_unit
    if is_derived(extra):
        zero = epoch_of(extra) if _is_of_the_engine(place) else None
        return quantities.moment(at, unit, zero)
    zero = _zero(extra) if unit == TIME_UNIT else 0
    is_date = _is_date(quantities.moment(zero + stored.manifest.extent.from_, unit, 0))
    return quantities.moment(zero + at, unit, 0) if is_date else None


def _is_of_the_engine(place: str) -> bool:
    """Tell whether the engine gives the time of a place in a derived recording.

    Cutline gave many of its events a time between those of others.
    """
    if not place:
        return True
    try:
        return isinstance(read_place(place), _TIMED_BY_THE_ENGINE)
    except NotAPlace:  # a text of a later version of Cutline
        return False


def _zero(header_extra: Mapping[str, Any]) -> int:
    """Return what instant 0 is in the log's own time, in TIME_UNIT."""
    facts = [header_extra.get(key) for key in _keys_of_logs()]
    began = [each.get("began_at_us") for each in facts if isinstance(each, Mapping)]
    return next((each for each in began if type(each) is int), 0)


def _keys_of_logs() -> set[str]:
    """Return the fields of headers that describe logs whose times are counted anew."""
    readers = recognition.READERS.values()
    keys = {reader.key for reader in readers if isinstance(reader, JsonEventsReader)}
    return keys | {MappedReader.key}


def _is_date(milliseconds: int | None) -> bool:
    return milliseconds is not None and FIRST <= milliseconds < END
