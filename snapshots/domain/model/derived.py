"""Recordings that are derived from an engine's checkpoints: what they tell, and what they cannot.

An engine keeps no log. The header of a recording that its files and statistics were made into says
``derived``; ``why_empty`` and ``why_unknown`` say why channels of a snapshot are known to be empty,
or not known: one of the words below, or an object of such words by snapshot; ``epoch`` is the
moment of its instant 0, in milliseconds since 1970. ``flaws`` says what is damaged, missing or
ahead: ``sentences``, and by snapshot the places of those that hold of it.

What such a recording recomputes comes from the files that say what was recorded. That both are
equal shows nothing; so none of its snapshots is consistent. That they differ does count.
"""

from collections.abc import Iterator, Mapping

from snapshots.domain.judging.findings import UNKNOWN, Finding

ALIGNED, AT_LEAST_ONCE, NO_BUFFERS = "aligned", "at-least-once", "no-buffers"
NOTHING_PERSISTED, NEVER_STORED, DRAINED = "nothing-persisted", "never-stored", "drained"
NOT_COMPLETED, NO_FILES = "not-completed", "no-files"
NOT_JOINED, NOT_TOLD = "not-joined", "not-told"

WHY_EMPTY = {
    ALIGNED: "The checkpoint was aligned: each subtask recorded when the barrier had come on all "
    "of its inputs, and had taken in everything before it by then.",
    AT_LEAST_ONCE: "Each subtask recorded when the barrier had come on all of its inputs, and had "
    "taken in everything before it by then (and, at least once, some of what came after it).",
    NO_BUFFERS: "The files of the checkpoint hold what was in flight, and nothing of these "
    "channels.",
    NOTHING_PERSISTED: "The REST API says that nothing in flight was kept.",
    NEVER_STORED: "On forward, rescale and broadcast edges nothing is ever kept in flight.",
    DRAINED: "A batch is complete only when its tasks have taken in all that was sent to them.",
}
WHY_UNKNOWN = {
    NOT_COMPLETED: "Of a checkpoint that did not complete nothing in flight is kept.",
    NO_FILES: "The checkpoint was unaligned, and its files are not in the upload.",
    NOT_JOINED: "The files do not tell between which subtasks the data lay.",
    NOT_TOLD: "The files do not tell what was in flight.",
}
ABOUT = (
    "Derived: the engine keeps no log of its events. This recording is put together from its "
    "checkpoints and statistics; what these do not hold is not known."
)


def is_derived(header_extra: Mapping[str, object]) -> bool:
    """Tell whether the header says that the recording was derived from other data."""
    return header_extra.get("derived") is True


def epoch_of(header_extra: Mapping[str, object]) -> int | None:
    """The moment of instant 0, epoch ms; None where it is not told, or not derived."""
    told = header_extra.get("epoch")
    is_whole = isinstance(told, int) and not isinstance(told, bool)
    return told if is_whole and is_derived(header_extra) else None


def why_empty(header_extra: Mapping[str, object], snapshot: str) -> str | None:
    """Why channels of the snapshot are known to be empty, as a sentence; None where not told."""
    return WHY_EMPTY.get(_word(header_extra, "why_empty", snapshot))


def why_unknown(header_extra: Mapping[str, object], snapshot: str) -> str:
    """Why channels of the snapshot are not known, as a sentence."""
    return WHY_UNKNOWN.get(_word(header_extra, "why_unknown", snapshot), WHY_UNKNOWN[NOT_TOLD])


def _word(header_extra: Mapping[str, object], name: str, snapshot: str) -> str:
    told = header_extra.get(name)
    word = told.get(snapshot) if isinstance(told, Mapping) else told
    return word if isinstance(word, str) else ""


def flaws(header_extra: Mapping[str, object], snapshot: str) -> Iterator[Finding]:
    """What the header says is damaged, missing or ahead of a derived snapshot."""
    told = header_extra.get("flaws")
    if not is_derived(header_extra) or not isinstance(told, Mapping):
        return
    sentences, places = told.get("sentences"), told.get("snapshots")
    own = places.get(snapshot) if isinstance(places, Mapping) else None
    if not isinstance(sentences, list) or not isinstance(own, list):
        return
    for place in own:
        is_place = type(place) is int and 0 <= place < len(sentences)
        if is_place and isinstance(sentences[place], str):
            yield Finding(UNKNOWN, sentences[place])


def states_not_judged(processes: int) -> Finding:
    """One witness for all processes whose recorded state was compared with nothing independent."""
    those = "1 process" if processes == 1 else f"{processes:,} processes"
    return Finding(
        UNKNOWN,
        "Not judged: the recording is derived from the checkpoint itself, which holds what "
        f"{those} recorded, but not the events that led there. So nothing tells whether these "
        "states are right.",
    )
