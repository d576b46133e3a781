"""Every websocket and every type of message, tried by everybody, by the rules of access_rows."""

import inspect
import json
from functools import partial

import pytest
from channels.db import database_sync_to_async
from channels.testing import WebsocketCommunicator
from django.contrib.auth.models import AnonymousUser

from snapshots.jobs import live
from snapshots.models import EngineJob, Job
from snapshots.reviews import incidents
from snapshots.routing import websocket_urlpatterns
from snapshots.web import consumers
from tests.web.access_rows import DONE, HIDDEN, PEOPLE, RULES, SIGN_IN
from tests.web.access_world import (
    MEMBERS,
    READER,
    VISITOR,
    WITHOUT_ACCOUNT,
    make_people,
    make_team,
    visit_of,
)
from tests.web.api.test_consumers import closed_with, connected
from tests.web.given import a_ready_recording
from webapp.links import public

pytestmark = [
    pytest.mark.django_db(transaction=True),
    pytest.mark.usefixtures("data_dir", "rooms"),
]

SOCKETS = {
    "ws/recordings/<int:id>": "shown",
    "ws/reviews/<int:id>": "sees",
    "ws/recordings/<int:id>/notes": "sees",
    "ws/archive/<int:id>": "sees",
    "ws/archive/<int:id>/notes": "sees",
    "ws/jobs": "anyone",
    "ws/live": "anyone",
    "": "nothing",
}
CLOSED = {HIDDEN: consumers.NOT_FOUND, SIGN_IN: consumers.UNAUTHORIZED}
# What each type of message leads to, and for whom: an answer to who sends it, nothing, or a message
# of this type to who follows. Others are refused, or move nobody.
ANSWERED, SILENT, REFUSED = "answered", "silent", "refused"
ALL, EDIT, COMMENT = set(MEMBERS), {"owner", "editor"}, {"owner", "editor", "commenter"}
SHOWN = {"view": {"now": 1}, "playing": False, "speed": 1, "revision": 1}
MESSAGES = {
    "window": (ANSWERED, ALL, {"from": 0, "to": 10, "width": 100}),
    "cut": (ANSWERED, ALL, {"positions": [2, 5]}),
    "search": (ANSWERED, ALL, {"query": "m1"}),
    "here": (SILENT, ALL, {"axis": "time", "at": 1}),
    "point": ("point", COMMENT, {"axis": "time", "at": 1}),
    "follow": (SILENT, EDIT, {"role": "presenter"}),
    "play": ("cursor", EDIT, {"at": 10**9}),  # behind the end, so that one frame comes
    "pause": ("cursor", EDIT, {"at": 2}),
    "seek": ("cursor", EDIT, {"at": 3}),
    "speed": ("cursor", EDIT, {"speed": 2}),
    "step": (SILENT, ALL, {"at": 1}),
    "read": (SILENT, ALL, {"sequence": 1}),
    "view": ("view", EDIT, SHOWN),
    "offer": (SILENT, EDIT, {"person": 0}),
    "decline": (SILENT, ALL, {}),
}
# What plays in a session of the client: these are answered with a frame, the others lead to more.
SHOWING, STEERING = ("play", "seek", "step"), ("pause", "speed", "read")
# The events that each kind of socket relays, to the team's people alone.
RELAYED = {
    consumers.RecordingConsumer: {
        *("cursor_moved", "entry_changed", "view_shown", "pointed", "room_changed"),
    },
    consumers.ReviewConsumer: {"review_changed"},
    consumers.NotesConsumer: {"entry_changed"},
    consumers.ArchiveConsumer: {"archive_changed"},
    consumers.JobsConsumer: {"job_changed"},
    consumers.SystemsConsumer: {"system_told"},
    consumers.NowhereConsumer: set(),
}


@pytest.fixture
def people(settings):
    settings.PUBLIC_LINKS = True
    return make_people() | dict.fromkeys(WITHOUT_ACCOUNT, AnonymousUser())


@pytest.fixture
def team(people):
    return make_team(people, "team")


@pytest.fixture
def banks(team):
    return a_ready_recording(team.account)


@pytest.fixture
def review(people, team):
    return incidents.open_review(people["owner"], team.account, {"title": "Orders were lost"})


@pytest.fixture
def cookies(people, banks, review):
    """Return the cookies of whoever has opened a public link, by their names."""
    shown = {VISITOR: banks, READER: review}
    links = {name: public.make(row, people["owner"])[1] for name, row in shown.items()}
    return {name: dict([visit_of(link.rpartition("/")[2])]) for name, link in links.items()}


@pytest.fixture
def archived(team):
    return EngineJob.objects.create(owner=team.account, engine="flink", key="a" * 32)


def test_every_websocket_message_and_event_has_a_row():
    assert {str(pattern.pattern) for pattern in websocket_urlpatterns} == set(SOCKETS)
    assert {pattern.callback.consumer_class for pattern in websocket_urlpatterns} == set(RELAYED)
    assert set(MESSAGES) == set(consumers.TAKEN)
    for consumer, events in RELAYED.items():
        assert {name for name, method in vars(consumer).items() if takes_events(method)} == events


def takes_events(method: object) -> bool:
    return inspect.isfunction(method) and "event" in inspect.signature(method).parameters


@pytest.mark.parametrize("route", SOCKETS)
async def test_a_socket_opens_for_whom_the_rule_names(
    people, banks, archived, review, cookies, route
):
    things = {"ws/archive": archived, "ws/reviews": review}
    thing = next((row for name, row in things.items() if route.startswith(name)), banks)
    address = route.replace("<int:id>", str(thing.pk)) or "ws/nothing"
    outcomes = {}
    for person in PEOPLE:
        socket = await connected(people[person], address, cookies.get(person))
        if RULES[SOCKETS[route]][person] == DONE:
            answer = await answer_to(socket, {"type": "nonsense"})
            outcomes[person] = DONE if answer["type"] == "refused" else str(answer)
        else:
            outcomes[person] = await closed_with(socket)
        await socket.disconnect()
    expected = RULES[SOCKETS[route]]
    assert outcomes == {person: CLOSED.get(each, each) for person, each in expected.items()}


async def test_every_message_is_taken_from_the_team_and_from_nobody_else(people, banks, cookies):
    address = f"ws/recordings/{banks.pk}"
    follower = await connected(people["owner"], address)
    await follower.send_json_to({"type": "follow", "role": "follower"})
    await answer_to(follower, {"type": "cut", "positions": [2, 5]})  # it follows by now
    for person in PEOPLE:
        socket = await connected(people[person], address, cookies.get(person))
        if person in MEMBERS:
            for kind, (outcome, allowed, _) in MESSAGES.items():
                other = SILENT if kind in consumers.MOVED else REFUSED
                expected = outcome if person in allowed else other
                assert await outcome_of(kind, socket, follower) == expected, (person, kind)
            await answer_to(socket, {"type": "follow", "role": "none"}, {"type": "nonsense"})
        elif person == VISITOR:
            assert await answered_kinds(socket) == {*consumers.ASKED, *SHOWING}
            assert await news_of(follower) is None
        else:
            await closed_with(socket)
            for kind, (*_, fields) in MESSAGES.items():
                await socket.send_json_to({"type": kind, **fields})
            assert await news_of(follower) is None, person
            assert await socket.receive_nothing(0.02), person
        await socket.disconnect()
    await follower.disconnect()


async def answer_to(socket: WebsocketCommunicator, *messages: dict) -> dict:
    """Return the first answer to messages, without what the server says by itself before it."""
    for message in messages:
        await socket.send_json_to(message)
    while (answer := await socket.receive_json_from(5))["type"] in ("room", "archive"):
        continue
    return answer


async def news_of(socket: WebsocketCommunicator) -> str | None:
    """Return the type of the next message that is not about the room; None if none comes."""
    while not await socket.receive_nothing(0.1):
        output = await socket.receive_output()
        if output["type"] == "websocket.close":
            return None
        if (kind := json.loads(output["text"])["type"]) != "room":
            return kind
    return None


async def outcome_of(
    kind: str, socket: WebsocketCommunicator, follower: WebsocketCommunicator
) -> str:
    """Send a message, and return what it led to."""
    message = {"type": kind, **MESSAGES[kind][2]}
    if kind in consumers.ASKED:
        answer = await answer_to(socket, message)
        return ANSWERED if answer["type"] == kind else str(answer)
    answer = await answer_to(socket, message, {"type": "nonsense"})
    if "type must be" not in answer["detail"]:
        await answer_to(socket)  # that to the nonsense
        return REFUSED
    return await news_of(follower) or SILENT


async def answered_kinds(socket: WebsocketCommunicator) -> set[str]:
    """Send each message, and return the types that are answered; the others are refused."""
    kinds = set()
    for kind, (*_, fields) in MESSAGES.items():
        if kind in STEERING:
            continue
        answer = await answer_to(socket, {"type": kind, "session": kind, **fields})
        assert answer["type"] in (kind, "frame", "refused")
        kinds |= set() if answer["type"] == "refused" else {kind}
    return kinds


async def test_every_event_reaches_the_team_and_nobody_else(
    people, team, banks, archived, review, cookies
):
    job = await Job.objects.acreate(kind=Job.Kind.RESTORE, owner=team.account, recording=banks)
    note = live.entry_changed
    events = {
        f"ws/reviews/{review.pk}": lambda: live.review_changed(review.pk, {"part": "head"}),
        f"ws/recordings/{banks.pk}": partial(note, "recording", banks.pk, 1, "made"),
        f"ws/recordings/{banks.pk}/notes": partial(note, "recording", banks.pk, 1, "made"),
        f"ws/archive/{archived.pk}": lambda: live.archived_job_reported(archived),
        f"ws/archive/{archived.pk}/notes": partial(note, "engine_job", archived.pk, 1, "made"),
        "ws/jobs": lambda: live.job_changed(job),
        "ws/live": lambda: live.system_told(banks, {"recording": banks.pk}),
    }
    for address, happen in events.items():
        sockets = {
            person: await connected(people[person], address, cookies.get(person))
            for person in PEOPLE
        }
        for person in MEMBERS:  # it has joined once it answers
            await answer_to(sockets[person], {"type": "nonsense"})
        await database_sync_to_async(happen)()
        received = {person for person, socket in sockets.items() if await is_notified(socket)}
        assert received == set(MEMBERS), address


async def is_notified(socket: WebsocketCommunicator) -> bool:
    """Tell whether a socket gets a message, and close it."""
    heard = await news_of(socket)
    await socket.disconnect()
    return heard is not None
