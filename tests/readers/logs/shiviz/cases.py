"""ShiViz's logs with the counts that ShiViz itself gives, beside what the reader gives."""

import json
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest

from snapshots.domain.assembling.assembly import Assembly, assemble
from snapshots.domain.model.defects import Defect, Defects, InputRefused
from snapshots.readers import recognition
from snapshots.readers.formats.limits import Limits
from snapshots.readers.logs.shiviz.clocks import _candidates
from snapshots.readers.logs.shiviz.known import BY_NAME
from snapshots.readers.logs.shiviz.logs import open_log, read_execution
from tests.readers.inputs import source

PLAIN = r"(?<host>\S*) (?<clock>{.*}) (?<event>.*)"


@dataclass(frozen=True)
class Execution:
    """The counts of one execution."""

    name: str
    events: dict[str, int]  # of each host
    receives: int
    edges: int
    skipped_lines: int


def executions(source: Path, limits: Limits) -> list[Execution]:
    """Read all executions of a log. Raises: InputRefused."""
    log, found = open_log(source, limits), []
    for part in log.parts:
        events, messages = read_execution(log, part, limits)
        clocks = events.clocks
        counts = (clocks.starts[1:] - clocks.starts[:-1]).tolist()
        hosts = dict(zip(clocks.hosts, counts, strict=True))
        sizes = (
            len(np.unique(_candidates(clocks) // len(clocks.hosts))),
            len(messages.senders),
            events.skipped.lines,
        )
        found.append(Execution(part.name, hosts, *sizes))
    return found


def whole_file(parser: str, delimiter: str, log: bytes) -> bytes:
    """Return a file with the expressions in front, as ShiViz takes it."""
    return f"{parser or BY_NAME['default'].parser}\n{delimiter}\n".encode() + log


def cases(shared_data: Path) -> list[dict]:
    """Return the entries of the manifest, each with the path of its log."""
    folder = shared_data / "shiviz"
    manifest = json.loads((folder / "manifest.json").read_text())
    return [entry | {"path": folder / entry["file"]} for entry in manifest]


def with_expressions(case: dict, target: Path) -> Path:
    """Write the log as a file with the manifest's expressions in front."""
    log = case["path"].read_bytes()
    target.write_bytes(whole_file(case["parser"], case["delimiter"] or "", log))
    return target


def counted(source: Path) -> list[dict]:
    """Return the executions of a log in the words of the manifest."""
    return [
        {
            "execution": found.name,
            "events": sum(found.events.values()),
            "hosts": found.events,
            "receives": found.receives,
            "edges": found.edges,
        }
        for found in executions(source, Limits())
    ]


def recorded(source: Path, execution: str | None = None) -> tuple[Assembly, Defects]:
    """Return the recording that an upload of an execution becomes."""
    defects, limits = Defects(), Limits()
    format = None if execution is None else f"shiviz:{execution}"
    reader = recognition.sniff(source, limits, format).reader
    header = reader.header(source, limits)
    return assemble(header, recognition.events(reader, source, header, limits, defects)), defects


def refusal(folder: Path, data: bytes) -> Defect:
    """Return why a log is refused."""
    path = source(folder, data, "run.log")
    with pytest.raises(InputRefused) as caught:
        recorded(path)
    return caught.value.defects[0]


def agreement(case: dict) -> dict[str, int]:
    """Compare the manifest's counts of executions, hosts and messages with those of the readers.

    Returns how many counts were ``compared``, and how many ``agreed``.
    """
    pairs = []
    entries = {entry["execution"]: entry for entry in counted(case["path"])}
    for expected in case["executions"]:
        entry = entries.get(expected["execution"], {})
        pairs += [(expected[key], entry.get(key)) for key in ("events", "receives", "edges")]
        hosts = entry.get("hosts", {})
        pairs += [(count, hosts.get(host)) for host, count in expected["hosts"].items()]
        execution = expected["execution"] if len(case["executions"]) > 1 else None
        recording = recorded(case["path"], execution)[0].recording
        pairs.append((expected["edges"], sum(map(len, recording.messages.values()))))
    return {"compared": len(pairs), "agreed": sum(wanted == own for wanted, own in pairs)}
