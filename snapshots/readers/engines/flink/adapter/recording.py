"""An upload of Flink's as a recording: its statistics and files as derived events."""

from collections.abc import Iterator
from itertools import zip_longest

from snapshots.domain.assembling.assembly import Header
from snapshots.domain.dataflow_logs.dataflow import Dataflow, DataflowRefused
from snapshots.domain.model.as_json import as_json
from snapshots.domain.model.recording import LoggedEvent
from snapshots.domain.model.topology import Process, Topology
from snapshots.readers.engines import derived_log
from snapshots.readers.engines.derived_log import LONGEST_NAME
from snapshots.readers.engines.flink.adapter.events import write_checkpoint
from snapshots.readers.engines.flink.adapter.in_flight import (
    MOST_MESSAGES,
    FlightReading,
    InFlightReading,
)
from snapshots.readers.engines.flink.adapter.log import Log, RunLog
from snapshots.readers.engines.flink.adapter.runs import Run
from snapshots.readers.engines.flink.adapter.states import States
from snapshots.readers.engines.flink.upload import FlinkUpload
from snapshots.readers.engines.picture import coordinator

MOST_EVENTS = 400_000  # about; beyond it the earliest checkpoints are left out
MOST_CHECKPOINTS = 2_000
MOST_ON_CHANNELS = 300_000  # events of barriers; beyond it their ways are left out
_OF_SUBTASK, _OF_CHANNEL, _OF_COORDINATOR = 4, 3, 3  # events of a checkpoint

_ABOUT_TIMES = (
    "The REST API says when the first and the last barrier reached each subtask. Which channels "
    "brought them, and when barriers were sent, is inferred from when the senders recorded."
)
_ABOUT_FLIGHTS = (
    "Data in flight at a checkpoint is shown as sent before it and as received before the next. "
    "The real times are not known."
)


def recording(
    upload: FlinkUpload, runs: tuple[Run, ...], in_flight: InFlightReading
) -> tuple[Header, Iterator[LoggedEvent]]:
    """Return header and events of the recording of an upload."""
    kept = _kept(runs)
    triggers = [
        checkpoint.triggered_at
        for run in runs
        for checkpoint in run.checkpoints
        if checkpoint.number in kept and checkpoint.triggered_at is not None
    ]
    epoch = min(triggers, default=None)
    on_channels = _on_channels(runs)
    with_barriers = on_channels <= MOST_ON_CHANNELS
    log, states, flights = Log(), States(upload), FlightReading(in_flight)
    types: dict[tuple[str, str], tuple[str, str | None]] = {}
    for run in runs:
        run_log = RunLog(run, log, epoch or 0, states, flights, with_barriers)
        written = [checkpoint for checkpoint in run.checkpoints if checkpoint.number in kept]
        for checkpoint, following in zip_longest(written, written[1:]):
            write_checkpoint(run_log, checkpoint, following)
        types |= run_log.types
    notes = []
    if on_channels and with_barriers and epoch is not None:
        notes.append(_ABOUT_TIMES)
    if flights.shown:
        notes.append(_ABOUT_FLIGHTS)
    if left_out := sum(len(run.checkpoints) for run in runs) - len(kept):
        notes.append(f"The {left_out:,} earliest checkpoints are left out; the inventory has all.")
    if any(run.is_cut for run in runs):
        notes.append("There are too many subtasks to show each of them.")
    if any(run.graph.edges() and not run.links for run in runs) or not with_barriers:
        notes.append("There are too many channels to show the way of each barrier.")
    if flights.left_out:
        notes.append(f"More than {MOST_MESSAGES:,} elements were in flight; not all are shown.")
    named = [
        (run, run.snapshots[checkpoint.number], checkpoint)
        for run in runs
        for checkpoint in run.checkpoints
        if checkpoint.number in kept
    ]
    shown = [(name, checkpoint) for run, name, checkpoint in named if run.links]
    about = {
        "why_empty": {name: one.why_empty for name, one in shown if one.why_empty},
        "why_unknown": {name: one.why_unknown for name, one in shown if one.why_unknown},
        "untimed": [name for _, name, one in named if one.triggered_at is None] or None,
        "runs": [_run(run) for run in runs],
        "record_types": [
            {"source": source, "target": target, "type": type_, "inferred": inferred}
            for (source, target), (type_, inferred) in types.items()
        ],
        "notes": notes,
        "epoch": epoch,
        "dataflow": None if epoch is None else _dataflow(runs),
    }
    processes = tuple(process for run in runs for process in run.processes())
    topology = Topology(
        processes or (Process(coordinator(1, 1), None),),  # of answers without any checkpoint
        tuple(link.channel for run in runs for link in run.links),
    )
    return derived_log.header("flink", _name(upload), topology, about, "ms"), log.events()


def _on_channels(runs: tuple[Run, ...]) -> int:
    return sum(_OF_CHANNEL * len(run.links) * len(run.checkpoints) for run in runs)


def _kept(runs: tuple[Run, ...]) -> set[int]:
    """Return the numbers of the checkpoints that are written: the latest ones."""
    latest_first = sorted(
        ((checkpoint, run) for run in runs for checkpoint in run.checkpoints),
        key=lambda pair: (pair[0].triggered_at or 0, pair[0].number),
        reverse=True,
    )
    each_channel = _OF_CHANNEL if _on_channels(runs) <= MOST_ON_CHANNELS else 0
    kept, left = set(), MOST_EVENTS
    for checkpoint, run in latest_first[:MOST_CHECKPOINTS]:
        left -= _OF_COORDINATOR + _OF_SUBTASK * run.subtasks + each_channel * len(run.links)
        if left < 0:
            break
        kept.add(checkpoint.number)
    return kept


def _dataflow(runs: tuple[Run, ...]) -> dict[str, object]:
    """Return the dataflow of all runs; empty if that of one is not known."""
    dataflows = [run.dataflow for run in runs if run.dataflow is not None]
    if len(dataflows) < len(runs):
        return {}
    vertices = tuple(vertex for dataflow in dataflows for vertex in dataflow.vertices)
    edges = tuple(edge for dataflow in dataflows for edge in dataflow.edges)
    try:
        return as_json(Dataflow(vertices, edges))
    except DataflowRefused:
        return {}


def _run(run: Run) -> dict[str, object]:
    rest = run.job.rest
    return derived_log.present(
        {
            "number": run.number,
            "job": run.job.id,
            "name": rest and rest.name and rest.name[:LONGEST_NAME],
            "flink": rest and rest.flink_version and rest.flink_version[:LONGEST_NAME],
            "checkpoints": len(run.checkpoints),
        }
    )


def _name(upload: FlinkUpload) -> str:
    names = {job.rest.name for job in upload.jobs if job.rest is not None and job.rest.name}
    text = "".join(letter for letter in ", ".join(sorted(names)) if letter.isprintable())
    return text or "Flink checkpoints"
