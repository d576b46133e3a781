"""How long the smallest part with a verdict takes: ``python -m bench.shrinking [EVENTS …]``.

A snapshot of the synthetic recording has orphans and wrong states. For comparison, the positions of
a cut of the same recording are searched, which reads as little.
"""

import shutil
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from time import perf_counter

from bench.synthetic_store import write_synthetic
from snapshots.domain.judging import witnesses
from snapshots.domain.judging.findings import Finding, Place
from snapshots.domain.model.as_json import as_json
from snapshots.domain.model.recording import SnapshotId
from snapshots.domain.shrinking.shrink import Shrunk, shrink
from snapshots.domain.shrinking.witness import Witness
from snapshots.store.reader import StoredRecording
from snapshots.store.whole import StoredWhole

SIZES = (10**6, 10**7)
SNAPSHOT = SnapshotId("s1")
MOST_FINDINGS = 20  # of each verdict


def main() -> None:
    sizes = [int(float(text)) for text in sys.argv[1:]] or list(SIZES)
    for size in sizes:
        folder = Path(tempfile.mkdtemp(prefix="cutline-bench-"))
        try:
            write_synthetic(folder, size, min(50, size // 400), snapshots=(SNAPSHOT,))
            measure(StoredRecording.open(folder), size)
        finally:
            shutil.rmtree(folder)


def measure(stored: StoredRecording, size: int) -> None:
    """Print how long the parts take, and how large they are."""
    begun = stored.topology.processes[0].id
    spent: dict[str, list[tuple[float, Shrunk]]] = {}
    for finding in findings(stored):
        began = perf_counter()
        whole = StoredWhole(stored.tables, SNAPSHOT, "synthetic", (begun,))
        part = shrink(whole, Witness(as_json(finding)))
        spent.setdefault(finding.verdict, []).append((perf_counter() - began, part))
    for verdict, parts in spent.items():
        seconds = sorted(took for took, _ in parts)
        largest = max(len(part.part.events) for _, part in parts)
        print(
            f"{size:.0e} events, {verdict:15} {len(parts):3} findings, at most {largest} events "
            f"left, median {seconds[len(seconds) // 2] * 1000:.1f} ms, "
            f"longest {seconds[-1] * 1000:.1f} ms"
        )
    began = perf_counter()
    stored.positions_at(at=stored.manifest.extent.to // 2)
    print(f"{size:.0e} events, positions of a cut: {(perf_counter() - began) * 1000:.1f} ms")


def findings(stored: StoredRecording) -> Iterator[Finding]:
    """Yield the first orphans and wrong states of the snapshot."""
    cut = stored.cut(stored.snapshot_positions(SNAPSHOT))
    for message in cut.orphans(MOST_FINDINGS):
        yield witnesses.orphan(stored.topology.channel_by_id[message.channel], message)
    for process, index, state in zip(
        stored.topology.processes, cut.positions.tolist(), cut.states, strict=True
    ):
        event = stored.event(process.id, index)
        if state is not None and state != event["state"]:
            place = Place(process.id, index, event["at"])
            yield witnesses.state_mismatch(process.id, place, event["state"], state)


if __name__ == "__main__":
    main()
