"""Small recordings as bytes, whole and damaged."""

import json
from pathlib import Path

from snapshots.domain.assembling.assembly import Header
from snapshots.domain.model.defects import Defect, Defects
from snapshots.domain.model.recording import LoggedEvent
from snapshots.readers import recognition
from snapshots.readers.formats.head import read_head
from snapshots.readers.formats.limits import Limits

HEADER = {
    "kind": "header",
    "format": "cutline",
    "version": 1,
    "name": "two banks",
    "time_unit": "us",
    "processes": [
        {"id": "A", "state": {"balance": 10000}},
        {"id": "B", "state": {"balance": 5000}},
    ],
    "channels": [
        {"id": "A->B", "source": "A", "target": "B"},
        {"id": "B->A", "source": "B", "target": "A", "fifo": False},
    ],
}
SEND = {
    "process": "A",
    "kind": "send",
    "index": 0,
    "at": 5,
    "channel": "A->B",
    "message": "m1",
    "value": 1000,
    "state": {"balance": 9000},
}
RECEIVE = {
    "process": "B",
    "kind": "receive",
    "index": 0,
    "at": 9,
    "channel": "A->B",
    "message": "m1",
    "state": {"balance": 6000},
}
SMALL = Limits(total_bytes=2**20, line_bytes=2**16, processes=20_000, channels=100)


def text(*lines: object) -> bytes:
    """Each line as JSON with a newline; bytes stay as they are."""
    parts = [line if isinstance(line, bytes) else json.dumps(line).encode() for line in lines]
    return b"".join(part + b"\n" for part in parts)


def source(folder: Path, data: bytes, name: str = "log.jsonl") -> Path:
    path = folder / name
    path.write_bytes(data)
    return path


def read(
    path: Path, limits: Limits = SMALL, format: str | None = None
) -> tuple[Header, list[LoggedEvent], tuple[Defect, ...]]:
    """The header, the events and the kept defects. Raises: InputRefused."""
    reader = recognition.sniff(path, limits, format).reader
    header = reader.header(path, limits)
    defects = Defects()
    events = list(recognition.events(reader, path, header, limits, defects))
    return header, events, defects.listed


def checked(path: Path, limits: Limits, format: str | None = None) -> recognition.CheckedHead:
    """Return what a request learns of a file. Raises: InputRefused."""
    return recognition.check_head(read_head(Path(path), limits), format)
