"""Locate stored recordings: the store URL and the folders under it.

``file:`` names a folder, whose files are mapped into memory. ``s3:`` names a bucket and a prefix of
an object store, whose files are read by ranges; see ``objects``.
"""

import re
import secrets
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import unquote, urlsplit

from snapshots.store.objects.paths import SCHEME, is_here, object_root

_NAME = re.compile(r"[A-Za-z0-9_-][A-Za-z0-9_-]*")
TEMPORARY = ".tmp-"


@dataclass(frozen=True, slots=True)
class Store:
    """The folder that holds the recordings' folders."""

    root: Path

    @property
    def is_here(self) -> bool:
        """Tell whether the store is a folder, and not on an object store."""
        return is_here(self.root)

    @classmethod
    def at(cls, url: str) -> "Store":
        """Return the store at ``url``: ``file:`` and a path, or ``s3://``, a bucket and a prefix.

        A relative path begins at the working folder. Raises: ValueError, with a sentence, for
        another scheme, a host or an empty path.
        """
        parts = urlsplit(url)
        if parts.scheme == SCHEME:
            try:
                return cls(object_root(url))
            except ValueError as error:
                raise ValueError(f"STORE_URL is wrong. {error}") from None
        if parts.scheme != "file":
            raise ValueError(
                f"STORE_URL={url!r}: only file: and s3: are known, as in file:///var/cutline and "
                "s3://bucket/prefix"
            )
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
        """Create an empty folder beside ``folder(name)``, from which ``publish`` moves it there.

        On an object store it is ``folder(name)`` itself, since ``publish`` moves nothing there.
        """
        if not self.is_here:
            return self.folder(name)
        folder = self.root / f"{self.folder(name).name}{TEMPORARY}{secrets.token_hex(8)}"
        folder.mkdir(parents=True)
        return folder
