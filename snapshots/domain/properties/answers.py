"""Answers to properties: true, false or unknown, with the witness and what follows for the run.

A property is stable iff, once it holds, it holds in every state that can be reached from there. A
consistent snapshot S* can be reached from the state in which the algorithm began, and the state in
which it ended can be reached from S*. If the property holds in S*, it therefore holds at the end;
if it does not hold in S*, it did not hold at the beginning. Nothing else follows.

Source: Chandy and Lamport, "Distributed Snapshots", ACM TOCS 3(1), 1985, section 5.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Annotated

from snapshots.domain.judging.findings import CONSISTENT
from snapshots.domain.model.as_json import Hidden, JsonName, json_property
from snapshots.domain.properties.global_state import GlobalState

MOST_NAMED = 20  # entries of each list in a witness; the counts include all


@dataclass(frozen=True, slots=True)
class Found:
    """The result of a property on one state. The fields are as in Answer."""

    holds: bool | None
    sentence: str
    witness: Mapping[str, object] = field(default_factory=dict)
    missing: tuple[str, ...] = ()
    came_to: str | None = None


@dataclass(frozen=True, slots=True)
class Conclusions:
    """What follows for the run from a consistent snapshot."""

    true: str
    false: str


DERIVED = "the recording is derived from what the engine kept, which is not what the run did."
OF_DERIVED = Found(
    None,
    "It is not known: the recorded states describe files, and not what the processes did.",
    missing=("the states and messages of the run, which the engine does not keep",),
)
STABLE = Conclusions(
    true="The property holds when the algorithm ends, and it stays true.",
    false="The property did not hold when the algorithm began; nothing more is known.",
)
INVARIANT = Conclusions(
    true="The invariant held after every event before the snapshot, or was broken and restored; "
    "nothing follows for the events after the snapshot.",
    false="An event before the snapshot broke the invariant: it had been broken when the algorithm "
    "ended.",
)
OWN = Conclusions(
    true="If the property is stable, it holds when the algorithm ends and stays true.",
    false="If the property is stable, it did not hold when the algorithm began; nothing more is "
    "known.",
)


@dataclass(frozen=True)
class Property:
    """A built-in property of global states.

    Attributes:
        name: the word that names the property in requests.
        title: the name of the property for people.
        definition: when the property is true.
        shape: what states and values must look like.
        look: a function that evaluates the property; it takes a state and the state at the start.
        conclusions: what a true and a false answer for a snapshot say about the run.
        stable_if: what a run must do for the property to be stable; empty if it is stable in every
            run, or in none.
    """

    name: Annotated[str, JsonName("property")]
    title: str
    definition: str
    shape: str
    look: Hidden[Callable[[GlobalState, GlobalState], Found]]
    conclusions: Hidden[Conclusions] = STABLE
    stable_if: Hidden[str] = ""

    @property
    def is_stable(self) -> bool:
        """Tell whether the property, once it holds, holds in every state that can be reached.

        It is False if that depends on the run.
        """
        return self.conclusions is STABLE

    @property
    def may_be_stable(self) -> bool:
        """Tell whether the property is stable, at least in some runs."""
        return self.is_stable or bool(self.stable_if)

    def evaluate(self, state: GlobalState, start: GlobalState) -> "Answer":
        """Evaluate the property on one recorded state.

        Args:
            start: the state at the start; what is outside of the snapshot's scope is ignored.
        """
        found = OF_DERIVED if state.is_derived else self.look(state, start.within(state))
        return concluded(self.name, state, found, self.conclusions)


@dataclass(frozen=True)
class Answer:
    """The answer to one property of one snapshot.

    Attributes:
        property: the name of the built-in property, or the expression.
        snapshot: the id of the snapshot.
        holds: whether the property holds; None if that depends on ``missing``.
        sentence: what was found in the state.
        conclusion: what follows for the run, in the terms of Chandy and Lamport, section 5.
        witness: the reason in JSON, whose shape depends on the property.
        missing: the unknown facts that would decide the answer, one phrase each.
        came_to: the value of an expression that is neither true nor false; None otherwise.
    """

    property: str
    snapshot: str
    holds: Hidden[bool | None]
    sentence: str
    conclusion: str
    witness: Mapping[str, object]
    missing: tuple[str, ...]
    came_to: Hidden[str | None] = None

    @json_property
    def answer(self) -> str:
        """The answer as a word: ``true``, ``false`` or ``unknown``."""
        return {True: "true", False: "false", None: "unknown"}[self.holds]


def concluded(name: str, state: GlobalState, found: Found, conclusions: Conclusions) -> Answer:
    """Return the answer for a result, with what follows from it."""
    missing = found.missing[:MOST_NAMED]
    if len(found.missing) > MOST_NAMED:
        missing += (f"{len(found.missing) - MOST_NAMED:,} more",)
    return Answer(
        property=name,
        snapshot=state.snapshot,
        holds=found.holds,
        sentence=found.sentence,
        conclusion=_conclusion(state, found, conclusions),
        witness=found.witness,
        missing=missing,
        came_to=found.came_to,
    )


def _conclusion(state: GlobalState, found: Found, conclusions: Conclusions) -> str:
    if found.holds is None:
        return "Nothing follows for the run."
    if state.is_derived:
        return f"Nothing follows for the run: {DERIVED}"
    if state.verdict != CONSISTENT:
        return (
            f"Nothing follows for the run: the verdict on the snapshot is {state.verdict}, so the "
            "run may never have been able to reach the recorded state."
        )
    return conclusions.true if found.holds else conclusions.false


def unknown(sentence: str, missing: tuple[str, ...]) -> Found:
    """Return the result for a state in which ``missing`` would decide."""
    return Found(None, sentence, {}, missing)


def state_missing(process: str) -> str:
    """Return the phrase for the missing state of a process."""
    return f"the state of {process}"


def contents_missing(channel: str) -> str:
    """Return the phrase for the missing contents of a channel."""
    return f"the contents of {channel}"


def listed(names: list[str] | tuple[str, ...]) -> str:
    """Join names for a sentence: ``A``, ``A and B``, ``A, B and 3 more``."""
    if len(names) > 3:
        return f"{', '.join(names[:2])} and {len(names) - 2:,} more"
    return " and ".join([", ".join(names[:-1]), names[-1]] if len(names) > 1 else names)
