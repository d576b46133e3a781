"""Answers: true, false or unknown, the witness, and what follows for the run.

A property is stable iff, once it holds, it holds in every state that can be reached from there. A
consistent snapshot S* can be reached from the state in which the algorithm began and leads to the
one in which it ended. So true in S* means true at the end, and false in S* means false at the
beginning; nothing else follows.

Source: Chandy and Lamport, "Distributed Snapshots", ACM TOCS 3(1), 1985, section 5.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Annotated

from snapshots.domain.judging.findings import CONSISTENT
from snapshots.domain.model.as_json import Hidden, JsonName, json_property
from snapshots.domain.properties.global_state import GlobalState

MOST_NAMED = 20  # of each list in a witness; the counts are always the true ones


@dataclass(frozen=True, slots=True)
class Found:
    """What a state says about a property; the fields are as in Answer."""

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


STABLE = Conclusions(
    true="The property holds when the algorithm ends, and it stays true.",
    false="The property did not hold when the algorithm began; nothing more is known.",
)
INVARIANT = Conclusions(
    true="It was kept in every event before the snapshot, or lost and made good; nothing is said "
    "of the events after it.",
    false="An event before the snapshot broke it: it had been broken when the algorithm ended.",
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
        name: the word by which it is asked for.
        definition: when it is true.
        shape: what states and values must look like.
        look: evaluates it on a state; its second argument is the state at the start.
    """

    name: Annotated[str, JsonName("property")]
    title: str
    definition: str
    shape: str
    look: Hidden[Callable[[GlobalState, GlobalState], Found]]
    conclusions: Hidden[Conclusions] = STABLE

    def evaluate(self, state: GlobalState, start: GlobalState) -> "Answer":
        """Answer the property for one recorded state."""
        return concluded(self.name, state, self.look(state, start), self.conclusions)


@dataclass(frozen=True)
class Answer:
    """The answer to one property of one snapshot.

    Attributes:
        holds: None where the state does not tell; then ``missing`` says why not.
        sentence: what was seen in the state.
        conclusion: what follows for the run, in the terms of Chandy and Lamport, section 5.
        witness: the reason in JSON, whose shape depends on the property.
        missing: what the log does not hold, one phrase each.
        came_to: the value of an expression that is neither true nor false.
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
        """``true``, ``false`` or ``unknown``."""
        return {True: "true", False: "false", None: "unknown"}[self.holds]


def concluded(name: str, state: GlobalState, found: Found, conclusions: Conclusions) -> Answer:
    """The answer, with what follows from it."""
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
    if state.verdict != CONSISTENT:
        return (
            f"Nothing follows for the run: the verdict on the snapshot is {state.verdict}, so what "
            "was recorded need not be a state that the run could have been in."
        )
    return conclusions.true if found.holds else conclusions.false


def unknown(sentence: str, missing: tuple[str, ...]) -> Found:
    """Return the answer for a state that does not tell. ``missing``: what would decide it."""
    return Found(None, sentence, {}, missing)


def state_missing(process: str) -> str:
    """Name the missing state of a process."""
    return f"the state of {process}"


def contents_missing(channel: str) -> str:
    """Name the missing contents of a channel."""
    return f"the contents of {channel}"


def listed(names: list[str] | tuple[str, ...]) -> str:
    """ "A", "A and B", "A, B and 3 more"."""
    if len(names) > 3:
        return f"{', '.join(names[:2])} and {len(names) - 2:,} more"
    return " and ".join([", ".join(names[:-1]), names[-1]] if len(names) > 1 else names)
