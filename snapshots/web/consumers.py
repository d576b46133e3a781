"""Serve websockets: check access, answer from the store, and relay messages.

A recording's websocket takes window, cut and search, and what people share who look at the same
recording (docs/websocket.md).

Work for one client is bounded. One window, one cut and one search are computed at a time, and only
the newest other request of each kind waits; older requests are refused. Nothing further is computed
for a client that does not read its answers.
"""

import asyncio
import contextlib
import logging
import math
import random
import secrets
from collections.abc import Callable, Iterator, Mapping
from importlib import import_module
from typing import Any
from urllib.parse import parse_qs

import orjson
from channels.auth import get_user
from channels.db import database_sync_to_async
from channels.generic.websocket import AsyncWebsocketConsumer
from django.conf import settings
from django.utils import timezone

from snapshots import access
from snapshots.answers import replay
from snapshots.answers import search as searching
from snapshots.files import recordings
from snapshots.jobs import live
from snapshots.passing import passing, problem_of
from snapshots.problems import Conflict, Invalid, NotFound, Problem, TooMany, Unauthorized
from snapshots.reviews import incidents
from snapshots.store.errors import StoreError
from snapshots.store.reader import StoredRecording
from snapshots.web.json import dumps
from snapshots.web.latest import Latest
from snapshots.web.together.guest import RoomGuest, require_room
from snapshots.web.together.shared import Member
from webapp.accounts.sessions import key_hash
from webapp.links import limits
from webapp.links.visiting import visitor_of

logger = logging.getLogger(__name__)

UNAUTHORIZED = live.UNAUTHORIZED
NOT_FOUND = live.NOT_FOUND
NOT_READY = 4409
TRY_AGAIN = 1013
TOO_LARGE = 1009
MOST_BYTES = 1024**2  # of one message of a client; a cut of the largest recording fits
MOST_REASON_BYTES = 120  # of a close frame
CURSORS_A_SECOND = 20
ASKED = ("window", "cut", "search")  # the types of messages that a recording's websocket takes
MOVED = ("play", "pause", "seek", "speed")
SHARED = ("follow", "view", "here", "point", "offer", "decline")
TAKEN = (*ASKED, *MOVED, *SHARED)
LONGEST_PAGE = 40  # characters of the text by which a page is known again
NOT_SHOWN = (
    "The review that the address names does not show this recording, or you cannot see it. So you "
    "are together with the people of the recording."
)
CHECK_SECONDS = 30  # the most between two checks whether a person may still be here

Answer = Callable[[StoredRecording, Mapping[str, Any]], dict[str, Any]]


class JsonConsumer(AsyncWebsocketConsumer):
    """Accepts people who are signed in, and closes other connections with a reason.

    A connection also ends when the right to it ends. A message announces that; if the message is
    lost, a regular check of the database notices it.
    """

    _checking: asyncio.Task | None = None

    async def connect(self) -> None:
        self.joined: set[str] = set()
        await self.accept()  # a close code reaches the page only over an open connection
        if not self.scope["user"].is_authenticated:
            visitor = await database_sync_to_async(self.visitor)()
            if visitor is None:
                await self.end(UNAUTHORIZED, "Sign in first.")
                return
            self.scope["user"] = visitor
        self._checking = asyncio.create_task(self._check_regularly())
        await asyncio.gather(self.begin(), *map(self.join, self._own_groups()))

    def visitor(self) -> access.Visitor | None:
        """Return the visitor of a public link, if this kind of connection takes one."""
        return None

    async def begin(self) -> None:
        """Join the groups of this kind of connection, or end the connection."""

    async def disconnect(self, code: int) -> None:
        if self._checking is not None:
            self._checking.cancel()
        await asyncio.gather(*map(self.leave, list(self.joined)))

    def _own_groups(self) -> list[str]:
        if isinstance(self.scope["user"], access.Visitor):
            return []
        groups = [live.account_group(self.scope["user"].pk)]
        if key := getattr(self.scope.get("session"), "session_key", None):
            groups.append(live.session_group(key_hash(key)))
        return groups

    async def join(self, group: str) -> None:
        """Receive what is sent to a group; if Redis does not answer, the next check joins again."""
        self.joined.add(group)
        with _logged("join"):
            await self.channel_layer.group_add(group, self.channel_name)

    async def leave(self, group: str) -> None:
        self.joined.discard(group)
        with _logged("leave"):
            await self.channel_layer.group_discard(group, self.channel_name)

    async def end(self, code: int, reason: str) -> None:
        """Close with a reason, shortened to what fits into the frame."""
        await self.close(code, reason.encode()[:MOST_REASON_BYTES].decode(errors="ignore"))

    async def socket_end(self, event: Mapping[str, Any]) -> None:
        await self.end(event["code"], event["reason"])

    async def _check_regularly(self) -> None:
        while True:
            # Connections check at different moments, so that the database is asked evenly.
            await asyncio.sleep(min(CHECK_SECONDS * random.uniform(0.5, 1), self._seconds_left()))
            if not await self._may_stay():
                return
            await asyncio.gather(*map(self.join, list(self.joined)))

    def _seconds_left(self) -> float:
        """Return in how many seconds the visitor's link expires; infinity without an end."""
        user = self.scope["user"]
        if not isinstance(user, access.Visitor) or user.link.expires_at is None:
            return math.inf
        return max(0.05, (user.link.expires_at - timezone.now()).total_seconds())

    async def right_changed(self, event: Mapping[str, Any]) -> None:
        """Check the right at once, because the person's place in a team has changed."""
        await self._may_stay()

    async def _may_stay(self) -> bool:
        """Check the right to be here, and end the connection without it."""
        try:
            await self.require_right(await self._person())
        except Problem as problem:
            await self.end(UNAUTHORIZED if problem.status == 401 else NOT_FOUND, problem.detail)
            return False
        except Exception as error:
            if passing(error) is None:
                logger.exception("The right to a websocket could not be checked")
        return True

    async def _person(self):
        """Return the person of the session, or the visitor, as the database has them now.

        Raises: NotFound for a visitor whose link does not work any more.
        """
        if isinstance(self.scope["user"], access.Visitor):
            return await database_sync_to_async(access.visitor_of_link)(self.scope["user"].link.pk)
        if "session" not in self.scope:
            return self.scope["user"]
        engine = import_module(settings.SESSION_ENGINE)
        fresh = engine.SessionStore(self.scope["session"].session_key)
        return await get_user({"session": fresh})

    async def require_right(self, user) -> None:
        """Check that ``user`` may still be here. Raises: Problem."""
        if not user.is_authenticated and not isinstance(user, access.Visitor):
            raise Unauthorized("You are no longer signed in.")

    async def send_payload(self, payload: Mapping[str, Any]) -> None:
        await self.send(text_data=dumps(payload).decode())

    async def refuse(self, detail: str, request: Any = None) -> None:
        """Send a refusal; ``request`` is the number or text that the client gave its question."""
        payload: dict[str, object] = {"type": "refused", "detail": detail}
        if isinstance(request, int | float | str):
            payload["request"] = request
        await self.send_payload(payload)


class JobsConsumer(JsonConsumer):
    """Relays every change of the jobs of the person and of their teams."""

    async def begin(self) -> None:
        await self._join_holders(self.scope["user"])

    async def require_right(self, user) -> None:
        await super().require_right(user)
        await self._join_holders(user)

    async def _join_holders(self, user) -> None:
        """Receive the jobs of the accounts that the person belongs to now, and of no others."""
        owners = await database_sync_to_async(access.holder_ids)(user)
        groups = {live.jobs_group(pk) for pk in owners}
        gone = {group for group in self.joined if live.is_jobs_group(group)} - groups
        await asyncio.gather(*map(self.leave, gone), *map(self.join, groups - self.joined))

    async def receive(self, text_data: str | None = None, bytes_data: bytes | None = None) -> None:
        await self.refuse("This address only reports jobs; it accepts no messages.")

    async def job_changed(self, event: Mapping[str, Any]) -> None:
        await self.send_payload({"type": "job", **event["job"]})


class RecordingConsumer(JsonConsumer):
    """Serves windows, cuts and searches of one ready recording, and relays what people share."""

    stored: StoredRecording | None = None
    review: int | None = None
    guest: RoomGuest | None = None

    async def begin(self) -> None:
        self.newest = {
            "window": Newest(self, replay.window),
            "cut": Newest(self, replay.cut),
            "search": Newest(self, searching.search),
        }
        self.cursor = Latest(self._share, 1 / CURSORS_A_SECOND)
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
        recording = access.ready_recording(self.scope["user"], self.id)
        self.review = self._review_of(self.scope["user"])
        is_known = self.review is not None or access.shows_names(recording)
        self.has_room = is_known and not self.is_visitor
        self.rights = self._rights_now(self.scope["user"]) if self.has_room else (False, False)
        return recordings.open_recording(recording)

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
        if self.stored is not None:
            for newest in self.newest.values():
                newest.stop()
            self.cursor.stop()
        if self.guest is not None:
            with _logged("leave"):
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
            message = orjson.loads(raw)
        except orjson.JSONDecodeError as error:
            return await self.refuse(f"The message is not JSON: {error.msg}.")
        if not isinstance(message, dict):
            return await self.refuse("A message must be an object with a type.")
        if isinstance(visitor := self.scope["user"], access.Visitor):
            try:
                limits.count_visit(visitor.link, (self.scope.get("client") or [""])[0])
            except TooMany as refused:
                return await self.refuse(refused.detail, message.get("request"))
        return await self._take(message)

    async def _take(self, message: dict[str, Any]) -> None:
        kind, request = message.get("type"), message.get("request")
        try:
            if self.is_visitor and kind in TAKEN and kind not in ASKED:
                raise Invalid("A public link shows the recording, and moves or follows nobody.")
            if kind in ASKED:
                await self.newest[kind].ask(message)
            elif kind in SHARED:
                await require_room(self.guest).takes[kind](message)
            elif kind in MOVED:
                self._present(kind, message)
            else:
                raise Invalid(f"type must be {', '.join(TAKEN[:-1])} or {TAKEN[-1]}.")
        except Problem as problem:
            await self.refuse(problem.detail, request)

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


class ReportingConsumer(JsonConsumer):
    """Relays what changes in one thing, such as a review, and takes no messages.

    Attributes:
        reports: what it reports, in the refusal of a message.
    """

    reports = "changes"

    async def begin(self) -> None:
        try:
            await self.require_right(self.scope["user"])
        except NotFound as missing:
            await self.end(NOT_FOUND, missing.detail)
        except Exception as error:
            if (problem := problem_of(error)) is None:
                raise
            await self.end(TRY_AGAIN, problem.detail)
        else:
            await self.join(self.group)

    @property
    def group(self) -> str:
        """Return the group to which the changes are sent."""
        raise NotImplementedError

    @property
    def id(self) -> int:
        return self.scope["url_route"]["kwargs"]["id"]

    async def receive(self, text_data: str | None = None, bytes_data: bytes | None = None) -> None:
        await self.refuse(f"This address only reports {self.reports}; it accepts no messages.")


class ReviewConsumer(ReportingConsumer):
    """Relays what changes in one review; the page then asks for that part."""

    @property
    def group(self) -> str:
        return live.review_group(self.id)

    async def require_right(self, user) -> None:
        await super().require_right(user)
        await database_sync_to_async(access.review)(user, self.id)

    async def review_changed(self, event: Mapping[str, Any]) -> None:
        await self.send_payload({"type": "review", **event["change"]})


class NotesConsumer(ReportingConsumer):
    """Says which notes of one recording, or of one archived job, change."""

    reports = "notes"

    @property
    def kind(self) -> str:
        """Return ``recording`` or ``engine_job``."""
        return self.scope["url_route"]["kwargs"]["kind"]

    @property
    def group(self) -> str:
        return live.notes_group(self.kind, self.id)

    async def require_right(self, user) -> None:
        await super().require_right(user)
        look_up = access.recording if self.kind == "recording" else access.engine_job
        await database_sync_to_async(look_up)(user, self.id)

    async def entry_changed(self, event: Mapping[str, Any]) -> None:
        await self.send_payload({"type": "entry", **event["entry"]})


class NowhereConsumer(AsyncWebsocketConsumer):
    """Closes connections to an address that does not exist."""

    async def connect(self) -> None:
        await self.accept()
        await self.close(NOT_FOUND, "Nothing is at this address.")


@contextlib.contextmanager
def _logged(action: str) -> Iterator[None]:
    """Log a failure of Redis and continue."""
    try:
        yield
    except Exception as error:  # redis-py, channels and the network raise many kinds of errors here
        logger.warning("A websocket could not %s a group (%r). Is Redis up?", action, error)


class Newest:
    """Answers one question at a time, and then the newest of those that arrived meanwhile."""

    def __init__(self, consumer: RecordingConsumer, answer: Answer) -> None:
        self.consumer, self.answer = consumer, answer
        self.waiting: dict[str, Any] | None = None
        self.task: asyncio.Task | None = None

    async def ask(self, question: dict[str, Any]) -> None:
        dropped, self.waiting = self.waiting, question
        if dropped is not None:
            await self.consumer.refuse("A newer request replaced it.", dropped.get("request"))
        if self.task is None:
            self.task = asyncio.create_task(self._work())

    async def _work(self) -> None:
        try:
            while self.waiting is not None:
                question, self.waiting = self.waiting, None
                await self._reply(question)
        except OSError:  # ASGI's sign that the client has gone
            self.waiting = None
        finally:
            self.task = None

    async def _reply(self, question: dict[str, Any]) -> None:
        request = question.get("request")
        try:
            stored = self.consumer.stored
            assert stored is not None  # questions are taken only about an open recording
            answer = await asyncio.to_thread(self.answer, stored, question)
        except Problem as problem:
            await self.consumer.refuse(problem.detail, request)
        except Exception:
            logger.exception("A %s could not be answered", question["type"])
            sentence = "An error occurred in the server; its log has the details."
            await self.consumer.refuse(sentence, request)
        else:
            await self.consumer.send_payload(
                {"type": question["type"], "request": request, **answer}
            )

    def stop(self) -> None:
        if self.task is not None:
            self.task.cancel()
