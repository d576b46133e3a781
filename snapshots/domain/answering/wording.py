"""Words that the sentences of all engines share."""

from collections import Counter
from collections.abc import Iterable, Sequence

from snapshots import quantities
from snapshots.domain.answering.sentences import CHECKPOINT, Evidence
from snapshots.domain.answering.upload_summary import Point
from snapshots.domain.archive.causes import NOT_KNOWN
from snapshots.domain.model.listing import listed

MOST_NAMED = 3  # subtasks, pairs or reasons in a sentence
MOST_NUMBERED = 10  # checkpoints of one reason


def moment(at: int | None) -> str:
    """Return `` (2026-11-20 10:09:06.004 UTC)``; empty for an instant that is not known."""
    return "" if at is None else f" ({quantities.epoch(at)})"


def span(milliseconds: int) -> str:
    """Return a duration in the largest unit that fits, such as ``17.5 s``."""
    return quantities.duration(milliseconds, "ms")


def size(count: int) -> str:
    """Return a size, such as ``12.4 kB``."""
    return quantities.file_size(count)


def percent(share: float) -> str:
    """Return a share in whole percent."""
    return f"{share * 100:.0f} %"


def begun(text: str) -> str:
    """Return a text with a capital as its first letter."""
    return text[:1].upper() + text[1:]


def named(point: Point) -> str:
    """Return a checkpoint as a sentence calls it: ``savepoint 3``."""
    return f"{point.item.kind} {point.item.id}"


def to_checkpoint(point: Point) -> Evidence:
    """Return the link to a checkpoint's place in the inventory."""
    return Evidence(CHECKPOINT, begun(named(point)), number=point.number)


def tally(counts: Counter[str]) -> str:
    """Say how often each is counted, the most first: ``a in 7; b and c in 1 each``."""
    by_count: dict[int, list[str]] = {}
    for name, count in counts.items():
        by_count.setdefault(count, []).append(name)
    parts = [
        f"{listed(names, MOST_NAMED)} in {count:,}{' each' if len(names) > 1 else ''}"
        for count, names in sorted(by_count.items(), reverse=True)
    ]
    return listed_parts(parts)


def listed_parts(parts: list[str]) -> str:
    """Join parts that have commas of their own; of many the first are told."""
    more = len(parts) - MOST_NAMED
    return "; ".join([*parts[:MOST_NAMED], *([f"{more:,} more"] if more > 0 else ())])


def quoted_reasons(reasons: Iterable[tuple[str, int]]) -> str:
    """Quote each reason with the checkpoints that had it, the most frequent first.

    Args:
        reasons: for each checkpoint the reason and the checkpoint's number; a single checkpoint is
            not named again.
    """
    numbers: dict[str, list[int]] = {}
    for reason, number in reasons:
        numbers.setdefault(reason, []).append(number)
    if sum(map(len, numbers.values())) == 1:
        return f"“{next(iter(numbers))}”"
    by_count = sorted(numbers.items(), key=lambda item: -len(item[1]))
    named_reasons = [
        f"{'none given' if reason == NOT_KNOWN else f'“{reason}”'} ({_those(own)})"
        for reason, own in by_count
    ]
    return listed(named_reasons, MOST_NAMED)


def _those(numbers: Sequence[int]) -> str:
    """Name checkpoints and count them: ``4 checkpoints: 2, 6, 10 and 14``."""
    if len(numbers) == 1:
        return f"checkpoint {numbers[0]}"
    names = listed(list(map(str, numbers)), MOST_NUMBERED)
    return f"{len(numbers):,} checkpoints: {names}"
