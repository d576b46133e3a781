"""What can be wrong with a stored recording."""

from pathlib import Path

from snapshots.store.layout import FOLDERS


class StoreError(Exception):
    """A stored recording cannot be used; ``permanent``: a retry cannot help."""

    permanent = True


class StoreMissing(StoreError):
    """There is no complete recording at that place."""

    def __init__(self, folder: Path) -> None:
        super().__init__(
            f"No stored recording in {folder.name}: its manifest is missing. "
            "Was it deleted, or did the job that writes it not finish?"
        )


class StoreDamaged(StoreError):
    """A file of a stored recording does not hold what it should: what, where, likely cause."""

    def __init__(self, where: str, what: str, cause: str) -> None:
        super().__init__(f"{where}: {what} {cause}")
        self.where = where
        self.what = what
        self.cause = cause


def place_of(path: Path) -> str:
    """A file's name within its recording."""
    folder = path.parent.name
    return f"{folder}/{path.name}" if folder in FOLDERS else path.name
