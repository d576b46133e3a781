"""Write recordings to stores for tests, open them, and scatter them over parts."""

import random
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc

from snapshots.domain.model.recording import Recording
from snapshots.store import parts
from snapshots.store.decoding import open_part
from snapshots.store.layout import EVENTS, MARKERS, MESSAGES, PARTED
from snapshots.store.manifest import Manifest
from snapshots.store.reader import StoredRecording
from snapshots.store.writer import finish, write_recording

_WRITERS = {
    EVENTS: parts.write_events,
    MESSAGES: parts.write_messages,
    MARKERS: parts.write_markers,
}


@contextmanager
def stored(
    recording: Recording, *, scattered: int | None = None, most: int = 4
) -> Iterator[StoredRecording]:
    """Write a recording and open it; ``scattered`` is a seed to spread it over parts at random.

    Each table then has up to ``most`` parts.
    """
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        manifest = write_recording(recording, folder)
        if scattered is not None:
            scatter(folder, manifest, scattered, most)
        yield StoredRecording.open(folder)


def scatter(folder: Path, manifest: Manifest, seed: int, most: int = 4) -> Manifest:
    """Write the parts again, up to ``most`` per table, with random codes in each."""
    chance = random.Random(seed)
    written = []
    for table, write in _WRITERS.items():
        for part in manifest.parts_of(table):
            schema, name = PARTED[table]
            rows = open_part(folder / part.file, table).table(schema)
            key = rows[name]
            homes = {code: chance.randrange(most) for code in pc.unique(key).to_pylist()}
            for home in chance.sample(range(most), most):
                codes = pa.array([code for code in homes if homes[code] == home], key.type)
                chosen = rows.filter(pc.is_in(key, codes))
                written += write(folder, _without_reach(chosen))
    return finish(folder, replace(manifest, parts=tuple(written)))


def _without_reach(rows: pa.Table) -> pa.Table:
    names = [name for name in rows.column_names if name != "received_reach"]
    return rows.select(names)
