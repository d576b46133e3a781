"""The logs that a campaign uploads, and what the reference says they hold."""

import json
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from snapshots.domain.assembling.assembly import assemble
from snapshots.domain.judging.verdicts import judge
from snapshots.domain.model import shapes
from snapshots.domain.simulators.basic import simulate
from snapshots.domain.simulators.script import Log
from snapshots.domain.simulators.simulation import Simulation, SnapshotStart
from snapshots.domain.simulators.workloads import Bank
from snapshots.readers.logs.native import write_lines
from tests import builders
from tests.damage import lose_recorded_message

EVENTS = {"small": 400, "medium": 6_000, "large": 40_000}
BROKEN = "broken late"


@dataclass(frozen=True)
class Sample:
    """``log``: None where the bytes are to be refused."""

    name: str
    content: bytes
    log: Log | None

    @cached_property
    def expected(self) -> dict[str, Any]:
        """Counts, and each snapshot's verdict and totals, by the reference."""
        assembly = assemble(self.log.header, self.log.events)
        recording = assembly.recording
        reports = [report.summary() for report in judge(recording)]
        return {
            "events": sum(map(len, recording.events.values())),
            "messages": sum(map(len, recording.messages.values())),
            "defects": len(assembly.defects),
            "snapshots": [
                {name: report[name] for name in ("snapshot", "verdict", "totals")}
                for report in json.loads(json.dumps(reports))
            ],
        }


def samples() -> dict[str, Sample]:
    """Logs of three sizes, one of them with a fault in its snapshot, and one to be refused."""
    logs = {name: a_run(name, events) for name, events in EVENTS.items()}
    damaged = lose_recorded_message(builders.simulated()).log
    known = logs | {"damaged": damaged}
    made = {name: Sample(name, native(log), log) for name, log in known.items()}
    return made | {BROKEN: Sample(BROKEN, broken_late(), None)}


def a_run(name: str, events: int) -> Log:
    simulation = Simulation(
        shapes.random_connected(12, 3, seed=events),
        Bank(),
        seed=events,
        events=events,
        snapshots=(SnapshotStart(300_000, ("p1",)), SnapshotStart(900_000, ("p2",))),
    )
    return Log(simulation.header(name), tuple(simulate(simulation)))


def broken_late() -> bytes:
    """A log whose fault lies behind what a request looks at: the worker refuses it."""
    whole = native(a_run(BROKEN, 400))
    filler = b'{"kind":"internal","process":"p1","label":"' + b"x" * 2**20 + b'"}\n'
    return whole + 9 * filler + b'{"kind":"internal","process":"nobody"}\n'


def native(log: Log) -> bytes:
    return b"".join(write_lines(log.header, log.events))
