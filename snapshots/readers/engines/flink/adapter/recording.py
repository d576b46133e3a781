"""An upload of Flink's as a recording: what its statistics and files tell, as derived events."""

from collections.abc import Iterator
from itertools import zip_longest

from snapshots.domain.assembling.assembly import Header
from snapshots.domain.dataflow_logs.dataflow import Dataflow, DataflowRefused
from snapshots.domain.model.as_json import as_json
from snapshots.domain.model.recording import LoggedEvent
from snapshots.domain.model.topology import Topology
from snapshots.readers.engines import derived_log
from snapshots.readers.engines.derived_log import LONGEST_NAME
from snapshots.readers.engines.flink.adapter.channels import InFlightReading
from snapshots.readers.engines.flink.adapter.emptiness import why_empty, why_unknown
from snapshots.readers.engines.flink.adapter.events import write_checkpoint
from snapshots.readers.engines.flink.adapter.flights import MOST_MESSAGES, FlightReading
from snapshots.readers.engines.flink.adapter.log import Log, RunLog
from snapshots.readers.engines.flink.adapter.places import Place
from snapshots.readers.engines.flink.adapter.runs import Run
from snapshots.readers.engines.flink.adapter.states import States
from snapshots.readers.engines.flink.upload import FlinkUpload

MOST_EVENTS = 400_000  # about; beyond it the earliest checkpoints are left out
MOST_CHECKPOINTS = 2_000
MOST_ON_CHANNELS = 300_000  # events of barriers; beyond it their ways are left out
_OF_SUBTASK, _OF_CHANNEL, _OF_COORDINATOR = 4, 3, 3  # events of a checkpoint

_ABOUT_TIMES = (
    "Of each subtask the REST API tells when the first and the last barrier came. Which channel "
    "brought them, and when barriers were sent, is inferred from when their senders recorded."
)
_ABOUT_FLIGHTS = (
    "What was in flight at a checkpoint is shown as sent before it and as received before the next "
    "one; when it was is not known."
)


def recording(
    upload: FlinkUpload, runs: tuple[Run, ...], in_flight: InFlightReading
) -> tuple[Header, Iterator[LoggedEvent]]:
    kept = _kept(runs)
    triggers = [place.rest.triggered_at for run in runs for place in run.places
                if place.number in kept and place.rest is not None]  # fmt: skip
    epoch = min((instant for instant in triggers if instant is not None), default=None)
    on_channels = _on_channels(runs)
    with_barriers = on_channels <= MOST_ON_CHANNELS
    log, states, flights = Log(), States(upload), FlightReading(in_flight)
    types = {}
    for run in runs:
        own = RunLog(run, log, epoch or 0, states, flights, with_barriers)
        written = [place for place in run.places if place.number in kept]
        for place, following in zip_longest(written, written[1:]):
            write_checkpoint(own, place, following)
        types |= own.types
    notes = []
    if on_channels and with_barriers and epoch is not None:
        notes.append(_ABOUT_TIMES)
    if flights.shown:
        notes.append(_ABOUT_FLIGHTS)
    if left_out := sum(len(run.places) for run in runs) - len(kept):
        notes.append(f"The {left_out:,} earliest checkpoints are left out; the contents have all.")
    if any(run.is_cut for run in runs):
        notes.append("There are too many subtasks to show each of them.")
    if any(run.graph.edges() and not run.links for run in runs) or not with_barriers:
        notes.append("There are too many channels to show the way of each barrier.")
    if flights.left_out:
        notes.append(f"More than {MOST_MESSAGES:,} elements were in flight; not all are shown.")
    about = {
        **_whys(runs, kept),
        "runs": [_run(run) for run in runs],
        "record_types": [_type(ends, found) for ends, found in types.items()],
        "notes": notes,
        "epoch": epoch,
        "dataflow": None if epoch is None else _dataflow(runs),
    }
    header = derived_log.header("flink", _name(upload), _topology(runs), about, "ms")
    return header, log.events()


def _whys(runs: tuple[Run, ...], kept: set[int]) -> dict[str, object]:
    """By snapshot, see ``domain/derived.py``."""
    snapshots = [
        (run.snapshots[place.number], place)
        for run in runs
        for place in run.places
        if run.links and place.number in kept
    ]
    whys = (("why_empty", why_empty), ("why_unknown", why_unknown))
    return {
        name: {snapshot: word for snapshot, place in snapshots if (word := why(place)) is not None}
        for name, why in whys
    }


def _on_channels(runs: tuple[Run, ...]) -> int:
    return sum(_OF_CHANNEL * len(run.links) * len(run.places) for run in runs)


def _kept(runs: tuple[Run, ...]) -> set[int]:
    """The numbers of the places that are written: the latest ones."""
    latest_first = sorted(
        ((place, run) for run in runs for place in run.places),
        key=lambda pair: (_trigger(pair[0]) or 0, pair[0].number),
        reverse=True,
    )
    each_channel = _OF_CHANNEL if _on_channels(runs) <= MOST_ON_CHANNELS else 0
    kept, left = set(), MOST_EVENTS
    for place, run in latest_first[:MOST_CHECKPOINTS]:
        subtasks = sum(vertex.parallelism for vertex in run.graph.vertices)
        left -= _OF_COORDINATOR + _OF_SUBTASK * subtasks + each_channel * len(run.links)
        if left < 0:
            break
        kept.add(place.number)
    return kept


def _trigger(place: Place) -> int | None:
    return place.rest.triggered_at if place.rest is not None else None


def _topology(runs: tuple[Run, ...]) -> Topology:
    processes = [process for run in runs for process in run.processes()]
    return Topology(tuple(processes), tuple(link.channel for run in runs for link in run.links))


def _dataflow(runs: tuple[Run, ...]) -> dict[str, object]:
    """Of all runs; empty where it is not known of one."""
    known = [run.dataflow for run in runs]
    if None in known:
        return {}
    vertices = tuple(vertex for one in known for vertex in one.vertices)
    edges = tuple(edge for one in known for edge in one.edges)
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
            "checkpoints": len(run.places),
        }
    )


def _type(ends: tuple[str, str], found: tuple[str, str | None]) -> dict[str, object]:
    name, inferred = found
    return {"source": ends[0], "target": ends[1], "type": name, "inferred": inferred}


def _name(upload: FlinkUpload) -> str:
    names = {job.rest.name for job in upload.jobs if job.rest is not None and job.rest.name}
    text = "".join(one for one in ", ".join(sorted(names)) if one.isprintable())
    return text or "Flink checkpoints"
