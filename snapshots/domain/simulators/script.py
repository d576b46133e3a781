"""A run written by hand, event by event: for samples, tests and demonstrations."""

from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple, Self

from snapshots.domain.assembling.assembly import Header
from snapshots.domain.model.recording import (
    INTERNAL,
    MARKER_RECEIVE,
    MARKER_SEND,
    RECEIVE,
    RECORD_CHANNEL,
    RECORD_STATE,
    RESTORE,
    SEND,
    LoggedEvent,
)
from snapshots.domain.model.topology import (
    Channel,
    ChannelId,
    JsonText,
    Process,
    ProcessId,
    Topology,
)
from snapshots.domain.model.values import canonical

STEP = 100  # time units between two events without ``at``


class Log(NamedTuple):
    """The header of a log, and its events."""

    header: Header
    events: tuple[LoggedEvent, ...]


class _Unchanged:
    """The state that the process had before; None, in contrast, is a state that is not known."""


UNCHANGED = _Unchanged()


class Script:
    """A log under construction: every call adds one event after the last and returns the script.

    Args:
        processes: their start states, any JSON value; None if a state is not known.
        channels: ``source->target``, or a mapping of ids to (source, target). The process of an
            event on a channel follows from it.
    """

    def __init__(
        self,
        name: str,
        processes: Mapping[str, object],
        channels: Iterable[str] | Mapping[str, tuple[str, str]],
        *,
        fifo: bool = True,
        time_unit: str = "us",
    ) -> None:
        ends = channels if isinstance(channels, Mapping) else {c: c.split("->") for c in channels}
        self._header = Header(
            name,
            time_unit,
            Topology(
                tuple(Process(ProcessId(id_), _text(state)) for id_, state in processes.items()),
                tuple(
                    Channel(ChannelId(id_), ProcessId(source), ProcessId(target), fifo)
                    for id_, (source, target) in ends.items()
                ),
            ),
        )
        self._states = {id_: _text(state) for id_, state in processes.items()}
        self._values: dict[tuple[str, str], object] = {}
        self._events: list[LoggedEvent] = []
        self._now = 0

    def log(self) -> Log:
        return Log(self._header, tuple(self._events))

    def internal(
        self, process: str, label: str, *, state: object = UNCHANGED, at: int | None = None
    ) -> Self:
        return self._add(process, INTERNAL, at, state, label=label)

    def send(
        self,
        channel: str,
        message: str,
        value: object = None,
        *,
        state: object = UNCHANGED,
        at: int | None = None,
    ) -> Self:
        self._values[channel, message] = value
        source = self._channel(channel).source
        return self._add(
            source, SEND, at, state, channel=channel, message=message, value=_text(value)
        )

    def receive(
        self, channel: str, message: str, *, state: object = UNCHANGED, at: int | None = None
    ) -> Self:
        value = self._values.get((channel, message))
        target = self._channel(channel).target
        return self._add(
            target, RECEIVE, at, state, channel=channel, message=message, value=_text(value)
        )

    def send_marker(self, channel: str, snapshot: str, *, at: int | None = None) -> Self:
        source = self._channel(channel).source
        return self._control(source, MARKER_SEND, at, channel=channel, snapshot=snapshot)

    def receive_marker(self, channel: str, snapshot: str, *, at: int | None = None) -> Self:
        target = self._channel(channel).target
        return self._control(target, MARKER_RECEIVE, at, channel=channel, snapshot=snapshot)

    def record(
        self, process: str, snapshot: str, *, state: object = UNCHANGED, at: int | None = None
    ) -> Self:
        """Record the state of a process as it is, or ``state`` if that is given."""
        recorded = self._states[process] if state is UNCHANGED else _text(state)
        return self._control(process, RECORD_STATE, at, snapshot=snapshot, state=recorded)

    def record_channel(
        self, channel: str, snapshot: str, *messages: str, at: int | None = None
    ) -> Self:
        target = self._channel(channel).target
        return self._control(
            target, RECORD_CHANNEL, at, channel=channel, snapshot=snapshot, messages=messages
        )

    def restore(
        self, process: str, epoch: int, snapshot: str | None = None, *, state: object = UNCHANGED
    ) -> Self:
        """Let a process go back to a snapshot, or to the start, and log the state that it has."""
        extra = canonical({"epoch": epoch})
        self._control(process, RESTORE, None, snapshot=snapshot, extra=extra)
        return self.internal(process, "restored", state=state)

    def _channel(self, channel: str) -> Channel:
        return self._header.topology.channel_by_id[ChannelId(channel)]

    def _add(self, process: str, kind: str, at: int | None, state: object, **fields: Any) -> Self:
        if state is not UNCHANGED:
            self._states[process] = _text(state)
        return self._control(process, kind, at, state=self._states[process], **fields)

    def _control(self, process: str, kind: str, at: int | None, **fields: Any) -> Self:
        self._now = self._now + STEP if at is None else at
        line = len(self._events) + 2
        event = LoggedEvent(line, ProcessId(process), kind, at=self._now, **fields)
        self._events.append(event)
        return self


def _text(value: object) -> JsonText | None:
    return None if value is None else canonical(value)
