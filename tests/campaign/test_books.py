"""The books of a campaign tell what was lost, doubled or made up from what is right."""

import json
import sqlite3
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import closing
from random import Random

import pytest

from tests.campaign import checks, opened, resumed, webhooks
from tests.campaign.collecting import Flink
from tests.campaign.database import Database
from tests.campaign.logs import samples
from tests.campaign.notes import Notes
from tests.campaign.objects import Line
from tests.campaign.system import System
from tests.campaign.webhooks import Webhook
from tests.campaign.work import Piece
from tests.webapp.over_http import Answer
from tests.webapp.receiver import Receiver
from webapp.embedded_redis import free_port


class Listing:
    """A client that lists these items at every address with this ending, and nothing elsewhere."""

    def __init__(self, **items: list[dict]) -> None:
        self._items = items

    def listed(self, path: str) -> list[dict]:
        return self._items.get(path.rpartition("/")[2], [])

    def make(self, path: str, body: dict) -> dict:
        return {"id": 1}


@pytest.mark.parametrize(
    ("there", "fault"),
    [
        (["a"], None),
        (["a", "b"], None),
        (["b"], "a was accepted and is gone"),
        (["a", "b", "b"], "b is there 2 times"),
        (["a", "c"], "nobody wrote “c”"),
    ],
)
def test_notes_are_there_once_if_they_were_accepted(there, fault):
    notes = Notes()
    client = Listing(entries=[{"text": text} for text in there])
    notes.begin(client, 7)
    notes.asked["note"] = {"a", "b"}
    notes.accepted["note"] = {"a"}
    assert notes.faults(client) == ([] if fault is None else [fault])


@pytest.fixture
def webhook() -> Iterator[Webhook]:
    made = Webhook()
    yield made
    made.stop()


@pytest.fixture
def database(tmp_path) -> Database:
    """Return a database with one job that is done, of recording 5."""
    path = tmp_path / "rows.sqlite3"
    with closing(sqlite3.connect(path)) as connection:
        connection.executescript(
            "CREATE TABLE notices_delivery (state);"
            "CREATE TABLE snapshots_job (id, state, owner_id);"
            "INSERT INTO snapshots_job VALUES (1, 'done', 1), (2, 'running', 1), (3, 'done', NULL);"
        )
    return Database(f"sqlite:///{path}")


DONE = ("a", "job.done", {"job": 1})
LOST = ("b", "verdict.not-consistent", {"recording": 5})


@pytest.mark.parametrize(
    ("sent", "fault"),
    [
        ([DONE, LOST], None),
        ([DONE, LOST, DONE], None),
        ([DONE, LOST, ("c", "job.failed", {"job": 99})], None),
        ([LOST], "webhook: job.done of 1 never came"),
        ([DONE], "webhook: verdict.not-consistent of 5 never came"),
        ([DONE, LOST, ("c", *DONE[1:])], "webhook: job.done of 1 came as 2 events"),
        ([DONE, LOST, ("c", "job.done", {"job": 2})], "webhook: job.done of 2 came and never was"),
        ([DONE, LOST, ("c", LOST[1], {"recording": 6})], "of 6 came and never was"),
    ],
)
def test_each_event_comes_under_one_id_and_no_other_does(webhook, database, sent, fault):
    for identity, kind, data in sent:
        body = json.dumps({"type": kind, "data": data}).encode()
        headers = {"webhook-id": identity}
        urllib.request.urlopen(urllib.request.Request(webhook.receiver.url, body, headers)).close()
    pieces = [Piece("damaged", "damaged 1", recording=5), Piece("small", "small 1", recording=6)]
    found = webhook.faults(database, pieces, {"damaged"})
    assert not found if fault is None else [each for each in found if fault in each] == found != []


def test_a_webhook_that_still_waits_is_waited_for(database, monkeypatch):
    monkeypatch.setattr(webhooks, "PATIENCE_SECONDS", 0.1)
    with closing(sqlite3.connect(database.url.removeprefix("sqlite:///"))) as connection:
        assert not webhooks.are_waiting(database)
        connection.execute("INSERT INTO notices_delivery VALUES ('waiting')")
        connection.commit()
    assert webhooks.are_waiting(database)


SENT = samples()["damaged"].content


@pytest.mark.parametrize("number", [1, 100])
def test_a_log_without_an_event_or_with_one_twice_is_told_from_what_was_sent(number):
    header, *lines = SENT.splitlines(keepends=True)
    before, event, after = lines[:number], [lines[number]], lines[number + 1 :]
    assert not opened.log_faults("open 1", SENT, SENT)
    for kept in ([*before, *after], [*before, *event, *event, *after]):
        assert opened.log_faults("open 1", SENT, header + b"".join(kept))


def test_events_of_a_process_in_another_order_are_noticed():
    header, *lines = SENT.splitlines(keepends=True)
    first = json.loads(lines[0])["process"]
    same = [each for each in lines if json.loads(each)["process"] == first]
    swapped = [same[1], same[0], *same[2:]]
    rest = [each for each in lines if each not in same]
    assert opened.log_faults("open 1", SENT, header + b"".join([*swapped, *rest]))
    assert not opened.log_faults("open 1", SENT, header + b"".join([*same, *rest]))


class Taking:
    """A client whose server takes every body."""

    def __init__(self) -> None:
        self.bodies: list[bytes] = []

    def insist(self, method: str, path: str, body: bytes, kind: str) -> Answer:
        self.bodies.append(body)
        return Answer(200, {}, {})


def test_senders_share_all_events_and_send_some_of_them_twice():
    _, *events = SENT.splitlines(keepends=True)
    shares = opened.shared(events, 3)
    assert sorted(event for share in shares for event in share) == sorted(events)
    client = Taking()
    opened.send(client, "/recordings/1/events", shares[0], Random(1))
    sent = [line for body in client.bodies for line in body.splitlines(keepends=True)]
    assert list(dict.fromkeys(sent)) == shares[0]
    assert len(sent) > len(shares[0])


class Forgetting:
    """A client whose server has told of 100,000 bytes of an upload, and of none a moment later."""

    def __init__(self) -> None:
        self.offsets = ["100000", "0"]

    def call(self, method: str, *_) -> Answer:
        return Answer(201, None, {"location": "/api/uploads/1"})

    def insist(self, *_) -> Answer:
        return Answer(200, None, {"upload-offset": self.offsets.pop(0)})


def test_bytes_of_an_upload_that_were_acknowledged_and_are_gone_are_noticed():
    with pytest.raises(AssertionError, match="pieces 1 had 100000 bytes, and then 0"):
        resumed.upload(Forgetting(), b"x" * 250_000, "pieces 1")


def test_a_checkpoint_that_is_missing_doubled_or_other_is_noticed(shared_data):
    flink = Flink()
    try:
        job, status = {"key": flink.recorded.key, "id": 1}, flink.recorded.checkpoint(1)["status"]
        right = {"number": 1, "status": status}
        told = {1: status.lower()}

        def differences(*kept: dict) -> list[str]:
            return flink._differences(Listing(archive=[job], checkpoints=list(kept)), told)

        assert differences(right) == []
        assert differences() == ["checkpoint 1 is not in the archive"]
        assert differences(right, right) == ["checkpoint 1 is there 2 times"]
        assert "and Flink told" in differences(right | {"status": "lost"})[0]
    finally:
        flink.stop()


def test_only_what_no_row_names_is_left_over(tmp_path):
    system = System(tmp_path)
    with closing(sqlite3.connect(tmp_path / "cutline.sqlite3")) as connection:
        connection.executescript(
            "CREATE TABLE snapshots_recording (upload, journal, store);"
            "INSERT INTO snapshots_recording VALUES ('log', '', 'j1'), ('', 'journal', '');"
        )
    for name in ("uploads/log", "uploads/journal", "store/j1", "uploads/aside/old.json"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).touch()
    assert checks.file_faults(system) == []
    (tmp_path / "uploads" / "journal").rename(tmp_path / "uploads" / "other")
    assert checks.file_faults(system) == [
        "uploads/other belongs to no recording",
        "uploads/journal is missing",
    ]


def test_a_line_that_is_cut_refuses_and_carries_again_when_it_is_joined():
    receiver = Receiver()
    line = Line(free_port(), receiver.port)

    def post() -> int:
        with urllib.request.urlopen(f"http://127.0.0.1:{line.port}/", b"x", timeout=10) as answer:
            return answer.status

    try:
        assert post() == 204
        line.cut()
        with pytest.raises(urllib.error.URLError):
            post()
        line.join()
        assert post() == 204
    finally:
        line.end()
        receiver.stop()
