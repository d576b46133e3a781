"""What went wrong in a run of a dataflow: records lost or doubled, processes that died.

This comes before the verdicts, which judge checkpoints and say nothing of what sinks show.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from snapshots.domain.answering.sentences import (
    ALL_TIMES,
    FACT,
    WATCH,
    WRONG,
    Evidence,
    Sentence,
)
from snapshots.domain.answering.wording import MOST_NAMED
from snapshots.domain.dataflow_logs.checkpoints.sentences import spelled
from snapshots.domain.dataflow_logs.dataflow import TWO_PHASE
from snapshots.domain.dataflow_logs.failovers.report import AT_LEAST_ONCE
from snapshots.domain.model.defects import times
from snapshots.domain.model.listing import listed

_LINK = (Evidence(ALL_TIMES, "Checkpoints and failures"),)


@dataclass(frozen=True, slots=True)
class AskedFailure:
    """A failure that was asked of a simulation.

    Attributes:
        process: the process that was to die.
        at: when it was to die, in the time unit of the recording.
    """

    process: str
    at: int


def troubles(
    failovers: Mapping[str, Any], unit: str, asked: Sequence[AskedFailure] = ()
) -> tuple[Sentence, ...]:
    """Return what went wrong, the worst first; empty if nothing did.

    Args:
        failovers: ``Failovers`` as JSON, which is how they are stored.
        unit: the time unit of the recording.
        asked: the failures that a simulation was to have; empty for other recordings.
    """
    found = (
        *_lost(failovers),
        *_doubled(failovers),
        *_failures(failovers),
        *_without_effect(failovers, unit, asked),
        *_pending(failovers),
    )
    order = {WRONG: 0, WATCH: 1, FACT: 2}
    return tuple(sorted(found, key=lambda item: order[item.level]))


def _lost(failovers: Mapping[str, Any]) -> Iterator[Sentence]:
    """Say which records nobody will ever see, and why."""
    for sink in failovers["sinks"]:
        if not sink["lost"]:
            continue
        text = f"{times(sink['lost'], 'record')} {_is(sink['lost'])} lost at {sink['sink']}"
        text = f"{text}, which shows {sink['visible']:,}. {_why_lost(sink)}".rstrip()
        yield Sentence("lost", text, WRONG, _LINK)
    for dropped in failovers["dropped"]:
        count = dropped["records"]
        text = (
            f"{times(count, 'record')} {_was(count)} thrown out of the inputs of "
            f"{dropped['vertex']} at a restart and never came again."
        )
        yield Sentence("lost", text, WRONG, _LINK)
    late = {
        task["process"]: task["late"]
        for task in (failovers.get("event_time") or {}).get("tasks", ())
        if task["late"]
    }
    if late:
        count = sum(late.values())
        text = (
            f"{times(count, 'record')} came too late for {_windows(count)} and {_was(count)} "
            f"dropped by {listed(list(late), MOST_NAMED)}."
        )
        yield Sentence("late", text, WATCH, _LINK)


def _why_lost(sink: Mapping[str, Any]) -> str:
    reasons = []
    if sink["timed_out"]:
        reasons.append(f"{times(sink['timed_out'], 'transaction')} timed out before the commit.")
    if forgotten := sink.get("forgotten"):
        count = times(forgotten, "transaction")
        reasons.append(f"{count} {_was(forgotten)} given up although the checkpoint had completed.")
    return " ".join(reasons)


def _doubled(failovers: Mapping[str, Any]) -> Iterator[Sentence]:
    """Say which records are seen twice, and what was counted twice."""
    promised = {failure["guarantee"] for failure in failovers["items"]}
    weak = " What was restored promises at-least-once only." if AT_LEAST_ONCE in promised else ""
    for sink in failovers["sinks"]:
        if count := sink["duplicates"]:
            text = f"{times(count, 'record')} {_is(count)} there twice at {sink['sink']}"
            if sink["kind"] == TWO_PHASE:
                text = f"{text}, although it commits in two phases.{weak}"
                yield Sentence("doubled", text, WRONG, _LINK)
                continue
            text = f"{text}: a write that is repeated after a failure shows beside the first."
            yield Sentence("doubled", text, WATCH, _LINK)
        if count := sink["differing"]:
            text = (
                f"{times(count, 'record')} {_was(count)} written again at {sink['sink']} with "
                "another value than the first time."
            )
            yield Sentence("differing", text, WATCH, _LINK)
    count = sum(failure["counted_twice"] or 0 for failure in failovers["items"])
    if count:
        text = (
            f"{times(count, 'record')} {_was(count)} counted twice in the state: the restored "
            "checkpoint held their effect already, and they were read again."
        )
        yield Sentence("counted-twice", text, WATCH, _LINK)


def _failures(failovers: Mapping[str, Any]) -> Iterator[Sentence]:
    """Tell the failures; one that nothing came back from ended the run."""
    failures = failovers["items"]
    if not failures:
        return
    last = failures[-1]
    if len(failures) == 1:
        text = last["sentence"]
    else:
        text = f"There were {len(failures):,} failures. The last one: {last['sentence']}"
    level = WATCH if last["restarted_at"] is not None else WRONG
    yield Sentence("failures", text, level, _LINK)


def _without_effect(
    failovers: Mapping[str, Any], unit: str, asked: Sequence[AskedFailure]
) -> Iterator[Sentence]:
    """Name the failures that were asked for and hit nobody."""
    hit = {(failure["process"], failure["at"]) for failure in failovers["items"]}
    missed = [one for one in asked if (one.process, one.at) not in hit]
    if not missed:
        return
    names = [f"{one.process} at {spelled(one.at, unit)}" for one in missed]
    which = "The failure" if len(missed) == 1 else f"{len(missed):,} failures"
    text = (
        f"{which} that the simulation was to have ({listed(names, MOST_NAMED)}) hit nobody: "
        "the process had ended, was down or had nothing to do at that time."
    )
    yield Sentence("no-failure", text, WATCH, _LINK)


def _pending(failovers: Mapping[str, Any]) -> Iterator[Sentence]:
    for sink in failovers["sinks"]:
        if count := sink["pending"]:
            text = (
                f"{times(count, 'record')} {_was(count)} neither visible at {sink['sink']} nor "
                "lost when the log ends."
            )
            yield Sentence("pending", text, FACT, _LINK)


def _windows(number: int) -> str:
    return "its window" if number == 1 else "their windows"


def _was(number: int) -> str:
    return "was" if number == 1 else "were"


def _is(number: int) -> str:
    return "is" if number == 1 else "are"
