"""A websocket ends with the right to it. A real server closes it, over a real Redis."""

import asyncio
import contextlib
import http.client
import time
from urllib.parse import urlencode

import pytest
from websockets.exceptions import ConnectionClosed, InvalidStatus

from tests.webapp.over_http import Api
from tests.webapp.serving import opened, prepared

pytestmark = pytest.mark.slow

SOON = 5.0  # seconds, on a machine that does other things too; alone it takes some milliseconds
ADA, BOB = "ada@example.org", "bob@example.org"


@pytest.fixture(scope="module")
def site(live_redis, tmp_path_factory):
    stack = live_redis.beside(tmp_path_factory.mktemp("site"), ALLOWED_HOSTS="127.0.0.1,other.test")
    recording = f"a_ready_recording(a_person({ADA!r})).pk"
    stack.made = prepared(
        stack,
        sample="a_ready_recording(None).pk",
        recording=recording,
        deleted=recording,
        leaving=f"session({ADA!r})",
        ada=f"session({ADA!r})",
        bob=f"session({BOB!r})",
    )
    stack.start_server()
    yield stack
    stack.stop()


async def end_of(socket) -> tuple[int, str]:
    """Return the close code and the reason."""
    try:
        while True:
            await asyncio.wait_for(socket.recv(), SOON)
    except ConnectionClosed as closed:
        return closed.rcvd.code, closed.rcvd.reason


async def both(site, recording: int, cookie: str) -> list:
    """Open the websockets of a workbench and of a list of jobs."""
    paths = (f"/ws/recordings/{recording}", "/ws/jobs")
    sockets = [await opened(site, path, cookie) for path in paths]
    await sockets[0].send('{"type": "cut", "request": 1, "at": 0}')
    await sockets[0].recv()  # it has joined its groups
    await asyncio.sleep(0.5)
    return sockets


def sign_out(site, cookie: str) -> int:
    """Send the form like the page does, with its CSRF token."""
    connection = http.client.HTTPConnection("127.0.0.1", site.port, timeout=30)
    token = "a" * 32
    headers = {
        "Cookie": f"{cookie}; csrftoken={token}",
        "Content-Type": "application/x-www-form-urlencoded",
    }
    body = urlencode({"csrfmiddlewaretoken": token})
    connection.request("POST", "/sign-out", body, headers)
    return connection.getresponse().status


async def test_signing_out_ends_what_the_session_has_open_and_nothing_else(site):
    cookie, recording = site.made["leaving"], site.made["recording"]
    sockets = await both(site, recording, cookie)
    others = await both(site, recording, site.made["ada"])
    began = time.monotonic()
    assert await asyncio.to_thread(sign_out, site, cookie) == 302
    ends = await asyncio.gather(*map(end_of, sockets))
    took = time.monotonic() - began
    assert ends == [(4401, "You have been signed out.")] * 2
    assert took < SOON
    print(f"\nclosed {took * 1000:.0f} ms after the request to sign out began")
    for socket in others:
        await socket.ping()
        assert socket.state.name == "OPEN"
        await socket.close()


async def test_a_deleted_recording_ends_for_who_looks_at_it(site):
    recording = site.made["deleted"]
    workbench, jobs = await both(site, recording, site.made["ada"])
    api = Api(site, ADA)
    answer = await asyncio.to_thread(api.call, "DELETE", f"/recordings/{recording}")
    assert answer.status == 204
    assert await end_of(workbench) == (4404, "This recording has been deleted.")
    assert jobs.state.name == "OPEN"
    await jobs.close()


async def test_a_closed_account_ends_all_that_is_open(site):
    sockets = await both(site, site.made["recording"], site.made["ada"])
    code = (
        "from snapshots.jobs import live; from webapp.accounts.services import *; "
        f"live.account_closed(get_or_create_user({ADA!r}).pk)"
    )
    site.manage("shell", "--no-imports", "--command", code)
    ends = await asyncio.gather(*map(end_of, sockets))
    assert ends == [(4401, "This account is closed.")] * 2


async def test_an_address_that_is_not_there_is_closed_in_silence(site):
    socket = await opened(site, "/ws/nope", site.made["ada"])
    assert await end_of(socket) == (4404, "Nothing is at this address.")
    assert "Traceback" not in site.said("server")


async def origin_is_taken(site, origin: str | None) -> bool:
    try:
        await (await opened(site, "/ws/jobs", "", origin=origin)).close()
    except InvalidStatus as refused:
        return refused.response.status_code != 403
    return True


async def test_only_pages_of_this_server_may_open_a_websocket(site):
    port = site.port
    assert await origin_is_taken(site, f"http://127.0.0.1:{port}")
    for origin in (
        None,
        "null",
        "http://127.0.0.1",
        f"http://127.0.0.1:{port + 1}",
        f"https://127.0.0.1:{port}",
        f"http://localhost:{port}",
        f"http://other.test:{port}",
        f"http://evil.example:{port}",
        f"http://127.0.0.1.evil.example:{port}",
        "http://127.0.0.1:port",
    ):
        assert not await origin_is_taken(site, origin), origin
    assert "Traceback" not in site.said("server")


async def told_of_presenting(site, recording: int, presenter: str, follower: str) -> list[str]:
    """Return what a follower is sent until the presenter's cursor arrives, or for two seconds."""
    path = f"/ws/recordings/{recording}"
    one, other = [await opened(site, path, site.made[who]) for who in (presenter, follower)]
    await other.send('{"type": "follow", "role": "follower"}')
    await other.send('{"type": "cut", "request": 1, "at": 0}')
    await other.recv()
    await asyncio.sleep(0.5)
    await one.send('{"type": "follow", "role": "presenter"}')
    await one.send('{"type": "seek", "at": 5}')
    told = []
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(2 if recording == site.made["sample"] else 30):
            while not told or '"type":"cursor"' not in told[-1]:
                told.append(await other.recv())
    await asyncio.gather(one.close(), other.close())
    return told


async def test_strangers_who_follow_a_sample_learn_no_name_and_no_cursor(site):
    told = "".join(await told_of_presenting(site, site.made["sample"], "ada", "bob"))
    assert '"type":"cursor"' not in told
    assert "ada" not in told
    assert '"by"' not in told


async def test_who_may_see_a_recording_learns_who_presents_it(site):
    told = await told_of_presenting(site, site.made["recording"], "ada", "ada")
    assert f'"by":"{ADA}"' in told[-1]
