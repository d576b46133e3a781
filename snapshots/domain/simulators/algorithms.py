"""Name the snapshot algorithms that can be simulated, and what each of them has to give."""

from collections.abc import Mapping
from typing import Any, Protocol, TypeVar

from snapshots.domain.model.recording import MessageId, SnapshotId
from snapshots.domain.model.topology import ChannelId
from snapshots.domain.simulators.protocols import chandy_lamport, lai_yang
from snapshots.domain.simulators.protocols.effects import Effect


class AnyRecorder(Protocol):
    """How far a process is with a snapshot."""

    @property
    def snapshot(self) -> SnapshotId:
        """The name of the snapshot."""

    @property
    def has_recorded(self) -> bool:
        """Whether the process has recorded its state."""

    @property
    def is_done(self) -> bool:
        """Whether the process has recorded its state and its channels."""

    @property
    def is_waiting(self) -> bool:
        """Whether messages that the process knows of must come before it can be done."""


Recorder = TypeVar("Recorder", bound=AnyRecorder)


class Steps(Protocol[Recorder]):
    """The step functions of a snapshot protocol; its module has them.

    ``NAME`` is its name in the API; pages show ``TITLE`` and ``SENTENCE``. If messages are
    coloured, a red message is also a marker if it is the first to arrive, and ``on_message`` gets
    only the white ones. ``on_marker`` gets None as the count if the protocol's markers have none.
    """

    NAME: str
    TITLE: str
    SENTENCE: str
    COLOURS_MESSAGES: bool

    def start(
        self,
        snapshot: SnapshotId,
        received: Mapping[ChannelId, int],
        sent: Mapping[ChannelId, int],
    ) -> Recorder: ...

    def begin(self, recorder: Recorder) -> tuple[Recorder, tuple[Effect, ...]]: ...

    def on_marker(
        self, recorder: Recorder, channel: ChannelId, count: int | None
    ) -> tuple[Recorder, tuple[Effect, ...]]: ...

    def on_message(
        self, recorder: Recorder, channel: ChannelId, message: MessageId
    ) -> tuple[Recorder, tuple[Effect, ...]]: ...


_ALGORITHMS: tuple[Steps[Any], ...] = (chandy_lamport, lai_yang)
ALGORITHMS = {steps.NAME: steps for steps in _ALGORITHMS}
"""The snapshot algorithms by name. The first is the default."""
