"""Words what failures did at one sink, by the kind of the sink."""

from snapshots.domain.dataflow_logs.dataflow import IDEMPOTENT, PLAIN, TWO_PHASE
from snapshots.domain.dataflow_logs.failovers.report import SinkEffect
from snapshots.domain.model.defects import times

_SHOWS = {
    PLAIN: "shows every write",
    IDEMPOTENT: "puts a repeated write in the place of the first",
    TWO_PHASE: "shows what has been committed",
}
_COMMITTING = {
    "committer": "shows what its committer has committed",
    "writer": "shows what each writer has committed by itself",
}


def sink_sentence(effect: SinkEffect, *, has_ended: bool) -> str:
    """Summarise an effect in a few sentences.

    Args:
        has_ended: whether no more records will come, so that what is missing is lost.
    """
    parts = [
        f"{effect.sink} {_shows(effect)}: {_repeated(effect)}.",
        _skipped(effect),
        _recovered(effect),
        _given_up(effect),
        _lost(effect, has_ended=has_ended),
    ]
    return " ".join(part for part in parts if part)


def _shows(effect: SinkEffect) -> str:
    if effect.kind is None:
        return "is of a kind that the log does not tell"
    return _COMMITTING.get(effect.committed_by or "", _SHOWS[effect.kind])


def _repeated(effect: SinkEffect) -> str:
    if not effect.repeated:
        return "no record was written again"
    text = f"{times(effect.repeated, 'record')} {_was(effect.repeated)} written again"
    twice = effect.duplicates
    if not twice:
        return f"{text}, and none is there twice"
    return f"{text}, and {times(twice, 'record')} {_is(twice)} there twice"


def _skipped(effect: SinkEffect) -> str:
    number, other = effect.skipped, effect.skipped_differing
    if not number:
        return ""
    text = f"{times(number, 'record')} came again and {_was(number)} skipped"
    if other:
        text += f", {other:,} of them with another value than the one that is there"
    return f"{text}."


def _recovered(effect: SinkEffect) -> str:
    number = effect.recovered
    if not number:
        return ""
    return (
        f"The restart committed {times(number, 'transaction')} that the checkpoint lists and that "
        "nothing had committed before."
    )


def _given_up(effect: SinkEffect) -> str:
    if not effect.aborted:
        return ""
    text = f"{times(effect.aborted, 'transaction')} {_was(effect.aborted)} given up"
    number = effect.forgotten
    if not number:
        return f"{text}."
    whose, them = ("its checkpoint", "it") if number == 1 else ("their checkpoint", "them")
    which = "" if number == effect.aborted else f" {number:,} of them"
    return f"{text},{which} although {whose} had completed: the restart did not commit {them}."


def _lost(effect: SinkEffect, *, has_ended: bool) -> str:
    number = effect.lost
    if has_ended:
        none = "Of the records that reached it, none is lost."
        return f"{times(number, 'record')} {_is(number)} lost." if number else none
    unknown = "is not known, because the log ends before all input was read."
    if not number:
        return f"Whether a record is lost {unknown}"
    return f"{times(number, 'record')} {_is(number)} lost; whether more are {unknown}"


def _was(number: int) -> str:
    return "was" if number == 1 else "were"


def _is(number: int) -> str:
    return "is" if number == 1 else "are"
