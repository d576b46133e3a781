"""Read the header of a recording that was derived from an engine's checkpoints.

An engine keeps no log. Its files and statistics are made into a recording whose header has these
further fields:

* ``derived``: true.
* ``why_empty``, ``why_unknown``: why channels of a snapshot are known to be empty, or are not
  known. Each is one of the words below, or an object with a word for each snapshot.
* ``untimed``: the names of the snapshots of which nothing says when they were taken. Their events
  have a place in the order and no time.
* ``epoch``: the moment of instant 0, in milliseconds since 1970.
* ``how_far``: what tasks without a record had done, see ``engine_words``.
* ``flaws``: what is damaged, missing or too new. It has ``sentences``, and in ``snapshots`` the
  places of the sentences that apply to each snapshot.

The same files give the recorded and the recomputed values of such a recording. Values that agree
therefore prove nothing, and none of its snapshots is judged consistent. Values that differ are
reported as usual.
"""

from collections.abc import Iterator, Mapping

from snapshots.domain.judging.findings import UNKNOWN, Finding

ALIGNED, AT_LEAST_ONCE, NO_BUFFERS = "aligned", "at-least-once", "no-buffers"
NOTHING_PERSISTED, NEVER_STORED, DRAINED = "nothing-persisted", "never-stored", "drained"
NOT_COMPLETED, NO_FILES = "not-completed", "no-files"
NOT_JOINED, NOT_TOLD = "not-joined", "not-told"
UNDER_WAY, NO_MODE = "under-way", "no-mode"
NOT_COMMITTED, CONTINUOUS = "not-committed", "continuous"

WHY_EMPTY = {
    ALIGNED: "The checkpoint was aligned: each subtask recorded after the barrier had arrived on "
    "all of its inputs, and had processed everything before it.",
    AT_LEAST_ONCE: "Each subtask recorded after the barrier had arrived on all of its inputs, and "
    "had processed everything before it (and, in at-least-once mode, some of what came after it).",
    NO_BUFFERS: "The files of the checkpoint hold what was in flight, and nothing on these "
    "channels.",
    NOTHING_PERSISTED: "Flink says that no data in flight was stored.",
    NEVER_STORED: "The engine never stores data in flight on forward, rescale and broadcast edges.",
    DRAINED: "A batch is complete only when its tasks have processed all that was sent to them.",
}
WHY_UNKNOWN = {
    NOT_COMPLETED: "The checkpoint did not complete, so nothing tells what was in flight.",
    UNDER_WAY: "The checkpoint was still under way when the engine was asked.",
    NO_FILES: "The checkpoint was unaligned, and its files are not in the upload.",
    NO_MODE: "Nothing tells whether the checkpoint was unaligned, and its files are not in the "
    "upload.",
    NOT_JOINED: "The files do not say between which subtasks the data was in flight.",
    NOT_TOLD: "The files do not say what was in flight.",
    NOT_COMMITTED: "The batch is not known to be committed, so its tasks may not have processed "
    "all that was sent to them.",
    CONTINUOUS: "Continuous processing does not wait until its channels are empty, and the files "
    "do not say what was in flight.",
}
ABOUT = (
    "Derived: the engine keeps no log of its events. This recording was made from its "
    "checkpoints and statistics; what they do not hold is not known."
)

PROVES_NOTHING = (
    "The recording is derived from what the engine kept. What was recorded and what is recomputed "
    "come from the same files, so that they agree shows nothing. What was checked instead is "
    "whether the files are there and whole; the checkpoint's page tells, and adds up its states."
)


CLOCKED = "shiviz"
"""The field of the header that describes a log with vector clocks."""


def only_clocks(header_extra: Mapping[str, object]) -> bool:
    """Return whether the messages of a recording follow from vector clocks.

    Then there may be more: a message that was never received, or that told nothing new, leaves no
    trace in clocks.
    """
    return CLOCKED in header_extra


def is_derived(header_extra: Mapping[str, object]) -> bool:
    """Tell whether the header says that the recording was derived from other data."""
    return header_extra.get("derived") is True


def epoch_of(header_extra: Mapping[str, object]) -> int | None:
    """Return the moment of instant 0 in epoch ms, or None if a derived header does not give it."""
    epoch = header_extra.get("epoch")
    return epoch if type(epoch) is int and is_derived(header_extra) else None


def is_untimed(header_extra: Mapping[str, object], snapshot: str) -> bool:
    """Tell whether a derived header says that the times of a snapshot are not known."""
    untimed = header_extra.get("untimed")
    return is_derived(header_extra) and isinstance(untimed, list) and snapshot in untimed


def why_empty(header_extra: Mapping[str, object], snapshot: str) -> str | None:
    """Explain why channels of a snapshot are known to be empty; None if the header does not."""
    return WHY_EMPTY.get(_word(header_extra, "why_empty", snapshot))


def why_unknown(header_extra: Mapping[str, object], snapshot: str) -> str:
    """Explain why the contents of channels of a snapshot are not known."""
    return WHY_UNKNOWN.get(_word(header_extra, "why_unknown", snapshot), WHY_UNKNOWN[NOT_TOLD])


def _word(header_extra: Mapping[str, object], name: str, snapshot: str) -> str:
    word = header_extra.get(name)
    if isinstance(word, Mapping):
        word = word.get(snapshot)
    return word if isinstance(word, str) else ""


def flaws(header_extra: Mapping[str, object], snapshot: str) -> Iterator[Finding]:
    """Yield a finding for each flaw of a snapshot that a derived header names."""
    flaws_in_header = header_extra.get("flaws")
    if not is_derived(header_extra) or not isinstance(flaws_in_header, Mapping):
        return
    sentences, by_snapshot = flaws_in_header.get("sentences"), flaws_in_header.get("snapshots")
    places = by_snapshot.get(snapshot) if isinstance(by_snapshot, Mapping) else None
    if not isinstance(sentences, list) or not isinstance(places, list):
        return
    for place in places:
        is_place = type(place) is int and 0 <= place < len(sentences)
        if is_place and isinstance(sentences[place], str):
            yield Finding(UNKNOWN, sentences[place])


def states_not_judged(processes: int) -> Finding:
    """Return one finding for all recorded states that have nothing independent to compare with.

    Args:
        processes: how many processes recorded such a state.
    """
    those = "1 process" if processes == 1 else f"{processes:,} processes"
    return Finding(
        UNKNOWN,
        "Not judged: the recording is derived from the checkpoint itself, which holds what "
        f"{those} recorded, but not the events that led there. Nothing shows whether these "
        "states are right.",
    )
