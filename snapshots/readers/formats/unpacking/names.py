"""Checks the names in an archive: none leads out of the folder, and none stands for two files."""

import re

from snapshots.domain.model.defects import quoted, refuse

_LONGEST_PART = 255  # bytes: what file systems take
_DRIVE = re.compile(r"[A-Za-z]:")
_CONTROL = re.compile(r"[\x00-\x1f\x7f]")
_NOT_PLAIN = re.compile(r"[^A-Za-z0-9._=+-]")


class Names:
    """The names of one archive.

    Args:
        depth: how many parts a name may have.
        name_bytes: how long a whole name may be.
        plain: whether files get names of letters, digits and ._=+- alone.
    """

    def __init__(self, depth: int, name_bytes: int, *, plain: bool = False) -> None:
        self._depth, self._name_bytes, self._plain = depth, name_bytes, plain
        self._files: set[tuple[str, ...]] = set()
        self._folders: set[tuple[str, ...]] = {()}
        self._given: dict[tuple[str, ...], str] = {(): ""}
        self._used: set[str] = set()

    def parts(self, name: str) -> tuple[str, ...]:
        """Return the folders and the file of a name; ``.`` and doubled slashes are left out.

        Raises: InputRefused (``unsafe-archive``).
        """
        path = name.replace("\\", "/")
        if _CONTROL.search(name):
            raise _unsafe(name, "holds a control character")
        if path.startswith("/"):
            raise _unsafe(name, "is absolute")
        if _DRIVE.match(path):
            raise _unsafe(name, "begins with a drive letter")
        parts = tuple(part for part in path.split("/") if part not in ("", "."))
        if ".." in parts:
            raise _unsafe(name, 'leads out of its folder with ".."')
        if len(parts) > self._depth:
            raise _unsafe(name, f"is nested more than {self._depth} folders deep")
        if len(name.encode("utf-8", "replace")) > self._name_bytes or any(
            len(part.encode("utf-8", "replace")) > _LONGEST_PART for part in parts
        ):
            raise _unsafe(name, "is too long")
        return parts

    def take_folder(self, parts: tuple[str, ...]) -> None:
        """Note a folder and those above it. Raises: InputRefused if one of them is a file."""
        for length in range(1, len(parts) + 1):
            if parts[:length] in self._files:
                raise _unsafe("/".join(parts), "is a file and a folder at once")
            self._folders.add(parts[:length])

    def take_file(self, parts: tuple[str, ...]) -> str:
        """Return the name under which to write a file. Raises: InputRefused if it is taken."""
        self.take_folder(parts[:-1])
        if parts in self._files:
            raise _unsafe("/".join(parts), "stands twice")
        if parts in self._folders:
            raise _unsafe("/".join(parts), "is a file and a folder at once")
        self._files.add(parts)
        return self._plain_name(parts) if self._plain else "/".join(parts)

    def _plain_name(self, parts: tuple[str, ...]) -> str:
        if parts not in self._given:
            parent = self._plain_name(parts[:-1])
            stem = _NOT_PLAIN.sub("_", parts[-1])[:200]
            name, number = f"{parent}/{stem}".lstrip("/"), 2
            while name in self._used:
                name, number = f"{parent}/{stem}-{number}".lstrip("/"), number + 1
            self._used.add(name)
            self._given[parts] = name
        return self._given[parts]


def _unsafe(name: str, reason: str) -> Exception:
    return refuse("unsafe-archive", f"In the package, the name {quoted(name)} {reason}.")
