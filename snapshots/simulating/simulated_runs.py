"""What a simulator gives: the header, and the events while they are made."""

from collections.abc import Iterable
from typing import NamedTuple

from snapshots.domain.assembling.assembly import Header
from snapshots.domain.model.recording import LoggedEvent


class SimulatedRun(NamedTuple):
    """expected: about how many events."""

    header: Header
    events: Iterable[LoggedEvent]
    expected: int
