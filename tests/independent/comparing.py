"""Compare what the product answers about a recording with what the judge says."""

import json
import math
from collections import Counter
from collections.abc import Iterator
from decimal import Decimal
from itertools import zip_longest
from typing import Any

from snapshots.domain.judging.answers import FAILS, HOLDS, NOT_KNOWN
from snapshots.domain.judging.report import SnapshotReport
from snapshots.domain.model.recording import Recording
from tests.independent.judge import UNKNOWN, Judgement, Sums, Witness
from tests.independent.log import same

ANSWERS = {HOLDS: True, FAILS: False, NOT_KNOWN: None}


def differences(
    recording: Recording, reports: tuple[SnapshotReport, ...], judged: dict[str, Judgement]
) -> list[str]:
    """Return a sentence for each thing on which product and judge differ."""
    found = {report.snapshot: report for report in reports}
    if found.keys() != judged.keys():
        return [f"The snapshots are {sorted(found)} here, {sorted(judged)} there."]
    return [
        f"{snapshot}: {sentence}"
        for snapshot, report in found.items()
        for sentence in _of_a_snapshot(recording, report, judged[snapshot])
    ]


def _of_a_snapshot(recording: Recording, report: SnapshotReport, ours: Judgement) -> Iterator[str]:
    flying = {
        channel: [recording.messages[channel][place].id for place in places]
        for channel, places in report.in_flight.items()
    }
    yield from _unlike("verdict", report.verdict, ours.verdict)
    yield from _unlike("positions", dict(report.positions), ours.positions)
    yield from _unlike("messages in flight", flying, ours.in_flight)
    stored = {channel: list(entries) for channel, entries in report.recorded_channels.items()}
    yield from _unlike("recorded messages", stored, ours.recorded)
    known = {name: state for name, state in ours.states.items() if state is not UNKNOWN}
    yield from _unlike("states", _parsed(report.recomputed_states), known)
    counts = Counter(witness.verdict for witness in ours.witnesses) or {"consistent": 1}
    yield from _unlike("counts", dict(report.counts), dict(counts))
    witnesses = Counter(
        Witness(item.verdict, item.channel, item.message, None if item.channel else item.process)
        for item in report.findings
        if item.verdict != "consistent"
    )
    yield from _unlike("witnesses", witnesses, Counter(ours.witnesses))
    for item in report.answers:
        expected = ours.answers[item.question]
        yield from _unlike(f"answer of the {item.question}", ANSWERS[item.answer], expected)
    pairs = zip_longest(report.initiators, ours.initiators, fillvalue=())
    if not all(name in expected for name, expected in pairs):
        yield f"initiators: the product says {report.initiators!r}, the judge {ours.initiators!r}"
    yield from _unlike("markers", (report.markers_sent, report.markers_received), ours.markers)
    yield from _unlike("span", (report.began_at, report.ended_at), ours.span)
    totals = report.totals
    for what in ("start", "processes", "channels"):
        theirs, expected = getattr(totals, what), getattr(ours.totals, what)
        if not _same_sum(theirs, expected):
            yield f"sum of the {what}: the product says {theirs!r}, the judge {expected!r}"
    yield from _unlike("conserved", totals.conserved, _is_conserved(ours.totals))


def _same_sum(theirs: float | None, ours: Decimal | int | None) -> bool:
    """Return whether two sums are equal; those with fractions need only be to nine places."""
    if ours is None or isinstance(ours, int):
        return theirs == ours and not isinstance(theirs, float)
    return theirs is not None and math.isclose(theirs, ours, rel_tol=1e-9, abs_tol=1e-9)


def _is_conserved(sums: Sums) -> bool | None:
    return None if None in sums else _same_sum(sums.start, sums.processes + sums.channels)


def _parsed(states: dict) -> dict[str, Any]:
    return {name: json.loads(text, parse_float=Decimal) for name, text in states.items()}


def _unlike(what: str, theirs: object, ours: object) -> Iterator[str]:
    if not same(theirs, ours):
        yield f"{what}: the product says {theirs!r}, the judge {ours!r}"
