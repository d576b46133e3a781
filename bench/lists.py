"""How long and how heavy lists and details of large recordings are: ``python -m bench.lists``.

``python -m bench.lists [SIZE]`` (default 1,000) writes four recordings straight into a store: SIZE
snapshots of SIZE processes, 5 x SIZE snapshots of 50 processes, 10 x SIZE processes with 100 x SIZE
channels, and one channel with 1,000 x SIZE messages in flight. It judges them in this process, one
task after the other and without Spark, and asks through Django's test client, without the network.
Requirements at 1,000: judging in <= 15 s; a page of a list in <= 100 kB; a detail in <= 50 ms (one
of 5,000 snapshots in <= 30 ms, of 10,000 processes in <= 200 ms); a cut or a detail in <= 200 kB.
"""

import sys
import tempfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from statistics import median
from time import perf_counter, process_time
from typing import Any

from bench.in_memory import set_up
from bench.synthetic_store import write_synthetic

SIZE = 1_000
ROUNDS = 5


@dataclass(frozen=True)
class Case:
    """A recording to measure.

    Attributes:
        words: what is large in it.
        synthetic: the arguments of ``write_synthetic``.
        asked: the calls that are measured, by what they are called in the output.
    """

    words: str
    synthetic: Mapping[str, Any]
    asked: Mapping[str, Callable[["Asked"], Any]]


class Asked:
    """Asks for one recording, as a browser that is signed in does."""

    def __init__(self, client, recording: int, snapshot: str, instant: int) -> None:
        self._client = client
        self._api = f"/api/recordings/{recording}"
        self._snapshot = f"{self._api}/snapshots/{snapshot}"
        self._page = f"/recordings/{recording}"
        self._instant = instant

    def list(self):
        return self._client.get(f"{self._api}/snapshots")

    def brief(self):
        return self._client.get(f"{self._api}/snapshots-in-brief?limit=400")

    def detail(self, **part):
        return self._client.get(self._snapshot, part)

    def cut(self, **part):
        body = {"at": self._instant, **part}
        return self._client.post(f"{self._api}/cuts", body, "application/json")

    def workbench(self):
        return self._client.get(self._page)


PART = {"limit": 500}
LISTED = {
    "the whole list": Asked.list,
    "400 in brief": Asked.brief,
    "one detail, whole": Asked.detail,
    "one detail, 500 items": partial(Asked.detail, **PART),
    "the workbench": Asked.workbench,
}
IN_CHANNELS = {
    "a cut, whole": Asked.cut,
    "a cut, 500 items": partial(Asked.cut, **PART),
    "one detail, whole": Asked.detail,
    "one detail, 500 items": partial(Asked.detail, **PART),
    "500 messages of one channel": partial(Asked.detail, channel="c0", first_message=500, **PART),
}


def cases(size: int) -> tuple[Case, ...]:
    """Return what is measured at a size."""
    return (
        Case(
            f"{size:,} snapshots of {size:,} processes",
            _arguments(50 * size, size, 2 * size, size),
            LISTED,
        ),
        Case(f"{5 * size:,} snapshots", _arguments(50 * size, 50, 200, 5 * size), LISTED),
        Case(
            f"{10 * size:,} processes, {100 * size:,} channels",
            _arguments(1_000 * size, 10 * size, 100 * size, 3),
            IN_CHANNELS,
        ),
        Case(
            f"{1_000 * size:,} messages in flight",
            _arguments(4_600 * size, 2, 1, 1) | {"in_flight": 20_000 * size},
            IN_CHANNELS,
        ),
    )


def _arguments(events: int, processes: int, channels: int, snapshots: int) -> dict[str, Any]:
    return {
        "events": events,
        "processes": processes,
        "channels": channels,
        "snapshots": tuple(f"s{number}" for number in range(snapshots)),
        "are_consistent": True,
    }


def main() -> None:
    size = int(float(sys.argv[1])) if sys.argv[1:] else SIZE
    with tempfile.TemporaryDirectory(prefix="cutline-bench-") as folder:
        set_up(Path(folder))
        measure(size)


def measure(size: int) -> None:
    """Measure all cases in the database that is set up."""
    for case in cases(size):
        print(f"\n{case.words}", flush=True)
        asked = _ready(case)
        for words, ask in case.asked.items():
            print(f"{words:34} {_measured(ask, asked)}", flush=True)


def _ready(case: Case) -> Asked:
    """Write and judge a recording, and return who asks about it."""
    from django.db import transaction
    from django.test import Client

    from snapshots.files import recordings
    from snapshots.models import Recording
    from tests.web.given import a_person

    owner = a_person("owner@example.org")
    row = Recording.objects.create(owner=owner, name=case.words)
    name = recordings.name_of(row.pk, 0)
    folder = recordings.store().temporary(name)
    manifest = write_synthetic(folder, **case.synthetic)
    _judge(folder)
    recordings.publish(folder, name)
    with transaction.atomic():
        recordings.make_ready(row, name, recordings.summary(name))
    client = Client()
    client.force_login(owner)
    middle = manifest.snapshots[len(manifest.snapshots) // 2]
    return Asked(client, row.pk, middle, manifest.extent.to // 2)


def _judge(folder: Path) -> None:
    """Judge a recording as a worker does, and print how long its steps take."""
    from snapshots.store.writer import write_snapshots
    from tasks.spark.judge.job import Judge
    from tasks.spark.stages import StagesHere

    began = perf_counter()
    judge = Judge(folder)
    facts = judge.facts(StagesHere(), lambda *progress: None)
    compared = perf_counter()
    reports = judge.reports(*facts)
    reported = perf_counter()
    summaries = [report.summary() for report in reports]
    write_snapshots(folder, summaries, judge.state_rows(), judge.contents)
    ended = perf_counter()
    print(
        f"{'judging':34} {ended - began:.1f} s: kernels {compared - began:.1f} s, reports "
        f"{reported - compared:.1f} s, writing {ended - reported:.1f} s"
    )


def _measured(ask: Callable[[Asked], Any], asked: Asked) -> str:
    """Return the time of an answer, the first and the median of the others, and its size."""
    times, worked = [], []
    for _ in range(ROUNDS):
        began, used = perf_counter(), process_time()
        answer = ask(asked)
        times.append((perf_counter() - began) * 1000)
        worked.append((process_time() - used) * 1000)
        assert answer.status_code == 200, answer.content[:500]
    return (
        f"first {times[0]:6.0f} ms, then {median(times[1:]):6.0f} ms, of which the processor "
        f"worked {median(worked[1:]):6.0f} ms, {len(answer.content) / 1000:,.0f} kB"
    )


if __name__ == "__main__":
    main()
