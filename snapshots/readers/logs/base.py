"""What a reader is, and how much it may read."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol, runtime_checkable

import pyarrow as pa

from snapshots.domain.assembling.assembly import Header
from snapshots.domain.model.defects import Defects

CHUNK_BYTES = 4 * 2**20
HEAD_BYTES = 2 * CHUNK_BYTES  # of an input, unpacked, that a request looks at


@dataclass(frozen=True)
class Limits:
    """How much one input may hold, in bytes after decompression, or in things."""

    total_bytes: int = 8 * 2**30
    line_bytes: int = 16 * 2**20
    processes: int = 100_000
    channels: int = 1_000_000


@dataclass(frozen=True)
class Chunk:
    """Whole lines of a text. offset: of the first byte, unpacked; first_line: 1-based."""

    offset: int
    first_line: int
    data: bytes


class Reader(Protocol):
    """One foreign format.

    name: what ``format`` calls it. title: what it is called in a sentence.
    """

    name: str
    title: str

    def header(self, source: Path, limits: Limits) -> Header:
        """What stands before the events. Raises: InputRefused."""

    def batches(
        self, source: Path, header: Header, limits: Limits, defects: Defects
    ) -> Iterator[pa.RecordBatch]:
        """The events as batches of columns.RAW; what is wrong with them goes to ``defects``.

        Rows with a refused defect may be left out: look at ``defects`` before using the rest.
        Raises: InputRefused where reading cannot go on.
        """


@runtime_checkable
class Glancing(Protocol):
    """A Reader whose header takes the whole input: a request looks at the head of a long one."""

    def glance(self, source: Path, limits: Limits) -> None:
        """Reads about HEAD_BYTES. Raises: InputRefused where they do not look as they should."""
