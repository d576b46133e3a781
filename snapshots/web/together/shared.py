"""Keep in Redis what all server processes know of a room.

A room has a table of its pages, the floor (who presents), and the presenter's last view. Each
server process repeats its pages in the table while they are open; a page that was not repeated for
LOST_SECONDS has gone with its process. Everything expires when nobody is left.
"""

import asyncio
import math
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from typing import Any
from weakref import WeakKeyDictionary

import orjson
from django.conf import settings
from redis.asyncio import BlockingConnectionPool, Redis

from snapshots.domain.reviewing.floor import EMPTY, Change, Floor, Seat

BEAT_SECONDS = 5.0  # between two repetitions of a page
LOST_SECONDS = 16.0
KEPT_SECONDS = 3600  # of the floor and the last view in an empty room
MOST_CONNECTIONS = 10  # of a process; when all are in use, the next caller waits
ANSWER_SECONDS = 3.0

_clients: WeakKeyDictionary[asyncio.AbstractEventLoop, Redis] = WeakKeyDictionary()


@dataclass(frozen=True, slots=True)
class Member:
    """What others see of one open page.

    Attributes:
        person: the number of the person.
        page: the text that the page chose for itself.
        name: the person's e-mail address.
        may_present: whether the person's role allows to present.
        recording: the number of the recording that the page shows.
        is_following: whether the page follows the presenter.
        axis: the axis of the page's cursor, ``time`` or ``order``.
        at: the place of the cursor on the axis; None if the page has not said it.
        moved_at: when the page last said so, in seconds.
    """

    person: int
    page: str
    name: str
    may_present: bool
    recording: int
    is_following: bool = False
    axis: str = "time"
    at: float | None = None
    moved_at: float = 0.0

    @property
    def seat(self) -> Seat:
        return Seat(self.person, self.page)


@dataclass(frozen=True, slots=True)
class RoomState:
    """A room as Redis has it.

    Attributes:
        members: the open pages of all server processes.
        floor: who presents, and who asks to.
        now: the time of Redis, in seconds.
    """

    members: tuple[Member, ...]
    floor: Floor
    now: float


class SharedRoom:
    """One room in Redis. Every method raises what redis-py raises, and TimeoutError."""

    def __init__(self, name: str) -> None:
        self.pages_key = f"cutline:room:{name}:pages"
        self.floor_key = f"cutline:room:{name}:floor"
        self.view_key = f"cutline:room:{name}:view"

    async def beat(self, members: Iterable[Member]) -> RoomState:
        """Repeat these pages, and return the whole room."""
        pipe: Any = _redis().pipeline()
        async with asyncio.timeout(ANSWER_SECONDS), pipe:
            now = await _now()
            rows = {_field(each.seat): _row(each, now) for each in members}
            if rows:
                pipe.hset(self.pages_key, mapping=rows)
                pipe.expire(self.pages_key, math.ceil(LOST_SECONDS))
            pipe.hgetall(self.pages_key)
            pipe.get(self.floor_key)
            *_, pages, floor = await pipe.execute()
        await self._forget(field for field, row in pages.items() if _is_lost(row, now))
        return RoomState(_members(pages, now), _floor(floor), now)

    async def change_floor(self, change: Change) -> Floor:
        """Replace the floor by what ``change`` makes of it, and return the new one."""
        async with asyncio.timeout(ANSWER_SECONDS):
            now = await _now()

            async def replace(pipe: Any) -> Floor:
                floor = _floor(await pipe.get(self.floor_key))
                members = _members(await pipe.hgetall(self.pages_key), now)
                after = change(floor, {each.seat for each in members}, now)
                pipe.multi()
                if after == EMPTY:
                    pipe.delete(self.floor_key, self.view_key)
                else:
                    pipe.set(self.floor_key, orjson.dumps(after), ex=KEPT_SECONDS)
                if after.presenter != floor.presenter:
                    pipe.delete(self.view_key)
                return after

            return await _redis().transaction(replace, self.floor_key, value_from_callable=True)

    async def remove(self, seat: Seat) -> None:
        """Remove a page whose connection has ended."""
        async with asyncio.timeout(ANSWER_SECONDS):
            await self._forget([_field(seat)])

    async def keep_view(self, view: Mapping[str, Any]) -> None:
        """Keep the presenter's last view, with the time at which it came."""
        async with asyncio.timeout(ANSWER_SECONDS):
            row = orjson.dumps({"view": view, "kept_at": await _now()})
            await _redis().set(self.view_key, row, ex=KEPT_SECONDS)

    async def last_view(self) -> dict[str, Any] | None:
        """Return the presenter's last view, with its ``age`` in milliseconds; None without one."""
        async with asyncio.timeout(ANSWER_SECONDS):
            kept = await _redis().get(self.view_key)
            if kept is None:
                return None
            row = orjson.loads(kept)
            return row["view"] | {"age": max(0, round((await _now() - row["kept_at"]) * 1000))}

    async def _forget(self, fields: Iterable[bytes]) -> None:
        gone = list(fields)
        if gone:
            await _redis().hdel(self.pages_key, *gone)


def _redis() -> Redis:
    """Return the client of this event loop."""
    loop = asyncio.get_running_loop()
    if loop not in _clients:
        pool = BlockingConnectionPool.from_url(
            settings.REDIS_URL, max_connections=MOST_CONNECTIONS, timeout=None
        )
        _clients[loop] = Redis(connection_pool=pool)
    return _clients[loop]


async def _now() -> float:
    """Return the time of Redis, which is the same for all server processes."""
    seconds, microseconds = await _redis().time()
    return seconds + microseconds / 1e6


def _field(seat: Seat) -> bytes:
    return f"{seat.person}/{seat.page}".encode()


def _row(member: Member, now: float) -> bytes:
    return orjson.dumps({"member": asdict(member), "seen_at": now})


def _is_lost(row: bytes, now: float) -> bool:
    return now - orjson.loads(row)["seen_at"] > LOST_SECONDS


def _members(pages: Mapping[bytes, bytes], now: float) -> tuple[Member, ...]:
    rows = [orjson.loads(row) for row in pages.values() if not _is_lost(row, now)]
    return tuple(Member(**row["member"]) for row in rows)


def _floor(row: bytes | None) -> Floor:
    if row is None:
        return EMPTY
    fields = orjson.loads(row)
    return Floor(
        presenter=Seat(**fields["presenter"]) if fields["presenter"] else None,
        left_at=fields["left_at"],
        requests=tuple(Seat(**each) for each in fields["requests"]),
        offered_to=fields["offered_to"],
    )
