"""A disk that fails at a chosen write: a FUSE file system over a folder, run as a process.

``/usr/bin/python3 faulty_disk.py FOLDER MOUNTPOINT``, with Debian's python3-pyfuse3. It reads an
order on each line of its input and writes one answer for each, both as JSON:

* ``{"at": n, "fault": "full", "group": g}`` counts from here on, and lets the n-th change meet the
  fault; only the processes of group g change anything meanwhile;
* ``null`` answers how many were counted so far, and ``"power"`` cuts the power at once;
* ``{}`` ends that, and answers ``[[kind, path], …]``: what was counted.

A change is a write, a sync, or anything else that alters the folder or a file in it. The faults:

* ``full``: of the n-th change, if it is a write, one half fits; then nothing more does (ENOSPC);
* ``error``: the n-th change fails (EIO), and no other;
* ``read-only``: from the n-th change on everything fails (EROFS);
* ``torn``: of the n-th change, if it is a write, one half is done, and whoever makes it is killed;
* ``power``: the same, and what was not synced is lost: of each file the bytes since its last sync,
  and of each folder the entries since its own.
"""

import errno
import json
import os
import signal
import stat
import sys
from collections import defaultdict
from dataclasses import dataclass, field
from pathlib import Path

import pyfuse3
import trio
from unsynced import Unsynced, remove

NOT_COUNTED = "-shm"  # SQLite's index of its log, which is made anew whenever it is opened
CACHED_SECONDS = 3600  # all changes go through the disk, or are made in a folder that nobody knows
GROWING = {"write", "create", "mkdir", "link", "symlink"}
LASTING = {"full": errno.ENOSPC, "read-only": errno.EROFS}
DEADLY = {"torn", "power"}
WRITING = os.O_WRONLY | os.O_RDWR


@dataclass
class Order:
    """Which change meets which fault, and what was changed so far."""

    at: int = 0  # never
    fault: str = ""
    group: int = 0
    changes: list[tuple[str, str]] = field(default_factory=list)
    is_struck: bool = False


class Half(Exception):
    """A write was cut short after its first half."""


class FaultyDisk(pyfuse3.Operations):
    """The files of a folder, whose inodes are known by open descriptors."""

    def __init__(self, root: str) -> None:
        super().__init__()
        self.order = Order()
        self.unsynced = Unsynced()
        self._descriptors = {pyfuse3.ROOT_INODE: os.open(root, os.O_PATH)}
        self._known: defaultdict[int, int] = defaultdict(int)
        self._listed: dict[int, tuple[int, list[str]]] = {}
        self._root = Path(root).stat().st_ino

    # --- faults --------------------------------------------------------------------------------

    def _meet(self, kind: str, path: str) -> None:
        """Count a change and let it meet its fault. Raises: FUSEError, Half."""
        order = self.order
        if path.endswith(NOT_COUNTED):
            return
        if order.is_struck:
            raise pyfuse3.FUSEError(errno.EIO)
        order.changes.append((kind, path))
        number = len(order.changes)
        if not order.at or number < order.at:
            return
        if order.fault == "error" and number == order.at:
            raise pyfuse3.FUSEError(errno.EIO)
        if order.fault in DEADLY and number == order.at:
            order.is_struck = True
            if kind == "write":
                raise Half
            self._strike()
        if order.fault in LASTING and (order.fault != "full" or kind in GROWING):
            if order.fault == "full" and number == order.at and kind == "write":
                raise Half
            raise pyfuse3.FUSEError(LASTING[order.fault])

    def _strike(self) -> None:
        """Kill who met the fault. Raises: FUSEError."""
        os.killpg(self.order.group, signal.SIGKILL)
        if self.order.fault == "power":
            self.unsynced.take_back()
        raise pyfuse3.FUSEError(errno.EIO)

    # --- inodes --------------------------------------------------------------------------------

    def _link(self, inode: int) -> Path:
        return Path(f"/proc/self/fd/{self._descriptors[inode]}")

    def _path(self, inode: int) -> Path:
        return self._link(inode).readlink()

    def _shown(self, inode: int, name: bytes = b"") -> str:
        """Return a path as it is counted: within the disk."""
        whole = self._path(inode) / os.fsdecode(name)
        shown = whole.relative_to(self._path(pyfuse3.ROOT_INODE)).as_posix()
        return shown.removesuffix(" (deleted)")

    def _at(self, parent: int, name: bytes) -> Path:
        return self._path(parent) / os.fsdecode(name)

    def _held(self, parent: int, name: bytes) -> Path:
        """Return a path that stays right when the folder gets another name."""
        return self.unsynced.held(self._descriptors[parent]) / os.fsdecode(name)

    def _own(self, inode: int) -> int:
        """Return the number of an inode in the folder below."""
        return self._root if inode == pyfuse3.ROOT_INODE else inode

    def _entry(self, parent: int, name: bytes, *, keep: bool = True) -> pyfuse3.EntryAttributes:
        try:
            descriptor = os.open(self._at(parent, name), os.O_PATH | os.O_NOFOLLOW)
        except OSError as error:
            raise pyfuse3.FUSEError(error.errno) from None
        found = os.fstat(descriptor)
        if not keep or found.st_ino in self._descriptors:
            os.close(descriptor)
        else:
            self._descriptors[found.st_ino] = descriptor
        if keep:
            self._known[found.st_ino] += 1
        return _attributes(found)

    async def lookup(self, parent, name, ctx):
        return self._entry(parent, name)

    async def forget(self, inode_list):
        for inode, count in inode_list:
            self._known[inode] -= count
            if self._known[inode] <= 0 and inode != pyfuse3.ROOT_INODE:
                del self._known[inode]
                os.close(self._descriptors.pop(inode))

    async def getattr(self, inode, ctx):
        found = _attributes(os.fstat(self._descriptors[inode]))
        found.st_ino = inode
        return found

    async def access(self, inode, mode, ctx):
        return True

    async def statfs(self, ctx):
        found, told = os.statvfs(self._path(pyfuse3.ROOT_INODE)), pyfuse3.StatvfsData()
        for name in ("bsize", "frsize", "blocks", "bfree", "bavail", "files", "ffree", "favail"):
            setattr(told, f"f_{name}", getattr(found, f"f_{name}"))
        return told

    # --- files ---------------------------------------------------------------------------------

    async def open(self, inode, flags, ctx):
        if flags & os.O_TRUNC:
            self._meet("truncate", self._shown(inode))
            self._truncate(inode, 0)
        elif flags & WRITING and self._is_read_only():
            raise pyfuse3.FUSEError(errno.EROFS)
        kind = os.O_RDWR if flags & WRITING else os.O_RDONLY
        return pyfuse3.FileInfo(fh=os.open(self._link(inode), kind), keep_cache=True)

    def _is_read_only(self) -> bool:
        order = self.order
        return order.fault == "read-only" and len(order.changes) >= order.at

    async def create(self, parent, name, mode, flags, ctx):
        self._meet("create", self._shown(parent, name))
        path = self._at(parent, name)
        try:
            handle = os.open(path, os.O_CREAT | os.O_EXCL | os.O_RDWR, mode & 0o7777)
        except OSError as error:
            raise pyfuse3.FUSEError(error.errno) from None
        entry = self._entry(parent, name)
        self.unsynced.made(self._descriptors[entry.st_ino])
        self._undo_by_removing(parent, name)
        return pyfuse3.FileInfo(fh=handle, keep_cache=True), entry

    async def read(self, fh, off, size):
        return os.pread(fh, size, off)

    async def write(self, fh, off, buf):
        inode = os.fstat(fh).st_ino
        try:
            self._meet("write", self._shown(inode))
        except Half:
            half = len(buf) // 2
            self.unsynced.before_change(self._descriptors[inode])
            written = os.pwrite(fh, buf[:half], off) if half else 0
            if self.order.fault in DEADLY:
                self._strike()
            if not written:
                raise pyfuse3.FUSEError(errno.ENOSPC) from None
            return written
        self.unsynced.before_change(self._descriptors[inode])
        return os.pwrite(fh, buf, off)

    async def fsync(self, fh, datasync):
        inode = os.fstat(fh).st_ino
        self._meet("sync", self._shown(inode))
        self.unsynced.synced(inode)

    async def fsyncdir(self, fh, datasync):
        inode, _ = self._listed[fh]
        self._meet("sync", self._shown(inode))
        self.unsynced.synced(self._own(inode))

    async def flush(self, fh):
        raise pyfuse3.FUSEError(errno.ENOSYS)  # the kernel asks once, and then no more

    async def release(self, fh):
        os.close(fh)

    async def setattr(self, inode, attr, fields, fh, ctx):
        kind = "truncate" if fields.update_size else "attributes"
        self._meet(kind, self._shown(inode))
        link = self._link(inode)
        if fields.update_size:
            self._truncate(inode, attr.st_size)
        if fields.update_mode:
            link.chmod(stat.S_IMODE(attr.st_mode))
        if fields.update_atime or fields.update_mtime:
            now = os.fstat(self._descriptors[inode])
            atime = attr.st_atime_ns if fields.update_atime else now.st_atime_ns
            mtime = attr.st_mtime_ns if fields.update_mtime else now.st_mtime_ns
            os.utime(link, ns=(atime, mtime))
        return await self.getattr(inode, ctx)

    def _truncate(self, inode: int, size: int) -> None:
        link = self._link(inode)
        self.unsynced.before_change(self._descriptors[inode])
        os.truncate(link, size)

    # --- folders -------------------------------------------------------------------------------

    async def mkdir(self, parent, name, mode, ctx):
        self._meet("mkdir", self._shown(parent, name))
        try:
            self._at(parent, name).mkdir(mode & 0o7777)
        except OSError as error:
            raise pyfuse3.FUSEError(error.errno) from None
        self._undo_by_removing(parent, name)
        return self._entry(parent, name)

    def _undo_by_removing(self, parent: int, name: bytes) -> None:
        path = self._held(parent, name)
        self.unsynced.entry({self._own(parent)}, lambda: remove(path))

    async def rmdir(self, parent, name, ctx):
        self._meet("rmdir", self._shown(parent, name))
        path = self._at(parent, name)
        try:
            path.rmdir()
        except OSError as error:
            raise pyfuse3.FUSEError(error.errno) from None
        self.unsynced.entry({self._own(parent)}, self._held(parent, name).mkdir)

    async def unlink(self, parent, name, ctx):
        self._meet("unlink", self._shown(parent, name))
        path = self._held(parent, name)
        content = path.read_bytes()
        path.unlink()
        self.unsynced.entry({self._own(parent)}, lambda: path.write_bytes(content))

    async def link(self, inode, new_parent, new_name, ctx):
        self._meet("link", self._shown(new_parent, new_name))
        try:
            os.link(self._path(inode), self._at(new_parent, new_name))
        except OSError as error:
            raise pyfuse3.FUSEError(error.errno) from None
        self._undo_by_removing(new_parent, new_name)
        return self._entry(new_parent, new_name)

    async def rename(self, parent_old, name_old, parent_new, name_new, flags, ctx):
        self._meet("rename", self._shown(parent_new, name_new))
        old, new = self._held(parent_old, name_old), self._held(parent_new, name_new)
        replaced = new.read_bytes() if new.is_file() else None
        try:
            old.rename(new)
        except OSError as error:
            raise pyfuse3.FUSEError(error.errno) from None

        def undo() -> None:
            if new.exists():
                new.rename(old)
            if replaced is not None:
                new.write_bytes(replaced)

        self.unsynced.entry({self._own(parent_old), self._own(parent_new)}, undo)

    async def opendir(self, inode, ctx):
        handle = max(self._listed, default=0) + 1
        self._listed[handle] = (inode, sorted(path.name for path in self._link(inode).iterdir()))
        return handle

    async def readdir(self, fh, start_id, token):
        inode, names = self._listed[fh]
        for number, name in enumerate(names[start_id:], start=start_id + 1):
            raw = os.fsencode(name)
            try:
                entry = self._entry(inode, raw, keep=False)
            except pyfuse3.FUSEError:
                continue
            if not pyfuse3.readdir_reply(token, raw, entry, number):
                return
            self._entry(inode, raw)

    async def releasedir(self, fh):
        del self._listed[fh]


def _attributes(found: os.stat_result) -> pyfuse3.EntryAttributes:
    entry = pyfuse3.EntryAttributes()
    for name in ("ino", "mode", "nlink", "uid", "gid", "rdev", "size", "atime_ns", "mtime_ns"):
        setattr(entry, f"st_{name}", getattr(found, f"st_{name}"))
    entry.st_ctime_ns = found.st_ctime_ns
    entry.st_blksize, entry.st_blocks = 4096, found.st_blocks
    entry.generation = 0
    entry.entry_timeout = entry.attr_timeout = CACHED_SECONDS
    return entry


async def _take_orders(disk: FaultyDisk) -> None:
    """Carry out each order of the input; end the disk with it."""
    given = b""
    stream = trio.lowlevel.FdStream(os.dup(0))
    while piece := await stream.receive_some(65536):
        given += piece
        while b"\n" in given:
            line, _, given = given.partition(b"\n")
            order, changes = json.loads(line), disk.order.changes
            if order == "power":
                disk.unsynced.take_back()
            elif order is not None:
                disk.order = Order(**order)
                disk.unsynced.forget()
            print(json.dumps(changes if isinstance(order, dict) else len(changes)), flush=True)
    pyfuse3.terminate()


async def _serve(disk: FaultyDisk) -> None:
    async with trio.open_nursery() as nursery:
        nursery.start_soon(_take_orders, disk)
        print(json.dumps([]), flush=True)
        await pyfuse3.main(min_tasks=1, max_tasks=1)
        nursery.cancel_scope.cancel()


def main(folder: str, mountpoint: str) -> None:
    os.umask(0)
    disk = FaultyDisk(folder)
    pyfuse3.init(disk, mountpoint, {"fsname=faulty"} | set(pyfuse3.default_options))
    try:
        trio.run(_serve, disk)
    finally:
        pyfuse3.close()


if __name__ == "__main__":
    main(*sys.argv[1:])
