"""The catalogue of a published recording: its files, their sizes, and what is needed to open them.

It is one object, ``published``, that is written last. So a recording is published or it is not,
and a process opens any number of parts with one request. Small files are in it as a whole; of a
larger Arrow file it has the beginning and the end, which say where the columns lie, and of a larger
matrix the beginning, which says how it is laid out. Of each file it has the checksums of its seal,
so whatever is read later is what was published. Older catalogues have none.
"""

import threading
from collections import OrderedDict
from collections.abc import Callable, Mapping
from dataclasses import dataclass

import pyarrow as pa

from snapshots.store.errors import StoreDamaged
from snapshots.store.objects import client, seals
from snapshots.store.objects.client import Known

CATALOGUE = "published"
_SCHEMA = pa.schema(
    [
        ("name", pa.string()),
        ("size", pa.int64()),
        ("head", pa.large_binary()),
        ("tail", pa.large_binary()),
        ("sums", pa.large_binary()),
    ]
)
_UNSEALED = _SCHEMA.remove(_SCHEMA.get_field_index("sums"))  # of older catalogues
_OPTIONS = pa.ipc.IpcWriteOptions(compression=pa.Codec("zstd", 3))
_SMALL = 32 * 2**10  # bytes of a file that the catalogue holds as a whole
_MOST_KEPT = 64  # catalogues in memory
_MAGIC = b"ARROW1"
_MATRIX = b"\x93NUMPY"
LONGEST_HEADER = 1024  # bytes before the numbers of a matrix, at most
_FIRST_READ = 32 * 2**10

_kept: "OrderedDict[tuple[str, str], Mapping[str, Entry]]" = OrderedDict()
_lock = threading.Lock()


@dataclass(frozen=True, slots=True)
class Entry:
    """One file of a published recording: its size, first and last bytes, and checksums."""

    size: int
    head: bytes
    tail: bytes
    sums: bytes = b""

    @property
    def known(self) -> Known:
        """Return what each answer about the file must agree with."""
        return Known(self.size, self.sums)

    @property
    def is_whole(self) -> bool:
        """Tell whether all bytes of the file are known."""
        return len(self.head) == self.size


def publish(bucket: str, folder: str, names: Mapping[str, int]) -> None:
    """Write the catalogue of these files, given with their sizes, and so publish the folder."""

    def entry(name: str) -> Entry:
        return _read_entry(bucket, f"{folder}/{name}", names[name])

    entries = dict(zip(names, client.in_parallel().map(entry, names), strict=True))
    rows = [
        {"name": name} | {part: getattr(item, part) for part in Entry.__slots__}
        for name, item in entries.items()
    ]
    sink = pa.BufferOutputStream()
    with pa.ipc.new_file(sink, _SCHEMA, options=_OPTIONS) as writer:
        writer.write_table(pa.Table.from_pylist(rows, _SCHEMA))
    client.write(bucket, f"{folder}/{CATALOGUE}", sink.getvalue().to_pybytes())
    _keep(bucket, folder, entries)


def _read_entry(bucket: str, key: str, size: int) -> Entry:
    if size <= _SMALL:
        content = client.read(bucket, key)
        sums = seals.sums_of(content, seals.block_of(len(content)))
        return Entry(len(content), content, b"", sums)
    known = client.look(bucket, key)
    size = known.size

    def read(begin: int, end: int) -> bytes:
        return client.read_range(bucket, key, begin, end, known)

    head = read(0, LONGEST_HEADER)
    if head.startswith(_MATRIX):
        return Entry(size, head, b"", known.sums)
    if not head.startswith(_MAGIC):
        return Entry(size, b"", b"", known.sums)
    return Entry(size, whole_head(read, size), whole_tail(read, size), known.sums)


def whole_head(read: Callable[[int, int], bytes], size: int) -> bytes:
    """Return the bytes that an Arrow file has before the body of its first batch.

    ``read`` returns the bytes from one place to before another; ``size`` is the file's.
    """
    head = read(0, min(_FIRST_READ, size))
    first = 16 + _number(head, 12)  # after the schema, where the length of the next message is
    if first + 8 > len(head):
        head = read(0, min(first + 8, size))
    end = min(first + 8 + _number(head, first + 4), size)
    return head[:end] if end <= len(head) else read(0, end)


def whole_tail(read: Callable[[int, int], bytes], size: int) -> bytes:
    """Return the footer of an Arrow file and all that follows it."""
    tail = read(max(size - _FIRST_READ, 0), size)
    length = min(10 + _number(tail, len(tail) - 10), size)
    return tail[-length:] if length <= len(tail) else read(size - length, size)


def _number(content: bytes, place: int) -> int:
    return int.from_bytes(content[max(place, 0) : max(place, 0) + 4], "little")


def entry(bucket: str, key: str) -> Entry | None:
    """Return what is known of an object without a request: None if no catalogue has it."""
    found = _catalogue_of(bucket, key)
    return found[0].get(found[1]) if found else None


def lacks(bucket: str, key: str) -> bool:
    """Tell without a request that a published recording has no such file and no such folder.

    False if that is not known.
    """
    found = _catalogue_of(bucket, key)
    if found is None or found[1] == CATALOGUE:
        return False
    kept, name = found
    return not any(other == name or other.startswith(f"{name}/") for other in kept)


def _catalogue_of(bucket: str, key: str) -> "tuple[Mapping[str, Entry], str] | None":
    """Return the catalogue of the recording that an object belongs to, and its name there."""
    folder, _, name = key.rpartition("/")
    for _ in range(2):  # a file of the recording, or one in a folder of it
        with _lock:
            kept = _kept.get((bucket, folder))
        if kept is not None:
            return kept, name
        folder, _, parent = folder.rpartition("/")
        name = f"{parent}/{name}"
    return None


def load(bucket: str, folder: str) -> None:
    """Read the catalogue of a folder once; one that is not published has none.

    Raises: StoreDamaged, StoreUnreachable.
    """
    with _lock:
        if (bucket, folder) in _kept:
            _kept.move_to_end((bucket, folder))
            return
    try:
        content = client.read(bucket, f"{folder}/{CATALOGUE}")
    except FileNotFoundError:
        return
    _keep(bucket, folder, _entries(content))


def fault(bucket: str, folder: str) -> str | None:
    """Return in which file the objects of a folder differ from its catalogue; None if in none.

    The catalogue is read anew. Raises: StoreDamaged, StoreUnreachable.
    """
    forget(bucket, folder)
    load(bucket, folder)
    with _lock:
        entries = _kept.get((bucket, folder))
    if entries is None:
        return f"{CATALOGUE}: It is missing. Was it deleted?"
    skipped = len(folder) + 1
    sizes = {key[skipped:]: size for key, size in client.listed(bucket, folder)}
    for name, known in entries.items():
        size = sizes.get(name)
        if size is None:
            return f"{name}: It is missing. Was it deleted?"
        if size != known.size:
            return f"{name}: It has {size:,} bytes and had {known.size:,}. Was it written over?"
    return None


def _entries(content: bytes) -> dict[str, Entry]:
    """Return the files in a catalogue. Raises: StoreDamaged."""
    try:
        table = pa.ipc.open_file(content).read_all()
        if table.schema not in (_SCHEMA, _UNSEALED):
            raise pa.ArrowInvalid("it has other columns")
    except (pa.ArrowException, OSError) as error:
        raise StoreDamaged(
            CATALOGUE, f"It cannot be read ({error}).", "Was it cut short or written over?"
        ) from error
    rows = table.to_pylist()
    return {row.pop("name"): Entry(**row) for row in rows}


def _keep(bucket: str, folder: str, entries: Mapping[str, Entry]) -> None:
    with _lock:
        _kept[bucket, folder] = entries
        while len(_kept) > _MOST_KEPT:
            _kept.popitem(last=False)


def forget(bucket: str, folder: str) -> None:
    """Drop what is known of a folder that was removed."""
    with _lock:
        _kept.pop((bucket, folder), None)


def forget_all() -> None:
    """Drop all that is known, as in a process that has just begun."""
    with _lock:
        _kept.clear()
