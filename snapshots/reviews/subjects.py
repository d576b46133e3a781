"""The things on which people write notes: recordings and archived jobs of engines."""

from typing import Any

from snapshots.models import EngineJob, Recording

Subject = Recording | EngineJob


def field_of(subject: Subject) -> dict[str, Any]:
    """Return the field of a row that points at the subject, for queries and new rows."""
    name = "recording" if isinstance(subject, Recording) else "engine_job"
    return {name: subject}
