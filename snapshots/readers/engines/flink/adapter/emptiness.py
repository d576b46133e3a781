"""Why channels of a checkpoint are known to be empty, or are not known: words of ``derived``."""

from snapshots.domain.inventory.model import COMPLETED, FAILED, IN_PROGRESS
from snapshots.domain.model.derived import (
    ALIGNED,
    AT_LEAST_ONCE,
    NEVER_STORED,
    NO_BUFFERS,
    NO_FILES,
    NOT_COMPLETED,
    NOT_JOINED,
    NOT_TOLD,
    NOTHING_PERSISTED,
)
from snapshots.readers.engines.flink.adapter.places import Place


def is_aligned(place: Place) -> bool:
    """Whether the REST API says that no barrier overtook anything."""
    kind = place.rest and place.rest.kind
    return bool(kind) and not kind.startswith("UNALIGNED")


def why_empty(place: Place) -> str | None:
    """Of the channels that hold nothing; None where none is known to hold nothing."""
    if place.status != COMPLETED:
        return None
    if is_aligned(place):
        config = {} if place.job.rest is None else place.job.rest.config
        return AT_LEAST_ONCE if config.get("mode") == "at_least_once" else ALIGNED
    if place.has_files:
        return NO_BUFFERS
    return NOTHING_PERSISTED if place.rest.totals.persisted == 0 else NEVER_STORED


def why_unknown(place: Place) -> str | None:
    """Of the channels that are not known; None where each is."""
    if place.status in (FAILED, IN_PROGRESS):
        return NOT_COMPLETED
    if place.status != COMPLETED:
        return NOT_TOLD
    if place.has_files:
        return NOT_JOINED
    return NO_FILES if why_empty(place) == NEVER_STORED else None
