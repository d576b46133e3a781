"""Read the logs of Spark's drivers: when queries started, ran batches, failed and stopped.

Read off the log statements of MicroBatchExecution, StreamExecution, ProgressReporter and
CheckpointFileManager of Spark 3.5 to 4.3; docs/formats/engine-logs.md has the table.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path

from snapshots.domain.answering.job_report import JobRestore
from snapshots.domain.inventory.model import COMPLETED, IN_PROGRESS, UNKNOWN_ID, Fact
from snapshots.readers.engines.engine_log import EngineLog, messages
from snapshots.readers.engines.log_stories import MOST_JOBS, LoggedFailure, LogStory
from snapshots.readers.engines.spark_streaming.documents import NotReadable, parse_object
from snapshots.readers.engines.spark_streaming.limits import SparkLimits
from snapshots.readers.engines.spark_streaming.progress import Progress, facts_of, progress_of
from snapshots.readers.formats.log_lines import LogAccount, LogLine, age_of

BATCH = "batch"
MOST_LOGS = 200
NAMELESS = "a query"
_MOST_REPORT = 2_000  # lines of a progress report
_UUID = r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}"
_QUERY = rf"(?:(?P<name>[^\[\]]{{1,300}}) )?\[id = (?P<query>{_UUID}), runId = {_UUID}\]"
_ID = r"(?P<id>\d{1,18})"
STARTED, RESUMED, PLANNED, WRITTEN, REPORT, FAILED, STOPPED, VERSION = (
    "started", "resumed", "planned", "written", "report", "failed", "stopped", "version",
)  # fmt: skip
MESSAGES = messages(
    (
        STARTED,
        r"Starting .{0,400}\[id = ",
        rf"Starting {_QUERY}\. Use (?P<folder>\S{{1,2000}}) to store the query checkpoint",
    ),
    (RESUMED, r"Resuming at batch \d", rf"Resuming at batch {_ID} with committed offsets"),
    (
        PLANNED,
        r"Committed offsets for batch \d",
        rf"Committed offsets for batch {_ID}\s?\."
        r"(?: Metadata OffsetSeqMetadata(?:V\d)?\(\d{1,18},(?P<at>\d{13}),)?",
    ),
    (
        WRITTEN,
        r"/(?:offsets|commits)/\d{1,18}\s*$",
        rf"Renamed temp file \S{{1,2000}} to (?P<folder>\S{{1,2000}})/"
        rf"(?P<log>offsets|commits)/{_ID}$",
    ),
    (REPORT, r"Streaming query made progress", r"Streaming query made progress: ?(?P<json>\{.*)?"),
    (FAILED, r"terminated with error", rf"Query {_QUERY} terminated with error"),
    (STOPPED, r"\] was stopped", rf"Query {_QUERY} was stopped"),
    (VERSION, r"Running Spark version", r"Running Spark version (?P<version>\S{1,40})"),
    start=r"(?:^|: |- |\] |\t)",
)
_LOGGERS = (
    "SparkContext|SparkEnv|MicroBatchExecution|ContinuousExecution|StreamExecution|OffsetSeqLog|"
    "CommitLog|CheckpointFileManager|StateStore|StateStoreCoordinator|DAGScheduler|TaskSetManager|"
    "TaskSchedulerImpl|BlockManagerInfo|MemoryStore|ProgressReporter|StateStoreCoordinatorRef|"
    "MicroBatchExecutionContext|IncrementalExecution"
)
_OF_SPARK = re.compile(
    rf"(?m)^[^\n]{{0,120}}\b(?:INFO|WARN|ERROR|DEBUG)\b[^\n]{{0,120}}(?:\borg\.apache\.spark\."
    rf"|\b(?:{_LOGGERS})(?:: |(?::\d{{1,6}})?\s{{0,20}}(?:\[[^\]\n]{{0,60}}\]\s{{0,5}})?- ))"
    rf"|^\{{\"ts\":\"[^\n]{{0,4000}}\"logger\":\"(?:org\.apache\.spark\.|(?:{_LOGGERS})\")".encode()
)


def begins_as_driver_log(start: bytes) -> bool:
    """Tell whether a text with this beginning is a log of Spark's, by the names of its loggers."""
    return b"\x00" not in start[:1024] and _OF_SPARK.search(start) is not None


@dataclass
class LogReading:
    """What the logs of drivers tell of queries.

    Attributes:
        stories: by the id of the query; NAMELESS for lines that name none.
        folders: the id of the query by its checkpoint directory.
    """

    stories: dict[str, LogStory] = field(default_factory=dict)
    folders: dict[str, str] = field(default_factory=dict)
    accounts: list[LogAccount] = field(default_factory=list)
    current: str = ""

    def story(self, query: str) -> LogStory | None:
        """Return the story of a query; None for too many queries."""
        if query not in self.stories:
            if len(self.stories) >= MOST_JOBS:
                return None
            story = self.stories[query] = LogStory(query)
            if query.startswith(NAMELESS):
                story.facts["id"] = UNKNOWN_ID
        self.current = query
        return self.stories[query]


def read_logs(root: Path, paths: Iterable[str], limits: SparkLimits) -> LogReading:
    """Read logs below a folder, rotated ones from the oldest to the newest."""
    reading = LogReading()
    for path in sorted(paths, key=age_of)[:MOST_LOGS]:
        reading.accounts.append(_DriverLog(path, reading, limits).read(root / path))
    return reading


class _DriverLog(EngineLog):
    """Reads one log of a driver.

    Most lines name no query. That of a checkpoint file has the folder of its query; a line without
    one is of the query whose file was written last, or that was named last.
    """

    def __init__(self, path: str, reading: LogReading, limits: SparkLimits) -> None:
        super().__init__(path, MESSAGES)
        self._reading = reading
        self._limits = limits
        self._version: str | None = None

    def told(self, kind: str, match: re.Match[str], line: LogLine) -> None:
        fields = match.groupdict()
        if kind == VERSION:
            self._version = fields["version"]
            return
        if kind == REPORT:
            self._report(fields["json"] or "", line)
            return
        story = self._story(fields)
        if story is None:
            return
        if fields.get("name"):
            story.name = fields["name"]
        if self._version is not None:
            story.facts["version"] = Fact("Spark", self._version)
        if kind == STARTED:
            story.starts.append(self.place(line))
            story.state = "running"
            self._reading.folders[_path(fields["folder"])] = story.key
        elif kind == RESUMED:
            place, at = self.moment(line)
            story.restores.append(JobRestore(int(fields["id"]), at, False, None, place))
        elif kind in (PLANNED, WRITTEN):
            self._batch(story, fields, line)
        elif kind == FAILED:
            story.state = "failed"
            failure = story.failed(LoggedFailure(*self.moment(line)))
            self.expect_trace(failure.trace, line)
        elif kind == STOPPED:
            story.state = "stopped"

    def _story(self, fields: dict[str, str | None]) -> LogStory | None:
        """Return the story of the query that a line names, or of the one named last."""
        if query := fields.get("query"):
            return self._reading.story(query)
        folder = fields.get("folder")
        if folder is not None:
            known = self._reading.folders.get(_path(folder))
            return self._reading.story(known or f"{NAMELESS}: {_path(folder)}")
        return self._reading.story(self._reading.current or NAMELESS)

    def _batch(self, story: LogStory, fields: dict[str, str | None], line: LogLine) -> None:
        batch = story.checkpoint(int(fields["id"] or 0), self.place(line), BATCH)
        own_time, _ = line.time()
        if fields.get("log") == "commits":
            batch.status = COMPLETED
            batch.ended, batch.ended_at = own_time, self.clock.at(line)
            return
        if batch.status != COMPLETED:
            batch.status = IN_PROGRESS
        if (at := fields.get("at")) is not None:
            self.clock.anchor(line, int(at))
            batch.triggered_at = int(at)
        if batch.begun is None:
            batch.begun = own_time

    def _report(self, begun: str, line: LogLine) -> None:
        """Take a progress report, which is one line or ends with a line of one brace."""
        lines = [begun]
        if begun.rstrip().endswith("}") and self._take(begun, line):
            return

        def take(following: LogLine) -> bool:
            lines.append(following.text)
            if following.text == "}":
                self._take("\n".join(lines), line)
                return False
            return len(lines) < _MOST_REPORT

        self.trace = take

    def _take(self, text: str, line: LogLine) -> bool:
        try:
            report = progress_of(parse_object(text, self._limits.depth))
        except NotReadable:
            return False
        story = self._reading.story(report.query or self._reading.current or NAMELESS)
        if story is not None:
            story.name = report.name or story.name
            if not report.idle:
                self._reported(story, report, line)
        return True

    def _reported(self, story: LogStory, report: Progress, line: LogLine) -> None:
        batch = story.checkpoint(report.batch, self.place(line), BATCH)
        batch.status = COMPLETED
        batch.triggered_at = report.triggered_at_ms
        batch.ended_at = report.finished_at_ms or batch.ended_at
        if report.triggered_at_ms is not None and report.took_ms is not None:
            batch.begun, batch.ended = 0, report.took_ms
        batch.facts = tuple(facts_of(report))
        batch.phases = report.durations_ms


def _path(folder: str | None) -> str:
    """Return a folder without its scheme, which lines give it or not."""
    return re.sub(r"^[a-z0-9+.-]{1,20}:/*", "/", folder or "").rstrip("/")
