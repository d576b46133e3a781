"""Verdicts, and the findings on which they rest: one for each witness.

`witnesses.py` builds the findings and their sentences.
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
    """One possible result of judging a snapshot.

    Attributes:
        name: the word that the API and the pages use.
        title: what the verdict means, in words that complete "this verdict says that".
        colour: the pages show the verdict in the custom property ``--color-COLOUR``.
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

MOST_WITNESSES = 100  # kept for one verdict of one snapshot; further ones are counted


@dataclass(frozen=True, slots=True)
class Place:
    """An event that a finding names."""

    process: ProcessId
    index: int
    at: Instant


@dataclass(frozen=True, slots=True)
class Companion:
    """The second message or marker of a finding.

    Attributes:
        message: the id of the message; None for a marker.
        snapshot: the snapshot of the marker; None for a message.
    """

    message: Absent[MessageId]
    snapshot: Absent[SnapshotId]
    value: Absent[JsonText]
    sent: Place
    received: Absent[Place]


@dataclass(frozen=True, slots=True)
class Finding:
    """One witness of a verdict. A field that is None does not apply.

    Attributes:
        sent: the event that sends ``message``, or the marker if ``message`` is None.
        received: the event that receives it.
        event: the event that shows the witness, if it is neither ``sent`` nor ``received``.
        other: the second message or marker of a finding about two of them.
        rule: the rule of the paper that is broken.
        recorded: the recorded state.
        recomputed: the recomputed state.
        path: the channels from an initiator; None if there is no path or it does not matter.
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
    """A collector of one snapshot's findings: it keeps MOST_WITNESSES of each verdict."""

    kept: dict[str, list[Finding]] = field(default_factory=dict)
    counts: dict[str, int] = field(default_factory=dict)

    def add(self, finding: Finding) -> None:
        """Count a finding and keep it while its verdict has fewer than MOST_WITNESSES."""
        kept = self.kept.setdefault(finding.verdict, [])
        self.counts[finding.verdict] = self.counts.get(finding.verdict, 0) + 1
        if len(kept) < MOST_WITNESSES:
            kept.append(finding)

    def wants(self, verdict: str) -> bool:
        """Tell whether a further witness of this verdict would be kept, and not only counted."""
        return len(self.kept.get(verdict, ())) < MOST_WITNESSES

    def count(self, verdict: str, more: int = 1) -> None:
        """Count witnesses that are not kept."""
        self.counts[verdict] = self.counts.get(verdict, 0) + more

    def worst_first(self) -> tuple[Finding, ...]:
        """Return the kept findings, or the one ``consistent`` finding if there are none."""
        kept = tuple(finding for verdict in VERDICTS for finding in self.kept.get(verdict, ()))
        return kept or (_CONSISTENT,)

    def worst_first_counts(self) -> dict[str, int]:
        """Count the findings of each verdict. Without findings, count one as consistent."""
        counts = {verdict: self.counts[verdict] for verdict in VERDICTS if self.counts.get(verdict)}
        return counts or {CONSISTENT: 1}


_CONSISTENT = Finding(
    CONSISTENT,
    "Consistent: no message was received inside the cut and sent outside it, and nothing that was "
    "recorded differs from what the log recomputes.",
)
