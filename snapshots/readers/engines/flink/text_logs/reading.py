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
    Answer,
)
from snapshots.readers.engines.flink.text_logs import messages
from snapshots.readers.engines.flink.text_logs.story import Failure, Story, reason_of
from snapshots.readers.formats.log_lines import LogAccount, LogLine, age_of

LOG = "log"
"""The kind of an answer that only says that a log tells of the job."""

MOST_JOBS = 100
MOST_LOGS = 200
MOST_DUMPS = 2_000
_SAME_FAILURE = 5_000  # ms within which a job breaks after its task
_BROKEN = frozenset({"FAILING", "FAILED", "RESTARTING"})


@dataclass
class LogReading:
    """What logs tell.

    Attributes:
        stories: by the id of the job; "" for lines that name none where the logs have no other.
    """

    stories: dict[str, Story] = field(default_factory=dict)
    accounts: list[LogAccount] = field(default_factory=list)

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
        return {job: tuple(_answers(story, files)) for job, story in self.stories.items()}


def _answers(story: Story, file: str) -> Iterator[Answer]:
    job = story.job
    about = {"jid": job, "name": story.name, "state": story.state}
    yield Answer(LOG, file, {}, job)
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
    nameless = reading.stories.get("")
    if nameless is not None and len(reading.stories) > 1:
        del reading.stories[""]
    return reading


class _OneLog(EngineLog):
    """The reading of one log."""

    def __init__(self, reading: LogReading, path: str) -> None:
        super().__init__(path, Messages(messages.PATTERNS, messages.SIGNS))
        self.reading = reading
        self.current = next(reversed(reading.stories), "")

    def told(self, kind: str, match: re.Match[str], line: LogLine) -> None:
        fields = match.groupdict()
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
        elif kind == messages.TASK:
            self._task(story, fields, line, place)
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
        story.restores.append(
            {
                "id": int(fields["id"]),
                "restore_timestamp": self.clock.at(line),
                "is_savepoint": fields["kind"] == "Savepoint",
                "external_path": (fields["path"] or "").rstrip(".") or None,
                "place": place,
            }
        )

    def _state(self, story: Story, fields: dict[str, Any], line: LogLine, place: str) -> None:
        story.name, story.state = fields["name"], fields["new"]
        if fields["new"] not in _BROKEN:
            return
        at = self.clock.at(line)
        last = story.failures[-1].at if story.failures else None
        if last is None or at is None or last < at - _SAME_FAILURE:
            self.expect_trace(story.add_failure(Failure(place, at, None, "")).trace, line)

    def _task(self, story: Story, fields: dict[str, Any], line: LogLine, place: str) -> None:
        task = re.sub(r" \(\d+/\d+\)(?:#\d+)?$", "", fields["task"])
        subtask = re.search(r"\((\d+)/\d+\)(?:#\d+)?$", fields["task"])
        named = f"{task}[{int(subtask[1]) - 1}]" if subtask else task
        failure = story.task_failed(named, fields["attempt"], place, self.clock.at(line))
        if failure is not None:
            self.expect_trace(failure.trace, line)

    def _dump(self, story: Story, fields: dict[str, Any], text: str, place: str) -> None:
        story.name = story.name or fields["name"] or None
        try:
            value = orjson.loads(text)
        except orjson.JSONDecodeError:
            return
        is_one = isinstance(value, dict) and type(value.get("id")) is int
        if is_one and len(story.dumps) < MOST_DUMPS:
            story.dumps.append(value | {"places": [place]})
