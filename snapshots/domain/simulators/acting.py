"""What one step of a workload is, and the draws that steps share."""

import random
from collections.abc import Sequence
from typing import Any, NamedTuple, TypeVar

from snapshots.domain.model.topology import ChannelId, JsonText

Item = TypeVar("Item")


class Action(NamedTuple):
    """What a process does: a send if ``channel`` is given, else an internal event."""

    state: Any
    channel: ChannelId | None = None
    value: JsonText | None = None
    label: str | None = None


def any_of(items: Sequence[Item], rng: random.Random) -> Item:
    """Draw one of several items with equal probabilities; it takes one random number."""
    return items[int(rng.random() * len(items))]
