"""The answer to: will my new job take this savepoint?

Flink can be started with or without *allowNonRestoredState*, which lets it drop state that no
operator of the new job claims. Both outcomes are given.
"""

from dataclasses import dataclass

RESTORED, LOSES, REFUSED, NOT_KNOWN = "restored", "started-with-loss", "refused", "not-known"

CLAIMED, LEFT_OVER, NEW, MOVED, MAYBE_CHAINED = (
    "claimed",
    "left over",
    "new",
    "moved",
    "maybe chained",
)
KEPT, MIGRATED, LOST, EMPTY, STATE_REFUSED, STATE_NOT_KNOWN = (
    "kept",
    "migrated",
    "lost",
    "begins empty",
    "refused",
    "not known",
)


@dataclass(frozen=True, slots=True)
class StateUpgrade:
    """What becomes of one state.

    Attributes:
        state: its name.
        kind: the engine's word for it, such as ``map``; None where the new job does not tell.
        fate: ``kept``, ``migrated``, ``lost``, ``begins empty``, ``refused`` or ``not known``.
        sentence: why.
        type_before: its type in the savepoint.
        type_after: its type in the new job; None where that is not told.
        entries: how many entries the savepoint holds; None where that is not known.
        bytes: their size.
    """

    state: str
    kind: str | None
    fate: str
    sentence: str
    type_before: str | None = None
    type_after: str | None = None
    entries: int | None = None
    bytes: int | None = None


@dataclass(frozen=True, slots=True)
class OperatorUpgrade:
    """What becomes of the state of one operator.

    Attributes:
        operator: Flink's id of the operator; None where a new operator's id is not told.
        name: what the savepoint calls it, else the new job.
        name_after: what the new job calls it; None where it does not have it.
        fate: ``claimed``, ``left over``, ``new``, ``moved`` (another operator has got its id) or
            ``maybe chained`` (the description of the new job hides the ids of chained operators).
        sentences: why, and what to do.
        uid: the uid in the savepoint, or for a new operator in the new job; None where it has none
            or that is not told.
        parallelism_before: how many subtasks it had; None for a new operator.
        parallelism_after: how many it is to have; None where that is not told.
        max_parallelism_before: the maximum in the savepoint; None for a new operator.
        max_parallelism_after: None where it is not told or Flink chooses it.
        bytes: the size of its state in the savepoint; None for a new operator.
        states: what becomes of its states, those of the savepoint first.
    """

    operator: str | None
    name: str | None
    uid: str | None
    name_after: str | None
    fate: str
    sentences: tuple[str, ...]
    parallelism_before: int | None
    parallelism_after: int | None
    max_parallelism_before: int | None
    max_parallelism_after: int | None
    bytes: int | None
    states: tuple[StateUpgrade, ...]


@dataclass(frozen=True, slots=True)
class UpgradeAnswer:
    """Tells what Flink does with a savepoint and a new job.

    Attributes:
        checkpoint: Flink's number of the checkpoint.
        without_allow: the outcome without *allowNonRestoredState*: ``restored``,
            ``started-with-loss``, ``refused`` or ``not-known``.
        with_allow: the outcome with it.
        headline: both outcomes, as a sentence.
        refusals: why Flink refuses whatever it is allowed, as sentences.
        left_over: why Flink refuses unless it may drop state, as sentences.
        losses: what is lost without a word from Flink, as sentences.
        unknown: what the upload or the description of the new job does not tell, as sentences.
        notes: what else has to be known, as sentences.
        lost_without_allow: the states that are lost, as ``operator.state``.
        lost_with_allow: the states that are lost where unclaimed state may be dropped.
        operators: what becomes of each operator, those of the savepoint first.
    """

    checkpoint: int
    without_allow: str
    with_allow: str
    headline: str
    refusals: tuple[str, ...]
    left_over: tuple[str, ...]
    losses: tuple[str, ...]
    unknown: tuple[str, ...]
    notes: tuple[str, ...]
    lost_without_allow: tuple[str, ...]
    lost_with_allow: tuple[str, ...]
    operators: tuple[OperatorUpgrade, ...]
