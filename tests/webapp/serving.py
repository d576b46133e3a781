"""Help for tests with a running server: what it holds, recordings, and websockets."""

import contextlib
import json
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from websockets.asyncio.client import connect

from tests.stack import Stack

BUSY = 1_500  # messages of the busy recording: a window of it has some 100 kB


def descriptors(stack: Stack) -> list[str]:
    """Return the files and sockets that the server has open."""
    found = []
    for link in Path(f"/proc/{stack.processes['server'].pid}/fd").iterdir():
        with contextlib.suppress(FileNotFoundError):
            found.append(str(link.readlink()))
    return found


def open_sockets(stack: Stack) -> int:
    return sum(target.startswith("socket:") for target in descriptors(stack))


def memory(stack: Stack) -> int:
    """Return how many bytes of memory the server takes."""
    status = Path(f"/proc/{stack.processes['server'].pid}/status").read_text()
    [line] = (line for line in status.splitlines() if line.startswith("VmRSS:"))
    return int(line.split()[1]) * 1024


def wait_until(is_so: Callable[[], bool], seconds: float = 30) -> None:
    deadline = time.monotonic() + seconds
    while not is_so():
        assert time.monotonic() < deadline, "it did not come about in time"
        time.sleep(0.1)


def prepared(stack: Stack, **made: str) -> dict[str, Any]:
    """Make things in the stack's own database, by name: each is an expression of ``PREPARING``.

    One process makes all of them, since to start it takes seconds.
    """
    each = ", ".join(f"{name!r}: {expression}" for name, expression in made.items())
    code = f"{PREPARING}; print(json.dumps({{{each}}}))"
    return json.loads(stack.manage("shell", "--no-imports", "--command", code))


PREPARING = (
    "import json; from tests.web.given import *; "
    "from tests.webapp.serving import busy, session, token"
)


def session(email: str = "owner@localhost") -> str:
    """Return the cookie of somebody who is signed in."""
    from django.test import Client

    from tests.web.given import a_person

    client = Client()
    client.force_login(a_person(email))
    return f"sessionid={client.cookies['sessionid'].value}"


def token(email: str = "owner@localhost") -> str:
    from tests.web.given import a_person, make_token

    return make_token(a_person(email), "test")[1]


def busy():
    """Return a log of BUSY messages, one after the other."""
    from snapshots.domain.simulators.script import Script

    run = Script("busy", {"p": 0, "q": 0}, ["p->q"])
    for number in range(BUSY):
        run.send("p->q", f"m{number}", 1, state=number).receive("p->q", f"m{number}", state=number)
    return run.log()


def opened(stack: Stack, path: str, cookie: str, **options):
    """Open a websocket like a page of this server does. The answer must be awaited."""
    headers = {"Cookie": cookie, **options.pop("headers", {})}
    return connect(
        f"ws://127.0.0.1:{stack.port}{path}",
        origin=options.pop("origin", stack.url),
        additional_headers=headers,
        open_timeout=60,
        close_timeout=5,
        **options,
    )
