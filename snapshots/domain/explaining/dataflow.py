"""The sentences of events that dataflow engines log (docs/formats/dataflow-events.md).

Sources: for Flink its classes ``CheckpointCoordinator`` (triggers, acknowledgements, aborts),
``SingleCheckpointBarrierHandler`` (aligned, unaligned, and the switch between them),
``CheckpointBarrierTracker`` (at least once), ``ChannelStateWriter`` (what lies in channels),
``SubtaskCheckpointCoordinatorImpl`` (barrier, copy, upload) and ``TwoPhaseCommitSinkFunction``; for
SeaTunnel its ``CheckpointCoordinator``, ``SourceSplitEnumeratorTask`` and
``SinkAggregatedCommitterTask``; for Spark ``MicroBatchExecution`` and ``EpochCoordinator``.
"""

import json
from collections.abc import Callable, Mapping
from typing import Any

from snapshots.domain.dataflow_logs import kinds
from snapshots.domain.explaining.words import LONGEST, counted, value_text
from snapshots.domain.model.recording import (
    MARKER_RECEIVE,
    MARKER_SEND,
    RECORD_CHANNEL,
    RECORD_STATE,
    RESTORE,
    Event,
)

_OF_EPOCHS = frozenset(
    {MARKER_RECEIVE, MARKER_SEND, *kinds.COORDINATOR_KINDS, kinds.CP_ACK, kinds.CP_STORED}
    | {kinds.ALIGN_END, kinds.BLOCK, kinds.UNBLOCK}
)
"""The kinds of a Spark query that only continuous mode has."""


def engine_of(header_extra: Mapping[str, object]) -> str | None:
    """Return the engine of a dataflow, "" if it is not named; None for any other system."""
    return str(header_extra.get("engine", "")) if "dataflow" in header_extra else None


def sentence_of(
    engine: str, event: Event, around: Mapping[str, Any], extra: Mapping[str, Any]
) -> str | None:
    """Return the sentence of an event; None for one that every system logs alike.

    Args:
        engine: the engine; "" if it is not named.
        around: ``source`` and ``target`` of the event's channel, if it has one, and the number of
            ``inputs`` of its process.
        extra: the fields of the event that are no fields of the native format.
    """
    maker = _SENTENCES.get(event.kind)
    if maker is None:
        return None
    fields = _Fields({name: _shown(value) for name, value in (*extra.items(), *around.items())})
    for name in ("process", "channel", "message", "label"):
        fields[name] = getattr(event, name)
    fields["state"] = "a state" if event.state is None else value_text(event.state)
    fields["value"] = "a record" if event.value is None else value_text(event.value)
    fields["held"] = counted(len(event.messages or ()), "record")
    fields["number"] = event.snapshot
    fields["point"] = _point(engine, event)
    text = maker if isinstance(maker, str) else maker(fields)
    return text.format_map(fields)


def _shown(value: Any) -> Any:
    """Return a field for a sentence; of a long one the beginning."""
    if isinstance(value, str):
        return value if len(value) <= LONGEST else f"{value[:LONGEST]}…"
    return value_text(json.dumps(value)) if isinstance(value, dict) else value


def _point(engine: str, event: Event) -> str:
    """Name the snapshot of an event as its engine does."""
    noun = "checkpoint"
    if engine == "spark":
        noun = "snapshot"  # of a batch or of an epoch
        if event.kind in _OF_EPOCHS:
            noun = "epoch"
        elif event.kind in kinds.SPARK_KINDS:
            noun = "batch"
    return f"the {noun}" if event.snapshot is None else f"{noun} {event.snapshot}"


class _Fields(dict[str, Any]):
    """The fields of an event; what the log leaves out is not known."""

    def __missing__(self, name: str) -> str:
        return "not known"


def _barrier_in(fields: _Fields) -> str:
    if fields["label"] == "discarded":
        return "A restore throws the barrier of {point} on {channel} away."
    if fields.get("end") is True:
        return "The end of {channel} stands for the barrier of {point} at {process}."
    if fields.get("priority") is True:
        return (
            "The barrier of {point} arrives at {process} on {channel}, ahead of the records that "
            "it has overtaken."
        )
    return "The barrier of {point} arrives at {process} on {channel}."


def _barrier_out(fields: _Fields) -> str:
    if fields.get("priority") is True:
        return "{process} sends the barrier of {point} on {channel}, ahead of what waits there."
    return "{process} sends the barrier of {point} on {channel}, behind all that it has sent."


def _recorded(fields: _Fields) -> str:
    if fields.get("finished") is True:
        return "{process} has finished: the coordinator notes {state} of it for {point}."
    mode = {
        "unaligned": " at the first barrier, without waiting for the others (unaligned)",
        "at-least-once": ", having blocked no channel: what came behind an early barrier is in it, "
        "and is read again after a restore (at least once)",
        "aligned": ": the barriers of all its inputs have come (aligned)",
    }.get(str(fields.get("mode")), "")
    if not fields["inputs"]:
        mode = ""  # a source, or the coordinator: nothing comes to it
    return f"{{process}} records {{state}} for {{point}}{mode}."


def _held(fields: _Fields) -> str:
    if fields["held"].startswith("0 "):
        return "{process} notes {channel} as empty for {point}."
    where = ""
    if "in" in fields and "out" in fields:
        where = ": {in} from its input, {out} from the output of {source}"
    return f"{{process}} writes {{held}} of {{channel}} into {{point}}{where}."


def _decision(fields: _Fields) -> str:
    if fields.get("dropped"):
        return "The coordinator drops a request for a checkpoint: {dropped}."
    if fields.get("waits"):
        return "The request for a checkpoint waits, as too many are under way."
    return "The coordinator decides to begin {point}."


def _triggered(fields: _Fields) -> str:
    told = fields.get("to_trigger")
    whom = f" at {counted(len(told), 'task')}" if isinstance(told, list) else ""
    if fields.get("type") == kinds.EPOCH:
        return f"The driver ends {{point}}: the readers learn of it{whom}."
    mode = " ({mode})" if fields.get("mode") else ""
    return f"The coordinator triggers {{point}}{whom}{mode}."


def _notified(fields: _Fields) -> str:
    lost = ", but the word arrives nowhere" if fields.get("lost") is True else ""
    return f"The coordinator tells the tasks that {{point}} is {{what}}{lost}."


def _announced(fields: _Fields) -> str:
    return (
        "The barrier of {point} lies in the input of {process} on {channel}, behind records that "
        "are not processed yet."
    )


def _unblocked(fields: _Fields) -> str:
    buffered = fields.get("buffered")
    if isinstance(buffered, int) and buffered:
        return f"{{process}} opens {{channel}} again; it has {counted(buffered, 'record')} of it."
    return "{process} opens {channel} again, after the copy of its state for {point}."


def _overtaken(fields: _Fields) -> str:
    if fields.get("count") == 0:
        return "The barrier of {point} overtakes nothing in the output of {process} on {channel}."
    return (
        "The barrier of {point} jumps over {count} of the records that wait in the output of "
        "{process} on {channel}; they belong to the checkpoint."
    )


def _batch_write(fields: _Fields) -> str:
    if fields.get("skipped") is True:
        return "The sink {sink} knows number {number} already, and leaves it out."
    return "The sink {sink} takes over what was written for number {number}."


def _ended(fields: _Fields) -> str:
    if fields["channel"]:
        return "{process} takes the end of {channel}."
    return "{process} has read all its input, and says so on every output."


_SENTENCES: Mapping[str, str | Callable[[_Fields], str]] = {
    MARKER_RECEIVE: _barrier_in,
    MARKER_SEND: _barrier_out,
    RECORD_STATE: _recorded,
    RECORD_CHANNEL: _held,
    RESTORE: lambda fields: (
        "{process} starts again from {point}, as attempt {attempt}."
        if fields.get("attempt")
        else "{process} goes back to {point}."
    ),
    kinds.READ: "{process} reads {value} of split {split}, at offset {offset}.",
    kinds.WRITE: "{process} writes {value} to {sink}.",
    kinds.CP_REQUEST: "A checkpoint is asked for: {reason}.",
    kinds.CP_DECISION: _decision,
    kinds.CP_TRIGGER: _triggered,
    kinds.CP_COMPLETE: "All have acknowledged: {point} is complete.",
    kinds.CP_ABORT: "The coordinator gives {point} up: {reason}.",
    kinds.CP_NOTIFY: _notified,
    kinds.JOB_FAIL: "The job fails: {cause}.",
    kinds.BLOCK: "{process} blocks {channel} until the barriers of {point} have come on all its "
    "inputs.",
    kinds.UNBLOCK: _unblocked,
    kinds.ANNOUNCE: _announced,
    kinds.ALIGN_END: "The last barrier of {point} has come to {process}.",
    kinds.ALIGN_ABORT: "{process} stops waiting for the barriers of {point}: {reason}.",
    kinds.SWITCH_UNALIGNED: "The time for alignment is over: {process} goes on with {point} "
    "unaligned.",
    kinds.OVERTAKEN_OUT: _overtaken,
    kinds.CANCEL_OUT: "{process} passes on, on {channel}, that {point} is cancelled.",
    kinds.CANCEL_IN: "{process} learns on {channel} that {point} is cancelled.",
    kinds.SNAP_ASYNC: "{process} has uploaded its state for {point}: {bytes} bytes, beside its "
    "work.",
    kinds.CP_ACK: "{process} acknowledges {point}.",
    kinds.CP_DECLINE: "{process} declines {point}: {reason}.",
    kinds.CP_NOTIFIED: "{process} learns that {point} is {what}.",
    kinds.TX_BEGIN: "{process} begins the transaction {tx}.",
    kinds.TX_PRECOMMIT: "{process} pre-commits the transaction {tx} for {point}: it is written, "
    "and not yet visible.",
    kinds.TX_COMMIT: "{process} commits the transaction {tx}, as {point} is complete.",
    kinds.TX_ABORT: "{process} gives the transaction {tx} up.",
    kinds.TX_RECOVER_COMMIT: "{process} commits the transaction {tx} after the restore, as {point} "
    "holds it.",
    kinds.TX_TIMEOUT: "The transaction {tx} of {process} has timed out: what it wrote is lost.",
    kinds.END: _ended,
    kinds.FINISH: "{process} has finished, and takes part in no further checkpoint.",
    kinds.RESTART: "{process} starts again from the beginning, as attempt {attempt}.",
    kinds.CP_STORED: "What {point} holds is stored.",
    kinds.SPLIT_RETURNED: "The split {split} goes back to {process}, from {from} to {to}.",
    kinds.BATCH_PLAN: "The driver plans {point}, attempt {attempt}: which offsets it reads is "
    "written down before it runs.",
    kinds.TASK_END: "{process} has done its part of {point}, and written version {state_version} "
    "of its state.",
    kinds.SINK_WRITE: _batch_write,
    kinds.BATCH_COMMIT: "The driver commits {point}: all its channels are empty.",
    kinds.WATERMARK: "{process} has a new {label}.",
    kinds.WATERMARK_IN: "{process} takes a watermark from {channel}.",
    kinds.LATE: "{process} drops a record that is late: its window is over.",
    kinds.SCHEMA_STOP: "{process} stops reading: the schema {schema} begins in split {split}.",
    kinds.SCHEMA_OUT: "{process} passes the change to schema {schema} on, on {channel}.",
    kinds.SCHEMA_IN: "The change to schema {schema} arrives at {process} on {channel}.",
    kinds.SCHEMA_APPLY: "{process} changes its table to schema {schema}.",
    kinds.SCHEMA_RESUME: "{process} reads on, with schema {schema}.",
}
