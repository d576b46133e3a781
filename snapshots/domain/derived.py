"""Recordings that are derived from an engine's checkpoints: what they tell, and what they cannot.

An engine keeps no log. The header of a recording that its files and statistics were made into says
``derived``; ``why_empty`` and ``why_unknown`` say why channels of a snapshot are known to be empty,
or not known: one of the words below, or an object of such words by snapshot.
"""

from collections.abc import Mapping

from snapshots.domain.findings import UNKNOWN, Finding

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
    return header_extra.get("derived") is True


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


def states_not_judged(processes: int) -> Finding:
    """One witness for all states of a derived snapshot that can be compared with nothing."""
    those = "1 process" if processes == 1 else f"{processes:,} processes"
    return Finding(
        UNKNOWN,
        "Not judged: the recording is derived from the checkpoint itself, which holds what "
        f"{those} recorded, but not the events that led there. So nothing tells whether these "
        "states are right.",
    )
