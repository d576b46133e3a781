"""Read the logs of SeaTunnel's engine: checkpoints, failures, restores and restarts.

Read off the log statements of CheckpointCoordinator, CheckpointManager, SubPlan, PhysicalVertex and
PhysicalPlan of Zeta 2.3; docs/formats/engine-logs.md has the table. Their times have no zone.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path

from snapshots.domain.answering.job_report import JobRestore
from snapshots.domain.inventory.model import COMPLETED, FAILED, IN_PROGRESS, UNKNOWN_ID
from snapshots.readers.engines.engine_log import EngineLog, messages
from snapshots.readers.engines.log_stories import (
    MOST_JOBS,
    LoggedCheckpoint,
    LoggedFailure,
    LogStory,
)
from snapshots.readers.formats.log_lines import LogAccount, LogLine, age_of

CHECKPOINT, SAVEPOINT = "checkpoint", "savepoint"
MOST_LOGS = 200
NAMELESS = "a job"
_MOST_PENDING = 1_000  # checkpoints of a job that have begun and not ended
_EXPIRED = "Checkpoint expired before completing."
_NORMAL = ("CheckpointCoordinator completed", "Pipeline turn to end state")
_ID, _PIPELINE, _JOB = r"(?P<id>\d{1,18})", r"(?P<pipeline>\d{1,9})", r"(?P<job>\d{1,19})"
_NAMED = rf"Job (?P<name>.{{1,300}}?) \({_JOB}\)"
_OF_PIPELINE = rf"{_NAMED}, Pipeline: \[\({_PIPELINE}/\d{{1,9}}\)\]"
(INIT, BEGUN, DONE, TIMED, EXPIRED, CLEANED, RESTORED, FROM_SAVEPOINT, JOB_STATE, PIPELINE_STATE,
 RESTART, TASK, ERROR) = (
    "init", "begun", "done", "timed", "expired", "cleaned", "restored", "from savepoint",
    "job state", "pipeline state", "restart", "task", "error",
)  # fmt: skip
MESSAGES = messages(
    (INIT, r"Init JobMaster for Job ", rf"Init JobMaster for {_NAMED}"),
    (BEGUN, r"wait checkpoint completed: \d", rf"wait checkpoint completed: {_ID}\s*$"),
    (
        DONE,
        r"\) notify finished!",
        rf"pending checkpoint\({_ID}/{_PIPELINE}@{_JOB}\) notify finished!",
    ),
    (
        TIMED,
        r"\) completed! cost: \d",
        rf"pending checkpoint\({_ID}/{_PIPELINE}@{_JOB}\) completed! cost: (?P<took>\d{{1,18}}), "
        r"trigger: (?P<began>\d{13}), completed: (?P<ended>\d{13})",
    ),
    (
        EXPIRED,
        r"timeout checkpoint: \d",
        rf"timeout checkpoint: {_JOB}/{_PIPELINE}/{_ID}(?:, (?P<type>\w{{1,60}}))?",
    ),
    (
        CLEANED,
        r"start clean pending checkpoint cause ",
        r"start clean pending checkpoint cause (?P<reason>.{1,300})",
    ),
    (
        RESTORED,
        r"\) with checkpoint\(\d",
        rf"Restore job\({_PIPELINE}@{_JOB}\) with checkpoint\({_ID}\)",
    ),
    (
        FROM_SAVEPOINT,
        r"start with savePoint on checkPointId",
        rf"pipeline\({_PIPELINE}\) start with savePoint on checkPointId\({_ID}\)",
    ),
    (
        TASK,
        r"end with state FAILED and Exception: ",
        rf"{_OF_PIPELINE}, task: \[(?P<task>.{{1,500}}?)\](?:, taskGroupLocation: \[.{{1,500}}\])? "
        r"end with state FAILED and Exception: (?P<exception>.{0,2000})",
    ),
    (
        PIPELINE_STATE,
        r"Pipeline: \[\(\d{1,9}/\d{1,9}\)\] turned from state ",
        rf"{_OF_PIPELINE} turned from state \w{{1,40}} to (?P<new>\w{{1,40}})",
    ),
    (
        JOB_STATE,
        r"\) turned from state ",
        rf"{_NAMED} turned from state \w{{1,40}} to (?P<new>\w{{1,40}})",
    ),
    (RESTART, r"Restore time \d", rf"Restore time \d{{1,9}}, pipeline {_OF_PIPELINE}"),
    (ERROR, r"\) run error with: ", rf"{_NAMED} run error with: (?P<exception>.{{0,2000}})"),
    start=r"(?:^|- |: |\] )",
)
_OF_SEATUNNEL = re.compile(
    rb"(?m)^[^\n]{0,120}\b(?:INFO|WARN|ERROR|DEBUG)\b[^\n]{0,200}(?:org\.apache\.seatunnel\.|"
    rb"\bseatunnel-coordinator-service|\[o\.a\.s\.[^\]\n]{1,40}\] \[|\.s\.e\.s\.[^\]\n]{1,40}\] \[|"
    rb"\bST-\w{1,40}-ENGINE)"
)
_PREFIX = re.compile(r"^\[(\d{1,19})\] ")  # the job, as the engine's layout writes it first


def begins_as_engine_log(start: bytes) -> bool:
    """Tell whether a text with this beginning is a log of SeaTunnel's engine, by its loggers."""
    return b"\x00" not in start[:1024] and _OF_SEATUNNEL.search(start) is not None


@dataclass
class LogReading:
    """What the engine's logs tell of jobs.

    Attributes:
        stories: by the id of the job; NAMELESS for lines that name none.
        pending: of each job the checkpoints that have begun: when, and in which line.
        savepoints: pipelines and numbers of the savepoints with which a job starts.
        broken: the jobs that have failed and have not gone on.
    """

    stories: dict[str, LogStory] = field(default_factory=dict)
    accounts: list[LogAccount] = field(default_factory=list)
    pending: dict[str, dict[int, list[tuple[LogLine, str]]]] = field(default_factory=dict)
    savepoints: set[tuple[int, int]] = field(default_factory=set)
    broken: set[str] = field(default_factory=set)
    current: str = ""

    def story(self, job: str) -> LogStory | None:
        """Return the story of a job; None for too many jobs."""
        if job not in self.stories:
            if len(self.stories) >= MOST_JOBS:
                return None
            story = self.stories[job] = LogStory(job)
            if job == NAMELESS:
                story.facts["id"] = UNKNOWN_ID
        self.current = job
        return self.stories[job]

    def begun(self, job: str, number: int) -> tuple[LogLine, str] | None:
        """Take the line in which a checkpoint began, if there is one."""
        pending = self.pending.get(job, {})
        lines = pending.get(number)
        if not lines:
            return None
        first = lines.pop(0)
        if not lines:
            del pending[number]
        return first

    def close(self) -> None:
        """Note the checkpoints that have begun and of which no line says how they ended.

        Lines that name no job are of the only job that is named.
        """
        if NAMELESS in self.stories and len(self.stories) == 2:
            del self.stories[NAMELESS]
            (only,) = self.stories
            nameless = self.pending.pop(NAMELESS, {})
            self.pending[only] = nameless | self.pending.get(only, {})
        for job, pending in self.pending.items():
            story = self.stories[job]
            for number, lines in pending.items():
                for line, place in lines:
                    known = story.checkpoint(number, place, CHECKPOINT, only_pipeline(story))
                    known.begun = line.time()[0] if known.begun is None else known.begun
                    if known.status not in (COMPLETED, FAILED):
                        known.status = IN_PROGRESS
            pending.clear()


def only_pipeline(story: LogStory) -> int | None:
    """Return the pipeline of a job that has one, as far as the log tells; None otherwise."""
    pipelines = {pipeline for pipeline, _ in story.checkpoints if pipeline is not None}
    return pipelines.pop() if len(pipelines) == 1 else None


def read_logs(root: Path, paths: Iterable[str]) -> LogReading:
    """Read logs below a folder, rotated ones from the oldest to the newest."""
    reading = LogReading()
    for path in sorted(paths, key=age_of)[:MOST_LOGS]:
        reading.accounts.append(_EngineLog(path, reading).read(root / path))
    reading.close()
    return reading


class _EngineLog(EngineLog):
    """Reads one log. A line that names no job is of the job that was named last."""

    def __init__(self, path: str, reading: LogReading) -> None:
        super().__init__(path, MESSAGES)
        self._reading = reading

    def told(self, kind: str, match: re.Match[str], line: LogLine) -> None:
        fields = match.groupdict()
        prefix = _PREFIX.match(line.text)
        job = fields.get("job") or (prefix[1] if prefix else None)
        story = self._reading.story(job or self._reading.current or NAMELESS)
        if story is None:
            return
        if fields.get("name"):
            story.name = fields["name"]
        number, pipeline = int(fields.get("id") or 0), int(fields.get("pipeline") or 0)
        if kind == INIT:
            story.starts.append(self.place(line))
        elif kind == BEGUN:
            self._begun(story, number, line)
        elif kind in (DONE, TIMED):
            self._done(story, number, pipeline, fields, line)
        elif kind == EXPIRED:
            self._failed(story, number, pipeline, _EXPIRED, line)
        elif kind == CLEANED:
            self._cleaned(story, fields["reason"] or "", line)
        elif kind == FROM_SAVEPOINT:
            self._reading.savepoints.add((pipeline, number))
        elif kind == RESTORED:
            is_savepoint = (pipeline, number) in self._reading.savepoints
            place, at = self.moment(line)
            story.restores.append(JobRestore(number, at, is_savepoint, None, place))
        elif kind == JOB_STATE:
            story.state = (fields["new"] or "").lower().replace("_", " ")
        elif kind == RESTART:
            story.restarts.append(self.place(line))
            self._reading.broken.discard(story.key)
        else:
            self._broken(kind, story, fields, line)

    def _begun(self, story: LogStory, number: int, line: LogLine) -> None:
        pending = self._reading.pending.setdefault(story.key, {})
        if len(pending) < _MOST_PENDING and len(lines := pending.setdefault(number, [])) < 10:
            lines.append((line, self.place(line)))

    def _checkpoint(
        self, story: LogStory, number: int, pipeline: int, line: LogLine
    ) -> LoggedCheckpoint:
        """Return a checkpoint with the lines in which it began and ended."""
        begun = self._reading.begun(story.key, number)
        if begun is not None:
            known = story.checkpoint(number, begun[1], CHECKPOINT, pipeline)
            known.begun, known.triggered_at = begun[0].time()[0], self.clock.at(begun[0])
        known = story.checkpoint(number, self.place(line), CHECKPOINT, pipeline)
        if (pipeline, number) in self._reading.savepoints:
            known.kind = SAVEPOINT
        return known

    def _done(
        self,
        story: LogStory,
        number: int,
        pipeline: int,
        fields: dict[str, str | None],
        line: LogLine,
    ) -> None:
        known = self._checkpoint(story, number, pipeline, line)
        known.status = COMPLETED
        if fields.get("ended"):
            began, ended = int(fields["began"] or 0), int(fields["ended"] or 0)
            self.clock.anchor(line, ended)
            known.triggered_at, known.ended_at = began, ended
            known.begun, known.ended = began, ended
        elif known.ended is None:
            known.ended, known.ended_at = line.time()[0], self.clock.at(line)

    def _failed(
        self, story: LogStory, number: int, pipeline: int, reason: str, line: LogLine
    ) -> None:
        known = self._checkpoint(story, number, pipeline, line)
        if known.status != COMPLETED:
            known.status, known.failure = FAILED, reason
            known.ended, known.ended_at = line.time()[0], self.clock.at(line)

    def _cleaned(self, story: LogStory, reason: str, line: LogLine) -> None:
        """Give up what is pending, where the log tells of one pipeline: the line names none."""
        if reason.startswith(_NORMAL):
            return
        pipeline = only_pipeline(story)
        pending = self._reading.pending.get(story.key, {})
        if pipeline is None:
            return
        for number in [number for number, lines in pending.items() if lines]:
            self._failed(story, number, pipeline, reason, line)

    def _broken(
        self, kind: str, story: LogStory, fields: dict[str, str | None], line: LogLine
    ) -> None:
        """Take the failure of a task, of a pipeline or of the job: the first until it goes on."""
        if kind == PIPELINE_STATE and fields["new"] == "RUNNING":
            self._reading.broken.discard(story.key)
        is_failure = kind != PIPELINE_STATE or fields["new"] in ("FAILING", "FAILED")
        if not is_failure or story.key in self._reading.broken:
            return
        self._reading.broken.add(story.key)
        failure = story.failed(LoggedFailure(*self.moment(line), task=fields.get("task")))
        if exception := fields.get("exception"):
            failure.trace.append(exception)
        if kind != PIPELINE_STATE:
            self.expect_trace(failure.trace, line)
