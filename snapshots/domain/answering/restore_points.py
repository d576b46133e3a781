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
from snapshots.domain.inventory.model import (
    COMPLETED,
    WHOLE,
    ChannelContents,
    CheckpointInventory,
)
from snapshots.domain.inventory.restore_check import NOT_KNOWN as UNKNOWN
from snapshots.domain.model.defects import times
from snapshots.domain.model.listing import listed

MOST_TRIED = 100  # checkpoints whose details are read


def restorable(points: Sequence[Point], detail: Detail, *, is_one_job: bool) -> Sentence:
    """Name the newest checkpoint whose files are all in the upload, and what newer ones lack.

    ``is_one_job``: whether the points are known to be of one job.
    """
    completed = [point for point in points if point.item.status == COMPLETED]
    if not completed:
        return Sentence(
            "restorable", "There is no point to restore from: no checkpoint completed.", WRONG
        )
    passed: list[Point] = []
    for point in completed[: -MOST_TRIED - 1 : -1]:
        if not any(_lacks(point, detail)):
            alike = [] if is_one_job else _whole_with_number_of(point, completed, detail)
            return _alike(alike) if alike else _restorable(point, passed, detail)
        passed.append(point)
    first = passed[0]
    reasons = " ".join(_lacks(first, detail))
    return Sentence(
        "restorable",
        f"{_none(passed)} The newest is {named(first)}. {reasons}",
        NOT_KNOWN,
        (to_checkpoint(first),),
    )


def _whole_with_number_of(point: Point, points: Sequence[Point], detail: Detail) -> list[Point]:
    """Return all whole points that have a point's number; none if it is the only one."""
    same = [other for other in points if other.item.id == point.item.id]
    whole = [other for other in same if other is point or not any(_lacks(other, detail))]
    return whole if len(whole) > 1 else []


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
        count = len(passed) - 1
        more = (
            f" {times(count, 'checkpoint')} between the two also {_lack(count)}." if count else ""
        )
        text += f" {begun(named(newer))} is newer. {' '.join(_lacks(newer, detail))}{more}"
    level = WATCH if any(newer.item.path is not None for newer in passed) else WELL
    evidence = (to_checkpoint(point), *map(to_checkpoint, passed[:1]))
    return Sentence("restorable", text, level, evidence)


def _alike(points: list[Point]) -> Sentence:
    """Name points with one number: nothing tells which is the newest, or whether of one job."""
    folders = list(map(_in_its_folder, points))
    both = "Both" if len(points) == 2 else "All"
    text = (
        f"{begun(listed(folders, MOST_NAMED))} have all their files in the upload. {both} have "
        f"number {points[0].item.id}, so that nothing tells which is the newest, or whether they "
        "are of one job."
    )
    return Sentence("restorable", text, WELL, tuple(map(to_checkpoint, points[:MOST_NAMED])))


def _in_its_folder(point: Point) -> str:
    """Return a checkpoint as a sentence calls it where others have its number."""
    return f"the {point.item.kind} in {point.item.path or 'the root'}"


def _lacks(point: Point, detail: Detail) -> Iterator[str]:
    """Yield why it is not known that a completed checkpoint can be restored."""
    item = point.item
    if item.path is None:
        yield "Its files are not in the upload."
    elif item.problem is not None:
        yield item.problem
    elif item.missing:
        first = detail(point.number).missing[0]
        count = f"{times(item.missing, 'file')} that it needs {_are(item.missing)}"
        yield f"{count} not there as a whole. The first is {first.path}: {first.reason}"
    elif point.completeness is not None:
        if gap := point.completeness.gap():
            yield gap
    elif damaged := list(_incomplete(detail(point.number))):
        yield f"The entries of {listed(damaged, MOST_NAMED)} could not all be read."


def _none(passed: list[Point]) -> str:
    """Say that no checkpoint is whole, or that no one is known to be."""
    if any(_may_be_whole(point) for point in passed):
        return "No checkpoint is known to have all that a restore reads in the upload."
    return "No checkpoint has all its files in the upload."


def _may_be_whole(point: Point) -> bool:
    has_files = point.item.path is not None and not point.item.missing
    return has_files and point.completeness is not None and point.completeness.answer == UNKNOWN


def _incomplete(checkpoint: CheckpointInventory) -> Iterator[str]:
    for operator in checkpoint.operators:
        for state in operator.states:
            if not state.complete:
                yield f"{operator.name or operator.id} ({state.name})"


def _lack(count: int) -> str:
    return "lacks something" if count == 1 else "lack something"


def _are(count: int) -> str:
    return "is" if count == 1 else "are"


def in_flight(
    points: Sequence[Point], detail: Detail, stored: int | None = None, *, is_one_job: bool
) -> Iterator[Sentence]:
    """Say what was in flight at the newest completed checkpoint, and where; nothing without one.

    Of several with its number, which may be of different jobs, each is told.

    ``stored``: the bytes in flight that the engine says it stored for it.
    ``is_one_job``: whether the points are known to be of one job.
    """
    point = newest(points, COMPLETED)
    if point is None:
        return
    completed = [other for other in points if other.item.status == COMPLETED]
    same = [other for other in completed if other.item.id == point.item.id]
    if is_one_job or len(same) == 1:
        yield _in_flight(point, named(point), detail(point.number), stored)
        return
    for one in same[:MOST_NAMED]:
        yield _in_flight(one, _in_its_folder(one), detail(one.number), None)


def _in_flight(
    point: Point, called: str, checkpoint: CheckpointInventory, stored: int | None
) -> Sentence:
    evidence = (to_checkpoint(point),)
    channels = checkpoint.channels
    partial = [channel for channel in channels if not _is_whole(channel)]
    if partial and not any(channel.bytes for channel in channels):
        text = f"What was in flight at {called} is not known. {partial[0].reason}"
        return Sentence("in-flight", f"{text}{_stored(stored)}", NOT_KNOWN, evidence)
    if channels:
        text = _contents(called, channels)
        if partial:
            count = times(len(partial), "channel")
            text = f"At least {text} Not all of {count} is known. {partial[0].reason}"
        return Sentence("in-flight", text, NOT_KNOWN if partial else FACT, evidence)
    if checkpoint.why_unknown is not None or checkpoint.why_empty is None:
        reason = checkpoint.why_unknown or "The files do not say what was in flight."
        text = f"What was in flight at {called} is not known. {reason}"
        return Sentence("in-flight", f"{text}{_stored(stored)}", NOT_KNOWN, evidence)
    text = f"Nothing was in flight at {called}. {checkpoint.why_empty}"
    return Sentence("in-flight", text, FACT, evidence)


def _stored(stored: int | None) -> str:
    return f" The engine says that it stored {size(stored)} of data in flight." if stored else ""


def _contents(called: str, channels: Sequence[ChannelContents]) -> str:
    total = sum(channel.bytes or 0 for channel in channels)
    counts = [channel.elements for channel in channels]
    numbers = [count for count in counts if count is not None]
    elements = f" ({times(sum(numbers), 'element')})" if len(numbers) == len(counts) else ""
    text = (
        f"{size(total)}{elements} {'was' if total == 1 else 'were'} in flight at {called}, "
        f"in {_counted(channels)}"
    )
    parts = [f"{size(amount)} {edge}" for edge, amount in _by_edge(channels).most_common()]
    return f"{text}: {listed(parts, MOST_NAMED)}."


def _counted(channels: Sequence[ChannelContents]) -> str:
    if all(channel.part == WHOLE for channel in channels):
        return times(len(channels), "channel")
    return times(len(channels), "half of a channel", "halves of channels")


def _is_whole(channel: ChannelContents) -> bool:
    """Tell whether all data of a stored channel is known.

    Of half a channel the reason says why its other end is not known; its data are whole unless
    their size is not known.
    """
    return channel.bytes is not None and (channel.reason is None or channel.part != WHOLE)


def _by_edge(channels: Iterable[ChannelContents]) -> Counter[str]:
    """Add up the bytes by edge; where only one end is known, by what lies behind or before it."""
    amounts: Counter[str] = Counter()
    for channel in channels:
        source, target = vertex_of(channel.source), vertex_of(channel.target)
        if source and target:
            edge = f"from {source} to {target}"
        elif source:
            edge = f"behind {source}"
        else:
            edge = f"before {target}" if target else "at tasks that are not known"
        amounts[edge] += channel.bytes or 0
    return amounts
