"""Asks what must be known of the records of a run to report its failures, and makes the reports.

Reference and Spark job answer a `Question` for each vertex in their own way; `failovers_of` makes
the reports of the answers.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import final

from snapshots.domain.dataflow_logs.checkpoints.tasks import (
    CheckpointEvents,
    Count,
    Early,
    RunEvents,
)
from snapshots.domain.dataflow_logs.dataflow import IDEMPOTENT, SINK, TWO_PHASE
from snapshots.domain.dataflow_logs.event_time import event_time_of
from snapshots.domain.dataflow_logs.events import Plan, ProtocolEvent, whole
from snapshots.domain.dataflow_logs.failovers.events import Failed
from snapshots.domain.dataflow_logs.failovers.report import (
    AT_LEAST_ONCE,
    EXACTLY_ONCE,
    Dropped,
    FailoverReport,
    Failovers,
    ReRead,
    SinkEffect,
    SinkTotal,
)
from snapshots.domain.dataflow_logs.failovers.sentences import sentence
from snapshots.domain.dataflow_logs.failovers.strategies import behind, strategy
from snapshots.domain.dataflow_logs.kinds import (
    BATCH_PLAN,
    CP_COMPLETE,
    END,
    EPOCH,
    RESTART,
    TX_ABORT,
    TX_COMMIT,
    TX_PRECOMMIT,
    TX_RECOVER_COMMIT,
    TX_TIMEOUT,
)
from snapshots.domain.dataflow_logs.starts import start_of
from snapshots.domain.model.recording import RESTORE
from snapshots.domain.model.topology import ProcessId

COMMITTED, GIVEN_UP, TIMED_OUT = "committed", "given up", "timed out"
COMMITTER, WRITER = "committer", "writer"


@dataclass(frozen=True, slots=True)
class Position:
    """The place at which a split goes on after a restart, which is event ``step``."""

    failure: int
    split: str
    offset: int
    step: int


@final
@dataclass(frozen=True, slots=True)
class Transaction:
    """What became of a transaction, and at which event.

    Attributes:
        repeats: the events that committed it again.
        is_recovered: whether the restart committed it, and nothing before.
        is_forgotten: whether it was given up although its checkpoint had completed.
    """

    fate: str
    step: int
    repeats: tuple[int, ...] = ()
    is_recovered: bool = False
    is_forgotten: bool = False


@dataclass(frozen=True, slots=True)
class Question:
    """What must be counted among one vertex's records.

    Attributes:
        restarts: for each process, the restarts that included it, or tasks before it, as (event
            index, number of the failure), in order.
        kind: the kind of a sink. None if the vertex is no sink or its kind is not known.
        transactions: the transactions by process and name.
        committed_by: ``committer``, ``writer``, or None if it is not known or there is no commit.
        has_ended: whether no more records will come.
        goes_on: whether one of the tasks went on while tasks before it restarted.
    """

    vertex: str
    processes: tuple[ProcessId, ...]
    restarts: Mapping[ProcessId, tuple[tuple[int, int], ...]]
    positions: tuple[Position, ...] = ()
    kind: str | None = None
    transactions: Mapping[ProcessId, Mapping[str, Transaction]] = field(default_factory=dict)
    committed_by: str | None = None
    has_ended: bool = False
    goes_on: bool = False

    @property
    def is_two_phase(self) -> bool:
        """Tell whether the vertex is a sink with a two-phase commit."""
        return self.kind == TWO_PHASE

    @property
    def is_idempotent(self) -> bool:
        """Tell whether the vertex is a sink whose repeated writes change nothing."""
        return self.kind == IDEMPOTENT


@dataclass(frozen=True, slots=True)
class Answer:
    """What one vertex's records say of the failures, by the number of the failure.

    ``total``: None if the vertex is no sink. ``again`` counts what came again to tasks that went
    on, by the words of ``again.py``.
    """

    re_read: Mapping[int, tuple[ReRead, ...]] = field(default_factory=dict)
    discarded: Mapping[int, int] = field(default_factory=dict)
    effects: Mapping[int, SinkEffect] = field(default_factory=dict)
    total: SinkTotal | None = None
    dropped: Dropped | None = None
    again: Mapping[int, Mapping[str, int]] = field(default_factory=dict)


def questions_of(run: RunEvents) -> tuple[Question, ...]:
    """Return one question for each vertex, in the order of their first tasks."""
    plan = run.plan
    groups: dict[str, list[ProcessId]] = {}
    for process in plan.tasks:
        groups.setdefault(plan.vertex_of(process), []).append(process)
    restarts, positions = _restarts(run)
    going_on = _add_restarts_before(run, restarts)
    transactions = _transactions(run)
    return tuple(
        Question(
            vertex=vertex,
            processes=tuple(processes),
            restarts={name: tuple(restarts.get(name, ())) for name in processes},
            positions=tuple(positions.get(vertex, ())),
            kind=_sink_kind(plan, vertex, any(name in transactions for name in processes)),
            transactions={name: transactions.get(name, {}) for name in processes},
            committed_by=_committed_by(run, processes),
            has_ended=all(_has_ended(run, name) for name in processes),
            goes_on=not going_on.isdisjoint(processes),
        )
        for vertex, processes in groups.items()
    )


def _restarts(
    run: RunEvents,
) -> tuple[dict[ProcessId, list[tuple[int, int]]], dict[str, list[Position]]]:
    """Return the restarts of each process, and the positions that they name for each source.

    An enumerator may name positions, too: a split is called after the reader it was made for.
    """
    restarts: dict[ProcessId, list[tuple[int, int]]] = {}
    positions: dict[str, list[Position]] = {}
    for number, failed in enumerate(run.failures):
        for process, event in failed.back.items():
            restarts.setdefault(process, []).append((event.step, number))
            offsets = event.fields.get("positions")
            for split, offset in (offsets if isinstance(offsets, dict) else {}).items():
                if whole(offset) is not None:
                    position = Position(number, split, offset, event.step)
                    positions.setdefault(run.plan.vertex_of(split), []).append(position)
    return restarts, positions


def _add_restarts_before(
    run: RunEvents, restarts: dict[ProcessId, list[tuple[int, int]]]
) -> set[ProcessId]:
    """Add restarts to the tasks that went on behind them, and return these tasks.

    In micro-batches nobody goes on: all tasks of a batch wait for each other.
    """
    going_on: set[ProcessId] = set()
    if any(event.kind == BATCH_PLAN for event in run.events):
        return going_on
    for number, failed in enumerate(run.failures):
        if failed.restarted is None:
            continue
        for process in behind(run.plan, failed.scope):
            restarts.setdefault(process, []).append((failed.restarted.step, number))
            restarts[process].sort()
            going_on.add(process)
    return going_on


def _transactions(run: RunEvents) -> dict[ProcessId, dict[str, Transaction]]:
    """Return the transactions that were committed, aborted or timed out. Commits are final."""
    by_process: dict[ProcessId, dict[str, Transaction]] = {}
    completed: set[str | None] = set()
    checkpoint_of: dict[str, str | None] = {}
    for event in run.events:
        if event.kind == CP_COMPLETE:
            completed.add(event.snapshot)
        name = event.text("tx")
        if name is None:
            continue
        if event.kind == TX_PRECOMMIT:
            checkpoint_of[name] = event.snapshot
        transactions = by_process.setdefault(run.writer(event), {})
        before = transactions.get(name)
        if event.kind in (TX_COMMIT, TX_RECOVER_COMMIT):
            if before is None or before.fate != COMMITTED:
                is_recovered = event.kind == TX_RECOVER_COMMIT
                transactions[name] = Transaction(COMMITTED, event.step, is_recovered=is_recovered)
            else:
                transactions[name] = replace(before, repeats=(*before.repeats, event.step))
        elif event.kind in (TX_ABORT, TX_TIMEOUT) and (before is None or before.fate != COMMITTED):
            fate = GIVEN_UP if event.kind == TX_ABORT else TIMED_OUT
            is_forgotten = fate == GIVEN_UP and checkpoint_of.get(name) in completed
            transactions[name] = Transaction(fate, event.step, is_forgotten=is_forgotten)
    return by_process


def _committed_by(run: RunEvents, processes: list[ProcessId]) -> str | None:
    """Return who commits what the writers of a sink have pre-committed, or None if nobody did."""
    for event in run.events:
        if event.kind in (TX_COMMIT, TX_RECOVER_COMMIT) and run.writer(event) in processes:
            return WRITER if event.process in processes else COMMITTER
    return None


def _sink_kind(plan: Plan, name: str, has_transactions: bool) -> str | None:
    vertex = None if plan.dataflow is None else plan.dataflow.vertex_by_id.get(name)
    if vertex is not None:
        return vertex.sink if vertex.kind == SINK else None
    return TWO_PHASE if has_transactions else None


def _has_ended(run: RunEvents, process: ProcessId) -> bool:
    """Tell whether the process has read all its input, in its last attempt."""
    ended = False
    for event in run.ends.get(process, ()):
        if event.kind in (RESTORE, RESTART):
            ended = False
        elif event.kind == END and event.channel is None:
            ended = True
    return ended


def failovers_of(
    run: RunEvents,
    checkpoints: Mapping[str, CheckpointEvents],
    answers: Iterable[Answer],
    count: Count,
    times: Iterable[ProtocolEvent],
) -> Failovers:
    """Report on all failures.

    Args:
        checkpoints: at least those that were restored.
        times: the events of ``event_time.KINDS``, in order.

    A derived run has no totals of sinks: it does not log writes, which does not mean there were
    none.
    """
    answers = list(answers)
    totals = () if run.plan.is_derived else (answer.total for answer in answers)

    return Failovers(
        reports=tuple(
            _report(run, number, failed, checkpoints, answers, count)
            for number, failed in enumerate(run.failures)
        ),
        sinks=tuple(total for total in totals if total is not None),
        dropped=tuple(answer.dropped for answer in answers if answer.dropped is not None),
        event_time=event_time_of(times, run),
        start=start_of(run, run.plan.started_from),
    )


def _report(
    run: RunEvents,
    number: int,
    failed: Failed,
    checkpoints: Mapping[str, CheckpointEvents],
    answers: list[Answer],
    count: Count,
) -> FailoverReport:
    checkpoint = None if failed.snapshot is None else checkpoints.get(failed.snapshot)
    event, restarted = failed.event, failed.restarted
    batch = _batch(run, failed)
    trigger = batch if checkpoint is None else checkpoint.trigger
    lost = event.at if failed.snapshot is None else trigger and event.at - trigger.at
    report = FailoverReport(
        process=failed.process,
        at=event.at,
        cause=event.text("cause"),
        attempt=event.whole("attempt"),
        strategy=strategy(run.plan, failed.scope, failed.process),
        scope=failed.scope,
        tasks_restarted=len(failed.back),
        restored=failed.snapshot,
        guarantee=_guarantee(trigger),
        restarted_at=restarted and restarted.at,
        lost_progress=lost if failed.back else None,
        discarded=None,
        counted_twice=None,
        re_read=None,
        caught_up_at=None,
        sinks=None,
        sentence="",
        unrepeatable=event.names("unrepeatable") or (),
    )
    if not run.plan.is_derived:
        report = _with_records(report, number, failed, answers)
        early = _counted_twice(failed, checkpoint, count)
        report = replace(report, counted_twice=early + (report.counted_twice or 0))
        if not any(event.kind == BATCH_PLAN for event in run.events):
            others = [name for name in run.plan.tasks if name not in set(failed.scope)]
            running = sum(_is_running(run, name, failed.event.step) for name in others)
            report = replace(report, went_on=running)
    return replace(report, sentence=sentence(report, failed, _noun(trigger), run.plan.time_unit))


def _noun(trigger: ProtocolEvent | None) -> str:
    """Return what the engine calls that which was restored."""
    if trigger is None:
        return "checkpoint"
    if trigger.kind == BATCH_PLAN:
        return "batch"
    return "epoch" if trigger.text("type") == EPOCH else "checkpoint"


def _is_running(run: RunEvents, process: ProcessId, step: int) -> bool:
    """Tell whether a process is up at an event and has not read all its input."""
    for failed in run.failures:
        back = failed.back.get(process)
        is_over = back is not None and back.step < step
        if process in failed.scope and failed.event.step < step and not is_over:
            return False
    marks = (event for event in run.ends.get(process, ()) if event.step < step)
    last = [event for event in marks if event.kind != END or event.channel is None][-1:]
    return not last or last[0].kind != END


def _batch(run: RunEvents, failed: Failed) -> ProtocolEvent | None:
    """Return the plan of the micro-batch that was restored, or None."""
    plans = (event for event in run.events if event.kind == BATCH_PLAN)
    return next((event for event in plans if event.snapshot == failed.snapshot), None)


def _guarantee(trigger: ProtocolEvent | None) -> str | None:
    """Return what the restored checkpoint guarantees, or None if the log does not say.

    Micro-batches have no barriers, and nothing enters their states twice. Continuous mode keeps no
    state, and a restart delivers again what was read behind the restored epoch.
    """
    if trigger is not None and trigger.kind == BATCH_PLAN:
        return EXACTLY_ONCE
    if trigger is not None and trigger.text("type") == EPOCH:
        return AT_LEAST_ONCE
    mode = trigger and trigger.text("mode")
    if mode is None:
        return None
    return AT_LEAST_ONCE if mode == AT_LEAST_ONCE else EXACTLY_ONCE


def _with_records(
    report: FailoverReport, number: int, failed: Failed, answers: list[Answer]
) -> FailoverReport:
    """Return the report with what happened to records, which a derived recording does not hold."""
    re_read = tuple(item for answer in answers for item in answer.re_read.get(number, ()))
    restarted_at = failed.restarted and failed.restarted.at
    caught_up = [*(item.caught_up_at for item in re_read), restarted_at]
    known = [at for at in caught_up if at is not None]
    return replace(
        report,
        discarded=sum(answer.discarded.get(number, 0) for answer in answers),
        re_read=re_read,
        caught_up_at=max(known) if len(known) == len(caught_up) else None,
        sinks=tuple(answer.effects[number] for answer in answers if number in answer.effects),
        skipped=_again(answers, number, "skipped"),
        skipped_differing=_again(answers, number, "skipped_differing"),
        counted_twice=_again(
            [answer for answer in answers if answer.total is None], number, "taken_twice"
        ),
    )


def _again(answers: Iterable[Answer], number: int, what: str) -> int:
    return sum(answer.again.get(number, {}).get(what, 0) for answer in answers)


def _counted_twice(failed: Failed, checkpoint: CheckpointEvents | None, count: Count) -> int:
    """Count the records that came behind a barrier and were processed before the snapshot.

    Their effect is in the restored state, and they come again.
    """
    if checkpoint is None:
        return 0
    early = []
    for channel in checkpoint.plan.topology.channels:
        sent, record = checkpoint.sent.get(channel.id), checkpoint.record(channel.target)
        inside = channel.source in failed.back and channel.target in failed.back
        if inside and sent is not None and record is not None:
            early.append(Early(channel.id, sent.index, record.index))
    return sum(count(early))
