"""A webhook's receiver, and what must have come to it: every event, and none of what never was."""

import json
import time
from collections import defaultdict
from typing import TYPE_CHECKING

from tests.campaign.client import Client
from tests.campaign.database import ERRORS, Database
from tests.webapp.receiver import Receiver

if TYPE_CHECKING:
    from tests.campaign.work import Piece

SETTINGS = {"WEBHOOK_HTTP": "yes", "WEBHOOK_PRIVATE_NETWORKS": "127.0.0.0/8,::1/128"}
VERDICT = "verdict.not-consistent"
KIND_OF_STATE = {"done": "job.done", "failed": "job.failed", "refused": "job.failed"}
PATIENCE_SECONDS = 420  # behind two attempts that a killed worker, or two, began
WAITING = "SELECT count(*) FROM notices_delivery WHERE state = 'waiting'"
JOBS = "SELECT id, state FROM snapshots_job WHERE owner_id IS NOT NULL"

Event = tuple[str, int]  # the kind, and the number of its job or recording


class Webhook:
    """A receiver that answers all the time; only strikes on workers make it hear things twice."""

    def __init__(self) -> None:
        self.receiver = Receiver()

    def begin(self, client: Client) -> None:
        kinds = [*dict.fromkeys(KIND_OF_STATE.values()), VERDICT]
        client.make("/webhooks", {"url": self.receiver.url, "kinds": kinds})

    def stop(self) -> None:
        self.receiver.stop()

    def faults(self, database: Database, pieces: "list[Piece]", wrong: set[str]) -> list[str]:
        """Compare what came with the jobs' rows, and with the recordings of kinds that are wrong.

        Args:
            pieces: what was asked for.
            wrong: the kinds of pieces that have a snapshot that is not consistent.
        """
        wait_until_sent(database)
        came = self.came()
        jobs = dict(database.rows(JOBS))
        due = {(KIND_OF_STATE[state], job) for job, state in jobs.items() if state in KIND_OF_STATE}
        due |= {
            (VERDICT, piece.recording)
            for piece in pieces
            if piece.kind in wrong and piece.recording
        }
        return [
            *(f"webhook: {kind} of {number} never came" for kind, number in due - came.keys()),
            *(
                f"webhook: {kind} of {number} came and never was"
                for kind, number in came.keys() - due
                if kind == VERDICT or number in jobs  # a deletion takes the row of a job along
            ),
            *(
                f"webhook: {kind} of {number} came as {len(ids)} events"
                for (kind, number), ids in came.items()
                if len(ids) > 1
            ),
        ]

    def came(self) -> dict[Event, set[str]]:
        """The ids under which each event came."""
        ids: dict[Event, set[str]] = defaultdict(set)
        for each in list(self.receiver.received):
            told = json.loads(each.body)
            number = told["data"]["recording" if told["type"] == VERDICT else "job"]
            headers = {name.lower(): value for name, value in each.headers.items()}
            ids[told["type"], number].add(headers["webhook-id"])
        return ids


def wait_until_sent(database: Database) -> None:
    deadline = time.monotonic() + PATIENCE_SECONDS
    while time.monotonic() < deadline and are_waiting(database):
        time.sleep(0.5)


def are_waiting(database: Database) -> bool:
    try:
        return database.rows(WAITING) != [(0,)]
    except ERRORS:
        return True
