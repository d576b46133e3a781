"""A Flink that answers over HTTP with recorded answers, whose history moves on with each request.

The k-th checkpoint is a recorded one, with its number and times moved. Like Flink, it reports only
the last ten, forgets all when it starts again, and goes on counting.
"""

import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

WINDOW = 10
INTERVAL = 5_000  # ms
_MOVED = ("trigger_timestamp", "latest_ack_timestamp", "failure_timestamp", "ack_timestamp")


class RecordedFlink:
    """The answers of a Flink with a growing history.

    count: checkpoints so far. first: the first one since its start. left: how many requests it
    still answers before it hangs up, None for all.
    """

    def __init__(self, rest: Path) -> None:
        self._rest = rest
        self.job = json.loads((rest / "job.json").read_text())
        self.key = self.job["jid"]
        recorded = self._json("checkpoints.json")["history"]
        self.recorded = sorted(one["id"] for one in recorded if one["status"] != "IN_PROGRESS")
        self._history = {one["id"]: one for one in recorded}
        self.count, self.first, self.left = 0, 1, None
        self.asked: list[str] = []

    def _json(self, name: str) -> Any:
        return json.loads((self._rest / name).read_text())

    def start_again(self) -> None:
        self.first = self.count + 1

    def reported_numbers(self) -> range:
        return range(max(self.first, self.count - WINDOW + 1), self.count + 1)

    def checkpoint(self, number: int) -> dict:
        return self._moved(self._history[self._source(number)], number)

    def details(self, number: int) -> dict:
        return self._moved(self._json(f"checkpoint-{self._source(number)}.json"), number)

    def subtasks(self, number: int, vertex: str) -> dict:
        name = f"checkpoint-{self._source(number)}-subtasks-{vertex}.json"
        return self._moved(self._json(name), number)

    def answer(self, path: str) -> Any:
        """Return the answer at a path. Raises KeyError if there is none."""
        parts = path.strip("/").split("/")
        if parts == ["jobs"]:
            return {"jobs": [{"id": self.key, "status": "RUNNING"}]}
        if parts == ["jobs", self.key]:
            return self.job
        if parts == ["jobs", self.key, "checkpoints"]:
            history = [self.checkpoint(number) for number in reversed(self.reported_numbers())]
            return {
                "counts": {"total": self.count},
                "summary": {},
                "latest": {},
                "history": history,
            }
        if parts[:4] != ["jobs", self.key, "checkpoints", "details"]:
            raise KeyError(path)
        number = int(parts[4])
        if number not in self.reported_numbers():
            raise KeyError(path)
        return self.details(number) if len(parts) == 5 else self.subtasks(number, parts[6])

    def _source(self, number: int) -> int:
        return self.recorded[(number - 1) % len(self.recorded)]

    def _moved(self, found: Any, number: int) -> Any:
        by = (number - self._source(number)) * INTERVAL
        if isinstance(found, list):
            return [self._moved(one, number) for one in found]
        if not isinstance(found, dict):
            return found
        moved = {name: self._moved(value, number) for name, value in found.items()}
        for name in _MOVED:
            if isinstance(moved.get(name), int) and moved[name] > 0:
                moved[name] += by
        if "id" in moved:
            moved["id"] = number
        return moved


class StuckFlink(RecordedFlink):
    """A recorded Flink whose newest checkpoint is in progress, from the second one on.

    done: how many subtasks of each vertex have acknowledged it, the first ones; none if absent.
    delays: what the gauge of a subtask shows, in ms. silent: parts of paths that get 404.
    config: the configuration of the job's checkpoints. kind: the type of the one in progress.
    """

    def __init__(self, rest: Path) -> None:
        super().__init__(rest)
        self.done: dict[str, int] = {}
        self.delays: dict[tuple[str, int], int] = {}
        self.silent: list[str] = []
        self.config = self._json("checkpoints-config.json")
        self.kind = "CHECKPOINT"
        self.is_going = True
        self.widths = {each["id"]: each["parallelism"] for each in self.job["plan"]["nodes"]}

    def let_pass(self, milliseconds: int) -> None:
        self.job = self.job | {"now": self.job["now"] + milliseconds}

    @property
    def triggered_at(self) -> int:
        return self.checkpoint(self.count + 1)["trigger_timestamp"]

    def answer(self, path: str) -> Any:
        if any(part in path for part in self.silent):
            raise KeyError(path)
        parts = path.partition("?")[0].strip("/").split("/")
        below = f"checkpoints/details/{self.count + 1}"
        if parts[2:] == ["checkpoints", "config"]:
            return self.config
        if parts[2:3] == ["vertices"]:
            return self._measured(parts[3], parts[4])
        if self.is_going and "/".join(parts[2:5]) == below:
            return self._subtasks_now(parts[6]) if len(parts) > 5 else self._now(parts[1])
        found = super().answer(path)
        if self.is_going and parts[2:] == ["checkpoints"]:
            found["history"].insert(0, self._now(parts[1]) | {"tasks": {}})
        return found

    def _now(self, key: str) -> dict:
        tasks = {vertex: self._totals(width, vertex) for vertex, width in self.widths.items()}
        return {
            "id": self.count + 1,
            "status": "IN_PROGRESS",
            "checkpoint_type": self.kind,
            "trigger_timestamp": self.triggered_at,
            "latest_ack_timestamp": self.triggered_at + 11,
            "end_to_end_duration": 11,  # to the subtask that was the last to acknowledge so far
            "state_size": 4_096,
            "checkpointed_size": 4_096,
            "num_subtasks": sum(self.widths.values()),
            "num_acknowledged_subtasks": sum(self.done.values()),
            "tasks": tasks,
        }

    def _totals(self, width: int, vertex: str) -> dict:
        done = self.done.get(vertex, 0)
        return {
            "id": self.count + 1,
            "status": "IN_PROGRESS",
            "num_subtasks": width,
            "num_acknowledged_subtasks": done,
        }

    def _subtasks_now(self, vertex: str) -> dict:
        done = self.done.get(vertex, 0)
        subtasks = [
            {"index": index, "status": "completed" if index < done else "pending_or_failed"}
            for index in range(self.widths[vertex])
        ]
        return self._totals(self.widths[vertex], vertex) | {"subtasks": subtasks}

    def _measured(self, vertex: str, kind: str) -> Any:
        if kind == "backpressure":
            return self._json(f"vertex-{vertex}-backpressure.json")
        return [
            {"id": f"{index}.checkpointStartDelayNanos", "value": str(delay * 1_000_000)}
            for (each, index), delay in self.delays.items()
            if each == vertex
        ]


class Server:
    """An HTTP server, used as ``with Server(answers) as url``.

    answers: path -> JSON, bytes, or (status, headers).
    """

    def __init__(self, flink: RecordedFlink | None = None, answers=None, port: int = 0) -> None:
        self.flink, self.answers = flink, answers
        self._server = ThreadingHTTPServer(("127.0.0.1", port), _handler(self))
        self._server.daemon_threads = True

    @property
    def port(self) -> int:
        return self._server.server_address[1]

    def __enter__(self) -> str:
        threading.Thread(target=self._server.serve_forever, args=(0.02,), daemon=True).start()
        return f"http://127.0.0.1:{self.port}"

    def __exit__(self, *_) -> None:
        self._server.shutdown()
        self._server.server_close()


def _handler(owner: Server):
    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            flink = owner.flink
            if flink is None:
                self._send(*owner.answers(self.path))
                return
            flink.asked.append(self.path)
            if flink.left is not None:
                if flink.left <= 0:
                    self.close_connection = True
                    self.connection.close()
                    return
                flink.left -= 1
            try:
                self._send(200, {}, json.dumps(flink.answer(self.path)).encode())
            except KeyError:
                self._send(404, {}, b'{"errors": ["not found"]}')

        def _send(self, status: int, headers: dict[str, str], body: bytes) -> None:
            self.send_response(status)
            for name, value in ({"Content-Length": str(len(body))} | headers).items():
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_) -> None:
            pass

    return Handler
