"""Parts of a cluster are killed in each phase of a job: one ready recording, as without a cluster.

The log is joined from the logs of its processes, so that its times have to be computed again.
"""

import json
import os
import signal
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from functools import cache, partial
from itertools import product
from pathlib import Path

import pytest

from snapshots.domain.model import shapes
from snapshots.domain.simulators.basic import simulate
from snapshots.domain.simulators.simulation import Simulation, SnapshotStart
from snapshots.domain.simulators.workloads import Bank
from snapshots.files import aside
from snapshots.readers.logs.native import write_lines
from snapshots.store.layout import MANIFEST, OUTLINES, PARTED
from snapshots.store.manifest import Manifest
from tasks.spark.checkpoints.job import explain_checkpoints
from tasks.spark.judge.job import judge_snapshots
from tests.spark.agreement import ingested, silent, table
from tests.spark.running.cluster import Connect, Process, Standalone
from tests.stack import Stack
from tests.webapp.over_http import Api

pytestmark = [pytest.mark.spark, pytest.mark.long]

EVENTS = 60_000
PHASES = ("reading", "ordering", "matching", "timing", "finishing", "judging")
PATIENCE_SECONDS = 1_500  # on a machine that does much else
MOST_UPLOADS = 8
SPARK = {"SPARK_EXECUTOR_PYTHON": sys.executable, "SPARK_START_SECONDS": "900"}
Strike = Callable[["Cluster", int], None]


class OverBefore(AssertionError):
    """A job ended before it was seen in the phase in which it was to be struck."""


class Cluster:
    """A worker of Celery with its server, whose Spark is a cluster."""

    def __init__(self, stack: Stack, spark: Standalone, connect: Connect | None) -> None:
        self.stack = stack
        self.spark = spark
        self.connect = connect
        self.api = Api(stack)

    def restart(self) -> None:
        """Start what a strike has ended."""
        for process in (*self.spark.workers, self.connect):
            if process is not None and not process.is_running:
                process.start()

    def phase(self, job: int) -> str:
        """Return the phase of a job. Raises: OverBefore."""
        found = self.api.get(f"/jobs/{job}")
        if found["state"] not in ("queued", "running"):
            raise OverBefore(f"the job was over before: {found}")
        return (found["phase"] or "").partition(":")[0]

    def _is_in(self, job: int, phase: str) -> bool:
        return self.phase(job) == phase

    def job_in(self, phase: str) -> dict[str, int]:
        """Upload the log until a job is seen in a phase, which may pass between two looks."""
        for _ in range(MOST_UPLOADS):
            accepted = self.api.upload(a_joined_log()).body
            is_there = partial(self._is_in, accepted["job"], phase)
            try:
                until(is_there)
                return accepted
            except OverBefore:
                self.api.call("DELETE", f"/recordings/{accepted['id']}")
        raise OverBefore(f"of {MOST_UPLOADS} jobs none was seen in the phase {phase}")


@contextmanager
def running(
    folder: Path, spark: Standalone, *, with_connect: bool, **settings: str
) -> Iterator[Cluster]:
    stack = Stack(folder)
    with ExitStack() as closing:
        connect = None
        if with_connect:
            connect = closing.enter_context(Connect(folder / "server", spark.address))
        closing.callback(stack.stop)
        stack.start_redis()
        address = {"SPARK_REMOTE": connect.address} if connect else {"SPARK_MASTER": spark.address}
        stack.environment |= address | SPARK | settings
        stack.start_server()
        stack.start_worker()
        yield Cluster(stack, spark, connect)


@pytest.fixture(scope="module")
def standalone(standalone_spark, tmp_path_factory):
    folder = tmp_path_factory.mktemp("standalone")
    with running(folder, standalone_spark, with_connect=False) as cluster:
        yield cluster


@pytest.fixture(scope="module")
def connected(tmp_path_factory):
    folder = tmp_path_factory.mktemp("connect")
    with (
        Standalone(folder / "cluster") as spark,
        running(folder, spark, with_connect=True) as cluster,
    ):
        yield cluster


@pytest.fixture(scope="module")
def expected(spark, tmp_path_factory) -> dict[str, object]:
    """Return what a local Spark stores."""
    folder = tmp_path_factory.mktemp("local")
    (folder / "log.jsonl").write_bytes(a_joined_log())
    ingested(folder / "log.jsonl", folder / "store", spark)
    judge_snapshots(folder / "store", silent, spark)
    explain_checkpoints(folder / "store", silent, spark)
    return stored(folder / "store")


@cache
def a_joined_log() -> bytes:
    """Simulate a log whose lines are sorted by process, too large for a single task."""
    simulation = Simulation(
        shapes.random_connected(12, 3, seed=1),
        Bank(),
        events=EVENTS,
        snapshots=(SnapshotStart(1_000_000, ("p1",)),),
    )
    events = sorted(simulate(simulation), key=lambda event: event.process)
    return b"".join(write_lines(simulation.header("struck"), tuple(events)))


def stored(folder: Path) -> dict[str, object]:
    """Return all that a store holds, without the names and sizes of its parts."""
    manifest = Manifest.read(folder)
    found: dict[str, object] = {
        name: table(folder, manifest, name).combine_chunks() for name in PARTED
    }
    described = json.loads((folder / MANIFEST).read_text())
    found[MANIFEST] = {name: value for name, value in described.items() if name != "parts"}
    for path in folder.rglob("*"):
        name = str(path.relative_to(folder))
        if path.is_file() and name != MANIFEST and path.parent.name not in (*PARTED, OUTLINES):
            found[name] = path.read_bytes()
    return found


def kill_worker(cluster: Cluster, job: int) -> None:
    """End the worker of the cluster that works, with its executor."""
    max(cluster.spark.workers, key=ticks_of).kill()


def ticks_of(process: Process) -> float:
    """Return how much processor time a process and its executors take in a moment."""
    before = process.processor_seconds()
    time.sleep(0.1)
    return process.processor_seconds() - before


def kill_all_workers(cluster: Cluster, job: int) -> None:
    for worker in cluster.spark.workers:
        worker.kill()
    time.sleep(2)
    for worker in cluster.spark.workers:
        worker.launch()


def kill_connect(cluster: Cluster, job: int) -> None:
    assert cluster.connect is not None
    cluster.connect.kill()
    cluster.connect.start()


def freeze_connect(cluster: Cluster, job: int) -> None:
    """Stop the server until the job has been put back."""
    assert cluster.connect is not None
    phase = cluster.phase(job)
    cluster.connect.send(signal.SIGSTOP)
    try:
        until(lambda: cluster.phase(job) != phase)
    finally:
        cluster.connect.send(signal.SIGCONT)


def kill_driver(cluster: Cluster, job: int) -> None:
    """End the process of Celery that runs the job."""
    [child] = cluster.stack.job_processes()
    os.kill(child, signal.SIGKILL)


STRIKES = list(product([kill_worker, kill_all_workers, kill_driver], PHASES))


@pytest.mark.parametrize(("strike", "phase"), STRIKES)
def test_a_standalone_cluster_is_struck(standalone, expected, strike, phase):
    check(standalone, expected, strike, phase)


@pytest.mark.parametrize("phase", PHASES)
@pytest.mark.parametrize("strike", [kill_worker, kill_all_workers, kill_connect, kill_driver])
def test_a_cluster_behind_spark_connect_is_struck(connected, expected, strike, phase):
    check(connected, expected, strike, phase)


@pytest.mark.parametrize("phase", ["ordering", "judging"])
def test_a_frozen_server_of_spark_connect_puts_the_job_back(connected, expected, phase):
    check(connected, expected, freeze_connect, phase)


def check(cluster: Cluster, expected: dict[str, object], strike: Strike, phase: str) -> None:
    accepted = cluster.job_in(phase)
    try:
        strike(cluster, accepted["job"])
        job = cluster.api.ended(accepted["job"], PATIENCE_SECONDS)
        assert job["state"] == "done", job
        assert cluster.api.get(f"/recordings/{accepted['id']}")["status"] == "ready"
        until(lambda: len(stores(cluster.stack)) == 1)
        compare(stored(*stores(cluster.stack)), expected)
    finally:
        cluster.api.call("DELETE", f"/recordings/{accepted['id']}")
        cluster.restart()


@pytest.mark.parametrize("with_connect", [False, True], ids=["standalone", "connect"])
def test_a_worker_runs_two_jobs_on_a_cluster_at_the_same_time(tmp_path, expected, with_connect):
    settings = {"WORKER_CONCURRENCY": "2", "SPARK_CORES_MAX": "1", "SPARK_DRIVER_MEMORY": "1g"}
    with (
        Standalone(tmp_path / "cluster") as spark,
        running(tmp_path, spark, with_connect=with_connect, **settings) as cluster,
    ):
        check_two_jobs(cluster.api, cluster.stack, expected)


def test_a_worker_runs_two_jobs_with_local_sparks_at_the_same_time(tmp_path, expected):
    stack = Stack(tmp_path)
    try:
        stack.start_redis()
        stack.environment |= {"WORKER_CONCURRENCY": "2", "SPARK_MASTER": "local[2]"}
        stack.start_server()
        stack.start_worker()
        check_two_jobs(Api(stack), stack, expected)
    finally:
        stack.stop()


def check_two_jobs(api: Api, stack: Stack, expected: dict[str, object]) -> None:
    jobs = [api.upload(a_joined_log()).body["job"] for _ in range(2)]
    until(lambda: {api.get(f"/jobs/{job}")["state"] for job in jobs} == {"running"})
    assert [api.ended(job, PATIENCE_SECONDS)["state"] for job in jobs] == ["done", "done"]
    assert len(stores(stack)) == 2
    for store in stores(stack):
        compare(stored(store), expected)


def stores(stack: Stack) -> list[Path]:
    """Return the stored recordings, also unfinished ones, without deleted ones."""
    return [path for path in (stack.folder / "store").iterdir() if path.name != aside.FOLDER]


def compare(found: dict[str, object], expected: dict[str, object]) -> None:
    assert found.keys() == expected.keys()
    for name, content in expected.items():
        assert found[name] == content, name


def until(is_so: Callable[[], bool]) -> None:
    deadline = time.monotonic() + PATIENCE_SECONDS
    while not is_so():
        assert time.monotonic() < deadline
        time.sleep(0.01)
