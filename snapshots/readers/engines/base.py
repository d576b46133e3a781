"""What an engine gives: a reader that makes an inventory and a derived recording of a folder."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol, runtime_checkable

from snapshots.domain.answering.job_report import JobReport
from snapshots.domain.archive.model import JobFacts
from snapshots.domain.assembling.assembly import Header
from snapshots.domain.inventory.entries import ChannelBytes, StateEntry, StateTypes
from snapshots.domain.inventory.model import UploadInventory
from snapshots.domain.inventory.restore_check import UploadCheck
from snapshots.domain.model.recording import LoggedEvent

START_BYTES = 2**16


@dataclass(frozen=True)
class Beginnings:
    """The files of an upload, by their names and first bytes.

    Attributes:
        names: with / between folders.
        read: returns the first bytes of a file by its name: START_BYTES, fewer of a smaller file.
    """

    names: tuple[str, ...]
    read: Callable[[str], bytes]

    @property
    def of_the_only(self) -> bytes:
        """The first bytes of an upload that is one file; else empty."""
        return self.read(self.names[0]) if len(self.names) == 1 else b""


class EngineUpload(Protocol):
    """An upload that its engine's reader has opened.

    Each method reads what it returns. A single damaged file raises nothing: the inventory says what
    is wrong with it.
    """

    def inventory(self) -> UploadInventory:
        """Return everything but entries and data in flight.

        Call it after ``entries`` has ended, since reading entries brings more to light.
        """

    def restore_check(self) -> UploadCheck:
        """Return of each checkpoint whether everything is there that a restore reads.

        The checks stand in the order of the inventory's checkpoints. Call it after ``entries`` has
        ended, as the inventory.
        """

    def entries(self) -> Iterator[StateEntry]:
        """Yield the entries of state by checkpoint, then operator."""

    def channel_bytes(self) -> Iterator[ChannelBytes]:
        """Yield the data in flight by checkpoint, then number; by default there is none."""
        return iter(())

    def recording(self) -> tuple[Header, Iterator[LoggedEvent]]:
        """Return the upload as a recording: what the engine keeps becomes ``derived`` events.

        A state or a message that is not known is left out, and never empty.
        """


@runtime_checkable
class TellsTimes(Protocol):
    """An upload whose engine itself says how long every subtask took, which the archive keeps.

    Of other uploads the archive keeps what the derived recording says.
    """

    def archive_facts(self) -> tuple[JobFacts, ...]:
        """Return the jobs of which the engine says it."""


@runtime_checkable
class ReportsJobs(Protocol):
    """An upload that may hold what the engine said of its jobs: state, load and failures."""

    def job_reports(self) -> tuple[JobReport, ...]:
        """Return a report of each job about which the upload has an answer of the engine."""


@runtime_checkable
class TellsTypes(Protocol):
    """An upload whose files describe the types of states, which data in flight may have, too."""

    def state_types(self) -> Iterator[StateTypes]:
        """Yield the descriptions of the checkpoints with data in flight, by checkpoint."""


class EngineReader(Protocol):
    """The reader of one engine's uploads."""

    @property
    def name(self) -> str:
        """What the parameter ``format`` calls the engine."""

    @property
    def title(self) -> str:
        """What the engine's files are called in a sentence."""

    def recognises(self, files: Beginnings) -> str | None:
        """Return why an upload is this engine's, as a sentence; None if it is not."""

    def read(self, root: Path) -> EngineUpload:
        """Open the upload whose files are below ``root``. Raises: InputRefused."""
