"""A room whose people come, go and present while it is read, over a real Redis."""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import replace
from typing import Any

import pytest

from snapshots.domain.reviewing import floor as floors
from snapshots.web.together import room as together
from snapshots.web.together.room import Room
from snapshots.web.together.shared import Member, SharedRoom

pytestmark = pytest.mark.usefixtures("rooms")

NAME = "recording.1"
CHANCE_SECONDS = 0.3  # that something gets to happen in between, if nothing prevents it


class Page:
    """A page in the room, which keeps what it is shown."""

    def __init__(self, person: int) -> None:
        self.member = Member(person, "page", f"p{person}@x", True, 1)
        self.shown: list[Any] = []
        self.came = asyncio.Event()
        self.look: Callable[[], object] = lambda: None

    async def show(self, room: Any) -> None:
        self.shown.append(room)
        self.look()
        self.came.set()

    async def next(self) -> None:
        self.came.clear()
        async with asyncio.timeout(10):
            await self.came.wait()


@pytest.fixture(autouse=True)
def often(monkeypatch):
    monkeypatch.setattr(together, "TICK_SECONDS", 0.05)


async def opened(*pages: Page) -> Room:
    room = Room(NAME)
    for page in pages:
        room.enter(page)
    await pages[-1].next()
    return room


async def close(room: Room) -> None:
    for page in list(room.guests.values()):
        await room.leave(page)


def take(seat: floors.Seat) -> floors.Change:
    return lambda floor, here, now: floors.take(floor, seat, here, now)


def during_reading(
    room: Room, monkeypatch, interruption: Callable[[], Awaitable[None]], *, before: bool
) -> asyncio.Future:
    """Let something begin during the next reading: before Redis is asked, or after it answered."""
    beat = room.shared.beat
    begun = asyncio.get_running_loop().create_future()

    async def begin() -> None:
        if not begun.done():
            begun.set_result(asyncio.ensure_future(interruption()))
            await asyncio.wait({begun.result()}, timeout=CHANCE_SECONDS)

    async def interrupted(members):
        members = list(members)
        if before:
            await begin()
        state = await beat(members)
        if not before:
            await begin()
        return state

    monkeypatch.setattr(room.shared, "beat", interrupted)
    return begun


async def test_the_floor_of_who_leaves_is_free_at_no_time(monkeypatch):
    presenter, other = Page(1), Page(2)
    room = await opened(presenter, other)
    seat = presenter.member.seat
    await room.change(take(seat))
    states = []

    def watched(name: str) -> None:
        real = getattr(room.shared, name)

        async def then_read(argument):
            result = await real(argument)
            states.append(await SharedRoom(NAME).beat([]))
            return result

        monkeypatch.setattr(room.shared, name, then_read)

    watched("remove")
    watched("change_floor")
    await room.leave(presenter)
    for state in states:
        here = {each.seat for each in state.members}
        assert state.floor.presenter == seat
        assert not floors.is_free(state.floor, here, state.now)
    assert seat not in {each.seat for each in states[-1].members}
    await close(room)


async def test_a_reading_does_not_undo_a_change_that_came_meanwhile(monkeypatch):
    page = Page(1)
    room = await opened(page)
    seat = page.member.seat
    undone = []
    begun = during_reading(room, monkeypatch, lambda: room.change(take(seat)), before=False)

    def look() -> None:
        if begun.done() and begun.result().done():
            undone.append(room.floor.presenter != seat)

    page.look = look
    page.member = replace(page.member, at=1.0)  # so that the page is shown what was read
    await page.next()
    await (await begun)
    while not page.shown[-1].get("presenter"):
        await page.next()
    assert not any(undone)
    await close(room)


async def test_a_reading_does_not_bring_back_who_left_meanwhile(monkeypatch):
    leaving, other = Page(1), Page(2)
    room = await opened(leaving, other)
    begun = during_reading(room, monkeypatch, lambda: room.leave(leaving), before=True)
    leaving.member, other.member = replace(leaving.member, at=1.0), replace(other.member, at=1.0)
    await (await begun)
    while other.shown[-1]["total"] != 1:
        await other.next()
    members = (await SharedRoom(NAME).beat([])).members
    assert [each.person for each in members] == [2]
    await close(room)


async def test_a_room_that_everybody_left_is_shown_to_who_comes_again():
    page = Page(1)
    room = await opened(page)
    await room.leave(page)
    room.enter(page)
    await page.next()
    assert page.shown[-1]["total"] == 1
    await close(room)


async def test_who_may_not_present_any_more_does_not_present_even_before_the_floor_says_so():
    page = Page(1)
    room = await opened(page)
    await room.change(take(page.member.seat))
    while not page.shown[-1]["you"]["presents"]:
        await page.next()
    page.member = replace(page.member, may_present=False)
    await page.next()
    assert not page.shown[-1]["you"]["presents"]
    await close(room)
