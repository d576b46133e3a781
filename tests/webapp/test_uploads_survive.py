"""Uploads in pieces on a real server that is killed, and with many requests at once."""

import base64
import re
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from itertools import pairwise

import pytest

from tests.builders import simulated
from tests.web.given import native
from tests.webapp.over_http import Answer, Api

pytestmark = pytest.mark.slow

PIECES = 5
TUS = {"Tus-Resumable": "1.0.0"}


@pytest.fixture(scope="module")
def killed(live_redis, tmp_path_factory):
    """Provide a server without a worker, which tests may kill."""
    stack = live_redis.beside(tmp_path_factory.mktemp("pieces"))
    stack.start_server()
    yield stack
    stack.stop()


@pytest.fixture(scope="module")
def log() -> bytes:
    return native(simulated(events=8_000, snapshots=((8_000, ("p1",)),)))


def begun(api: Api, log: bytes) -> str:
    name = base64.b64encode(b"killed.jsonl").decode()
    headers = {"Upload-Length": str(len(log)), "Upload-Metadata": f"filename {name}"}
    answer = api.call("POST", "/uploads", **TUS, **headers)
    assert answer.status == 201, answer
    return answer.headers["location"].removeprefix("/api")


def offset_of(api: Api, address: str) -> int:
    answer = api.call("HEAD", address, **TUS)
    assert answer.status == 200, answer
    return int(answer.headers["upload-offset"])


def send(api: Api, address: str, offset: int, body: bytes) -> Answer:
    headers = {"Content-Type": "application/offset+octet-stream", "Upload-Offset": str(offset)}
    return api.call("PATCH", address, body, **TUS, **headers)


def kept(stack, recording: int) -> bytes:
    """Return the bytes of a recording's upload."""
    named = f"Recording.objects.get(pk={recording}).upload"
    code = f"from snapshots.models import Recording; print('upload', {named})"
    said = stack.manage("shell", "--no-imports", "--command", code)
    name = re.search(r"upload (\w+)", said)[1]
    return (stack.folder / "uploads" / name).read_bytes()


def test_acknowledged_bytes_survive_a_server_that_is_killed(killed, log):
    api = Api(killed)
    address = begun(api, log)
    ends = [len(log) // 3, len(log) // 2, len(log)]
    for begin, end in pairwise([0, *ends]):
        assert send(api, address, begin, log[begin:end]).status == 204
        killed.kill("server")
        killed.start_server()
        assert offset_of(api, address) == end
    accepted = api.get(address)["accepted"]
    assert kept(killed, accepted["id"]) == log


def test_of_many_pieces_at_once_one_wins_and_bytes_never_mix(killed, log):
    api = Api(killed)
    address = begun(api, log)
    offset, size = 0, len(log) // PIECES
    while offset < len(log):
        bodies = [log[offset : offset + size - 1_000 * each] for each in range(6)]
        with ThreadPoolExecutor(len(bodies)) as pool:
            answers = list(pool.map(partial(send, api, address, offset), bodies))
        statuses = [answer.status for answer in answers]
        assert statuses.count(204) == 1, statuses
        assert set(statuses) <= {204, 409, 423}
        [winner] = (answer for answer in answers if answer.status == 204)
        offset = int(winner.headers["upload-offset"])
        assert offset_of(api, address) == offset
    assert kept(killed, api.get(address)["accepted"]["id"]) == log
