"""All measurements, one after the other: ``python -m bench [EVENTS]`` (default 10^6).

Each prints its figures with those of its comparison, on the machine on which it runs. Absolute
times mean little on a busy machine; the ratios are measured in the same run.
"""

import subprocess
import sys

MEASUREMENTS = (
    ("The store in one process", "bench.store"),
    ("A cut from an object store", "bench.objects"),
    ("What playing costs the server", "bench.playing"),
    ("The smallest part with a verdict", "bench.shrinking"),
    ("The Spark jobs beside DuckDB", "bench.jobs"),
    ("The simulators and the check", "bench.simulator"),
    ("Over HTTP and in the browser", "bench.server"),
)
OF_THEIR_OWN_SIZE = (
    ("The start of everything, and its memory when nothing happens", "bench.idle", "90"),
    ("What pages weigh", "bench.weights", "20000"),
    ("Cuts over HTTP, and the memory of the web process", "bench.opened", "1000000"),
    ("Somebody's upload among a thousand jobs", "bench.fairness", "1000"),
    ("Thirty people who follow a presenter", "bench.together", "30"),
    ("An open recording, while 20 processes send to it", "bench.open_recordings", "180"),
    ("A review of 1,000 entries and 30 people", "bench.reviews", "1000"),
    ("A call of the recorder", "bench.recording_calls", "50000"),
    ("An account with 100,000 recordings", "bench.full_account", "100000"),
    ("An ingest on many machines, simulated", "bench.schedule", "1000000"),
    ("Recordings of unusual shapes", "bench.shapes", "400000"),
    ("Lists and details of large recordings", "bench.lists", "1000"),
    ("The archive of 100,000 checkpoints", "bench.archive", "100000"),
)


def main() -> None:
    events = sys.argv[1] if len(sys.argv) > 1 else "1000000"
    for title, module, size in (*((*each, events) for each in MEASUREMENTS), *OF_THEIR_OWN_SIZE):
        print(f"\n## {title}: python -m {module} {size}\n", flush=True)
        subprocess.run([sys.executable, "-m", module, size], check=True)


if __name__ == "__main__":
    main()
