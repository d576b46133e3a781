"""Word what a person stopped at, out of the answers that the pages show.

Nothing is computed here a second time: a sentence repeats the verdict of the answer. What the
answer does not know is not known in the sentence. Answers are the JSON of the API.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from snapshots.domain.judging.findings import CONSISTENT, UNKNOWN
from snapshots.domain.model.listing import listed
from snapshots.domain.reviewing.places import TIME, MomentPlace
from snapshots.quantities import counted, duration, instant, value

MOST_CHANNELS = 3  # named in a sentence
MOST_VALUES = 5  # of one channel
LONGEST_VALUE = 40  # characters
NO_TIME = "a time that is not known"

Json = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class LogFacts:
    """What a sentence must know of the recording that it is about.

    Attributes:
        unit: the time unit of the recording.
        is_derived: whether the recording was made from checkpoints, so that it lacks events and
            messages and does not show what they were.
        is_timed: whether the times of all events are known.
        channels: how many channels the recording has.
    """

    unit: str
    is_derived: bool = False
    is_timed: bool = True
    channels: int = 0

    def instant(self, at: int) -> str:
        """Word an instant, which is not known if some events have no times."""
        return instant(at, self.unit) if self.is_timed else NO_TIME


def moment_words(moment: MomentPlace, log: LogFacts) -> str:
    """Word a moment: ``at 5.2 ms``, or ``after 31 events``."""
    if moment.axis == TIME:
        return f"at {log.instant(moment.value)}"
    return f"after {counted(moment.value, 'event')}"


def cut_sentence(cut: Json, log: LogFacts, moment: MomentPlace | None) -> str:
    """Word a cut: ``cut at 5.2 ms: B->A holds 2 messages (1000, 2000); consistent``.

    Args:
        cut: a CutAnswer.
        log: what is known of the recording.
        moment: the moment at which the cut was taken. None for a cut that was dragged.
    """
    if moment is not None:
        where = f"cut {moment_words(moment, log)}"
    elif cut["at"] is None:
        where = "cut before every event"
    else:
        where = f"cut up to {log.instant(cut['at'])}"
    return f"{where}: {_contents(cut, log)}; {_consistency(cut, log)}"


def _contents(cut: Json, log: LogFacts) -> str:
    """Word what the channels of a cut hold, those with the most messages first."""
    sizes = {
        channel: len(values) + cut["omitted"].get(channel, 0)
        for channel, values in cut["channels"].items()
    }
    filled = sorted((name for name in sizes if sizes[name]), key=lambda name: (-sizes[name], name))
    if not filled:
        return "what the channels hold is not known" if log.is_derived else "all channels are empty"
    parts = [
        f"{name} holds {held(cut['channels'][name], sizes[name])}"
        for name in filled[:MOST_CHANNELS]
    ]
    if rest := filled[MOST_CHANNELS:]:
        total = sum(sizes[name] for name in rest)
        verb = "holds" if len(rest) == 1 else "hold"
        parts.append(f"{counted(len(rest), 'more channel')} {verb} {counted(total, 'message')}")
    if log.is_derived and len(filled) < log.channels:
        parts.append("what other channels hold is not known")
    return ", ".join(parts)


def held(values: Sequence[Any], count: int) -> str:
    """Word the messages of a channel: ``2 messages (1000, 2000)``.

    Args:
        values: the values of the first messages; None for a value that is not known.
        count: how many messages the channel holds in all.
    """
    words = counted(count, "message")
    if all(item is None for item in values):
        return words
    shown = ["not known" if item is None else _value(item) for item in values[:MOST_VALUES]]
    if more := count - len(shown):
        shown.append(f"{more:,} more")
    return f"{words} ({', '.join(shown)})"


def _consistency(cut: Json, log: LogFacts) -> str:
    if cut["consistent"] is None:
        strays = 0 if log.is_derived else cut["strays_total"]
        reason = f": the log has no send for {counted(strays, 'receive')} inside it"
        return f"whether it is consistent is not known{reason if strays else ''}"
    if cut["consistent"]:
        return CONSISTENT
    more = cut["orphans_total"] - 1
    first = next((_witness(orphan) for orphan in cut["orphans"]), "")
    rest = f" and {counted(more, 'more orphan')}" if more > 0 and first else ""
    return f"not consistent: {first}{rest}" if first else "not consistent"


def snapshot_sentence(snapshot: str, outcome: str, findings: Sequence[Json], total: int) -> str:
    """Word a snapshot: ``snapshot s1: orphan m17 on p3->p9``.

    Args:
        snapshot: the id of the snapshot.
        outcome: the word that lists show.
        findings: the findings, the worst first.
        total: how many findings there are.
    """
    worst = next((item for item in findings if item["verdict"] != CONSISTENT), None)
    if worst is None or outcome != worst["verdict"]:
        return f"snapshot {snapshot}: {outcome}{_reason(worst)}"
    rest = f", and {counted(total - 1, 'more finding')}" if total > 1 else ""
    return f"snapshot {snapshot}: {_witness(worst)}{rest}"


def _reason(finding: Json | None) -> str:
    """Return the reason of a finding that is not known; empty for others."""
    if finding is None or finding["verdict"] != UNKNOWN:
        return ""
    return f". {finding['sentence']}"


def _witness(finding: Json) -> str:
    """Word a finding by its verdict and what it names: ``orphan m17 on p3->p9``."""
    parts = [finding["verdict"]]
    if finding.get("message") is not None:
        parts.append(str(finding["message"]))
    if finding.get("channel") is not None:
        parts.append(f"on {finding['channel']}")
    if finding.get("process") is not None:
        parts.append(f"at {finding['process']}")
    return " ".join(parts)


def event_sentence(event: Json, log: LogFacts) -> str:
    """Word an event: ``event 2 of B at 3.8 ms: receive m1 (1000) on A->B; state 5000``.

    Args:
        event: an EventDetail.
        log: what is known of the recording.
    """
    what = [event["kind"].replace("_", " ")]
    if event.get("label"):
        what.append(_value(event["label"]))
    if event.get("message") is not None:
        what.append(str(event["message"]))
    if "value" in event:
        what.append(f"({_value(event['value'])})")
    if event.get("channel") is not None:
        what.append(f"on {event['channel']}")
    if event.get("snapshot") is not None:
        what.append(f"for snapshot {event['snapshot']}")
    state = f"state {_value(event['state'])}" if "state" in event else "its state is not known"
    is_inferred = "at" in (event.get("extra") or {}).get("inferred", ())
    when = NO_TIME if log.is_derived and is_inferred else log.instant(event["at"])
    where = f"event {event['index']:,} of {event['process']} at {when}"
    return f"{where}: {' '.join(what)}; {state}"


def message_sentence(message: Json, log: LogFacts, equal_ids: int) -> str:
    """Word a message: ``message m1 (1000) on A->B: sent at 1.5 ms, received at 3.8 ms``.

    The instants of a derived recording are left out, because no file says them.

    Args:
        message: ``message``, ``channel``, ``sent_at`` and ``received_at``, which is null if it
            never arrives, and ``value`` if it has one.
        log: what is known of the recording.
        equal_ids: how many messages of the channel have this id; the first is worded.
    """
    amount = f" ({_value(message['value'])})" if message["value"] is not None else ""
    if log.is_derived:
        travel = "when it was sent and whether it arrived is not known"
    else:
        travel = f"sent at {log.instant(message['sent_at'])}, {_arrival(message, log)}"
    more = f"; {equal_ids:,} messages of the channel have this id" if equal_ids > 1 else ""
    where = f"message {message['message']}{amount} on {message['channel']}"
    return f"{where}: {travel}{more}"


def _arrival(message: Json, log: LogFacts) -> str:
    if message["received_at"] is None:
        return "never received: in flight at the end"
    return f"received at {log.instant(message['received_at'])}"


def channel_sentence(channel: str, cut: Json, log: LogFacts, moment: MomentPlace | None) -> str:
    """Word what one channel of a cut holds: ``channel B->A at 5.2 ms: 2 messages (1000, 2000)``.

    A derived recording that shows no message does not show that there was none.
    """
    values = cut["channels"].get(channel, [])
    count = len(values) + cut["omitted"].get(channel, 0)
    if count:
        contents = held(values, count)
    else:
        contents = "what it holds is not known" if log.is_derived else "empty"
    return f"channel {channel} {_when(cut, log, moment)}: {contents}"


def process_sentence(process: str, cut: Json, log: LogFacts, moment: MomentPlace | None) -> str:
    """Word the state of one process in a cut: ``process A at 5.2 ms: state 9000``."""
    states = cut["states"]
    state = f"state {_value(states[process])}" if process in states else "its state is not known"
    return f"process {process} {_when(cut, log, moment)}: {state}"


def _when(cut: Json, log: LogFacts, moment: MomentPlace | None) -> str:
    if moment is not None:
        return moment_words(moment, log)
    return "before every event" if cut["at"] is None else f"in a cut up to {log.instant(cut['at'])}"


def snapshot_channel_sentence(
    snapshot: str,
    channel: str,
    recorded: Sequence[Any] | None,
    recomputed: Sequence[Any] | None,
    log: LogFacts,
) -> str:
    """Word what a snapshot recorded of a channel, beside what the log recomputes.

    None stands for contents that are not known. In a derived recording both come from the same
    file, so what is recomputed is worded only if it differs.
    """
    sides = [("recorded", recorded), ("recomputed", recomputed)]
    if log.is_derived and recomputed in (None, recorded):
        sides.pop()
    parts = [f"{name}: {_side(values)}" for name, values in sides]
    return f"channel {channel} in snapshot {snapshot}: {'; '.join(parts)}"


def _side(values: Sequence[Any] | None) -> str:
    if values is None:
        return "not known"
    return held(values, len(values)) if values else "empty"


def report_sentence(report: Json) -> str:
    """Word a checkpoint of a log with the sentence of its report, or with what it lacks."""
    said = report["sentence"]
    return f"checkpoint {report['checkpoint']}: {said[:1].lower()}{said[1:].removesuffix('.')}"


def task_sentence(checkpoint: str, task: Json, unit: str) -> str:
    """Word what one task did for a checkpoint: its waiting, its copy and its acknowledgement."""
    parts = [
        f"{name} {duration(task[field], unit)}"
        for field, name in (("start_delay", "start delay"), ("alignment", "alignment"))
        if task[field] is not None
    ]
    ended = "acknowledged" if task["acked_at"] is not None else "no acknowledgement in the log"
    words = listed([*parts, ended])
    return f"{task['process']} in checkpoint {checkpoint}: {words}"


def archived_sentence(number: int, pipeline: int, status: str, took: int | None, blame: str) -> str:
    """Word an archived checkpoint: its status, how long it took, and for whom it waited.

    Args:
        number: the number of the checkpoint.
        pipeline: the number of its pipeline; 0 if the engine has none.
        status: the status that its page shows.
        took: its duration in milliseconds. None if it is not known.
        blame: for whom it waited, as a sentence; empty if that is not known.
    """
    of = f" of pipeline {pipeline}" if pipeline else ""
    length = "how long it took is not known" if took is None else duration(took, "ms")
    who = blame.removesuffix(".") or "for whom it waited is not known"
    return f"checkpoint {number}{of}: {status}, {length}; {who[:1].lower()}{who[1:]}"


def archived_task_sentence(checkpoint: str, task: Json) -> str:
    """Word what one subtask did for an archived checkpoint, as the archive's page shows it."""
    parts = [
        f"{name} {duration(task[field], 'ms')}"
        for field, name in (
            ("start_delay", "start delay"),
            ("alignment", "alignment"),
            ("sync", "sync"),
            ("async_", "async"),
        )
        if task[field] is not None
    ]
    answers = {True: "acknowledged", False: "did not acknowledge"}
    ended = answers.get(task["acknowledged"], "whether it acknowledged is not known")
    words = ", ".join([*parts, ended])
    return f"{task['name']} in checkpoint {checkpoint}: {words}"


def state_sentence(checkpoint: str, state: str, key: str, entries: Sequence[Json]) -> str:
    """Word an entry of state: ``key "a" of state sum in checkpoint 7: 12``.

    Args:
        checkpoint: the name of the checkpoint.
        state: the name of the state.
        key: the key as JSON text.
        entries: the entries with this key; several if the state has namespaces.
    """
    shown = [
        "a value that cannot be decoded" if entry["value"] is None else _value(entry["value"])
        for entry in entries[:MOST_VALUES]
    ]
    if more := len(entries) - len(shown):
        shown.append(f"{more:,} more")
    return f"key {key} of state {state} in checkpoint {checkpoint}: {', '.join(shown)}"


def _value(item: Any) -> str:
    """Word a value; a number has no separators, which would look like those of a list."""
    is_number = isinstance(item, int | float) and not isinstance(item, bool)
    text = str(item) if is_number else value(item)
    return text if len(text) <= LONGEST_VALUE else f"{text[: LONGEST_VALUE - 1]}…"
