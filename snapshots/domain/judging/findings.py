"""What a verdict rests on: one finding per witness, with the sentence that says it.

The sentences are in `witnesses.py`.
"""

from dataclasses import dataclass, field

from snapshots.domain.model.as_json import Absent
from snapshots.domain.model.recording import Instant, MessageId, SnapshotId
from snapshots.domain.model.topology import ChannelId, JsonText, ProcessId

ORPHAN = "orphan"
LOST = "lost"
DUPLICATED = "duplicated"
STATE_MISMATCH = "state-mismatch"
MARKER_RULE = "marker-rule"
FIFO_VIOLATION = "fifo-violation"
INCOMPLETE = "incomplete"
UNKNOWN = "unknown"
CONSISTENT = "consistent"


@dataclass(frozen=True, slots=True)
class Verdict:
    """What a snapshot can be found to be.

    Args:
        name: as the API and the pages have it.
        title: what it means, in words that complete "this verdict says that".
        colour: the custom property ``--color-COLOUR`` in which the pages show it.
    """

    name: str
    title: str
    colour: str = "inconsistent"


REGISTRY = (
    Verdict(ORPHAN, "a message is received inside the cut and sent outside it"),
    Verdict(LOST, "the recorded channel lacks a message that is in flight"),
    Verdict(DUPLICATED, "the recorded channel counts a message twice"),
    Verdict(STATE_MISMATCH, "the recorded state of a process is not its state at the cut"),
    Verdict(MARKER_RULE, "a message passed between recording and marker (paper, section 3.2)"),
    Verdict(FIFO_VIOLATION, "a message or marker overtook another on a FIFO channel"),
    Verdict(INCOMPLETE, "a process never recorded, or a marker never arrived", "incomplete"),
    Verdict(UNKNOWN, "the log does not hold what is needed to tell", "unknown"),
    Verdict(CONSISTENT, "recorded equals recomputed, and the cut is consistent", "consistent"),
)
"""Worst first. README and the style sheet are tested against it."""

VERDICTS = tuple(verdict.name for verdict in REGISTRY)

MOST_WITNESSES = 100  # kept of one verdict of one snapshot; the count is always the true one


@dataclass(frozen=True, slots=True)
class Place:
    """An event that a finding names."""

    process: ProcessId
    index: int
    at: Instant


@dataclass(frozen=True, slots=True)
class Companion:
    """The second message or marker of a finding: ``message`` is None for a marker."""

    message: Absent[MessageId]
    snapshot: Absent[SnapshotId]
    value: Absent[JsonText]
    sent: Place
    received: Absent[Place]


@dataclass(frozen=True, slots=True)
class Finding:
    """One witness of a verdict. A field that is None does not apply.

    Attributes:
        sent: the event that sends ``message``, or the marker where ``message`` is None.
        received: the event that receives it.
        event: where the log shows the witness, when it is neither of these two.
        recorded: the recorded state.
        recomputed: the recomputed state.
        path: the channels from an initiator; None where there is no path or it does not matter.
    """

    verdict: str
    sentence: str
    channel: Absent[ChannelId] = None
    message: Absent[MessageId] = None
    process: Absent[ProcessId] = None
    value: Absent[JsonText] = None
    sent: Absent[Place] = None
    received: Absent[Place] = None
    event: Absent[Place] = None
    other: Absent[Companion] = None
    rule: Absent[str] = None
    recorded: Absent[JsonText] = None
    recomputed: Absent[JsonText] = None
    path: Absent[tuple[ChannelId, ...]] = None


@dataclass
class Findings:
    """The findings of one snapshot as they are found: the first MOST_WITNESSES of each verdict."""

    kept: dict[str, list[Finding]] = field(default_factory=dict)
    counts: dict[str, int] = field(default_factory=dict)

    def add(self, finding: Finding) -> None:
        """Count a finding and keep it while its verdict has fewer than MOST_WITNESSES."""
        kept = self.kept.setdefault(finding.verdict, [])
        self.counts[finding.verdict] = self.counts.get(finding.verdict, 0) + 1
        if len(kept) < MOST_WITNESSES:
            kept.append(finding)

    def wants(self, verdict: str) -> bool:
        """Whether a further witness of this verdict would be kept, and not only counted."""
        return len(self.kept.get(verdict, ())) < MOST_WITNESSES

    def count(self, verdict: str, more: int = 1) -> None:
        """Counts witnesses that are not kept."""
        self.counts[verdict] = self.counts.get(verdict, 0) + more

    def worst_first(self) -> tuple[Finding, ...]:
        """All that are kept; the one ``consistent`` finding where there are none."""
        found = tuple(finding for verdict in VERDICTS for finding in self.kept.get(verdict, ()))
        return found or (consistent(),)

    def worst_first_counts(self) -> dict[str, int]:
        """Count the findings of each verdict. Without findings, count one as consistent."""
        counts = {verdict: self.counts[verdict] for verdict in VERDICTS if self.counts.get(verdict)}
        return counts or {CONSISTENT: 1}


def consistent() -> Finding:
    """Return the finding of a snapshot with which nothing is wrong."""
    return Finding(
        CONSISTENT,
        "Consistent: no message was received inside the cut and sent outside it, and nothing that "
        "was recorded differs from what the log recomputes.",
    )
