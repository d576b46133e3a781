"""Which files a restore reads, told by the formats' rules alone: none of the readers is asked.

The rules stand in docs/formats/completeness.md; docs/formats/flink-files.md,
docs/formats/spark-streaming-files.md and docs/formats/seatunnel-files.md describe the files.
"""

import json
import re
import zipfile
from collections.abc import Iterator, Mapping
from pathlib import Path

REMOVED, HALVED, LAST_BYTE = "removed", "cut in half", "without its last byte"
_NUMBERS = re.compile(r"[0-9a-f]{8}-[0-9a-f-]{27}|[0-9a-f]{32}|\d+")
CHANGES = (REMOVED, HALVED, LAST_BYTE)
YES, NO, NOT_KNOWN = "restorable", "not-restorable", "not-known"


def change(file: Path, how: str) -> None:
    """Remove or cut a file."""
    data = file.read_bytes()
    if how == REMOVED:
        file.unlink()
    else:
        file.write_bytes(data[: len(data) // 2] if how == HALVED else data[:-1])


def files_below(root: Path) -> list[str]:
    paths = (path for path in root.rglob("*") if path.is_file())
    return sorted(path.relative_to(root).as_posix() for path in paths)


def kinds_of(root: Path, meanings: Mapping[str, object]) -> list[list[str]]:
    """Group files by kind, each sorted by name and number.

    Files are of one kind if their names differ in numbers and ids alone, if they begin alike, and
    if they mean the same to a restore.
    """
    kinds: dict[object, list[str]] = {}
    for path in sorted(meanings, key=_by_number):
        begin = (root / path).read_bytes()[:4]
        kinds.setdefault((_NUMBERS.sub("#", path), begin, str(meanings[path])), []).append(path)
    return list(kinds.values())


def _by_number(path: str) -> list[tuple[int, str]]:
    return [(int(part) if part.isdigit() else 0, part) for part in re.split(r"(\d+)", path)]


# --- Flink ----------------------------------------------------------------------------------------


def flink_needs(root: Path, folder: str, path: str, how: str) -> bool:
    """Tell whether a checkpoint lacks a byte after a change to one file of the upload.

    It names its files by name, and a name is unique. Of a merged file it needs a segment.
    """
    metadata = f"{folder}/_metadata" if folder else "_metadata"
    if path == metadata:
        return True
    content, name = (root / metadata).read_bytes(), path.rpartition("/")[2].encode()
    if name not in content:
        return False
    ends = list(_segment_ends(content, name))
    if how == REMOVED or not ends:
        return True
    size = (root / path).stat().st_size
    return max(ends) > (size // 2 if how == HALVED else size - 1)


def _segment_ends(content: bytes, name: bytes) -> Iterator[int]:
    """Yield the ends of the segments of a merged file: 0f, start, size, scope, path."""
    for found in re.finditer(re.escape(name), content):
        for begin in range(found.start() - 1, max(found.start() - 300, 21), -1):
            length = int.from_bytes(content[begin - 2 : begin], "big")
            if begin + length == found.end() and content[begin : begin + 5] == b"file:":
                start = int.from_bytes(content[begin - 22 : begin - 14], "big")
                size = int.from_bytes(content[begin - 14 : begin - 6], "big")
                if content[begin - 23] == 15:
                    yield start + size


# --- Spark ----------------------------------------------------------------------------------------


class Query:
    """What the names of the files in a checkpoint directory say of the next start."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.names = files_below(root)
        planned, committed = self._numbers("offsets"), self._numbers("commits")
        self.last = max(planned)
        self.is_committed = self.last in committed
        self.version = self.last + 1 if self.is_committed else self.last
        offsets = (root / f"offsets/{self.last}").read_text().split("\n")
        self.is_continuous = offsets[1] == ""
        self.ids = self._ids()

    def _numbers(self, folder: str) -> set[int]:
        names = (name.split("/") for name in self.names)
        return {int(parts[1]) for parts in names if parts[0] == folder and parts[1].isdigit()}

    def _ids(self) -> set[str]:
        """Return the unique ids that the commit log calls valid."""
        texts = [(self.root / f"commits/{n}").read_text() for n in self._numbers("commits")]
        return set(re.findall(r"[0-9a-f]{8}-[0-9a-f-]{27}", " ".join(texts)))

    def expected(self, path: str, how: str) -> set[str]:
        """Return the right answers after a change of one file."""
        folder, _, name = path.rpartition("/")
        if name.endswith(".crc"):
            return self._checksum(folder, name, how)
        if path == "metadata":
            return {NO}
        log = re.fullmatch(r"(offsets|commits)/(\d+)", path)
        if log:
            return self._log(log[1], int(log[2]), how)
        if source := re.fullmatch(r"sources/(\w+)/(\d+)(?:\.compact)?", path):
            return {NO} if int(source[2]) >= self._compacted(source[1]) else {YES}
        if "_metadata" in path or "_stateSchema" in path:
            return self._description(path, how)
        return self._state(folder, name, how)

    def _checksum(self, folder: str, name: str, how: str) -> set[str]:
        """A file without checksums is read unchecked; those of Spark itself may be asked."""
        if how == REMOVED or name.startswith("."):
            return {YES}
        of = name.removesuffix(".crc")
        path = f"{folder}/{of}" if folder else of
        spoilt = path in self.names and self.expected(path, LAST_BYTE) != {YES}
        if not spoilt and of.endswith(".zip"):
            return {YES, NOT_KNOWN}  # Spark may repair such a snapshot, too
        return {NO, NOT_KNOWN} if spoilt else {YES}

    def _log(self, log: str, batch: int, how: str) -> set[str]:
        if batch < self.last - 1 or (batch < self.last and self._ignores_before(log)):
            return {YES}
        if how != REMOVED:
            return {NO}
        if batch == self.last and self.is_committed is (log == "commits"):
            # The batch runs again, or is planned again, and its file is written again.
            return self._written_again(f"{log}/{batch}")
        return {NO, NOT_KNOWN} if log == "commits" else {NO}

    def _written_again(self, path: str) -> set[str]:
        """On a local file system checksums without their file prevent it."""
        folder, _, name = path.rpartition("/")
        return {NO, NOT_KNOWN} if f"{folder}/.{name}.crc" in self.names else {YES}

    def _ignores_before(self, log: str) -> bool:
        """Tell whether a start does not read the log of the batch before the last one."""
        return self.is_committed if log == "commits" else self.is_continuous

    def _compacted(self, source: str) -> int:
        names = (re.fullmatch(rf"sources/{source}/(\d+)\.compact", name) for name in self.names)
        return max((int(match[1]) for match in names if match), default=0)

    def _description(self, path: str, how: str) -> set[str]:
        if path.endswith("/_metadata/metadata"):  # Spark 3.5 has none
            return self._written_again(path) if how == REMOVED else {YES}
        if how != REMOVED:
            return {NO}
        return {NO, NOT_KNOWN}  # Spark takes another query's schema without a word

    def _state(self, folder: str, name: str, how: str) -> set[str]:
        store = folder.removesuffix("/SSTs")
        version = re.fullmatch(r"(\d+)(?:_([0-9a-f-]+))?\.(\w+)", name)
        own = self._valid(store)
        base = max((v for v, kind in own if kind in ("snapshot", "zip")), default=0)
        if folder.endswith("/SSTs"):
            if name not in self._tables(store, base):
                return {YES}
            has_other_way = self._has_other_way(own, base, self._has_families(store))
            return self._repaired(store) if has_other_way else {NO, NOT_KNOWN}
        assert version is not None
        if version[2] and self._has_commit_ids(int(version[1])) and version[2] not in self.ids:
            return {YES}  # of a failed attempt
        number, kind = int(version[1]), version[3]
        if number > self.version or number < base:
            return {YES}
        is_base = number == base and kind in ("snapshot", "zip")
        is_needed = is_base or number > base
        if how == LAST_BYTE and kind != "zip" and f"{folder}/{name}.crc" not in self.names:
            # That byte is behind the mark of the end, where Spark stops to read. It does not look
            # at Hadoop's checksums.
            return {NOT_KNOWN} if is_needed and f"{folder}/.{name}.crc" in self.names else {YES}
        if is_base and self._has_other_way(own, base, self._has_families(store)):
            return {YES} if how == REMOVED else self._repaired(folder)
        if is_needed and how == LAST_BYTE and kind != "zip":
            return {NO, NOT_KNOWN}  # Spark may look at its own checksums of the file
        return {NO} if is_needed else {YES}

    def _has_families(self, store: str) -> bool:
        """Tell whether the state has column families, which Spark finds only in a snapshot."""
        operator = "/".join(store.split("/")[:2])
        return any(name.startswith(f"{operator}/_metadata/v2/") for name in self.names)

    def _repaired(self, store: str) -> set[str]:
        """Return the answers where older files hold the state: Spark 4.2 and later go this way.

        Spark 3 wrote no operator metadata.
        """
        operator = "/".join(store.split("/")[:2])
        has_metadata = any(name.startswith(f"{operator}/_metadata/") for name in self.names)
        has_families = any(name.startswith(f"{operator}/_stateSchema/") for name in self.names)
        return {YES, NOT_KNOWN} if has_families else {YES} if has_metadata else {NOT_KNOWN}

    def _has_commit_ids(self, version: int) -> bool:
        return bool(self.ids) and version <= self.version

    def _valid(self, store: str) -> set[tuple[int, str]]:
        """Return version and kind of the files of a partition up to the version of the start."""
        found = set()
        for name in self.names:
            folder, _, last = name.rpartition("/")
            match = re.fullmatch(r"(\d+)(?:_([0-9a-f-]+))?\.(delta|snapshot|changelog|zip)", last)
            if folder != store or match is None or int(match[1]) > self.version:
                continue
            if match[2] is None or match[2] in self.ids:
                found.add((int(match[1]), match[3]))
        return found

    def _has_other_way(self, own: set[tuple[int, str]], base: int, has_families: bool) -> bool:
        """Tell whether the version can be put together without its newest snapshot."""
        older = max((v for v, kind in own if kind in ("snapshot", "zip") and v < base), default=0)
        changed = {v for v, kind in own if kind in ("delta", "changelog")}
        begins = older > 0 or not has_families
        return begins and changed >= set(range(older + 1, self.version + 1))

    def _tables(self, store: str, base: int) -> set[str]:
        names = set()
        for path in (self.root / store).glob(f"{base}*.zip"):
            unique = path.stem.partition("_")[2]
            if unique and unique not in self.ids:
                continue
            with zipfile.ZipFile(path) as packed:
                listed = packed.read("metadata").partition(b"\n")[2]
            names |= {table["dfsSstFileName"] for table in json.loads(listed)["sstFiles"]}
        return names
