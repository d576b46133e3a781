"""Differences between two sides, the left and the right one, and the order in which they stand.

Sizes are only compared if they count the same. The order is therefore by measure, then by size:

1. ``verdict``: an answer about a snapshot or a cut; the size is by how many witnesses they differ.
2. ``existence``: what only one side has; the size is how many events or messages that is, or 1.
3. ``events``: how many events of a process only one side has, or leave another state.
4. ``amount``: how far two numbers are apart, or the sum of the messages that only one side holds.
5. ``parts``: where values are no numbers, how many of their fields or of the messages differ.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from snapshots.domain.judging.answers import QUESTIONS
from snapshots.domain.model.as_json import Absent
from snapshots.domain.model.recording import Instant, MessageId, SnapshotId
from snapshots.domain.model.topology import ChannelId, JsonText, ProcessId

VERDICT, EXISTENCE, EVENTS, AMOUNT, PARTS = "verdict", "existence", "events", "amount", "parts"
MEASURES = (VERDICT, EXISTENCE, EVENTS, AMOUNT, PARTS)

ORDER = (
    "Verdicts come first, then what only one side has, then the events of processes by their "
    "number, then states and channels: by how far their numbers are apart, and where they are no "
    "numbers by how many fields or messages differ."
)


@dataclass(frozen=True, slots=True)
class Entry:
    """A message that a channel holds.

    Attributes:
        message: the id of the message.
        value: the value that it carries; None if it is not known.
    """

    message: MessageId
    value: JsonText | None


@dataclass(frozen=True, slots=True)
class Spot:
    """An event of one side, at which a difference shows.

    Attributes:
        process: the process of the event.
        index: the place of the event within the process, from 0.
        at: the instant of the event in the recording's time unit.
        step: the place of the event in the whole recording, from 0.
    """

    process: ProcessId
    index: int
    at: Instant
    step: int


@dataclass(frozen=True, slots=True)
class Difference:
    """One thing in which two sides differ.

    Attributes:
        about: ``answer``, ``snapshot``, ``process``, ``channel``, ``events``, ``state`` or
            ``contents`` (of a channel).
        measure: what the size counts: ``verdict``, ``existence``, ``events``, ``amount`` or
            ``parts``.
        size: how large the difference is, in its measure.
        sentence: the difference in words.
        question: the question that both sides answer differently.
        snapshot: the snapshot that the difference is about.
        process: the process that the difference is about.
        channel: the channel that the difference is about.
        left: the state on the left side.
        right: the state on the right side.
        only_left: the messages that the channel holds only on the left side.
        only_right: the messages that the channel holds only on the right side.
        left_spot: the event of the left side at which the difference shows; None if there is none.
        right_spot: the event of the right side at which it shows; None if there is none.
    """

    about: str
    measure: str
    size: int | float
    sentence: str
    question: Absent[str] = None
    snapshot: Absent[SnapshotId] = None
    process: Absent[ProcessId] = None
    channel: Absent[ChannelId] = None
    left: Absent[JsonText] = None
    right: Absent[JsonText] = None
    only_left: Absent[tuple[Entry, ...]] = None
    only_right: Absent[tuple[Entry, ...]] = None
    left_spot: Spot | None = None
    right_spot: Spot | None = None

    @property
    def rank(self) -> tuple[int, int | float, str, int, str]:
        """Return the key that sorts the largest difference first."""
        name = self.process or self.channel or self.snapshot or ""
        question = QUESTIONS.index(self.question) if self.question else 0
        return MEASURES.index(self.measure), -self.size, name, question, self.sentence


@dataclass(frozen=True, slots=True)
class NotCompared:
    """One thing that cannot be compared, because a side does not hold it.

    Attributes:
        about: the same words as in a difference.
        sentence: what is not compared, and why.
    """

    about: str
    sentence: str


@dataclass
class Comparison:
    """What a comparison has come to; ``worst_first`` sorts the differences.

    Attributes:
        equal: how many things of each kind are the same on both sides.
    """

    differences: list[Difference] = field(default_factory=list)
    not_compared: list[NotCompared] = field(default_factory=list)
    equal: dict[str, int] = field(default_factory=dict)

    def worst_first(self) -> list[Difference]:
        """Return the differences with the largest first."""
        return sorted(self.differences, key=lambda item: item.rank)

    def add_equal(self, about: str, count: int = 1) -> None:
        """Count things that are the same on both sides."""
        self.equal[about] = self.equal.get(about, 0) + count

    def skip(self, about: str, sentence: str) -> None:
        """Note something that cannot be compared."""
        self.not_compared.append(NotCompared(about, sentence))


@dataclass(frozen=True, slots=True)
class Held:
    """The state of a process on one side.

    Attributes:
        value: the state; None if it is not known.
        verb: the word for how the side has it: ``recorded`` or ``held``.
        why: why the state is not known, as the end of a sentence; empty if it is known.
        spot: the last event inside the cut; None if there is none, or it is not known.
    """

    value: JsonText | None
    verb: str = "held"
    why: str = ""
    spot: Spot | None = None


@dataclass(frozen=True, slots=True)
class Contents:
    """What a channel holds on one side.

    Attributes:
        entries: the messages in their order; None if they are not known.
        why: why they are not known, as the end of a sentence; empty if they are known.
        is_fifo: whether the channel keeps the order of messages.
    """

    entries: tuple[Entry, ...] | None
    why: str = ""
    is_fifo: bool = True


@dataclass(frozen=True, slots=True)
class Judgement:
    """The answer of one side to one of the four questions of ``judging.answers``.

    Attributes:
        answer: ``holds``, ``does-not-hold`` or ``not-known``.
        sentence: the first witness, or the reason.
        witnesses: how many witnesses there are.
    """

    answer: str
    sentence: str
    witnesses: int = 0


@dataclass(frozen=True, slots=True)
class GlobalState:
    """One side of a comparison of states: what processes and channels held at one cut.

    Attributes:
        name: how sentences call it, such as ``s1``.
        states: the state of every process that belongs to it.
        channels: the contents of every channel that belongs to it.
        judgements: the answers to those of the four questions that the side can answer.
    """

    name: str
    states: Mapping[ProcessId, Held]
    channels: Mapping[ChannelId, Contents]
    judgements: Mapping[str, Judgement] = field(default_factory=dict)


def in_both_or_one(left: Iterable[str], right: Iterable[str]) -> list[str]:
    """Return the names of both sides, each once, those of the left side first."""
    return list(dict.fromkeys([*left, *right]))
