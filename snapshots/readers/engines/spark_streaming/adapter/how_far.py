"""What the tasks of a batch in flight had done, by the files of state that they wrote."""

from collections.abc import Iterator, Mapping, Sequence
from itertools import chain, islice

from snapshots.domain.model.engine_words import EPOCH, WROTE, WROTE_NOTHING, WROTE_SOME
from snapshots.domain.model.recording import SnapshotId
from snapshots.domain.model.topology import ProcessId
from snapshots.readers.engines.spark_streaming.adapter.graph import Graph, JobGraph
from snapshots.readers.engines.spark_streaming.adapter.jobs import snapshot_of
from snapshots.readers.engines.spark_streaming.adapter.sizes import StateSizes, StoredVersions
from snapshots.readers.engines.spark_streaming.state.store_files import VersionFile

_MOST = 100  # batches in flight, and tasks of each


def how_far(
    graph: Graph, states: Mapping[str, StateSizes]
) -> dict[SnapshotId, dict[ProcessId, str]] | None:
    """Return by snapshot what the tasks of a batch in flight did, in words of ``engine_words``.

    It tells of the newest batches and of their first tasks, as many as witnesses are kept.
    """
    by_snapshot = {
        snapshot_of(job_graph.job, batch): dict(islice(_words(job_graph, batch, states), _MOST))
        for job_graph in graph.jobs
        for batch in sorted(job_graph.job.in_flight)[-_MOST:]
    }
    return by_snapshot or None


def _words(
    graph: JobGraph, batch: int, states: Mapping[str, StateSizes]
) -> Iterator[tuple[ProcessId, str]]:
    """Yield each process of a batch in flight of which the files tell how far it came."""
    if graph.job.is_continuous:
        yield from ((process, EPOCH) for process in graph.processes)
        return
    stores = stores_of(states[graph.job.folder])
    version = graph.job.in_flight[batch].batch.state_version
    for operator, partition, process in graph.tasks:
        files = written_files(stores.get(operator, {}), partition, version, whole=graph.whole)
        yield process, _word(files)


def _word(files: Sequence[tuple[VersionFile, ...]]) -> str:
    if not any(files):
        return WROTE_NOTHING
    return WROTE if all(files) else WROTE_SOME


Stores = Mapping[int, Sequence[StoredVersions]]
"""The stores of an operator by partition."""


def stores_of(state: StateSizes) -> dict[int, dict[int, list[StoredVersions]]]:
    """Return the stores by operator and partition."""
    stores: dict[int, dict[int, list[StoredVersions]]] = {}
    for operator, _, partition, versions in state.partitions():
        stores.setdefault(operator, {}).setdefault(partition, []).append(versions)
    return stores


def written_files(
    partitions: Stores, partition: int, version: int, *, whole: bool
) -> list[tuple[VersionFile, ...]]:
    """Return for each store of a task the files that were written for a version.

    Args:
        whole: whether the task stands for all partitions.
    """
    stores = chain.from_iterable(partitions.values()) if whole else partitions.get(partition, ())
    return [versions.wrote(version) for versions in stores]
