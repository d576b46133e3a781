"""Build topologies of common shapes: processes p1 .. pN, and channels named ``a->b``."""

import random
from collections.abc import Iterable
from dataclasses import replace

from snapshots.domain.model.topology import Channel, ChannelId, Process, ProcessId, Topology


def ring(size: int) -> Topology:
    """Return the ring p1 -> p2 -> … -> p1. A single process has no channel."""
    names = _names(size)
    links = zip(names, names[1:] + names[:1], strict=True) if size > 1 else ()
    return of_links(names, links)


def complete(size: int) -> Topology:
    """Return a topology with a channel from every process to every other."""
    names = _names(size)
    return of_links(names, ((a, b) for a in names for b in names if a != b))


def random_connected(size: int, degree: float, seed: int) -> Topology:
    """Return a ring through all processes in random order, with random further channels.

    Args:
        size: number of processes, 1 or more.
        degree: channels that leave a process on average, from 1 (the ring alone) to size - 1 (all
            possible channels).
        seed: makes the topology repeatable.

    Raises: ValueError for a degree outside its range.
    """
    if size > 1 and not 1 <= degree <= size - 1:
        raise ValueError(f"a degree of {degree} is not between 1 and {size - 1}")
    rng = random.Random(seed)
    names = _names(size)
    order = rng.sample(names, size)
    links = dict.fromkeys(zip(order, order[1:] + order[:1], strict=True)) if size > 1 else {}
    wanted = round(size * degree) if size > 1 else 0
    while len(links) < wanted:
        source, target = rng.sample(names, 2)
        links[source, target] = None
    return of_links(names, sorted(links, key=lambda link: tuple(map(names.index, link))))


def of_links(
    processes: Iterable[ProcessId], links: Iterable[tuple[ProcessId, ProcessId]]
) -> Topology:
    """Return a topology with a FIFO channel for each link and without start states."""
    return Topology(
        tuple(Process(name) for name in processes),
        tuple(Channel(ChannelId(f"{a}->{b}"), a, b) for a, b in links),
    )


def without_order(topology: Topology) -> Topology:
    """Return the topology with channels that are not FIFO."""
    channels = tuple(replace(channel, fifo=False) for channel in topology.channels)
    return replace(topology, channels=channels)


def _names(size: int) -> list[ProcessId]:
    return [ProcessId(f"p{number}") for number in range(1, size + 1)]
