"""The result of a simulator: the header, and the events while they are made."""

from collections.abc import Iterable
from typing import NamedTuple

from snapshots.domain.assembling.assembly import Header
from snapshots.domain.model.recording import LoggedEvent


class SimulatedRun(NamedTuple):
    """A run that has begun. ``expected``: about how many events it will have."""

    header: Header
    events: Iterable[LoggedEvent]
    expected: int
