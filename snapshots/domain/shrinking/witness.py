"""The witness that a part must keep: what a finding names, and how two findings are compared."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from snapshots.domain.judging.findings import CONSISTENT, UNKNOWN
from snapshots.domain.model.recording import MessageId
from snapshots.domain.model.topology import ChannelId, JsonText, ProcessId
from snapshots.domain.model.values import canonical
from snapshots.domain.shrinking.whole import EventKey

Json = Mapping[str, Any]

_ENDS = ("sent", "received", "event")
_FACTLESS = frozenset({"verdict", "sentence"})


@dataclass(frozen=True)
class Witness:
    """A finding as JSON, whose events have their indexes in the whole recording.

    Attributes:
        shown: for a consistent snapshot, the send of a message in flight that was recorded.
        shown_on: the channel of that message.
    """

    finding: Json
    shown: EventKey | None = None
    shown_on: ChannelId | None = None

    @property
    def verdict(self) -> str:
        """The verdict that the finding shows."""
        return str(self.finding["verdict"])

    @property
    def message(self) -> MessageId | None:
        """The message that the finding names first."""
        return self.finding.get("message")

    @property
    def channel(self) -> ChannelId | None:
        """The channel that the finding names, or that shows a consistent snapshot."""
        return self.finding.get("channel", self.shown_on)

    @property
    def rests_on_events(self) -> bool:
        """Tell whether the finding names anything of the log, or says that nothing is wrong."""
        return self.verdict == CONSISTENT or bool(self.finding.keys() - _FACTLESS)

    @cached_property
    def events(self) -> tuple[EventKey, ...]:
        """The events that the finding names."""
        shown = () if self.shown is None else (self.shown,)
        return (*shown, *_events(self.finding), *_events(self.finding.get("other") or {}))

    @cached_property
    def channels(self) -> tuple[ChannelId, ...]:
        """The channels that the finding names."""
        own = () if self.channel is None else (self.channel,)
        return (*own, *self.finding.get("path", ()))

    @cached_property
    def processes(self) -> tuple[ProcessId, ...]:
        """The processes that the finding names beside its events."""
        return (self.finding["process"],) if "process" in self.finding else ()

    @cached_property
    def identity(self) -> JsonText:
        """The text that equals that of the same finding elsewhere."""
        return identity(self.finding)


def _events(ends: Json) -> Iterator[EventKey]:
    for end in _ENDS:
        if end in ends:
            yield EventKey(ends[end]["process"], ends[end]["index"])


def identity(finding: Json) -> JsonText:
    """Return a text that is equal for the same finding of two recordings.

    What a derived recording leaves unjudged is one finding that counts processes. The count differs
    in a part, so it is left out.
    """
    if finding["verdict"] == UNKNOWN and finding.keys() <= _FACTLESS:
        return canonical({"verdict": UNKNOWN})
    return canonical(finding)


def in_the_whole(finding: Json, indexes: Mapping[ProcessId, Sequence[int]]) -> dict[str, Any]:
    """Return a finding of a part with the indexes that its events have in the whole recording.

    Args:
        indexes: for each process of the part, the indexes of its events in the whole recording.
    """
    moved = dict(finding)
    for end in _ENDS:
        if end in moved:
            event = moved[end]
            moved[end] = {**event, "index": indexes[event["process"]][event["index"]]}
    if "other" in moved:
        moved["other"] = in_the_whole(moved["other"], indexes)
    return moved
