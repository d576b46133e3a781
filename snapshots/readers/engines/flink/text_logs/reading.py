"""Read Flink's text logs, several of them as one, and return what they tell as REST answers.

Each log is read once, line by line. What a message says of epoch milliseconds is taken as it is;
the times of lines have no zone, and are used where a message with both shows the offset.
"""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import orjson

from snapshots.domain.model.defects import times
from snapshots.readers.engines.engine_log import EngineLog, Messages
from snapshots.readers.engines.flink.rest.answers import (
    CHECKPOINT,
    CHECKPOINTS,
    EXCEPTIONS,
    JOB,
    LOG,
    Answer,
)
from snapshots.readers.engines.flink.text_logs import messages
from snapshots.readers.engines.flink.text_logs.story import Failure, Story, reason_of
from snapshots.readers.formats.log_lines import LogAccount, LogLine, age_of

MOST_JOBS = 100
MOST_LOGS = 200
_RETAINED = re.compile(r"(?:^|/)chk-(\d{1,18})/?$")  # the folder of a checkpoint
_MOST_ATTEMPTS = 10_000
_SAME_FAILURE = 5_000  # ms within which a job breaks after its task
_BROKEN = frozenset({"FAILING", "FAILED", "RESTARTING"})


@dataclass
class LogReading:
    """What the logs of Flink's processes tell of jobs.

    Attributes:
        stories: by the id of the job; "" for lines that name none where the logs have no other.
        failed: the failures of tasks that are no job's yet, by attempt, each with the job that was
            named last before it.
        told: the attempts of which a log has told that they failed.
        graphs: the job of each execution graph, which the id of an attempt begins with.
        vertices: the names of vertices by id.
    """

    stories: dict[str, Story] = field(default_factory=dict)
    accounts: list[LogAccount] = field(default_factory=list)
    failed: dict[str, tuple[Failure, str]] = field(default_factory=dict)
    told: dict[str, None] = field(default_factory=dict)
    graphs: dict[str, str] = field(default_factory=dict)
    vertices: dict[str, str] = field(default_factory=dict)

    def tie(self, graph: str, story: Story) -> None:
        """Give the failures of an execution graph to a job."""
        for attempt in [one for one in self.failed if graph_of(one) == graph]:
            failure, _ = self.failed.pop(attempt)
            story.add_failure(failure)

    def close(self) -> None:
        """Give the failures that no job's state followed to their graph's job, or to the last."""
        for attempt, (_, last) in list(self.failed.items()):
            job = self.graphs.get(graph_of(attempt), last)
            if attempt in self.failed and (job in self.stories or len(self.stories) <= MOST_JOBS):
                self.tie(graph_of(attempt), self.stories.setdefault(job, Story(job)))

    def notes(self) -> tuple[str, ...]:
        """Return how far the logs were read, as sentences."""
        cut = [
            f"The logs tell of {times(story.left_out, 'earlier checkpoint')} of job {job}, which "
            "are left out."
            for job, story in self.stories.items()
            if story.left_out
        ]
        return (*(account.sentence() for account in self.accounts), *cut)

    def answers(self) -> dict[str, tuple[Answer, ...]]:
        """Return the answers about each job, by its id."""
        files = ", ".join(account.path for account in self.accounts[:3])
        return {
            job: tuple(_answers(story, files, self.vertices)) for job, story in self.stories.items()
        }


def graph_of(attempt: str) -> str:
    """Return the execution graph that the id of an attempt names; "" before Flink 1.16."""
    return attempt.partition("_")[0] if "_" in attempt else ""


def _answers(story: Story, file: str, vertices: dict[str, str]) -> Iterator[Answer]:
    job = story.job
    about = {"jid": job, "name": story.name, "state": story.state}
    tasks = (dump.get("tasks") for dump in story.dumps)
    unnamed = {id: f"vertex {id[:8]}" for own in tasks if isinstance(own, dict) for id in own}
    yield Answer(LOG, file, {"vertices": unnamed | vertices}, job)
    yield Answer(JOB, file, about, job)
    yield Answer(CHECKPOINTS, file, story.history(), job)
    if story.state is not None or story.checkpoints or story.failures:
        yield Answer(EXCEPTIONS, file, story.exceptions(), job)
    for dump in story.dumps:
        yield Answer(CHECKPOINT, file, dump, job, dump["id"])


def read_logs(root: Path, paths: Iterable[str]) -> LogReading:
    """Read logs below a folder, rotated ones from the oldest to the newest."""
    reading = LogReading()
    for path in sorted(paths, key=age_of)[:MOST_LOGS]:
        reading.accounts.append(_OneLog(reading, path).read(root / path))
    reading.close()
    nameless = reading.stories.get("")
    if nameless is not None and len(reading.stories) > 1:
        del reading.stories[""]
    return reading


class _OneLog(EngineLog):
    """Reads one log of a process of Flink."""

    def __init__(self, reading: LogReading, path: str) -> None:
        super().__init__(path, Messages(messages.PATTERNS, messages.SIGNS))
        self.reading = reading
        self.current = next(reversed(reading.stories), "")
        self.recent: dict[str, None] = {}  # graphs of which a task failed since a job broke

    def told(self, kind: str, match: re.Match[str], line: LogLine) -> None:
        fields = match.groupdict()
        if kind == messages.NAMED:
            self.account.told -= 1  # it tells a name, and nothing that happened
            self._vertex(fields["task"], fields["attempt"])
            return
        if kind == messages.TASK:
            self._task(fields, line)
            return
        story = self._story(fields.get("job") or fields.get("job2"))
        if story is None:
            return
        place = self.place(line)
        number = int(fields.get("id") or fields.get("id2") or 0)
        if kind == messages.TRIGGERED:
            self.clock.anchor(line, int(fields["at"]))
            story.triggered(number, fields, place)
        elif kind == messages.COMPLETED:
            story.completed(number, fields, place)
        elif kind == messages.EXPIRED:
            reason = "Checkpoint expired before completing."
            story.failed(number, self.clock.at(line), place, reason)
        elif kind == messages.DECLINED:
            story.failed(number, self.clock.at(line), place, None)
            self._expect_reason(story, number, line)
        elif kind == messages.FAILED:
            story.failed(number, self.clock.at(line), place, fields.get("reason"))
            self._expect_reason(story, number, line)
        elif kind == messages.RESTORED:
            self._restored(story, fields, line, place)
        elif kind == messages.STATE:
            self._state(story, fields, line, place)
        elif kind == messages.STARTING:
            self._starting(story, fields, line, place)
        elif kind == messages.RESET:
            story.reset(number)
        elif kind == messages.DUMP:
            self._dump(story, fields, line.text[match.start("json") :], place)

    def _story(self, job: str | None) -> Story | None:
        """Return the story of a job, or that of the job named last; None for too many jobs."""
        key = job or self.current
        if key not in self.reading.stories:
            if len(self.reading.stories) > MOST_JOBS:
                return None
            self.reading.stories[key] = Story(key)
        self.current = key
        return self.reading.stories[key]

    def _expect_reason(self, story: Story, number: int, line: LogLine) -> None:
        """Take the reason from the stack trace, which begins on the next line if there is one."""
        known = story.checkpoint(number, "")
        known["places"] = [place for place in known["places"] if place]

        def take(following: LogLine) -> bool:
            if not known.get("failure_message") and (reason := reason_of(following)):
                known["failure_message"] = reason[:1000]
            return False

        if line.trace:
            take(LogLine(line.number, line.trace.partition("\n")[0], False))
        else:
            self.trace = take

    def _restored(self, story: Story, fields: dict[str, Any], line: LogLine, place: str) -> None:
        path = (fields["path"] or "").rstrip(".") or None
        # Flink calls a retained checkpoint a savepoint when a job starts from it.
        is_savepoint = fields["kind"] == "Savepoint" and not _RETAINED.search(path or "")
        story.restored(int(fields["id"]), self.clock.at(line), path, place, is_savepoint)

    def _starting(self, story: Story, fields: dict[str, Any], line: LogLine, place: str) -> None:
        """Take that a job starts from a savepoint, or from a checkpoint that was retained."""
        path = fields["path"].rstrip("/.")
        checkpoint = _RETAINED.search(path)
        number = int(checkpoint[1]) if checkpoint else 0
        story.restored(number, self.clock.at(line), path, place, not checkpoint, is_start=True)

    def _state(self, story: Story, fields: dict[str, Any], line: LogLine, place: str) -> None:
        story.name, story.state = fields["name"], fields["new"]
        if fields["new"] not in _BROKEN:
            return
        if self.recent:
            graph = next(iter(self.recent))
            del self.recent[graph]
            if graph:
                self.reading.graphs[graph] = story.job
            self.reading.tie(graph, story)
            return
        if fields["old"] in _BROKEN:
            return
        at = self.clock.at(line)
        last = story.failures[-1].at if story.failures else None
        if last is None or at is None or last < at - _SAME_FAILURE:
            self.expect_trace(story.add_failure(Failure(place, at, None)).trace, line)

    def _task(self, fields: dict[str, Any], line: LogLine) -> None:
        """Take the failure of a task, which names no job: the job that breaks next is its job."""
        attempt, reading = fields["attempt"], self.reading
        named = self._vertex(fields["task"], attempt)
        self.recent[graph_of(attempt)] = None
        if attempt in reading.told:
            return
        if len(reading.told) >= _MOST_ATTEMPTS:
            del reading.told[next(iter(reading.told))]
        reading.told[attempt] = None
        failure = Failure(self.place(line), self.clock.at(line), named)
        if len(reading.failed) < _MOST_ATTEMPTS:
            reading.failed[attempt] = failure, self.current
        self.expect_trace(failure.trace, line)

    def _vertex(self, named: str, attempt: str) -> str:
        """Return the name of a subtask, such as ``map[1]``, and keep that of its vertex."""
        task = re.sub(r" \(\d+/\d+\)(?:#\d+)?$", "", named)
        subtask = re.search(r"\((\d+)/\d+\)(?:#\d+)?$", named)
        parts = attempt.split("_")
        if len(parts) == 4 and len(self.reading.vertices) < _MOST_ATTEMPTS:
            self.reading.vertices[parts[1]] = task
        return f"{task}[{int(subtask[1]) - 1}]" if subtask else task

    def _dump(self, story: Story, fields: dict[str, Any], text: str, place: str) -> None:
        story.name = story.name or fields["name"] or None
        try:
            value = orjson.loads(text)
        except orjson.JSONDecodeError:
            return
        is_one = isinstance(value, dict) and type(value.get("id")) is int
        if is_one:
            story.add_dump(value | {"places": [place]}, len(text))
