"""Defines what a reader of logs is, and how much of an input a request may look at."""

from collections.abc import Iterator
from pathlib import Path
from typing import Protocol, runtime_checkable

import pyarrow as pa

from snapshots.domain.assembling.assembly import Header
from snapshots.domain.model.defects import Defects
from snapshots.readers.formats.head import Head
from snapshots.readers.formats.limits import Limits
from snapshots.readers.formats.lines import CHUNK_BYTES

HEAD_BYTES = 2 * CHUNK_BYTES  # of unpacked input that a request looks at


class Reader(Protocol):
    """Reads the logs of one format.

    Attributes:
        name: the value of ``format`` that chooses this reader.
        title: the format's name in a sentence.
    """

    name: str
    title: str

    def recognises(self, head: Head) -> str | None:
        """Return why an input is of this format, as the beginning of a sentence; None if it is not.

        The readers are asked in the order of ``recognition.READERS``, until one gives a reason.
        Raises: InputRefused where no other format can be meant either.
        """

    def header(self, source: Path, limits: Limits) -> Header:
        """Return the processes and channels of the log, from its beginning. Raises: InputRefused.

        A reader that has to read the whole input for it is also ``Glancing``.
        """

    def batches(
        self, source: Path, header: Header, limits: Limits, defects: Defects
    ) -> Iterator[pa.RecordBatch]:
        """Yield the events as batches of columns.RAW, and collect what is wrong with them.

        Rows are made with ``columns.raw_batch`` and checked with ``checks.check_batch``.
        Rows with a refused defect may be left out: look at ``defects`` before using the rest.
        Raises: InputRefused where reading cannot go on.
        """


@runtime_checkable
class Glancing(Protocol):
    """A Reader whose header needs the whole input; a request only glances at a long one."""

    def glance(self, source: Path, limits: Limits) -> None:
        """Check about HEAD_BYTES of an input. Raises: InputRefused if they have another format."""
