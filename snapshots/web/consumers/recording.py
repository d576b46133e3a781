"""Serve one recording over a websocket: questions, playing, and what people share."""

import asyncio
import secrets
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any
from urllib.parse import parse_qs

from channels.db import database_sync_to_async

from snapshots import access
from snapshots.answers import replay
from snapshots.answers import search as searching
from snapshots.files import journals, recordings
from snapshots.jobs import live
from snapshots.models import Recording
from snapshots.passing import problem_of
from snapshots.payloads.opened import head_of
from snapshots.problems import Conflict, Invalid, NotFound, NotJson, Problem, TooMany
from snapshots.reviews import incidents
from snapshots.store.errors import StoreError
from snapshots.store.reader import StoredRecording
from snapshots.web.consumers.connection import NOT_FOUND, TRY_AGAIN, JsonConsumer, logged
from snapshots.web.consumers.newest import Newest
from snapshots.web.json import read
from snapshots.web.latest import Latest
from snapshots.web.messages import taken
from snapshots.web.playing.session import Playing, Source
from snapshots.web.together.guest import RoomGuest, require_room
from snapshots.web.together.shared import Member
from webapp.links import limits
from webapp.links.visiting import visitor_of

NOT_READY = 4409
TOO_LARGE = 1009
MOST_BYTES = 1024**2  # of one message of a client; a cut of the largest recording fits
CURSORS_A_SECOND = 20
HEAD_SECONDS = 0.5  # between two looks at how far an open recording has come
ASKED, PLAYED, SHARED = taken("asked"), taken("played"), taken("shared")
MOVED = ("play", "pause", "seek", "speed")  # what followers of a presenter without a view hear of
TAKEN = (*ASKED, *PLAYED, *SHARED)
LONGEST_PAGE = 40  # characters of the text by which a page is known again
NOT_SHOWN = (
    "The review that the address names does not show this recording, or you cannot see it. So you "
    "are together with the people of the recording."
)

Answer = Callable[[StoredRecording, Mapping[str, Any]], dict[str, Any]]


class RecordingConsumer(JsonConsumer):
    """Answers about one recording, plays it, and relays what people share."""

    stored: StoredRecording | None = None
    review: int | None = None
    guest: RoomGuest | None = None
    head: asyncio.Task | None = None
    closed = False  # whether an open recording was closed

    async def begin(self) -> None:
        self.newest = {
            "window": Newest(self, partial(self._answer, replay.window)),
            "cut": Newest(self, partial(self._answer, replay.cut)),
            "search": Newest(self, partial(self._answer, searching.search)),
        }
        self.cursor = Latest(self._share, 1 / CURSORS_A_SECOND)
        source = Source(self.id, self._now, self._grows)
        self.playing = Playing(source, lambda text: self.send(text_data=text), self.refuse)
        try:
            self.stored = await database_sync_to_async(self._open)()
        except NotFound as missing:
            await self.end(NOT_FOUND, missing.detail)
        except (Conflict, StoreError) as error:
            await self.end(NOT_READY, str(error))
        except Exception as error:
            if (problem := problem_of(error)) is None:
                raise
            await self.end(TRY_AGAIN, problem.detail)
        else:
            group = live.visitors_group if self.is_visitor else live.viewers_group
            await self.join(group(self.id))
            await self._enter_room()
            if self.row.is_open:
                self.head = asyncio.create_task(self._watch_head())

    def visitor(self) -> access.Visitor | None:
        """Return the visitor whose public link shows this recording, or None."""
        try:
            return visitor_of(self.scope.get("cookies", {}), "recordings", self.id)
        except NotFound:
            return None

    @property
    def is_visitor(self) -> bool:
        """Tell whether somebody with a public link is here, who can only ask."""
        return isinstance(self.scope["user"], access.Visitor)

    def _open(self) -> StoredRecording:
        self.row = recording = access.shown_recording(self.scope["user"], self.id)
        self.review = self._review_of(self.scope["user"])
        is_known = self.review is not None or access.shows_names(recording)
        self.has_room = is_known and not self.is_visitor
        self.rights = self._rights_now(self.scope["user"]) if self.has_room else (False, False)
        return recordings.open_recording(recording)

    async def _watch_head(self) -> None:
        """Say how far an open recording has come: at first, and whenever it has come further."""
        told: dict[str, Any] = {}
        while True:
            try:
                so_far = await asyncio.to_thread(journals.so_far, self.row)
                if so_far.fresh:
                    await database_sync_to_async(recordings.keep_judged)(self.row, so_far)
            except StoreError as error:
                if await database_sync_to_async(self._is_closed)():
                    self.closed = True
                    await self.send_payload({"type": "closed"})
                else:
                    await self.end(TRY_AGAIN, str(error))
                return
            except Exception as error:  # such as a full disk, or a database that does not answer
                problem = problem_of(error)
                await self.end(TRY_AGAIN, str(error) if problem is None else problem.detail)
                return
            self.stored, head = so_far, head_of(so_far)
            if head != told:
                told = head
                await self.send_payload({"type": "head", **head})
            if so_far.head.is_closed:
                self.closed = True
                await self.send_payload({"type": "closed"})
                return
            await asyncio.sleep(HEAD_SECONDS)

    def _is_closed(self) -> bool:
        """Tell whether the recording was closed, so that its journal may be gone."""
        return Recording.objects.filter(pk=self.id).exclude(status=Recording.Status.OPEN).exists()

    def _review_of(self, user) -> int | None:
        """Return the number of the review that the page names, if the person may see it."""
        number = self._parameter("review")
        if self.is_visitor or not (number.isascii() and number.isdigit() and len(number) < 19):
            return None
        try:
            review = access.review(user, int(number))
        except NotFound:
            return None
        return review.pk if incidents.shows(review, self.id) else None

    async def _enter_room(self) -> None:
        """Be present among the people of the review, else among those of the recording.

        The room of a sample would be one of strangers, so a sample has none outside a review.
        """
        if not self.has_room:
            return
        user, (may_present, may_point) = self.scope["user"], self.rights
        member = Member(user.pk, self._page(), user.get_username(), may_present, self.id)
        room = live.review_room(self.review) if self.review else live.recording_room(self.id)
        self.guest = RoomGuest(self, room, member, may_point)
        await self.guest.enter()
        if self.review is None and self._parameter("review"):
            await self.refuse(NOT_SHOWN)

    def _page(self) -> str:
        """Return the text by which the page is known again, which it chose itself."""
        page = self._parameter("page")
        return page if page.isalnum() and len(page) <= LONGEST_PAGE else secrets.token_hex(8)

    def _parameter(self, name: str) -> str:
        query = parse_qs(self.scope.get("query_string", b"").decode(errors="replace"))
        return query.get(name, [""])[0]

    @property
    def id(self) -> int:
        return self.scope["url_route"]["kwargs"]["id"]

    async def require_right(self, user) -> None:
        await super().require_right(user)
        if self.guest is None:
            await database_sync_to_async(access.recording)(user, self.id)
            return
        may_present, may_point = await database_sync_to_async(self._rights_now)(user)
        await self.guest.may(present=may_present, point=may_point)

    def _rights_now(self, user) -> tuple[bool, bool]:
        """Return whether the person may present and point in the room. Raises: NotFound."""
        recording = access.recording(user, self.id)
        room = access.review(user, self.review) if self.review else recording
        return access.may_edit(user, room), access.may_comment(user, room)

    async def disconnect(self, code: int) -> None:
        if self.head is not None:
            self.head.cancel()
        if self.stored is not None:
            for newest in self.newest.values():
                newest.stop()
            self.cursor.stop()
            self.playing.stop()
        if self.guest is not None:
            with logged("leave"):
                await self.guest.leave()
        await super().disconnect(code)

    async def receive(self, text_data: str | None = None, bytes_data: bytes | None = None) -> None:
        raw = text_data if text_data is not None else bytes_data or b""
        if len(raw) > MOST_BYTES:
            await self.end(TOO_LARGE, f"A message has at most {MOST_BYTES:,} bytes.")
        elif self.stored is not None:
            await self._read(raw)

    async def _read(self, raw: str | bytes) -> None:
        try:
            message = read(raw, "message")
        except NotJson as problem:
            return await self.refuse(problem.detail)
        if not isinstance(message, dict):
            return await self.refuse("A message must be an object with a type.")
        if isinstance(visitor := self.scope["user"], access.Visitor):
            try:
                limits.count_visit(visitor.link, (self.scope.get("client") or [""])[0])
            except TooMany as refused:
                return await self.refuse(refused.detail, message.get("request"))
        return await self._take(message)

    def _answer(self, answer: Answer, question: Mapping[str, Any]) -> dict[str, Any]:
        return answer(self._now(), question)

    def _now(self) -> StoredRecording:
        """Return the recording as it is now."""
        assert self.stored is not None  # questions are taken only about an open recording
        return self.stored

    def _grows(self) -> bool:
        """Tell whether more may come of the recording."""
        return self.row.is_open and not self.closed

    async def _take(self, message: dict[str, Any]) -> None:
        kind, request = message.get("type"), message.get("request")
        try:
            if self.is_visitor and kind in SHARED:
                raise Invalid("A public link shows the recording, and moves or follows nobody.")
            if kind in ASKED:
                await self.newest[kind].ask(message)
            elif kind in SHARED:
                await require_room(self.guest).takes[kind](message)
            elif kind in PLAYED:
                await self._play(kind, message)
            else:
                raise Invalid(f"type must be {', '.join(TAKEN[:-1])} or {TAKEN[-1]}.")
        except Problem as problem:
            await self.refuse(problem.detail, request)

    async def _play(self, kind: str, message: Mapping[str, Any]) -> None:
        """Play for the client itself, if it names its session, and for those who follow it.

        A page that shares its whole view moves its followers by that.
        """
        plays = message.get("session") is not None
        if plays:
            await self.playing.take(message)
        is_seen = plays and self.guest is not None and self.guest.shares_view
        if kind in MOVED and not is_seen:
            self._present(kind, message)

    def _present(self, kind: str, message: Mapping[str, Any]) -> None:
        """Relay the newest cursor of a presenter, at most CURSORS_A_SECOND times a second."""
        cursor: dict[str, Any] = {"playing": message.get("playing", kind == "play") is True}
        for name in ("at", "step", "speed"):
            if message.get(name) is not None:
                cursor[name] = replay.finite(message[name], name)
        if self.guest is not None and self.guest.presents:
            self.cursor.set(cursor)

    async def _share(self, cursor: Mapping[str, Any]) -> None:
        guest = require_room(self.guest)
        by = {"by": guest.member.name, "client": guest.member.page}
        event = {"type": "cursor.moved", "cursor": {**cursor, **by}}
        await self.channel_layer.group_send(live.followers_group(guest.room.name), event)

    async def cursor_moved(self, event: Mapping[str, Any]) -> None:
        await self.send_payload({"type": "cursor", **event["cursor"]})

    async def view_shown(self, event: Mapping[str, Any]) -> None:
        await self.send(text_data=event["text"])

    async def pointed(self, event: Mapping[str, Any]) -> None:
        pointer = event["pointer"]
        is_own = self.guest is None or self.guest.is_seat_of(pointer)
        if not is_own:
            await self.send_payload({"type": "point", **pointer})

    async def room_changed(self, event: Mapping[str, Any]) -> None:
        if self.guest is not None:
            self.guest.room.refresh()

    async def entry_changed(self, event: Mapping[str, Any]) -> None:
        await self.send_payload({"type": "entry", **event["entry"]})
