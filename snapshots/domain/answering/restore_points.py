"""Finds the newest point from which a job can be restored, and what was in flight there."""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence

from snapshots.domain.answering.sentences import (
    FACT,
    NOT_KNOWN,
    WATCH,
    WELL,
    WRONG,
    Sentence,
)
from snapshots.domain.answering.upload_summary import Detail, Point, newest
from snapshots.domain.answering.wording import MOST_NAMED, begun, moment, named, size, to_checkpoint
from snapshots.domain.inventory.in_flight_plan import vertex_of
from snapshots.domain.inventory.model import COMPLETED, ChannelContents, CheckpointInventory
from snapshots.domain.model.defects import times
from snapshots.domain.model.listing import listed

MOST_TRIED = 100  # checkpoints whose details are read


def restorable(points: Sequence[Point], detail: Detail) -> Sentence:
    """Name the newest checkpoint whose files are all in the upload, and what newer ones lack."""
    completed = [point for point in points if point.item.status == COMPLETED]
    if not completed:
        return Sentence(
            "restorable", "There is no point to restore from: no checkpoint completed.", WRONG
        )
    passed: list[Point] = []
    for point in completed[: -MOST_TRIED - 1 : -1]:
        if not any(_lacks(point, detail)):
            return _restorable(point, passed, detail)
        passed.append(point)
    first = passed[0]
    reasons = " ".join(_lacks(first, detail))
    return Sentence(
        "restorable",
        f"No checkpoint has all its files in the upload. The newest is {named(first)}: {reasons}",
        NOT_KNOWN,
        (to_checkpoint(first),),
    )


def _restorable(point: Point, passed: list[Point], detail: Detail) -> Sentence:
    item = point.item
    about = [*([size(item.bytes)] if item.bytes is not None else ())]
    about += [times(item.operators, "operator")] if item.operators else []
    text = (
        f"The newest point with all its files in the upload is {named(point)}"
        f"{moment(item.completed_at)}: {', '.join(about)}."
    )
    if passed:
        newer = passed[0]
        more = f" So are {len(passed) - 1:,} more." if len(passed) > 1 else ""
        text += f" {begun(named(newer))} is newer: {' '.join(_lacks(newer, detail))}{more}"
    level = WATCH if any(newer.item.path is not None for newer in passed) else WELL
    evidence = (to_checkpoint(point), *map(to_checkpoint, passed[:1]))
    return Sentence("restorable", text, level, evidence)


def _lacks(point: Point, detail: Detail) -> Iterator[str]:
    """Yield why it is not known that a completed checkpoint can be restored."""
    item = point.item
    if item.path is None:
        yield "its files are not in the upload."
    elif item.problem is not None:
        yield item.problem
    elif item.missing:
        yield f"{times(item.missing, 'file')} that it needs {_are(item.missing)} not in the upload."
    elif damaged := list(_incomplete(detail(point.number))):
        yield f"the entries of {listed(damaged, MOST_NAMED)} could not all be read."


def _incomplete(checkpoint: CheckpointInventory) -> Iterator[str]:
    for operator in checkpoint.operators:
        for state in operator.states:
            if not state.complete:
                yield f"{operator.name or operator.id} ({state.name})"


def _are(count: int) -> str:
    return "is" if count == 1 else "are"


def in_flight(
    points: Sequence[Point], detail: Detail, stored: int | None = None
) -> Sentence | None:
    """Say what was in flight at the newest completed checkpoint, and where; None without one.

    ``stored``: the bytes in flight that the engine says it stored for it.
    """
    point = newest(points, COMPLETED)
    if point is None:
        return None
    checkpoint = detail(point.number)
    evidence = (to_checkpoint(point),)
    channels = checkpoint.channels
    if any(channel.reason and not channel.bytes for channel in channels):
        reason = next(channel.reason for channel in channels if channel.reason)
        text = f"What was in flight at {named(point)} is not known. {reason}"
        return Sentence("in-flight", f"{text}{_stored(stored)}", NOT_KNOWN, evidence)
    if channels:
        return Sentence("in-flight", _contents(point, channels), FACT, evidence)
    if checkpoint.why_unknown is not None or checkpoint.why_empty is None:
        reason = checkpoint.why_unknown or "The files do not say what was in flight."
        text = f"What was in flight at {named(point)} is not known. {reason}"
        return Sentence("in-flight", f"{text}{_stored(stored)}", NOT_KNOWN, evidence)
    text = f"Nothing was in flight at {named(point)}. {checkpoint.why_empty}"
    return Sentence("in-flight", text, FACT, evidence)


def _stored(stored: int | None) -> str:
    return f" The engine says that it stored {size(stored)} of data in flight." if stored else ""


def _contents(point: Point, channels: Sequence[ChannelContents]) -> str:
    total = sum(channel.bytes for channel in channels)
    counts = [channel.elements for channel in channels]
    known = [count for count in counts if count is not None]
    elements = f" ({times(sum(known), 'element')})" if len(known) == len(counts) else ""
    text = (
        f"{size(total)}{elements} {'was' if total == 1 else 'were'} in flight at {named(point)}, "
        f"in {times(len(channels), 'channel')}"
    )
    where = _by_edge(channels)
    if where is None:
        return f"{text}; the files do not say between which tasks."
    parts = [f"{size(amount)} from {edge}" for edge, amount in where.most_common()]
    return f"{text}: {listed(parts, MOST_NAMED)}."


def _by_edge(channels: Iterable[ChannelContents]) -> Counter[str] | None:
    """Add up the bytes by edge; None if some channel's ends are not known."""
    amounts: Counter[str] = Counter()
    for channel in channels:
        source, target = (
            vertex_of(end) if end else None for end in (channel.source, channel.target)
        )
        if source is None or target is None:
            return None
        amounts[f"{source} to {target}"] += channel.bytes
    return amounts
