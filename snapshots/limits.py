"""How much may come in with a recording."""

from django.conf import settings

from snapshots.readers.formats.limits import Limits


def recording_limits() -> Limits:
    """What a recording may hold, from the settings."""
    return Limits(
        total_bytes=settings.MAX_RECORDING_BYTES,
        line_bytes=settings.MAX_LINE_BYTES,
        processes=settings.MAX_PROCESSES,
        channels=settings.MAX_CHANNELS,
    )
