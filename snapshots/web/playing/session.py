"""One session of playing: what its client asks for, and the frames that it gets.

Frames are sent ahead of the cursor. The client says how far it has read, and gets no more than
MOST_UNREAD frames, or MOST_UNREAD_BYTES, beyond that. So who reads slowly is slowed, and who has
gone without a word gets nothing more and costs nothing.
"""

import asyncio
import logging
from collections import deque
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Any

from channels.db import database_sync_to_async

from snapshots.answers import frames, playing
from snapshots.answers.replay import finite
from snapshots.problems import Invalid, Problem
from snapshots.store.errors import StoreError
from snapshots.store.mapped import Ints
from snapshots.store.reader import StoredRecording
from snapshots.web.json import dumps
from snapshots.web.playing.shared import SharedFrames, shared

logger = logging.getLogger(__name__)

MOST_UNREAD = 12  # frames: 2.4 to 4.8 s of playing
MOST_UNREAD_BYTES = 2**20
LOOK_SECONDS = 0.25  # between two looks whether more has come of an open recording
MOST_SESSION = 64  # characters

Send = Callable[[str], Awaitable[None]]
Refuse = Callable[[str], Awaitable[None]]


@dataclass(frozen=True)
class Source:
    """What is played.

    Attributes:
        id: the number of the recording.
        stored: returns it as it is now.
        grows: returns whether more may come.
    """

    id: int
    stored: Callable[[], StoredRecording]
    grows: Callable[[], bool]


@dataclass(frozen=True)
class Course:
    """What is played, and how; a message of the client replaces it.

    Attributes:
        session: the text or number by which the client knows its session.
        what: what the client shows.
        rate: units of the axis in a second.
        skips: whether a stretch without events is one frame.
        playing: whether frames go on by themselves.
    """

    session: str | int
    what: playing.Played
    rate: float
    skips: bool
    playing: bool


class Playing:
    """Plays for one connection. A new session, or a seek, replaces what was under way."""

    def __init__(
        self, source: Source, send: Send, refuse: Refuse, kept: SharedFrames = shared
    ) -> None:
        self._source, self._send, self._refuse, self._shared = source, send, refuse, kept
        self._course: Course | None = None
        self._sought: float | None = None  # the place of the key frame that is wanted
        self._by = 0  # that of the step that it answers, if any
        self._place = 0.0  # up to which frames were sent
        self._positions: Ints | None = None  # that the client has there, of what grows
        self._sequence = 0
        self._unread: deque[tuple[int, int]] = deque()  # sequence and bytes of each frame
        self._woken = asyncio.Event()
        self._task: asyncio.Task[None] | None = None

    async def take(self, message: Mapping[str, Any]) -> None:
        """Do what a message asks. Raises: Problem."""
        kind = message["type"]
        if kind in ("play", "seek", "step"):
            await self._begin(kind, message)
        elif kind == "read":
            self._read(message)
        elif self._course is not None and message.get("session") == self._course.session:
            self._change(kind, message)
        self._wake()

    async def _begin(self, kind: str, message: Mapping[str, Any]) -> None:
        stored, session = self._source.stored(), _session(message)
        what = await self._watched(stored, message)
        place = frames.place_of(message, what.axis)
        self._by = _steps(message) if kind == "step" else 0
        if self._by:
            place = await asyncio.to_thread(playing.stepped, stored, what, place, self._by)
        before = self._course if self._course and self._course.session == session else None
        plays = kind == "play" or (kind == "seek" and before is not None and before.playing)
        rate = _rate(message, before)
        if before is None:
            self._sequence = 0
        self._course = Course(session, what, rate, message.get("idle") is True, plays)
        self._place, self._positions = place, None
        goes_on = kind == "play" and "sequence" in message and not self._source.grows()
        self._sought = None if goes_on else place
        if goes_on:
            self._sequence = _number(message, "sequence")
        self._unread.clear()

    async def _watched(self, stored: StoredRecording, message: Mapping[str, Any]) -> playing.Played:
        """Return what the client wants to see; a restored run is computed in a thread."""
        if message.get("restored") is None:
            return playing.watched(stored, message)
        return await database_sync_to_async(playing.watched, thread_sensitive=False)(
            stored, message
        )

    def _change(self, kind: str, message: Mapping[str, Any]) -> None:
        """Pause, or go on at another rate from the end of what was sent."""
        course = self._course
        assert course is not None  # the session was compared with it
        playing = course.playing and kind != "pause"
        rate = _rate(message, course)
        self._course = Course(course.session, course.what, rate, course.skips, playing)

    def _read(self, message: Mapping[str, Any]) -> None:
        sequence = _number(message, "sequence")
        if self._course is None or message.get("session") != self._course.session:
            return
        while self._unread and self._unread[0][0] <= sequence:
            self._unread.popleft()

    def stop(self) -> None:
        """Send nothing more."""
        self._course = None
        if self._task is not None:
            self._task.cancel()

    def _wake(self) -> None:
        self._woken.set()
        if self._task is None and self._course is not None and self._is_due():
            self._task = asyncio.create_task(self._work())

    def _is_due(self) -> bool:
        """Tell whether a frame may be sent now."""
        if self._sought is not None:
            return True
        if self._course is None or not self._course.playing:
            return False
        unread = sum(size for _, size in self._unread)
        return len(self._unread) < MOST_UNREAD and unread < MOST_UNREAD_BYTES

    async def _work(self) -> None:
        """Send frames as long as some are due; nothing runs and nothing waits after that."""
        try:
            while self._course is not None and self._is_due():
                if not await self._send_next(self._course):
                    if not self._source.grows():
                        break
                    await self._until_more()
        except OSError:  # ASGI's sign that the client has gone
            self._course = None
        except (Problem, StoreError) as error:
            self._course, self._sought = None, None
            await self._refuse(error.detail if isinstance(error, Problem) else str(error))
        except Exception:
            self._course, self._sought = None, None
            logger.exception("A recording could not be played")
            await self._refuse("An error occurred in the server; its log has the details.")
        finally:
            self._task = None

    async def _until_more(self) -> None:
        """Wait until more may have come, or the client asks for something."""
        self._woken.clear()
        try:
            await asyncio.wait_for(self._woken.wait(), LOOK_SECONDS)
        except TimeoutError:
            return

    async def _send_next(self, course: Course) -> bool:
        """Send the next frame; return False at the end of what there is."""
        stored, sought, place = self._source.stored(), self._sought, self._place
        what, end = course.what, playing.end_of(stored, course.what)
        if sought is not None:
            self._sought, to, left = None, sought, None
        elif place < end:
            width = frames.width_of(course.rate)
            to = playing.edge_after(stored, what, place, width, skips=course.skips)
            left = self._positions
        elif self._has_late_events(stored, what.axis):
            to, left = place, self._positions
        else:
            return False
        body = await self._shared.get(
            (self._source.id, stored.folder, stored.manifest.extent.steps, what, place, to,
             sought is None, None if left is None else left.tobytes()),
            lambda: _body(stored, what, None if sought is not None else place, to, left),
        )  # fmt: skip
        if sought is None and self._course is not course:
            return True  # the client wants something else by now
        self._place = to
        if self._source.grows():
            self._positions = frames.positions_after(stored, what.axis, to, left)
        self._sequence += 1
        head = {"type": "frame", "session": course.session, "sequence": self._sequence}
        if sought is not None and self._by:
            head["by"] = self._by
        self._unread.append((self._sequence, len(body)))
        await self._send(f"{dumps(head)[:-1].decode()},{body[1:].decode()}")
        return True

    def _has_late_events(self, stored: StoredRecording, axis: str) -> bool:
        """Tell whether events have come, of what grows, that stand before the last frame's end."""
        if self._positions is None:
            return False
        now = frames.positions_after(stored, axis, self._place, self._positions)
        return bool((now > self._positions).any())


def _body(
    stored: StoredRecording,
    what: playing.Played,
    place: float | None,
    to: float,
    left: Ints | None,
) -> bytes:
    return dumps(playing.frame(stored, what, place, to, left))


def _session(message: Mapping[str, Any]) -> str | int:
    session = message.get("session")
    if isinstance(session, bool) or not isinstance(session, str | int):
        raise Invalid("session must be a text or a number.", field="session")
    if len(str(session)) > MOST_SESSION:
        raise Invalid(f"session has at most {MOST_SESSION} characters.", field="session")
    return session


def _rate(message: Mapping[str, Any], before: Course | None) -> float:
    rate = message.get("rate")
    if rate is None:
        return 1.0 if before is None else before.rate
    rate = float(finite(rate, "rate"))
    frames.width_of(rate)  # which refuses what is no rate
    return rate


def _steps(message: Mapping[str, Any]) -> int:
    by = _number(message, "by") if "by" in message else 1
    if by == 0:
        raise Invalid("by must be a whole number other than 0.", field="by")
    return by


def _number(message: Mapping[str, Any], name: str) -> int:
    number = message.get(name)
    if isinstance(number, bool) or not isinstance(number, int) or abs(number) > 2**53:
        raise Invalid(f"{name} must be a whole number.", field=name)
    return number
