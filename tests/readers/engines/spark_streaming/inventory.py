"""Turns inventory and derived recording of a Spark upload into the form of recorded answers."""

import json

from snapshots.domain.assembling.assembly import Header
from snapshots.domain.inventory.entries import StateEntry
from snapshots.domain.inventory.model import CheckpointInventory, UploadInventory
from snapshots.readers.engines.spark_streaming.adapter.jobs import SparkJob
from snapshots.readers.engines.spark_streaming.adapter.reader import SparkUpload
from snapshots.readers.engines.spark_streaming.state.readings import TIMERS
from snapshots.readers.engines.spark_streaming.state.rocksdb_zips import read_zip
from snapshots.readers.engines.spark_streaming.state.store_files import ZIP, chain
from tests.readers.engines.spark_streaming.cases import reading_called

VALUES = {"ListState": "list_value", "MapState": "map_value"}


def batches_of(inventory: UploadInventory, folder: str) -> list[CheckpointInventory]:
    """Return the batches of the checkpoint directory in ``folder``."""
    keys = {key for key, own in folders_of(inventory).items() if own == folder}
    return [one for one in inventory.checkpoints if one.job in keys]


def folders_of(inventory: UploadInventory) -> dict[str, str]:
    """Return the folder of each query by its key."""
    facts = {job.key: {fact.name: fact.value for fact in job.facts} for job in inventory.jobs}
    return {key: str(one["folder"]) for key, one in facts.items()}


def facts_of(checkpoint: CheckpointInventory) -> dict:
    return {fact.name: fact.value for fact in checkpoint.facts}


def told_by_entries(inventory: UploadInventory, entries: list[StateEntry]) -> dict:
    """Return rows as Spark gives them, by folder, batch, operator and state; then by partition.

    The inventory, taken after the entries were read, adds the states without entries.
    """
    folders = folders_of(inventory)
    found: dict[tuple, dict[str, list]] = {}
    kinds: dict[tuple, str] = {}
    for checkpoint in inventory.checkpoints:
        for operator in checkpoint.operators:
            for state in operator.states:
                place = (folders[checkpoint.job], checkpoint.id, operator.id, state.name)
                kinds[place] = state.kind
                if state.complete:
                    found[place] = {}
    for entry in entries:
        checkpoint = inventory.checkpoints[entry.checkpoint]
        place = (folders[checkpoint.job], checkpoint.id, entry.operator, entry.state)
        if place in found:
            row = {"key": entry.key, _column(kinds[place]): entry.value}
            found[place].setdefault(str(entry.subtask), []).append(row)
    return found


def _column(kind: str) -> str:
    return "expiration_timestamp_ms" if kind == TIMERS else VALUES.get(kind, "value")


def name_of(label: str) -> str:
    """Return the name of the state that a recorded read is about."""
    reading = reading_called(label)
    return reading.name or reading.kind


def with_tables(job: SparkJob, upload: SparkUpload) -> dict[int, list[str]]:
    """Return the files that the state after each batch takes, as far as they are there."""
    chains: dict[int, list[str]] = {}
    checkpoint = job.checkpoint
    for batch in job.batches:
        paths = chains.setdefault(batch.batch, [])
        for operator, stores in checkpoint.versions.items():
            for store, partitions in stores.items():
                for number, listed in partitions.items():
                    ids = checkpoint.state_ids(operator, store, number)
                    for file in chain(listed, batch.state_version, ids).files:
                        paths.append(file.path)
                        if file.kind == ZIP:
                            found = read_zip(checkpoint.files, file.path, upload.limits)
                            paths += found.tables
    return chains


def told_by_events(upload: SparkUpload) -> dict[str, dict]:
    """Return what the events of each folder say.

    ``planned`` has ranges by batch and source, ``committed`` the batches, ``wrote`` the partitions
    that wrote the state of each batch, and ``sunk`` the number of files that a batch added.
    """
    header, events = upload.recording()
    labels = {process.id: process.scope for process in header.topology.processes}
    folders = {job.label: job.folder for job in upload.jobs}
    told = {
        folder: {"planned": {}, "committed": [], "wrote": {}, "sunk": {}}
        for folder in folders.values()
    }
    for event in events:
        own, extra = told[folders[labels[event.process]]], json.loads(event.extra)
        if event.kind == "batch_plan":
            ranges = extra.get("ranges", {}).items()
            own["planned"][extra["batch"]] = {_source(name): range_ for name, range_ in ranges}
        elif event.kind == "batch_commit":
            own["committed"].append(extra["batch"])
        elif event.kind == "task_end":
            operators = _operators(header, labels[event.process])
            place = (operators[extra["operator"]], extra["partition"])
            own["wrote"].setdefault(extra["batch"], []).append(place)
        elif event.kind == "sink_write":
            own["sunk"][extra["batch"]] = extra["files"]
    return told


def _operators(header: Header, label: str | None) -> dict[str, int]:
    """Return the ids of a job's operators by vertex; they count from 0 in all cases."""
    start = "" if label is None else f"{label}: "
    vertices = header.extra["dataflow"]["vertices"]
    own = [one["id"] for one in vertices if one["kind"] == "operator"]
    return {name: id for id, name in enumerate(n for n in own if n.startswith(start))}


def _source(process: str) -> str:
    """Return ``0`` for ``checkpoint: source 0[0]``."""
    return process.rpartition("[")[0].partition("source ")[2]
