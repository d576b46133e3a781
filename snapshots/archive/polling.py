"""Ask a running Flink how far its checkpoints in progress have come, and keep the answers."""

import re
from collections.abc import Iterator, Mapping
from typing import Any

from snapshots.archive import filling, polls
from snapshots.archive.fetching import Client, NotAnswered
from snapshots.domain.archive.model import IN_PROGRESS, CheckpointFacts
from snapshots.models import EngineJob
from snapshots.readers.engines.flink.rest.answers import BACK_PRESSURE, Answer
from snapshots.readers.engines.flink.rest.fields import mapping, number
from snapshots.readers.engines.flink.rest.front import (
    GAUGE,
    Delays,
    Told,
    incomplete,
    late,
    poll_of,
)
from snapshots.readers.engines.flink.rest.job import graph_of
from snapshots.readers.engines.flink.rest.job_graph import JobGraph
from snapshots.readers.engines.flink.rest.load import VertexLoad, loads_of

LARGEST = 1_000  # vertices of a job that is polled
MOST_EDGES = 10_000
MOST_AT_ONCE = 3  # checkpoints of a job in progress that are polled
MOST_VERTICES = 100  # of one checkpoint that are asked for their subtasks, load and gauges
MOST_SUBTASKS = 200  # of a vertex that are asked for their gauges
_ID = re.compile(r"[0-9a-f]{32}")
_EARLIER = 10  # checkpoints before, whose start delays are compared


def keep_polls(
    client: Client, row: EngineJob, job: Mapping[str, Any], listed: tuple[CheckpointFacts, ...]
) -> None:
    """Ask for each checkpoint in progress of ``listed``, and keep what Flink says.

    ``job`` is Flink's answer about the job. Raises: NotAnswered.
    """
    at = number(dict(job), "now")
    going = [facts.number for facts in listed if facts.status == IN_PROGRESS]
    if at is None or not going:
        return
    graph = graph_of(mapping(job, "plan"), dict(job))
    if len(graph.vertices) > LARGEST or len(graph.edges()) > MOST_EDGES:
        return
    for checkpoint in going[:MOST_AT_ONCE]:
        try:
            told = _told(client, row.key, checkpoint, graph, at)
        except NotAnswered as silence:
            if silence.status == 404:  # it has ended, and Flink forgot it
                continue
            raise
        poll = poll_of(told, graph, _delays(row, checkpoint))
        if poll is not None:
            polls.keep(row, poll)


def _told(client: Client, key: str, checkpoint: int, graph: JobGraph, at: int) -> Told:
    path = f"/jobs/{key}/checkpoints/details/{checkpoint}"
    details = mapping(client.get(path))
    asked = _asked(graph)
    partly = [vertex for vertex in incomplete(details) if vertex in asked]
    subtasks = {vertex: mapping(client.get(f"{path}/subtasks/{vertex}")) for vertex in partly}
    lacking: list[str] = []
    config = _config(client, key, lacking)
    loads = _loads(client, key, graph, lacking)
    gauges = _gauges(client, key, graph, details, lacking)
    return Told(at, details, subtasks, loads, gauges, config, tuple(lacking))


def _config(client: Client, key: str, lacking: list[str]) -> dict[str, Any]:
    try:
        return mapping(client.get(f"/jobs/{key}/checkpoints/config"))
    except NotAnswered as silence:
        lacking.append(f"Whether barriers may overtake records is not known: {silence}")
        return {}


def _asked(graph: JobGraph) -> list[str]:
    """Return the vertices that are asked for; ids that are not Flink's would change the address."""
    ids = [vertex.id for vertex in graph.vertices if _ID.fullmatch(vertex.id)]
    return ids[:MOST_VERTICES]


def _loads(client: Client, key: str, graph: JobGraph, lacking: list[str]) -> list[VertexLoad]:
    """Ask how busy the vertices are; what Flink does not say goes to ``lacking``."""
    answers = []
    try:
        for vertex in _asked(graph):
            value = client.get(f"/jobs/{key}/vertices/{vertex}/backpressure")
            answers.append(Answer(BACK_PRESSURE, "", value, key, vertex=vertex))
    except NotAnswered as silence:
        lacking.append(f"How busy the vertices are is not known of all: {silence}")
    loads = list(loads_of(answers))
    if any(not load.is_measured for load in loads):
        lacking.append("Flink had not measured yet how busy some vertices are.")
    if len(graph.vertices) > MOST_VERTICES:
        lacking.append(f"Only the first {MOST_VERTICES} vertices are asked how busy they are.")
    return loads


def _gauges(
    client: Client, key: str, graph: JobGraph, details: object, lacking: list[str]
) -> dict[str, Any]:
    """Ask when barriers last reached the subtasks that are late."""
    found = {}
    asked = _asked(graph)
    try:
        for vertex, width in late(details):
            if vertex not in asked:
                continue
            names = ",".join(f"{index}.{GAUGE}" for index in range(min(width, MOST_SUBTASKS)))
            found[vertex] = client.get(f"/jobs/{key}/vertices/{vertex}/metrics?get={names}")
    except NotAnswered as silence:
        lacking.append(f"Which subtasks a barrier has reached is not known of all: {silence}")
    return found


def _delays(row: EngineJob, checkpoint: int) -> Delays:
    """Return the start delays of each subtask in the checkpoints before, the newest first.

    They end before a checkpoint that is missing, or of which no subtask is known.
    """
    found: dict[tuple[str, int], list[int | None]] = {}
    for facts in _before(row, checkpoint):
        for vertex in facts.vertices:
            for subtask in vertex.subtasks:
                found.setdefault((vertex.id, subtask.index), []).append(subtask.start_delay)
    return found


def _before(row: EngineJob, checkpoint: int) -> Iterator[CheckpointFacts]:
    earlier = row.checkpoints.filter(number__range=(checkpoint - _EARLIER, checkpoint - 1))
    expected = checkpoint - 1
    for stored in earlier.select_related("detail").order_by("-number"):
        facts = filling.facts_of(stored)
        if stored.number != expected or not facts.vertices:
            return
        expected -= 1
        yield facts
