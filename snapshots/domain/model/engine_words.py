"""What each engine's tasks do for a checkpoint, in the words of that engine.

Markers belong to the algorithm of Chandy and Lamport. The tasks of Flink and SeaTunnel acknowledge
a checkpoint that barriers bring them. Spark has neither: a batch is committed, or it is not.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field

from snapshots.domain.model.derived import is_derived
from snapshots.domain.model.recording import SnapshotId
from snapshots.domain.model.topology import ProcessId

WROTE, WROTE_SOME, WROTE_NOTHING, EPOCH = "wrote", "wrote-some", "wrote-nothing", "epoch"


@dataclass(frozen=True, slots=True)
class EngineWords:
    """The words for the tasks and barriers of one engine; by default those for any engine.

    The templates have ``process``, ``snapshot``, ``channel``, ``missing``, ``processes`` and
    ``count`` in braces.

    Attributes:
        never_recorded: the witness for a task without a record.
        no_record: what stands beside such a task in place of a time.
        incomplete: what the answer about the rule says of tasks without a record.
        barriers_missing: what the answer about the rule says of barriers.
        barriers: what the engine calls its markers.
        no_barriers: what is known of them if the recording has none.
        in_flight: the witness for a barrier that is not known to have arrived.
        not_sent: the witness for a barrier that is not known to have been sent.
        how_far: the witness for a task of which the header tells more, by the header's word.
    """

    never_recorded: str = "The recording holds no state of {process} for {snapshot}."
    no_record: str = "no record"
    incomplete: str = "The recording holds no state of {missing} of {processes}."
    barriers_missing: str = "The recording does not show that {count} of the markers arrived."
    barriers: str = "Markers"
    no_barriers: str = "not known: the recording holds none"
    in_flight: str = (
        "The recording does not show that the marker of {snapshot} arrived at {channel.target} on "
        "{channel.id}."
    )
    not_sent: str = (
        "The recording does not show that {channel.source} sent the marker of {snapshot} on "
        "{channel.id}."
    )
    how_far: Mapping[str, str] = field(default_factory=dict)


def _acknowledging(no_barriers: str) -> EngineWords:
    """Return the words of an engine whose tasks acknowledge what barriers bring them."""
    return EngineWords(
        never_recorded="The upload holds no acknowledgement of checkpoint {snapshot} by {process}.",
        no_record="no acknowledgement",
        incomplete="The upload holds no acknowledgement of {missing} of {processes}.",
        barriers_missing="The upload does not show that {count} of the barriers arrived.",
        barriers="Barriers",
        no_barriers=no_barriers,
        in_flight="The upload does not show that the barrier of checkpoint {snapshot} arrived at "
        "{channel.target} on {channel.id}.",
        not_sent="The upload does not show that {channel.source} sent the barrier of checkpoint "
        "{snapshot} on {channel.id}.",
    )


_OTHER = EngineWords()
WORDS = {
    "flink": _acknowledging("not known: the upload does not show when they travelled"),
    "seatunnel": _acknowledging("not known: the files do not hold them"),
    "spark": EngineWords(
        never_recorded="Batch {snapshot} is not committed, so no state of {process} counts for it.",
        no_record="not committed",
        incomplete="The batch is not committed, so no state of {missing} of {processes} counts for "
        "it.",
        no_barriers="none: Spark works without markers",
        how_far={
            WROTE: "{process} wrote its state of batch {snapshot}, but the batch is not committed, "
            "so a restart runs it again.",
            WROTE_SOME: "Some partitions of {process} wrote the state of batch {snapshot}, which "
            "is not committed.",
            WROTE_NOTHING: "{process} wrote no state of batch {snapshot}, which is not committed.",
            EPOCH: "Epoch {snapshot} is not committed, so no state of {process} counts for it.",
        },
    ),
}


def words_of(header_extra: Mapping[str, object]) -> EngineWords | None:
    """Return the words of the engine that a recording is derived from; None for other logs."""
    if not is_derived(header_extra):
        return None
    engine = header_extra.get("engine")
    return WORDS.get(engine, _OTHER) if isinstance(engine, str) else _OTHER


def why_not_recorded(
    header_extra: Mapping[str, object], snapshot: SnapshotId, process: ProcessId
) -> str | None:
    """Explain why a derived recording has no record of a task; None for other recordings.

    The header field ``how_far`` may have a word for tasks, by snapshot and process.
    """
    words = words_of(header_extra)
    if words is None:
        return None
    template = words.how_far.get(_how_far(header_extra, snapshot, process), words.never_recorded)
    return template.format(process=process, snapshot=snapshot)


def _how_far(header_extra: Mapping[str, object], snapshot: str, process: str) -> str:
    by_snapshot = header_extra.get("how_far")
    by_process = by_snapshot.get(snapshot) if isinstance(by_snapshot, Mapping) else None
    word = by_process.get(process) if isinstance(by_process, Mapping) else None
    return word if isinstance(word, str) else ""
