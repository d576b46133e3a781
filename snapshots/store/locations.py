"""Locate stored recordings: the store URL and the folders under it.

The only scheme is ``file:``. Any other scheme belongs in ``Store.at`` alone. It would have to copy
a recording to a local folder first, because files are mapped into memory.
"""

import re
import secrets
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import unquote, urlsplit

_NAME = re.compile(r"[A-Za-z0-9_-][A-Za-z0-9_-]*")
TEMPORARY = ".tmp-"
REPLACED = ".old-"


@dataclass(frozen=True, slots=True)
class Store:
    """The folder that holds the recordings' folders."""

    root: Path

    @classmethod
    def at(cls, url: str) -> "Store":
        """Return the store at ``url``, which is ``file:`` and a path.

        A relative path begins at the working folder. Raises: ValueError, with a sentence, for
        another scheme, a host or an empty path.
        """
        parts = urlsplit(url)
        if parts.scheme != "file":
            raise ValueError(f"STORE_URL={url!r}: only file: is known, as in file:///var/cutline")
        if parts.netloc not in ("", "localhost") or not parts.path:
            raise ValueError(
                f"STORE_URL={url!r} names no folder of this machine. Is a slash missing?"
            )
        return cls(Path(unquote(parts.path)).absolute())

    def folder(self, name: str) -> Path:
        """Return the folder of one recording.

        Raises: ValueError if ``name`` has anything but letters, digits, ``_`` and ``-``.
        """
        if not _NAME.fullmatch(name):
            raise ValueError(f"{name!r} is no name of a stored recording")
        return self.root / name

    def temporary(self, name: str) -> Path:
        """Create an empty folder beside ``folder(name)``, from which ``publish`` moves it there."""
        folder = beside(self.folder(name), TEMPORARY)
        folder.mkdir(parents=True)
        return folder


def beside(folder: Path, mark: str) -> Path:
    """Return the path of a sibling of ``folder`` with a unique name."""
    return folder.with_name(f"{folder.name}{mark}{secrets.token_hex(8)}")
