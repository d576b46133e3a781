"""Show each room to the pages of this server process that are in it.

A process reads a room once in TICK_SECONDS, however many people come and go, and sends it to its
pages if it has changed. Changes of the floor are announced, and read at once.
"""

import asyncio
import logging
from collections.abc import Mapping
from time import monotonic
from typing import Any, Protocol
from weakref import WeakKeyDictionary

from redis.exceptions import RedisError

from snapshots.domain.reviewing import floor as floors
from snapshots.domain.reviewing.floor import EMPTY, Change, Floor, Seat
from snapshots.problems import Problem
from snapshots.web.together.shared import BEAT_SECONDS, Member, RoomState, SharedRoom

logger = logging.getLogger(__name__)

TICK_SECONDS = 1.0
MOST_PEOPLE = 50  # that a message names; the others are counted
BEAT = {"type": "beat"}  # by which a page notices a connection that the network lost
UNREACHABLE = (RedisError, OSError, TimeoutError)

_rooms: WeakKeyDictionary[asyncio.AbstractEventLoop, dict[str, "Room"]] = WeakKeyDictionary()


class CannotShare(Problem):
    """Redis, which tells all server processes who is in a room, does not answer."""

    code, title, status = "unavailable", "A service that the server needs is down", 503


class Guest(Protocol):
    """A connection that is in a room of this process."""

    member: Member

    async def show(self, room: Mapping[str, Any]) -> None:
        """Send what the room looks like to the page."""


def room_of(name: str) -> "Room":
    """Return this process's room of a name."""
    rooms = _rooms.setdefault(asyncio.get_running_loop(), {})
    return rooms.setdefault(name, Room(name))


class Room:
    """One room, with those of its pages that are connected to this process.

    One reading or change is under way at a time. A reading that began before a page left would
    write the page back, and one that began before a change would undo it for this process.
    """

    def __init__(self, name: str) -> None:
        self.name = name
        self.shared = SharedRoom(name)
        self.guests: dict[Seat, Guest] = {}
        self.floor: Floor = EMPTY
        self._beaten: dict[Seat, tuple[float, Member]] = {}
        self._shown: dict[Seat, dict[str, Any]] = {}
        self._sent_at: dict[Seat, float] = {}
        self._turn = asyncio.Lock()
        self._wanted = asyncio.Event()
        self._task: asyncio.Task | None = None
        self._is_reachable = True

    def enter(self, guest: Guest) -> None:
        """Show the room to a page, and the page to the room."""
        seat = guest.member.seat
        self.guests[seat] = guest
        self._forget(seat)
        if self._task is None:
            self._task = asyncio.create_task(self._run())
        self.refresh()

    async def leave(self, guest: Guest) -> None:
        """Take a page out of the room, unless a newer connection of the page is in it."""
        seat = guest.member.seat
        async with self._turn:
            if self.guests.get(seat) is not guest:
                return
            del self.guests[seat]
            self._forget(seat)
            try:
                await self._take_out(seat)
            except UNREACHABLE as error:
                self._note(error)
            finally:
                if not self.guests:
                    self._close()

    async def _take_out(self, seat: Seat) -> None:
        """Remove a page. The floor notes it first: a presenter who is not here, and did not leave,
        has no claim to it.
        """
        if self._concerns(seat):
            await self.shared.change_floor(lambda floor, _, now: floors.leave(floor, seat, now))
        await self.shared.remove(seat)

    def _close(self) -> None:
        """Stop reading the room, until a page enters it."""
        if self._task is not None:
            self._task.cancel()
            self._task = None
        rooms = _rooms.get(asyncio.get_running_loop(), {})
        if rooms.get(self.name) is self:
            del rooms[self.name]

    async def change(self, change: Change) -> None:
        """Change the floor for everybody. Raises: CannotShare."""
        try:
            async with self._turn:
                self.floor = await self.shared.change_floor(change)
        except UNREACHABLE as error:
            self._note(error)
            raise CannotShare(
                "The server cannot reach Redis, over which people share what they see. "
                "Try again in a moment."
            ) from error
        self.refresh()

    def refresh(self) -> None:
        """Read the room again soon; many calls in a row lead to one reading."""
        self._wanted.set()

    def _concerns(self, seat: Seat) -> bool:
        return seat == self.floor.presenter or seat in self.floor.requests

    async def _run(self) -> None:
        while True:
            self._wanted.clear()
            try:
                await self._read()
            except UNREACHABLE as error:
                self._note(error)
            except Exception:
                logger.exception("The room %s could not be shown", self.name)
            try:
                async with asyncio.timeout(TICK_SECONDS):
                    await self._wanted.wait()
            except TimeoutError:
                continue

    async def _read(self) -> None:
        async with self._turn:
            due = self._due()
            state = await self.shared.beat(due)
            self._is_reachable = True
            self._beaten |= {each.seat: (monotonic(), each) for each in due}
            self.floor = state.floor
            await self._welcome_presenter()
            shown = room_payload(state)
            payloads = {seat: {**shown, "you": self._you(seat)} for seat in self.guests}
        await asyncio.gather(*[self._show(seat, each) for seat, each in payloads.items()])

    def _due(self) -> list[Member]:
        """Return the pages that are new, have changed, or were not repeated for a while."""
        return [guest.member for seat, guest in self.guests.items() if self._is_due(seat, guest)]

    def _is_due(self, seat: Seat, guest: Guest) -> bool:
        at, member = self._beaten.get(seat, (0.0, None))
        return member != guest.member or monotonic() - at >= BEAT_SECONDS

    async def _welcome_presenter(self) -> None:
        """Let a presenter who is connected again present as before."""
        seat = self.floor.presenter
        if seat in self.guests and self.floor.left_at is not None:
            self.floor = await self.shared.change_floor(
                lambda floor, *_: floors.come_back(floor, seat)
            )

    async def _show(self, seat: Seat, payload: dict[str, Any]) -> None:
        guest = self.guests.get(seat)
        if guest is None:
            return
        is_new = self._shown.get(seat) != payload
        if not is_new and monotonic() - self._sent_at.get(seat, 0.0) < BEAT_SECONDS:
            return
        self._shown[seat], self._sent_at[seat] = payload, monotonic()
        try:
            await guest.show(payload if is_new else BEAT)
        except OSError:  # ASGI's sign that the client has gone
            self._forget(seat)

    def _forget(self, seat: Seat) -> None:
        self._beaten.pop(seat, None)
        self._shown.pop(seat, None)
        self._sent_at.pop(seat, None)

    def _you(self, seat: Seat) -> dict[str, Any]:
        may_present = self.guests[seat].member.may_present
        return {
            "person": seat.person,
            "may_present": may_present,
            "presents": may_present and seat == self.floor.presenter,
            "asks": any(each.person == seat.person for each in self.floor.requests),
            "is_offered": self.floor.offered_to == seat.person,
        }

    def _note(self, error: BaseException) -> None:
        """Log that Redis does not answer, once an outage."""
        if self._is_reachable:
            logger.warning("The room %s cannot be shared (%r). Is Redis up?", self.name, error)
        self._is_reachable = False


def room_payload(state: RoomState) -> dict[str, Any]:
    """Return what everybody in a room sees of it: people, who presents, and who asks to."""
    pages: dict[int, Member] = {}
    for member in sorted(state.members, key=lambda each: (each.moved_at, each.page)):
        pages[member.person] = member  # of several pages the one that moved last
    following = {each.person for each in state.members if each.is_following}
    people = sorted(pages.values(), key=lambda each: (each.name, each.person))
    return {
        "type": "room",
        "people": [_person(each, following) for each in people[:MOST_PEOPLE]],
        "total": len(people),
        "presenter": _presenter(state, pages),
        "requests": [
            {"person": each.person, "name": pages[each.person].name}
            for each in state.floor.requests
            if each.person in pages
        ],
        "offered_to": state.floor.offered_to,
    }


def _person(member: Member, following: set[int]) -> dict[str, Any]:
    return {
        "person": member.person,
        "name": member.name,
        "may_present": member.may_present,
        "is_following": member.person in following,
        "recording": member.recording,
        "axis": member.axis,
        "at": member.at,
    }


def _presenter(state: RoomState, pages: Mapping[int, Member]) -> dict[str, Any] | None:
    """Return who presents; ``is_here`` is false while the connection is lost."""
    seat = state.floor.presenter
    here = {each.seat for each in state.members}
    if seat is None or (seat not in here and floors.is_free(state.floor, here, state.now)):
        return None
    name = pages[seat.person].name if seat.person in pages else None
    return {"person": seat.person, "name": name, "is_here": seat in here}
