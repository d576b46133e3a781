"""Reads tar archives as a stream: ustar, the older form, and long names of GNU and POSIX (pax).

The library's ``tarfile`` reads a long name of any announced size into memory; only private methods
of its TarInfo could refuse that.

Source: POSIX.1-2017, pax, "ustar Interchange Format" and "pax Interchange Format"; GNU tar manual,
"Basic Tar Format".
"""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

from snapshots.domain.model.defects import quoted, refuse

_BLOCK = 512
_COPIED = 2**20  # bytes at a time
_LONGEST_NOTE = 2**20  # bytes of a pax header or a GNU long name
_FILE, _FOLDER = (b"0", b"\0", b"7"), b"5"
_REFUSED = {
    b"1": "a hard link",
    b"2": "a symbolic link",
    b"3": "a device",
    b"4": "a device",
    b"6": "a named pipe",
    b"S": "a sparse file",
}


@dataclass(frozen=True)
class Entry:
    """A file or folder in an archive.

    Attributes:
        blocks: a file's content, which must be read before the next entry.
    """

    name: str
    folder: bool
    blocks: Iterable[bytes] = ()


def is_tar(start: bytes) -> bool:
    """Return whether the first 512 bytes are a tar header with the right checksum."""
    if len(start) < _BLOCK:
        return False
    return start[0] != 0 and _octal(start[148:156]) == _checksum(start)


def entries(read: Callable[[int], bytes], skip: Callable[[str, str], None]) -> Iterator[Entry]:
    """Yield the files and folders of a tar archive. Raises: InputRefused.

    Args:
        read: returns at most so many bytes, none at the end.
        skip: takes (name, reason) of what follows the archive.
    """
    stream = _Stream(read)
    name: str | None = None
    size: int | None = None
    while any(header := stream.take(_BLOCK)):
        if _octal(header[148:156]) != _checksum(header):
            raise _damaged(f"a header's checksum is wrong at byte {stream.position - _BLOCK:,}")
        kind, length = header[156:157], _number(header[124:136])
        if kind in (b"x", b"L", b"K", b"g"):
            note = stream.note(length)
            if kind == b"x":
                name, size = _pax(note, name, size)
            elif kind == b"L":
                name = _text(note.rstrip(b"\0"))
            continue
        path = _name(header) if name is None else name
        length = length if size is None else size
        name = size = None
        if kind in _REFUSED:
            raise refuse("unsafe-archive", f"In the package, {quoted(path)} is {_REFUSED[kind]}.")
        if kind not in (*_FILE, _FOLDER):
            raise refuse(
                "unsafe-archive",
                f"In the package, {quoted(path)} is of the kind {quoted(chr(kind[0]))}, "
                "which is neither a file nor a folder.",
            )
        folder = kind == _FOLDER or path.endswith("/")
        blocks = stream.content(length)
        yield Entry(path, folder, blocks)
        for _ in blocks:  # the rest of an entry that was not read to its end
            pass
    if behind := stream.rest():
        skip("", f"{behind:,} bytes other than zero follow the end of the tar package.")


class _Stream:
    def __init__(self, read: Callable[[int], bytes]) -> None:
        self._read = read
        self.position = 0

    def take(self, length: int) -> bytes:
        """Return ``length`` bytes. Raises: InputRefused if there are fewer."""
        parts, missing = [], length
        while missing:
            data = self._read(missing)
            if not data:
                raise _damaged("it ends in the middle, or its last, empty block is missing")
            parts.append(data)
            missing -= len(data)
        self.position += length
        return b"".join(parts)

    def note(self, length: int) -> bytes:
        if length > _LONGEST_NOTE:
            raise _damaged(f"a header of {length:,} bytes is announced")
        return self.take(-(-length // _BLOCK) * _BLOCK)[:length]

    def content(self, length: int) -> Iterator[bytes]:
        left = length
        while left:
            block = self.take(min(left, _COPIED))
            left -= len(block)
            yield block
        self.take(-length % _BLOCK)

    def rest(self) -> int:
        """Read to the end, and return how many bytes are not zero."""
        count = 0
        while data := self._read(_COPIED):
            count += len(data) - data.count(0)
        return count


def _checksum(header: bytes) -> int:
    return sum(header) - sum(header[148:156]) + 8 * 32


def _octal(field: bytes) -> int | None:
    text = field.strip(b" \0")
    if not text.isdigit() or any(digit > ord("7") for digit in text):
        return None
    return int(text, 8)


def _number(field: bytes) -> int:
    """Return a size: octal, or in base 256 if the first bit is set. Raises: InputRefused."""
    number: int | None
    if field[0] & 0x80:
        number = int.from_bytes(bytes([field[0] & 0x7F]) + field[1:], "big")
    else:
        number = _octal(field) if field.strip(b" \0") else 0
    if number is None or number >= 2**62:
        raise _damaged("a size in it is not a number")
    return number


def _name(header: bytes) -> str:
    name = header[:100].split(b"\0")[0]
    prefix = header[345:500].split(b"\0")[0] if header[257:263] == b"ustar\0" else b""
    return _text(prefix + b"/" + name if prefix else name)


def _pax(note: bytes, name: str | None, size: int | None) -> tuple[str | None, int | None]:
    """Return the path and the size after a pax header, which has records ``length key=value``."""
    while note:
        length, space, _ = note.partition(b" ")
        count = int(length) if length.isdigit() and len(length) < 8 else 0
        record, note = note[len(length) + 1 : count], note[count:]
        if not space or count <= len(length) + 1 or not record.endswith(b"\n"):
            raise _damaged("a pax header in it is not a list of records")
        key, _, value = record[:-1].partition(b"=")
        if key.startswith(b"GNU.sparse"):
            raise refuse("unsafe-archive", "The package holds a sparse file.")
        if key == b"path":
            name = _text(value)
        elif key == b"size":
            if not value.isdigit() or len(value) > 18:
                raise _damaged("a size in it is not a number")
            size = int(value)
    return name, size


def _text(name: bytes) -> str:
    try:
        return name.decode()
    except UnicodeDecodeError:
        raise refuse(
            "not-utf8", f"A name in the package is not UTF-8: {quoted(name.hex())}."
        ) from None


def _damaged(reason: str) -> Exception:
    return refuse("truncated", f"The tar package is damaged: {reason}.")
