"""Limit which bodies of requests are read, how many at once, and how slowly they may arrive.

Django reads a whole body before a view can refuse it. So this checks first: the size, the sender
and their rights, the bodies under way, and the space on the disk. Strangers may send at most
FREE_BYTES. Where all places are taken, whoever has fewer than others gets one of theirs.
"""

import asyncio
import shutil
import time
from collections import Counter
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field

from channels.db import database_sync_to_async
from django.conf import settings

from snapshots import passing
from snapshots.problems import NoRoom, Problem, TooLarge, TooMany, TooSlow, Unauthorized
from webapp.edge import senders
from webapp.edge.answers import answer
from webapp.edge.clock import Patience
from webapp.operating import observed

FREE_BYTES = 64 * 1024  # read from anyone: forms and questions
FORM_BYTES = 1024**2  # allowed in a multipart body beside its files
PIECE_BYTES = 64 * 1024**2  # allowed in a piece of an upload that comes in pieces
ROOM_EVERY = 16 * 1024**2  # bytes after which the space on the disk is checked again
RETRY_AFTER = 5  # seconds
SLOW_AFTER = 5.0  # seconds under way, after which a body that is slower than SLOW gives way
SLOW = 16 * 1024  # bytes a second
PIECE = b"application/offset+octet-stream"
EVENTS = b"application/x-ndjson"


class BodyGate:
    """An ASGI app that refuses a body as soon as it is clear that it cannot be accepted."""

    def __init__(self, app: Callable[..., Awaitable[None]]) -> None:
        self.app = app
        self.under_way = UnderWay()

    async def __call__(self, scope, receive, send) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        body = _Body(scope, receive, send, self.under_way)
        try:
            await body.run(self.app)
        finally:
            self.under_way.end(body)


@dataclass
class UnderWay:
    """The large bodies that this process is reading or working on."""

    bodies: set["_Body"] = field(default_factory=set)

    def begin(self, body: "_Body", person: int) -> None:
        """Add a body of a person. Raises: TooMany."""
        uploads = (each.person for each in self.bodies if not each.is_of_events)
        of_person = Counter(uploads)[person]
        if of_person >= settings.MAX_UPLOADS_AT_ONCE and not body.is_of_events:
            raise TooMany(
                f"{of_person} of your uploads are under way, the most at once. Send this one when "
                "one of them is done.",
                retry_after=RETRY_AFTER,
            )
        if len(self.bodies) >= settings.MAX_BODIES_AT_ONCE and not self._make_room(person):
            raise TooMany(
                f"The server receives {len(self.bodies)} uploads, the most at once. Send this one "
                "again in a moment.",
                retry_after=RETRY_AFTER,
            )
        body.person = person
        self.bodies.add(body)
        observed.bodies.note(len(self.bodies))

    def _make_room(self, person: int) -> bool:
        """End a body that is waited for; return whether there was one that must give way.

        It is the slowest one of a person who has more of them than this person would have then,
        or else one that is slow.
        """
        waiting = [each for each in self.bodies if each.is_waited_for]
        numbers = Counter(each.person for each in self.bodies)
        most = max((numbers[each.person] for each in waiting), default=0)
        if most > numbers[person] + 1:
            candidates = [each for each in waiting if numbers[each.person] == most]
        else:
            candidates = [each for each in waiting if each.is_slow]
        if not candidates:
            return False
        slowest = min(candidates, key=lambda each: each.pace)
        slowest.give_way()
        self.end(slowest)
        return True

    def end(self, body: "_Body") -> None:
        self.bodies.discard(body)
        observed.bodies.note(len(self.bodies))

    def require_room(self, body: "_Body") -> None:
        """Check that the disk can hold this body beside those under way. Raises: NoRoom."""
        others = sum(each.to_be_written for each in self.bodies if each is not body)
        free = shutil.disk_usage(settings.DATA_DIR).free - others - settings.MIN_FREE_BYTES
        if body.to_be_written > free:
            raise NoRoom(
                "The server's disk has no space for this upload. Its operator must free some."
            )


class _Body:
    """The body of one request, while it is read and worked on."""

    def __init__(self, scope, receive, send, under_way: UnderWay) -> None:
        self._scope, self._receive, self._send = scope, receive, send
        self._under_way = under_way
        self._headers = {name.lower(): value for name, value in scope["headers"]}
        self._kind = self._headers.get(b"content-type", b"").lower()
        self.limit = body_limit(self._kind)
        self.announced = _announced(self._headers)
        self.read = 0
        self.person: int | None = None
        self._is_complete = False
        self._has_answered = False
        self._refusal: Problem | None = None
        self.is_of_events = self._kind.startswith(EVENTS)  # many processes send under one token
        self._is_upload = self._kind.startswith((b"multipart/", PIECE))
        self._next_check = 0
        self._began = time.monotonic()
        self._waiting: asyncio.Future | None = None
        self._gives_way = False
        self._patience = Patience(settings.BODY_SECONDS, settings.BODY_BYTES_PER_SECOND)

    @property
    def to_be_written(self) -> int:
        """Return the bytes that are still to be written: the rest of the body, and its files.

        The bytes of files and pieces are written a second time, to the place where they are kept.
        """
        files = self.announced if self._is_upload else 0
        return max(self.announced - self.read, 0) + files

    @property
    def is_waited_for(self) -> bool:
        """Return whether the next piece has not come yet."""
        return self._waiting is not None

    @property
    def pace(self) -> float:
        """Return how many bytes came in a second."""
        return self.read / max(time.monotonic() - self._began, 0.001)

    @property
    def is_slow(self) -> bool:
        return time.monotonic() - self._began > SLOW_AFTER and self.pace < SLOW

    def give_way(self) -> None:
        """Wait no longer for the next piece."""
        assert self._waiting is not None  # it is waited for
        self._gives_way = True
        self._waiting.cancel()

    async def run(self, app) -> None:
        try:
            await self._require_possible()
            await app(self._scope, self.receive, self.send)
        except Problem as problem:
            self._refusal = problem
        except OSError as error:  # the body did not fit on the disk
            self._refusal = passing.problem_of(error)
            if self._refusal is None:
                raise
        if self._refusal is not None and not self._has_answered:
            await answer(self._scope, self._send, self._refusal)

    async def receive(self) -> dict:
        """Receive a message; present a refused body to the wrapped app as a client disconnect."""
        if self._is_complete:
            return await self._receive()
        try:
            return await self._next_piece()
        except Problem as problem:
            self._refusal = problem
            return {"type": "http.disconnect"}

    async def send(self, message: dict) -> None:
        if self._refusal is None:
            self._has_answered = True
            await self._send(message)

    async def _next_piece(self) -> dict:
        self._waiting = asyncio.ensure_future(self._patience.wait_for(self._receive()))
        try:
            message = await self._waiting
        except asyncio.CancelledError:
            if not self._gives_way:
                raise
            raise TooMany(
                f"The server receives as many uploads as it can, and this one gave its place to "
                f"another person: {self.read:,} bytes of it had come. Send it again in a moment.",
                retry_after=RETRY_AFTER,
            ) from None
        except TimeoutError:
            raise TooSlow(
                f"The rest of the request did not arrive: {self.read:,} bytes of it had come. "
                "Is the connection slow, or broken?"
            ) from None
        finally:
            self._waiting = None
        self._is_complete = not message.get("more_body", False)
        size = len(message.get("body", b""))
        self.read += size
        self._patience.earn(size)
        await self._require_possible()
        return message

    async def _require_possible(self) -> None:
        """Check that the body, as far as it is known, can be accepted. Raises: Problem."""
        size = max(self.announced, self.read)
        if size > self.limit:
            raise _too_large(self.limit)
        if size > FREE_BYTES and self.person is None:
            self._under_way.begin(self, await self._sender())
        if self.read >= self._next_check:
            self._next_check = self.read + ROOM_EVERY
            self._require_room()

    def _require_room(self) -> None:
        if self._is_upload or self.person is not None:
            self._under_way.require_room(self)

    async def _sender(self) -> int:
        """Return the key of the person who sends the body. Raises: Unauthorized, Unavailable."""
        try:
            person = await database_sync_to_async(senders.person_of)(self._scope)
        except Exception as error:
            if (problem := passing.problem_of(error)) is None:
                raise
            raise problem from error
        if person is None:
            raise Unauthorized(
                f"Sign in before you send more than {FREE_BYTES:,} bytes. A program sends "
                "“Authorization: Bearer TOKEN”; create tokens on the account page."
            )
        return person


def body_limit(content_type: bytes) -> int:
    """Return the most bytes of a body: more for files and pieces of them than for all others."""
    if content_type.lower().startswith(b"multipart/form-data"):
        return settings.MAX_UPLOAD_BYTES + FORM_BYTES
    if content_type.lower().startswith(PIECE):
        return PIECE_BYTES
    return settings.DATA_UPLOAD_MAX_MEMORY_SIZE


def _announced(headers: dict[bytes, bytes]) -> int:
    text = headers.get(b"content-length", b"")
    return int(text) if text.isdigit() and len(text) < 20 else 0


def _too_large(limit: int) -> TooLarge:
    detail = f"The body of the request is larger than {limit:,} bytes, the most accepted here."
    return TooLarge(detail, limit=limit)
