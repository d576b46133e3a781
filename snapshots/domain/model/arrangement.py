"""Arrange the processes of a topology for its picture, which is then the same at every size.

A topology without a cycle, such as a dataflow, is arranged in layers of operators. Any other stands
on a ring, which is relaxed if it is sparse, by attraction along channels and repulsion between all
processes (Fruchterman and Reingold, "Graph drawing by force-directed placement", 1991).
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from snapshots.domain.model.layers import Item, Link, depths, passages, pipelines
from snapshots.domain.model.topology import Topology

MOST_DRAWN = 60  # processes on a ring
MOST_SINGLE = 60  # processes of a dataflow that do not differ in a number at their end
MOST_PASSAGES = 10_000  # layers that edges pass; with more there is no dataflow to see
COORDINATOR = "coordinator"
ROUNDS = 120
SPARSE = 1.6  # channels per process below which relaxing helps
FEW = 8  # processes, whose ring is clear as it is
_NUMBERED = re.compile(r"(.+?)\[\d+\]|(.*[^\W\d_])[-_.:#/ ]?\d+", re.DOTALL)


@dataclass(frozen=True)
class Operator:
    """Processes that differ only in a number at their end; ``members`` are their codes."""

    key: str
    name: str
    members: list[int] = field(default_factory=list)


@dataclass(frozen=True)
class Arrangement:
    """An arrangement: where the picture of a topology has each process.

    Attributes:
        operators: of a dataflow, in the order of the log; empty for a ring.
        bands: the layers of each pipeline of operators.
        alone: keys of the operators without channels.
        is_guessed: whether no channel is known, and the order is that of the log.
        drawn: codes of the processes on the ring; those with most channels if there are many.
        places: where these stand, as x and y in the unit square.
    """

    operators: list[Operator] = field(default_factory=list)
    bands: list[list[list[Item]]] = field(default_factory=list)
    alone: list[str] = field(default_factory=list)
    is_guessed: bool = False
    drawn: list[int] = field(default_factory=list)
    places: list[list[float]] = field(default_factory=list)


def arranged(topology: Topology) -> Arrangement:
    """Return the arrangement of a topology."""
    codes = {process.id: code for code, process in enumerate(topology.processes)}
    ends = [(codes[each.source], codes[each.target]) for each in topology.channels]
    return _dataflow(topology, ends) or _ring(len(codes), ends)


def group_of(name: str) -> str:
    """Return a name without the index at its end, as ``map`` of ``map[0]``."""
    found = _NUMBERED.fullmatch(name)
    return (found[1] or found[2]) if found else name


def _dataflow(topology: Topology, ends: Sequence[tuple[int, int]]) -> Arrangement | None:
    processes = topology.processes
    ways = [[f"{each.scope or ''} {group_of(each.id)}" for each in processes]]
    if len(processes) <= MOST_SINGLE:
        ways.append([each.id for each in processes])
    return next(filter(None, (_layered(keys, topology, ends) for keys in ways)), None)


def _layered(
    keys: Sequence[str], topology: Topology, ends: Sequence[tuple[int, int]]
) -> Arrangement | None:
    """Return the arrangement in layers of the operators with these keys; None with a cycle."""
    operators: dict[str, Operator] = {}
    for code, key in enumerate(keys):
        name = group_of(topology.processes[code].id)
        operators.setdefault(key, Operator(key, name)).members.append(code)
    known = dict.fromkeys((keys[source], keys[target]) for source, target in ends)
    guessed = _in_order_of_log(operators, topology, ends)
    pairs = [*known, *guessed]
    links = [Link(f"edge {n}", source, target) for n, (source, target) in enumerate(pairs)]
    depth = depths(list(operators), links)
    spans = [depth[link.target] - depth[link.source] for link in links]
    if not links or min(spans) < 1 or sum(spans) > MOST_PASSAGES + len(links):
        return None
    linked = {key for pair in pairs for key in pair}
    joined = [band for band in pipelines(list(operators), links) if band[0] in linked]
    own = _links_of(joined, links)
    return Arrangement(
        operators=list(operators.values()),
        bands=[passages(band, own[band[0]], depth) for band in joined],
        alone=[key for key in operators if key not in linked],
        is_guessed=bool(guessed),
    )


def _links_of(bands: Sequence[list[str]], links: Sequence[Link]) -> Mapping[str, list[Link]]:
    """Return the edges of each pipeline, by the key of its first operator."""
    first = {key: band[0] for band in bands for key in band}
    found: dict[str, list[Link]] = {band[0]: [] for band in bands}
    for link in links:
        found[first[link.source]].append(link)
    return found


def _in_order_of_log(
    operators: Mapping[str, Operator], topology: Topology, ends: Sequence[tuple[int, int]]
) -> list[tuple[str, str]]:
    """Return pairs of operators that follow each other in the log.

    They are those of the scopes that have numbered tasks of an engine, and no channel.
    """
    processes = topology.processes
    linked = {processes[code].scope for pair in ends for code in pair}
    scopes = dict.fromkeys(each.scope for each in processes if each.id.endswith("]"))
    pairs: list[tuple[str, str]] = []
    for scope in (scope for scope in scopes if scope not in linked):
        own = [
            each.key
            for each in operators.values()
            if processes[each.members[0]].scope == scope and each.name != COORDINATOR
        ]
        pairs += pairwise(own)
    return pairs


def _ring(count: int, ends: Sequence[tuple[int, int]]) -> Arrangement:
    drawn = most_linked(count, ends)
    place_of = {code: place for place, code in enumerate(drawn)}
    own = [(place_of[a], place_of[b]) for a, b in ends if a in place_of and b in place_of]
    return Arrangement(drawn=drawn, places=np.round(places_of(len(drawn), own), 4).tolist())


def most_linked(count: int, ends: Sequence[tuple[int, int]], most: int = MOST_DRAWN) -> list[int]:
    """Return the processes with most channels, in the order of the topology."""
    degree = np.bincount(np.asarray(ends, np.int64).reshape(-1), minlength=count)
    return sorted(np.argsort(-degree, kind="stable")[:most].tolist())


def places_of(count: int, links: Sequence[tuple[int, int]]) -> NDArray[np.float64]:
    """Return the places of processes in the unit square, one row of x and y for each.

    Args:
        count: of the processes.
        links: the numbers of two processes that a channel joins.
    """
    angles = 2 * np.pi * np.arange(count) / max(count, 1) - np.pi / 2
    if count == 2:
        angles = np.array([np.pi, 0])
    places = np.column_stack([np.cos(angles), np.sin(angles)])
    if count > FEW and len(links) < count * SPARSE:
        _relax(places, np.array([link for link in links if link[0] != link[1]], int).reshape(-1, 2))
    low, span = (places.min(0), np.ptp(places, 0)) if count else (0.0, np.ones(2))
    is_flat = span < 1e-9
    return np.where(is_flat, 0.5, (places - low) / np.where(is_flat, 1, span))


def _relax(places: NDArray[np.float64], links: NDArray[np.int64]) -> None:
    """Let all processes repel each other and channels pull, in place."""
    ideal = 2 / np.sqrt(len(places))
    for turn in range(ROUNDS):
        apart = places[:, None] - places[None]
        distance = np.maximum(np.hypot(apart[..., 0], apart[..., 1]), 1e-3)
        pushes = (apart * (ideal**2 / distance**2)[..., None]).sum(1)
        source, target = links.T
        pulls = apart[source, target] * (distance[source, target] / ideal)[:, None]
        np.subtract.at(pushes, source, pulls)
        np.add.at(pushes, target, pulls)
        length = np.maximum(np.hypot(*pushes.T), 1e-12)
        heat = 0.2 * (1 - turn / ROUNDS)
        places += pushes * (np.minimum(length, heat) / length)[:, None]
