"""The first answer to a log of one's own: the worst verdict with its witness, then the rest."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from snapshots.domain.answering.sentences import (
    ALL_TIMES,
    DEFECTS,
    FACT,
    NOT_KNOWN,
    SNAPSHOT,
    SNAPSHOTS,
    WATCH,
    WELL,
    WORKBENCH,
    WRONG,
    Evidence,
    Sentence,
    Subject,
)
from snapshots.domain.answering.wording import begun
from snapshots.domain.judging.answers import FAILS, HOLDS, Answer
from snapshots.domain.judging.answers import NOT_KNOWN as ANSWER_NOT_KNOWN
from snapshots.domain.judging.findings import CONSISTENT, INCOMPLETE, UNKNOWN, VERDICTS
from snapshots.domain.model.defects import times
from snapshots.domain.model.listing import listed


@dataclass(frozen=True, slots=True)
class JudgedSnapshot:
    """One snapshot of the log.

    Attributes:
        snapshot: the name of the snapshot.
        verdict: its worst verdict.
        witness: the sentence of its first witness; None if it has none.
        answers: the four answers; empty in recordings that an older release judged.
    """

    snapshot: str
    verdict: str
    witness: str | None
    answers: tuple[Answer, ...] = ()


def subject(
    name: str,
    verdicts: Mapping[str, int],
    worst: JudgedSnapshot | None,
    defects: int,
    checkpoints: Sequence[Mapping[str, str]] = (),
    troubles: Sequence[Sentence] = (),
    first_defect: str | None = None,
) -> Subject:
    """Return the sentences about a log.

    Checkpoints and verdicts are no praise for a run with troubles, so nothing is called well then.

    Args:
        verdicts: how many snapshots have each verdict.
        worst: the first snapshot with the worst verdict; None if there is no snapshot.
        defects: how many defects the log has.
        checkpoints: the reports of the checkpoints of a dataflow, of which ``status`` is read.
        troubles: what went wrong in the run of a dataflow, which is said first.
        first_defect: the sentence of the first defect; None if it is not at hand.
    """
    rest = (
        _verdict(verdicts, worst),
        *_answers(worst),
        *_checkpoints(checkpoints),
        *_defects(defects, first_defect),
    )
    if any(item.level in (WRONG, WATCH) for item in troubles):
        rest = tuple(replace(item, level=FACT) if item.level == WELL else item for item in rest)
    return Subject("", name, (*troubles, *rest))


def told(found: Sequence[Mapping[str, str]]) -> Iterator[Sentence]:
    """Yield what the log's reader found itself.

    Args:
        found: objects of ``level``, ``text`` and perhaps the ``snapshot`` of which that is said.
    """
    for item in found:
        name = item.get("snapshot")
        link = Evidence(WORKBENCH, "Workbench")
        if name is not None:
            link = Evidence(SNAPSHOT, f"Snapshot {name}", name=name)
        yield Sentence("told", item["text"], item["level"], (link,))


def _verdict(verdicts: Mapping[str, int], worst: JudgedSnapshot | None) -> Sentence:
    total = sum(verdicts.values())
    if worst is None:
        text = "The log records no snapshot, so there is none to judge. Drag a cut of your own."
        return Sentence("verdict", text, FACT, (Evidence(WORKBENCH, "Workbench"),))
    links = (
        Evidence(SNAPSHOT, f"Snapshot {worst.snapshot}", name=worst.snapshot),
        Evidence(WORKBENCH, "Replay it", name=worst.snapshot),
        Evidence(SNAPSHOTS, "All snapshots"),
    )
    if worst.verdict == CONSISTENT:
        text = (
            f"All {total:,} snapshots are consistent."
            if total > 1
            else (f"The only snapshot, {worst.snapshot}, is consistent.")
        )
        return Sentence("verdict", text, WELL, links)
    counts = [f"{verdicts[name]:,} {name}" for name in VERDICTS if verdicts.get(name)]
    others = f"The worst of {total:,} snapshots ({listed(counts)}) is {worst.snapshot}"
    if total == 1:
        others = f"The only snapshot, {worst.snapshot}, is {worst.verdict}"
    witness = worst.witness or "It has no witness."
    text = f"{others}. {witness}"
    return Sentence("verdict", text, _level(worst.verdict), links)


def _level(verdict: str) -> str:
    return {UNKNOWN: NOT_KNOWN, INCOMPLETE: WATCH}.get(verdict, WRONG)


def _answers(worst: JudgedSnapshot | None) -> Iterator[Sentence]:
    """Say which of the four questions hold in the worst snapshot, and which are not known."""
    if worst is None or not worst.answers:
        return
    link = (Evidence(SNAPSHOT, f"Snapshot {worst.snapshot}", name=worst.snapshot),)
    holding = [item.question for item in worst.answers if item.answer == HOLDS]
    failing = [item for item in worst.answers if item.answer == FAILS]
    if failing:
        parts = [f"{item.question}: {item.sentence}" for item in failing]
        text = f"In {worst.snapshot} this does not hold. {begun(' '.join(map(begun, parts)))}"
        yield Sentence("fails", text, WRONG, link)
    if holding:
        text = f"In {worst.snapshot} {listed(holding)} {_hold(holding)}."
        limits = [item.not_compared for item in worst.answers if item.not_compared]
        yield Sentence("holds", " ".join([text, *limits]), WELL, link)
    reasons: dict[str, list[str]] = {}
    for item in worst.answers:
        if item.answer == ANSWER_NOT_KNOWN:
            reasons.setdefault(item.sentence, []).append(item.question)
    for reason, questions in reasons.items():
        text = (
            f"In {worst.snapshot} it is not known whether {listed(questions)} {_hold(questions)}."
        )
        yield Sentence("not-known", f"{text} {reason}", NOT_KNOWN, link)


def _hold(questions: list[str]) -> str:
    """Return the verb that fits: the cut holds, the channels hold."""
    return "hold" if len(questions) > 1 or questions[0].endswith("s") else "holds"


def _checkpoints(checkpoints: Sequence[Mapping[str, str]]) -> Iterator[Sentence]:
    if not checkpoints:
        return
    counts: dict[str, int] = {}
    for item in checkpoints:
        counts[item["status"]] = counts.get(item["status"], 0) + 1
    numbers = listed([f"{count:,} {status}" for status, count in counts.items()])
    text = f"Of {times(len(checkpoints), 'checkpoint')} {numbers}."
    level = WELL if set(counts) == {"completed"} else WATCH
    yield Sentence("checkpoints", text, level, (Evidence(ALL_TIMES, "Checkpoints and failures"),))


def _defects(defects: int, first: str | None) -> Iterator[Sentence]:
    if defects:
        text = f"The log has {times(defects, 'defect')}, which may change what is said here."
        if first is not None:
            text = f"{text} {'The first: ' if defects > 1 else ''}{first}"
        yield Sentence("defects", text, WATCH, (Evidence(DEFECTS, "Defects of the log"),))
