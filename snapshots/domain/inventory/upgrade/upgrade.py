"""Decides what Flink does with a savepoint and the new version of its job.

Source: Flink, Checkpoints.loadAndValidateCheckpoint, StateAssignmentOperation and
DefaultVertexParallelismInfo. The rules in Flink's order: the job graph is built; no vertex is wider
than its maximum parallelism; each operator with state finds its operator in the new job, or may be
dropped; the maximum parallelisms agree, where the new job sets one; the parallelism is not above
the savepoint's maximum; the backend reads the format; each state fits its serializer.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field

from snapshots.domain.inventory.model import (
    FAILED,
    IN_PROGRESS,
    CheckpointInventory,
    OperatorInventory,
)
from snapshots.domain.inventory.restore_check import Completeness
from snapshots.domain.inventory.upgrade.answer import (
    CLAIMED,
    EMPTY,
    LEFT_OVER,
    LOSES,
    LOST,
    MAYBE_CHAINED,
    MIGRATED,
    MOVED,
    NEW,
    NOT_KNOWN,
    REFUSED,
    RESTORED,
    STATE_NOT_KNOWN,
    STATE_REFUSED,
    OperatorUpgrade,
    StateUpgrade,
    UpgradeAnswer,
)
from snapshots.domain.inventory.upgrade.new_job import (
    AUTOMATIC,
    NewJob,
    NewOperator,
    NewVertex,
)
from snapshots.domain.inventory.upgrade.states import dropped, states_of
from snapshots.domain.model.defects import times

CANONICAL = "canonical"
_PLANNED = re.compile(r"^\[\d+\]:|\[\d+\](?=:|$)")  # the planner of SQL numbers anew each time
FULL, HEAP, TABLES = "full", "heap", "tables"  # layouts of keyed state
_WRITTEN_BY = {HEAP: ("hashmap",), TABLES: ("rocksdb", "forst"), FULL: ("rocksdb", "forst")}


@dataclass
class _Reasons:
    """Sentences as they are found, each once."""

    refusals: dict[str, None] = field(default_factory=dict)
    left_over: dict[str, None] = field(default_factory=dict)
    losses: dict[str, None] = field(default_factory=dict)
    unknown: dict[str, None] = field(default_factory=dict)
    notes: dict[str, None] = field(default_factory=dict)
    lost: dict[str, None] = field(default_factory=dict)
    dropped: dict[str, None] = field(default_factory=dict)
    other_maximum: dict[tuple[int, int], list[str]] = field(default_factory=dict)
    undeclared: list[str] = field(default_factory=list)
    hidden: list[str] = field(default_factory=list)

    def close(self, new_job: NewJob) -> None:
        """Add the sentences that stand for many operators at once."""
        for (old, new), names in self.other_maximum.items():
            self.refusals[
                f"The new job sets a maximum parallelism of {new:,} where the savepoint has "
                f"{old:,}, which can never be changed: {listed(names)}."
            ] = None
        if self.hidden:
            self.unknown[f"{_why_hidden(new_job)}: {listed(self.hidden)}."] = None
        described_by = new_job.described_by
        if self.undeclared:
            self.unknown[
                f"{described_by[0].upper()}{described_by[1:]} does not list the states that the "
                "new operators register, so it is not known whether each finds its state: "
                f"{listed(self.undeclared)}."
            ] = None


def answer(
    checkpoint: CheckpointInventory, new_job: NewJob, completeness: Completeness | None = None
) -> UpgradeAnswer:
    """Tell what Flink does when ``new_job`` is started from ``checkpoint``.

    Args:
        completeness: whether all is there that a restore reads. None if that was not checked.
    """
    reasons = _Reasons()
    _judge_files(checkpoint, completeness, reasons)
    _judge_whole(checkpoint, new_job, reasons)
    operators = tuple(_operators(checkpoint, new_job, reasons))
    reasons.close(new_job)
    without, with_ = _outcome(reasons, allows=False), _outcome(reasons, allows=True)
    return UpgradeAnswer(
        checkpoint=checkpoint.id,
        without_allow=without,
        with_allow=with_,
        headline=_headline(without, with_, reasons),
        refusals=tuple(reasons.refusals),
        left_over=tuple(reasons.left_over),
        losses=tuple(reasons.losses),
        unknown=tuple(reasons.unknown),
        notes=tuple(reasons.notes),
        lost_without_allow=tuple(reasons.lost) if without in (LOSES, NOT_KNOWN) else (),
        lost_with_allow=(*reasons.dropped, *reasons.lost) if with_ in (LOSES, NOT_KNOWN) else (),
        operators=operators,
    )


def _outcome(reasons: _Reasons, *, allows: bool) -> str:
    if reasons.refusals or (reasons.left_over and not allows):
        return REFUSED
    if reasons.unknown:
        return NOT_KNOWN
    return LOSES if reasons.lost or (allows and reasons.dropped) else RESTORED


def _headline(without: str, with_: str, reasons: _Reasons) -> str:
    lost = len(reasons.lost)
    if without == RESTORED:
        return "Yes: Flink starts the new job, and every state comes back."
    if without == LOSES:
        return (
            f"It starts, but {times(lost, 'state')} {'is' if lost == 1 else 'are'} lost without a "
            "word from Flink."
        )
    if without == NOT_KNOWN:
        if lost:
            verb = "is" if lost == 1 else "are"
            return (
                f"Not all comes back: {times(lost, 'state')} {verb} lost at least. Whether Flink "
                "refuses the savepoint is not known from what is here."
            )
        return "Nothing that is here refuses it, but not everything that decides is here."
    if with_ == REFUSED:
        return "No: Flink refuses the savepoint, whatever it is allowed."
    count = len(reasons.dropped) + lost
    then = {
        LOSES: f"with it, {times(count, 'state')} {'is' if count == 1 else 'are'} thrown away.",
        RESTORED: "with it, nothing is lost.",
    }.get(with_, "what comes back with it cannot be told from what is here.")
    return f"Not without allowNonRestoredState: Flink refuses the savepoint; {then}"


def _judge_whole(checkpoint: CheckpointInventory, new_job: NewJob, reasons: _Reasons) -> None:
    if new_job.without_uids:
        reasons.notes[
            "It was said that the new job sets no uids and does not turn off chaining: its ids are "
            "those that Flink then generates."
        ] = None
    if new_job.failure is not None:
        reasons.refusals[f"Flink could not build the new job: {new_job.failure}"] = None
    if checkpoint.status in (FAILED, IN_PROGRESS):
        reasons.refusals[
            f"The checkpoint is {checkpoint.status}: only a completed one can be restored."
        ] = None
    if checkpoint.problem is not None:
        reasons.unknown[checkpoint.problem] = None
    for vertex in new_job.vertices:
        _judge_width(vertex, reasons)
    _judge_backend(checkpoint, new_job, reasons)
    _judge_in_flight(checkpoint, reasons)


def _judge_files(
    checkpoint: CheckpointInventory, completeness: Completeness | None, reasons: _Reasons
) -> None:
    """A restore reads every file that the metadata name, and fails without one of them."""
    if missing := checkpoint.missing:
        verb = "is" if len(missing) == 1 else "are"
        paths = listed([file.path for file in missing], 3)
        reasons.unknown[
            f"{times(len(missing), 'file')} that the metadata name {verb} not whole in the upload "
            f"({paths}). Without all of them Flink cannot restore it; whether they are where the "
            "job runs is not known."
        ] = None
    elif checkpoint.problem is None and completeness is not None and completeness.reasons:
        reasons.unknown[
            f"Not all that a restore reads is known to be whole. {completeness.gap()}"
        ] = None


def _judge_width(vertex: NewVertex, reasons: _Reasons) -> None:
    width, most = vertex.parallelism, vertex.max_parallelism
    if width is not None and most not in (None, AUTOMATIC) and width > most:
        reasons.refusals[
            f"{vertex.name} is to run with {width:,} subtasks, above its own maximum parallelism "
            f"of {most:,}."
        ] = None


def _judge_backend(checkpoint: CheckpointInventory, new_job: NewJob, reasons: _Reasons) -> None:
    """Only a canonical savepoint can be read by any backend."""
    facts = {fact.name: fact.value for fact in checkpoint.facts}
    layouts = {
        str(fact.value)
        for operator in checkpoint.operators
        for fact in operator.facts
        if fact.name == "layout of keyed state"
    }
    if facts.get("savepoint format") == CANONICAL or not layouts:
        return
    for layout in sorted(layouts & _WRITTEN_BY.keys()):
        backends = _WRITTEN_BY[layout]
        if new_job.backend is None:
            reasons.unknown[
                f"Its keyed state has the own format of the backend {' or '.join(backends)}. A job "
                "with another backend cannot read it; a canonical savepoint can be read by any."
            ] = None
        elif new_job.backend not in backends:
            reasons.refusals[
                f"Its keyed state has the own format of the backend {' or '.join(backends)}, and "
                f"the new job uses {new_job.backend}. A canonical savepoint could be read."
            ] = None


def _judge_in_flight(checkpoint: CheckpointInventory, reasons: _Reasons) -> None:
    if checkpoint.channels:
        size = checkpoint.in_flight
        amount = "Data of a size that is not known is" if size is None else f"{size:,} bytes are"
        reasons.notes[
            f"{amount} in flight in {times(len(checkpoint.channels), 'channel')}: it is "
            "an unaligned checkpoint. Flink's documentation excludes upgrades of a job from these: "
            "take a savepoint."
        ] = None


# --- operator by operator ------------------------------------------------------------------------


def _operators(
    checkpoint: CheckpointInventory, new_job: NewJob, reasons: _Reasons
) -> Iterator[OperatorUpgrade]:
    by_id = {
        operator.id: (vertex, operator)
        for vertex, operator in new_job.operators()
        if operator.id is not None
    }
    hidden = [operator for _, operator in new_job.operators() if operator.id is None]
    _judge_twins(checkpoint, new_job, reasons)
    for before in checkpoint.operators:
        if before.id in by_id:
            yield _claimed(before, *by_id[before.id], reasons)
        elif hidden and has_state(before):
            yield _maybe_chained(before, hidden, reasons)
        else:
            yield _left_over(before, new_job, reasons)
    old = {operator.id for operator in checkpoint.operators}
    for vertex, operator in new_job.operators():
        if operator.id is not None and operator.id not in old:
            yield _new(vertex, operator)


def _judge_twins(checkpoint: CheckpointInventory, new_job: NewJob, reasons: _Reasons) -> None:
    """Find operators of the new job that share an id which has state.

    Flink refuses a uid that is used twice, but takes a job in which the id that one operator has
    from ``setUidHash`` is generated for another.
    """
    names: dict[str, list[str]] = {}
    for vertex, operator in new_job.operators():
        if operator.id is not None:
            names.setdefault(operator.id, []).append(operator.name or vertex.name)
    for before in checkpoint.operators:
        twins = names.get(before.id, [])
        if len(twins) > 1 and has_state(before):
            reasons.unknown[
                f"{listed(twins)} of the new job have the same id, {before.id}. Which of them gets "
                "the state can differ from start to start: give each an id of its own."
            ] = None


def has_state(operator: OperatorInventory) -> bool:
    """Tell whether Flink counts the operator as one with state, even if that takes no bytes."""
    return any(subtask.parts or subtask.bytes for subtask in operator.subtasks)


def _claimed(
    before: OperatorInventory, vertex: NewVertex, after: NewOperator, reasons: _Reasons
) -> OperatorUpgrade:
    name = before.name or before.uid or before.id
    sentences = list(_widths(before, vertex, name, reasons))
    states = states_of(before, after)
    if after.states is None and any(state.fate == STATE_NOT_KNOWN for state in states):
        reasons.undeclared.append(name)
    else:
        for state in states:
            _take_state(name, state, reasons)
    is_moved = _is_renamed(before, after) and not (before.uid or after.uid)
    if is_moved:
        sentences.append(
            f"The new job has {after.name} where {before.name} was. Without a uid, Flink made the "
            "same id from the place in the graph: give both jobs uids."
        )
        if has_state(before):
            reasons.notes[f"{name}: {sentences[-1]}"] = None
    return _operator(before, vertex, after, MOVED if is_moved else CLAIMED, sentences, states)


def _is_renamed(before: OperatorInventory, after: NewOperator) -> bool:
    if before.name is None or after.name is None:
        return False
    return _PLANNED.sub("", before.name) != _PLANNED.sub("", after.name)


def _widths(
    before: OperatorInventory, vertex: NewVertex, name: str, reasons: _Reasons
) -> Iterator[str]:
    old, new, width = before.max_parallelism, vertex.max_parallelism, vertex.parallelism
    if old is None:
        return
    if new is None or width is None:
        reasons.unknown[_why_unbounded(width)] = None
    if new is not None and new not in (AUTOMATIC, old):
        reasons.other_maximum.setdefault((old, new), []).append(name)
        yield (
            f"Its maximum parallelism is {old:,} in the savepoint, and the new job sets {new:,}. "
            "It can never be changed."
        )
        return
    if width is not None and width > old:
        sentence = (
            f"{name} is to run with {width:,} subtasks, above the maximum parallelism of {old:,} "
            "that the savepoint fixes."
        )
        reasons.refusals[sentence] = None
        yield sentence


def _why_unbounded(width: int | None) -> str:
    if width is None:
        return (
            "The description of the new job does not tell every parallelism and maximum "
            "parallelism. Flink refuses a job that sets another maximum than the savepoint has, or "
            "that is wider."
        )
    return (
        "The description of the new job does not tell every maximum parallelism. Flink refuses a "
        "job that sets another maximum than the savepoint has."
    )


def _take_state(operator: str, state: StateUpgrade, reasons: _Reasons) -> None:
    name = f"{operator}.{state.state}"
    if state.fate == LOST:
        reasons.lost[name] = None
        reasons.losses[f"{name}{_size(state)}: {state.sentence}"] = None
    elif state.fate == STATE_REFUSED:
        reasons.refusals[f"{name}: {state.sentence}"] = None
    elif state.fate == STATE_NOT_KNOWN:
        reasons.unknown[f"{name}: {state.sentence}"] = None
    elif state.fate in (MIGRATED, EMPTY):
        reasons.notes[f"{name}: {state.sentence}"] = None


def _size(state: StateUpgrade) -> str:
    if state.entries is None:
        return ""
    return f" ({state.entries:,} {'entry' if state.entries == 1 else 'entries'})"


def _maybe_chained(
    before: OperatorInventory, hidden: list[NewOperator], reasons: _Reasons
) -> OperatorUpgrade:
    same = [operator for operator in hidden if operator.name and operator.name == before.name]
    reasons.hidden.append(before.name or before.uid or before.id)
    sentence = "The description of the new job does not tell whether an operator has this id" + (
        "; one has the same name." if same else "."
    )
    return _operator(before, None, same[0] if same else None, MAYBE_CHAINED, [sentence], ())


def _why_hidden(new_job: NewJob) -> str:
    """Say why ids of the new job are not known, and what would tell them."""
    if new_job.without_uids:
        return (
            "The ids in the plan are not all those that Flink generates for a job without uids, so "
            "the ids of its chained operators cannot be computed. A list of uids tells whether the "
            "new job has"
        )
    begins = any(operator.id is not None for _, operator in new_job.operators())
    tells = "the id of the first operator of each vertex only" if begins else "no ids"
    return (
        f"{new_job.described_by[0].upper()}{new_job.described_by[1:]} tells {tells}. If the new "
        "job sets no uids, say so (“no uids”), and the others are computed; if it does, a list of "
        "uids tells whether it has"
    )


def _left_over(before: OperatorInventory, new_job: NewJob, reasons: _Reasons) -> OperatorUpgrade:
    name = before.name or before.uid or before.id
    if not has_state(before):
        sentence = "The new job does not have it, and it left no state."
        return _operator(before, None, None, LEFT_OVER, [sentence], ())
    states = dropped(before)
    size = "" if before.bytes is None else f" ({before.bytes:,} bytes)"
    sentence = (
        f"The new job has no operator with the id of {name}{size}."
        if before.uid is None
        else f"The new job has no operator with the uid {before.uid}{size}."
    )
    if hint := _same_name(before, new_job):
        sentence = f"{sentence} {hint}"
    reasons.left_over[sentence] = None
    lost = [state.state for state in states if state.kind != "coordinator" and state.entries != 0]
    reasons.dropped |= {f"{name}.{state}": None for state in lost}
    return _operator(before, None, None, LEFT_OVER, [sentence], states)


def _same_name(before: OperatorInventory, new_job: NewJob) -> str:
    """Say how to claim the state, where the new job has an operator of the same name."""
    same = [
        operator
        for _, operator in new_job.operators()
        if operator.name is not None and operator.name == before.name
    ]
    if len(same) != 1:
        return ""
    (after,) = same
    named = f"The new job's operator {after.name}"
    if before.uid is not None:
        now = "has no uid" if after.uid is None else f"has the uid {after.uid}"
        return f"{named} {now}: with the uid {before.uid} it would claim the state."
    claim = f'with setUidHash("{before.id}") it would claim the state'
    if after.uid is not None:
        return f"{named} has the uid {after.uid}; {claim}."
    return (
        f"{named} has another id. Neither the savepoint nor the new job names a uid, and "
        f"without one the id follows from the place in the graph; {claim}."
    )


def listed(names: list[str], most: int = 20) -> str:
    """List names for people, and say how many are not listed."""
    hidden = len(names) - most
    if any("," in name for name in names):
        names = [f"“{name}”" for name in names]
    return ", ".join(names[:most]) + (f" and {hidden:,} more" if hidden > 0 else "")


def _new(vertex: NewVertex, operator: NewOperator) -> OperatorUpgrade:
    return OperatorUpgrade(
        operator=operator.id,
        name=operator.name,
        uid=operator.uid,
        name_after=operator.name,
        fate=NEW,
        sentences=("The savepoint does not have it: it begins empty.",),
        parallelism_before=None,
        parallelism_after=vertex.parallelism,
        max_parallelism_before=None,
        max_parallelism_after=_set(vertex.max_parallelism),
        bytes=None,
        states=(),
    )


def _operator(
    before: OperatorInventory,
    vertex: NewVertex | None,
    after: NewOperator | None,
    fate: str,
    sentences: list[str],
    states: tuple[StateUpgrade, ...],
) -> OperatorUpgrade:
    return OperatorUpgrade(
        operator=before.id,
        name=before.name,
        uid=before.uid,
        name_after=None if after is None else after.name,
        fate=fate,
        sentences=tuple(sentences),
        parallelism_before=before.parallelism,
        parallelism_after=None if vertex is None else vertex.parallelism,
        max_parallelism_before=before.max_parallelism,
        max_parallelism_after=None if vertex is None else _set(vertex.max_parallelism),
        bytes=before.bytes,
        states=states,
    )


def _set(max_parallelism: int | None) -> int | None:
    return None if max_parallelism == AUTOMATIC else max_parallelism
