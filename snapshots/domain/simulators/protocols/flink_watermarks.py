"""How a task of Flink combines the watermarks of its inputs, as step functions.

Source: Flink, StatusWatermarkValve, as of FLINK-40475 (2026). A watermark says that no record with
this event time or an earlier one is to come. A task's own watermark is the smallest of its inputs
that take part. An input that is idle takes no part, and one that was idle takes part again when it
has caught up with the task. A task's watermark never falls.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from snapshots.domain.model.topology import ChannelId

BEGINNING, END_OF_TIME = -(2**63), 2**63 - 1
"""No watermark yet, and the watermark of an input that has been read to its end."""


@dataclass(frozen=True, slots=True)
class Input:
    """What a task knows of one input.

    Attributes:
        watermark: the newest watermark that came on it.
        is_idle: whether its sender has nothing to send for the time being.
        takes_part: whether the task's watermark waits for it.
    """

    watermark: int = BEGINNING
    is_idle: bool = False
    takes_part: bool = True


@dataclass(frozen=True, slots=True)
class Valve:
    """The inputs of a task, and the watermark and status that it has sent on."""

    inputs: Mapping[ChannelId, Input] = field(default_factory=dict)
    watermark: int = BEGINNING
    is_idle: bool = False


@dataclass(frozen=True, slots=True)
class Advance:
    """The task's watermark rises to this one, and is sent on."""

    watermark: int


@dataclass(frozen=True, slots=True)
class Status:
    """The task tells its receivers that it is idle, or that it no longer is."""

    is_idle: bool


Step = tuple[Valve, tuple[Advance | Status, ...]]


def start(channels: tuple[ChannelId, ...], watermark: int = BEGINNING) -> Valve:
    """Return the valve of a task on which nothing has come.

    Args:
        watermark: the task's own, if a restore has brought one back.
    """
    return Valve({channel: Input() for channel in channels}, watermark)


def on_watermark(valve: Valve, channel: ChannelId, watermark: int) -> Step:
    """Take a watermark. One on an idle input, or one that is not newer, is ignored."""
    entry = valve.inputs[channel]
    if entry.is_idle or watermark <= entry.watermark:
        return valve, ()
    takes_part = entry.takes_part or watermark >= valve.watermark
    return _advanced(_with(valve, channel, Input(watermark, False, takes_part)))


def on_status(valve: Valve, channel: ChannelId, is_idle: bool) -> Step:
    """Take the news that a sender is idle, or that it no longer is."""
    entry = valve.inputs[channel]
    if entry.is_idle == is_idle:
        return valve, ()
    if is_idle:
        return _gone_idle(_with(valve, channel, Input(entry.watermark, True, False)))
    takes_part = entry.watermark >= valve.watermark
    valve = _with(valve, channel, replace(entry, is_idle=False, takes_part=takes_part))
    woken = (Status(False),) if valve.is_idle else ()
    valve, effects = _advanced(with_status(valve, False))
    return valve, (*woken, *effects)


def risen(valve: Valve, watermark: int) -> Valve:
    """Return the valve of a task whose own watermark is this one now."""
    return replace(valve, watermark=watermark)


def with_status(valve: Valve, is_idle: bool) -> Valve:
    """Return the valve of a task that is idle, or that no longer is."""
    return replace(valve, is_idle=is_idle)


def _gone_idle(valve: Valve) -> Step:
    """Go on without an input. If all are idle, rise to the greatest watermark that came."""
    if not all(entry.is_idle for entry in valve.inputs.values()):
        return _advanced(valve)
    valve, effects = _rise(valve, max(entry.watermark for entry in valve.inputs.values()))
    return with_status(valve, True), (*effects, Status(True))


def _advanced(valve: Valve) -> Step:
    """Rise to the smallest watermark of the inputs that take part."""
    taking_part = [entry.watermark for entry in valve.inputs.values() if entry.takes_part]
    return _rise(valve, min(taking_part)) if taking_part else (valve, ())


def _rise(valve: Valve, watermark: int) -> Step:
    if watermark <= valve.watermark:
        return valve, ()
    return risen(valve, watermark), (Advance(watermark),)


def _with(valve: Valve, channel: ChannelId, entry: Input) -> Valve:
    return replace(valve, inputs={**valve.inputs, channel: entry})
