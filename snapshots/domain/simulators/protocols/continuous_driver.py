"""The epochs of Spark's continuous mode, at the driver: counted up, collected, and committed.

Source: Spark Structured Streaming, ContinuousExecution, EpochCoordinator. Pure step functions: a
driver and an event give the next driver and the effects, to be carried out in their order.

Assumes: the logs of offsets and commits survive the driver. Each reader reports its offset at the
end of an epoch, each writer that it has written the epoch. A restart goes on behind the newest
committed epoch. Its first number depends on the version of Spark: 4.3 counts on from the newest
commit, others from the newest entry in the log of offsets. This driver takes a number that no epoch
had before, because the number is the name of a snapshot.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from snapshots.domain.model.topology import ProcessId
from snapshots.domain.simulators.bounds import Positive, check_whole_numbers


@dataclass(frozen=True, slots=True)
class EpochSettings:
    """When epochs end. Times are in us.

    Attributes:
        interval: the time from the end of one epoch to that of the next.
        poll_interval: how often a reader asks the driver for the number of the epoch.

    Raises: DataflowRefused, with the field, if a value is not possible.
    """

    interval: Positive = 20_000
    poll_interval: Positive = 2_000

    def __post_init__(self) -> None:
        check_whole_numbers(self, "epochs")


@dataclass(frozen=True, slots=True)
class Driver:
    """The state of the driver.

    Attributes:
        readers: the tasks that report offsets.
        writers: the tasks that report what they have written.
        epoch: the epoch that the readers are to work on; all before it have ended.
        committed: the newest committed epoch, or the number before the first one of this attempt.
        committing: the epoch whose commit is being written. None if there is none.
        offsets: the next offset of each reader, by epoch.
        written: the writers that have written an epoch, by epoch.
    """

    readers: frozenset[ProcessId]
    writers: frozenset[ProcessId]
    epoch: int = 0
    committed: int = -1
    committing: int | None = None
    offsets: Mapping[int, Mapping[ProcessId, int]] = field(default_factory=dict)
    written: Mapping[int, frozenset[ProcessId]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class EndEpoch:
    """Let the readers end the epoch when they next ask for its number."""

    epoch: int


@dataclass(frozen=True, slots=True)
class LogOffsets:
    """Write the next offset of each reader into the log of offsets."""

    epoch: int
    offsets: Mapping[ProcessId, int]


@dataclass(frozen=True, slots=True)
class CommitEpoch:
    """Let the sink take over the epoch, then write the epoch into the log of commits."""

    epoch: int


Effect = EndEpoch | LogOffsets | CommitEpoch
Step = tuple[Driver, tuple[Effect, ...]]


def start(readers: frozenset[ProcessId], writers: frozenset[ProcessId]) -> Driver:
    """Return a driver whose first epoch is 0."""
    return Driver(readers, writers)


def on_trigger(driver: Driver) -> Step:
    """End the current epoch; earlier ones may still wait for their commits."""
    return replace(driver, epoch=driver.epoch + 1), (EndEpoch(driver.epoch),)


def on_offset(driver: Driver, reader: ProcessId, epoch: int, offset: int) -> Step:
    """Take a reader's report; with the last one the offsets of the epoch are logged."""
    reported = {**driver.offsets.get(epoch, {}), reader: offset}
    driver = replace(driver, offsets={**driver.offsets, epoch: reported})
    if reported.keys() != driver.readers:
        return driver, ()
    driver, effects = _commit_next(driver)
    return driver, (LogOffsets(epoch, reported), *effects)


def on_written(driver: Driver, writer: ProcessId, epoch: int) -> Step:
    """Take a writer's report; with the last one the epoch can be committed."""
    written = driver.written.get(epoch, frozenset()) | {writer}
    return _commit_next(replace(driver, written={**driver.written, epoch: written}))


def on_committed(driver: Driver, epoch: int) -> Step:
    """Note that the commit is written, and go on with the epoch that follows."""
    offsets = {number: item for number, item in driver.offsets.items() if number > epoch}
    written = {number: item for number, item in driver.written.items() if number > epoch}
    return _commit_next(
        replace(driver, committed=epoch, committing=None, offsets=offsets, written=written)
    )


def on_restart(driver: Driver) -> Driver:
    """Forget all reports, and go on under a number that no epoch had before."""
    fresh = start(driver.readers, driver.writers)
    return replace(fresh, epoch=driver.epoch, committed=driver.epoch - 1)


def _commit_next(driver: Driver) -> Step:
    """Commit the epoch behind the newest committed one if it is whole, one at a time."""
    epoch = driver.committed + 1
    is_whole = (
        driver.offsets.get(epoch, {}).keys() == driver.readers
        and driver.written.get(epoch, frozenset()) == driver.writers
    )
    if driver.committing is not None or not is_whole:
        return driver, ()
    return replace(driver, committing=epoch), (CommitEpoch(epoch),)
