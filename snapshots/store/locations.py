"""Where stored recordings lie: the store URL and the folders under it.

The only scheme is ``file:``. Another one belongs in ``Store.at`` and nowhere else: it would bring
the folder to a local one first, since readers map files into memory.
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
        """The store at ``url``: ``file:`` and a path, absolute or relative to the working folder.

        Raises: ValueError, with a sentence, for another scheme, a host or an empty path.
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
        """The folder of one recording. name: letters, digits, ``_``, ``-``. Raises: ValueError."""
        if not _NAME.fullmatch(name):
            raise ValueError(f"{name!r} is no name of a stored recording")
        return self.root / name

    def temporary(self, name: str) -> Path:
        """A new empty folder beside ``folder(name)``, to be published there."""
        folder = beside(self.folder(name), TEMPORARY)
        folder.mkdir(parents=True)
        return folder


def beside(folder: Path, mark: str) -> Path:
    """A sibling of ``folder`` with a name that nobody else takes."""
    return folder.with_name(f"{folder.name}{mark}{secrets.token_hex(8)}")
