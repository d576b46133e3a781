"""Payloads of searches for the first state of a series at which a condition holds."""

from typing import Annotated, Any

from typing_extensions import TypedDict  # pydantic needs it before Python 3.12

from snapshots.domain.bisecting.changes import Change
from snapshots.payloads.declaring import Payload, described, payload_of
from snapshots.payloads.inventory import CheckpointChangeDetail
from snapshots.payloads.properties import PropertyAnswer

StateChangeItem = payload_of(Change, "SnapshotChangeItem")


@described
class SeriesItem(TypedDict):
    """A state of a series.

    Attributes:
        place: its place in the series, from 0.
        title: what it is, and its id or number, such as ``checkpoint 4``.
        recording: the number of the recording that holds it.
        snapshot: the id of the snapshot; null for a checkpoint of the inventory.
        contents: the number of the checkpoint in the inventory; null for a snapshot.
    """

    place: int
    title: str
    recording: int
    snapshot: str | None
    contents: int | None


@described
class EvaluatedItem(SeriesItem):
    """A state that was evaluated.

    Attributes:
        answer: the answer to the condition.
    """

    answer: PropertyAnswer


@described
class CauseOfChange(TypedDict):
    """An event that changed something between two snapshots.

    Attributes:
        of: what it changed, in words.
        process: the process of the event.
        index: the number of the event within its process, from 0.
    """

    of: str
    process: str
    index: int


@described
class PastOfProcess(TypedDict):
    """The events of one process that can have influenced the change.

    Attributes:
        process: the id of the process.
        first: the index of the first of them.
        last: the index of the last of them.
        count: how many there are.
    """

    process: str
    first: int
    last: int
    count: int


@described
class CausalPast(TypedDict):
    """The events since the snapshot before that can have influenced what changed.

    Attributes:
        causes: for each state that changed the event that set it; for each channel the last send of
            what is in it now, and the last receive of what left it. The first 50 are listed.
        causes_total: how many such events there are.
        causes_joined: how many of them, the first ones, the past is that of.
        events: how many events since the snapshot before happened before these, or are these.
        events_between: how many events lie between the two snapshots.
        processes: the same events by process, those with the most first; the first 100.
        processes_total: how many processes have such events.
    """

    causes: list[CauseOfChange]
    causes_total: int
    causes_joined: int
    events: int
    events_between: int
    processes: list[PastOfProcess]
    processes_total: int


@described
class DifferenceOfStates(TypedDict):
    """What differs between the first state at which a condition holds, and one before.

    Attributes:
        changes: the processes and channels of snapshots that differ; the first 200.
        changes_total: how many of them differ.
        checkpoints: how two checkpoints of the inventory differ; null for snapshots.
        past: the causal past of what changed; null where it is not known.
        why_no_past: why the causal past is not known, as a sentence; null where it is known.
        notes: what else bears on the comparison, as sentences.
    """

    changes: list[Annotated[dict[str, Any], Payload(StateChangeItem)]]
    changes_total: int
    checkpoints: Annotated[dict[str, Any], Payload(CheckpointChangeDetail)] | None
    past: CausalPast | None
    why_no_past: str | None
    notes: list[str]


@described
class BisectAnswer(TypedDict):
    """The first state of a series at which a condition holds.

    Attributes:
        series: ``snapshots``, ``checkpoints`` or ``archive``.
        order: how the series is ordered, as a sentence.
        total: how many states the series has.
        property: the name of the built-in property; null for an expression.
        phase: the number of the phase; null for every property but ``phase``.
        expression: the expression in CEL; null for a built-in property.
        outcome: ``exact``; ``at-start`` if it holds in the first state; ``never``; ``between`` if
            an earlier state that is not known may be the first; ``not-known`` if it is not known to
            hold anywhere; ``empty`` if there is no state.
        sentences: the answer in sentences.
        basis: why the condition is taken to be stable: ``theory``, ``declared``, or ``none`` if it
            is not.
        why_not_stable: why the theory of a stable property does not apply to this series or run,
            as a sentence; null if it applies, or if the condition is stable in no run.
        stability: ``kept`` if all states were evaluated and it held from the first one on,
            ``refuted`` if it ceased to hold, else ``open``.
        searched: whether a few states decided the others; else they were evaluated in order.
        evaluated: how many states were evaluated.
        stopped: why not all states that it needed were evaluated, as a sentence; null if all were.
        first: the first state in which it is known to hold; null if there is none.
        before: the last state before it that is known not to hold; null if there is none.
        earliest: the place of the first state in which it may hold; null if it holds in none.
        items: the states that were evaluated, in the order of the series.
        difference: what differs between ``before`` and ``first``; null if one of them is.
    """

    series: str
    order: str
    total: int
    property: str | None
    phase: int | None
    expression: str | None
    outcome: str
    sentences: list[str]
    basis: str
    why_not_stable: str | None
    stability: str
    searched: bool
    evaluated: int
    stopped: str | None
    first: SeriesItem | None
    before: SeriesItem | None
    earliest: int | None
    items: list[EvaluatedItem]
    difference: DifferenceOfStates | None
