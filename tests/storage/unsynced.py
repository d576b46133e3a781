"""What a power cut takes back: the bytes and the entries of folders that were not synced."""

import os
import shutil
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path


class Unsynced:
    """What was changed since it was synced last, and how it was before."""

    def __init__(self) -> None:
        self._contents: dict[int, tuple[int, bytes]] = {}  # of files: a descriptor, and the bytes
        self._folders: list[int] = []
        self._entries: list[tuple[set[int], Callable[[], None]]] = []  # the folders, and the undo

    def before_change(self, descriptor: int) -> None:
        """Note that the bytes of a file change now."""
        self._note(descriptor, lambda: _link(descriptor).read_bytes())

    def made(self, descriptor: int) -> None:
        """Note that a file was made, which is empty."""
        self._note(descriptor, bytes)

    def _note(self, descriptor: int, content: Callable[[], bytes]) -> None:
        inode = os.fstat(descriptor).st_ino
        if inode not in self._contents:
            self._contents[inode] = os.dup(descriptor), content()

    def held(self, descriptor: int) -> Path:
        """Return a path of a folder that stays right until everything is synced."""
        self._folders.append(os.dup(descriptor))
        return _link(self._folders[-1])

    def entry(self, folders: set[int], undo: Callable[[], None]) -> None:
        """Note that entries of folders, which are named by their inodes, were changed."""
        self._entries.append((folders, undo))

    def synced(self, inode: int) -> None:
        """Note that a file or a folder was synced."""
        if inode in self._contents:
            os.close(self._contents.pop(inode)[0])
        self._entries = [each for each in self._entries if inode not in each[0]]

    def forget(self) -> None:
        """Note that everything was synced."""
        for inode in list(self._contents):
            self.synced(inode)
        self._entries.clear()
        while self._folders:
            os.close(self._folders.pop())

    def take_back(self) -> None:
        """Undo everything that was not synced."""
        for descriptor, content in self._contents.values():
            if os.fstat(descriptor).st_nlink:
                _link(descriptor).write_bytes(content)
        for _, undo in reversed(self._entries):
            with suppress(FileNotFoundError):  # its folder was removed
                undo()
        self.forget()


def remove(path: Path) -> None:
    """Remove a file, or a folder with all that is in it, if it is there."""
    if path.is_dir():
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)


def _link(descriptor: int) -> Path:
    return Path(f"/proc/self/fd/{descriptor}")
