"""Errors about a stored recording: it is missing or damaged, or its store does not answer."""

from pathlib import Path

from snapshots.store.layout import FOLDERS


class StoreError(Exception):
    """A stored recording cannot be used.

    Attributes:
        permanent: whether a retry cannot help.
        code: the last part of the problem's type, for programs.
        title: the problem in a few words, for people.
    """

    permanent = True
    code = "store-damaged"
    title = "Damaged recording"


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


class OfAnotherVersion(StoreDamaged):
    """A recording was stored by a version of Cutline that stored less, or in another layout.

    Args:
        where: the name of the file that says so, within the recording.
        difference: what is other in it, as a sentence.
    """

    is_explained = True  # the message names the cause
    code = "stored-by-another-version"
    title = "Stored by another version"

    def __init__(self, where: str, difference: str) -> None:
        self.where = where
        self.what = f"This recording was stored by another version of Cutline. {difference}"
        self.cause = "Nothing is damaged. It must be read again from its upload."
        Exception.__init__(self, f"{self.what} {self.cause}")

    @classmethod
    def of_layout(cls, where: str, version: object, read: tuple[int, ...]) -> "OfAnotherVersion":
        """Return the error for a layout.

        Args:
            where: the name of the file that names the layout, within the recording.
            version: the version of the layout that it has; none in the oldest.
            read: the versions of the layout that are read.
        """
        found = "older than version 2" if version is None else f"version {version}"
        known = " and ".join(map(str, read))
        return cls(where, f"Its layout is {found}; this Cutline reads version {known}.")


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

    def __init__(self, *_: str) -> None:
        Exception.__init__(
            self,
            "What has come to this open recording lies on the machine that opened it, and this "
            "request came to another one. Until the recording is closed, the proxy of this server "
            "must send all requests for open recordings to one machine.",
        )
        self.where, self.cause = "", str(self)

    def __reduce__(self) -> tuple[type, tuple[str, str]]:
        return OnAnotherMachine, ("", "")


def name_in_recording(path: Path) -> str:
    """Return the name of a file relative to its recording's folder."""
    folder = path.parent.name
    return f"{folder}/{path.name}" if folder in FOLDERS else path.name
