"""Compare two global states: two snapshots, two cuts, or one of each.

Every process and every channel of the two sides ends in one of four ways: equal, different, on one
side only, or not compared, with the reason.
"""

from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence

from snapshots.domain.comparing.model import (
    EXISTENCE,
    PARTS,
    VERDICT,
    Comparison,
    Contents,
    Difference,
    Entry,
    GlobalState,
    Held,
    Judgement,
    in_both_or_one,
)
from snapshots.domain.comparing.sizes import between_states, of_messages
from snapshots.domain.judging.answers import (
    CHANNELS,
    CUT,
    FAILS,
    HOLDS,
    NOT_KNOWN,
    QUESTIONS,
    RULE,
    STATES,
)
from snapshots.domain.judging.witnesses import short
from snapshots.domain.model.listing import listed
from snapshots.domain.model.recording import SnapshotId
from snapshots.domain.model.topology import ChannelId, ProcessId

Names = tuple[str, str]

MOST_NAMED = 3  # messages that a sentence names
_HOLDS = {
    CUT: "{name} is consistent",
    CHANNELS: "what was recorded in the channels is right in {name}",
    STATES: "the recorded states are right in {name}",
    RULE: "the rule of the protocol is kept in {name}",
}
_SUBJECTS = {
    CUT: "Whether the cut is consistent",
    CHANNELS: "Whether the recorded channels are right",
    STATES: "Whether the recorded states are right",
    RULE: "Whether the rule of the protocol was kept",
}


def compare_states(left: GlobalState, right: GlobalState, *, by_id: bool) -> Comparison:
    """Compare two global states.

    Args:
        left: the state of the left side.
        right: the state of the right side.
        by_id: whether equal ids mean equal messages, as in one recording. In two recordings ids
            number the messages of each run, so messages are compared by their values.
    """
    comparison = Comparison()
    names = left.name, right.name
    compare_judgements(comparison, names, left.judgements, right.judgements)
    for process in map(ProcessId, in_both_or_one(left.states, right.states)):
        pair = left.states.get(process), right.states.get(process)
        _compare_process(comparison, names, process, pair)
    for channel in map(ChannelId, in_both_or_one(left.channels, right.channels)):
        sides = left.channels.get(channel), right.channels.get(channel)
        _compare_channel(comparison, names, channel, sides, by_id=by_id)
    return comparison


def compare_judgements(
    comparison: Comparison,
    names: Names,
    left: Mapping[str, Judgement],
    right: Mapping[str, Judgement],
    snapshot: SnapshotId | None = None,
) -> None:
    """Compare the answers of both sides to the questions that at least one of them answers.

    Args:
        names: how sentences call the sides.
        snapshot: the snapshot of this name on both sides; None if the sides have other names.
    """
    for question in QUESTIONS:
        one, other = left.get(question), right.get(question)
        if one is None and other is None:
            continue
        if reasons := list(_unanswered(names, one, other)):
            comparison.skip("answer", f"{_SUBJECTS[question]} is not compared: {' '.join(reasons)}")
        elif one == other or (one and other and one.answer == other.answer == HOLDS):
            comparison.add_equal("answer")
        else:
            assert one is not None  # a missing answer is skipped above
            assert other is not None
            comparison.differences.append(_other_answer(names, question, one, other, snapshot))


def _unanswered(names: Names, left: Judgement | None, right: Judgement | None) -> Iterable[str]:
    """Yield why a side does not answer a question."""
    for name, judgement in zip(names, (left, right), strict=True):
        if judgement is None:
            yield f"{_capital(name)} was recorded by nobody."
        elif judgement.answer == NOT_KNOWN:
            yield f"it is not known {where(name)}. {judgement.sentence}"


def _other_answer(
    names: Names, question: str, left: Judgement, right: Judgement, snapshot: SnapshotId | None
) -> Difference:
    told = [_without_verdict(judgement.sentence) for judgement in (left, right)]
    if left.answer == right.answer:
        sentence = (
            f"{_SUBJECTS[question]}: it is not so on either side. {_capital(names[0])}: {told[0]} "
            f"{_capital(names[1])}: {told[1]}"
        )
    else:
        fails = 0 if left.answer == FAILS else 1
        holds = _HOLDS[question].format(name=names[1 - fails])
        sentence = f"{_capital(holds)}; not so {where(names[fails])}: {told[fails]}"
    size = abs(left.witnesses - right.witnesses) or 1
    return Difference("answer", VERDICT, size, sentence, question=question, snapshot=snapshot)


def where(name: str) -> str:
    """Return a side for the end of a sentence: ``in s1``, or ``at the end of a run``."""
    return f"at {name}" if name.startswith(("the cut ", "the end ")) else f"in {name}"


def _without_verdict(sentence: str) -> str:
    return sentence.removeprefix("Not consistent: ")


def _capital(text: str) -> str:
    """Return a text with a capital at its beginning, unless it begins with a name."""
    return text[0].upper() + text[1:] if text.startswith(("the ", "what ")) else text


def _compare_process(
    comparison: Comparison, names: Names, process: ProcessId, pair: tuple[Held | None, Held | None]
) -> None:
    left, right = pair
    if left is None or right is None:
        comparison.differences.append(_only_one(names, pair, process=process))
    elif left.value is None or right.value is None:
        reasons = _reasons(names, (left.why, right.why))
        comparison.skip("state", f"The state of {process} is not compared: {reasons}.")
    elif left.value == right.value:
        comparison.add_equal("state")
    else:
        comparison.differences.append(_other_state(names, process, left, right))


def _only_one(
    names: Names,
    pair: Sequence[Held | Contents | None],
    *,
    process: ProcessId | None = None,
    channel: ChannelId | None = None,
) -> Difference:
    about = "process" if process is not None else "channel"
    side = 0 if pair[0] is not None else 1
    sentence = f"The {about} {process or channel} belongs only to {names[side]}."
    return Difference(about, EXISTENCE, 1, sentence, process=process, channel=channel)


def _reasons(names: Names, reasons: tuple[str, str]) -> str:
    return listed([f"{where(name)} {why}" for name, why in zip(names, reasons, strict=True) if why])


def _other_state(names: Names, process: ProcessId, left: Held, right: Held) -> Difference:
    assert left.value is not None  # else it is not compared
    assert right.value is not None
    measure, size = between_states(left.value, right.value)
    verb = "" if left.verb == right.verb else f" {right.verb}"
    return Difference(
        "state",
        measure,
        size,
        f"{process} {left.verb} {short(left.value)} {where(names[0])} and{verb} "
        f"{short(right.value)} {where(names[1])}.",
        process=process,
        left=left.value,
        right=right.value,
        left_spot=left.spot,
        right_spot=right.spot,
    )


def _compare_channel(
    comparison: Comparison,
    names: Names,
    channel: ChannelId,
    pair: tuple[Contents | None, Contents | None],
    *,
    by_id: bool,
) -> None:
    left, right = pair
    if left is None or right is None:
        comparison.differences.append(_only_one(names, pair, channel=channel))
    elif left.entries is None or right.entries is None:
        reasons = _reasons(names, (left.why, right.why))
        comparison.skip("contents", f"What {channel} held is not compared: {reasons}.")
    elif not by_id and (lacking := _without_values(names, (left.entries, right.entries))):
        counts = len(left.entries), len(right.entries)
        _compare_counts(comparison, names, channel, counts, lacking)
    else:
        key = _whole if by_id else _value
        is_ordered = left.is_fifo and right.is_fifo
        entries = left.entries, right.entries
        difference = _other_contents(names, channel, entries, key, is_ordered=is_ordered)
        if difference is None:
            comparison.add_equal("contents")
        else:
            comparison.differences.append(difference)


def _without_values(names: Names, pair: tuple[Sequence[Entry], Sequence[Entry]]) -> str:
    """Return where values of messages are not known; empty if all are known."""
    sides = zip(names, pair, strict=True)
    return listed(
        [where(name) for name, entries in sides if any(entry.value is None for entry in entries)]
    )


def _compare_counts(
    comparison: Comparison, names: Names, channel: ChannelId, counts: tuple[int, int], lacking: str
) -> None:
    """Compare the numbers of messages in a channel whose values are not all known."""
    why = f"the values of its messages are not all known {lacking}"
    if counts[0] == counts[1]:
        comparison.skip("contents", f"What {channel} held is not compared: {why}.")
        return
    sentence = (
        f"{channel} holds {_messages(counts[0])} {where(names[0])} and {_messages(counts[1])} "
        f"{where(names[1])}. Which of them differ is not known: {why}."
    )
    size = abs(counts[0] - counts[1])
    comparison.differences.append(Difference("contents", PARTS, size, sentence, channel=channel))


def _messages(count: int) -> str:
    return f"{count:,} {'message' if count == 1 else 'messages'}"


def _whole(entry: Entry) -> Hashable:
    return entry


def _value(entry: Entry) -> Hashable:
    return entry.value


def _other_contents(
    names: Names,
    channel: ChannelId,
    pair: tuple[tuple[Entry, ...], tuple[Entry, ...]],
    key: Callable[[Entry], Hashable],
    *,
    is_ordered: bool,
) -> Difference | None:
    """Return the difference between the contents of a channel, or None if they are equal."""
    left, right = pair
    ours, theirs = list(map(key, left)), list(map(key, right))
    if same_messages(ours, theirs, is_ordered=is_ordered):
        return None
    only_left, only_right = _left_over(left, ours, theirs), _left_over(right, theirs, ours)
    if only_left or only_right:
        measure, size = of_messages(only_left + only_right)
        sentence = f"{channel} holds {_only(names, only_left, only_right)}."
    else:
        moved = sum(one != other for one, other in zip(ours, theirs, strict=True))
        measure, size = PARTS, moved
        sentence = (
            f"{channel} holds the same {len(left):,} messages on both sides, in another order: "
            f"{_named(left)} {where(names[0])}, {_named(right)} {where(names[1])}."
        )
    return Difference(
        "contents",
        measure,
        size,
        sentence,
        channel=channel,
        only_left=only_left,
        only_right=only_right,
    )


def same_messages(left: Sequence[Hashable], right: Sequence[Hashable], *, is_ordered: bool) -> bool:
    """Tell whether two channels hold the same messages, in the same order if it has a meaning."""
    return left == right if is_ordered else Counter(left) == Counter(right)


def _left_over(
    entries: Sequence[Entry], keys: Sequence[Hashable], others: Sequence[Hashable]
) -> tuple[Entry, ...]:
    """Return the messages that the other side lacks. Equal ones are paired from the first on."""
    left = Counter(others)
    missing = []
    for entry, key in zip(entries, keys, strict=True):
        left[key] -= 1
        if left[key] < 0:
            missing.append(entry)
    return tuple(missing)


def _only(names: Names, left: Sequence[Entry], right: Sequence[Entry]) -> str:
    parts = zip((left, right), names, strict=True)
    return listed([f"{_named(entries)} only {where(name)}" for entries, name in parts if entries])


def _named(entries: Sequence[Entry]) -> str:
    return listed([_name(entry) for entry in entries], MOST_NAMED)


def _name(entry: Entry) -> str:
    return entry.message if entry.value is None else f"{entry.message} ({short(entry.value)})"
