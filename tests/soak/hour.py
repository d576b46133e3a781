"""The work of an hour: uploads, an open recording, a review, and what they leave is deleted.

Each part raises AssertionError where an answer is not what it should be.
"""

import json
import time
import uuid
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Any

from bench.open_recordings import Banks
from tests.archive.flink_server import RecordedFlink, Server
from tests.campaign import resumed
from tests.campaign.client import Client
from tests.campaign.collecting import RECORDED, REST
from tests.campaign.work import Piece, Work
from tests.soak.visitor import Visitor
from tests.stack import ROOT
from tests.webapp.over_http import Answer, form

STEPS = 15  # of the banks
STEP_SECONDS = 0.1
COLLECT_SECONDS = 5
PATIENCE_SECONDS = 120


@dataclass(frozen=True)
class Engines:
    """Files of real engines. ``rest``: recorded answers of a Flink. ``uploads``: by file name."""

    rest: Path
    uploads: dict[str, bytes]


def engines() -> Engines:
    """A package of each engine, and a Flink to collect from."""
    packages = (
        ROOT / "tests" / "data" / "flink-sql" / "sql-topn.zip",
        ROOT / "tests" / "data" / "spark-state" / "agg-v2.zip",
        RECORDED / "seatunnel" / "synthetic-fake-to-localfile.zip",
    )
    uploads = {package.name: package.read_bytes() for package in packages}
    return Engines(REST, uploads)


class Book(Work):
    """The book without what goes on all the time: an hour has a webhook and a Flink of its own."""

    def begin_others(self, client: Client) -> None:
        """Begin nothing."""


@dataclass
class Hour:
    """One hour. ``person``: is signed in. ``pieces``: what was accepted in this hour."""

    number: int
    work: Work
    client: Client
    person: Visitor
    dice: Random
    engines: Engines
    kinds: tuple[str, ...]

    def __post_init__(self) -> None:
        self.pieces: list[Piece] = []

    def parts(self) -> Iterator[Callable[[], None]]:
        """What is done, one after the other."""
        yield self.upload_each_kind
        yield self.begin_an_upload_and_leave_it
        yield self.upload_checkpoints
        yield self.collect
        yield self.record_openly
        yield self.review
        yield self.look_around

    def upload_each_kind(self) -> None:
        before = len(self.work.pieces)
        for kind in self.kinds:
            self.work.do(self.client, kind)
        self.pieces += self.work.pieces[before:]

    def begin_an_upload_and_leave_it(self) -> None:
        address = resumed.begun(self.client, b"x" * 9_000, f"left {self.number}")
        where = resumed.TUS | {"Upload-Offset": "0"}
        expected(self.client.call("PATCH", address, b"x" * 1_000, resumed.KIND, where), 204)

    def upload_checkpoints(self) -> None:
        for file, content in self.engines.uploads.items():
            boundary = uuid.uuid4().hex
            body = form(boundary, content, file, {"name": f"{file} {self.number}"})
            kind = f"multipart/form-data; boundary={boundary}"
            accepted = expected(self.client.call("POST", "/recordings", body, kind), 202).body
            job = self.client.ended(accepted["job"])
            assert job["state"] == "done", job
            recording = accepted["id"]
            for part in ("answer", "contents", "checkpoints", "contents/0"):
                self.client.get(f"/recordings/{recording}/{part}")
            self.pieces.append(Piece("engine", f"{file} {self.number}", recording))

    def collect(self) -> None:
        """Follow a Flink until two rounds are in the archive, then forget it."""
        flink = RecordedFlink(self.engines.rest)
        flink.count = 3
        with Server(flink) as url:
            body = {"engine": "flink", "url": url, "interval_seconds": COLLECT_SECONDS}
            collector = expected(self.client.post("/collectors", body), 201).body["id"]
            job = self._archived(flink.key, 3)
            flink.count = 6
            self._archived(flink.key, 6)
            expected(self.client.call("DELETE", f"/collectors/{collector}"), 204)
        with self.person.socket(f"/ws/archive/{job}"):
            self.client.get(f"/archive/{job}/overview")
            self.client.get(f"/archive/{job}/checkpoints/0/2")

    def _archived(self, key: str, checkpoints: int) -> int:
        """Return the number of the archived job once it has so many checkpoints."""
        deadline = time.monotonic() + PATIENCE_SECONDS
        while time.monotonic() < deadline:
            for job in self.client.get("/archive?limit=100")["items"]:
                listed = self.client.get(f"/archive/{job['id']}/checkpoints")
                if job["key"] == key and listed["total"] >= checkpoints:
                    return job["id"]
            time.sleep(0.5)
        raise AssertionError(f"The collector brought no {checkpoints} checkpoints.")

    def record_openly(self) -> None:
        """Let three banks send what they do, while somebody watches, and close the recording."""
        banks = Banks(3)
        banks.began = time.time()
        body = {"open": True, "header": banks.header() | {"name": f"open {self.number}"}}
        recording = expected(self.client.post("/recordings", body), 201).body["id"]
        senders = [self.work.client(100 + number) for number in range(3)]
        with self.person.socket(f"/ws/recordings/{recording}") as watching:
            for step in range(STEPS):
                self._act(banks, senders, recording, f"s{step}" if step == 4 else None)
                time.sleep(STEP_SECONDS)
            watching.recv(timeout=PATIENCE_SECONDS)
        accepted = expected(self.client.post(f"/recordings/{recording}/close"), 202).body
        job = self.client.ended(accepted["job"])
        assert job["state"] == "done", job
        self.pieces.append(Piece("open", f"open {self.number}", recording))

    def _act(
        self, banks: Banks, senders: list[Client], recording: int, snapshot: str | None
    ) -> None:
        for process, sender in enumerate(senders):
            events = b"".join(banks.act(process, 3, None if process else snapshot))
            path = f"/recordings/{recording}/events"
            expected(sender.call("POST", path, events, "application/x-ndjson"), 200)

    def review(self) -> None:
        """Note, walk around and answer, put all into a review, read it, and delete the review."""
        recording = self._a_ready_one()
        snapshot = self.client.get(f"/recordings/{recording}")["snapshots"][0]
        at = f"/recordings/{recording}"
        place = {"place": f"snapshot:{snapshot}"}
        finding = {**place, "kind": "finding", "text": "Something was **lost** here."}
        entry = expected(self.client.post(f"{at}/entries", finding), 201).body["id"]
        expected(self.client.post(f"/entries/{entry}/answers", {"text": "Agreed."}), 201)
        expected(self._patched(f"/entries/{entry}", {"text": "Much was lost here."}), 200)
        stop = expected(self.client.post(f"{at}/trail", place), 201).body["id"]
        expected(self.client.post(f"/trail/{stop}/keep", {"text": "Kept."}), 201)
        expected(self.client.post(f"{at}/trail", place), 201)
        self._share(recording)

    def _patched(self, path: str, body: Any) -> Answer | None:
        return self.client.call("PATCH", path, json.dumps(body).encode(), "application/json")

    def _share(self, recording: int) -> None:
        title = {"title": f"Incident {self.number}", "severity": "major"}
        review = expected(self.client.post("/reviews", title), 201).body["id"]
        at = f"/reviews/{review}"
        expected(self.client.post(f"{at}/exhibits", {"recording": recording}), 201)
        expected(self.client.post(f"{at}/timeline/all"), 200, 201)
        with self.person.socket(f"/ws/reviews/{review}"):
            self.client.get(f"{at}/timeline")
            self.person.get(f"{at}")
            self.person.get(f"{at}/post-mortem")
        expected(self.client.call("DELETE", at), 204)

    def _a_ready_one(self) -> int:
        return next(piece.recording for piece in self.pieces if piece.kind == "small")

    def look_around(self) -> None:
        """Open pages and websockets. Every second websocket ends without a farewell."""
        recording = self._a_ready_one()
        for page in ("/", "/jobs", "/archive", "/live", "/operator", "/account", "/teams"):
            self.person.get(page)
        for page in ("", "/notes", "/properties"):
            self.person.get(f"/recordings/{recording}{page}")
        for number, path in enumerate(("/ws/jobs", "/ws/live", f"/ws/recordings/{recording}") * 2):
            with self.person.socket(path) as socket:
                socket.send(json.dumps({"type": "nonsense"}))
                socket.recv(timeout=PATIENCE_SECONDS)
                if number % 2:
                    socket.socket.close()


def forget(client: Client, pieces: list[Piece]) -> None:
    """Delete recordings, then all archived jobs: the amount of accepted data stays the same."""
    for piece in pieces:
        if piece.recording is not None and not piece.is_deleted:
            expected(client.call("DELETE", f"/recordings/{piece.recording}"), 204, 404)
            piece.is_deleted = True
    for job in client.get("/archive?limit=100")["items"]:
        expected(client.call("DELETE", f"/archive/{job['id']}"), 204)


def expected(answer: Answer | None, *statuses: int) -> Answer:
    """The answer, where it has one of these statuses."""
    assert answer is not None, "There was no answer."
    assert answer.status in statuses, answer
    return answer
