"""Spark's micro-batches: the driver plans ranges of offsets, runs their tasks, and commits.

Source: Spark Structured Streaming, MicroBatchExecution, OffsetSeqLog, CommitLog; Armbrust et al.,
"Structured Streaming", SIGMOD 2018. Pure step functions: a driver and an event give the next driver
and the effects, to be carried out in their order.

Assumes: the plan is written before anything of the batch runs, and survives the driver, as commits
do; a task starts from the state version that bears the batch's number and writes the next one;
what a task has sent can be read when it has ended, and as often as needed until the commit.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from snapshots.domain.model.topology import ProcessId
from snapshots.domain.simulators.bounds import NotNegative, Positive, check_whole_numbers


@dataclass(frozen=True, slots=True)
class BatchSettings:
    """When batches begin, and how large they are. Times are in us.

    interval: the time from one trigger to the next; 0 triggers as soon as a batch is committed.
    most_per_split: how many records a batch takes of a split; None takes all that are there.
    cores: how many tasks run at once.
    task_attempts: how often a task may run in a batch; the query fails with the last attempt.
    watermark_delay: how far the watermark lies behind the latest event time.

    Raises: DataflowRefused, with the field, if a value is not possible.
    """

    interval: NotNegative = 20_000
    most_per_split: Positive | None = None
    cores: Positive = 4
    task_attempts: Positive = 4
    watermark_delay: NotNegative = 0

    def __post_init__(self) -> None:
        check_whole_numbers(self, "batches")


@dataclass(frozen=True, slots=True)
class Batch:
    """A batch of records.

    ranges: for each split the first offset, and the one behind the last.
    attempt: 1, 2 … of the same ranges.
    watermark: the event time in us.
    """

    id: int
    ranges: Mapping[str, tuple[int, int]]
    watermark: int
    attempt: int = 1


@dataclass(frozen=True, slots=True)
class Driver:
    """The state of the driver.

    before: for each task, those whose output it reads, in the order in which tasks start.
    ends: for each split, the next offset to plan.
    batch: the batch that is planned and not committed.
    ended, running: tasks of the batch.
    failures: how often each task has failed in the batch.
    """

    settings: BatchSettings
    before: Mapping[ProcessId, frozenset[ProcessId]]
    ends: Mapping[str, int]
    next_batch: int = 0
    watermark: int = 0
    batch: Batch | None = None
    ended: frozenset[ProcessId] = frozenset()
    running: frozenset[ProcessId] = frozenset()
    failures: Mapping[ProcessId, int] = field(default_factory=dict)

    @property
    def under_way(self) -> Batch:
        """The batch that is planned and not committed; there must be one."""
        assert self.batch is not None
        return self.batch


@dataclass(frozen=True, slots=True)
class Plan:
    """Write the plan ahead; that of a second attempt has been written."""

    batch: Batch


@dataclass(frozen=True, slots=True)
class RunTask:
    """Run a task from the state version that bears the batch's number.

    What an earlier attempt wrote does not matter.
    """

    task: ProcessId
    batch: Batch
    again: bool = False


@dataclass(frozen=True, slots=True)
class Deliver:
    """Deliver the batch to the sinks, under its number, because all tasks have ended."""

    batch: Batch


@dataclass(frozen=True, slots=True)
class Commit:
    """Write the commit of the batch, and move the watermark."""

    batch: Batch
    next_watermark: int


@dataclass(frozen=True, slots=True)
class FailQuery:
    """Restart the query, because a task has failed too often in a batch."""

    cause: str


Effect = Plan | RunTask | Deliver | Commit | FailQuery
Step = tuple[Driver, tuple[Effect, ...]]


def start(
    settings: BatchSettings,
    before: Mapping[ProcessId, frozenset[ProcessId]],
    splits: tuple[str, ...],
) -> Driver:
    """Return a driver that has planned nothing."""
    return Driver(settings, before, dict.fromkeys(splits, 1))


def on_trigger(driver: Driver, reach: Mapping[str, int]) -> Step:
    """Plan a batch unless one is under way, or nothing is new.

    ``reach``: for each split, the offset behind the last record that is there.
    """
    if driver.batch is not None:
        return driver, ()
    ranges = {split: _range(driver, split, reach[split]) for split in driver.ends}
    if all(first == end for first, end in ranges.values()):
        return driver, ()
    return _begin(driver, Batch(driver.next_batch, ranges, driver.watermark))


def on_task_end(driver: Driver, task: ProcessId) -> Step:
    """Note that a task has ended; with the last one the batch is delivered."""
    driver = replace(driver, ended=driver.ended | {task}, running=driver.running - {task})
    if len(driver.ended) == len(driver.before):
        return driver, () if driver.batch is None else (Deliver(driver.batch),)
    return _run_ready(driver)


def on_delivered(driver: Driver, latest: int) -> Step:
    """Commit the batch. ``latest``: the latest event time in us that was read so far."""
    batch = driver.under_way
    watermark = max(driver.watermark, latest - driver.settings.watermark_delay)
    ends = {split: end for split, (_, end) in batch.ranges.items()}
    driver = replace(
        driver, batch=None, ends=ends, next_batch=batch.id + 1, watermark=watermark, failures={}
    )
    return driver, (Commit(batch, watermark),)


def on_task_failure(driver: Driver, task: ProcessId) -> Step:
    """Run the task again, or fail the query with its last attempt."""
    failures = driver.failures.get(task, 0) + 1
    driver = replace(driver, failures={**driver.failures, task: failures})
    if failures >= driver.settings.task_attempts:
        return driver, (FailQuery(f"{task} has failed {failures} times in a batch"),)
    return driver, (RunTask(task, driver.under_way, again=True),)


def on_restart(driver: Driver) -> Step:
    """Start the query again: first what is planned and not committed, with the same ranges."""
    if driver.batch is None:
        return driver, ()
    return _begin(driver, replace(driver.batch, attempt=driver.batch.attempt + 1))


def _begin(driver: Driver, batch: Batch) -> Step:
    driver = replace(driver, batch=batch, ended=frozenset(), running=frozenset(), failures={})
    driver, effects = _run_ready(driver)
    return driver, (Plan(batch), *effects)


def _run_ready(driver: Driver) -> Step:
    ready = [
        task
        for task, before in driver.before.items()
        if task not in driver.ended and task not in driver.running and before <= driver.ended
    ]
    begun = ready[: driver.settings.cores - len(driver.running)]
    effects = tuple(RunTask(task, driver.under_way) for task in begun)
    return replace(driver, running=driver.running | set(begun)), effects


def _range(driver: Driver, split: str, reach: int) -> tuple[int, int]:
    first, most = driver.ends[split], driver.settings.most_per_split
    return first, reach if most is None else min(reach, first + most)
