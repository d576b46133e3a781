"""What the lines of Flink's logs tell of one job, gathered into the form of its REST answers.

So the first answer, the archive and the recording have one source for answers and logs alike.
"""

import re
from dataclasses import dataclass, field
from typing import Any

from snapshots.readers.formats.log_lines import LogLine

MOST_CHECKPOINTS = 500  # of a job; the first of more are left out
MOST_FAILURES = 200
MOST_DUMPED = 16 * 2**20  # characters of statistics of a job that are kept, the newest
MOST_LINES = 5  # places of a log that are named for a checkpoint
LONGEST_TRACE = 4_000  # characters
_ENDED = ("COMPLETED", "FAILED")
_CLASSES = re.compile(r"^(?:[\w.$]+(?:Exception|Error|Throwable): )+")


@dataclass
class Failure:
    """A failure of a task or of the whole job.

    Attributes:
        at: epoch ms. None if the log does not tell.
    """

    place: str
    at: int | None
    task: str | None
    trace: list[str] = field(default_factory=list)

    def as_answer(self) -> dict[str, Any]:
        """Return it as an entry of Flink's history of exceptions."""
        text = "\n".join(self.trace)[:LONGEST_TRACE]
        name = text.partition(":")[0].strip() if text else None
        return {
            "timestamp": self.at,
            "exceptionName": name,
            "taskName": self.task,
            "stacktrace": text,
            "place": self.place,
        }


@dataclass
class Story:
    """What the logs tell of a job.

    Attributes:
        checkpoints: as in Flink's history of checkpoints, by number; ``places`` has the lines.
        left_out: how many checkpoints there were before these.
        failed_left_out: how many of them failed.
        dumps: the statistics that Flink printed, as JSON values.
        dumped: their lengths in characters.
    """

    job: str
    name: str | None = None
    state: str | None = None
    checkpoints: dict[int, dict[str, Any]] = field(default_factory=dict)
    left_out: int = 0
    failed_left_out: int = 0
    restores: list[dict[str, Any]] = field(default_factory=list)
    failures: list[Failure] = field(default_factory=list)
    has_more_failures: bool = False
    dumps: list[dict[str, Any]] = field(default_factory=list)
    dumped: list[int] = field(default_factory=list)
    last_triggered: int | None = None
    is_starting: bool = False

    def checkpoint(self, number: int, place: str) -> dict[str, Any]:
        """Return what is known of a checkpoint, with one more line that tells of it."""
        if number not in self.checkpoints:
            if len(self.checkpoints) >= MOST_CHECKPOINTS:
                first = self.checkpoints.pop(next(iter(self.checkpoints)))
                self.left_out += 1
                self.failed_left_out += first["status"] == "FAILED"
            self.checkpoints[number] = {"id": number, "status": "UNKNOWN", "places": []}
        known = self.checkpoints[number]
        if len(known["places"]) < MOST_LINES and place not in known["places"]:
            known["places"].append(place)
        return known

    def triggered(self, number: int, fields: dict[str, str | None], place: str) -> None:
        known = self.checkpoint(number, place)
        kind = fields["type"] or ""
        known["trigger_timestamp"] = int(fields["at"] or 0)
        known["is_savepoint"] = "avepoint" in kind.lower()
        self.last_triggered = number

    def completed(self, number: int, fields: dict[str, str | None], place: str) -> None:
        known = self.checkpoint(number, place)
        took = int(fields["took"] or 0)
        known |= {"status": "COMPLETED", "end_to_end_duration": took}
        if fields["bytes"] is not None:
            known["state_size"] = int(fields["bytes"])
        if (triggered := known.get("trigger_timestamp")) is not None:
            known["latest_ack_timestamp"] = triggered + took

    def failed(self, number: int, at: int | None, place: str, reason: str | None) -> None:
        known = self.checkpoint(number, place)
        if known["status"] == "COMPLETED":  # a late message about it
            return
        known["status"] = "FAILED"
        known.setdefault("failure_timestamp", at)
        if reason and not known.get("failure_message"):
            known["failure_message"] = reason[:LONGEST_TRACE]

    def restored(
        self,
        number: int,
        at: int | None,
        path: str | None,
        place: str,
        is_savepoint: bool,
        *,
        is_start: bool = False,
    ) -> None:
        """Note a restore; the line of a start and that of its restore are one.

        Args:
            number: the number of the checkpoint; 0 if the line does not tell.
            is_start: whether the line says with which savepoint the job starts.
        """
        restore = {
            "id": number,
            "restore_timestamp": at,
            "is_savepoint": is_savepoint,
            "external_path": path,
            "place": place,
        }
        if self.is_starting and not is_start:
            restore["external_path"] = path or self.restores[-1]["external_path"]
            self.restores[-1] = restore
        else:
            self.restores.append(restore)
        self.is_starting = is_start

    def reset(self, next_number: int) -> None:
        """Take the number of the next checkpoint, which follows that of the savepoint."""
        if self.is_starting and not self.restores[-1]["id"]:
            self.restores[-1]["id"] = next_number - 1

    def add_dump(self, dump: dict[str, Any], size: int) -> None:
        """Keep statistics of a checkpoint; of too many the first are dropped."""
        self.dumps.append(dump)
        self.dumped.append(size)
        while len(self.dumps) > MOST_CHECKPOINTS or sum(self.dumped) > MOST_DUMPED:
            first = self.dumps.pop(0)
            self.dumped.pop(0)
            if self.last_triggered is None:  # else the lines about it are counted
                self.left_out += 1
                self.failed_left_out += first.get("status") == "FAILED"

    def add_failure(self, failure: Failure) -> Failure:
        if len(self.failures) >= MOST_FAILURES:
            self.failures.pop(0)
            self.has_more_failures = True
        self.failures.append(failure)
        return failure

    def history(self) -> dict[str, Any]:
        """Return what is told of checkpoints and restores, as Flink's answer about them."""
        last = self.checkpoints.get(self.last_triggered or -1)
        if last is not None and last["status"] not in _ENDED:
            last["status"] = "IN_PROGRESS"
        latest = {"restored": self.restores[-1]} if self.restores else {}
        return {
            "counts": {
                "restored": len(self.restores),
                "left_out": self.left_out,
                "failed_left_out": self.failed_left_out,
            },
            "latest": latest,
            "history": list(self.checkpoints.values()),
        }

    def exceptions(self) -> dict[str, Any]:
        """Return the failures as Flink's history of exceptions."""
        entries = [failure.as_answer() for failure in self.failures]
        return {"exceptionHistory": {"entries": entries, "truncated": self.has_more_failures}}


def reason_of(line: LogLine) -> str | None:
    """Return the message of an exception in the first line of its stack trace."""
    return _CLASSES.sub("", line.text.strip()) or None
