"""The four questions that a snapshot answers, each by itself.

cut       Was every message that was received inside the cut also sent inside it?
channels  Is what was recorded in the channels what was in flight at the cut?
states    Is the recorded state of each process its state at the cut?
rule      Did the protocol do what it promises: did every process record, did every marker arrive,
          and did nothing pass between a recording and its marker, or out of order?

Each *holds*, *does not hold*, or *is not known*, with the reason. The verdict of the snapshot is
the worst finding. States that nobody logged do not make a consistent cut unknown; their answer says
that they were not compared. A derived recording proves nothing of what it was derived from, so that
nothing holds there; what does not hold still counts.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from snapshots.domain.judging.findings import (
    DUPLICATED,
    FIFO_VIOLATION,
    INCOMPLETE,
    LOST,
    MARKER_RULE,
    ORPHAN,
    STATE_MISMATCH,
    UNKNOWN,
)
from snapshots.domain.model.as_json import Absent
from snapshots.domain.model.defects import times
from snapshots.domain.model.engine_words import EngineWords
from snapshots.domain.model.recording import Instant
from snapshots.quantities import duration

CUT, CHANNELS, STATES, RULE = "cut", "channels", "states", "rule"
QUESTIONS = (CUT, CHANNELS, STATES, RULE)
HOLDS, FAILS, NOT_KNOWN = "holds", "does-not-hold", "not-known"
VERDICTS_OF = {
    CUT: (ORPHAN,),
    CHANNELS: (LOST, DUPLICATED),
    STATES: (STATE_MISMATCH,),
    RULE: (MARKER_RULE, FIFO_VIOLATION, INCOMPLETE),
}
"""The verdicts whose witnesses show that the answer does not hold."""

_DERIVED = (
    "The recording is derived from what the engine kept, and that does not hold the events "
    "themselves."
)

_ONLY_CLOCKS = (
    "The log has vector clocks and no messages of its own. A message that was never received "
    "leaves no trace in clocks."
)


@dataclass(frozen=True, slots=True)
class Answer:
    """The answer to one of the four questions.

    Attributes:
        question: ``cut``, ``channels``, ``states`` or ``rule``.
        answer: ``holds``, ``does-not-hold`` or ``not-known``.
        sentence: the answer in words, with the reason where it is not known.
        not_compared: what the answer leaves out, as a sentence.
    """

    question: str
    answer: str
    sentence: str
    not_compared: Absent[str] = None


@dataclass(frozen=True, slots=True)
class Judged:
    """What of a snapshot could be compared.

    Attributes:
        counts: the witnesses of each verdict.
        processes: the processes in the scope of the snapshot.
        recorded: those of them that recorded.
        channels: the channels in the scope.
        compared: the channels whose two ends recorded, and whose record the log has.
        unrecorded: the channels whose two ends recorded, and whose record the log lacks.
        unrecorded_in_flight: the messages in flight in these.
        states_compared: the states that are both recorded and recomputed.
        states_unlogged: the recorded states that the log cannot recompute.
        strays: the receives inside the cut without a send.
        has_markers: whether the log has a marker of the snapshot.
        apart: the time between the first and the last recording, as ``apart`` says it.
        only_clocks: whether the messages follow from vector clocks, so that there may be more.
        words: the words of the engine that the recording is derived from; None for other logs.
    """

    counts: Mapping[str, int]
    processes: int
    recorded: int
    channels: int
    compared: int
    unrecorded: int
    unrecorded_in_flight: int
    states_compared: int
    states_unlogged: int
    strays: int
    has_markers: bool
    apart: str | None
    only_clocks: bool
    words: EngineWords | None

    @property
    def is_derived(self) -> bool:
        """Tell whether the recording is derived."""
        return self.words is not None

    @property
    def unsent(self) -> int:
        """Count the recorded messages that the log never sends."""
        return 0 if self.is_derived else self.counts.get(UNKNOWN, 0) - self.strays

    @property
    def missing(self) -> int:
        """Count the processes that never recorded."""
        return self.processes - self.recorded


def answers(judged: Judged) -> tuple[Answer, ...]:
    """Return the four answers, in the order of QUESTIONS."""
    found = (_cut(judged), _channels(judged), _states(judged), _rule(judged))
    if not judged.is_derived:
        return found
    return tuple(
        item if item.answer == FAILS else Answer(item.question, NOT_KNOWN, _DERIVED)
        for item in found
    )


def _cut(judged: Judged) -> Answer:
    if orphans := judged.counts.get(ORPHAN, 0):
        sentence = f"{_count(orphans, 'message')} received inside the cut and sent outside it."
        return Answer(CUT, FAILS, sentence)
    if judged.strays:
        return Answer(CUT, NOT_KNOWN, strays_sentence(judged.strays))
    if judged.missing:
        return Answer(CUT, NOT_KNOWN, f"{_never_recorded(judged)}, so the cut does not pass there.")
    return Answer(CUT, HOLDS, "Every message received inside the cut was sent inside it.")


def strays_sentence(strays: int) -> str:
    """Say that receives without a send leave it open whether a cut is consistent."""
    return (
        f"The log has no send for {times(strays, 'receive')} inside the cut, so nothing "
        "tells on which side the message was sent."
    )


def _channels(judged: Judged) -> Answer:
    lost, extra = judged.counts.get(LOST, 0), judged.counts.get(DUPLICATED, 0)
    if lost or extra:
        clauses = [
            *([f"{_count(lost, 'message')} in flight and not recorded"] if lost else ()),
            *([f"{_count(extra, 'message')} recorded and not in flight"] if extra else ()),
        ]
        return Answer(CHANNELS, FAILS, f"{', '.join(clauses)}.")
    if judged.only_clocks:
        return Answer(CHANNELS, NOT_KNOWN, _ONLY_CLOCKS)
    if judged.unsent:
        return Answer(
            CHANNELS,
            NOT_KNOWN,
            f"The log never sends {times(judged.unsent, 'message')} that {_was(judged.unsent)} "
            "recorded.",
        )
    if judged.unrecorded_in_flight:
        return Answer(
            CHANNELS,
            NOT_KNOWN,
            f"{_count(judged.unrecorded_in_flight, 'message')} in flight where the log does not "
            f"say what was recorded ({times(judged.unrecorded, 'channel')}).",
        )
    half = judged.channels - judged.compared - judged.unrecorded
    if half:
        return Answer(
            CHANNELS,
            NOT_KNOWN,
            f"An end of {times(half, 'channel')} never recorded, so nothing tells what was in "
            "flight there.",
        )
    if judged.unrecorded:
        if not judged.compared:
            sentence = "Nothing was in flight at the cut."
            return Answer(CHANNELS, HOLDS, sentence, "The log has no record of any channel.")
        return Answer(
            CHANNELS,
            HOLDS,
            "What was recorded in the channels is what was in flight.",
            f"The log has no record of {times(judged.unrecorded, 'channel')}, where nothing was in "
            "flight.",
        )
    return Answer(CHANNELS, HOLDS, "What was recorded in the channels is what was in flight.")


def _states(judged: Judged) -> Answer:
    if wrong := judged.counts.get(STATE_MISMATCH, 0):
        sentence = f"{_count(wrong, 'recorded state')} not the state at the cut."
        return Answer(STATES, FAILS, sentence)
    unsaid = judged.recorded - judged.states_compared - judged.states_unlogged
    if judged.states_unlogged:
        return Answer(
            STATES,
            NOT_KNOWN,
            "The log does not hold the state of "
            f"{times(judged.states_unlogged, 'process', 'processes')} at the cut, so nothing tells "
            "whether the recorded one is right.",
        )
    if unsaid:
        return Answer(
            STATES,
            NOT_KNOWN,
            f"The log does not say which state {times(unsaid, 'process', 'processes')} recorded.",
        )
    if judged.missing:
        return Answer(STATES, NOT_KNOWN, f"{_never_recorded(judged)}.")
    return Answer(STATES, HOLDS, "Every recorded state is the state at the cut.")


def _rule(judged: Judged) -> Answer:
    counted = (
        (MARKER_RULE, "message", "messages", "between a recording and its marker"),
        (FIFO_VIOLATION, "message or marker", "messages or markers", "overtaken on FIFO channels"),
        (INCOMPLETE, "recording or marker", "recordings or markers", "missing"),
    )
    broken = [
        f"{times(count, noun, plural)} {clause}"
        for verdict, noun, plural, clause in counted
        if (count := judged.counts.get(verdict, 0))
    ]
    if judged.words and judged.counts.get(INCOMPLETE) and len(broken) == 1:
        return Answer(RULE, FAILS, _incomplete(judged, judged.words))
    if broken:
        return Answer(RULE, FAILS, f"{', '.join(broken)}.")
    if not judged.channels:
        sentence = "Every process recorded. They have no channels, so no marker was needed."
        return Answer(RULE, HOLDS, sentence)
    if not judged.has_markers:
        return Answer(RULE, NOT_KNOWN, _without_markers(judged))
    return Answer(
        RULE,
        HOLDS,
        "Every process recorded, every marker arrived, and nothing passed between a recording and "
        "its marker.",
    )


def apart(times_recorded: Iterable[Instant | None], unit: str) -> str | None:
    """Say how far apart processes recorded; None where the log has no time of it.

    Args:
        times_recorded: when each process recorded, in units of the log.
        unit: the unit of time of the log; ``step`` where it has no times.
    """
    known = [at for at in times_recorded if at is not None]
    if unit == "step" or len(known) < 2:
        return None
    return duration(max(known) - min(known), unit)


def _without_markers(judged: Judged) -> str:
    sentence = "The log has no marker of this snapshot, so the marker rules were not checked."
    if judged.apart is None:
        return sentence
    return (
        f"{sentence} The processes recorded {judged.apart} apart and without markers: it looks "
        "like a snapshot by the clock, or by a protocol that marks the messages themselves."
    )


def _incomplete(judged: Judged, words: EngineWords) -> str:
    """Say in the words of the engine what is missing."""
    processes = times(judged.processes, "process", "processes")
    sentence = words.incomplete.format(missing=f"{judged.missing:,}", processes=processes)
    barriers = judged.counts[INCOMPLETE] - judged.missing
    sentences = [
        *([sentence] if judged.missing else ()),
        *([words.barriers_missing.format(count=f"{barriers:,}")] if barriers else ()),
    ]
    return " ".join(sentences)


def _never_recorded(judged: Judged) -> str:
    return f"{judged.missing:,} of {times(judged.processes, 'process', 'processes')} never recorded"


def _was(count: int) -> str:
    return "was" if count == 1 else "were"


def _count(count: int, noun: str) -> str:
    """Begin a clause: ``1 message was``, ``3 messages were``."""
    return f"{times(count, noun)} {_was(count)}"
