"""The engines, and which of them wrote the files of an upload, by their names and beginnings.

An upload is one file: a package of what an engine wrote, or one of its files alone. A worker
unpacks packages; until then nobody knows what is in them.
"""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from snapshots.readers.engines.base import START_BYTES, Beginnings, EngineReader
from snapshots.readers.engines.flink.adapter.reader import FlinkReader
from snapshots.readers.engines.seatunnel.adapter.reader import SeaTunnelReader
from snapshots.readers.engines.spark_streaming.adapter.reader import SparkStreamingReader
from snapshots.readers.formats.head import Head
from snapshots.readers.formats.limits import Limits
from snapshots.readers.formats.unpacking import tar as tar_entries
from snapshots.readers.formats.unpacking import zip as zip_entries
from snapshots.readers.formats.unpacking.packages import PackageLimits, Unpacked, unpack

PACKAGE = "archive"
READERS: dict[str, EngineReader] = {
    reader.name: reader for reader in (FlinkReader(), SparkStreamingReader(), SeaTunnelReader())
}
FORMATS = (PACKAGE, *READERS)
_SIGNATURE = 512  # bytes within which a package is recognised


@dataclass(frozen=True)
class Recognised:
    """Who reads an upload.

    Attributes:
        reader: the engine's reader; None if no engine has written the files.
        reason: what was recognised and by what, as a sentence.
        log: the only file of the package; None if it has several. ``readers.together`` then says
            whether they are one log.
    """

    reader: EngineReader | None
    reason: str
    log: Path | None = None


def format_of(head: Head, name: str) -> str | None:
    """Return one of FORMATS for a package or an engine's file, None for anything else.

    Args:
        head: the beginning of the file.
        name: what the file was called.

    Raises: InputRefused where the file's compression is damaged.
    """
    if is_package(head):
        return PACKAGE
    files = Beginnings((name,), lambda _: head.start[:START_BYTES])
    return next((key for key, item in READERS.items() if item.recognises(files)), None)


def is_package(head: Head) -> bool:
    """Return whether a file is a zip or a tar. Raises: InputRefused, as ``format_of``."""
    start = head.first(_SIGNATURE)
    is_zip = head.compression is None and zip_entries.is_zip(start)
    return is_zip or tar_entries.is_tar(start)


def unpacked(
    source: Path,
    name: str,
    folder: Path,
    limits: Limits,
    watch: Callable[[str], None] = lambda _: None,
) -> Unpacked:
    """Unpack an upload's files into ``folder``; ``watch`` is called with the name of each file.

    Raises: InputRefused, what ``watch`` raises.
    """
    bounds = PackageLimits(total_bytes=limits.total_bytes)
    return unpack(source, folder, bounds, name=name, watch=watch)


def recognise(folder: Path, files: tuple[str, ...], format: str) -> Recognised:
    """Return who reads the files of a folder.

    Args:
        format: one of FORMATS; if it is PACKAGE, the files show which engine wrote them.
    """
    beginnings = Beginnings(files, lambda name: _start(folder / name))
    if format != PACKAGE:
        given = f"The format was given as {format}."
        return Recognised(READERS[format], READERS[format].recognises(beginnings) or given)
    for reader in READERS.values():
        if reason := reader.recognises(beginnings):
            return Recognised(reader, reason)
    if len(files) == 1:
        return Recognised(None, "A package with one file.", folder / files[0])
    return Recognised(None, "A package of files that no engine has written.")


def _start(path: Path) -> bytes:
    with path.open("rb") as file:
        return file.read(START_BYTES)
