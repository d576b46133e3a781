"""Run a simulated recording again: beside itself without snapshots, or with a rule broken."""

from typing import Any

from snapshots.domain.model.as_json import as_json
from snapshots.domain.replaying import non_interference
from snapshots.models import Recording
from snapshots.payloads.declaring import documented, list_of, payload_of
from snapshots.problems import Invalid
from snapshots.simulating import broken_rules
from snapshots.simulating.parameters import LARGEST_SEED
from snapshots.simulating.reruns import DEMONSTRATION, Rerun, rerun_of

MOST_ROWS = 1_000
_BEFORE_A_DIFFERENCE = 20  # rows that are shown before the first difference

_NOTE = documented(
    str | None,
    "A sentence if an older version simulated the recording, so that this run is another one; null "
    "otherwise.",
)
AddedBySnapshots = payload_of(non_interference.Added, "AddedBySnapshots")
SideBySideRow = payload_of(non_interference.Row, "SideBySideRow")
SideBySideDetail = payload_of(
    non_interference.Comparison,
    "SideBySideDetail",
    more={
        "note": _NOTE,
        "seed": documented(int, "The seed of both runs."),
        "rows_before": documented(int, "How many rows before those in the answer are left out."),
        "rows_after": documented(int, "How many rows after those in the answer are left out."),
    },
)
MarkerRule = payload_of(broken_rules.Rule, "MarkerRule")
MarkerRuleList = list_of(MarkerRule, "MarkerRuleList", is_paged=False)
SnapshotOutcomeItem = payload_of(broken_rules.SnapshotOutcome, "SnapshotOutcomeItem")
BrokenRuleDetail = payload_of(broken_rules.WhatFollows, "BrokenRuleDetail", more={"note": _NOTE})


def rerun(recording: Recording | None, seed: int | None = None) -> Rerun:
    """Return how to run a recording again, or the demonstration if there is none.

    Raises: Conflict if it cannot be run again, Invalid for a seed out of bounds.
    """
    again = rerun_of(recording.parameters if recording else DEMONSTRATION)
    if seed is None:
        return again
    if not 0 <= seed <= LARGEST_SEED:
        raise Invalid(f"seed is a whole number from 0 to {LARGEST_SEED:,}.", field="seed")
    return again.with_seed(seed)


def note_on(recording: Recording | None, again: Rerun) -> str | None:
    """Say if the run is not the one that the recording holds, which an older version simulated."""
    if recording is None or not recording.is_ready:
        return None
    own = rerun_of(recording.parameters)
    if own != again or recording.event_count == len(own.log().events):
        return None
    return (
        "The recording was simulated by an older version of Cutline. With its parameters and its "
        "seed the simulator gives another run today, and this page is about that one."
    )


def side_by_side(recording: Recording | None, again: Rerun) -> dict[str, Any]:
    """Return the run beside itself without snapshots, as SideBySideDetail.

    If the two differ, the rows begin shortly before the first difference.
    """
    comparison = again.beside_itself_without_snapshots()
    first = max((comparison.first_difference or 0) - _BEFORE_A_DIFFERENCE, 0)
    answer = as_json(comparison)
    rows = answer["rows"]
    assert isinstance(rows, list)
    return {
        **answer,
        "note": note_on(recording, again),
        "seed": again.parameters.seed,
        "rows": rows[first : first + MOST_ROWS],
        "rows_before": first,
        "rows_after": max(len(rows) - first - MOST_ROWS, 0),
    }


def broken_rule(recording: Recording | None, again: Rerun, rule: str, at: str) -> dict[str, Any]:
    """Return what follows from a broken rule, as BrokenRuleDetail.

    Raises: Invalid for an unknown rule, Refused for an unknown channel or process.
    """
    answer = as_json(broken_rules.what_follows(again, rule, at))
    return {**answer, "note": note_on(recording, again)}


def rules() -> dict[str, Any]:
    """Return the ways to break the two marker rules, as MarkerRuleList."""
    return {"items": list(map(as_json, broken_rules.ALL_RULES))}
