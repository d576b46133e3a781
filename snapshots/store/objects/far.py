"""Read parts of files on an object store, and keep what was read last in memory.

A far file has an address for each of its bytes, but memory only for the blocks that were read.
Whoever reads numbers *holds* their blocks meanwhile: those that are missing are fetched first, and
none that is held is dropped. So what leaves a hold must be a copy.

The limit is one for all files of the process. The blocks that were held longest ago go first.
"""

import mmap
import os
import threading
import time
import weakref
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from itertools import pairwise
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from snapshots.store.errors import StoreDamaged, StoreUnreachable, name_in_recording
from snapshots.store.objects import catalogues, client, seals
from snapshots.store.objects.client import Known
from snapshots.store.objects.paths import ObjectPath
from snapshots.store.objects.together import require_waiting

BLOCK = 16 * 2**10
MOST_BYTES = int(os.environ.get("STORE_CACHE_BYTES") or 512 * 2**20)
_GAP = 64 * 2**10  # bytes between two ranges that are cheaper to read than another request
_LONGEST = 8 * 2**20  # of a request, so that long stretches come in several at the same time
_NO_RESERVE = 0x4000  # Linux' MAP_NORESERVE, which this Python does not name
_DROPPED_TO = 0.9  # of the limit, so that not every read drops something

Ints = NDArray[np.int64]


class _Blocks:
    """All blocks in memory, and the limit on them."""

    def __init__(self, most: int) -> None:
        self.most = most
        self.size = 0
        self.clock = 0
        self.lock = threading.Lock()
        self.filled: dict[int, FarFile] = {}  # files with blocks in memory

    def drop_oldest(self) -> None:
        """Drop blocks that nobody holds until the limit is kept. The lock is held."""
        if self.size <= self.most:
            return
        files = list(self.filled.values())
        free = [np.flatnonzero(file.present & (file.holders == 0)) for file in files]
        used = np.concatenate([file.used[own] for file, own in zip(files, free, strict=True)])
        surplus = -(-int(self.size - _DROPPED_TO * self.most) // BLOCK)
        oldest = np.ones(len(used), np.bool_)
        if surplus < len(used):  # blocks of one hold are equally old, so they are counted
            oldest[np.argpartition(used, surplus)[surplus:]] = False
        ends = np.cumsum([len(own) for own in free])
        for file, own, end in zip(files, free, ends, strict=True):
            file.drop(own[oldest[end - len(own) : end]])


_blocks = _Blocks(MOST_BYTES)
_files: "weakref.WeakValueDictionary[str, FarFile]" = weakref.WeakValueDictionary()
_opening = threading.Lock()


def _begin_anew() -> None:
    """Forget all files in a forked process: it may have got a lock that another thread held."""
    global _blocks, _files, _opening
    _blocks = _Blocks(_blocks.most)
    _files = weakref.WeakValueDictionary()
    _opening = threading.Lock()


os.register_at_fork(after_in_child=_begin_anew)


class FarFile:
    """A file on an object store, of which some blocks are in memory. Safe for threads.

    Attributes:
        memory: the address space of the file; only held blocks have the file's bytes.
        present, holders, used: for each block whether it is in memory, how many hold it, and when
            it was held last.
    """

    def __init__(self, path: ObjectPath, known: Known, content: bytes | None = None) -> None:
        """Take the path of a file, what is known of it, and its bytes if they are known already."""
        self.path = path
        self._known = known
        self._content = content
        self.size = size = known.size
        flags = mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | _NO_RESERVE
        self.memory = mmap.mmap(-1, max(size, 1), flags=flags)
        count = -(-size // BLOCK)
        self.present = np.zeros(count, np.bool_)
        self.holders = np.zeros(count, np.int32)
        self.used = np.zeros(count, np.int64)
        self._fetching = threading.Lock()
        self._failure: StoreUnreachable | None = None
        self._failed_at = 0.0
        self._address = np.frombuffer(self.memory, np.uint8).__array_interface__["data"][0]

    def offset(self, address: int) -> int:
        """Return the place in the file of an address in its memory."""
        return address - self._address

    @contextmanager
    def held(self, starts: Ints, ends: Ints) -> Iterator[None]:
        """Hold the bytes from each of ``starts`` to before its one of ``ends``.

        Raises: StoreDamaged, StoreUnreachable.
        """
        with self.held_blocks(_blocks_of(starts, ends)):
            yield

    @contextmanager
    def held_blocks(self, blocks: Ints) -> Iterator[None]:
        """Hold some blocks, each of which is given once and in order. Raises as ``held`` does."""
        with _blocks.lock:
            _blocks.clock += 1
            self.holders[blocks] += 1
            self.used[blocks] = _blocks.clock
            is_complete = bool(self.present[blocks].all())
        try:
            if not is_complete:
                require_waiting()
                self._fetch(blocks)
            yield
        finally:
            with _blocks.lock:
                self.holders[blocks] -= 1
                _blocks.drop_oldest()

    @contextmanager
    def filled(self, *pieces: tuple[int, bytes]) -> Iterator[None]:
        """Put bytes that are known into the memory, and hold their blocks meanwhile."""
        starts = np.array([start for start, _ in pieces])
        ends = starts + [len(content) for _, content in pieces]
        blocks = _blocks_of(starts, ends)
        with _blocks.lock:
            self.holders[blocks] += 1
        try:
            for start, content in pieces:
                self.memory[start : start + len(content)] = content
            yield
        finally:
            with _blocks.lock:
                self.holders[blocks] -= 1

    def whole(self) -> bytes:
        """Return a copy of all bytes. Raises as ``held`` does."""
        if not self.size:
            return b""
        with self.held(np.zeros(1, np.int64), np.array([self.size])):
            return self.memory[: self.size]

    def between(self, begin: int, end: int) -> bytes:
        """Return some bytes, or none if they are not in the file. Raises as ``held`` does."""
        if not 0 <= begin <= end <= self.size:
            return b""
        with self.held(np.array([begin]), np.array([end])):
            return self.memory[begin:end]

    def fetch(self, starts: Ints, ends: Ints) -> None:
        """Read these bytes with as few requests as later reads of each would need together."""
        with self.held(starts, ends):
            pass

    def drop(self, blocks: Ints) -> None:
        """Release the memory of blocks that nobody holds. The lock of all blocks is held."""
        for first, end in _stretches(blocks):
            self.memory.madvise(mmap.MADV_DONTNEED, first * BLOCK, self._limit(end) - first * BLOCK)
        self.present[blocks] = False
        _blocks.size -= len(blocks) * BLOCK
        if not self.present.any():
            _blocks.filled.pop(id(self), None)

    def _limit(self, block: int) -> int:
        return min(block * BLOCK, self.size)

    def _fetch(self, blocks: Ints) -> None:
        asked_at = time.monotonic()
        with self._fetching:
            if self._failure is not None and self._failed_at >= asked_at:
                raise StoreUnreachable(self._failure.where, self._failure.cause)
            with _blocks.lock:
                missing = blocks[~self.present[blocks]]
            ranges = self._ranges(missing)
            try:
                for (begin, end), content in zip(ranges, self._read(ranges), strict=True):
                    self._fill(begin, end, content)
            except client.CutShort as error:
                where = name_in_recording(self.path)
                raise StoreDamaged(where, error.what, error.cause) from None
            except FileNotFoundError:
                where = name_in_recording(self.path)
                raise StoreDamaged(where, "It is missing.", "Was it deleted?") from None
            except StoreUnreachable as error:  # those who wait fail with it
                self._failure, self._failed_at = error, time.monotonic()
                raise

    def _ranges(self, missing: Ints) -> Sequence[tuple[int, int]]:
        """Return what to ask for so that these blocks come, in whole blocks that have checksums."""
        step = seals.block_of(self.size) if self._known.sums else BLOCK
        longest = max(_LONGEST, step)
        return [
            (begin, min(begin + longest, end * step, self.size))
            for first, end in _stretches(np.unique(missing * BLOCK // step), _GAP // step)
            for begin in range(first * step, min(end * step, self.size), longest)
        ]

    def _read(self, ranges: Sequence[tuple[int, int]]) -> Iterator[bytes]:
        if self._content is not None:
            content = self._content
            return (content[begin:end] for begin, end in ranges)
        return client.read_ranges(self.path.bucket, self.path.key, ranges, self._known)

    def _fill(self, begin: int, end: int, content: bytes) -> None:
        arrived = np.arange(begin // BLOCK, -(-end // BLOCK))
        with _blocks.lock:  # some of the blocks may be there already, held by nobody
            self.memory[begin:end] = content
            _blocks.size += int(np.count_nonzero(~self.present[arrived])) * BLOCK
            self.used[arrived] = _blocks.clock
            self.present[arrived] = True
            _blocks.filled[id(self)] = self


class FarArray:
    """A view of a far file, of which rows are read as an array is indexed. What it gives is a copy.

    Attributes:
        dtype: of its numbers.
    """

    def __init__(self, file: FarFile, view: np.ndarray) -> None:
        self._file, self._view = file, view
        self.dtype = view.dtype
        self._stride, self._width = view.strides[0], view.dtype.itemsize
        self._start = file.offset(view.__array_interface__["data"][0])

    def __len__(self) -> int:
        return len(self._view)

    def __getitem__(self, rows: Any) -> Any:
        with self.held(rows):
            return self._view[rows].copy()

    def take(self, rows: Ints, mode: str = "raise") -> Any:
        """Return rows as numpy's ``take`` does."""
        if mode == "clip":
            rows = np.clip(rows, 0, len(self._view) - 1)
        return self[rows]

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
        """Return all rows, where numpy wants an array."""
        whole: np.ndarray = self[:]
        return whole if dtype is None else whole.astype(dtype)

    def part(self, first: int, count: int) -> "FarArray":
        """Return the view of some neighbouring rows."""
        return FarArray(self._file, self._view[first : first + count])

    def fetch(self, firsts: Ints, ends: Ints, most: int) -> None:
        """Read many stretches of rows at the same time, unless they have more bytes than ``most``.

        Later reads of the same rows then need no request.
        """
        if int(np.maximum(ends - firsts, 0).sum()) * self._stride <= most:
            starts = self._start + firsts * self._stride
            self._file.fetch(starts, self._start + ends * self._stride)

    @contextmanager
    def held(self, rows: Any) -> Iterator[None]:
        """Hold some rows: an array of their numbers, or a slice."""
        with self._file.held_blocks(self._blocks_of(rows)):
            yield

    def _blocks_of(self, rows: Any) -> Ints:
        if isinstance(rows, slice):
            begin, end, _ = rows.indices(len(self._view))
            if end <= begin:
                return np.zeros(0, np.int64)
            first, last = self._bytes_of(np.array([begin, end - 1]))
            return np.arange(first[0] // BLOCK, last[1] // BLOCK + 1)
        if not len(rows):
            return np.zeros(0, np.int64)
        if rows.min() < 0 or rows.max() >= len(self._view):
            raise IndexError(f"there are only {len(self._view)} rows")
        first, last = self._bytes_of(rows)
        wanted = np.zeros(len(self._file.present), np.bool_)
        wanted[first // BLOCK] = True
        wanted[last // BLOCK] = True
        return np.flatnonzero(wanted)

    def _bytes_of(self, rows: Ints) -> tuple[Ints, Ints]:
        """Return the place of the first byte of each row, and of its last one."""
        first = self._start + rows * self._stride
        return first, first + (self._width - 1)


class FarTexts:
    """Texts or blocks of bytes in a far file. What it gives is a copy."""

    def __init__(self, file: FarFile, array: pa.Array) -> None:
        self._file, self._array = file, array
        valid, offsets, content = array.buffers()
        count = array.offset + len(array)
        view = np.frombuffer(offsets, np.int64, count + 1) if offsets else np.zeros(1, np.int64)
        self._offsets = view[array.offset :]
        self._places = FarArray(file, self._offsets) if len(array) else None
        self._content = file.offset(content.address) if content else 0
        self._valid = file.offset(valid.address) if valid and array.null_count else None

    def __len__(self) -> int:
        return len(self._array)

    def take(self, rows: Ints) -> pa.Array:
        """Return the texts of these rows. Raises as ``FarFile.held`` does."""
        if not len(rows):
            return self._array.slice(0, 0)
        with self._held(rows):
            return pa.concat_arrays([self._array.take(pa.array(rows))])

    def block(self, row: int) -> bytes | None:
        """Return the bytes of one row, or None for null."""
        with self._held(np.array([row])):
            content = self._array[row].as_buffer()
            return None if content is None else content.to_pybytes()

    def fetch(self, rows: Ints) -> None:
        """Read these rows at the same time; later reads of them then need no request."""
        if len(rows):
            with self._held(rows):
                pass

    @contextmanager
    def _held(self, rows: Ints) -> Iterator[None]:
        assert self._places is not None
        both = np.concatenate([rows, rows + 1])
        bits = self._valid_bytes(rows)
        with self._places.held(both), self._file.held(bits, bits + 1):
            begin = self._content + self._offsets[rows]
            with self._file.held(begin, self._content + self._offsets[rows + 1]):
                yield

    def _valid_bytes(self, rows: Ints) -> Ints:
        if self._valid is None:
            return np.zeros(0, np.int64)
        return self._valid + (self._array.offset + rows) // 8


def block_of(blocks: pa.Array | FarTexts, row: int) -> Any:
    """Return the bytes of one row of a column of bytes, whether it is mapped or far."""
    return blocks.block(row) if isinstance(blocks, FarTexts) else blocks[row].as_buffer()


def _blocks_of(starts: Ints, ends: Ints) -> Ints:
    """Return the numbers of all blocks that these bytes lie in, each once."""
    filled = ends > starts
    first, last = starts[filled] // BLOCK, (ends[filled] - 1) // BLOCK
    if (first == last).all():
        return np.unique(first)
    counts = last - first + 1
    within = np.arange(counts.sum()) - np.repeat(np.cumsum(counts) - counts, counts)
    return np.unique(np.repeat(first, counts) + within)


def _stretches(blocks: Ints, gap: int = 0) -> list[tuple[int, int]]:
    """Join sorted blocks with at most ``gap`` others between them, as (first, end)."""
    if not len(blocks):
        return []
    cuts = np.flatnonzero(np.diff(blocks) > gap + 1) + 1
    bounds = [0, *cuts.tolist(), len(blocks)]
    return [(int(blocks[first]), int(blocks[end - 1]) + 1) for first, end in pairwise(bounds)]


def far_file(path: ObjectPath) -> FarFile:
    """Return the far file at a path, the same for all who ask while it is in use.

    Raises: FileNotFoundError, StoreUnreachable.
    """
    name = str(path)
    file = _files.get(name)
    if file is None:
        entry = catalogues.entry(path.bucket, path.key)
        content = entry.head if entry and entry.is_whole else None
        known = entry.known if entry else client.look(path.bucket, path.key)
        with _opening:
            file = _files.setdefault(name, FarFile(path, known, content))
    return file


def far_batch(path: ObjectPath) -> tuple[FarFile, pa.RecordBatch]:
    """Open a file that holds one record batch; its columns are views that must be held.

    Raises: FileNotFoundError, StoreUnreachable; pa.ArrowInvalid if it is not of this form.
    """
    file = far_file(path)
    known = catalogues.entry(path.bucket, path.key)
    if known is not None and known.is_whole:
        pieces: Sequence[tuple[int, bytes]] = [(0, known.head)]
    elif known is not None and known.head:
        pieces = [(0, known.head), (file.size - len(known.tail), known.tail)]
    else:
        pieces = _frame(file)
    with file.filled(*pieces):
        reader = pa.ipc.open_file(pa.py_buffer(file.memory))
        if reader.num_record_batches != 1:
            raise pa.ArrowInvalid(f"{reader.num_record_batches} record batches, not 1")
        return file, reader.get_batch(0)


def _frame(file: FarFile) -> Sequence[tuple[int, bytes]]:
    """Read what of an Arrow file lies before and after the body of its first batch."""
    size = file.size

    def read(begin: int, end: int) -> bytes:
        with file.held(np.array([begin]), np.array([end])):
            return file.memory[begin:end]

    head = catalogues.whole_head(read, size)
    tail = catalogues.whole_tail(read, size)
    return [(0, head), (size - len(tail), tail)]


def kept_bytes() -> int:
    """Return the bytes of all blocks in memory."""
    return _blocks.size
