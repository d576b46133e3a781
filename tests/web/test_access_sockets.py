"""Every websocket and every type of message, tried by everybody, by the rules of access_rows."""

import inspect

import pytest
from channels.db import database_sync_to_async
from channels.testing import WebsocketCommunicator
from django.contrib.auth.models import AnonymousUser

from snapshots.jobs import live
from snapshots.models import Job
from snapshots.reviews import incidents
from snapshots.routing import websocket_urlpatterns
from snapshots.web import consumers
from tests.web.access_rows import DONE, HIDDEN, PEOPLE, RULES, SIGN_IN
from tests.web.access_world import MEMBERS, make_people, make_team
from tests.web.api.test_consumers import asked, closed_with, connected
from tests.web.given import a_ready_recording

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("data_dir")]

SOCKETS = {
    "ws/recordings/<int:id>": "sees",
    "ws/reviews/<int:id>": "sees",
    "ws/jobs": "anyone",
    "": "nothing",
}
CLOSED = {HIDDEN: consumers.NOT_FOUND, SIGN_IN: consumers.UNAUTHORIZED}
# What each type of message leads to: an answer to who sends it, or a message to who follows.
ANSWERED, FOLLOWED, SILENT = "answered", "followed", "silent"
MESSAGES = {
    "window": (ANSWERED, {"from": 0, "to": 10, "width": 100}),
    "cut": (ANSWERED, {"positions": [2, 5]}),
    "search": (ANSWERED, {"query": "m1"}),
    "follow": (SILENT, {"role": "presenter"}),
    "play": (FOLLOWED, {"at": 1}),
    "pause": (FOLLOWED, {"at": 2}),
    "seek": (FOLLOWED, {"at": 3}),
    "speed": (FOLLOWED, {"speed": 2}),
}
# The events that each kind of socket relays, to the team's people alone.
RELAYED = {
    consumers.RecordingConsumer: {"cursor_moved", "entry_changed"},
    consumers.ReviewConsumer: {"review_changed"},
    consumers.JobsConsumer: {"job_changed"},
    consumers.NowhereConsumer: set(),
}


@pytest.fixture
def people():
    return make_people() | {"signed-out": AnonymousUser()}


@pytest.fixture
def team(people):
    return make_team(people, "team")


@pytest.fixture
def banks(team):
    return a_ready_recording(team.account)


@pytest.fixture
def review(people, team):
    return incidents.open_review(people["owner"], team.account, {"title": "Orders were lost"})


def test_every_websocket_message_and_event_has_a_row():
    assert {str(pattern.pattern) for pattern in websocket_urlpatterns} == set(SOCKETS)
    assert {pattern.callback.consumer_class for pattern in websocket_urlpatterns} == set(RELAYED)
    assert set(MESSAGES) == set(consumers.TAKEN)
    for consumer, events in RELAYED.items():
        assert {name for name, method in vars(consumer).items() if takes_events(method)} == events


def takes_events(method: object) -> bool:
    return inspect.isfunction(method) and "event" in inspect.signature(method).parameters


@pytest.mark.parametrize("route", SOCKETS)
async def test_a_socket_opens_for_whom_the_rule_names(people, banks, review, route):
    row = review if "reviews" in route else banks
    address = route.replace("<int:id>", str(row.pk)) or "ws/nothing"
    outcomes = {}
    for person in PEOPLE:
        socket = await connected(people[person], address)
        if RULES[SOCKETS[route]][person] == DONE:
            answer = await asked(socket, {"type": "nonsense"})
            outcomes[person] = DONE if answer["type"] == "refused" else str(answer)
        else:
            outcomes[person] = await closed_with(socket)
        await socket.disconnect()
    expected = RULES[SOCKETS[route]]
    assert outcomes == {person: CLOSED.get(each, each) for person, each in expected.items()}


async def test_every_message_is_taken_from_the_team_and_from_nobody_else(people, banks):
    address = f"ws/recordings/{banks.pk}"
    follower = await connected(people["owner"], address)
    await follower.send_json_to({"type": "follow", "role": "follower"})
    await asked(follower, {"type": "cut", "positions": [2, 5]})  # it follows by now
    for person in PEOPLE:
        socket = await connected(people[person], address)
        if person in MEMBERS:
            for kind in MESSAGES:
                assert await outcome_of(kind, socket, follower) == MESSAGES[kind][0], person
        else:
            await closed_with(socket)
            for kind, (_, fields) in MESSAGES.items():
                await socket.send_json_to({"type": kind, **fields})
            assert await follower.receive_nothing(0.1), person
            assert await socket.receive_nothing(0.02), person
        await socket.disconnect()
    await follower.disconnect()


async def outcome_of(
    kind: str, socket: WebsocketCommunicator, follower: WebsocketCommunicator
) -> str:
    """Send a message, and return what it led to."""
    outcome, fields = MESSAGES[kind]
    if outcome == ANSWERED:
        answer = await asked(socket, {"type": kind, **fields})
        return ANSWERED if answer["type"] == kind else str(answer)
    await socket.send_json_to({"type": kind, **fields})
    if outcome == FOLLOWED:
        cursor = await follower.receive_json_from(5)
        return FOLLOWED if cursor["type"] == "cursor" else str(cursor)
    answer = await asked(socket, {"type": "nonsense"})
    return SILENT if answer["type"] == "refused" else str(answer)


async def test_every_event_reaches_the_team_and_nobody_else(people, team, banks, review):
    job = await Job.objects.acreate(kind=Job.Kind.RESTORE, owner=team.account, recording=banks)
    events = {
        f"ws/recordings/{banks.pk}": lambda: live.entry_changed(banks.pk, 1, "made"),
        f"ws/reviews/{review.pk}": lambda: live.review_changed(review.pk, {"part": "head"}),
        "ws/jobs": lambda: live.job_changed(job),
    }
    for address, happen in events.items():
        sockets = {person: await connected(people[person], address) for person in PEOPLE}
        for person in MEMBERS:  # it has joined once it answers
            await asked(sockets[person], {"type": "nonsense"})
        await database_sync_to_async(happen)()
        received = {person for person, socket in sockets.items() if await is_notified(socket)}
        assert received == set(MEMBERS), address


async def is_notified(socket: WebsocketCommunicator) -> bool:
    """Tell whether a socket gets a message, and close it."""
    if await socket.receive_nothing(0.2):
        return False
    message = await socket.receive_output()
    await socket.disconnect()
    return message["type"] == "websocket.send"
