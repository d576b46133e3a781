"""Real processes send events to an open recording, while the server's processes are killed."""

import hashlib
import threading
import time
from pathlib import Path

import pytest

from snapshots.recorder import Log, header
from snapshots.store.manifest import Manifest
from tests.webapp.over_http import Api

pytestmark = [pytest.mark.spark, pytest.mark.slow]

NAMES = ("A", "B", "C")
CHANNELS = [f"{one}->{other}" for one in NAMES for other in NAMES if one != other]
SYSTEM = header("banks", dict.fromkeys(NAMES, 0), CHANNELS, origin=1_000_000)
TIMES = 400  # that each process sends a message


@pytest.fixture
def api(stack):
    yield Api(stack)
    if "redis" not in stack.processes:
        stack.run_redis()
    if "worker" not in stack.processes:
        stack.start_worker()
    if "server" not in stack.processes:
        stack.start_server()


def opened(api: Api) -> int:
    return api.post("/recordings", {"open": True, "header": SYSTEM}).body["id"]


def log_of(stack, pk: int, name: str, folder) -> Log:
    address = f"{stack.url}/api/recordings/{pk}"
    spool, token = folder / name, stack.token()
    return Log.to_server(
        name, address, SYSTEM, token=token, spool=spool, timeout=5, pauses=(0.05, 0.2)
    )


def talk(log: Log, name: str, pause: float) -> None:
    for count in range(TIMES):
        for other in NAMES:
            if other != name:
                log.sent(f"{name}->{other}", 1, message=f"{name}{count}", state=count)
        log.internal("rests", state=count)
        time.sleep(pause)


def test_what_was_sent_is_there_once_whatever_is_killed(stack, api, tmp_path):
    pk = opened(api)
    logs = {name: log_of(stack, pk, name, tmp_path) for name in NAMES}
    threads = [threading.Thread(target=talk, args=(logs[name], name, 0.01)) for name in NAMES]
    for thread in threads:
        thread.start()
    for name, start in (
        ("server", stack.start_server),
        ("redis", stack.run_redis),
        ("worker", stack.start_worker),
        ("server", stack.start_server),
    ):
        time.sleep(0.5)
        stack.kill(name)
        start()
    for thread in threads:
        thread.join()
    for log in logs.values():
        log.close(timeout=30)
        assert log.problem is None
    received = api.get(f"/recordings/{pk}/received")
    assert (received["events"], received["gaps_total"]) == (3 * len(NAMES) * TIMES, 0)
    require_same_store(stack, api, pk)


def require_same_store(stack, api: Api, pk: int) -> None:
    """Close a recording, upload its log as another one, and compare what is stored of both."""
    job = api.post(f"/recordings/{pk}/close").body["job"]
    assert api.ended(job)["state"] == "done"
    log, journalled = files_of(stack, pk)
    other = api.ingested(log.read_bytes(), name="banks.jsonl")
    assert contents(journalled) == contents(files_of(stack, other)[1])


def files_of(stack, pk: int) -> tuple[Path, Path]:
    """Return the upload and the store of a recording."""
    say = (
        "from snapshots.models import Recording as R; "
        f"print(*R.objects.values_list('upload', 'store').get(pk={pk}))"
    )
    upload, store = stack.manage("shell", "-v", "0", "-c", say).split()[-2:]
    return stack.folder / "uploads" / upload, stack.folder / "store" / store


def contents(folder) -> tuple:
    """Return what a store holds, without the names of its parts, which are drawn."""
    manifest = Manifest.read(folder)
    files = [path for path in folder.rglob("*") if path.is_file() and path.name != "manifest.json"]
    return (
        manifest.counts,
        manifest.extent,
        manifest.snapshots,
        sorted(hashlib.sha256(path.read_bytes()).hexdigest() for path in files),
    )
