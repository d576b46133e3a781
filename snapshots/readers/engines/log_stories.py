"""What the lines of an engine's logs tell of one job, and the upload that this makes.

Flink's logs have stories of their own, in the form of its REST answers.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field

from snapshots.domain.answering.job_report import CHECKPOINTS, EXCEPTIONS, JobFailure, JobReport
from snapshots.domain.answering.job_report import JobRestore as Restore
from snapshots.domain.inventory.model import (
    COMPLETED,
    FAILED,
    IN_PROGRESS,
    UNKNOWN,
    CheckpointInventory,
    Fact,
    JobInventory,
)
from snapshots.domain.inventory.restore_check import NO_FILES, Findings
from snapshots.domain.model.defects import times
from snapshots.domain.model.derived import NOT_TOLD, WHY_UNKNOWN
from snapshots.readers.engines.told import Told, ToldUpload
from snapshots.readers.formats.log_lines import LogAccount
from snapshots.readers.formats.stack_traces import first_cause, shortened

MOST_CHECKPOINTS = 500  # of a job; the first of more are left out
MOST_FAILURES = 200
MOST_JOBS = 100
MOST_LINES = 5  # places of a log that are named for a checkpoint
LOG = "log of a process"
FROM_LOG = Fact("from", "log")
ONLY_LOG = "Only a log tells of it."
NO_END = "The log has no line that says how it ended."


@dataclass
class LoggedFailure:
    """A failure that a log tells of.

    Attributes:
        at: epoch ms. None if the log does not tell.
        trace: the lines behind it, of which the first has the exception.
    """

    place: str
    at: int | None
    task: str | None = None
    trace: list[str] = field(default_factory=list)

    def as_failure(self) -> JobFailure:
        """Return it with the class and the message of its exception."""
        text = "\n".join(self.trace)
        name, message = first_cause(text)
        return JobFailure(self.at, name, message, self.task, shortened(text), self.place)


@dataclass
class LoggedCheckpoint:
    """A checkpoint, or a batch, that a log tells of.

    Attributes:
        pipeline: the pipeline of the checkpoint. None if the engine has none.
        begun, ended: when it began and ended by the log's own clock, in ms.
        triggered_at, ended_at: the same in epoch ms. None where the zone is not known.
        places: the lines that tell of it.
    """

    number: int
    kind: str
    pipeline: int | None = None
    status: str = UNKNOWN
    begun: int | None = None
    ended: int | None = None
    triggered_at: int | None = None
    ended_at: int | None = None
    places: list[str] = field(default_factory=list)
    failure: str | None = None
    facts: tuple[Fact, ...] = ()
    phases: dict[str, int] = field(default_factory=dict)

    @property
    def duration(self) -> int | None:
        """Return how many ms it took by the log's clock; None if the log does not tell."""
        if self.begun is None or self.ended is None or self.ended < self.begun:
            return None
        return self.ended - self.begun


@dataclass
class LogStory:
    """What logs tell of one job or query.

    Attributes:
        state: the last state of the job that the log has, in lower case. None if it has none.
        starts, restarts: the places of the lines that say that it was started, or once more.
        left_out: how many checkpoints there were before those that are kept.
    """

    key: str
    name: str | None = None
    state: str | None = None
    checkpoints: dict[tuple[int | None, int], LoggedCheckpoint] = field(default_factory=dict)
    left_out: int = 0
    starts: list[str] = field(default_factory=list)
    restarts: list[str] = field(default_factory=list)
    restores: list[Restore] = field(default_factory=list)
    failures: list[LoggedFailure] = field(default_factory=list)
    has_more_failures: bool = False
    facts: dict[str, Fact] = field(default_factory=dict)

    @property
    def told_key(self) -> str:
        """Return the key of what logs tell of the job, which differs from that of its files."""
        return f"log of {self.key}"

    def checkpoint(
        self, number: int, place: str, kind: str, pipeline: int | None = None
    ) -> LoggedCheckpoint:
        """Return what is known of a checkpoint, with one more line that tells of it."""
        key = pipeline, number
        if key not in self.checkpoints:
            if len(self.checkpoints) >= MOST_CHECKPOINTS:
                del self.checkpoints[next(iter(self.checkpoints))]
                self.left_out += 1
            self.checkpoints[key] = LoggedCheckpoint(number, kind, pipeline)
        known = self.checkpoints[key]
        if len(known.places) < MOST_LINES and place not in known.places:
            known.places.append(place)
        return known

    def failed(self, failure: LoggedFailure) -> LoggedFailure:
        """Note a failure; of too many the first are dropped."""
        if len(self.failures) >= MOST_FAILURES:
            self.failures.pop(0)
            self.has_more_failures = True
        self.failures.append(failure)
        return failure

    def report(self) -> JobReport:
        """Return what the first answer says of the job."""
        return JobReport(
            key=self.told_key,
            state=self.state,
            answers=(CHECKPOINTS, EXCEPTIONS),
            counts={
                "started": len(self.starts),
                "restarted": len(self.restarts),
                "restored": len(self.restores),
                "total": self.left_out + len(self.checkpoints),
            },
            failures=tuple(failure.as_failure() for failure in self.failures),
            has_more_failures=self.has_more_failures,
            restore=self.restores[-1] if self.restores else None,
            is_of_log=True,
        )


def told_by_logs(
    engine: str,
    stories: Iterable[LogStory],
    accounts: Iterable[LogAccount],
    sizes: dict[str, int],
) -> ToldUpload:
    """Return the upload that logs make.

    Args:
        accounts: how far each log was read.
        sizes: the sizes of all files of the upload.
    """
    stories, accounts = list(stories), list(accounts)
    notes = [account.sentence() for account in accounts]
    notes += [
        f"The logs have {times(story.left_out, 'earlier checkpoint')} of {story.key or 'a job'}, "
        "which are left out."
        for story in stories
        if story.left_out
    ]
    return ToldUpload(
        engine,
        tuple(
            JobInventory(story.told_key, story.name, (FROM_LOG, *story.facts.values()))
            for story in stories
        ),
        tuple(
            _told(story, number if len(stories) > 1 else None, one)
            for number, story in enumerate(stories, 1)
            for one in sorted(story.checkpoints.values(), key=_order)
        ),
        {account.path: LOG for account in accounts},
        sizes,
        tuple(notes),
        reports=tuple(story.report() for story in stories),
    )


def _order(one: LoggedCheckpoint) -> tuple[int, int]:
    return one.number, one.pipeline or 0


def _told(story: LogStory, job: int | None, one: LoggedCheckpoint) -> Told:
    findings = Findings()
    if one.status == FAILED:
        findings.refute("It failed, so that there is nothing to restore.")
    else:
        findings.doubt(NO_FILES)
    facts = [Fact("told by the lines", ", ".join(one.places)), *one.facts]
    if one.pipeline is not None:
        facts.append(Fact("pipeline", one.pipeline))
    if one.duration is not None:
        facts.append(Fact("took by the log's clock", one.duration, unit="ms"))
    if one.failure:
        facts.append(Fact("failure", one.failure))
    parts = [
        "log",
        *([f"job {job}"] if job is not None else []),
        *([f"pipeline {one.pipeline}"] if one.pipeline is not None else []),
    ]
    item = CheckpointInventory(
        job=story.told_key,
        id=one.number,
        kind=one.kind,
        status=one.status,
        triggered_at=one.triggered_at,
        completed_at=one.ended_at if one.status == COMPLETED else None,
        facts=tuple(facts),
        problem=NO_END if one.status in (UNKNOWN, IN_PROGRESS) else ONLY_LOG,
        snapshot=f"{one.number} ({', '.join(parts)})",
        why_unknown=WHY_UNKNOWN[NOT_TOLD],
        why_state_unknown=ONLY_LOG,
        phases=one.phases,
    )
    return Told(item, findings)
