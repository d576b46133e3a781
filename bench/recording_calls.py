"""What a call of the recorder costs its caller: ``python -m bench.recording_calls [CALLS]``."""

import sys
import tempfile
import time
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
    with tempfile.TemporaryDirectory() as folder:
        system = header("bench", {"A": 0, "B": 0}, ["A->B", "B->A"])
        with Log.to_file("A", Path(folder, "a.jsonl"), system) as log:
            calls = {
                "sent, with numbers": lambda n: log.sent("A->B", n, state=n),
                "received, with numbers": lambda n: log.received("B->A", n, n, state=n),
                "state of an object": lambda n: log.state({"balance": n, "name": "A"}),
            }
            for name, call in calls.items():
                print(f"{name}: {costs(call, count, 0.001)} (limit of the median: 5 µs)")
            print(f"lost: {log.lost}")


if __name__ == "__main__":
    main()
