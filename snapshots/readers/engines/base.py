"""What a reader of an engine's files is: a folder in, contents and a derived recording out."""

from collections.abc import Iterator
from pathlib import Path
from typing import Protocol, runtime_checkable

from snapshots.domain.archive.model import JobFacts
from snapshots.domain.assembling.assembly import Header
from snapshots.domain.inventory.entries import ChannelBytes, StateEntry, StateTypes
from snapshots.domain.inventory.model import UploadInventory
from snapshots.domain.model.recording import LoggedEvent


class EngineUpload(Protocol):
    """An upload that was understood. Whatever is asked for is read then; nothing raises for what
    is wrong with a single file: contents say it."""

    def inventory(self) -> UploadInventory:
        """Everything but entries and data in flight. To be asked for after ``entries`` has ended:
        while entries are read more comes to light."""

    def entries(self) -> Iterator[StateEntry]:
        """By checkpoint, then operator."""

    def channel_bytes(self) -> Iterator[ChannelBytes]:
        """Yield what lay in channels, by checkpoint, then number: nothing, unless overridden."""
        return iter(())

    def recording(self) -> tuple[Header, Iterator[LoggedEvent]]:
        """The upload as a recording: what the engine keeps as statistics becomes events that are
        marked ``derived``. A state or message that is not known is not known, never empty."""


@runtime_checkable
class TellsTimes(Protocol):
    """An upload whose engine has said itself what every subtask took: the archive keeps that. Of
    others it takes what the derived recording tells."""

    def archive_facts(self) -> tuple[JobFacts, ...]:
        """The jobs that the engine has said it of."""


@runtime_checkable
class TellsTypes(Protocol):
    """An upload whose files describe the types of states, which data in flight may be of, too."""

    def state_types(self) -> Iterator[StateTypes]:
        """Of the checkpoints with data in flight, by checkpoint."""


class EngineReader(Protocol):
    """One engine. name: what ``format`` calls it; title: what it is called in a sentence."""

    name: str
    title: str

    def recognises(self, names: list[str], start: bytes) -> str | None:
        """Why an upload is this engine's, as a sentence; None if it is not.

        names: of its files, with /; start: the first 64 bytes of an upload that is one file.
        """

    def read(self, root: Path) -> EngineUpload:
        """root: the folder that holds the upload's files. Raises: InputRefused."""
