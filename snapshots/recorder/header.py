"""The first line of a log: the processes and channels of the system."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

ARROW = "->"


def header(
    name: str,
    processes: Mapping[str, Any],
    channels: Iterable[str],
    *,
    fifo: bool = True,
    origin: int | None = None,
) -> dict[str, Any]:
    """Return the header of a log in Cutline's native format.

    processes: the id of each process with its state at the start, which is None if not known.
    channels: ids such as ``A->B``, which also say from where to where the channel goes.
    fifo: whether messages are received in the order in which they were sent.
    origin: nanoseconds since 1970 at which the times of the log are 0, by default now. The logs of
        one system may have different origins: joining them corrects the times.

    Raises: ValueError if a channel does not join two of the processes.
    """
    return {
        **{"kind": "header", "format": "cutline", "version": 1, "name": name, "time_unit": "ns"},
        "origin": time.time_ns() if origin is None else origin,
        "processes": [_process(process, state) for process, state in processes.items()],
        "channels": [_channel(channel, processes, fifo) for channel in channels],
    }


def _process(process: str, state: Any) -> dict[str, Any]:
    return {"id": process} if state is None else {"id": process, "state": state}


def _channel(channel: str, processes: Mapping[str, Any], fifo: bool) -> dict[str, Any]:
    for place in range(len(channel)):
        source, target = channel[:place], channel[place + len(ARROW) :]
        if channel.startswith(ARROW, place) and source in processes and target in processes:
            return {"id": channel, "source": source, "target": target, "fifo": fifo}
    raise ValueError(
        f"The channel {channel!r} does not say from which process to which it goes. Write it as "
        f"'A{ARROW}B', with two of the processes {', '.join(processes)}."
    )
