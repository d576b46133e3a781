"""Return the settings that limit how much a recording may hold."""

import sys
from dataclasses import replace

from django.conf import settings

from snapshots.readers.formats.limits import Limits


def recording_limits() -> Limits:
    """Return how much a recording may hold, from the settings."""
    return Limits(
        total_bytes=settings.MAX_RECORDING_BYTES,
        line_bytes=settings.MAX_LINE_BYTES,
        processes=settings.MAX_PROCESSES,
        channels=settings.MAX_CHANNELS,
    )


def limits_of_place(*, unlimited: bool) -> Limits:
    """Return how much a log may hold that an operator has read from its place.

    Lines, processes and channels stay limited, because memory is needed for each.
    """
    limits = recording_limits()
    return replace(limits, total_bytes=sys.maxsize) if unlimited else limits
