"""The mixed work of a campaign, and the book of what was accepted.

Every kind of work is done once while nothing is disturbed (``calm``). What it comes to then is what
each later piece of the same kind must come to.
"""

import threading
import time
from collections import Counter
from dataclasses import dataclass
from random import Random
from typing import TYPE_CHECKING, Any

from snapshots.domain.judging.findings import REGISTRY
from tests.campaign import opened, resumed
from tests.campaign.client import Client
from tests.campaign.collecting import Flink
from tests.campaign.logs import BROKEN, Sample, samples
from tests.campaign.notes import KINDS as NOTES
from tests.campaign.notes import Notes
from tests.campaign.system import System
from tests.campaign.webhooks import Webhook
from tests.webapp.over_http import Answer

if TYPE_CHECKING:
    from collections.abc import Callable

RING = {
    "name": "ring",
    "processes": [{"id": name, "state": {"tokens": 3}} for name in "ABCD"],
    "channels": [{"source": a, "target": b} for a, b in ("AB", "BC", "CD", "DA")],
}
RUN = {"workload": "token-ring", "seed": 5, "events": 3_000, "initiators": ["A"]}
KEPT_OF_A_RECORDING = ("status", "counts", "extent", "time_unit", "format", "defects_total")
WEIGHTS = {
    "small": 6, "medium": 4, "large": 2, "damaged": 2, BROKEN: 1,
    "simulation": 3, "restore": 3, "deletion": 3, "reading": 4,
    "pieces": 3, "open": 3, "note": 3, "row": 2,
}  # fmt: skip
SAMPLE_OF = {"pieces": "medium", "open": "damaged", "deletion": "medium"}  # others: their own
WRONG = {verdict.name for verdict in REGISTRY if verdict.colour == "inconsistent"}


@dataclass
class Piece:
    """One piece of work. ``recording``, ``job``: where it was accepted (the answer was 202)."""

    kind: str
    name: str
    recording: int | None = None
    job: int | None = None
    is_deleted: bool = False
    result: Any = None  # of a restore


class Work:
    """Threads that do one piece after the other. ``pieces``: all that was asked for."""

    def __init__(self, system: System, seed: int, kinds: dict[str, int] | None = None) -> None:
        self._system = system
        self._seed = seed
        self._token = system.token()
        self._weights = kinds or WEIGHTS
        self._is_over = threading.Event()
        self._threads: list[threading.Thread] = []
        self._names = iter(range(10**9))
        self.samples = samples()
        self.pieces: list[Piece] = []
        self.calm: dict[str, Any] = {}
        self.clients: list[Client] = []
        self.faults: list[str] = []
        self.topology = 0
        self.kept = 0  # a recording that stays: what "reading" reads, and "note" writes about
        self.notes, self.webhook, self.flink = Notes(), Webhook(), Flink()

    def client(self, number: int = 0) -> Client:
        client = Client(self._system, self._token, Random(self._seed * 1000 + number))
        self.clients.append(client)
        return client

    def begin_calm(self) -> None:
        """Do each kind once, and compare the uploads with the reference."""
        client = self.client()
        self.begin_others(client)
        self.topology = client.post("/topologies", RING).body["id"]
        self.kept = self._calmly(client, "damaged").recording
        self.notes.begin(client, self.kept)
        for kind in self._weights.keys() - {"damaged"}:
            self._calmly(client, kind)

    def _calmly(self, client: Client, kind: str) -> Piece:
        piece = self.do(client, kind)
        self.calm[kind] = self.outcome(client, piece)
        if (sample := self._sample(kind)) and not piece.is_deleted:
            self.faults += differences(sample, self.calm[kind])
        return piece

    def begin_others(self, client: Client) -> None:
        """Begin what goes on all the time beside the pieces."""
        self.webhook.begin(client)
        self.flink.begin(client)

    def start(self, threads: int) -> None:
        for number in range(1, threads + 1):
            arguments = (self.client(number), Random(self._seed * 77 + number))
            thread = threading.Thread(target=self._go_on, args=arguments, daemon=True)
            thread.start()
            self._threads.append(thread)

    def stop(self) -> None:
        """Let every thread end its piece."""
        self._is_over.set()
        for thread in self._threads:
            thread.join()

    def end(self) -> None:
        """Stop what others of this machine ask or tell."""
        self.webhook.stop()
        self.flink.stop()

    def _sample(self, kind: str) -> Sample | None:
        return self.samples.get(SAMPLE_OF.get(kind, kind))

    def _go_on(self, client: Client, dice: Random) -> None:
        while not self._is_over.is_set():
            kind = dice.choices(list(self._weights), list(self._weights.values()))[0]
            try:
                piece = self.do(client, kind)
                time.sleep(dice.uniform(0, 0.5) if piece.recording else 1.0)
            except Exception as error:
                self.faults.append(f"{kind} could not be finished: {type(error).__name__}: {error}")

    def do(self, client: Client, kind: str) -> Piece:
        """Ask for one piece of a kind, and wait until it has ended."""
        piece = Piece(kind, f"{kind} {next(self._names)}")
        if kind not in ("reading", *NOTES):
            self.pieces.append(piece)
        steps: dict[str, Callable[[Client, Piece], None]] = {
            "simulation": self._simulate,
            "restore": self._restore,
            "deletion": self._delete,
            "reading": self._read,
            "pieces": self._resume,
            "open": self._record,
            **dict.fromkeys(NOTES, self._note),
        }
        steps.get(kind, self._upload)(client, piece)
        return piece

    def _upload(self, client: Client, piece: Piece) -> None:
        sample = self._sample(piece.kind) or self.samples["small"]
        self._accepted(client, piece, client.upload(sample.content, piece.name))

    def _resume(self, client: Client, piece: Piece) -> None:
        content = self._sample(piece.kind).content
        accepted = resumed.upload(client, content, piece.name)
        self._accepted(client, piece, Answer(202, accepted, {}))

    def _record(self, client: Client, piece: Piece) -> None:
        """Let several senders fill an open recording, and close it."""
        content, number = self._sample(piece.kind).content, len(self.clients)
        senders = [self.client(number + each) for each in range(opened.SENDERS)]
        closed = opened.record(senders, content, piece.name, Random(self._seed * number))
        self._accepted(client, piece, Answer(202, closed, {}))

    def _note(self, client: Client, piece: Piece) -> None:
        self.notes.write(client, piece.kind, piece.name)

    def _simulate(self, client: Client, piece: Piece) -> None:
        path = f"/topologies/{self.topology}/simulate"
        self._accepted(client, piece, client.post(path, RUN | {"name": piece.name}))

    def _accepted(self, client: Client, piece: Piece, answer: Any, wait: bool = True) -> None:
        if answer is None or answer.status == 429 or answer.status >= 500:
            return  # the client has noted what is a fault of these
        if answer.status != 202:
            self.faults.append(f"{piece.name} was answered with {answer.status}: {answer.body}")
            return
        piece.recording, piece.job = answer.body["id"], answer.body["job"]
        if wait:
            client.ended(piece.job)

    def _restore(self, client: Client, piece: Piece) -> None:
        self._upload(client, piece)
        if piece.recording is None or client.get(f"/jobs/{piece.job}")["state"] != "done":
            return
        snapshot = client.get(f"/recordings/{piece.recording}")["snapshots"][0]
        answer = client.post(f"/recordings/{piece.recording}/snapshots/{snapshot}/restore")
        if answer is not None and answer.status == 202:
            piece.result = client.ended(answer.body["job"])

    def _delete(self, client: Client, piece: Piece) -> None:
        answer = client.upload(self._sample(piece.kind).content, piece.name)
        self._accepted(client, piece, answer, wait=False)
        while piece.recording is not None and not piece.is_deleted:
            answer = client.call("DELETE", f"/recordings/{piece.recording}")
            piece.is_deleted = answer is not None and answer.status in (204, 404)
            time.sleep(0.2)

    def _read(self, client: Client, piece: Piece) -> None:
        """What is ready answers the same at any time."""
        piece.recording = self.kept
        if "damaged" in self.calm and self.outcome(client, piece) != self.calm["damaged"]:
            self.faults.append(f"recording {self.kept} was read with other contents")

    def outcome(self, client: Client, piece: Piece) -> Any:
        """What a finished piece came to, without what differs from run to run."""
        if piece.is_deleted or piece.recording is None:
            return None
        recording = client.get(f"/recordings/{piece.recording}")
        if recording is None:
            return None
        kept = {name: recording[name] for name in KEPT_OF_A_RECORDING}
        kept["error"] = recording["error"] and recording["error"]["type"]
        if recording["status"] == "failed":
            kept["error"] += f": {recording['error'].get('detail')}"
        if recording["status"] == "ready":
            kept["snapshots"] = client.get(f"/recordings/{piece.recording}/snapshots")["items"]
        if piece.kind == "restore" and piece.result is not None:
            kept["restored"] = [piece.result[name] for name in ("state", "result", "error")]
        return kept

    def log_faults(self, piece: Piece) -> list[str]:
        """Compare the log of a recording that was open with what was sent."""
        if piece.kind != "open":
            return []
        query = f"SELECT upload FROM snapshots_recording WHERE id = {piece.recording}"
        [(name,)] = self._system.database.rows(query)
        return opened.log_faults(
            piece.name, self._sample("open").content, self._system.upload(name)
        )

    def book_faults(self, client: Client) -> list[str]:
        """Compare notes, webhooks and the archive with what was accepted, happened and told."""
        wrong = {kind for kind, calm in self.calm.items() if is_wrong(calm)}
        return [
            *self.flink.faults(client),
            *self.notes.faults(client),
            *self.webhook.faults(self._system.database, self.pieces, wrong),
        ]

    def accepted(self) -> Counter[str]:
        """How much was accepted of each kind."""
        counts = Counter(piece.kind for piece in self.pieces if piece.recording is not None)
        counts |= Counter({kind: len(texts) for kind, texts in self.notes.accepted.items()})
        counts["checkpoint"] = self.flink.recorded.count
        counts["event of the webhook"] = len(self.webhook.came())
        return counts


def is_wrong(calm: dict[str, Any] | None) -> bool:
    """Tell whether a calm outcome has a snapshot that is not consistent."""
    snapshots = calm.get("snapshots", []) if calm else []
    return any(snapshot["verdict"] in WRONG for snapshot in snapshots)


def differences(sample: Sample, outcome: dict[str, Any]) -> list[str]:
    """Return a sentence for each difference between a calm upload and the reference."""
    if sample.log is None:
        right = outcome["status"] == "refused" and outcome["error"]
        return [] if right else [f"{sample.name} was not refused: {outcome}"]
    counts = outcome["counts"]
    found = {name: counts[name] for name in ("events", "messages", "defects")}
    found["snapshots"] = [
        {name: item[name] for name in ("snapshot", "verdict", "totals")}
        for item in outcome["snapshots"]
    ]
    if found == sample.expected:
        return []
    return [f"{sample.name} came to {found}, the reference to {sample.expected}"]
