"""How old the files of a folder are, for commands that call only old files left over."""

import re
import time
from pathlib import Path

_SECONDS = {"m": 60, "h": 3_600, "d": 86_400}
_AGE = re.compile(r"(\d{1,6})([mhd])")


def seconds(text: str) -> int:
    """Return an age such as ``30m``, ``12h`` or ``7d`` in seconds. Raises: ValueError."""
    match = _AGE.fullmatch(text)
    if match is None:
        raise ValueError(f"{text!r} is no age: write 30m, 12h or 7d")
    return int(match[1]) * _SECONDS[match[2]]


class Ages:
    """The ages of files below a folder, by when they were last modified.

    Args:
        folder: the folder; None if the files come out of a package, which keeps no times.
    """

    def __init__(self, folder: Path | None) -> None:
        self._folder = folder
        self._now = time.time()

    def of(self, path: str) -> float | None:
        """Return the age of a file or folder in seconds; None if it is not known."""
        if self._folder is None:
            return None
        try:
            return max(0.0, self._now - (self._folder / path).lstat().st_mtime)
        except OSError:
            return None

    def is_older(self, path: str, limit: int) -> bool:
        """Tell whether a file is at least that old; without a limit every file is."""
        age = self.of(path)
        return not limit or (age is not None and age >= limit)

    def lacks_metadata(self, folder: str) -> bool:
        """Tell whether this is a folder without a `_metadata`, as one of a checkpoint under way."""
        if self._folder is None:
            return False
        path = self._folder / folder
        return path.is_dir() and not (path / "_metadata").exists()

    def newest_below(self, folder: str) -> float | None:
        """Return the least age of the folder and all below it; None if that is not known."""
        if self._folder is None:
            return None
        inside = (self._folder / folder).rglob("*")
        paths = [folder, *(path.relative_to(self._folder).as_posix() for path in inside)]
        return min((age for age in map(self.of, paths) if age is not None), default=None)
