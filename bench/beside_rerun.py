"""The same events in Rerun: ``python -m bench.beside_rerun FOLDER``, by hand.

FOLDER has the parts that ``bench.large_log`` writes. It needs a Python with Rerun, which Cutline
does not require: ``pip install 'rerun-sdk[catalog]' psutil``. Each process becomes an entity, with
a row for each event. Measured are the load into a file, its bytes, the load of that file by Rerun's
server, its memory, and a seek: the states of all processes at an instant (``latest at``). Rerun
knows no channels and no cuts, so nothing is asked about messages in flight.
"""

import random
import statistics
import sys
import tempfile
from itertools import pairwise
from pathlib import Path
from time import perf_counter, process_time

ROUNDS = 50
COLUMNS = ("kind", "channel", "message", "value", "state")


def main() -> None:
    try:
        import rerun
    except ImportError:
        sys.exit("This needs a Python with rerun-sdk: pip install 'rerun-sdk[catalog]' psutil")
    parts = sorted(Path(sys.argv[1]).glob("*.parquet"))
    with tempfile.TemporaryDirectory(prefix="cutline-bench-") as folder:
        target = Path(folder) / "run.rrd"
        rows, last = timed("load into a file", lambda: load(rerun, parts, target))
        print(f"{rows:,} rows, {target.stat().st_size / rows:.1f} bytes a row on disk", flush=True)
        ask(rerun, target, last)


def load(rerun, parts: list[Path], target: Path) -> tuple[int, int]:
    """Write all parts to a file of Rerun. Return how many rows there are, and the last instant."""
    import numpy as np
    import pyarrow.parquet as pq

    recording = rerun.RecordingStream("bench")
    recording.save(target)
    rows = last = 0
    for path in parts:
        table = pq.read_table(path)
        rows += table.num_rows
        process = table["process"].cast("string").combine_chunks().dictionary_encode()
        codes = process.indices.to_numpy()
        table = table.take(np.argsort(codes, kind="stable"))
        names = process.dictionary.to_pylist()
        bounds = np.cumsum([0, *np.bincount(codes)]).tolist()
        for name, (begin, end) in zip(names, pairwise(bounds), strict=True):
            last = max(last, send(rerun, recording, name, table.slice(begin, end - begin)))
    recording.flush()
    recording.disconnect()
    return rows, last


def send(rerun, recording, process: str, own) -> int:
    """Send the events of a process. Return the last instant."""
    columns = {}
    for name in COLUMNS:
        column = own[name].combine_chunks()
        if name in ("kind", "channel"):
            column = column.cast("string")
        columns[name] = column
    at = own["at"].to_numpy()
    rerun.send_columns(
        process,
        indexes=[rerun.TimeColumn("at", sequence=at)],
        columns=rerun.AnyValues.columns(**columns),
        recording=recording,
    )
    return int(at[-1])


def ask(rerun, target: Path, last: int) -> None:
    """Open the file with Rerun's server in this process, and seek."""
    import numpy as np
    import psutil

    before = psutil.Process().memory_info().rss
    server = rerun.server.Server(datasets={"run": [str(target)]})
    dataset = timed("open", lambda: server.client().get_dataset("run"))
    [segment] = dataset.segment_ids()
    states = dataset.filter_contents(["/**"])
    dice = random.Random(1)

    def seek() -> None:
        at = {segment: np.array([dice.randint(0, last)])}
        reader = states.reader(index="at", fill_latest_at=True, using_index_values=at)
        named = [name for name in reader.schema().names if name.endswith(":state")]
        assert reader.select(*(f'"{name}"' for name in named)).to_arrow_table().num_rows == 1

    timed("the first seek", seek)
    spent = []
    for _ in range(ROUNDS):
        began = perf_counter()
        seek()
        spent.append((perf_counter() - began) * 1000)
    p95 = statistics.quantiles(spent, n=20)[-1]
    print(f"seek: p50 {statistics.median(spent):.0f} ms, p95 {p95:.0f} ms")
    grown = psutil.Process().memory_info().rss - before
    print(f"memory, resident, grew by {grown / 1e6:,.0f} MB")


def timed(words: str, job):
    began, used = perf_counter(), process_time()
    result = job()
    spent = perf_counter() - began
    print(f"{words}: {spent:.1f} s, {process_time() - used:.1f} s of processor time", flush=True)
    return result


if __name__ == "__main__":
    main()
