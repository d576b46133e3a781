"""Errors about a stored recording: it is missing or damaged, or its store does not answer."""

from pathlib import Path

from snapshots.store.layout import FOLDERS


class StoreError(Exception):
    """A stored recording cannot be used."""

    permanent = True  # a retry cannot help


class StoreMissing(StoreError):
    """A folder holds no complete recording."""

    def __init__(self, folder: Path) -> None:
        super().__init__(
            f"No stored recording in {folder.name}: its manifest is missing. "
            "Was it deleted, or did the job that writes it not finish?"
        )


class StoreDamaged(StoreError):
    """A file of a stored recording does not hold what it should.

    Args:
        where: the file's name within the recording.
        what: what is wrong with it, as a sentence.
        cause: the likely cause or the remedy, as a sentence.
    """

    def __init__(self, where: str, what: str, cause: str) -> None:
        super().__init__(f"{where}: {what} {cause}")
        self.where = where
        self.what = what
        self.cause = cause


class StoreUnreachable(Exception):
    """An object store did not do what it was asked to; it may do so later.

    Args:
        where: the address of the object, without credentials.
        cause: the likely cause, in sentences.
    """

    permanent = False

    def __init__(self, where: str, cause: str) -> None:
        super().__init__(f"The object store could not be used at {where}. {cause}")
        self.where = where
        self.cause = cause

    def __reduce__(self) -> tuple[type, tuple[str, str]]:
        return StoreUnreachable, (self.where, self.cause)


class OnAnotherMachine(StoreUnreachable):
    """An open recording is on the machine that opened it, and this is another one."""

    def __init__(self) -> None:
        Exception.__init__(
            self,
            "What has come to this open recording lies on the machine that opened it, and this "
            "request came to another one. Until the recording is closed, the proxy of this server "
            "must send all requests for open recordings to one machine.",
        )

    def __reduce__(self) -> tuple[type, tuple[()]]:
        return OnAnotherMachine, ()


def name_in_recording(path: Path) -> str:
    """Return the name of a file relative to its recording's folder."""
    folder = path.parent.name
    return f"{folder}/{path.name}" if folder in FOLDERS else path.name
