"""Break one of the two marker rules in a run, and say what follows for its snapshots.

Source: Chandy and Lamport, "Distributed Snapshots", ACM TOCS 3(1), 1985, section 3.2. The
marker-sending rule: a process sends a marker on each outgoing channel after it records its state
and before it sends further messages there. The marker-receiving rule: when a marker comes, a
process that has not recorded does so, and finds the channel empty; else the channel's state is
what came since it recorded.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby

from snapshots.domain.assembling.assembly import assemble
from snapshots.domain.judging.findings import CONSISTENT
from snapshots.domain.judging.report import SnapshotReport
from snapshots.domain.judging.verdicts import judge
from snapshots.domain.replaying.non_interference import computation
from snapshots.domain.simulators.script import Log
from snapshots.simulating.reruns import Rerun

CHANNEL, PROCESS = "channel", "process"
SENDING, RECEIVING = "marker-sending", "marker-receiving"
MOST_WITNESSES = 3  # of each verdict


@dataclass(frozen=True, slots=True)
class Rule:
    """A way to break one of the two marker rules.

    Attributes:
        name: the parameter of a simulated run that breaks it.
        place: where it is broken: at a ``channel`` or a ``process``.
        title: what goes wrong, in a few words.
        sentence: what happens instead of what the rule says.
        broken: the rule that is broken: ``marker-sending`` or ``marker-receiving``.
    """

    name: str
    place: str
    title: str
    sentence: str
    broken: str


@dataclass(frozen=True, slots=True)
class SnapshotOutcome:
    """One snapshot of the run with the broken rule.

    Attributes:
        snapshot: the id of the snapshot.
        verdict: the verdict on the snapshot; None if nothing was recorded of it.
        by_the_rules: the verdict on it in the same run without a broken rule; None likewise.
        witnesses: what the log shows, the first of each verdict, worst first.
        witnesses_total: how many witnesses there are.
    """

    snapshot: str
    verdict: str | None
    by_the_rules: str | None
    witnesses: tuple[str, ...]
    witnesses_total: int


@dataclass(frozen=True, slots=True)
class WhatFollows:
    """What follows from a broken rule.

    Attributes:
        rule: the parameter that breaks the rule.
        at: the channel or process at which it is broken.
        seed: the seed of the run.
        changed: whether the log differs from that of the run by the rules.
        same_computation: whether the processes do the same in both runs, event for event.
        wrong: how many snapshots are not consistent, although they are in the run by the rules.
        snapshots: the snapshots in the order in which they began.
        sentences: the answer in words.
    """

    rule: str
    at: str
    seed: int
    changed: bool
    same_computation: bool
    wrong: int
    snapshots: tuple[SnapshotOutcome, ...]
    sentences: tuple[str, ...]


def what_follows(rerun: Rerun, rule: str, at: str) -> WhatFollows:
    """Run it with the rule broken at a channel or process, and compare with the run by the rules.

    Raises: Invalid for an unknown rule, Refused for an unknown channel or process.
    """
    broken, followed = rerun.breaking(rule, at).log(), rerun.following().log()
    outcomes = tuple(_outcomes(_judged(broken), _judged(followed)))
    wrong = [item for item in outcomes if CONSISTENT == item.by_the_rules != item.verdict]
    changed = broken.events != followed.events
    same = _computation(broken) == _computation(followed)
    return WhatFollows(
        rule=rule,
        at=at,
        seed=rerun.parameters.seed,
        changed=changed,
        same_computation=same,
        wrong=len(wrong),
        snapshots=outcomes,
        sentences=tuple(_sentences(at, wrong, outcomes, changed=changed, same=same)),
    )


def _judged(log: Log) -> dict[str, SnapshotReport]:
    return {report.snapshot: report for report in judge(assemble(*log).recording)}


def _computation(log: Log) -> list[tuple[object, ...]]:
    """Return the events of the processes without their place in the log, which markers move."""
    return [
        (event.process, event.kind, event.at, event.channel, event.message, event.state)
        for event in computation(log.events)
    ]


def _outcomes(
    broken: dict[str, SnapshotReport], followed: dict[str, SnapshotReport]
) -> Iterator[SnapshotOutcome]:
    for name in sorted(followed | broken, key=lambda name: int(name.removeprefix("s"))):
        report, other = broken.get(name), followed.get(name)
        yield SnapshotOutcome(
            name,
            report.verdict if report else None,
            other.verdict if other else None,
            tuple(_witnesses(report)) if report else (),
            sum(report.counts.values()) if report else 0,
        )


def _witnesses(report: SnapshotReport) -> Iterator[str]:
    for verdict, findings in groupby(report.findings, key=lambda finding: finding.verdict):
        if verdict != CONSISTENT:
            yield from [finding.sentence for finding in findings][:MOST_WITNESSES]


def _sentences(
    at: str,
    wrong: Sequence[SnapshotOutcome],
    outcomes: Sequence[SnapshotOutcome],
    *,
    changed: bool,
    same: bool,
) -> Iterator[str]:
    total = len(outcomes)
    faulty = [item for item in outcomes if item.by_the_rules != CONSISTENT]
    if not outcomes:
        yield "The run takes no snapshot, so there is no rule to break."
    elif not changed:
        yield (
            f"Nothing is different: with this seed, what happens at {at} is what the rule asks "
            "for, so the log is the same, event for event."
        )
    elif wrong:
        snapshots = "1 snapshot" if total == 1 else f"{total:,} snapshots"
        first = wrong[0]
        witness = first.witnesses[0] if first.witnesses else f"Nobody recorded {first.snapshot}."
        yield f"{len(wrong):,} of {snapshots} went wrong. {witness}"
    elif faulty:
        yield (
            f"The run has other faults: {faulty[0].snapshot} is “{faulty[0].by_the_rules}” by the "
            "rules, too. So what the broken rule adds is not told apart."
        )
    else:
        yield (
            "The rule was broken, and this time nothing went wrong: the log differs, but what "
            "the snapshots recorded is still right. Whether a broken rule shows depends on which "
            "messages cross it."
        )
    if changed:
        yield (
            "The processes did the same as in the run by the rules, event for event; only the "
            "snapshots differ."
            if same
            else "The processes did not do the same as in the run by the rules."
        )


ALL_RULES = (
    Rule(
        "late_markers",
        CHANNEL,
        "The marker goes out late",
        "The sender records, and sends the marker only after its next message on this channel.",
        SENDING,
    ),
    Rule(
        "no_markers",
        CHANNEL,
        "No marker goes out",
        "The sender records, and sends no marker on this channel.",
        SENDING,
    ),
    Rule(
        "empty_channels",
        CHANNEL,
        "The channel is recorded as empty",
        "The receiver records this channel as empty, whatever came before the marker.",
        RECEIVING,
    ),
    Rule(
        "early_markers",
        PROCESS,
        "The markers go out first",
        "The process sends its markers when it should record, and records only after it has sent "
        "its next message.",
        SENDING,
    ),
    Rule(
        "late_records",
        PROCESS,
        "The process records late",
        "The process does not record when the first marker comes, but only after it has received "
        "its next message.",
        RECEIVING,
    ),
)
"""The ways to break the two marker rules, in the order in which pages offer them."""
