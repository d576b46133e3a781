"""What is said of an input that no reader knows: what it seems to be, and what is read here."""

import codecs
from collections.abc import Iterable

from snapshots.domain.model.defects import InputRefused, refuse
from snapshots.readers.engines.base import EngineReader
from snapshots.readers.formats.lines import BYTE_ORDER_MARK
from snapshots.readers.logs.base import Reader

MAPPINGS = "/mappings"
"""The page on which a person says what the fields of a log mean."""

_PICKLE = "a Python pickle, which is not read here: write the events as JSON Lines"
_ARCHIVE = (
    "which is unpacked only as an upload of its own: on the page, by the API, or with “python "
    "manage.py ingest FILE”"
)
_OTHER_FILES = {
    b"PK\x03\x04": f"a zip archive, {_ARCHIVE}",
    b"\x80\x02": _PICKLE,
    b"\x80\x03": _PICKLE,
    b"\x80\x04": _PICKLE,
    b"\x80\x05": _PICKLE,
    b"BZh": "bzip2: compress with gzip or zstd instead",
    b"\xfd7zXZ": "xz: compress with gzip or zstd instead",
    b"7z\xbc\xaf": "a 7-Zip archive: pack the files as zip or tar.gz",
    b"\x1f\x8b": "gzip inside a compressed file: it is compressed twice",
    b"\x28\xb5\x2f\xfd": "zstd inside a compressed file: it is compressed twice",
    b"Obj\x01": "Avro: write the events as JSON Lines or Parquet",
    b"ORC": "ORC: write the events as JSON Lines or Parquet",
    b"ARROW1": "an Arrow file: write the events as JSON Lines or Parquet",
    b"SQLite format 3": "an SQLite database: export the events as JSON Lines",
    b"%PDF": "a PDF document",
    b"\x89PNG": "a picture",
    b"\xff\xd8\xff": "a picture",
    b"GIF8": "a picture",
    b"\x7fELF": "a program",
}
_WIDE_TEXT = {b"\xff\xfe": "UTF-16", b"\xfe\xff": "UTF-16", b"\x00\x00\xfe\xff": "UTF-32"}
_CONTROLS = frozenset(range(32)) - frozenset(b"\t\n\v\f\r\b\x1b") | {127}
_MOST_WIDE = 0.8  # of every second byte: as many are zero in the UTF-16 of European languages


def known(logs: Iterable[Reader], engines: Iterable[EngineReader]) -> str:
    """What is read here, as a sentence."""
    listed = ", ".join(reader.title for reader in logs)
    written = ", ".join(reader.title for reader in engines)
    return (
        f"Read here: {listed}; {written} (a folder, an archive of it, or single files); other "
        f"logs of JSON lines by a mapping, made on {MAPPINGS}."
    )


def refuse_other_files(start: bytes, read_here: str) -> None:
    """Raises: InputRefused for what is no text in UTF-8. start: of the file, after
    decompression."""
    for magic, what in _OTHER_FILES.items():
        if start.startswith(magic):
            raise refuse("unknown-format", f"This is {what}. {read_here}")
    for mark, name in _WIDE_TEXT.items():
        if start.startswith(mark):
            raise refuse("not-utf8", f"The file is {name}. Save it as UTF-8.", line=1)
    if not is_binary(start):
        return
    if _is_wide(start):
        raise refuse("not-utf8", "The file seems to be UTF-16. Save it as UTF-8.", line=1)
    raise refuse("unknown-format", f"The file is binary, of no format known here. {read_here}")


def is_binary(start: bytes) -> bool:
    """Whether it is no text: it holds NUL bytes, or is no UTF-8 and holds other control bytes."""
    text = start.removeprefix(BYTE_ORDER_MARK)
    if 0 in text:
        return True
    try:
        codecs.getincrementaldecoder("utf-8")().decode(text)
    except UnicodeDecodeError:
        return not _CONTROLS.isdisjoint(text)
    return False


def _is_wide(start: bytes) -> bool:
    """Whether every second byte is zero, or almost, and what is left are characters."""
    for zeros, others in ((start[0::2], start[1::2]), (start[1::2], start[0::2])):
        if zeros and zeros.count(0) >= _MOST_WIDE * len(zeros) and _CONTROLS.isdisjoint(others):
            return True
    return False


def unmapped(read_here: str, line: int) -> InputRefused:
    """The refusal of a log of JSON objects that are of no format known here."""
    return refuse(
        "unknown-format",
        "The line is a JSON object, but neither a header nor an event of a format known here. "
        f"On {MAPPINGS} you can say which of its fields is the process, which the kind of the "
        f"event, and so on: then it can be read, too. {read_here}",
        line=line,
        instead=MAPPINGS,
    )
