"""Say in sentences what a search through a series showed, and what it did not show."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from snapshots.domain.bisecting.search import KEPT, REFUTED, Bisection

THEORY, DECLARED, NONE = "theory", "declared", "none"  # why a condition is taken to be stable
EXACT, AT_START, NEVER, BETWEEN, NOT_KNOWN, EMPTY = (
    "exact",
    "at-start",
    "never",
    "between",
    "not-known",
    "empty",
)
MOST_NAMED = 3


@dataclass(frozen=True, slots=True)
class Words:
    """The words for the states of a series.

    Attributes:
        noun: a state of the series: ``snapshot``, ``checkpoint`` or ``batch``.
        nouns: several states of the series.
        titles: the title of each state, such as ``snapshot s1`` or ``checkpoint 4``.
    """

    noun: str
    nouns: str
    titles: Sequence[str]

    def count(self, number: int) -> str:
        """Return a number of states in words."""
        return f"{number:,} {self.noun if number == 1 else self.nouns}"

    def listed(self, places: Sequence[int]) -> str:
        """Return the titles at some places, the first few by name."""
        names = [self.titles[place] for place in places[:MOST_NAMED]]
        hidden = len(places) - len(names)
        if hidden:
            return f"{', '.join(names)} and {hidden:,} more"
        return " and ".join([", ".join(names[:-1]), names[-1]] if len(names) > 1 else names)


def outcome(found: Bisection) -> str:
    """Return the result of a search as one word."""
    if not found.total:
        return EMPTY
    if found.earliest is None:
        return NEVER
    if found.first is None:
        return NOT_KNOWN
    if not found.is_exact:
        return BETWEEN
    return EXACT if found.first else AT_START


def answer_sentences(found: Bisection, words: Words) -> Iterator[str]:
    """Yield the sentences that say where the condition holds for the first time."""
    word = outcome(found)
    if word == EMPTY:
        yield f"There is no {words.noun}, so there is nothing to search."
    elif word == NEVER:
        yield from _never(found, words)
    elif word == NOT_KNOWN:
        yield f"No {words.noun} is known in which it holds."
        yield from _undecided(found, words)
    else:
        yield from _held(word, found, words)


def _never(found: Bisection, words: Words) -> Iterator[str]:
    if found.total == 1:
        yield f"It does not hold in {words.titles[0]}, the only {words.noun}."
    elif list(found.answers.values()) == [False] * found.total:
        yield f"It holds in none of the {words.count(found.total)}."
    else:
        last = words.titles[found.total - 1]
        yield (
            f"It does not hold in {last}, the last of {words.count(found.total)}. If it is stable, "
            "it holds in none of them."
        )


def _held(word: str, found: Bisection, words: Words) -> Iterator[str]:
    assert found.first is not None  # the word says so
    first = words.titles[found.first]
    if word == AT_START:
        yield (
            f"It holds already in {first}, the first {words.noun} of the series. There is none "
            "before it to compare it with."
        )
    elif word == EXACT:
        assert found.before is not None  # all before the first one are known to be false
        yield f"It holds for the first time in {first}."
        yield f"In {words.titles[found.before]}, the one before, it does not hold."
    else:
        yield f"The first {words.noun} in which it is known to hold is {first}."
        yield from _undecided(found, words)


def _undecided(found: Bisection, words: Words) -> Iterator[str]:
    """Say which states may be the first, and why that is not known."""
    if found.before is not None:
        yield f"It is known not to hold in {words.titles[found.before]}."
    candidates = found.candidates
    if candidates:
        yield f"What it comes to in {words.listed(candidates)} is not known."
    if skipped := _skipped(found):
        verb = "was" if skipped == 1 else "were"
        yield f"{words.count(skipped)} that may be the first {verb} not evaluated."


def _skipped(found: Bisection) -> int:
    """Count the states that may be the first and were not evaluated."""
    if found.earliest is None or found.is_exact:
        return 0
    end = found.total if found.first is None else found.first
    begin = found.earliest
    return end - begin - sum(begin <= place < end for place in found.answers)


def effort_sentence(found: Bisection, words: Words) -> str:
    """Say how many states were evaluated."""
    if len(found.answers) < found.total:
        return f"{len(found.answers):,} of {words.count(found.total)} were evaluated."
    if found.total == 1:
        return f"The only {words.noun} was evaluated."
    whole = "Both" if found.total == 2 else f"All {found.total:,}"
    return f"{whole} {words.nouns} were evaluated."


def stability_sentence(found: Bisection, words: Words, basis: str) -> str:
    """Say whether the condition stays true once it holds, and from where that is known."""
    if found.stability == REFUTED:
        assert found.ceased is not None  # it was refuted by these
        held, ceased = (words.titles[place] for place in found.ceased)
        return f"{_REFUTED[basis]}: it holds in {held} and does not hold in {ceased}."
    if found.stability == KEPT:
        return _kept(found, words, basis)
    if found.is_searched:
        return _SEARCHED[basis].format(nouns=words.nouns, unchecked=_unchecked(found))
    return (
        f"Whether it stays true once it holds is not known: not all {words.nouns} have an answer."
    )


def _unchecked(found: Bisection) -> str:
    """Say which states a search left open: those without an evaluation, and those not known."""
    parts = [
        *(["were not evaluated"] if len(found.answers) < found.total else []),
        *(["are not known"] if None in found.answers.values() else []),
    ]
    return " or ".join(parts)


def _kept(found: Bisection, words: Words, basis: str) -> str:
    if found.first is None:
        return "It never held, so nothing shows whether it would have stayed true."
    if found.first == found.total - 1:
        return f"It is the last {words.noun}, so nothing shows whether it stays true."
    seen = f"From {words.titles[found.first]} on it holds in every {words.noun} of the series"
    return f"{seen}{_KEPT[basis]}"


_KEPT = {
    THEORY: ", as it must if it is stable.",
    DECLARED: ", as you said.",
    NONE: ". That does not show that it always would.",
}
_REFUTED = {
    THEORY: "The property is stable by its theory, but the recorded states contradict it",
    DECLARED: "You said that it stays true once it holds, but it does not",
    NONE: "It does not stay true once it holds",
}
_SEARCHED = {
    THEORY: "The property is stable: once it holds, it holds in every state that can be reached. "
    "The snapshots are consistent and follow each other, so those that were evaluated decide the "
    "others.",
    DECLARED: "You said that it stays true once it holds. No answer contradicts that, but it was "
    "not checked in the {nouns} that {unchecked}: if it is wrong, an earlier one may be the "
    "first.",
}
