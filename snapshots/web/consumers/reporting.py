"""Relay what changes in jobs, reviews and notes over websockets that take no messages."""

import asyncio
from collections.abc import Mapping
from typing import Any

from channels.db import database_sync_to_async
from channels.generic.websocket import AsyncWebsocketConsumer

from snapshots import access
from snapshots.archive import watching
from snapshots.jobs import live
from snapshots.passing import problem_of
from snapshots.problems import NotFound
from snapshots.web.consumers.connection import NOT_FOUND, TRY_AGAIN, JsonConsumer


class HoldersConsumer(JsonConsumer):
    """Relays what changes in what the person and their teams own, and takes no messages."""

    refusal: str
    _of_holders: frozenset[str] | set[str] = frozenset()

    def group_of(self, holder: int) -> str:
        """Return the group of what an account owns."""
        raise NotImplementedError

    async def begin(self) -> None:
        await self._join_holders(self.scope["user"])

    async def require_right(self, user) -> None:
        await super().require_right(user)
        await self._join_holders(user)

    async def _join_holders(self, user) -> None:
        """Receive from the accounts that the person belongs to now, and from no others."""
        owners = await database_sync_to_async(access.holder_ids)(user)
        groups = {self.group_of(pk) for pk in owners}
        gone = self._of_holders - groups
        self._of_holders = groups
        await asyncio.gather(*map(self.leave, gone), *map(self.join, groups - self.joined))

    async def receive(self, text_data: str | None = None, bytes_data: bytes | None = None) -> None:
        await self.refuse(self.refusal)


class JobsConsumer(HoldersConsumer):
    """Relays every change of the jobs of the person and of their teams."""

    refusal = "This address only reports jobs; it accepts no messages."

    def group_of(self, holder: int) -> str:
        return live.jobs_group(holder)

    async def job_changed(self, event: Mapping[str, Any]) -> None:
        await self.send_payload({"type": "job", **event["job"]})


class SystemsConsumer(HoldersConsumer):
    """Relays how the running systems of the person and of their teams are."""

    refusal = "This address only reports running systems; it accepts no messages."

    def group_of(self, holder: int) -> str:
        return live.systems_group(holder)

    async def system_told(self, event: Mapping[str, Any]) -> None:
        await self.send_payload({"type": "system", **event["system"]})


class ReportingConsumer(JsonConsumer):
    """Relays what changes in one thing, such as a review, and takes no messages.

    Attributes:
        reports: what it reports, in the refusal of a message.
    """

    reports = "changes"

    async def begin(self) -> None:
        try:
            await self.require_right(self.scope["user"])
            await self.join(self.group)
            await self.welcome()
        except NotFound as missing:
            await self.end(NOT_FOUND, missing.detail)
        except Exception as error:
            if (problem := problem_of(error)) is None:
                raise
            await self.end(TRY_AGAIN, problem.detail)

    async def welcome(self) -> None:
        """Send what a page needs that connects, perhaps again."""

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


class ArchiveConsumer(ReportingConsumer):
    """Says that a collector has reported an archived job; the page then asks for what is new."""

    reports = "what collectors find"

    @property
    def group(self) -> str:
        return live.archive_group(self.id)

    async def require_right(self, user) -> None:
        await super().require_right(user)
        await database_sync_to_async(access.engine_job)(user, self.id)

    async def welcome(self) -> None:
        """Send the news: a page that connects again may have missed some."""
        await self.send_payload({"type": "archive", **await self._news()})

    @database_sync_to_async
    def _news(self) -> dict[str, Any]:
        return watching.news_of(access.engine_job(self.scope["user"], self.id))

    async def archive_changed(self, event: Mapping[str, Any]) -> None:
        await self.send_payload({"type": "archive", **event["news"]})


class NowhereConsumer(AsyncWebsocketConsumer):
    """Closes connections to an address that does not exist."""

    async def connect(self) -> None:
        await self.accept()
        await self.close(NOT_FOUND, "Nothing is at this address.")
