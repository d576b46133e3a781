"""Keep, beside each new part, what the index and the fences take from it.

The task that writes a part has its rows in its hands. So it also notes where each process or
channel begins and ends in them, and the fences of the searched columns. ``finish`` then only puts
these outlines together and reads no part again. ``publish`` removes them.
"""

import io
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from snapshots.store.errors import StoreDamaged, name_in_recording
from snapshots.store.layout import (
    EVENTS,
    MARKER_DISORDER,
    MARKERS,
    MESSAGE_DISORDER,
    MESSAGES,
    OUTLINES,
    PARTED,
)
from snapshots.store.objects.paths import is_here

Ints = NDArray[np.int64]

FENCE = 16  # rows in a block

SEARCHED = {
    EVENTS: ("at", "step"),
    MESSAGES: ("sent_index", "received_reach"),
    MESSAGE_DISORDER: ("received_sorted", "received_floor", "lost"),
    MARKERS: ("sent_index", "received_reach"),
    MARKER_DISORDER: ("received_sorted", "received_floor", "lost"),
}


@dataclass(frozen=True)
class Outline:
    """What the index and the fences take from one part.

    Attributes:
        code, begin, end: int64[R], the process or channel of each run of rows, and its rows.
        fences: int64[columns, F], for each searched column the value of the last row of every whole
            block of FENCE rows of a run, run after run.
    """

    code: Ints
    begin: Ints
    end: Ints
    fences: Ints

    @property
    def end_fence(self) -> Ints:
        """Return the place after the last fence of each run."""
        return np.cumsum((self.end - self.begin) // FENCE)


@dataclass(frozen=True)
class Runs:
    """The runs of all parts of a table, sorted by code.

    Attributes:
        code, part, begin, end: int64[R], as the columns of the index.
        first_fence, end_fence: int64[R], where each run's fences lie in the outline of its part.
    """

    code: Ints
    part: Ints
    begin: Ints
    end: Ints
    first_fence: Ints
    end_fence: Ints


def outline_of(table: str, rows: pa.Table) -> Outline:
    """Return the outline of a part with these rows, which are sorted as ``layout`` says."""
    _, key = PARTED[table]
    codes = rows[key].to_numpy()
    begin = np.flatnonzero(np.diff(codes, prepend=codes[:1] - 1))
    end = np.append(begin[1:], len(codes))
    blocks = (end - begin) // FENCE
    within = np.arange(blocks.sum()) - np.repeat(np.cumsum(blocks) - blocks, blocks)
    last = pa.array(np.repeat(begin, blocks) + (within + 1) * FENCE - 1)
    # Times that are not known yet are null. Such a part is written again when they are.
    fences = [pc.fill_null(rows[name].take(last), 0).to_numpy() for name in SEARCHED[table]]
    return Outline(codes[begin].astype(np.int64), begin, end, np.stack(fences))


def keep_outline(folder: Path, file: str, outline: Outline) -> None:
    """Write the outline of the part ``file`` of the recording in ``folder``."""
    runs, fences = _files(folder, file)
    runs.parent.mkdir(exist_ok=True)
    save(runs, np.stack([outline.code, outline.begin, outline.end]))
    save(fences, outline.fences)


def drop_outline(folder: Path, file: str) -> None:
    """Remove the outline of a part that no longer counts."""
    for path in _files(folder, file):
        path.unlink(missing_ok=True)


def kept_outline(folder: Path, file: str) -> Outline:
    """Return the outline of the part ``file``, with its fences mapped. Raises: StoreDamaged."""
    runs, fences = _files(folder, file)
    try:
        code, begin, end = loaded(runs)
        return Outline(code, begin, end, loaded(fences))
    except (OSError, ValueError) as error:
        raise StoreDamaged(
            name_in_recording(folder / file),
            f"What was noted of it cannot be read ({error}).",
            "Was the recording published already? It is finished before that.",
        ) from error


def merged(outlines: Iterable[Outline]) -> Runs:
    """Return the runs of all parts, whose outlines are given in the order of the parts."""
    columns: list[tuple[Ints, ...]] = [(np.zeros(0, np.int64),) * 6]
    for number, outline in enumerate(outlines):
        part = np.full(len(outline.code), number)
        end_fence = outline.end_fence
        first_fence = end_fence - (outline.end - outline.begin) // FENCE
        columns.append((outline.code, part, outline.begin, outline.end, first_fence, end_fence))
    joined = [np.concatenate(column) for column in zip(*columns, strict=True)]
    order = np.argsort(joined[0], kind="stable")
    return Runs(*(column[order] for column in joined))


def save(path: Path, numbers: np.ndarray) -> None:
    """Write a ``.npy`` file, here or on an object store. Raises: OSError if the disk is full.

    ``np.save`` would not raise it: it does not ask whether closing the file has written the rest.
    """
    rows = np.ascontiguousarray(numbers)
    with path.open("wb") as sink:
        header = np.lib.format.header_data_from_array_1_0(rows)
        np.lib.format.write_array_header_1_0(sink, header)
        sink.write(rows.tobytes())


def loaded(path: Path) -> np.ndarray:
    """Map a ``.npy`` file, or read it if it is on an object store. Raises: OSError, ValueError."""
    if is_here(path):
        mapped: np.ndarray = np.load(path, mmap_mode="r")
        return mapped
    read: np.ndarray = np.load(io.BytesIO(path.read_bytes()))
    return read


def _files(folder: Path, file: str) -> tuple[Path, Path]:
    stem = folder / OUTLINES / Path(file).stem
    return stem.with_name(f"{stem.name}-runs.npy"), stem.with_name(f"{stem.name}-fences.npy")
