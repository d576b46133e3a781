"""How far behind an open recording is shown, and what it costs, while processes send to it.

``python -m bench.open_recordings [SECONDS] [EVENTS_A_SECOND] [PROCESSES]`` (180, 5,000 and 20)
starts a server, lets the processes of a bank send their events, and takes a snapshot every second.
It prints how late a page is told of events and of verdicts, the memory of the server, and how much
processor time the server takes beside that of reading the whole log once.
Requirement: the head at most 2 s behind, verdicts at most 3 s behind the last marker, and all work
at most three times that of reading once.
"""

import json
import sys
import tempfile
import threading
import time
from contextlib import suppress
from http.client import HTTPConnection
from pathlib import Path

import numpy as np
import psutil
from websockets.exceptions import ConnectionClosed
from websockets.sync.client import connect

from snapshots.growing.canonical import canonical_log
from snapshots.growing.journal import Journal
from tests.stack import Stack
from tests.webapp.over_http import Api, sign_in

DEFAULTS = (180, 5000, 20)  # seconds, events a second, processes
SEND_EVERY = 0.2  # seconds, as a recorder whose queue empties at that pace
TRAVEL = 0.05  # seconds that a message is under way


class Banks:
    """Processes that send each other money in a ring, and markers through it."""

    def __init__(self, count: int) -> None:
        self.names = [f"bank{number}" for number in range(count)]
        self.began = time.time()
        self.indices = [0] * count
        self.states = [1000] * count
        self.sent = 0
        self.under_way: list[list[tuple]] = [[] for _ in range(count)]
        self.ended: dict[str, float] = {}  # when the last event of each snapshot was made

    def header(self) -> dict:
        ends = zip(self.names, [*self.names[1:], self.names[0]], strict=True)
        return {
            **{"kind": "header", "format": "cutline", "version": 1, "name": "banks"},
            "time_unit": "us",
            "processes": [{"id": name, "state": 1000} for name in self.names],
            "channels": [{"id": f"{a}->{b}", "source": a, "target": b} for a, b in ends],
        }

    def channel(self, source: int) -> str:
        return f"{self.names[source]}->{self.names[(source + 1) % len(self.names)]}"

    def event(self, process: int, kind: str, **fields) -> bytes:
        at = int((time.time() - self.began) * 1e6)
        index, self.indices[process] = self.indices[process], self.indices[process] + 1
        named = {"kind": kind, "process": self.names[process], "index": index, "at": at}
        return json.dumps(named | fields).encode() + b"\n"

    def act(self, process: int, sends: int, snapshot: str | None) -> list[bytes]:
        """Return the next events of a process: what arrives, what it sends, and a snapshot."""
        events = list(self._arrivals(process))
        for _ in range(sends):
            self.sent += 1
            self.states[process] -= 1
            message = {"channel": self.channel(process), "message": self.sent, "value": 1}
            events.append(self.event(process, "send", **message, state=self.states[process]))
            self.under_way[process].append((time.time() + TRAVEL, message))
        if snapshot is not None:
            events += self._record(process, snapshot)
        return events

    def _arrivals(self, process: int):
        source = process - 1
        while self.under_way[source] and self.under_way[source][0][0] <= time.time():
            _, carried = self.under_way[source].pop(0)
            if isinstance(carried, dict):
                self.states[process] += 1
                yield self.event(process, "receive", **carried, state=self.states[process])
            else:
                marker = {"channel": self.channel(source), "snapshot": carried}
                yield self.event(process, "marker_receive", **marker)
                if process == 0:
                    self.ended[carried] = time.time()
                else:
                    yield from self._record(process, carried)

    def _record(self, process: int, snapshot: str):
        state = self.states[process]
        yield self.event(process, "record_state", snapshot=snapshot, state=state)
        yield self.event(process, "marker_send", channel=self.channel(process), snapshot=snapshot)
        self.under_way[process].append((time.time() + TRAVEL, snapshot))


class Sending:
    """One process of the bank, with a connection of its own."""

    def __init__(self, api: Api, pk: int) -> None:
        self.connection = HTTPConnection("127.0.0.1", api.port, timeout=60)
        self.address = f"/api/recordings/{pk}/events"
        self.headers = {**api.headers, "Content-Type": "application/x-ndjson"}

    def send(self, body: bytes) -> None:
        self.connection.request("POST", self.address, body, self.headers)
        answer = self.connection.getresponse()
        text = answer.read()
        assert answer.status == 200, text


def main() -> None:
    given = [int(word) for word in sys.argv[1:]]
    seconds, rate, count = (*given, *DEFAULTS[len(given) :])
    with tempfile.TemporaryDirectory(prefix="cutline-bench-") as folder:
        stack = Stack(Path(folder))
        try:
            stack.start_redis()
            stack.start_server()
            measure(stack, seconds, rate, count)
        finally:
            stack.stop()


def measure(stack: Stack, seconds: int, rate: int, count: int) -> None:
    api, banks = Api(stack), Banks(count)
    pk = api.post("/recordings", {"open": True, "header": banks.header()}).body["id"]
    server = psutil.Process(stack.processes["server"].pid)
    heads: list[tuple[float, dict]] = []
    cookies = "; ".join(f"{one.name}={one.value}" for one in sign_in(stack))
    watching = threading.Thread(target=watch, args=(stack, pk, cookies, heads), daemon=True)
    watching.start()
    time.sleep(1)
    banks.began = time.time()
    used = processor_seconds(server)
    memory = run(api, pk, banks, seconds, rate, server)
    time.sleep(2)
    used = processor_seconds(server) - used
    received = api.get(f"/recordings/{pk}/received")
    print(f"{received['events']:,} events of {count} processes came in {seconds} s")
    tell_delays(banks, heads)
    print(f"anonymous memory of the server: {memory[0]:.0f} MB after a sixth, {memory[-1]:.0f} MB")
    once = read_once(stack)
    print(
        f"processor time of the server: {used:.1f} s while it was open; one plain reading takes "
        f"{once:.1f} s, so with the reading at its end {(used + once) / once:.1f} readings (hold 3)"
    )


def run(api: Api, pk: int, banks: Banks, seconds: int, rate: int, server) -> list[float]:
    """Let all processes send; return the memory of the server at six moments, in MB."""
    sending = [Sending(api, pk) for _ in banks.names]
    sends = max(1, round(rate * SEND_EVERY / len(banks.names) / 2))
    memory: list[float] = []
    began = time.time()
    snapshots = 0
    while (now := time.time()) - began < seconds:
        is_due = now - began > snapshots + 1 and now - began < seconds - 2 * TRAVEL * len(sending)
        snapshots += is_due
        bodies = [
            b"".join(banks.act(process, sends, f"s{snapshots}" if is_due and not process else None))
            for process in range(len(sending))
        ]
        threads = [
            threading.Thread(target=one.send, args=(body,))
            for one, body in zip(sending, bodies, strict=True)
            if body
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        if now - began > seconds * (len(memory) + 1) / 6:
            memory.append(anonymous_megabytes(server))
        time.sleep(max(0.0, now + SEND_EVERY - time.time()))
    return [*memory, anonymous_megabytes(server)]


def watch(stack: Stack, pk: int, cookies: str, heads: list[tuple[float, dict]]) -> None:
    """Note when a page is told how far the recording has come, until the server ends."""
    address = f"ws://127.0.0.1:{stack.port}/ws/recordings/{pk}"
    headers = {"Cookie": cookies}
    with (
        suppress(ConnectionClosed),
        connect(address, additional_headers=headers, origin=stack.url, max_size=None) as socket,
    ):
        for text in socket:
            news = json.loads(text)
            if news["type"] == "head":
                heads.append((time.time(), news))


def tell_delays(banks: Banks, heads: list[tuple[float, dict]]) -> None:
    """Print how far behind each told head was, and each verdict."""
    behind = [when - (banks.began + news["extent"]["to"] / 1e6) for when, news in heads]
    p50, p95 = np.percentile(behind, [50, 95])
    print(f"head behind: p50 {p50:.2f} s, p95 {p95:.2f} s, worst {max(behind):.2f} s (hold 2 s)")
    late = []
    for number, (_, ended) in enumerate(sorted(banks.ended.items(), key=lambda item: item[1]), 1):
        late += [when - ended for when, news in heads if news["judged"] >= number][:1]
    worst = max(late, default=float("nan"))
    print(f"{len(late)} of {len(banks.ended)} verdicts, worst {worst:.2f} s behind (hold 3 s)")


def processor_seconds(process: psutil.Process) -> float:
    times = process.cpu_times()
    return times.user + times.system


def anonymous_megabytes(process: psutil.Process) -> float:
    """Return the memory of a process that no file backs."""
    lines = (Path("/proc") / str(process.pid) / "status").read_text().splitlines()
    return int(next(line for line in lines if line.startswith("RssAnon")).split()[1]) / 1024


def read_once(stack: Stack) -> float:
    """Return the processor time of writing the log and reading it with the plain-Python reader."""
    from snapshots.domain.assembling.assembly import assemble
    from snapshots.domain.model.defects import Defects
    from snapshots.readers.formats.limits import Limits
    from snapshots.readers.logs.columns import logged_events
    from snapshots.readers.logs.native import NativeReader

    uploads = (stack.folder / "uploads").iterdir()
    path = max(uploads, key=lambda path: path.stat().st_mtime)  # the journal
    began = time.process_time()
    log = stack.folder / "log.jsonl"
    log.write_bytes(b"".join(canonical_log(Journal(path))))
    reader = NativeReader()
    header = reader.header(log, Limits())
    assemble(header, logged_events(reader.batches(log, header, Limits(), Defects()), header))
    return time.process_time() - began


if __name__ == "__main__":
    main()
