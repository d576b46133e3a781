"""A SeaTunnel that answers over HTTP as its documentation says, with a history that moves on.

Like SeaTunnel from 2.3.13 on, it lists the last 32 checkpoints of each pipeline, the newest first,
writes ids of jobs as texts, and answers with the id alone for a job that it does not know. When it
starts again, it forgets the history and goes on counting.
"""

import json
from typing import Any

KEPT = 32
INTERVAL = 10_000  # ms
BEGAN = 1_795_000_000_000  # epoch ms
KEY = "1001234567890123456"


class RunningSeaTunnel:
    """A SeaTunnel with one job of two pipelines.

    Attributes:
        counts: the checkpoints so far of each pipeline.
        first: the first checkpoint that is remembered.
        failing: the numbers of checkpoints that expired.
        going: how many tasks have acknowledged the next checkpoint, None if none is in progress.
        status: the job's status.
        broken: what is answered at a path instead, as bytes or as an HTTP status.
        asked: the paths that were asked for.
    """

    def __init__(self) -> None:
        self.counts, self.first = {1: 0, 2: 0}, 1
        self.failing: set[int] = set()
        self.going: int | None = None
        self.status = "RUNNING"
        self.began = BEGAN
        self.broken: dict[str, bytes | int] = {}
        self.asked: list[str] = []

    def answers(self, path: str) -> tuple[int, dict[str, str], bytes]:
        self.asked.append(path)
        broken = self.broken.get(path)
        if isinstance(broken, int):
            return broken, {}, b'{"status": "fail", "message": "not found"}'
        if broken is not None:
            return 200, {}, broken
        return 200, {}, json.dumps(self._value(path)).encode()

    def _value(self, path: str) -> Any:
        if path == "/running-jobs":
            return [self._job()] if self.status == "RUNNING" else []
        if path == f"/job-info/{KEY}":
            return self._job() if self.status else {"jobId": KEY}
        if path == f"/jobs/checkpoints/{KEY}":
            pipelines = [self._pipeline(number) for number in self.counts]
            return {"jobId": KEY, "updatedAt": self.began, "pipelines": pipelines}
        return {"jobId": path.rpartition("/")[2]}

    def _job(self) -> dict:
        graph = {"jobId": KEY, "vertexInfoMap": [], "pipelineEdges": {}}
        return {"jobId": KEY, "jobName": "orders", "jobStatus": self.status, "jobDag": graph}

    def _pipeline(self, pipeline: int) -> dict:
        count = self.counts[pipeline]
        numbers = range(max(self.first, count - KEPT + 1), count + 1)
        history = [
            {"pipelineId": pipeline, "checkpoint": self.checkpoint(number)}
            for number in reversed(numbers)
        ]
        failed = len([number for number in self.failing if number <= count])
        return {
            "pipelineId": pipeline,
            "counts": {"triggered": count, "completed": count - failed, "failed": failed},
            "latestCompleted": {},
            "latestFailed": None,
            "latestSavepoint": None,
            "inProgress": [] if self.going is None else [self._going(count + 1)],
            "history": history,
        }

    def checkpoint(self, number: int) -> dict:
        triggered = self.began + number * INTERVAL
        found = {
            "checkpointId": number,
            "checkpointType": "CHECKPOINT_TYPE",
            "status": "COMPLETED",
            "triggerTimestamp": triggered,
            "completedTimestamp": triggered + 450,
            "durationMillis": 450,
            "stateSize": 12,
        }
        if number not in self.failing:
            return found
        del found["completedTimestamp"]
        return found | {"status": "FAILED", "failureReason": "CHECKPOINT_EXPIRED"}

    def _going(self, number: int) -> dict:
        return {
            "checkpointId": number,
            "checkpointType": "CHECKPOINT_TYPE",
            "triggerTimestamp": self.began + number * INTERVAL,
            "acknowledged": self.going,
            "total": 4,
        }
