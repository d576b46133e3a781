"""How fast a stored recording answers, at two sizes: ``python -m bench.store [EVENTS …]``.

Requirements (design, section 8): a cut or a seek in p95 <= 10 ms, at most 1.3 times slower at ten
times the size; a window in <= 20 ms. A seek is the positions at an instant and the depths of all
channels. A cut is also the verdict, the states and the contents of all channels at random
positions.
"""

import resource
import shutil
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from time import perf_counter

import numpy as np

from bench.synthetic_store import write_synthetic
from snapshots.store.levels import COUNTED_ON_THE_FLY
from snapshots.store.reader import StoredRecording, open_cached

_ROUNDS = 300
_SIZES = (10**6, 10**7)


def main() -> None:
    sizes = [int(float(text)) for text in sys.argv[1:]] or list(_SIZES)
    results = {size: _measured(size) for size in sizes}
    if len(sizes) > 1:
        small, large = results[sizes[0]], results[sizes[-1]]
        for name in small:
            ratio = large[name] / small[name]
            print(f"{name:34} p95 at {sizes[-1]:.0e} / p95 at {sizes[0]:.0e}: {ratio:5.2f}")


def _measured(events: int) -> dict[str, float]:
    folder = Path(tempfile.mkdtemp(prefix="cutline-bench-"))
    try:
        began = perf_counter()
        write_synthetic(folder, events)
        print(f"\n{events:.0e} events, written in {perf_counter() - began:.1f} s", end=", ")
        stored = sum(file.stat().st_size for file in folder.rglob("*") if file.is_file())
        print(f"{stored / events:.1f} bytes an event")
        return _questions(folder)
    finally:
        shutil.rmtree(folder)


def _questions(folder: Path) -> dict[str, float]:
    before = _resident()
    p95 = {"open": _timed("open", lambda _: StoredRecording.open(folder), rounds=20)}
    extent = StoredRecording.open(folder).manifest.extent
    random = np.random.default_rng(7)
    instants = random.integers(extent.from_, extent.to, _ROUNDS)
    drags = random.integers(-40, 40, (_ROUNDS, len(open_cached(folder).topology.processes)))

    def seek(number: int) -> None:
        recording = open_cached(folder)
        assert recording.cut(recording.positions_at(at=int(instants[number]))).depths.sum() >= 0

    def cut(number: int) -> None:
        recording = open_cached(folder)
        positions = recording.positions_at(at=int(instants[number])) + drags[number]
        answer = recording.cut(np.clip(positions, 0, recording.tables.events.length))
        answer.all_contents()
        assert len(answer.states) == len(positions)
        assert answer.consistent == (not answer.orphans())

    def nearest(number: int) -> None:
        recording = open_cached(folder)
        positions = recording.positions_at(at=int(instants[number])) + drags[number]
        assert recording.cut(np.clip(positions, 0, recording.tables.events.length)).nearest.any()

    def window(share: float, axis: str) -> Callable[[int], None]:
        last = extent.to if axis == "time" else extent.steps

        def ask(number: int) -> None:
            from_ = instants[number] / extent.to * last * (1 - share)
            open_cached(folder).window(from_, from_ + share * last, 1200, axis)

        return ask

    p95["seek"] = _timed("seek", seek)
    p95["cut"] = _timed("cut", cut)
    p95["nearest consistent cut"] = _timed("nearest consistent cut", nearest)
    fitting = 4_000 / extent.steps
    for axis in ("time", "order"):
        for name, share in (
            ("exact", fitting),
            ("the most counted at once", min(0.95 * COUNTED_ON_THE_FLY / extent.steps, 1.0)),
            ("a tenth", 0.1),
            ("all", 1.0),
        ):
            label = f"window, {axis}, {name}"
            p95[label] = _timed(label, window(share, axis), rounds=60)
    print(f"{'memory, resident, grew by':34} {_resident() - before:8.1f} MB")
    return p95


def _timed(name: str, ask: Callable[[int], object], rounds: int = _ROUNDS) -> float:
    """Print p50 and p95 of the rounds in ms, and return p95."""
    spent = np.zeros(rounds)
    for number in range(rounds):
        began = perf_counter()
        ask(number)
        spent[number] = (perf_counter() - began) * 1000
    p50, p95 = np.percentile(spent, [50, 95])
    print(f"{name:34} p50 {p50:7.2f} ms   p95 {p95:7.2f} ms   worst {spent.max():7.2f} ms")
    return float(p95)


def _resident() -> float:
    """Return the memory of this process now, including pages of mapped files, in MB."""
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * resource.getpagesize() / 1e6


if __name__ == "__main__":
    main()
