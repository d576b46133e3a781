"""The answer to: can I restore this checkpoint with N subtasks? And the plan that gives it."""

from collections.abc import Sequence
from dataclasses import dataclass

from snapshots.domain.inventory.in_flight_plan import EdgePlan
from snapshots.domain.inventory.operator_plan import OperatorPlan
from snapshots.domain.inventory.positions import ReadAgain
from snapshots.domain.inventory.reading_again import SinkAgain, SourceAgain

YES, NO, NOT_KNOWN = "yes", "no", "not-known"


class NotPlannable(ValueError):
    """The restore cannot be planned for this checkpoint. The message says why in a sentence."""

    permanent = True


@dataclass(frozen=True, slots=True)
class ThrownAway:
    """The state of an operator that the restored job does not have.

    Attributes:
        operator: the engine's id of the operator.
        name: the name of the operator. None if it is not known.
        states: the names of its states that hold something, or may.
        entries: how many entries these states hold. None if it is not known.
        bytes: the size of the operator's state, without data in flight. None if it is not known.
        sentence: what is thrown away, as a sentence.
    """

    operator: str
    name: str | None
    states: tuple[str, ...]
    entries: int | None
    bytes: int | None
    sentence: str


@dataclass(frozen=True, slots=True)
class RestorePlan:
    """Whether a checkpoint can be restored at a parallelism, and where its state then goes.

    Attributes:
        engine: ``flink``, ``seatunnel`` or ``spark``.
        checkpoint: the engine's id of the checkpoint.
        parallelism: the parallelism that was asked for.
        kept: the ids of the operators that keep their own parallelism.
        operators: the plan of each operator, in the order of the flow if the edges are known.
        in_flight: what becomes of data in flight, as sentences.
        edges: what becomes of data in flight, edge by edge.
        sources: what is read again, as sentences.
        read_again: the sources that read again.
        sinks: what is not known of the sinks, as sentences.
        written_again: the sinks that may write again.
        problems: what prevents the restore, as sentences.
        notes: further remarks, as sentences.
        answer: ``yes``, ``no`` or ``not-known``.
        headline: the answer with its first reason, as a sentence.
        reasons: why the answer is yes, as sentences; empty if it is another.
        unknown: what is not known and decides, as sentences.
        cautions: what to look out for if it is restored, such as uneven state, as sentences.
        without: the ids of the operators that the restored job does not have.
        thrown_away: the state of these operators.
        again: what this restore reads again, compared with the newest checkpoint of the job in the
            upload. None if nothing is known to compare.
    """

    engine: str
    checkpoint: int
    parallelism: int
    kept: tuple[str, ...]
    operators: tuple[OperatorPlan, ...]
    in_flight: tuple[str, ...]
    edges: tuple[EdgePlan, ...]
    sources: tuple[str, ...]
    read_again: tuple[SourceAgain, ...]
    sinks: tuple[str, ...]
    written_again: tuple[SinkAgain, ...]
    problems: tuple[str, ...]
    notes: tuple[str, ...]
    answer: str
    headline: str
    reasons: tuple[str, ...] = ()
    unknown: tuple[str, ...] = ()
    cautions: tuple[str, ...] = ()
    without: tuple[str, ...] = ()
    thrown_away: tuple[ThrownAway, ...] = ()
    again: ReadAgain | None = None


def answer_of(problems: Sequence[str], unknown: Sequence[str]) -> str:
    """Return ``no`` if anything prevents the restore, else ``not-known`` if anything is open."""
    if problems:
        return NO
    return NOT_KNOWN if unknown else YES


def headline_of(yes: str, problems: Sequence[str], unknown: Sequence[str]) -> str:
    """Return the answer with its first reason. ``yes`` is the sentence if nothing is against it."""
    if problems:
        return f"No: {_lowered(problems[0])}{_more(len(problems) - 1)}"
    if unknown:
        return f"Not known: {_lowered(unknown[0])}{_more(len(unknown) - 1)}"
    return yes


def _lowered(sentence: str) -> str:
    """Return a sentence for use behind a colon; names of operators keep their capitals."""
    first = sentence.split(" ", 1)[0]
    return sentence[:1].lower() + sentence[1:] if first in _OPENINGS else sentence


def _more(count: int) -> str:
    return f" There {'is 1 more reason' if count == 1 else f'are {count:,} more reasons'}." * (
        count > 0
    )


_OPENINGS = {"The", "Its", "It", "Whether", "Without", "What"}
