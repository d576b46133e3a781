"""What a call of the recorder costs its caller: ``python -m bench.recording_calls [CALLS]``."""

import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from statistics import median, quantiles

from snapshots.recorder import Log, header

CALLS = 50_000


def costs(call, calls: int, pause: float) -> str:
    """Return the median and the 99th percentile of single calls, in microseconds."""
    taken = []
    for number in range(calls):
        began = time.perf_counter_ns()
        call(number)
        taken.append(time.perf_counter_ns() - began)
        if number % 100 == 99:
            time.sleep(pause)
    return f"median {median(taken) / 1000:.1f} µs, p99 {quantiles(taken, n=100)[98] / 1000:.1f} µs"


def main() -> None:
    count = int(sys.argv[1]) if len(sys.argv) > 1 else CALLS
    system = header("bench", {"A": 0, "B": 0}, ["A->B", "B->A"])
    for at_once, limit in ((False, " (limit of the median: 5 µs)"), (True, ", written at once")):
        with (
            tempfile.TemporaryDirectory() as folder,
            Log.to_file("A", Path(folder, "a.jsonl"), system, at_once=at_once) as log,
        ):
            for name, call in calls_of(log).items():
                print(f"{name}: {costs(call, count, 0.001)}{limit}")
            print(f"lost: {log.lost}")


def calls_of(log: Log) -> dict[str, Callable[[int], object]]:
    return {
        "sent, with numbers": lambda n: log.sent("A->B", n, state=n),
        "received, with numbers": lambda n: log.received("B->A", n, n, state=n),
        "state of an object": lambda n: log.state({"balance": n, "name": "A"}),
    }


if __name__ == "__main__":
    main()
