"""The first answer to a checkpoint directory of Spark's: the last batch, and what a restart does.

A batch that was planned and not committed is in flight. The upload says what it was to read, and
often how far it came. Progress reports say where its time went.
"""

from collections.abc import Iterator, Sequence
from itertools import chain, islice, pairwise

from snapshots.domain.answering.sentences import (
    ALL_TIMES,
    CONTENTS,
    FACT,
    NOT_KNOWN,
    WATCH,
    WELL,
    WRONG,
    Evidence,
    Sentence,
    Subject,
)
from snapshots.domain.answering.upload_summary import Point, UploadSummary, newest
from snapshots.domain.answering.wording import begun, moment, named, size, span, to_checkpoint
from snapshots.domain.inventory.batches import PlannedBatch, spans_text
from snapshots.domain.inventory.model import (
    AHEAD,
    COMPLETED,
    IN_PROGRESS,
    PROCESSING,
    TO_WATCH,
    WENT_WRONG,
    Flaw,
    JobInventory,
)
from snapshots.domain.inventory.spark_plan import EPOCH, UPLOAD_ITSELF
from snapshots.domain.model.defects import times
from snapshots.domain.model.listing import listed

MOST_FILES = 3  # that a sentence names
MOST_GAPS = 10_000  # batches of which no file is there, of those that are named
MOST_SHOWN = 3  # of what the logs show
_WHOLE = "triggerExecution"  # the phase that holds all others
_FILES = (Evidence(CONTENTS, "Batches and files"),)
_UNSURE = "Whether a restart can go on is not known, because files are damaged or missing."
_WITHOUT_STATE = (
    "A restart goes on if the query keeps no state: all that such a query needs is there."
)
_CONTINUOUS = (
    "A restart begins at the offsets of the last epoch that was committed, and reads what came "
    "after it again."
)
_UNLESS = ", unless the query runs in real-time mode, which its files do not tell"
_HAD_ENDED = (
    "If the query runs in real-time mode, which its files do not tell, the batch had read all of "
    "this and was about to be committed."
)
_PROGRESS = "print(json.dumps(query.lastProgress))  # a line for each batch, into progress.jsonl"


def subject(summary: UploadSummary, job: JobInventory) -> Subject:
    """Return the sentences about one query."""
    points, flaws = summary.of_job(job.key), _flaws(summary, job)
    doubt = _doubt(points[-1], is_damaged=bool(flaws)) if points else None
    comes_first = doubt is not None and (doubt.level == WRONG or bool(flaws))
    sentences = [
        *([doubt] if doubt is not None and comes_first else ()),
        *_damage(flaws, summary, can_restart=bool(points) and doubt is None),
        *_shown(job),
        *_last_batch(points, doubt, job),
        *([doubt] if doubt is not None and not comes_first else ()),
        *_in_flight(points),
        *_state(points, is_damaged=bool(flaws)),
        *_time(points, has_reports=_has_reports(job)),
    ]
    return Subject(job.key, job.name, tuple(sentences))


def _is_ahead(job: JobInventory) -> bool:
    """Tell whether there is state of a batch after the last one that the logs have."""
    return any(fact.name == AHEAD for fact in job.facts)


def _may_be_real_time(job: JobInventory) -> bool:
    """Tell whether the files leave open if the query runs in real-time mode."""
    return any(fact.name == PROCESSING and fact.value is None for fact in job.facts)


def _shown(job: JobInventory) -> Iterator[Sentence]:
    """Say what the logs show besides the last batch: what went wrong, then what to watch."""
    levels = {WENT_WRONG: WRONG, AHEAD: WATCH, TO_WATCH: WATCH}
    shown = [(levels[fact.name], str(fact.value)) for fact in job.facts if fact.name in levels]
    if not shown:
        return
    level = WRONG if WRONG in dict(shown) else WATCH
    yield Sentence("shown", " ".join(text for _, text in shown[:MOST_SHOWN]), level, _FILES)


def _flaws(summary: UploadSummary, job: JobInventory) -> list[Flaw]:
    """Return the flaws of the query's own folder."""
    if len(summary.jobs) == 1:
        return list(summary.flaws)
    own = _prefix(job)
    inner = [one for other in summary.jobs if (one := _prefix(other)) != own]
    deeper = tuple(one for one in inner if one.startswith(own))
    return [
        flaw
        for flaw in summary.flaws
        if flaw.path.startswith(own) and not (deeper and flaw.path.startswith(deeper))
    ]


def _prefix(job: JobInventory) -> str:
    """Return how the paths of a query's files begin; empty for the upload itself."""
    folder = next((fact.value for fact in job.facts if fact.name == "folder"), None)
    return "" if folder == UPLOAD_ITSELF else f"{folder}/"


def _damage(flaws: list[Flaw], summary: UploadSummary, *, can_restart: bool) -> Iterator[Sentence]:
    """Name the most serious damaged or missing file, count the others, and say what needs them."""
    if not flaws:
        return
    first = flaws[0]
    more = (summary.flaws_total if len(summary.jobs) == 1 else len(flaws)) - 1
    others = f" {times(more, 'more file')} {_are(more)} damaged or missing." if more else ""
    spoils = f" It spoils {first.spoils}." if first.spoils else ""
    needless = " A restart goes on all the same." if can_restart else ""
    text = f"Damaged or missing: {first.path}. {first.what}{spoils}{others}{needless}"
    yield Sentence("damage", text, WRONG, _FILES)


def _doubt(last: Point, *, is_damaged: bool) -> Sentence | None:
    """Say why it is not known that a restart can go on, as the check of the files has it."""
    whole = last.completeness
    if whole is None:  # an older release read the upload
        return Sentence("restart", _UNSURE, NOT_KNOWN, _FILES) if is_damaged else None
    if not whole.reasons:
        return None
    links = (to_checkpoint(last), *_FILES)
    if whole.witnesses:
        text = f"A restart cannot go on from these files. {whole.gap()}"
        return Sentence("restart", text, WRONG, links)
    text = f"Whether a restart can go on is not known. {whole.gap()}"
    if whole.reasons == (last.item.why_state_unknown,):
        text = f"{_WITHOUT_STATE} {last.item.why_state_unknown}"
    return Sentence("restart", text, NOT_KNOWN, links)


def _last_batch(
    points: Sequence[Point], doubt: Sentence | None, job: JobInventory
) -> Iterator[Sentence]:
    """Say whether the last batch was committed, and what a restart does.

    Args:
        doubt: why it is not known that a restart can go on; None if it can.
    """
    if not points:
        yield Sentence(
            "last-batch", "The upload names no batch, so nothing tells how far it came.", NOT_KNOWN
        )
        return
    last = points[-1]
    if last.item.status == COMPLETED:
        yield _all_committed(points, last, job, can_restart=doubt is None)
    elif last.item.status == IN_PROGRESS:
        yield from _not_committed(last, job, can_restart=doubt is None)
    else:
        reason = last.item.problem or "The files do not say."
        text = f"Whether {named(last)}, the last one, was committed is not known. {reason}"
        yield Sentence("last-batch", text, NOT_KNOWN, (to_checkpoint(last),))


def _all_committed(
    points: Sequence[Point], last: Point, job: JobInventory, *, can_restart: bool
) -> Sentence:
    unsure = [point for point in points if point.item.status != COMPLETED]
    first = points[0].item.id
    text = f"{begun(named(last))}, the last one, was committed{moment(last.item.completed_at)}"
    if unsure:
        ids = spans_text(point.item.id for point in unsure)
        text = f"{text}; of {ids} that is not known. {unsure[0].item.problem or ''}".rstrip()
        return Sentence("last-batch", _ended(text), WATCH, (to_checkpoint(last), *_FILES))
    gaps = _gaps(points)
    if len(points) > 1 and not gaps:
        text = f"{text}, and so were all before it from {first} on"
    is_continuous = last.item.why_empty is None
    if is_continuous or _is_ahead(job):
        text = f"{text}. What was in flight behind it is not known."
        if is_continuous:
            text = f"{text} {last.item.why_unknown or 'The files do not say.'}"
    else:
        unless = _UNLESS if _may_be_real_time(job) else ""
        text = f"{text}: nothing was in flight{unless}."
    if can_restart:
        text = f"{text} {_CONTINUOUS if is_continuous else 'A restart goes on behind it.'}"
    if gaps:
        whose, them = ("batch", "it") if len(gaps) == 1 else ("batches", "them")
        text = (
            f"{text} Of {whose} {spans_text(gaps)} that is not known: no file of {them} is there."
        )
    return Sentence("last-batch", text, WELL if can_restart else FACT, (to_checkpoint(last),))


def _gaps(points: Sequence[Point]) -> list[int]:
    """Return the batches between those that are there, at most MOST_GAPS of them."""
    ids = sorted(point.item.id for point in points)
    between = (range(one + 1, two) for one, two in pairwise(ids))
    return list(islice(chain.from_iterable(between), MOST_GAPS))


def _not_committed(last: Point, job: JobInventory, *, can_restart: bool) -> Iterator[Sentence]:
    planned = last.item.planned
    done = f"was planned{moment(last.item.triggered_at)} and"
    if last.item.kind == EPOCH:
        done = "ended at every reader and was"
    text = f"{begun(named(last))}, the last one, {done} not committed."
    link = (to_checkpoint(last),)
    if planned is None:
        notes = " ".join(last.item.notes)
        yield Sentence("last-batch", f"{text} {notes}".rstrip(), WATCH, link)
        return
    text = f"{text} {_how_far(planned)}"
    lacks_state = any(state.lacking for state in planned.written)
    if _may_be_real_time(job) and not _is_ahead(job) and not lacks_state:
        text = f"{text} {_HAD_ENDED}"
    yield Sentence("last-batch", text, WATCH, link)
    if can_restart:
        yield Sentence("restart", planned.restart, FACT, link)


def _how_far(planned: PlannedBatch) -> str:
    """Return how far the batch came, with the partitions of each operator that wrote its state."""
    partial = [
        f"of {state.operator} partitions {state.wrote_text} did, {state.lacking_text} did not"
        for state in planned.written
        if state.wrote and state.lacking
    ]
    whole = [state.operator for state in planned.written if not state.lacking]
    bare = [state.operator for state in planned.written if not state.wrote]
    if not partial and whole and bare:
        partial = [f"all of {listed(whole)} did, none of {listed(bare)}"]
    if not partial:
        return planned.how_far
    return f"{planned.how_far} {begun('; '.join(partial))}."


def _in_flight(points: Sequence[Point]) -> Iterator[Sentence]:
    """Say what the newest batch in flight was to read, and how many others were in flight."""
    batches = [(point, point.item.planned) for point in points if point.item.planned is not None]
    if not batches:
        return
    point, planned = batches[-1]
    if point.item.kind == EPOCH:
        yield _epoch_in_flight(point, others=len(batches) - 1)
        return
    amount, level = _nothing_new(point, planned) or _amount(point, planned), FACT
    if amount is None:
        amount = f"{begun(named(point))} was in flight; how many rows it was to read is not known."
        level = NOT_KNOWN
    more = len(batches) - 1
    were = "was" if more == 1 else "were"
    others = f" {times(more, 'earlier batch', 'earlier batches')} {were} in flight, too."
    text = f"{amount}{others if more else ''}"
    yield Sentence("in-flight", text, level, (to_checkpoint(point),))


def _epoch_in_flight(point: Point, *, others: int) -> Sentence:
    """Say what an epoch without a commit is: it has been read, unlike a batch that was planned."""
    text = (
        f"What the readers had read in {named(point)} counts only when it is committed; the "
        "number of these rows is not known."
    )
    if others:
        text = f"{text} {times(others, 'earlier epoch')} had ended without a commit, too."
    return Sentence("in-flight", text, NOT_KNOWN, (to_checkpoint(point),))


def _nothing_new(point: Point, planned: PlannedBatch) -> str | None:
    """Say that a batch reads nothing, since no offset moves; None if that is not so."""
    sources = planned.sources
    if not sources or not all(one.start_known and one.start == one.end for one in sources):
        return None
    were = "the offset of its source is that" if len(sources) == 1 else "its offsets are those"
    return f"{begun(named(point))} was in flight and reads nothing new: {were} of the batch before."


def _amount(point: Point, planned: PlannedBatch) -> str | None:
    """Return a sentence about what a batch was to read; None if that is not known."""
    if planned.rows == 0:
        return f"{begun(named(point))} was in flight, and had no rows to read."
    amounts = [
        *([times(planned.rows, "row")] if planned.rows is not None else ()),
        *([_files(planned)] if planned.files is not None else ()),
    ]
    spans = [source.offsets for source in planned.sources if source.offsets is not None]
    if not amounts and spans and len(spans) == len(planned.sources):
        amounts = [times(sum(spans), "offset")]
    if not amounts:
        return None
    origin = f"from {times(len(planned.sources), 'source')}"
    return f"{begun(named(point))} was in flight: it was to read {' in '.join(amounts)} {origin}."


def _files(planned: PlannedBatch) -> str:
    """Return how many files a batch was to read, with their names if these are few."""
    names = [name for source in planned.sources for name in source.files]
    count = times(planned.files or 0, "file")
    if not names or len(names) > MOST_FILES or len(names) != planned.files:
        return count
    return f"{count} ({', '.join(names)})"


def _state(points: Sequence[Point], *, is_damaged: bool) -> Iterator[Sentence]:
    """Say how much state there is after the last committed batch, and whether it is all there."""
    last = newest(points, COMPLETED)
    if last is None:
        if points:
            noun = "epoch" if points[-1].item.kind == EPOCH else "batch"
            yield Sentence("restorable", f"No {noun} is known to be committed.", WATCH, _FILES)
        return
    item, link = last.item, (to_checkpoint(last),)
    if item.missing:
        text = (
            f"The state after {named(last)} cannot be put together: "
            f"{times(item.missing, 'file')} that it needs {_are(item.missing)} not in the upload."
        )
        yield Sentence("restorable", text, WRONG, link)
        return
    if item.missing is None:
        text = f"Which state belongs to {named(last)} is not known. {item.problem or ''}".rstrip()
        yield Sentence("restorable", text, NOT_KNOWN, (*link, *_FILES))
        return
    if not item.operators:
        yield _no_state(last)
        return
    if item.bytes is None:
        text = f"The size of the state after {named(last)} is not known."
        yield Sentence("restorable", text, NOT_KNOWN, link)
        return
    amount = f"The state after {named(last)} is {size(item.bytes)} in "
    amount += times(item.operators, "operator")
    gap = None if last.completeness is None else last.completeness.gap()
    if gap is not None:
        text = f"{amount}. Not all that a restart after it reads is known to be whole. {gap}"
        yield Sentence("restorable", text, NOT_KNOWN, (*link, *_FILES))
    elif is_damaged and last.completeness is None:
        text = f"{amount}. Whether all of it can be read is not known: see the damaged files."
        yield Sentence("restorable", text, NOT_KNOWN, (*link, *_FILES))
    else:
        whole = "all of it is there" if is_damaged else "no file of it is missing"
        yield Sentence("restorable", f"{amount}, and {whole}.", WELL, link)


def _no_state(last: Point) -> Sentence:
    """Say that the query keeps no state, or why it is not known which state it has."""
    if reason := last.item.why_state_unknown:
        text = f"Which state belongs to {named(last)} is not known. {reason}"
        return Sentence("restorable", text, NOT_KNOWN, _FILES)
    if last.completeness is None:  # an older release read the upload
        text = (
            "The upload holds no state: either the query keeps none, or its folder state was not "
            "uploaded."
        )
        return Sentence("restorable", text, NOT_KNOWN, _FILES)
    return Sentence(
        "restorable", "The query keeps no state, so a restart needs none.", FACT, _FILES
    )


def _has_reports(job: JobInventory) -> bool:
    """Tell whether progress reports tell of batches of which the logs have no file."""
    shown = (str(fact.value) for fact in job.facts if fact.name == TO_WATCH)
    return any(one.startswith("Progress reports say") for one in shown)


def _time(points: Sequence[Point], *, has_reports: bool) -> Iterator[Sentence]:
    """Name the slowest batch and where its time went, by the progress reports."""
    timed = [(_took(point), point) for point in points if point.item.phases]
    if not timed and has_reports:
        text = "How long these batches took is not known: no progress report is about one of them."
        yield Sentence("slowest", text, NOT_KNOWN)
        return
    if not timed:
        text = "How long batches took is not known: the upload has no progress reports."
        yield Sentence("slowest", text, NOT_KNOWN, upload=(_PROGRESS,))
        return
    took, slow = max(timed, key=lambda pair: pair[0])
    parts = {name: ms for name, ms in slow.item.phases.items() if name != _WHOLE}
    phase = max(parts, key=lambda name: parts[name], default="")
    where = f", {span(parts[phase])} of it in {phase}" if phase and parts[phase] else ""
    count = f"the slowest of {len(timed):,}" if len(timed) > 1 else "the only one"
    text = f"{begun(named(slow))}, {count} with a report, took {span(took)}{where}."
    yield Sentence("slowest", text, FACT, (Evidence(ALL_TIMES, "Times of all batches"),))


def _took(point: Point) -> int:
    phases = point.item.phases
    return phases.get(_WHOLE, sum(phases.values()))


def _are(count: int) -> str:
    return "is" if count == 1 else "are"


def _ended(text: str) -> str:
    return text if text.endswith(".") else f"{text}."
