"""Says what an input without UTF-8 text is, by its first bytes."""

import codecs

from snapshots.readers.formats.lines import BYTE_ORDER_MARK

NOT_UTF8, UNKNOWN = "not-utf8", "unknown-format"  # codes of refusals
_PICKLE = "a Python pickle, which is not read here: write the events as JSON Lines"
_PACKAGE = (
    "which is unpacked only as an upload of its own: on the page, by the API, or with “python "
    "manage.py ingest FILE”"
)
_OTHER_FILES = {
    b"PK\x03\x04": f"a zip package, {_PACKAGE}",
    b"\x80\x02": _PICKLE,
    b"\x80\x03": _PICKLE,
    b"\x80\x04": _PICKLE,
    b"\x80\x05": _PICKLE,
    b"BZh": "bzip2: compress with gzip or zstd instead",
    b"\xfd7zXZ": "xz: compress with gzip or zstd instead",
    b"7z\xbc\xaf": "a 7-Zip package: pack the files as zip or tar.gz",
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
_LEAST_ZEROS = 0.8  # the part of every second byte that is zero in UTF-16 of European languages


def not_text(start: bytes) -> tuple[str, str] | None:
    """Return a refusal's code and sentence for an input that begins so, None if it may be text."""
    for magic, description in _OTHER_FILES.items():
        if start.startswith(magic):
            return UNKNOWN, f"This is {description}."
    for mark, name in _WIDE_TEXT.items():
        if start.startswith(mark):
            return NOT_UTF8, f"The file is {name}. Save it as UTF-8."
    if not is_binary(start):
        return None
    if _is_wide(start):
        return NOT_UTF8, "The file seems to be UTF-16. Save it as UTF-8."
    return UNKNOWN, "The file is binary, of no format known here."


def is_binary(start: bytes) -> bool:
    """Return whether the bytes hold NUL, or control bytes outside of UTF-8."""
    text = start.removeprefix(BYTE_ORDER_MARK)
    if 0 in text:
        return True
    try:
        codecs.getincrementaldecoder("utf-8")().decode(text)
    except UnicodeDecodeError:
        return not _CONTROLS.isdisjoint(text)
    return False


def _is_wide(start: bytes) -> bool:
    """Return whether almost every second byte is zero, and the others are characters."""
    halves = start[0::2], start[1::2]
    return any(
        zeros and zeros.count(0) >= _LEAST_ZEROS * len(zeros) and _CONTROLS.isdisjoint(others)
        for zeros, others in (halves, halves[::-1])
    )
