"""The result of judging one snapshot."""

from collections.abc import Mapping
from dataclasses import dataclass

from snapshots.domain.judging.answers import Answer
from snapshots.domain.judging.findings import Finding
from snapshots.domain.judging.totals import Totals
from snapshots.domain.model.as_json import as_json
from snapshots.domain.model.recording import Instant, MessageId, SnapshotId
from snapshots.domain.model.topology import ChannelId, JsonText, ProcessId


@dataclass(frozen=True)
class SnapshotReport:
    """The result of judging one snapshot. Processes and channels are in the order of the header.

    Attributes:
        processes: the processes in the snapshot's scope.
        findings: the witnesses, worst first, at most MOST_WITNESSES of each verdict.
        answers: the four answers: of the cut, the channels, the states and the rule.
        counts: how many witnesses each verdict has in all, worst first.
        ended_at: the time of the last event other than a marker_send; None if there is none.
        positions: how many events of each process that recorded lie inside the cut.
        recorded_states: the states that are known of those that were recorded.
        recomputed_states: the states at the recorded positions, where the log holds them.
        recorded_channels: the ids in recorded order, for each channel with a record_channel.
        in_flight: the ordinals of the messages in flight, for each channel whose two ends recorded.
    """

    snapshot: SnapshotId
    processes: tuple[ProcessId, ...]
    findings: tuple[Finding, ...]
    answers: tuple[Answer, ...]
    counts: Mapping[str, int]
    initiators: tuple[ProcessId, ...]
    began_at: Instant
    ended_at: Instant | None
    markers_sent: int
    markers_received: int
    positions: Mapping[ProcessId, int]
    recorded_at: Mapping[ProcessId, Instant]
    recorded_states: Mapping[ProcessId, JsonText]
    recomputed_states: Mapping[ProcessId, JsonText]
    recorded_channels: Mapping[ChannelId, tuple[MessageId, ...]]
    in_flight: Mapping[ChannelId, tuple[int, ...]]
    totals: Totals

    @property
    def verdict(self) -> str:
        """The worst verdict."""
        return self.findings[0].verdict

    def summary(self) -> dict[str, object]:
        """Return the snapshot's summary as JSON, as the API answers it."""
        return {
            "snapshot": self.snapshot,
            "verdict": self.verdict,
            "answers": list(map(as_json, self.answers)),
            "verdicts": list(map(as_json, self.findings)),
            "verdict_counts": [
                {"verdict": verdict, "count": count} for verdict, count in self.counts.items()
            ],
            "initiators": list(self.initiators),
            "began_at": self.began_at,
            "ended_at": self.ended_at,
            "duration": None if self.ended_at is None else self.ended_at - self.began_at,
            "markers_sent": self.markers_sent,
            "markers_received": self.markers_received,
            "positions": dict(self.positions),
            "recorded_at": dict(self.recorded_at),
            "totals": as_json(self.totals),
        }
