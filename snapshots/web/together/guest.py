"""What one page does in a room: present, follow, ask for the floor, point."""

from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress
from dataclasses import replace
from time import time
from typing import TYPE_CHECKING, Any

from snapshots.answers.replay import finite
from snapshots.domain.reviewing import floor as floors
from snapshots.jobs import live
from snapshots.problems import Invalid, NeedsRole, Problem
from snapshots.web.json import dumps
from snapshots.web.latest import Latest
from snapshots.web.together.room import UNREACHABLE, CannotShare, Room, room_of
from snapshots.web.together.shared import Member

if TYPE_CHECKING:
    from snapshots.web.consumers.recording import RecordingConsumer

VIEWS_A_SECOND = 20
MOST_VIEW_BYTES = 65_536
LONGEST_ID = 1000
AXES = ("time", "order")
ROLES = ("presenter", "follower", "none")

Take = Callable[[Mapping[str, Any]], Awaitable[None]]


class RoomGuest:
    """The place of one connection in a room. ``take`` gets the messages of its client."""

    def __init__(
        self, consumer: "RecordingConsumer", name: str, member: Member, may_point: bool
    ) -> None:
        self.consumer, self.member, self.may_point = consumer, member, may_point
        self.shares_view = False  # whether its page has shared its view
        self.room: Room = room_of(name)
        self.shown = Latest(self._share_view, 1 / VIEWS_A_SECOND)
        self.pointed = Latest(self._share_pointer, 1 / VIEWS_A_SECOND)
        self.takes: dict[str, Take] = {
            "follow": self._follow,
            "view": self._view,
            "here": self._here,
            "point": self._point,
            "offer": self._offer,
            "decline": self._decline,
        }

    @property
    def presents(self) -> bool:
        return self.member.may_present and self.room.floor.presenter == self.member.seat

    def is_seat_of(self, shared: Mapping[str, Any]) -> bool:
        """Tell whether something that was shared comes from this page."""
        return self.member.seat == floors.Seat(shared["person"], shared["page"])

    async def enter(self) -> None:
        """Come into the room. Redis may be down: then the room is shown when it is back."""
        await self.consumer.join(live.room_group(self.room.name))
        self.room.enter(self)

    async def leave(self) -> None:
        """Go out of the room, as the connection has ended."""
        self.shown.stop()
        self.pointed.stop()
        concerned = self._has_or_asks()
        await self.room.leave(self)
        if concerned:
            await self._announce()

    async def may(self, *, present: bool, point: bool) -> None:
        """Take over what the person's role allows now."""
        self.may_point = point
        presented = self.presents
        self.member = replace(self.member, may_present=present)
        if presented and not present:
            with suppress(CannotShare):  # what the page sends is refused in any case
                await self._change(lambda floor, *_: floors.stop(floor, self.member.seat))

    async def show(self, room: Mapping[str, Any]) -> None:
        await self.consumer.send_payload(room)

    async def _follow(self, message: Mapping[str, Any]) -> None:
        """Set the role of the page, or ask for that of the presenter."""
        role = message.get("role", "follower")
        if role not in ROLES:
            raise Invalid("role must be presenter, follower or none.")
        if role == "presenter":
            await self._take_floor()
        elif self._has_or_asks():
            await self._change(lambda floor, *_: floors.stop(floor, self.member.seat))
        follows = role == "follower"
        self.member = replace(self.member, is_following=follows)
        group = live.followers_group(self.room.name)
        await (self.consumer.join if follows else self.consumer.leave)(group)
        if follows:
            await self._catch_up()

    def _has_or_asks(self) -> bool:
        floor, person = self.room.floor, self.member.person
        return self.presents or any(each.person == person for each in floor.requests)

    async def _take_floor(self) -> None:
        self._require_presenting()
        seat = self.member.seat
        await self._change(lambda floor, here, now: floors.take(floor, seat, here, now))

    async def _offer(self, message: Mapping[str, Any]) -> None:
        """Hand the floor to a person who asked, or offer it to one who did not."""
        person = message.get("person")
        if not isinstance(person, int) or isinstance(person, bool):
            raise Invalid("person must be the number of a person in the room.")
        self._require_floor()
        await self._change(lambda floor, *_: floors.offer(floor, self.member.seat, person))

    async def _decline(self, message: Mapping[str, Any]) -> None:
        """Refuse the requests for the floor, or the offer of it."""
        await self._change(lambda floor, *_: floors.decline(floor, self.member.seat))

    async def _view(self, message: Mapping[str, Any]) -> None:
        """Share the presenter's view; the newest wins."""
        self._require_floor()
        self.shares_view = True
        self.shown.set(view_of(message))

    async def _here(self, message: Mapping[str, Any]) -> None:
        """Note where the cursor of the page is."""
        axis, at = _axis(message), finite(message.get("at"), "at")
        self.member = replace(self.member, axis=axis, at=at, moved_at=time())

    async def _point(self, message: Mapping[str, Any]) -> None:
        """Show everybody for a moment what the person points at."""
        if not self.may_point:
            raise NeedsRole("Pointing at something takes a commenter of the team.")
        self.pointed.set(pointer_of(message))

    def _require_presenting(self) -> None:
        if not self.member.may_present:
            raise NeedsRole(
                "Presenting moves what others see, and takes an editor of the team. "
                "An owner of the team can change your role."
            )

    def _require_floor(self) -> None:
        self._require_presenting()
        if not self.presents:
            raise Invalid("Only who presents can do that, and you do not present now.")

    async def _change(self, change: floors.Change) -> None:
        await self.room.change(change)
        await self._announce()

    async def _announce(self) -> None:
        """Let all server processes read the room again."""
        await self._send(live.room_group(self.room.name), {"type": "room.changed"})

    async def _catch_up(self) -> None:
        """Send the presenter's last view to a page that begins to follow."""
        try:
            view = await self.room.shared.last_view()
        except UNREACHABLE:
            return  # the presenter's next view brings the page up to date
        if view is not None:
            await self.consumer.send_payload({"type": "view", **view})

    async def _share_view(self, view: Mapping[str, Any]) -> None:
        if not self.presents:
            return
        payload = {**view, **self._by()}
        text = dumps({"type": "view", **payload, "age": 0}).decode()  # once for all followers
        # Kept first: who begins to follow in between gets it twice, and not never.
        await self.room.shared.keep_view(payload)
        await self._send(live.followers_group(self.room.name), {"type": "view.shown", "text": text})

    async def _share_pointer(self, pointer: Mapping[str, Any]) -> None:
        event = {"type": "pointed", "pointer": {**pointer, **self._by()}}
        await self._send(live.room_group(self.room.name), event)

    def _by(self) -> dict[str, Any]:
        member = self.member
        return {
            "person": member.person,
            "name": member.name,
            "page": member.page,
            "recording": member.recording,
        }

    async def _send(self, group: str, event: dict[str, Any]) -> None:
        await self.consumer.channel_layer.group_send(group, event)


def view_of(message: Mapping[str, Any]) -> dict[str, Any]:
    """Return the view of a message. Its fields are checked where it is shown. Raises: Invalid."""
    view = message.get("view")
    if not isinstance(view, dict):
        raise Invalid("view must be an object, as the page has it.")
    if len(dumps(view)) > MOST_VIEW_BYTES:
        raise Invalid(f"A view has at most {MOST_VIEW_BYTES:,} bytes.")
    return {
        "view": view,
        "playing": message.get("playing") is True,
        "speed": finite(message.get("speed", 1), "speed"),
        "revision": finite(message.get("revision", 0), "revision"),
    }


def pointer_of(message: Mapping[str, Any]) -> dict[str, Any]:
    """Return what a message points at: a place on an axis, or a channel. Raises: Invalid."""
    pointer: dict[str, Any] = {}
    for name in ("process", "channel"):
        if message.get(name) is not None:
            pointer[name] = _id(message[name], name)
    if message.get("at") is not None:
        pointer |= {"axis": _axis(message), "at": finite(message["at"], "at")}
    if not pointer:
        raise Invalid("A pointer needs at, process or channel.")
    return pointer


def _axis(message: Mapping[str, Any]) -> str:
    axis = message.get("axis", "time")
    if axis not in AXES:
        raise Invalid("axis must be time or order.")
    return axis


def _id(value: Any, field: str) -> str:
    if not isinstance(value, str) or len(value) > LONGEST_ID:
        raise Invalid(f"{field} must be a text of at most {LONGEST_ID} characters.")
    return value


def require_room(guest: RoomGuest | None) -> RoomGuest:
    """Return the guest; a recording without a room refuses what people share. Raises: Problem."""
    if guest is None:
        raise NoRoom(
            "This recording is a sample, which strangers share. So nobody follows, presents or "
            "points in it. Upload a log of your own, and do it there."
        )
    return guest


class NoRoom(Problem):
    """The recording has no room."""

    code, title, status = "read-only", "Strangers do not move each other", 403
