"""What lists say of snapshots: the verdict, or what became of an engine's checkpoint.

A checkpoint of an engine proves nothing about itself, so its verdict is ``unknown`` or
``incomplete``. Lists say instead whether it is damaged, failed, is in progress, or is not judged.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any

from django.db.models import Count

from snapshots.domain.inventory import model
from snapshots.domain.judging.answers import FAILS, HOLDS, NOT_KNOWN, QUESTIONS
from snapshots.domain.judging.findings import INCOMPLETE, UNKNOWN, VERDICTS
from snapshots.files.recordings import store
from snapshots.models import Recording, Snapshot
from snapshots.readers.engines import registry
from snapshots.store.errors import StoreError
from snapshots.store.inventory.reading import StoredInventory

DAMAGED, NOT_JUDGED = "damaged", "not judged"
WORDS = {UNKNOWN: "not known"}  # of verdicts, where a list has no better word
MOST_ANSWERED = 500  # snapshots of one recording whose answers a list of recordings sums up
_ORDER = (DAMAGED, model.FAILED, *VERDICTS, model.IN_PROGRESS, WORDS[UNKNOWN], NOT_JUDGED)
_COLOURS = {
    **dict.fromkeys((DAMAGED, model.FAILED, model.IN_PROGRESS), INCOMPLETE),
    **dict.fromkeys((NOT_JUDGED, *WORDS.values()), UNKNOWN),
}


def colour_of(word: str) -> str:
    """Return the verdict in whose colour pages show a word."""
    return _COLOURS.get(word, word)


def outcome_of(row: Snapshot) -> str:
    """Return the word of one snapshot for lists."""
    return outcome_word(row.snapshot, row.verdict, of_checkpoints(row.recording))


def outcome_word(snapshot: str, verdict: str, checkpoints: Mapping[str, str] | None) -> str:
    """Return the word of a snapshot for lists; ``checkpoints`` is as ``of_checkpoints`` has it."""
    if checkpoints is None:
        return WORDS.get(verdict, verdict)
    if verdict not in (UNKNOWN, INCOMPLETE):
        return verdict
    return checkpoints.get(snapshot, NOT_JUDGED if verdict == UNKNOWN else verdict)


def of_checkpoints(recording: Recording) -> Mapping[str, str] | None:
    """Return what became of each checkpoint, by snapshot; None for a log."""
    if recording.format not in registry.READERS or not recording.is_ready:
        return None
    try:
        return _of_store(store().folder(recording.store))
    except StoreError:  # the recording's own pages say what is wrong with it
        return {}


@lru_cache(maxsize=500)
def _of_store(folder: Path) -> Mapping[str, str]:
    """Read the outcomes in a published folder, which never changes. Raises: StoreError."""
    inventory = StoredInventory(folder)
    items = inventory.upload["checkpoints"] if inventory.exists else []
    return {item.get("snapshot") or str(item["id"]): _of_checkpoint(item) for item in items}


def _of_checkpoint(item: Mapping[str, Any]) -> str:
    if item["status"] in (model.FAILED, model.IN_PROGRESS):
        return item["status"]
    is_damaged = item["status"] == model.UNKNOWN or item["missing"] or item.get("flaws")
    return DAMAGED if is_damaged else NOT_JUDGED


class Outcomes:
    """The outcomes of all snapshots of a recording.

    Attributes:
        counts: how many snapshots have each word, the most serious first.
        answers: for each question how many snapshots have each answer; empty if there are too many
            snapshots, or if some were judged before there were any.
        is_of_engine: whether they are checkpoints of an engine.
    """

    def __init__(
        self,
        counts: Mapping[str, int],
        answers: Mapping[str, Mapping[str, int]],
        *,
        is_of_engine: bool,
    ) -> None:
        self.counts = {word: counts[word] for word in sorted(counts, key=_ORDER.index)}
        self.answers = answers
        self.is_of_engine = is_of_engine

    @property
    def words(self) -> list[tuple[str, str, int]]:
        """Each word with the verdict whose colour it has, and its count."""
        return [(colour_of(word), word, count) for word, count in self.counts.items()]

    @property
    def sentence(self) -> str:
        """The four answers in one line; empty if nothing is known of any.

        It is empty for checkpoints of engines, too, of which the words say all.
        """
        return "" if self.is_of_engine else sentence_of(self.answers)


def outcomes_of(recordings: Iterable[Recording]) -> dict[int, Outcomes]:
    """Return the outcomes of recordings, by their numbers."""
    rows = {row.pk: row for row in recordings}
    counts: dict[int, Counter[str]] = {pk: Counter() for pk in rows}
    checkpoints = {pk: of_checkpoints(row) for pk, row in rows.items()}
    for pk, snapshot, verdict, count in _verdicts(checkpoints):
        counts[pk][outcome_word(snapshot, verdict, checkpoints[pk])] += count
    small = [pk for pk, row in rows.items() if row.snapshot_count <= MOST_ANSWERED]
    answers = _answers(small)
    return {
        pk: Outcomes(counts[pk], answers.get(pk, {}), is_of_engine=checkpoints[pk] is not None)
        for pk in rows
    }


def _verdicts(
    checkpoints: Mapping[int, Mapping[str, str] | None],
) -> Iterator[tuple[int, str, str, int]]:
    """Yield recording, snapshot, verdict and count; logs are counted without their snapshots."""
    of_engines = [pk for pk, words in checkpoints.items() if words is not None]
    rows = Snapshot.objects.order_by()
    of_logs = rows.filter(recording__in=checkpoints.keys() - set(of_engines))
    for item in of_logs.values("recording", "verdict").annotate(count=Count("pk")):
        yield item["recording"], "", item["verdict"], item["count"]
    named = rows.filter(recording__in=of_engines)
    for pk, snapshot, verdict in named.values_list("recording", "snapshot", "verdict"):
        yield pk, snapshot, verdict, 1


def _answers(recordings: Iterable[int]) -> dict[int, dict[str, Counter[str]]]:
    """Count the answers to each question, by recording."""
    counts: dict[int, dict[str, Counter[str]]] = {}
    unanswered = set()
    rows = Snapshot.objects.filter(recording__in=recordings).order_by()
    for pk, answers in rows.values_list("recording", "answers"):
        by_question = counts.setdefault(pk, {question: Counter() for question in QUESTIONS})
        for item in answers:
            by_question[item["question"]][item["answer"]] += 1
        if not answers:
            unanswered.add(pk)
    return {pk: by_question for pk, by_question in counts.items() if pk not in unanswered}


def sentence_of(answers: Mapping[str, Mapping[str, int]]) -> str:
    """Sum up answers: ``holds: cut and rule; does not hold in 1 of 3: channels``.

    Args:
        answers: for each question how many snapshots have each answer.
    """
    if all(set(counts) <= {NOT_KNOWN} for counts in answers.values()):
        return ""
    questions: dict[str, list[str]] = {}
    for question in QUESTIONS:
        questions.setdefault(_phrase(answers[question]), []).append(question)
    return "; ".join(f"{phrase}: {_joined(names)}" for phrase, names in questions.items())


def _phrase(counts: Mapping[str, int]) -> str:
    total = sum(counts.values())
    for answer, word in ((FAILS, "does not hold"), (NOT_KNOWN, "not known"), (HOLDS, "holds")):
        if count := counts.get(answer, 0):
            return word if count == total else f"{word} in {count:,} of {total:,}"
    return ""


def _joined(names: list[str]) -> str:
    return " and ".join([", ".join(names[:-1]), names[-1]] if len(names) > 1 else names)
