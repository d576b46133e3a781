"""How a cut is answered from an object store: ``python -m bench.objects [SIZE …] [--delay MS]``.

Each SIZE (default 10^6) is a number of events, or the folder of a stored recording.

The store is moto's server, a Python process on this machine, which takes about 3 ms of processor
time for each request and answers one after the other. Its times are not those of a real object
store. So requests, bytes and rounds are counted too, and each time is printed beside the one of the
same recording on this machine's disk. A *round* is a time in which requests travel, without a
moment between them: so many times a question waits for the store. ``--delay`` lets each answer take
so many milliseconds longer, as from a store that is far away.
"""

import argparse
import os
import tempfile
import threading
from collections.abc import Callable
from pathlib import Path
from time import perf_counter

import numpy as np

from bench.synthetic_store import write_synthetic
from snapshots.store.objects import catalogues, client, far
from snapshots.store.objects.client import traffic
from snapshots.store.objects.paths import path_of, put_tree, tree_bytes
from snapshots.store.publish import publish
from snapshots.store.reader import StoredRecording
from tests.objects.server import ENVIRONMENT, ObjectServer

_ROUNDS = 20


class Rounds:
    """Counts how often this process began to wait for object stores. Safe for threads."""

    def __init__(self) -> None:
        self.count = 0
        self._under_way = 0
        self._lock = threading.Lock()

    def counting(self, read: Callable[..., bytes]) -> Callable[..., bytes]:
        """Return a function that reads, and is counted."""

        def counted(*place: object) -> bytes:
            with self._lock:
                self.count += not self._under_way
                self._under_way += 1
            try:
                return read(*place)
            finally:
                with self._lock:
                    self._under_way -= 1

        return counted


rounds = Rounds()


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("sizes", nargs="*", default=["1e6"])
    arguments.add_argument("--delay", type=float, default=0.0, help="milliseconds")
    given = arguments.parse_args()
    os.environ.update(ENVIRONMENT)
    client.read = rounds.counting(client.read)
    client.read_range = rounds.counting(client.read_range)
    with ObjectServer(given.delay / 1000) as server:
        for size in given.sizes:
            objects = path_of(f"s3://{server.bucket()}/store/j1-1")
            if Path(size).is_dir():
                _compare(Path(size), objects)
                continue
            with tempfile.TemporaryDirectory(prefix="cutline-bench-") as folder:
                write_synthetic(Path(folder), int(float(size)))
                _compare(Path(folder), objects)


def _compare(disk: Path, objects: Path) -> None:
    put_tree(disk, objects)
    publish(objects, objects)
    catalogues.forget_all()
    size = tree_bytes(objects)
    near, instants = StoredRecording.open(disk), _instants(disk)
    print(f"\n{near.manifest.counts['events']:,} events, {size / 1e6:,.1f} MB stored")
    _ask(near, instants[0])
    on_disk = [_timed(near, instant)[0] for instant in instants]
    began, before = perf_counter(), _seen()
    opened = StoredRecording.open(objects)
    _tell("open, cold", perf_counter() - began, before)
    before = _seen()
    cold, answer = _timed(opened, instants[0])
    _tell("first cut, cold", cold, before)
    assert answer == _ask(near, instants[0])
    before = _seen()
    others = [_timed(opened, instant)[0] for instant in instants[1:]]
    _tell(f"each of {len(others)} other cuts", float(np.mean(others)), before, len(others))
    before = _seen()
    warm = [_timed(opened, instant)[0] for instant in instants]
    _tell("each again, warm", float(np.mean(warm)), before, len(warm))
    print(f"{'the same on disk':26} {1000 * float(np.mean(on_disk)):8.1f} ms")
    print(f"{'in memory':26} {far.kept_bytes() / 1e6:8.1f} MB")


def _instants(folder: Path) -> list[int]:
    extent = StoredRecording.open(folder).manifest.extent
    return np.random.default_rng(7).integers(extent.from_, extent.to, _ROUNDS).tolist()


def _timed(recording: StoredRecording, instant: int) -> tuple[float, list[object]]:
    began = perf_counter()
    answer = _ask(recording, instant)
    return perf_counter() - began, answer


def _ask(recording: StoredRecording, instant: int) -> list[object]:
    """Answer a cut with all that a page shows of it."""
    cut = recording.cut(recording.positions_at(at=instant))
    return [cut.consistent, cut.depths.tolist(), cut.all_contents(), cut.states, cut.orphans()]


def _tell(what: str, seconds: float, before: tuple[int, ...], times: int = 1) -> None:
    waited, requests, size = (now - then for now, then in zip(_seen(), before, strict=True))
    each = f"{requests / times:7.1f} requests, {size / times / 1e6:7.2f} MB"
    print(f"{what:26} {1000 * seconds:8.1f} ms, {each}, {waited / times:4.1f} rounds")


def _seen() -> tuple[int, ...]:
    """Return the rounds so far, the requests and the bytes of their answers."""
    return rounds.count, *traffic.seen()


if __name__ == "__main__":
    main()
