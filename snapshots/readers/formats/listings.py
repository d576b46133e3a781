"""Read listings of folders, as ``ls``, ``find``, ``hdfs dfs -ls`` and object stores print them.

A listing tells names and sizes. It tells nothing of what is in the files, and a line that is not
understood may be a file: what a listing with such lines does not name is not known to be absent.
docs/formats/listings.md has the forms.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import islice
from pathlib import Path

import orjson

from snapshots.readers.formats.log_lines import Cut, beginning, raw_lines

MOST_LISTED = 200_000  # files of one listing
MOST_JSON = 2**26  # bytes
LONGEST_PATH = 4_096  # characters
_LARGEST = 2**50  # bytes of a file
_TRIED = 200  # lines of the beginning
_LONGEST_LINE = 8_192  # bytes
_MODE = r"[-dlbcpsD](?:[-rwxsStT]{9})[.+@tT]?"
_SIZE = r"(?P<size>\d{1,6} Bytes?|\d{1,6}(?:[.,]\d{1,9})?\s?[KMGTPE](?:i?B)?|\d{1,18})"
_DAY = r"\d{4}-\d\d-\d\d"
_MONTH = r"(?:[A-Z][a-z]{2}\s{1,2}\d{1,2}|\d{1,2}\s[A-Z][a-z]{2})\s{1,2}(?:\d\d:\d\d|\d{4})"
_GAP = r"\s{1,40}"
_WHO = rf"\S{{1,64}}{_GAP}\S{{1,64}}(?: \S{{1,64}}){{0,2}}?"  # owner and group
_FORMS = {
    name: re.compile(pattern)
    for name, pattern in {
        "hdfs dfs -ls": rf"(?P<mode>{_MODE}){_GAP}(?:\d{{1,5}}|-){_GAP}{_WHO}{_GAP}{_SIZE}{_GAP}"
        rf"{_DAY} \d\d:\d\d (?P<path>(?:/|[a-z0-9+.-]{{2,20}}://)\S.*)",
        "find -ls": rf"\s{{0,40}}\d{{1,20}}{_GAP}[\d.]{{1,20}}{_GAP}(?P<mode>{_MODE}){_GAP}"
        rf"\d{{1,9}}{_GAP}{_WHO}{_GAP}{_SIZE}{_GAP}(?:{_MONTH}|{_DAY} \d\d:\d\d) (?P<path>\S.*)",
        "ls -l": rf"\s{{0,40}}(?:\d{{1,20}}{_GAP}){{0,2}}(?P<mode>{_MODE}){_GAP}\d{{1,9}}"
        rf"{_GAP}{_WHO}{_GAP}{_SIZE}{_GAP}"
        rf"(?:{_MONTH}|{_DAY} \d\d:\d\d(?::\d\d\.\d{{9}} [+-]\d{{4}})?) (?P<name>\S.*)",
        "aws s3 ls": rf"{_DAY} \d\d:\d\d:\d\d{_GAP}{_SIZE} (?P<path>\S.*)",
        "gsutil ls -l": rf"\s{{0,40}}{_SIZE}{_GAP}{_DAY}T\d\d:\d\d:\d\dZ{_GAP}"
        r"(?P<path>gs://\S.*?)"
        r"(?:\s{1,9}#\d{1,20}\s{1,9}metageneration=\d{1,9})?",
        "rclone lsl": rf"\s{{0,40}}{_SIZE} {_DAY} \d\d:\d\d:\d\d\.\d{{9}} (?P<path>\S.*)",
        "size and path": rf"{_SIZE} (?P<path>\.?/\S.*|\.)",
        "path and size": rf"(?P<path>\.?/\S.*|\.) {_SIZE}",
    }.items()
}
_FOLDER = re.compile(r"(?P<path>\S.*):")  # of ls -R, before what is in it
_NAME_OF_FOLDER = re.compile(r"\s+PRE (?P<path>\S.*/)|(?P<bucket>gs://\S.*/:?)")
_SAYS_NOTHING = re.compile(
    r"\s*|total \S+|Found \d+ items?|\s*Total (?:Objects|Size): .*|TOTAL: .*"
)
_SCHEME = re.compile(r"^[a-z0-9+.-]{2,20}:/{1,3}")
_UNITS = {unit: 1024**power for power, unit in enumerate("BKMGTPE")}


@dataclass
class Listing:
    """The files and folders that a listing names.

    Attributes:
        path: where the listing lies in the upload.
        files: the sizes of files in bytes by path, without a scheme and a slash before it.
        rough: the files whose sizes are rounded.
        folders: the folders that are named themselves.
        opened: those of them before whose content ``ls -R`` names them again.
        lines: how many lines it has.
        unread: how many of these are not understood.
        problem: why it does not list everything, as a sentence. None if that is not known.
    """

    path: str
    files: dict[str, int] = field(default_factory=dict)
    rough: set[str] = field(default_factory=set)
    folders: set[str] = field(default_factory=set)
    opened: set[str] = field(default_factory=set)
    lines: int = 0
    unread: int = 0
    problem: str | None = None

    @property
    def is_whole(self) -> bool:
        """Tell whether each line was understood, so that what is not named is not there."""
        return not self.unread and self.problem is None

    @property
    def empty(self) -> set[str]:
        """Return the folders that hold nothing: their content is listed, and there is none."""
        parents = {path.rpartition("/")[0] for path in (*self.files, *self.folders)}
        is_recursive = bool(self.opened) or not parents.isdisjoint(self.folders - {""})
        return self.folders - parents - {""} if is_recursive else set()

    def sentence(self) -> str:
        """Return what was read of it, and what a listing cannot tell."""
        unread = ""
        if self.unread:
            lines = "line is" if self.unread == 1 else "lines are"
            unread = (
                f" {self.unread:,} {lines} not understood, so that files which it does not seem to "
                "name may be there."
            )
        rough = " Its sizes are rounded." if self.rough else ""
        problem = f" {self.problem}" if self.problem else ""
        return (
            f"{self.path} is a listing of {len(self.files):,} files: it tells their names and "
            f"sizes, and not what is in them.{rough}{unread}{problem}"
        )


def paths_in(start: bytes) -> tuple[str, ...]:
    """Return the paths in the beginning of a listing; none if the text is no listing."""
    return _paths_in(beginning(start))


@lru_cache(256)
def _paths_in(start: bytes) -> tuple[str, ...]:
    if b"\x00" in start[:1024]:
        return ()
    if objects := _objects(start, is_beginning=True):
        return tuple(_clean(path) for path, _ in objects[:_TRIED])
    *lines, last = start.split(b"\n")
    listing = Listing("")
    reader = _Lines(listing)
    for line in lines[:_TRIED]:
        reader.take(line)
    unread = listing.unread
    if len(lines) < _TRIED:
        reader.take(last)
        listing.unread = unread  # it may be cut short
    if (not listing.files and not listing.folders) or listing.unread * 4 > listing.lines:
        return ()
    for line in lines[_TRIED:]:
        reader.take(line)
    return (*listing.files, *listing.folders)


def read_listing(root: Path, path: str) -> Listing:
    """Read a listing, packed or not."""
    listing = Listing(path)
    file = root / path
    with file.open("rb") as opened:
        start = beginning(opened.read(2**16))
    if _looks_like_objects(start):
        _read_objects(listing, file)
        return listing
    reader = _Lines(listing)
    try:
        for _, line in raw_lines(file):
            reader.take(line)
            if len(listing.files) >= MOST_LISTED:
                listing.problem = f"Only its first {MOST_LISTED:,} files are read."
                break
    except Cut as cut:
        listing.problem = str(cut)
    _take_folders_out(listing)
    return listing


def _take_folders_out(listing: Listing) -> None:
    """Take away what ``find -printf`` prints like a file, and what is the folder of others."""
    parents = {path.rpartition("/")[0] for path in listing.files}
    for folder in parents & listing.files.keys():
        del listing.files[folder]
        listing.rough.discard(folder)
        listing.folders.add(folder)


def join(listings: Iterable[Listing]) -> dict[str, int]:
    """Return the files of several listings with their sizes."""
    return {path: size for listing in listings for path, size in listing.files.items()}


class _Lines:
    """Takes the lines of a listing, which may name the folder of what follows."""

    def __init__(self, listing: Listing) -> None:
        self._listing = listing
        self._folder = ""
        self._form: re.Pattern[str] | None = None

    def take(self, raw: bytes) -> None:
        """Read one line."""
        self._listing.lines += 1
        line = raw[:_LONGEST_LINE].decode("utf-8", "replace").lstrip("\ufeff").rstrip("\r\n")
        match = self._form.fullmatch(line) if self._form is not None else None
        if match is None:
            match = self._matched(line)
        if match is not None:
            self._entry(match)
        elif not self._is_other(line):
            self._listing.unread += 1

    def _matched(self, line: str) -> re.Match[str] | None:
        for form in _FORMS.values():
            if match := form.fullmatch(line):
                self._form = form
                return match
        return None

    def _is_other(self, line: str) -> bool:
        """Take a line that names no file; False if it is not understood."""
        if _SAYS_NOTHING.fullmatch(line):
            return True
        if named := _NAME_OF_FOLDER.fullmatch(line):
            self._listing.folders.add(_clean(named["path"] or named["bucket"]))
            return True
        if (folder := _FOLDER.fullmatch(line)) and not line.startswith(("ls:", "find:", "du:")):
            self._folder = _clean(folder["path"])
            self._listing.folders.add(self._folder)
            self._listing.opened.add(self._folder)
            return True
        return False

    def _entry(self, match: re.Match[str]) -> None:
        fields = match.groupdict()
        name = fields.get("name")
        path = fields.get("path") or name or ""
        if self._folder and "/" not in path:  # of ls -R
            path = f"{self._folder}/{path}"
        mode = fields.get("mode") or "-"
        if mode[0] == "l":
            path = path.partition(" -> ")[0]
        if name in (".", ".."):
            return
        if mode[0] != "d" and not path.endswith("/"):
            self.file(_clean(_unescaped(path)), fields["size"])
        elif path := _clean(path):
            self._listing.folders.add(path)

    def file(self, path: str, size: str) -> None:
        """Add a file."""
        if not path:  # the folder that is listed
            return
        bytes_, is_exact = _bytes(size)
        is_odd = not path.isprintable() or ".." in path.split("/") or bytes_ > _LARGEST
        if is_odd or len(path) > LONGEST_PATH:
            self._listing.unread += 1
            return
        self._listing.files[path] = bytes_
        if not is_exact:
            self._listing.rough.add(path)


def _clean(path: str) -> str:
    """Return a path without its scheme, and without the slashes and dots before it."""
    text = _SCHEME.sub("", path.strip()).rstrip(":/")
    return "/".join(part for part in text.split("/") if part not in ("", "."))


def _unescaped(path: str) -> str:
    """Return a name as it is: ``find -ls`` writes a backslash before blanks."""
    return path.replace("\\ ", " ")


def _bytes(size: str) -> tuple[int, bool]:
    """Return a size, and whether it is exact."""
    if size.isdigit():
        return int(size), True
    number, unit = re.fullmatch(r"([\d.,]+)\s?(.*)", size).groups()  # type: ignore[union-attr]
    if unit.startswith("Byte"):
        return int(float(number)), True
    return int(float(number.replace(",", ".")) * _UNITS[unit[0]]), False


def _looks_like_objects(start: bytes) -> bool:
    return bool(re.match(rb'\s*\{[^{}]{0,2000}"Contents"\s*:\s*\[', start))


def _objects(data: bytes, *, is_beginning: bool = False) -> list[tuple[str, int]]:
    """Return the keys and sizes in an answer of ``aws s3api list-objects``."""
    if not _looks_like_objects(data):
        return []
    if is_beginning:
        found = re.findall(rb'"Key"\s*:\s*"((?:[^"\\]|\\.){1,4096})"', data)
        return [(key.decode("utf-8", "replace"), 0) for key in islice(found, _TRIED)]
    value = orjson.loads(data)
    return [
        (key, size)
        for item in value["Contents"]
        if isinstance(item, dict)
        and isinstance(key := item.get("Key"), str)
        and type(size := item.get("Size")) is int
        and 0 <= size < 2**63
    ]


def _read_objects(listing: Listing, file: Path) -> None:
    """Read an answer of ``aws s3api list-objects``, or list-objects-v2."""
    try:
        data = _all(file)
        value = orjson.loads(data)
        objects = _objects(data)
    except Cut as cut:
        listing.problem = str(cut)
        return
    except orjson.JSONDecodeError:
        listing.problem = "It is JSON that ends too early."
        return
    listing.lines = data.count(b"\n") + 1
    reader = _Lines(listing)
    for key, size in objects[:MOST_LISTED]:
        if not key.endswith("/"):
            reader.file(_clean(key), str(size))
    if value.get("IsTruncated") or value.get("NextToken") or len(objects) > MOST_LISTED:
        listing.problem = "It says itself that it is a part: more files may be there."


def _all(file: Path) -> bytes:
    """Return the whole content. Raises: Cut for more than MOST_JSON bytes."""
    parts, size = [], 0
    for _, line in raw_lines(file):
        size += len(line)
        if size > MOST_JSON:
            raise Cut(f"It is not read: it is larger than {MOST_JSON // 2**20} MiB.")
        parts.append(line)
    return b"".join(parts)
