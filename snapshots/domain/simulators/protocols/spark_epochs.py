"""Spark's micro-batches: the driver plans ranges of offsets, runs their tasks, and commits.

Source: Spark Structured Streaming, MicroBatchExecution, OffsetSeqLog, CommitLog; Armbrust et al.,
"Structured Streaming", SIGMOD 2018. Pure step functions: a driver and what happened give the next
driver and the effects, to be carried out in their order.

Assumes: the plan is written before anything of the batch runs, and outlives the driver, as commits
do; a task starts from the state version that bears the batch's number and writes the next one;
what a task has sent can be read when it has ended, and as often as needed until the commit.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from snapshots.domain.dataflow_logs.dataflow import DataflowRefused
from snapshots.domain.model.topology import ProcessId


@dataclass(frozen=True, slots=True)
class BatchSettings:
    """interval: us from one trigger to the next, 0: as soon as the batch before is committed.
    most_per_split: records that a batch takes of a split, None: all that are there. cores: tasks
    that run at once. task_attempts: the query fails with the last. watermark_delay: us.

    Raises: DataflowRefused, with the field, for settings that cannot be.
    """

    interval: int = 20_000
    most_per_split: int | None = None
    cores: int = 4
    task_attempts: int = 4
    watermark_delay: int = 0

    def __post_init__(self) -> None:
        for name, least in _LEAST.items():
            value = getattr(self, name)
            if value is None and name == "most_per_split":
                continue
            if type(value) is not int or value < least:
                raise DataflowRefused(
                    f"batches.{name}", f"It is a whole number, at least {least}, not {value!r}."
                )


_LEAST = {
    "interval": 0,
    "most_per_split": 1,
    "cores": 1,
    "task_attempts": 1,
    "watermark_delay": 0,
}


@dataclass(frozen=True, slots=True)
class Batch:
    """ranges: of each split (first offset, the one behind the last). attempt: 1, 2 … of the same
    ranges. watermark: us."""

    id: int
    ranges: Mapping[str, tuple[int, int]]
    watermark: int
    attempt: int = 1


@dataclass(frozen=True, slots=True)
class Driver:
    """before: of each task, those whose output it reads, in the order in which tasks start.

    batch: planned and not committed. ends: of each split, the next offset to plan. ended, running:
    tasks of the batch; failures: how often each has failed in it.
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


@dataclass(frozen=True, slots=True)
class Plan:
    """Write the plan ahead; of a second attempt it is there."""

    batch: Batch


@dataclass(frozen=True, slots=True)
class RunTask:
    """From the state version that bears the batch's number, whatever an earlier attempt wrote."""

    task: ProcessId
    batch: Batch
    again: bool = False


@dataclass(frozen=True, slots=True)
class Deliver:
    """All tasks have ended: hand the batch to the sinks, under its number."""

    batch: Batch


@dataclass(frozen=True, slots=True)
class Commit:
    batch: Batch
    next_watermark: int


@dataclass(frozen=True, slots=True)
class FailQuery:
    cause: str


Effect = Plan | RunTask | Deliver | Commit | FailQuery
Step = tuple[Driver, tuple[Effect, ...]]


def start(
    settings: BatchSettings,
    before: Mapping[ProcessId, frozenset[ProcessId]],
    splits: tuple[str, ...],
) -> Driver:
    return Driver(settings, before, dict.fromkeys(splits, 1))


def on_trigger(driver: Driver, reach: Mapping[str, int]) -> Step:
    """reach: of each split, the offset behind the last record that is there. Nothing is planned
    while a batch is under way, nor where nothing is new."""
    if driver.batch is not None:
        return driver, ()
    ranges = {split: _range(driver, split, reach[split]) for split in driver.ends}
    if all(first == end for first, end in ranges.values()):
        return driver, ()
    return _begin(driver, Batch(driver.next_batch, ranges, driver.watermark))


def on_task_end(driver: Driver, task: ProcessId) -> Step:
    driver = replace(driver, ended=driver.ended | {task}, running=driver.running - {task})
    if len(driver.ended) == len(driver.before):
        return driver, (Deliver(driver.batch),)
    return _run_ready(driver)


def on_delivered(driver: Driver, latest: int) -> Step:
    """The commit has been written. latest: the latest event time (us) read so far."""
    batch = driver.batch
    watermark = max(driver.watermark, latest - driver.settings.watermark_delay)
    ends = {split: end for split, (_, end) in batch.ranges.items()}
    driver = replace(
        driver, batch=None, ends=ends, next_batch=batch.id + 1, watermark=watermark, failures={}
    )
    return driver, (Commit(batch, watermark),)


def on_task_failure(driver: Driver, task: ProcessId) -> Step:
    failures = driver.failures.get(task, 0) + 1
    driver = replace(driver, failures={**driver.failures, task: failures})
    if failures >= driver.settings.task_attempts:
        return driver, (FailQuery(f"{task} has failed {failures} times in a batch"),)
    return driver, (RunTask(task, driver.batch, again=True),)


def on_restart(driver: Driver) -> Step:
    """The query starts again: first what is planned and not committed, with the same ranges."""
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
    effects = tuple(RunTask(task, driver.batch) for task in begun)
    return replace(driver, running=driver.running | set(begun)), effects


def _range(driver: Driver, split: str, reach: int) -> tuple[int, int]:
    first, most = driver.ends[split], driver.settings.most_per_split
    return first, reach if most is None else min(reach, first + most)
