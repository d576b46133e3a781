"""Starts the banks as processes of the operating system, kills them, and lets all go back."""

import json
import queue
import secrets
import socket
import subprocess
import sys
import threading
import time
from contextlib import ExitStack, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from snapshots.banks.network import Address, SlowNetwork
from snapshots.banks.server import Server
from snapshots.recorder import DamagedPiece, Log, header, last_complete, next_epoch
from snapshots.recorder.pieces import SnapshotName, read_piece

START = 1000  # what each bank has in the beginning
MOST_SHOWN = 10  # snapshots that the page is told of
_END_SECONDS = 15.0
STARTING, RUNNING, KILLED, STOPPED = "starting", "running", "killed", "stopped"


@dataclass
class Place:
    """One bank: its process, and what it said last.

    Attributes:
        since: when its state began, in seconds since 1970.
        balance: None until it has said one.
    """

    process: "subprocess.Popen[bytes]"
    state: str = STARTING
    since: float = field(default_factory=time.time)
    balance: int | None = None

    def become(self, state: str) -> None:
        """Note a new state, unless the process was killed, which it stays."""
        if self.state not in (KILLED, state):
            self.state, self.since = state, time.time()


class System:
    """All banks of one open recording.

    Attributes:
        said: (bank, process, what it said) in the order in which it came; None at the end.
        notes: the last sentences about the system, newest last.
        snapshots: what is known of the last snapshots, newest first.
    """

    def __init__(
        self, count: int, folder: Path, rate: float, *, skew_ms: int = 0, delay_ms: int = 0
    ) -> None:
        """Describe so many banks, which keep what they need in the folder.

        rate: payments of a bank in a second. skew_ms: how wrong their clocks are at most.
        delay_ms: how long a payment or a marker is on its way.
        """
        self.names = [_name(number) for number in range(count)]
        self.folder, self.rate, self.skew_ms = folder, rate, skew_ms
        self.network = SlowNetwork(delay_ms / 1000) if delay_ms else None
        self.secret = secrets.token_hex(16)
        channels = [f"{a}->{b}" for a in self.names for b in self.names if a != b]
        self.header = header(f"{count} banks", dict.fromkeys(self.names, START), channels)
        self.said: queue.Queue[tuple[str, Any, dict[str, Any] | None]] = queue.Queue()
        self.places: dict[str, Place] = {}
        self.snapshots: list[dict[str, Any]] = []
        self.notes: list[str] = []
        self.epoch = 0
        self._clock_readings = 0
        self._readings: dict[str, dict[str, int]] = {}
        self._folders = {name: folder / name for name in self.names}
        for path in self._folders.values():
            path.mkdir()

    @property
    def total(self) -> int:
        """The money of all banks."""
        return START * len(self.names)

    def begin(self, server: Server, recording: int) -> None:
        """Start all banks for the first time."""
        self.server, self.recording = server, recording
        self._start(None)

    def _start(self, snapshot: str | None) -> None:
        self.epoch = next_epoch(self._folders.values())
        own = dict(zip(self.names, _free_addresses(len(self.names)), strict=True))
        reached = self._reached(own)
        for number, name in enumerate(self.names):
            skew = self.skew_ms * 1_000_000 * (-1 if number % 2 else 1)
            peers = {**reached, name: own[name]}
            self._start_bank(name, {"peers": peers, "snapshot": snapshot, "skew": skew})

    def _reached(self, own: dict[str, Address]) -> dict[str, Address]:
        """Return where each bank is reached by the others."""
        if self.network is None:
            return own
        self.network.cut()
        return {name: self.network.to(address) for name, address in own.items()}

    def _start_bank(self, name: str, given: dict[str, Any]) -> None:
        process = subprocess.Popen(
            [sys.executable, "-m", "snapshots.banks.bank"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            start_new_session=True,  # Ctrl-C is for the command alone
            cwd=Path(__file__).resolve().parents[2],
        )
        self.places[name] = Place(process)
        given |= {
            "name": name,
            "epoch": self.epoch,
            "start": START,
            "rate": self.rate,
            "folder": str(self._folders[name]),
            "secret": self.secret,
            **self._sending(name),
        }
        self._write(name, json.dumps(given))
        threading.Thread(target=self._read, args=(name, process), daemon=True).start()

    def _sending(self, name: str) -> dict[str, Any]:
        return {
            "address": self.server.recording(self.recording),
            "token": self.server.token,
            "header": self.header,
            "spool": str(self._spool(name)),
        }

    def _spool(self, name: str) -> Path:
        return self.folder / f"{name}.spool"

    def _read(self, name: str, process: "subprocess.Popen[bytes]") -> None:
        assert process.stdout is not None
        for line in process.stdout:
            with suppress(ValueError):  # a line that was cut off by a kill
                self.said.put((name, process, json.loads(line)))
        process.wait()
        self.said.put((name, process, None))

    def _write(self, name: str, line: str) -> None:
        process = self.places[name].process
        assert process.stdin is not None
        with suppress(OSError):  # it has ended
            process.stdin.write(line.encode() + b"\n")
            process.stdin.flush()

    # --- what people ask for -----------------------------------------------------------------

    @property
    def running(self) -> list[str]:
        """The banks that run and are connected with all others."""
        return [name for name, place in self.places.items() if place.state == RUNNING]

    def snapshot(self, name: str) -> str:
        """Let a bank begin a snapshot. Return a sentence about that."""
        if (sentence := self._missing(name)) is not None:
            return sentence
        self._write(name, "snapshot")
        if self.skew_ms:
            self._read_clocks()
        return f"{name} begins a snapshot."

    def _missing(self, name: str) -> str | None:
        if name not in self.places:
            return f"There is no bank {name}. There are {', '.join(self.names)}."
        if len(self.running) < len(self.names):
            return "No snapshot can be complete, for not all banks run. Restore them first."
        return None

    def _read_clocks(self) -> None:
        """Let all banks record at one moment, each by its own clock."""
        self._clock_readings += 1
        reading = f"by-clock-{self._clock_readings}"
        self._readings[reading] = {}
        at = time.time_ns() + (2 * self.skew_ms + 100) * 1_000_000
        for name in self.names:
            self._write(name, f"clock {reading} {at}")

    def kill(self, name: str) -> str:
        """Send SIGKILL to a bank. Return a sentence about that."""
        if name not in self.places:
            return f"There is no bank {name}. There are {', '.join(self.names)}."
        place = self.places[name]
        if place.process.poll() is not None:
            return f"{name} does not run."
        place.become(KILLED)
        place.process.kill()
        return f"{name} is killed. The others notice that, and stop."

    def restore(self) -> str:
        """End all banks, and start them with the last complete snapshot, if any. Say so."""
        self.kill_all()
        try:
            snapshot = last_complete(self._folders.values())
            self._start(snapshot)
        except DamagedPiece as damaged:
            return f"The banks were ended, but cannot go back. {damaged}"
        return f"All banks go back to {snapshot or 'the start'}, in epoch {self.epoch}."

    def kill_all(self) -> None:
        """Kill whatever runs, and wait until it has ended."""
        for place in self.places.values():
            place.process.kill()
        for place in self.places.values():
            place.process.wait()

    def leave(self) -> None:
        """Let the banks end by themselves; kill those that do not."""
        for name in self.places:
            self._write(name, "leave")
        limit = time.monotonic() + _END_SECONDS
        for place in self.places.values():
            with suppress(subprocess.TimeoutExpired):
                place.process.wait(max(0.1, limit - time.monotonic()))
        self.kill_all()

    def send_rest(self) -> list[str]:
        """Send what banks that were killed had not sent. Return the banks of which some is left."""
        left = []
        for name in self.names:
            given = self._sending(name)
            log = Log.to_server(name, given.pop("address"), given.pop("header"), **given)
            log.close(_END_SECONDS)
            if log.waiting_bytes:
                left.append(name)
        return left

    # --- what the banks say ------------------------------------------------------------------

    def hear(self, name: str, process: Any, what: dict[str, Any] | None) -> str | None:
        """Note what a bank said; return a sentence if people should read it."""
        place = self.places[name]
        if place.process is not process:
            return None  # it is of an earlier epoch
        if what is None:
            return self._note_end(name, place)
        if "balance" in what and "clock" not in what:
            place.balance = what["balance"]
        if "ready" in what:
            place.become(RUNNING)
        elif "snapshot" in what:
            return self._note_snapshot(name, what["snapshot"])
        elif "clock" in what:
            return self._note_reading(what["clock"], name, what["balance"])
        elif "given_up" in what:
            return f"The snapshot that {name} began was given up: {what['given_up']}"
        elif "lost" in what:
            place.become(STOPPED)
            return f"{name} has stopped: {what['lost']}"
        elif "fault" in what:
            return f"FAULT at {name}: {what['fault']}"
        return None

    def _note_end(self, name: str, place: Place) -> str | None:
        """Note that a process is gone. Return a sentence if nobody has said why."""
        code, is_explained = place.process.returncode, place.state in (KILLED, STOPPED)
        place.become(STOPPED)
        if is_explained or code == 0:
            return None
        return f"{name} has ended by {f'signal {-code}' if code < 0 else f'exit code {code}'}."

    def _note_snapshot(self, initiator: str, snapshot: str) -> str:
        """Sum up the pieces of a complete snapshot."""
        parsed = SnapshotName.parse(snapshot)
        with ExitStack() as stack:
            stack.enter_context(suppress(OSError))  # later ones may have taken its place
            pieces = [read_piece(path, parsed) for path in self._folders.values()]
            held = sum(piece["state"] for piece in pieces)
            waiting = sum(
                value
                for piece in pieces
                for messages in piece["channels"].values()
                for _, value in messages
            )
            self._show(snapshot, initiator, held, waiting)
            return (
                f"{snapshot} is complete: {held} in the banks and {waiting} in the channels, "
                f"{held + waiting} in all."
            )
        return f"{snapshot} is complete."

    def _note_reading(self, reading: str, name: str, balance: int) -> str | None:
        self._readings[reading][name] = balance
        if len(self._readings[reading]) < len(self.names):
            return None
        held = sum(self._readings.pop(reading).values())
        self._show(reading, None, held, None)
        return f"{reading}, read by clocks: {held} in the banks; the channels were not recorded."

    def _show(self, name: str, initiator: str | None, held: int, waiting: int | None) -> None:
        row = {"name": name, "initiator": initiator, "states": held, "channels": waiting}
        self.snapshots = [{**row, "at": time.time()}, *self.snapshots][:MOST_SHOWN]

    def told(self) -> dict[str, Any]:
        """Return how the system is, for the page."""
        return {
            "epoch": self.epoch,
            "processes": [
                {
                    "name": name,
                    "state": place.state,
                    "since": place.since,
                    "balance": place.balance if place.state in {RUNNING, STARTING} else None,
                }
                for name, place in self.places.items()
            ],
            "snapshots": self.snapshots,
            "notes": self.notes[-5:],
            "total": self.total,
        }


def _name(number: int) -> str:
    """Return A, B, … Z, A1, B1, …"""
    return chr(ord("A") + number % 26) + (str(number // 26) if number >= 26 else "")


def _free_addresses(count: int) -> list[Address]:
    with ExitStack() as stack:
        sockets = [stack.enter_context(socket.socket()) for _ in range(count)]
        for each in sockets:
            each.bind(("127.0.0.1", 0))
        return [("127.0.0.1", each.getsockname()[1]) for each in sockets]
