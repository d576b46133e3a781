"""Return the settings that limit how much a recording may hold."""

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
